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
		{"idempotency-missing", Error, "Without idempotency a client that lost the answer to a creation cannot retry it safely.", idempotencyMissing},
		{"collection-missing", Error, "Without collection nothing says how a list is walked, when it ends and what a cursor is bound to.", collectionMissing},
		{"job-missing", Error, "Without job a client that got 202 does not know where the outcome will be.", jobMissing},
		{"money-missing", Error, "Without money a reader may take an amount for a float, or for another asset or scale.", moneyMissing},
		{"states-missing", Error, "Without states nothing says which state may follow which, and which are final.", statesMissing},
		{"meaning-missing", Error, "Without a meaning for each state a change of what it stands for cannot be seen.", meaningMissing},
		{"tool-hints", Error, "Without hints that agree with its effect a client takes a tool for harmless that is not, or asks people about one that only reads.", toolHints},
		{"tool-arguments", Error, "Without an argument for each of its operation's needs a tool can never be called.", toolArguments},
		{"tool-output-missing", Warning, "Without an outputSchema nobody can say whether a tool's result is whole.", toolOutputMissing},
		{"example-missing", Warning, "Without an example of its body an operation can only be tried with generated values.", exampleMissing},
		{"requirement-unlinked", Warning, "Without claims, or a note that says why there are none, nobody knows whether a requirement is judged.", requirementUnlinked},
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
