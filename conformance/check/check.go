// Package check is the vocabulary of the suite (Check, Claim, Subject, Case) and its only executor
// (Plan, Run, T). It knows no Ginkgo, no system and no requirement: a check judges claims, and the
// catalog says which requirements they prove.
package check

import (
	"context"
	"strings"

	"assay.kit/conformance/target"
	"assay.kit/spec"
)

// Check is one flow against a target that judges one or several claims. It is a row in a table of
// package suite.
type Check struct {
	ID     string  // family.name, e.g. idempotency.sequential; stable
	Does   string  // what we do, one sentence
	Claims []Claim // what can be true or false of it
	Needs  []target.Capability
	Lock   Lock
	Select func(*spec.Contract) []Subject
	Cost   Cost // an upper bound for one case at standard effort
	Run    func(context.Context, *T, Subject)
}

// Claim is one thing that can be true or false, with the sentence that a failure prints.
type Claim struct {
	ID   string             // family.name, e.g. idempotency.conflict
	Says string             // what must hold, in one sentence
	For  func(Subject) bool // nil: for every subject of the check
}

// Subject is what a check is run on: an operation, a pair, a tool.
type Subject struct {
	Name  string            // unique within the check, without spaces: the operation's id, or a pair "a+b"
	Op    *spec.Operation   // the operation under test
	Other *spec.Operation   // of a pair
	Tool  *spec.Tool        // the tool under test, on the MCP face
	Calls []*spec.Operation // further operations that the case calls: for origin, effect and absent
}

// Operations lists everything a case on this subject calls.
func (s Subject) Operations() []*spec.Operation {
	var all []*spec.Operation
	for _, o := range append([]*spec.Operation{s.Op, s.Other}, s.Calls...) {
		if o != nil {
			all = append(all, o)
		}
	}
	return all
}

// Lock says what a case may run beside.
type Lock int

// Locks: Shared beside all; Principal alone on its credential's limits; Target alone altogether
// (it moves the clock, restarts, revokes or floods).
const (
	Shared Lock = iota
	Principal
	Target
)

// Cost is what a case may spend.
type Cost struct {
	Requests int // sent, shrinking apart
	Jobs     int // job slots held at once
}

// Effort scales how many values a property draws.
type Effort string

// Efforts.
const (
	Quick    Effort = "quick"
	Standard Effort = "standard"
	Deep     Effort = "deep"
)

// Attempts is the number of attempts of one property at this effort.
func (e Effort) Attempts() int {
	switch e {
	case Quick:
		return 3
	case Deep:
		return 60
	default:
		return 12
	}
}

// Family is the first part of the check's id.
func (c *Check) Family() string {
	f, _, _ := strings.Cut(c.ID, ".")
	return f
}

// claim returns the claim with this id, or nil.
func (c *Check) claim(id string) *Claim {
	for i := range c.Claims {
		if c.Claims[i].ID == id {
			return &c.Claims[i]
		}
	}
	return nil
}
