package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay.kit/conformance"
	"assay.kit/conformance/check"
	"assay.kit/conformance/report"
	"assay.kit/spec"
)

// plannedCall is an operation that a run would call.
type plannedCall struct {
	Operation string      `json:"operation"`
	Request   string      `json:"request"` // method and path template
	Effect    spec.Effect `json:"effect"`
	Cases     int         `json:"cases"`
}

// showPlan prints what a run would do; nothing is sent.
func (a *app) showPlan(o conformance.Options, format string) error {
	cases, left, err := conformance.Plan(o)
	if err != nil {
		return err
	}
	if format != "json" && format != "text" {
		return fmt.Errorf("flag --plan: a plan is no report; --format is text or json, not %s", format)
	}
	calls, most := planned(o.Contract, cases)
	needs := needsOf(left)
	if format == "json" {
		ids := []string{}
		for _, c := range cases {
			ids = append(ids, c.ID)
		}
		return writeJSON(a.out, map[string]any{"target": o.Profile.BaseURL, "cases": ids, "operations": calls,
			"most_requests": most, "not_exercised": needs})
	}
	rows := [][]string{{"OPERATION", "REQUEST", "EFFECT", "CASES"}}
	for _, c := range calls {
		rows = append(rows, []string{c.Operation, c.Request, string(c.Effect), strconv.Itoa(c.Cases)})
	}
	writeTable(a.out, a.screen(a.out).width(120), rows)
	fmt.Fprintf(a.out, "\n%d cases on %d operations of %s, at most %d requests and what shrinking a failure takes. Nothing was sent.\n",
		len(cases), len(calls), o.Profile.BaseURL, most)
	for _, n := range slices.Sorted(maps.Keys(needs)) {
		fmt.Fprintf(a.out, "%d more cases would need %s\n", needs[n], n)
	}
	return nil
}

// planned counts the cases that name an operation, and the requests that they may send together.
// What a case makes on the way (a parent, a reference) is called besides.
func planned(c *spec.Contract, cases []check.Case) (calls []plannedCall, most int) {
	count := map[string]int{}
	for _, cs := range cases {
		most += cs.Check.Cost.Requests
		for _, op := range cs.Subject.Operations() {
			count[op.ID]++
		}
	}
	for _, op := range c.Ops {
		if n := count[op.ID]; n > 0 {
			calls = append(calls, plannedCall{op.ID, op.Method + " " + op.Path, op.Effect, n})
		}
	}
	return calls, most
}

// needsOf counts the cases that capabilities would unlock.
func needsOf(left []report.Case) map[string]int {
	needs := map[string]int{}
	for _, c := range left {
		if len(c.Needs) > 0 {
			needs[strings.Join(c.Needs, ", ")]++
		}
	}
	return needs
}
