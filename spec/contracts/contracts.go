// Package contracts embeds the contracts that ship with the kit, each a folder that spec.Load reads.
// Adding one is adding its folder.
package contracts

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"assay.kit/spec/typo"
)

//go:embed */*.yaml */*.json
var folders embed.FS

// Names lists the contracts that are built in, in alphabetical order.
func Names() []string {
	entries, err := folders.ReadDir(".")
	if err != nil { // cannot be: the folder is part of the binary
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// Named returns the folder of a built-in contract. The error of an unknown name lists those that
// exist and points to the likely one.
func Named(name string) (fs.FS, error) {
	if slices.Contains(Names(), name) {
		return fs.Sub(folders, name)
	}
	hint := ""
	if near := typo.Nearest(name, Names()); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, fmt.Errorf("no built-in contract is called %q: there are %s%s", name, strings.Join(Names(), ", "), hint)
}
