package main

import (
	"slices"

	"assay.kit/conformance"
	"assay.kit/conformance/check"
	"assay.kit/conformance/wire"
	"assay.kit/reference/mutant"
	"assay.kit/spec"
)

// catalog joins what is known about one contract: promises, checks and the mutants that prove them.
type catalog struct {
	contract *spec.Contract
	checks   []check.Check
	passive  []wire.Rule
	mutants  []mutant.Mutant // of every built-in contract
}

func newCatalog(c *spec.Contract) *catalog {
	return &catalog{contract: c, checks: conformance.Checks(c), passive: wire.Passive(), mutants: mutant.All()}
}

// claim says what a claim promises, in one sentence, and which checks judge it.
func (k *catalog) claim(id string) (says string, judges []string) {
	for i := range k.checks {
		for _, cl := range k.checks[i].Claims {
			if cl.ID == id {
				says = cl.Says
				judges = append(judges, k.checks[i].ID)
			}
		}
	}
	for _, r := range k.passive {
		if r.Claim == id {
			says = r.Says
			judges = append(judges, "every exchange")
		}
	}
	return says, judges
}

// provedBy lists the mutants that break a claim.
func (k *catalog) provedBy(claim string) []string {
	var ids []string
	for _, m := range k.mutants {
		if slices.Contains(m.Breaks, claim) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// linked lists the requirements that a claim proves.
func (k *catalog) linked(claim string) []string {
	var ids []string
	for _, q := range k.contract.Reqs {
		if slices.ContainsFunc(q.Claims, func(r spec.ClaimRef) bool { return r.ID == claim }) {
			ids = append(ids, q.ID)
		}
	}
	return ids
}

// claimIDs are all claims that something judges, sorted.
func (k *catalog) claimIDs() []string {
	var ids []string
	for i := range k.checks {
		for _, cl := range k.checks[i].Claims {
			ids = append(ids, cl.ID)
		}
	}
	for _, r := range k.passive {
		ids = append(ids, r.Claim)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// judgedOn lists the checks that run on an operation.
func (k *catalog) judgedOn(op string) []string {
	var ids []string
	for i := range k.checks {
		for _, s := range k.checks[i].Select(k.contract) {
			if slices.ContainsFunc(s.Operations(), func(o *spec.Operation) bool { return o.ID == op }) {
				ids = append(ids, k.checks[i].ID)
				break
			}
		}
	}
	return ids
}

// subjects are the names of what a check runs on.
func (k *catalog) subjects(ck *check.Check) []string {
	var names []string
	for _, s := range ck.Select(k.contract) {
		names = append(names, s.Name)
	}
	return names
}

// traits names the promises of an operation.
func traits(op *spec.Operation) []string {
	var names []string
	for _, t := range []struct {
		name string
		has  bool
	}{
		{"creates", op.Creates != nil}, {"idempotency", op.Idempotency != nil}, {"collection", op.Collection != nil},
		{"job", op.Job != nil}, {"moves", op.Moves != nil}, {"access", op.Access != nil}, {"immutable", op.Immutable},
	} {
		if t.has {
			names = append(names, t.name)
		}
	}
	return names
}
