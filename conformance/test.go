package conformance

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/report"
	"assay.kit/conformance/target"
)

// Test runs the suite and reports every case as a subtest named by its id (check@operation), so that
// -run and -v work on them; -run chooses what is reported, Options.Only what is sent. A broken promise
// and a case that could not be judged fail; a warning is logged; what was not exercised is skipped
// with the profile lines that would unlock it. The report is nil where nothing could be judged.
func Test(t *testing.T, o Options) *report.Report {
	t.Helper()
	rep, err := Run(t.Context(), o.Until(t.Deadline()))
	if err != nil {
		t.Fatal(err)
		return nil
	}
	byCase := Findings(rep)
	for _, cs := range rep.Cases {
		if cs.Subject == "" { // a check that nothing in the contract has the trait for
			continue
		}
		t.Run(cs.ID, func(t *testing.T) {
			tell := map[Result]func(...any){Broken: t.Error, Unknown: t.Error, Left: t.Skip, Doubtful: t.Log}[ResultOf(cs, byCase[cs.ID])]
			if tell != nil {
				tell(Message(rep, cs, byCase[cs.ID]))
			}
		})
	}
	if err := Err(rep); err != nil && !t.Failed() {
		t.Error(err)
	}
	for _, w := range rep.Warnings {
		t.Log(report.Clean(w))
	}
	return rep
}

// Until bounds the run, so that it ends and reports before a deadline, as of testing.T, ends the whole
// process: what was not judged by then is inconclusive.
func (o Options) Until(deadline time.Time, ok bool) Options {
	if !ok || o.Profile == nil {
		return o
	}
	left := time.Until(deadline)
	left -= min(left/10, 10*time.Second) // to come to an end, and to print
	p := *o.Profile
	if left = max(left, time.Millisecond); p.Budget.Time == 0 || left < p.Budget.Time {
		p.Budget.Time = left
	}
	o.Profile = &p
	return o
}

// Result is what a test framework makes of a case.
type Result int

// Results: Kept passes; Doubtful passes with a warning; Left is skipped, it was not exercised or does
// not apply; Unknown fails, it could not be judged; Broken fails.
const (
	Kept Result = iota
	Doubtful
	Left
	Unknown
	Broken
)

// ResultOf grades a case by its findings: a broken promise that is only inferred, or that the baseline
// lists, is no failure.
func ResultOf(cs report.Case, found []report.Finding) Result {
	worst := report.Verdict("")
	for _, f := range found {
		v := f.Verdict
		if f.Known != nil {
			v = report.Warn
		}
		worst = report.Worse(worst, v)
	}
	switch {
	case worst == report.Fail:
		return Broken
	case worst == report.Warn:
		return Doubtful
	case cs.Verdict == report.Inconclusive || cs.Verdict == report.Error:
		return Unknown
	case cs.Verdict == report.NotApplicable || cs.Verdict == report.NotExercised:
		return Left
	default:
		return Kept
	}
}

// Findings sorts the findings of a report by case.
func Findings(rep *report.Report) map[string][]report.Finding {
	out := map[string][]report.Finding{}
	for _, f := range rep.Findings {
		out[f.Case] = append(out[f.Case], f)
	}
	return out
}

// Message tells a case to a person: its findings as the console prints them, else why there is none.
func Message(rep *report.Report, cs report.Case, found []report.Finding) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "\n%s\n", report.Console{}.Finding(rep, f))
	}
	if len(found) == 0 {
		fmt.Fprintf(&b, "%s: %s", strings.ReplaceAll(string(cs.Verdict), "_", " "), report.Clean(cs.Note))
		for _, n := range cs.Needs {
			if lines := target.Capability(n).Unlock(); lines != "" && n != check.AllowFinancial {
				fmt.Fprintf(&b, "\n%s", lines)
			}
		}
	}
	return b.String()
}

// Err is the error of a run that did not end conformant, whatever its cases say one by one.
func Err(rep *report.Report) error {
	switch {
	case rep.Verdict == report.Conformant:
		return nil
	case rep.Note != "":
		return fmt.Errorf("%s: %s (seed %d)", rep.Verdict, rep.Note, rep.Seed)
	default:
		return errors.New(string(rep.Verdict))
	}
}
