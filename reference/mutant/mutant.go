// Package mutant holds servers that break their contract on purpose, each in one way, as real
// servers have been seen to. They prove the suite: a check that no mutant can turn red judges
// nothing. A mutant knows no check, and no check looks for a mutant.
package mutant

import (
	"net/http"
	"slices"

	"assay.kit/reference"
	"assay.kit/reference/core"
)

// Mutant is one broken server: the reference with one rule replaced, one transport wrapped, or one
// operation that does something else.
type Mutant struct {
	ID       string   // family-what, e.g. idempotency-ignores-body; stable
	Does     string   // what it does wrong, one sentence
	Contract string   // built-in contract that it serves
	Breaks   []string // claims that it breaks; at least one must be found broken
	May      []May    // claims that may break along with them
	// Families of checks that show it, where its claims are of no family because every exchange is
	// judged by them. Empty, and no other claim: the whole suite looks for it.
	Families []string
	// Exactly one of the four is set.
	Replace func(*core.Rules)
	Wrap    func(http.Handler) http.Handler
	Behave  func(map[string]core.Behaviour) // changes what operations do, in place
	MCP     func(*reference.MCP)            // replaces rules of the MCP face, or wraps it or what it sees of the core
}

// May is a claim that may be found broken too, and why that is no fault of the suite.
type May struct{ Claim, Because string }

// Claims lists the claims of May.
func (m Mutant) Claims() []string {
	var ids []string
	for _, c := range m.May {
		ids = append(ids, c.Claim)
	}
	return ids
}

// All returns every mutant, family by family. Adding one is adding a row to its family's table.
func All() []Mutant {
	return slices.Concat(transport(), validation(), idempotency(), payload(), concurrency(), collections(), jobs(), edges(), shortened(), seer(),
		machines(), kept(), tools(), revisions(), actions(),
		accesses(), workspaces(), limits(), expiries(), logs(), durabilities(),
		spellings(), tenants(), seldom(),
		planted(), rpcs(), unasked(), shapes(), handshakes(), heading(), listings(), lifetimes(), flows(),
		doorkeepers(), directions(),
		mcpTools(), equivalences())
}
