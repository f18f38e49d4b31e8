package diff_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.kit/spec/diff"
	"assay.kit/spec/tree"
)

// pairCase is one edit of a fragment: what stands in a request body, an answer, an operation and so on
// before and after, and what must be said of it.
type pairCase struct {
	name, in string
	old, new *tree.Node
	want     diff.Grade // "" if nothing must be found
	rule     string
	witness  bool
}

func (c pairCase) String() string { return c.in + ": " + c.name }

func pairCases(t *testing.T) []pairCase {
	t.Helper()
	files, err := filepath.Glob("testdata/pairs/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no pairs: %v", err)
	}
	var out []pairCase
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		root, err := tree.ParseYAML(file, data)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range root.Get("pairs").Items {
			w := n.Get("witness")
			out = append(out, pairCase{n.Str("name"), n.Str("in"), n.Get("old"), n.Get("new"), diff.Grade(n.Str("want")), n.Str("rule"), w != nil && w.Text == "true"})
		}
	}
	return out
}

// wrap builds the smallest version that holds a fragment.
func wrap(t *testing.T, in string, n *tree.Node) *diff.Version {
	t.Helper()
	text := "null"
	if n != nil {
		text = string(n.JSON())
	}
	op := func(more string) string {
		return fmt.Sprintf(`{"openapi": "3.1.0", "info": {"title": "T", "version": "1.0.0"}, "paths": {"/things": {"post": {"operationId": "makeThing"%s}}}}`, more)
	}
	v := &diff.Version{Name: in}
	parse := func(text string) *tree.Node {
		root, err := tree.ParseJSON(in+".json", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v\n%s", in, err, text)
		}
		return root
	}
	switch in {
	case "request":
		v.Doc = parse(op(`, "requestBody": {"required": true, "content": {"application/json": {"schema": ` + text + `}}}, "responses": {}`))
	case "response":
		v.Doc = parse(op(`, "responses": {"200": {"description": "d", "content": {"application/json": {"schema": ` + text + `}}}}`))
	case "parameter":
		list := "[" + text + "]"
		if n == nil {
			list = "[]"
		}
		v.Doc = parse(op(`, "responses": {}, "parameters": ` + list))
	case "operation":
		v.Doc = parse(`{"openapi": "3.1.0", "info": {"title": "T", "version": "1.0.0"}, "paths": {"/things": {"post": ` + text + `}}}`)
	case "document":
		v.Doc = parse(text)
	case "tools":
		v.Tools = parse(`{"tools": ` + text + `}`)
	case "tool":
		v.Tools = parse(`{"tools": [` + text + `]}`)
	case "rows":
		v.Rows = []*tree.Node{parse(`{"requirements": ` + text + `}`)}
	default:
		t.Fatalf("there is no place %q", in)
	}
	return v
}

func compare(t *testing.T, old, new *diff.Version) *diff.Result {
	t.Helper()
	r, err := diff.Compare(t.Context(), old, new, diff.Options{Today: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPairs: every pair gets its grade under its rule, and nothing worse is said.
func TestPairs(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range pairCases(t) {
		t.Run(c.String(), func(t *testing.T) {
			if seen[c.String()] {
				t.Error("the name is there twice")
			}
			seen[c.String()] = true
			r := compare(t, wrap(t, c.in, c.old), wrap(t, c.in, c.new))
			judge(t, c, r)
		})
	}
}

func judge(t *testing.T, c pairCase, r *diff.Result) {
	worst := diff.Grade("")
	for _, f := range r.Findings {
		if worst == "" || slices.Index(diff.Grades(), f.Grade) < slices.Index(diff.Grades(), worst) {
			worst = f.Grade
		}
		if f.Old == nil && f.New == nil || f.Why == "" || f.Where == "" || f.Fingerprint == "" || f.Side == "" {
			t.Errorf("incomplete: %+v", f)
		}
		for _, p := range []*diff.Place{f.Old, f.New} {
			if p != nil && p.Line == 0 {
				t.Errorf("no line: %s %+v", f.Rule, *p)
			}
		}
	}
	i := slices.IndexFunc(r.Findings, func(f diff.Finding) bool { return f.Rule == c.rule && f.Grade == c.want })
	switch {
	case worst != c.want:
		t.Errorf("the worst grade is %q, want %q\n%s", worst, c.want, told(r))
	case c.want != "" && i < 0:
		t.Errorf("no finding of %s\n%s", c.rule, told(r))
	case c.witness && r.Findings[i].Witness == nil:
		t.Errorf("no witness\n%s", told(r))
	case c.want == diff.Compatible && slices.ContainsFunc(r.Findings, func(f diff.Finding) bool { return f.Witness != nil }):
		t.Errorf("a witness against a compatible edit\n%s", told(r))
	}
}

func told(r *diff.Result) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s %s at %s: %s -> %s", f.Grade, f.Rule, f.Where, f.Before, f.After)
		if f.Witness != nil {
			fmt.Fprintf(&b, " witness %s (%s)", f.Witness.Value, f.Witness.Says)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestSame: no version differs from itself.
func TestSame(t *testing.T) {
	for _, c := range pairCases(t) {
		for _, n := range []*tree.Node{c.old, c.new} {
			if n == nil && c.in != "parameter" {
				continue
			}
			if r := compare(t, wrap(t, c.in, n), wrap(t, c.in, n)); len(r.Findings) > 0 {
				t.Errorf("%s differs from itself:\n%s", c, told(r))
			}
		}
	}
}
