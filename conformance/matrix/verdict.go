package matrix

import (
	"fmt"
	"slices"

	"assay.kit/conformance/check"
	"assay.kit/conformance/report"
)

// verdict compares what was found with what the target says it breaks.
func verdict(t Target, outcomes []check.Outcome) Mutant {
	m := Mutant{ID: t.ID, Breaks: append([]string{}, t.Breaks...), KilledBy: []string{}}
	var fault, open string
	for _, oc := range outcomes {
		m.Requests += oc.Case.Requests
		for _, f := range oc.Findings {
			switch {
			case slices.Contains(t.Breaks, f.Claim):
				m.KilledBy = append(m.KilledBy, f.Claim)
			case !slices.Contains(t.May, f.Claim):
				if len(m.Unexpected) == 0 {
					m.Note = fmt.Sprintf("%s: expected %s, got %s", f.Case, f.Expected, f.Actual)
				}
				m.Unexpected = append(m.Unexpected, f.Claim)
			}
		}
		switch {
		case oc.Case.Verdict == report.Error && fault == "":
			fault = oc.Case.ID + ": " + oc.Case.Note
		case oc.Case.Verdict == report.Inconclusive && open == "":
			open = oc.Case.ID + ": " + oc.Case.Note
		}
	}
	m.KilledBy, m.Unexpected = distinct(m.KilledBy), distinct(m.Unexpected)
	switch {
	case fault != "":
		m.Verdict, m.Note = Misattributed, fault
	case len(m.Unexpected) > 0:
		m.Verdict = Misattributed
	case len(m.KilledBy) == 0:
		m.Verdict, m.Note = Survived, open
	default:
		m.Verdict = Killed
	}
	return m
}

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// alarms lists what a correct server was blamed for, and what could not be judged on it.
func alarms(contract string, outcomes []check.Outcome) []Alarm {
	var out []Alarm
	for _, oc := range outcomes {
		for _, f := range oc.Findings {
			out = append(out, Alarm{Contract: contract, Case: oc.Case.ID, Claim: f.Claim, Verdict: report.Fail,
				Note: fmt.Sprintf("expected %s, got %s", f.Expected, f.Actual)})
		}
		for _, cl := range oc.Case.Claims {
			if cl.Verdict == report.Inconclusive || cl.Verdict == report.Error {
				out = append(out, Alarm{Contract: contract, Case: oc.Case.ID, Claim: cl.ID, Verdict: cl.Verdict, Note: cl.Note})
			}
		}
	}
	return out
}
