package main

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"assay.kit/conformance"
	"assay.kit/conformance/report"
	"assay.kit/spec"
	"assay.kit/spec/lint"
)

// lintLine is one thing that is wrong with a contract.
type lintLine struct {
	File     string        `json:"file"`
	Line     int           `json:"line"`
	Severity lint.Severity `json:"severity"`
	Rule     string        `json:"rule"` // "load" if the contract cannot be read as one
	Pointer  string        `json:"pointer,omitempty"`
	Message  string        `json:"message"`
	Hint     string        `json:"hint,omitempty"`
}

func (a *app) lint() *cobra.Command {
	var contract, format, explain string
	c := &cobra.Command{
		Use:   "lint",
		Short: "Say what is wrong with a contract, or missing in it, with file and line",
		Example: `  assay lint --contract ./api
  assay lint --contract seer --format json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if explain != "" {
				return a.explainRule(explain, lintRules())
			}
			lines, loaded, err := lintContract(contract)
			if err != nil {
				return err
			}
			if format == "json" {
				err = writeJSON(a.out, map[string]any{"problems": lines})
			} else {
				a.printLint(lines)
			}
			switch {
			case err != nil:
				return err
			case !loaded:
				return exit(exitUsage)
			case worst(lines) == lint.Error:
				return exit(exitViolations)
			default:
				return nil
			}
		},
	}
	c.Flags().StringVar(&contract, "contract", "seer", contractUsage())
	c.Flags().StringVar(&explain, "explain", "", "explain a rule instead of looking at a contract")
	choiceVar(c, &format, "format", "how to print", "text", "json")
	return c
}

func lintRules() []ruleText {
	var out []ruleText
	for _, r := range lint.Rules() {
		out = append(out, ruleText{id: r.ID, says: r.Purpose, example: r.Example, grades: []string{string(r.Severity)}})
	}
	return out
}

// lintContract gives the loader's problems, or its warnings and the findings of the rules.
func lintContract(arg string) (lines []lintLine, loaded bool, err error) {
	lines = []lintLine{}
	add := func(file string, p spec.Problem, severity lint.Severity, rule string) {
		lines = append(lines, lintLine{File: file, Line: p.Line, Severity: severity, Rule: rule,
			Pointer: p.Pointer, Message: p.Message, Hint: p.Hint})
	}
	c, err := loadContract(arg)
	var le *spec.LoadError
	if errors.As(err, &le) {
		for _, p := range le.Problems { // their files have the folder already
			add(filepath.ToSlash(p.File), p, lint.Error, "load")
		}
		return lines, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	place := func(file string) string { return path.Join(filepath.ToSlash(arg), file) }
	for _, w := range c.Warnings {
		add(place(w.File), w, lint.Warning, "load")
	}
	for _, p := range conformance.UnknownClaims(c) {
		add(place(p.File), p, lint.Error, "claim-unknown")
	}
	for _, f := range lint.Run(c) {
		add(place(f.File), f.Problem, f.Severity, f.Rule)
	}
	return lines, true, nil
}

func worst(lines []lintLine) lint.Severity {
	worst := lint.Severity("")
	for _, l := range lines {
		if l.Severity == lint.Error {
			return lint.Error
		}
		worst = l.Severity
	}
	return worst
}

func (a *app) printLint(lines []lintLine) {
	count := map[lint.Severity]int{}
	for _, l := range lines {
		count[l.Severity]++
		where := l.File
		if l.Line > 0 {
			where += fmt.Sprintf(":%d", l.Line)
		}
		text := l.Message
		if l.Hint != "" {
			text += "; " + l.Hint
		}
		fmt.Fprintf(a.out, "%s: %s: %s [%s]\n", report.Clean(where), l.Severity, report.Clean(text), l.Rule)
	}
	if len(lines) == 0 {
		fmt.Fprintln(a.out, "nothing to remark")
		return
	}
	fmt.Fprintf(a.out, "%d errors, %d warnings\n", count[lint.Error], count[lint.Warning])
}
