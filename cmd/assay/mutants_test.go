package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"assay.kit/conformance"
	"assay.kit/conformance/wire"
	"assay.kit/reference/mutant"
	"assay.kit/spec/contracts"
)

// unproved are families for which the broken servers are still to be written. A claim outside them
// without a mutant fails the test, and so does a family here that has a mutant for each of its claims.
func unproved() []string {
	return []string{}
}

// TestEveryClaimHasAMutant: a claim that no broken server breaks may judge nothing.
func TestEveryClaimHasAMutant(t *testing.T) {
	judged := map[string]bool{wire.RequestIDUnique: true}
	for _, r := range wire.Passive() {
		judged[r.Claim] = true
	}
	for _, name := range contracts.Names() {
		ct, err := loadContract(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, ck := range conformance.Checks(ct) {
			for _, cl := range ck.Claims {
				judged[cl.ID] = true
			}
		}
	}
	broken := map[string]bool{}
	for _, m := range mutant.All() {
		for _, claim := range m.Breaks {
			broken[claim] = true
			if !judged[claim] {
				t.Errorf("%s breaks %s, which no check judges", m.ID, claim)
			}
		}
		for _, claim := range m.Claims() {
			if !judged[claim] {
				t.Errorf("%s may break %s, which no check judges", m.ID, claim)
			}
		}
	}
	open := map[string]bool{}
	for _, claim := range slices.Sorted(maps.Keys(judged)) {
		family, _, _ := strings.Cut(claim, ".")
		switch {
		case broken[claim]:
		case slices.Contains(unproved(), family):
			open[family] = true
		default:
			t.Errorf("no mutant breaks %s", claim)
		}
	}
	for _, family := range unproved() {
		if !open[family] {
			t.Errorf("every claim of family %s has a mutant: it is not unproved any more", family)
		}
	}
}
