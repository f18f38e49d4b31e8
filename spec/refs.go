package spec

import (
	"maps"
	"slices"
	"strconv"

	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// Bounds of a walk through schemas, which may be recursive.
const (
	maxChain = 32 // references in a row
	maxWalk  = 16 // members deep
)

func quote(s string) string { return strconv.Quote(s) }

// refs collects the references of an operation's parameters and of its body's members.
func (l *loader) refs(op *Operation) []Ref {
	var out []Ref
	for _, p := range op.Params {
		if p.Ref != nil {
			out = append(out, *p.Ref)
		}
	}
	if op.Body == nil || op.Body.Schema == nil {
		return out
	}
	w := refWalk{schema: op.Body.Schema}
	w.visit(op.Body.Schema.Raw(), "", 0)
	return append(out, w.refs...)
}

type refWalk struct {
	schema *schema.Schema
	refs   []Ref
}

// visit looks at a member's schema: its own traits, then the parts and members of what it is.
func (w *refWalk) visit(raw any, at tree.Pointer, depth int) {
	if depth > maxWalk {
		return
	}
	if r := refOf(w.schema, raw); r != nil {
		w.add(*r, at)
		return
	}
	for _, m := range parts(w.schema, raw) {
		props, _ := m["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(props)) {
			w.visit(props[name], at.Append(name), depth+1)
		}
		if items, ok := m["items"].(map[string]any); ok {
			w.visit(items, at.Append("*"), depth+1)
		}
	}
}

func (w *refWalk) add(r Ref, at tree.Pointer) {
	r.In, r.Pointer = "body", at
	if !slices.Contains(w.refs, r) {
		w.refs = append(w.refs, r)
	}
}

// refOf finds the ref beside a schema, or beside what its $ref, allOf, or nullable form names.
func refOf(s *schema.Schema, raw any) *Ref {
	for _, m := range parts(s, raw) {
		if r := PropertyTraitsOf(m).Ref; r != nil {
			return r
		}
	}
	return nil
}

// parts are the schema objects that together describe a value: the schema itself, what it refers
// to, and the branches of its allOf, anyOf and oneOf; each once.
func parts(s *schema.Schema, raw any) []map[string]any {
	var out []map[string]any
	seen := map[string]bool{}
	var visit func(raw any, depth int)
	visit = func(raw any, depth int) {
		m, ok := raw.(map[string]any)
		if !ok || depth > maxChain {
			return
		}
		out = append(out, m)
		if ref, ok := m["$ref"].(string); ok && !seen[ref] {
			seen[ref] = true
			if next, ok := s.Deref(m); ok {
				visit(next, depth+1)
			}
		}
		for _, key := range []string{"allOf", "anyOf", "oneOf"} {
			branches, _ := m[key].([]any)
			for _, b := range branches {
				visit(b, depth+1)
			}
		}
	}
	visit(raw, 0)
	return out
}

// Values are the ids that a body holds at a reference to a body member; "*" in its pointer stands
// for every item of an array.
func (r Ref) Values(body any) []tree.Found {
	var out []tree.Found
	for _, f := range tree.Select(body, r.Pointer) {
		if _, ok := f.Value.(string); ok {
			out = append(out, f)
		}
	}
	return out
}
