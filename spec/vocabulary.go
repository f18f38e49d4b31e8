package spec

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
	"assay.kit/spec/typo"
)

//go:embed vocabulary.schema.json
var vocabularySchema []byte

// VocabularySchema is the published JSON Schema of x-assay.
func VocabularySchema() []byte { return slices.Clone(vocabularySchema) }

// vocabulary compiles the definition of each place once: it is a constant, and compiling it takes
// as long as loading a small contract.
var vocabulary = sync.OnceValues(func() (map[string]*schema.Schema, error) {
	root, err := schema.DecodeJSON(vocabularySchema)
	if err != nil {
		return nil, err
	}
	set, err := schema.New("mem://assay/vocabulary", root)
	if err != nil {
		return nil, err
	}
	places := map[string]*schema.Schema{}
	for _, place := range []string{"document", "operation", "property", "tool", "requirement"} {
		if places[place], err = set.At(tree.PointerTo("$defs", place)); err != nil {
			return nil, err
		}
	}
	return places, nil
})

// valid checks a use of the vocabulary and reports each violation at its own line.
func (l *loader) valid(place string, n *tree.Node) bool {
	places, err := vocabulary()
	if err != nil {
		l.problems = append(l.problems, Problem{File: "vocabulary.schema.json", Message: err.Error()})
		return false
	}
	s, ok := places[place], true
	for _, v := range s.Validate(n.Value()) {
		ok = false
		where := n.At(v.Instance)
		if where == nil {
			where = n.Nearest(v.Instance)
		}
		hint := ""
		if v.Keyword == "additionalProperties" {
			_, name := v.Instance.Parent()
			hint = suggest(name, membersAt(s, v.Location))
		} else if where.Kind == tree.String {
			hint = suggest(where.Text, enumAt(s, v))
		}
		l.problem(where, hint, "%s", subject(place, v))
	}
	return l.expressions(n) && ok
}

func subject(place string, v schema.Violation) string {
	what := map[string]string{"tool": "_meta.assay", "requirement": "the requirement"}[place]
	if what == "" {
		what = "x-assay"
	}
	at := strings.ReplaceAll(strings.TrimPrefix(string(v.Instance), "/"), "/", ".")
	switch {
	case v.Keyword == "additionalProperties":
		parent, name := v.Instance.Parent()
		return fmt.Sprintf("%s has no member %q", strings.Join(append([]string{what}, parent.Tokens()...), "."), name)
	case at == "":
		return what + ": " + v.Message
	}
	return fmt.Sprintf("%s: %s %s", what, at, v.Message)
}

// schemaAt is the vocabulary's schema object that holds the keyword at an absolute location.
func schemaAt(s *schema.Schema, location string) map[string]any {
	_, frag, _ := strings.Cut(location, "#")
	p, err := tree.ParseFragment("#" + frag)
	if err != nil {
		return nil
	}
	p, _ = p.Parent()
	holder, err := s.Set().At(p)
	if err != nil {
		return nil
	}
	m, _ := holder.Raw().(map[string]any)
	return m
}

func membersAt(s *schema.Schema, location string) []string {
	props, _ := schemaAt(s, location)["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(props))
}

func enumAt(s *schema.Schema, v schema.Violation) []string {
	if v.Keyword != "enum" {
		return nil
	}
	values, _ := schemaAt(s, v.Location)["enum"].([]any)
	var out []string
	for _, e := range values {
		if t, ok := e.(string); ok {
			out = append(out, t)
		}
	}
	return out
}

// expressions reports strings that look like runtime expressions and do not parse.
func (l *loader) expressions(n *tree.Node) bool {
	ok := true
	n.Walk(func(m *tree.Node) bool {
		if m.Kind == tree.String && (strings.HasPrefix(m.Text, "$request.") || strings.HasPrefix(m.Text, "$response.")) {
			if _, err := ParseExpr(m.Text); err != nil {
				l.problem(m, "", "%v", err)
				ok = false
			}
		}
		return true
	})
	return ok
}

// suggest names the nearest of the known words, or all of them if they are few.
func suggest(word string, known []string) string {
	if best := typo.Nearest(word, known); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	if len(known) > 0 && len(known) <= 20 {
		return "known are " + strings.Join(known, ", ")
	}
	return ""
}
