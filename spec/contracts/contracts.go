// Package contracts embeds the contracts that ship with the kit, each a folder that spec.Load reads.
package contracts

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed all:seer all:notes
var folders embed.FS

// Names lists the contracts that are built in, in alphabetical order.
func Names() []string {
	return []string{"notes", "seer"}
}

// Named returns the folder of a built-in contract. The error of an unknown name lists those that
// exist and points to the likely one.
func Named(name string) (fs.FS, error) {
	if slices.Contains(Names(), name) {
		return fs.Sub(folders, name)
	}
	hint := ""
	if near := nearest(name); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, fmt.Errorf("no built-in contract is called %q: there are %s%s", name, strings.Join(Names(), ", "), hint)
}

// nearest returns the built-in name that is at most two edits away, "" if none is.
func nearest(name string) string {
	best, least := "", 3
	for _, n := range Names() {
		if d := distance(strings.ToLower(name), n); d < least {
			best, least = n, d
		}
	}
	return best
}

// distance is the Levenshtein distance over bytes. Names are short, so a name longer than any
// sensible slip is not measured.
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
