package ginkgorun

import (
	"fmt"
	"strings"

	"github.com/onsi/gomega/types"

	"assay.kit/conformance"
	"assay.kit/conformance/report"
)

// keepTheContract succeeds where no case of a []report.Case broke a promise or could not be judged;
// its message is that of the console, finding by finding.
func keepTheContract(rep *report.Report) types.GomegaMatcher {
	return &kept{report: rep, found: conformance.Findings(rep)}
}

type kept struct {
	report *report.Report
	found  map[string][]report.Finding
}

// Match implements types.GomegaMatcher.
func (k *kept) Match(actual any) (bool, error) {
	cases, ok := actual.([]report.Case)
	if !ok {
		return false, fmt.Errorf("keepTheContract takes []report.Case, not %T", actual)
	}
	return len(k.bad(cases)) == 0, nil
}

func (k *kept) bad(cases []report.Case) []report.Case {
	var out []report.Case
	for _, cs := range cases {
		if conformance.ResultOf(cs, k.found[cs.ID]) >= conformance.Unknown {
			out = append(out, cs)
		}
	}
	return out
}

// FailureMessage implements types.GomegaMatcher.
func (k *kept) FailureMessage(actual any) string {
	cases, _ := actual.([]report.Case)
	var texts []string
	for _, cs := range k.bad(cases) {
		texts = append(texts, strings.TrimPrefix(conformance.Message(k.report, cs, k.found[cs.ID]), "\n"))
	}
	return strings.Join(texts, "\n")
}

// NegatedFailureMessage implements types.GomegaMatcher.
func (k *kept) NegatedFailureMessage(actual any) string {
	cases, _ := actual.([]report.Case)
	return fmt.Sprintf("expected a broken promise in %d cases, but they keep the contract", len(cases))
}
