package mutant

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay.kit/reference/core"
	"assay.kit/spec/contracts"
)

var name = regexp.MustCompile(`^[a-z]+(-[a-z0-9]+)+$`)

// TestRows holds every row to the form that the matrix and its readers count on.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range All() {
		if !name.MatchString(m.ID) || seen[m.ID] {
			t.Errorf("%q is no id, or comes twice", m.ID)
		}
		seen[m.ID] = true
		if !strings.HasSuffix(m.Does, ".") || !slices.Contains(contracts.Names(), m.Contract) {
			t.Errorf("%s: Does %q, Contract %q", m.ID, m.Does, m.Contract)
		}
		ways := 0
		for _, set := range []bool{m.Replace != nil, m.Wrap != nil, m.Behave != nil, m.MCP != nil} {
			if set {
				ways++
			}
		}
		if ways != 1 {
			t.Errorf("%s must replace rules, wrap the transport, change operations or the MCP face: one of them", m.ID)
		}
		if len(m.Breaks) == 0 || slices.ContainsFunc(m.May, func(may May) bool { return may.Because == "" || slices.Contains(m.Breaks, may.Claim) }) {
			t.Errorf("%s: a claim may break along only with a reason, and beside those that are broken", m.ID)
		}
		once := slices.Sorted(slices.Values(slices.Concat(m.Breaks, m.Claims())))
		if len(slices.Compact(slices.Clone(once))) != len(once) {
			t.Errorf("%s names a claim twice: %v", m.ID, once)
		}
	}
}

// TestPlanted: the defects that the protocol's own suite was measured with are all here; it let the
// first table pass.
func TestPlanted(t *testing.T) {
	if a, b := len(missed()), len(caught()); a != 12 || b != 11 {
		t.Errorf("%d and %d planted defects, not 12 and 11", a, b)
	}
}

// TestReplaceReplaces: the zero value is the correct server, so a row that leaves it breaks nothing.
func TestReplaceReplaces(t *testing.T) {
	for _, m := range All() {
		if m.Replace == nil {
			continue
		}
		var r core.Rules
		m.Replace(&r)
		if reflect.ValueOf(r).IsZero() {
			t.Errorf("%s replaces no rule", m.ID)
		}
	}
}
