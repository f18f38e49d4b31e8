package core

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"unicode/utf8"

	"assay.kit/reference/core/limit"
	"assay.kit/spec"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// ValidateBody judges a decoded body against the operation's schema.
func ValidateBody(op *spec.Operation, v any) []Violation {
	if op.Body == nil || op.Body.Schema == nil {
		return nil
	}
	return violations("", op.Body.Schema.Validate(v))
}

// ValidateInput judges a tool's input; pointers are relative to it.
func ValidateInput(tool *spec.Tool, input any) []Violation {
	if tool.Input == nil {
		return nil
	}
	return violations("", tool.Input.Validate(input))
}

// ValidateQuery judges the query: names that the operation does not know, a parameter given twice,
// one that is missing, and values against their schemas. Page size and cursor have rules of their own.
func ValidateQuery(op *spec.Operation, q url.Values) []Violation {
	var out []Violation
	for _, name := range slices.Sorted(maps.Keys(q)) {
		p := param(op, "query", name)
		switch {
		case p == nil:
			out = append(out, Violation{pointerTo(name), "additionalProperties", "there is no such query parameter"})
		case len(q[name]) > 1:
			out = append(out, Violation{pointerTo(name), "maxItems", "the query parameter is given more than once"})
		case ownRule(op, name):
		default:
			out = append(out, validateText(p, q[name][0])...)
		}
	}
	for _, p := range op.Params {
		if p.In == "query" && p.Required && !q.Has(p.Name) {
			out = append(out, Violation{pointerTo(p.Name), "required", "the query parameter is missing"})
		}
	}
	return out
}

// PageSize judges the page size parameter; raw nil means that it was not sent.
func PageSize(l *spec.PageLimit, raw *string) (n int, ok bool) {
	return limit.Page{Min: l.Min, Max: l.Max, Default: l.Default, Clamp: l.OutOfRange == "clamp"}.Parse(raw)
}

func ownRule(op *spec.Operation, name string) bool {
	t := op.Collection
	return t != nil && (t.Limit != nil && t.Limit.Param == name || t.Cursor.Part == "query" && t.Cursor.Name == name)
}

func param(op *spec.Operation, in, name string) *spec.Param {
	for i, p := range op.Params {
		if p.In == in && p.Name == name {
			return &op.Params[i]
		}
	}
	return nil
}

func pointerTo(name string) string { return string(tree.PointerTo(name)) }

// validateText judges a parameter's text as the JSON value that its schema's type makes of it.
func validateText(p *spec.Param, text string) []Violation {
	if !utf8.ValidString(text) { // JSON could not show it: two such texts would look alike
		return []Violation{{pointerTo(p.Name), "type", "must be UTF-8"}}
	}
	if p.Schema == nil {
		return nil
	}
	return violations(pointerTo(p.Name), p.Schema.Validate(typed(p.Schema, text)))
}

// typed reads text as a number or boolean where the schema asks for one; else, and where the text
// is none, it is a string, which the schema then refuses.
func typed(s *schema.Schema, text string) any {
	for _, t := range types(s, s.Raw()) {
		switch t {
		case "integer", "number":
			var n json.Number
			if json.Unmarshal([]byte(text), &n) == nil && text != "" && text[0] != '"' && n.String() == text {
				return n
			}
		case "boolean":
			if text == "true" || text == "false" {
				return text == "true"
			}
		}
	}
	return text
}

func violations(base string, vs []schema.Violation) []Violation {
	var out []Violation
	for _, v := range vs {
		out = append(out, Violation{Pointer: base + string(v.Instance), Keyword: v.Keyword, Message: v.Message})
	}
	return out
}

// prefixed moves violations below a pointer.
func prefixed(base tree.Pointer, vs []Violation) []Violation {
	for i := range vs {
		vs[i].Pointer = string(base) + vs[i].Pointer
	}
	return vs
}
