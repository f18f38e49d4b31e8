package spec_test

import (
	"testing"

	"pgregory.net/rapid"

	"assay.kit/spec/lint"
	"assay.kit/spec/tree"
)

// TestMutatedContract: whatever one value of a good contract is replaced by, loading gives a
// contract or problems with a place.
func TestMutatedContract(t *testing.T) {
	files := good(t)
	roots := map[string]*tree.Node{}
	nodes := map[string][]*tree.Node{}
	for _, name := range []string{"openapi.yaml", "tool-catalog.json", "requirements.yaml"} {
		root, err := tree.Parse(name, []byte(files[name]))
		if err != nil {
			t.Fatal(err)
		}
		roots[name] = root
		root.Walk(func(n *tree.Node) bool { nodes[name] = append(nodes[name], n); return true })
	}
	odd := []string{"null", "true", "0", `""`, `"x"`, "[]", "{}", "[null]", `{"$ref":"#"}`, `{"$ref":"#/paths"}`, `{"x-assay":null}`, `["a","a"]`, `{"a":{}}`, "-1.5"}
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom([]string{"openapi.yaml", "openapi.yaml", "openapi.yaml", "tool-catalog.json", "requirements.yaml"}).Draw(rt, "file")
		n := nodes[name][rapid.IntRange(0, len(nodes[name])-1).Draw(rt, "node")]
		with, err := tree.ParseJSON("odd", []byte(rapid.SampledFrom(odd).Draw(rt, "value")))
		if err != nil {
			rt.Fatal(err)
		}
		changed := roots[name].Clone()
		*changed.At(n.Pointer) = *with
		mutant := map[string]string{}
		for k, v := range files {
			mutant[k] = v
		}
		mutant[name] = string(changed.JSON()) // JSON is YAML
		c, err := load(mutant)
		if err == nil {
			lint.Run(c)
			return
		}
		if len(problems(err)) == 0 {
			rt.Fatalf("%s at %s: error without problems: %v", with.JSON(), n.Pointer, err)
		}
		for _, p := range problems(err) {
			if p.File == "" || p.Line == 0 {
				rt.Fatalf("%s at %s: problem without place: %v", with.JSON(), n.Pointer, p)
			}
		}
	})
}
