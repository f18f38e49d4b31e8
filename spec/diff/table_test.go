package diff

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay.kit/spec/tree"
)

// sample is the least x-assay with a value at a member's path; names of the author's are k.
func sample(t *testing.T, m meaning, value string) *tree.Node {
	t.Helper()
	keys := strings.Split(m.path, ".")[1:]
	text := value
	for i := len(keys) - 1; i >= 0; i-- {
		if text == "" { // the member is missing: so is nothing above it
			text = "{}"
			continue
		}
		text = fmt.Sprintf(`{%q: %s}`, strings.ReplaceAll(keys[i], "*", "k"), text)
	}
	n, err := tree.ParseJSON("x.json", []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return n
}

// TestEveryRowJudges edits every member of the vocabulary in every way that its row has a grade for.
func TestEveryRowJudges(t *testing.T) {
	for _, m := range meanings() {
		if strings.HasPrefix(m.path, "property.states.") {
			continue // machines have pairs of their own
		}
		one, two := `"a"`, `"b"`
		if m.form == set {
			one, two = `["a"]`, `["a", "b"]`
		}
		if m.form == object || m.form == machine {
			one = `{}`
		}
		place, _, _ := strings.Cut(m.path, ".")
		for _, e := range m.edits() {
			old, fresh := sample(t, m, one), sample(t, m, two)
			switch {
			case m.form == set && e.name == "removed":
				old, fresh = fresh, old
			case m.form == set:
			case e.name == "added":
				old, fresh = sample(t, m, ""), sample(t, m, one)
			case e.name == "removed":
				fresh = sample(t, m, "")
			}
			d := (&differ{stopped: context.Background().Err}).fresh()
			d.means(scope{where: "here"}, place, "", old, fresh)
			i := slices.IndexFunc(d.out, func(f Finding) bool { return f.Rule == m.rule(e.name) })
			if i < 0 || !slices.Contains(e.grades, d.out[i].Grade) {
				t.Errorf("%s %s: %s -> %s gives %+v", m.path, e.name, old.JSON(), fresh.JSON(), d.out)
			}
		}
	}
}
