package diff_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"assay.kit/spec"
	"assay.kit/spec/diff"
)

func TestRulesAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range diff.Rules() {
		if seen[r.ID] || r.Why == "" || r.Side == "" || len(r.Grades) == 0 {
			t.Errorf("the rule %q is incomplete or there twice: %+v", r.ID, r)
		}
		seen[r.ID] = true
	}
}

// TestEveryMemberHasARow: what the vocabulary can say the gate can judge, however it is edited.
func TestEveryMemberHasARow(t *testing.T) {
	var root struct {
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(spec.VocabularySchema(), &root); err != nil {
		t.Fatal(err)
	}
	rules := map[string]bool{}
	for _, r := range diff.Rules() {
		rules[r.ID] = true
	}
	for _, place := range []string{"document", "operation", "property", "tool", "requirement"} {
		for _, path := range members(root.Defs, root.Defs[place], place) {
			if path == "property.states.meaning" || path == "requirement.claims.id" || path == "requirement.claims.origin" {
				continue // each state's sentence, and each claim, is an entry
			}
			for _, edit := range []string{"added", "removed"} {
				if !rules[path+"."+edit] {
					t.Errorf("no rule judges %s %s", path, edit)
				}
			}
		}
	}
}

// members lists the members below a definition of the vocabulary that carry meaning, maps as "*".
func members(defs map[string]any, raw any, path string) []string {
	m, _ := raw.(map[string]any)
	if ref, ok := m["$ref"].(string); ok {
		m, _ = defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	var out []string
	props, _ := m["properties"].(map[string]any)
	named := !isMap(path) && path != "document" && path != "operation" && path != "property" && path != "tool" && path != "requirement"
	if named {
		out = append(out, path)
	}
	for _, name := range slices.Sorted(maps.Keys(props)) {
		next := path + "." + name
		if isMap(path) {
			next = path + ".*"
		}
		out = append(out, members(defs, props[name], next)...)
	}
	if extra, ok := m["additionalProperties"].(map[string]any); ok && path != "property.states.transitions" && path != "property.states.meaning" {
		out = append(out, members(defs, extra, path+".*")...)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(p string) bool { // a refusal, and an order, are entries as a whole
		return strings.HasPrefix(p, "document.codes.*.") || strings.HasPrefix(p, "operation.collection.order.values.*.")
	})
}

// isMap are the members whose names are the author's, or are all judged by one row.
func isMap(path string) bool {
	switch path {
	case "document.codes", "document.connection.limits", "document.connection.context", "operation.collection.order.values", "operation.collection.filters":
		return true
	}
	return false
}

// TestPairsCoverTheTable names the breaking rules that no pair shows, so that the list of them only shrinks.
func TestPairsCoverTheTable(t *testing.T) {
	shown := map[string]bool{}
	for _, c := range pairCases(t) {
		shown[c.rule] = true
	}
	known := map[string]bool{}
	for _, r := range diff.Rules() {
		known[r.ID] = true
	}
	for rule := range shown {
		if rule != "" && !known[rule] {
			t.Errorf("a pair expects %s, which is no rule", rule)
		}
	}
	if len(shown) < 90 {
		t.Errorf("the pairs show only %d rules", len(shown))
	}
}
