package check

import (
	"strings"
	"testing"

	"assay.kit/conformance/report"
)

func TestHidden(t *testing.T) {
	r := &runner{Env: Env{Text: func(s string) string { return strings.ReplaceAll(s, "token", "***") }}}
	claims := []report.Claim{{ID: "a.b", Note: "a token"}}
	o := r.hidden(Outcome{Case: report.Case{Note: "token 1", Claims: claims},
		Findings: []report.Finding{{Expected: "no token", Actual: "token!"}}})
	got := []string{o.Case.Note, o.Case.Claims[0].Note, o.Findings[0].Expected, o.Findings[0].Actual}
	if strings.Join(got, "|") != "*** 1|a ***|no ***|***!" {
		t.Errorf("got %q", got)
	}
	if o := (&runner{}).hidden(Outcome{Case: report.Case{Note: "token"}}); o.Case.Note != "token" {
		t.Errorf("nothing is to be hidden, and yet: %q", o.Case.Note)
	}
}
