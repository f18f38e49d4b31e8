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

// unproved are families whose checks no broken server has tried yet. A claim outside them without a
// mutant fails the test, and so does a family here that has one.
func unproved() map[string]string {
	return map[string]string{}
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
	for _, claim := range slices.Sorted(maps.Keys(judged)) {
		family, _, _ := strings.Cut(claim, ".")
		reason, open := unproved()[family]
		switch {
		case open && broken[claim]:
			t.Errorf("family %s is said to be unproved (%s), but a mutant breaks %s", family, reason, claim)
		case !open && !broken[claim]:
			t.Errorf("no mutant breaks %s", claim)
		}
	}
}
