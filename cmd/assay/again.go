package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"assay.kit/conformance"
	"assay.kit/conformance/check"
	"assay.kit/conformance/report"
	"assay.kit/conformance/target"
)

// earlier reads the files of earlier runs that the flags name: known failures, and a report whose
// failures are run again.
func (f *checkFlags) earlier(o *conformance.Options) error {
	if f.baseline != "" {
		data, err := os.ReadFile(f.baseline)
		if err != nil {
			return fmt.Errorf("flag --baseline: %s cannot be read: %w", f.baseline, reason(err))
		}
		if o.Baseline, err = report.ParseBaseline(f.baseline, data); err != nil {
			return err
		}
	}
	if f.rerun == "" {
		return nil
	}
	previous, err := loadReport("--rerun", f.rerun)
	if err != nil {
		return err
	}
	if o.Cases = conformance.Unfinished(previous); len(o.Cases) == 0 {
		return fmt.Errorf("flag --rerun: in %s nothing failed and nothing was left open, so there is nothing to run again", f.rerun)
	}
	f.as(previous, o)
	return nil
}

// as runs with what the report was made with, unless a flag says otherwise.
func (f *checkFlags) as(previous *report.Report, o *conformance.Options) {
	f.previous = previous
	if !f.has("seed") {
		o.Seed = previous.Seed
	}
	if !f.has("effort") && previous.Effort != "" {
		o.Effort = check.Effort(previous.Effort)
	}
	if !f.has("strict") {
		o.Strict = previous.Strict
	}
}

func (f *checkFlags) has(flag string) bool { return f.given != nil && f.given(flag) }

// judged is the name of the contract that an earlier report is about, "" without one.
func (f *checkFlags) judged() string {
	if f.previous == nil {
		return ""
	}
	return f.previous.Contract.Name
}

// selects refuses what the contract does not have, before anything is asked of the environment.
func (f *checkFlags) selects(o conformance.Options) error {
	if f.previous != nil {
		if err := conformance.SameContract(f.previous, o.Contract); err != nil {
			return fmt.Errorf("the report cannot be run again: %w", err)
		}
	}
	o.Profile = &target.Profile{}
	_, _, err := conformance.Plan(o)
	return err
}

func loadReport(flag, path string) (*report.Report, error) {
	r, err := report.Load(path)
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			return nil, fmt.Errorf("%s: %s cannot be read: %w", flag, path, pe.Err)
		}
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return r, nil
}

// canWriteBaseline makes sure, before anything is sent, that the file can be written and that no
// reasons get lost with it.
func (f *checkFlags) canWriteBaseline() error {
	path := f.writeBaseline
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("flag --write-baseline: %s is a folder; give a file", path)
	case err == nil && filepath.Clean(path) != filepath.Clean(f.baseline):
		return fmt.Errorf("flag --write-baseline: %s exists; give --baseline %s too, which keeps its reasons, or another file", path, path)
	}
	probe, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("flag --write-baseline: %s cannot be written: %w", path, reason(err))
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// keepBaseline writes what failed as a baseline file; path "" writes none.
func (a *app) keepBaseline(path string, rep *report.Report) error {
	if path == "" {
		return nil
	}
	var b bytes.Buffer
	if err := rep.WriteBaseline(&b); err != nil {
		return notJudged{err}
	}
	if err := replaceFile(path, b.Bytes(), 0o644); err != nil {
		return notJudged{fmt.Errorf("baseline %w", err)}
	}
	fmt.Fprintf(a.err, "Baseline written to %s. Say in each line's reason why it is accepted; then judge with --baseline %s.\n", path, path)
	return nil
}
