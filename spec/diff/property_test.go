package diff_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"assay.kit/spec/contracts"
	"assay.kit/spec/diff"
	"assay.kit/spec/tree"
)

func builtIn(t *testing.T, name string) *diff.Version {
	t.Helper()
	fsys, err := contracts.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	v, err := diff.ReadFolder(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// rewritten is a version with every document changed by f and then written and read again.
func rewritten(t *testing.T, v *diff.Version, f func(root *tree.Node)) *diff.Version {
	t.Helper()
	again := func(n *tree.Node) *tree.Node {
		if n == nil {
			return nil
		}
		n = n.Clone()
		f(n)
		n.Reindex("")
		out, err := tree.ParseJSON(n.File, []byte(strings.ReplaceAll(string(n.JSON()), `,"`, ",\n  \"")))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	out := &diff.Version{Name: v.Name, Doc: again(v.Doc), Tools: again(v.Tools)}
	for _, r := range v.Rows {
		out.Rows = append(out.Rows, again(r))
	}
	return out
}

// isData reports whether what is below a member is data, in which an order counts or a name is no keyword.
func isData(key string) bool {
	return slices.Contains([]string{"example", "examples", "default", "const", "x-assay", "assay"}, key)
}

// TestHarmless: no new layout, order of members, place of a schema or wording is more than words.
func TestHarmless(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*rand.Rand, *tree.Node)
		none bool // nothing at all must be found
	}{
		{"reformatted", func(*rand.Rand, *tree.Node) {}, true},
		{"members in another order", func(r *rand.Rand, n *tree.Node) {
			n.Walk(func(n *tree.Node) bool {
				r.Shuffle(len(n.Members), func(i, j int) { n.Members[i], n.Members[j] = n.Members[j], n.Members[i] })
				return true
			})
		}, true},
		{"sets in another order", func(r *rand.Rand, n *tree.Node) {
			eachMember(n, func(key string, v *tree.Node) {
				if slices.Contains([]string{"required", "enum", "scopes", "authority", "terminal", "parameters", "tools", "requirements"}, key) && v.Kind == tree.Array {
					r.Shuffle(len(v.Items), func(i, j int) { v.Items[i], v.Items[j] = v.Items[j], v.Items[i] })
				}
			})
		}, true},
		{"references in line", func(r *rand.Rand, root *tree.Node) {
			for range 2 {
				inline(r, root)
			}
		}, true},
		{"other words", func(_ *rand.Rand, n *tree.Node) {
			eachMember(n, func(key string, v *tree.Node) {
				if (key == "description" || key == "summary") && v.Kind == tree.String && !strings.Contains(string(v.Pointer), "/properties/description") {
					v.Text += " Said otherwise."
				}
			})
		}, false},
	} {
		for _, name := range contracts.Names() {
			for seed := range uint64(3) {
				r := rand.New(rand.NewPCG(seed, 1))
				v := builtIn(t, name)
				got := compare(t, v, rewritten(t, v, func(n *tree.Node) { c.edit(r, n) }))
				for _, f := range got.Findings {
					if c.none || f.Grade != diff.Doc && f.Rule != "tool.description" {
						t.Errorf("%s, %s, seed %d: %s %s at %s: %s -> %s", c.name, name, seed, f.Grade, f.Rule, f.Where, f.Before, f.After)
						break
					}
				}
			}
		}
	}
}

// eachMember visits the members of every object that is no data.
func eachMember(n *tree.Node, f func(key string, v *tree.Node)) {
	for _, m := range n.Members {
		f(m.Key, m.Value)
		if !isData(m.Key) {
			eachMember(m.Value, f)
		}
	}
	for _, it := range n.Items {
		eachMember(it, f)
	}
}

// inline puts some of what is referred to in place of the reference.
func inline(r *rand.Rand, root *tree.Node) {
	eachMember(root, func(key string, v *tree.Node) {
		ref := v.Str("$ref")
		if !strings.HasPrefix(ref, "#/components/") || len(v.Members) > 1 || r.IntN(2) == 0 {
			return
		}
		p, err := tree.ParseFragment(ref)
		if err != nil {
			return
		}
		if to := root.At(p); to != nil && to != v {
			file, line := v.File, v.Line
			*v = *to.Clone()
			v.File, v.Line = file, line
		}
	})
}

// schemaOf draws a small schema.
func schemaOf(r *rand.Rand, depth int) string {
	maybe := func(s string) string {
		if r.IntN(2) == 0 {
			return ""
		}
		return s
	}
	switch k := r.IntN(5); {
	case k == 0 && depth < 2:
		props, req := []string{}, []string{}
		for _, n := range []string{"a", "b", "c"}[:1+r.IntN(3)] {
			props = append(props, fmt.Sprintf("%q: %s", n, schemaOf(r, depth+1)))
			if r.IntN(2) == 0 {
				req = append(req, fmt.Sprintf("%q", n))
			}
		}
		return fmt.Sprintf(`{"type": "object", "properties": {%s}, "required": [%s]%s}`, strings.Join(props, ", "), strings.Join(req, ", "), maybe(`, "additionalProperties": false`))
	case k == 1 && depth < 2:
		return fmt.Sprintf(`{"type": "array", "items": %s%s%s}`, schemaOf(r, depth+1), maybe(fmt.Sprintf(`, "minItems": %d`, r.IntN(2))), maybe(fmt.Sprintf(`, "maxItems": %d`, 2+r.IntN(2))))
	case k == 2:
		return []string{`{"enum": ["x", "y"]}`, `{"enum": ["x"]}`, `{"type": "string", "enum": ["x", "y", "z"]}`, `{"const": "y"}`}[r.IntN(4)]
	case k == 3:
		return fmt.Sprintf(`{"type": %s%s%s}`, []string{`"integer"`, `"number"`, `["integer", "null"]`}[r.IntN(3)], maybe(fmt.Sprintf(`, "minimum": %d`, r.IntN(3))), maybe(fmt.Sprintf(`, "maximum": %d`, 3+r.IntN(3))))
	}
	return fmt.Sprintf(`{"type": "string"%s%s%s}`, maybe(fmt.Sprintf(`, "minLength": %d`, r.IntN(3))), maybe(fmt.Sprintf(`, "maxLength": %d`, 3+r.IntN(3))), maybe(`, "pattern": "^[a-z]*$"`))
}
