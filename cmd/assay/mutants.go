package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay.kit/conformance"
	"assay.kit/conformance/matrix"
	"assay.kit/conformance/report"
	"assay.kit/conformance/target"
	"assay.kit/reference/mutant"
	"assay.kit/reference/store/memory"
	"assay.kit/spec"
	"assay.kit/spec/contracts"
)

type mutantFlags struct {
	only             []string
	contract, format string
	seed             uint64
	parallel         int
}

func (a *app) mutants() *cobra.Command {
	var f mutantFlags
	c := &cobra.Command{
		Use:   "mutants",
		Short: "Prove the suite: every server that is broken on purpose must be caught, the correct one never",
		Example: `  assay mutants
  assay mutants --contract notes --only idempotency-* --format json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.runMutants(c.Context(), f) },
	}
	fl := c.Flags()
	fl.StringSliceVar(&f.only, "only", nil, "only these mutants; a trailing * matches a prefix")
	fl.StringVar(&f.contract, "contract", "", "only the mutants of this built-in contract (default: all)")
	fl.Uint64Var(&f.seed, "seed", 1, "of everything drawn")
	fl.IntVar(&f.parallel, "parallel", 0, "servers at once; 0: five a core")
	choiceVar(c, &f.format, "format", "of stdout", "text", "json")
	return c
}

func (a *app) runMutants(ctx context.Context, f mutantFlags) error {
	rows, err := chosen(mutant.All(), f)
	if err != nil {
		return err
	}
	began := time.Now()
	p := a.progress()
	result, err := a.matrix(ctx, f, rows, p)
	p.close()
	if err != nil {
		return notJudged{err}
	}
	if f.format == "json" {
		err = writeJSON(a.out, result)
	} else {
		a.printMatrix(result, time.Since(began))
	}
	switch {
	case err != nil:
		return err
	case !result.Clean():
		return exit(exitViolations)
	default:
		return nil
	}
}

// chosen applies --contract and --only; a word that matches nothing is an error.
func chosen(all []mutant.Mutant, f mutantFlags) ([]mutant.Mutant, error) {
	if f.parallel < 0 {
		return nil, fmt.Errorf("flag --parallel: %d is too few; give 1 or more, or 0 for five a core", f.parallel)
	}
	if f.contract != "" {
		if _, err := contracts.Named(f.contract); err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(slices.Clone(all), func(m mutant.Mutant) bool { return m.Contract != f.contract })
	}
	if len(f.only) == 0 {
		return all, nil
	}
	var ids []string
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	hit := map[string]bool{}
	out := slices.DeleteFunc(slices.Clone(all), func(m mutant.Mutant) bool {
		found := false
		for _, w := range f.only {
			prefix, open := strings.CutSuffix(w, "*")
			if w == m.ID || open && strings.HasPrefix(m.ID, prefix) {
				hit[w], found = true, true
			}
		}
		return !found
	})
	var errs []error
	for _, w := range f.only {
		if !hit[w] {
			errs = append(errs, fmt.Errorf("flag --only: no mutant is called %q%s", w,
				orElse(didYouMean(w, ids), "; assay list mutants prints them")))
		}
	}
	return out, errors.Join(errs...)
}

// matrix runs one matrix a contract: its reference, then its mutants.
func (a *app) matrix(ctx context.Context, f mutantFlags, rows []mutant.Mutant, p *progress) (*matrix.Result, error) {
	all := &matrix.Result{Reference: matrix.Reference{FalseAlarms: []matrix.Alarm{}}, Mutants: []matrix.Mutant{}}
	for _, name := range contracts.Names() {
		if f.contract != "" && f.contract != name {
			continue
		}
		ct, err := loadContract(name)
		if err != nil {
			return nil, err
		}
		targets := []matrix.Target{broken(ct, mutant.Mutant{ID: "reference"})}
		for _, m := range rows {
			if m.Contract == name {
				targets = append(targets, broken(ct, m))
			}
		}
		r, err := matrix.Run(ctx, matrix.Options{Contract: ct, Checks: conformance.Checks(ct), Seed: f.seed,
			Parallel: f.parallel, Progress: p.server}, targets)
		if err != nil {
			return nil, err
		}
		all.Merge(r)
	}
	return all, nil
}

// broken serves one mutant on a store, a clock and ports of its own.
func broken(c *spec.Contract, m mutant.Mutant) matrix.Target {
	return matrix.Target{ID: m.ID, Breaks: m.Breaks, May: m.Claims(), Families: m.Families,
		Start: func(ctx context.Context) (string, *target.Profile, func(), error) {
			s, err := start(ctx, serving{contract: c, store: memory.New(), credentials: 1, replace: m.Replace, wrap: m.Wrap, behave: m.Behave, mcp: m.MCP,
				addr: loopback, control: loopback, restarts: true})
			if err != nil {
				return "", nil, nil, err
			}
			return s.baseURL, s.profile, s.stop, nil
		}}
}

func (a *app) printMatrix(r *matrix.Result, took time.Duration) {
	rows := [][]string{}
	count := map[matrix.Verdict]int{}
	for _, m := range r.Mutants {
		count[m.Verdict]++
		word, why := string(m.Verdict), strings.Join(m.KilledBy, " ")
		if m.Verdict != matrix.Killed {
			word = strings.ToUpper(word)
			why = strings.TrimSpace("breaks " + strings.Join(m.Breaks, " ") + "; found " + strings.Join(slices.Concat(m.KilledBy, m.Unexpected), " "))
			if m.Note != "" {
				why += "; " + m.Note
			}
		}
		rows = append(rows, []string{word, m.ID, fmt.Sprint(m.Requests), why})
	}
	writeTable(a.out, a.screen(a.out).width(200), rows)
	for _, al := range r.Reference.FalseAlarms {
		fmt.Fprintf(a.out, "FALSE ALARM  %s  %s\n", al.Contract, report.Clean(fmt.Sprintf("%s  %s %s: %s", al.Case, al.Claim, al.Verdict, al.Note)))
	}
	fmt.Fprintf(a.out, "%d killed, %d survived, %d misattributed; %d false alarms · median %d requests to the first kill · %.1f s\n", count[matrix.Killed],
		count[matrix.Survived], count[matrix.Misattributed], len(r.Reference.FalseAlarms), medianFirstKill(r), took.Seconds())
}

// medianFirstKill is how much the suite sends to a broken server before it has found it out.
func medianFirstKill(r *matrix.Result) int {
	var sent []int
	for _, m := range r.Mutants {
		if m.FirstKill > 0 {
			sent = append(sent, m.FirstKill)
		}
	}
	if len(sent) == 0 {
		return 0
	}
	slices.Sort(sent)
	return sent[len(sent)/2]
}
