package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"assay.kit/conformance/report"
)

// outputs is a folder that takes a report in every format, with the evidence of its findings. A nil
// one takes nothing.
type outputs struct{ dir string }

// createOutputs makes the folder and sees that files can be made in it, before anything is sent.
func createOutputs(dir string) (*outputs, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("flag --out: folder %s cannot be made: %w", dir, reason(err))
	}
	probe, err := os.CreateTemp(dir, ".assay-*")
	if err != nil {
		return nil, fmt.Errorf("flag --out: nothing can be written to %s: %w", dir, reason(err))
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return nil, fmt.Errorf("flag --out: %s: %w", dir, reason(err))
	}
	return &outputs{dir}, nil
}

// jsonFile is where the JSON report will be, "" for a nil folder.
func (o *outputs) jsonFile() string {
	if o == nil {
		return ""
	}
	for _, f := range formats(report.Console{}) {
		if f.Name == "json" {
			return filepath.Join(o.dir, f.File)
		}
	}
	return ""
}

// folder is the path, "" for nil.
func (o *outputs) folder() string {
	if o == nil {
		return ""
	}
	return o.dir
}

// write writes all formats, then the evidence. Each file appears only when it is whole. Evidence of an
// earlier report in the same folder goes away: its numbers would point at other findings now.
func (o *outputs) write(rep *report.Report) error {
	if o == nil {
		return nil
	}
	files := rep.Evidence()
	// What is said in the folder is relative to it: folders are moved and downloaded.
	for _, f := range formats(console(filepath.Base(o.jsonFile()), ".")) {
		files = append(files, report.File{Name: f.File, Write: func(w io.Writer) error { return f.Write(w, rep) }})
	}
	if err := o.clear(); err != nil {
		return notJudged{fmt.Errorf("folder %s: evidence of an earlier report cannot be removed: %w", o.dir, err)}
	}
	for _, f := range files {
		if err := writeWhole(filepath.Join(o.dir, filepath.FromSlash(f.Name)), f.Write); err != nil {
			return notJudged{fmt.Errorf("%s cannot be written: %w", filepath.Join(o.dir, f.Name), reason(err))}
		}
	}
	return nil
}

// ownEvidence is a name that report.Evidence gives; no other file is touched.
var ownEvidence = regexp.MustCompile(`^\d{3,}-.+@.+\.(har|html)$`)

func (o *outputs) clear() error {
	var errs []error
	for _, sub := range []string{"har", "pictures"} {
		entries, err := os.ReadDir(filepath.Join(o.dir, sub))
		if err != nil {
			continue // there is none
		}
		for _, e := range entries {
			if e.Type().IsRegular() && ownEvidence.MatchString(e.Name()) {
				errs = append(errs, os.Remove(filepath.Join(o.dir, sub, e.Name())))
			}
		}
	}
	return errors.Join(errs...)
}

// writeWhole writes a file that appears under its name only when it is whole.
func writeWhole(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".assay-*")
	if err != nil {
		return err
	}
	err = errors.Join(write(temp), temp.Chmod(0o644), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}
