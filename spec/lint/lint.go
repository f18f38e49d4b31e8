// Package lint looks over one contract for promises that are missing: what OpenAPI shows and
// x-assay does not yet explain. Every rule is one row.
package lint

import (
	"cmp"
	"slices"

	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// Severity says how bad a finding is.
type Severity string

// Severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Rule is one thing to look for.
type Rule struct {
	ID       string // stable
	Severity Severity
	Purpose  string // what goes wrong without it, in a sentence
	Example  string // of what breaks it
	Check    func(*spec.Contract) []Finding
}

// Finding is one place where a rule is broken.
type Finding struct {
	Rule     string
	Severity Severity
	spec.Problem
}

// Rules are all rules, in the order in which they are listed for people.
func Rules() []Rule {
	return []Rule{
		{"idempotency-missing", Error, "Without idempotency a client that lost the answer to a creation cannot retry it safely.", "POST /things has x-assay: {creates: …} and no idempotency", idempotencyMissing},
		{"collection-missing", Error, "Without collection nothing says how a list is walked, when it ends and what a cursor is bound to.", "GET /things takes cursor and answers {items: […]}", collectionMissing},
		{"job-missing", Error, "Without job a client that got 202 does not know where the outcome will be.", "POST /forecasts answers 202 and says no more", jobMissing},
		{"money-missing", Error, "Without money a reader may take an amount for a float, or for another asset or scale.", "an object with the members amount and currency", moneyMissing},
		{"states-missing", Error, "Without states nothing says which state may follow which, and which are final.", "status: {enum: [open, closed]}", statesMissing},
		{"meaning-missing", Error, "Without a meaning for each state a change of what it stands for cannot be seen.", "states: {transitions: {open: [closed]}} without meaning", meaningMissing},
		{"tool-hints", Error, "Without hints that agree with its effect a client takes a tool for harmless that is not, or asks people about one that only reads.", "effect: compute with readOnlyHint: true", toolHints},
		{"tool-arguments", Error, "Without an argument for each of its operation's needs a tool can never be called.", "the tool of GET /jobs/{job_id} has no argument job_id", toolArguments},
		{"tool-output-missing", Warning, "Without an outputSchema nobody can say whether a tool's result is whole.", "a tool with an inputSchema alone", toolOutputMissing},
		{"example-missing", Warning, "Without an example of its body an operation can only be tried with generated values.", "a requestBody with a schema alone", exampleMissing},
		{"authority-missing", Warning, "Without a scope or an authority nobody knows what a caller must hold before money moves.", "effect: financial, no scope and no authority", authorityMissing},
		{"state-unreachable", Error, "A state that nothing leads to is a slip, or a transition is missing.", "states: {initial: a, transitions: {a: [b], c: [b]}}", stateUnreachable},
		{"nullable-ignored", Error, "In OpenAPI 3.1 nullable means nothing, so null is refused where the author meant to allow it.", "{type: string, nullable: true}", nullableIgnored},
		{"requirement-unlinked", Warning, "Without claims, or a note that says why there are none, nobody knows whether a requirement is judged.", "{id: T-IDEM-01, role: server, origin: stated, statement: …}", requirementUnlinked},
	}
}

// Run checks a contract against all rules and returns the findings in order of file and line.
func Run(c *spec.Contract) []Finding {
	var out []Finding
	for _, r := range Rules() {
		for _, f := range r.Check(c) {
			f.Rule, f.Severity = r.ID, r.Severity
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, cmp.Compare(a.Rule, b.Rule))
	})
	return out
}

// at builds a finding at a node of the document.
func at(n *tree.Node, message, hint string) Finding {
	p := spec.Problem{Message: message, Hint: hint}
	if n != nil {
		p.File, p.Line, p.Pointer = n.File, n.Where(), string(n.Pointer)
	}
	return Finding{Problem: p}
}
