package spec

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with a contract's sources.
type Problem struct {
	File    string // relative to the contract's folder
	Line    int    // 1-based; 0 if unknown
	Pointer string // JSON pointer in the file
	Message string // what is wrong
	Hint    string // what to do, "" if obvious
}

func (p Problem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if p.Pointer != "" {
		fmt.Fprintf(&b, " (%s)", p.Pointer)
	}
	fmt.Fprintf(&b, ": %s", p.Message)
	if p.Hint != "" {
		fmt.Fprintf(&b, "; %s", p.Hint)
	}
	return b.String()
}

// Warning is a Problem that does not stop loading.
type Warning = Problem

// LoadError is everything that is wrong with a contract, in file order; it is never empty.
type LoadError struct{ Problems []Problem }

func (e *LoadError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}
