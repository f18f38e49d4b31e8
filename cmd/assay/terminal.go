package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// screen is what a writer leads to.
type screen struct {
	live  bool // a line may be rewritten
	color bool
	fd    int // of the terminal, -1 if it is none
}

// screen asks what w is, and the environment what is wanted: NO_COLOR (no-color.org), CI, TERM=dumb.
func (a *app) screen(w io.Writer) screen {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return screen{fd: -1}
	}
	set := func(name string) bool { v, _ := a.env(name); return v != "" }
	kind, _ := a.env("TERM")
	return screen{live: !set("CI") && kind != "dumb", color: !set("NO_COLOR") && kind != "dumb", fd: int(f.Fd())}
}

// width is the terminal's at this moment, or the given one.
func (s screen) width(otherwise int) int {
	if s.fd >= 0 {
		if w, _, err := term.GetSize(s.fd); err == nil && w > 0 {
			return w
		}
	}
	return otherwise
}
