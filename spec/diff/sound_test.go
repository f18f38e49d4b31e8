package diff_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"assay.kit/spec/diff"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// TestCompatibleHasNoWitness: where nothing worse than compatible is found, no value that whoever keeps to
// the old version can make tells the two apart: 10,000 draws and more over drawn schemas and edits.
func TestCompatibleHasNoWitness(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	draws, compatible, breaking, proved := 0, 0, 0, 0
	for draws < 12000 {
		old, err := tree.ParseJSON("s.json", []byte(schemaOf(r, 0)))
		if err != nil {
			t.Fatal(err)
		}
		fresh := old.Clone()
		for range 1 + r.IntN(2) {
			tweak(r, fresh)
		}
		fresh.Reindex("")
		for _, in := range []string{"request", "response"} {
			res := compare(t, wrap(t, in, old), wrap(t, in, fresh))
			for _, f := range res.Findings {
				if f.Grade != diff.Breaking || strings.Contains(f.Rule, ".properties.") { // a member that is gone still fits
					continue
				}
				breaking++
				if f.Witness != nil {
					proved++
				} else {
					t.Logf("%s: %s -> %s: no witness of %s", in, old.JSON(), fresh.JSON(), f.Rule)
				}
			}
			if res.Count(diff.Breaking)+res.Count(diff.Review) > 0 {
				continue
			}
			compatible++
			from, to := old, fresh // a request that was right must stay right, an answer must have been possible
			if in == "response" {
				from, to = fresh, old
			}
			for range 60 {
				draws++
				if v := apart(t, r, from, to); v != "" {
					t.Fatalf("%s from %s to %s is called compatible, but %s tells them apart\n%s", in, old.JSON(), fresh.JSON(), v, told(res))
				}
			}
		}
	}
	t.Logf("%d draws over %d compatible edits; %d breaking ones, %d with a witness", draws, compatible, breaking, proved)
	if compatible < 50 || proved*10 < breaking*8 {
		t.Errorf("only %d compatible edits, and only %d of %d breaking ones have a witness", compatible, proved, breaking)
	}
}

// apart draws one value and returns it if it fits the one schema, with no member that it does not list,
// and not the other.
func apart(t *testing.T, r *rand.Rand, from, to *tree.Node) string {
	t.Helper()
	v := valueOf(r, from.Value(), 0)
	closed := from.Clone()
	closed.Walk(func(n *tree.Node) bool {
		if n.Get("properties") != nil {
			n.Set("additionalProperties", &tree.Node{Kind: tree.Bool, Text: "false"})
		}
		return true
	})
	if !fits(t, closed, v) || fits(t, to, v) {
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func fits(t *testing.T, n *tree.Node, v any) bool {
	t.Helper()
	s, err := schema.Compile("s", n.Value())
	if err != nil {
		t.Fatalf("%s: %v", n.JSON(), err)
	}
	return len(s.Validate(v)) == 0
}

// tweak edits one schema inside another.
func tweak(r *rand.Rand, root *tree.Node) {
	var all []*tree.Node
	var visit func(n *tree.Node)
	visit = func(n *tree.Node) {
		all = append(all, n)
		for _, m := range n.Members {
			switch m.Key {
			case "properties":
				for _, p := range m.Value.Members {
					visit(p.Value)
				}
			case "items":
				visit(m.Value)
			}
		}
	}
	visit(root)
	n := all[r.IntN(len(all))]
	switch r.IntN(4) {
	case 0:
		if len(n.Members) > 1 {
			n.Delete(n.Members[r.IntN(len(n.Members))].Key)
		}
	case 1:
		for _, m := range n.Members {
			if m.Value.Kind == tree.Number {
				m.Value.Text = map[bool]string{true: "1", false: "4"}[r.IntN(2) == 0]
			}
		}
	default:
		added := []string{`"minLength": 1`, `"maxLength": 2`, `"minimum": 1`, `"maximum": 4`, `"exclusiveMinimum": 0`, `"minItems": 1`, `"maxItems": 2`,
			`"additionalProperties": false`, `"required": ["a"]`, `"enum": ["x", "y"]`, `"pattern": "^[a-m]*$"`, `"type": ["string", "null"]`, `"type": "number"`,
			`"uniqueItems": true`, `"multipleOf": 2`, `"minProperties": 1`, `"not": {"const": "x"}`, `"anyOf": [{"type": "string"}, {"type": "null"}]`, `"properties": {"a": {"type": "string"}}`}
		m, err := tree.ParseJSON("s.json", []byte("{"+added[r.IntN(len(added))]+"}"))
		if err == nil {
			n.Set(m.Members[0].Key, m.Members[0].Value)
		}
	}
}

// valueOf draws a value that is near to fit.
func valueOf(r *rand.Rand, raw any, depth int) any {
	m, _ := raw.(map[string]any)
	if enum, ok := m["enum"].([]any); ok && r.IntN(4) > 0 {
		return enum[r.IntN(len(enum))]
	}
	if c, ok := m["const"]; ok {
		return c
	}
	kinds := []string{"string", "integer", "null", "object", "array", "boolean", "number"}
	switch t := m["type"].(type) {
	case string:
		kinds = []string{t}
	case []any:
		kinds = nil
		for _, k := range t {
			kinds = append(kinds, fmt.Sprint(k))
		}
	}
	switch kinds[r.IntN(len(kinds))] {
	case "string":
		return strings.Repeat([]string{"a", "x", "y", "z", "Q"}[r.IntN(5)], r.IntN(5))
	case "integer":
		return json.Number(fmt.Sprint(r.IntN(9) - 1))
	case "number":
		return json.Number(fmt.Sprintf("%d.%d", r.IntN(8), r.IntN(2)*5))
	case "boolean":
		return r.IntN(2) == 0
	case "array":
		out := []any{}
		for range r.IntN(4) {
			out = append(out, valueOf(r, m["items"], depth+1))
		}
		return out
	case "object":
		out := map[string]any{}
		props, _ := m["properties"].(map[string]any)
		for _, name := range []string{"a", "b", "c"} {
			if p, ok := props[name]; ok && r.IntN(3) > 0 && depth < 4 {
				out[name] = valueOf(r, p, depth+1)
			}
		}
		return out
	}
	return nil
}
