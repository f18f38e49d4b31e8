package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assay.kit/spec"
	"assay.kit/spec/contracts"
)

// loadContract reads a built-in contract by its name, or the folder at a path. Files in errors are
// relative to where the user is, so that they can be opened as printed.
func loadContract(arg string) (*spec.Contract, error) {
	fsys, unknown := contracts.Named(arg)
	if unknown == nil {
		return spec.Load(fsys, arg)
	}
	info, err := os.Stat(arg)
	switch {
	case err != nil && !strings.ContainsAny(arg, `/\.`):
		return nil, fmt.Errorf("no contract is called %q: built in are %s, and no folder has that name%s", arg,
			strings.Join(contracts.Names(), ", "), didYouMean(arg, contracts.Names()))
	case err != nil:
		return nil, fmt.Errorf("contract folder %s cannot be read: %w", arg, errors.Unwrap(err))
	case !info.IsDir():
		return nil, fmt.Errorf("contract %s is a file; give the folder that holds openapi.yaml", arg)
	}
	name := filepath.Base(arg)
	if abs, err := filepath.Abs(arg); err == nil {
		name = filepath.Base(abs)
	}
	c, err := spec.Load(os.DirFS(arg), name)
	var le *spec.LoadError
	if errors.As(err, &le) {
		return nil, relocated(le, arg, name)
	}
	return c, err
}

// relocated puts the folder before the files of the problems.
func relocated(le *spec.LoadError, dir, name string) *spec.LoadError {
	out := &spec.LoadError{Problems: append([]spec.Problem{}, le.Problems...)}
	for i := range out.Problems {
		if p := &out.Problems[i]; p.File == name {
			p.File = dir
		} else {
			p.File = filepath.Join(dir, p.File)
		}
	}
	return out
}

// contractUsage says what a flag that names a contract takes.
func contractUsage() string {
	return "a built-in contract (" + strings.Join(contracts.Names(), ", ") + ") or a folder with openapi.yaml, tool-catalog.json, requirements.yaml"
}
