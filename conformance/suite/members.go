package suite

import (
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// schemasAt lists the raw schemas that apply to a member of every value of a schema: those that
// properties, references and allOf lead to. The token "*" stands for the items of an array.
func schemasAt(s *schema.Schema, p tree.Pointer) []map[string]any {
	level := applying(s, s.Raw(), 0)
	for _, token := range p.Tokens() {
		var next []map[string]any
		for _, raw := range level {
			sub, ok := raw["items"]
			if token != "*" {
				props, _ := raw["properties"].(map[string]any)
				sub, ok = props[token]
			}
			if ok {
				next = append(next, applying(s, sub, 0)...)
			}
		}
		level = next
	}
	return level
}

const maxReferences = 20

// applying lists a schema with all that its references and allOf add.
func applying(s *schema.Schema, raw any, depth int) []map[string]any {
	m, ok := raw.(map[string]any)
	if !ok || depth > maxReferences {
		return nil
	}
	out := []map[string]any{m}
	if next, ok := s.Deref(m); ok {
		out = append(out, applying(s, next, depth+1)...)
	}
	all, _ := m["allOf"].([]any)
	for _, part := range all {
		out = append(out, applying(s, part, depth+1)...)
	}
	return out
}

// keyword is the value of a keyword that applies to a member; nil if none does.
func keyword(s *schema.Schema, p tree.Pointer, name string) any {
	for _, raw := range schemasAt(s, p) {
		if v, ok := raw[name]; ok {
			return v
		}
	}
	return nil
}

// memberNames lists the members that an object is known to have, in order.
func memberNames(s *schema.Schema, p tree.Pointer) []string {
	names := map[string]bool{}
	for _, raw := range schemasAt(s, p) {
		props, _ := raw["properties"].(map[string]any)
		for name := range props {
			names[name] = true
		}
	}
	return sortedKeys(names)
}

// openObjects names the members of a value that hold an object with members of the caller's choice.
func openObjects(s *schema.Schema) []string {
	var names []string
	for _, name := range memberNames(s, "") {
		at := tree.PointerTo(name)
		_, open := keyword(s, at, "additionalProperties").(map[string]any)
		if open && keyword(s, at, "type") == "object" {
			names = append(names, name)
		}
	}
	return names
}
