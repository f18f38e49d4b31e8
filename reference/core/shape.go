package core

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"assay.kit/spec"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// maxSchemaDepth bounds how deep a default value is made and references are followed.
const maxSchemaDepth = 12

// deref follows $ref until a schema without one, which may keep siblings of its own.
func deref(s *schema.Schema, raw any) []map[string]any {
	var all []map[string]any
	for range maxSchemaDepth {
		m, ok := raw.(map[string]any)
		if !ok {
			return all
		}
		all = append(all, m)
		next, ok := s.Deref(m)
		if !ok {
			return all
		}
		raw = next
	}
	return all
}

// layers are the schema objects that apply together: itself, what it refers to, and allOf.
func layers(s *schema.Schema, raw any, depth int) []map[string]any {
	if depth > maxSchemaDepth {
		return nil
	}
	var all []map[string]any
	for _, m := range deref(s, raw) {
		all = append(all, m)
		parts, _ := m["allOf"].([]any)
		for _, part := range parts {
			all = append(all, layers(s, part, depth+1)...)
		}
	}
	return all
}

// object is the merged view of an object schema.
type object struct {
	properties map[string]any // raw schemas
	required   []string
	closed     bool
}

func objectOf(s *schema.Schema, raw any) object {
	o := object{properties: map[string]any{}}
	for _, m := range layers(s, raw, 0) {
		props, _ := m["properties"].(map[string]any)
		maps.Copy(o.properties, props)
		req, _ := m["required"].([]any)
		for _, r := range req {
			if name, ok := r.(string); ok {
				o.required = append(o.required, name)
			}
		}
		if m["additionalProperties"] == false {
			o.closed = true
		}
	}
	return o
}

// keyword is the first value of a keyword over the layers of a schema.
func keyword(s *schema.Schema, raw any, name string) (any, bool) {
	for _, m := range layers(s, raw, 0) {
		if v, ok := m[name]; ok {
			return v, true
		}
	}
	return nil, false
}

func types(s *schema.Schema, raw any) []string {
	v, _ := keyword(s, raw, "type")
	switch t := v.(type) {
	case string:
		return []string{t}
	case []any:
		var names []string
		for _, e := range t {
			if name, ok := e.(string); ok {
				names = append(names, name)
			}
		}
		return names
	}
	return nil
}

// fill adds to body what the schema knows better than nobody: constants, defaults, and a value for
// every required member that is still missing. Members that are there stay.
func fill(s *schema.Schema, raw any, body map[string]any, depth int) {
	o := objectOf(s, raw)
	for _, name := range slices.Sorted(maps.Keys(o.properties)) {
		prop := o.properties[name]
		if _, there := body[name]; there {
			continue
		}
		if v, ok := keyword(s, prop, "const"); ok {
			body[name] = clone(v)
		} else if v, ok := keyword(s, prop, "default"); ok {
			body[name] = clone(v)
		} else if slices.Contains(o.required, name) {
			body[name] = synthesise(s, prop, depth+1)
		}
	}
}

// synthesise makes a plain value that the schema allows: its constant, example or default, null
// where that is legal, else the least of its type. A pattern needs an example beside it.
func synthesise(s *schema.Schema, raw any, depth int) any {
	if depth > maxSchemaDepth {
		return nil
	}
	for _, name := range []string{"const", "default", "example"} {
		if v, ok := keyword(s, raw, name); ok {
			return clone(v)
		}
	}
	for _, name := range []string{"examples", "enum"} {
		if vs, _ := keyword(s, raw, name); vs != nil {
			if list, ok := vs.([]any); ok && len(list) > 0 {
				return clone(list[0])
			}
		}
	}
	ts := types(s, raw)
	switch {
	case slices.Contains(ts, "null"):
		return nil
	case slices.Contains(ts, "string"):
		return leastString(s, raw)
	case slices.Contains(ts, "integer"), slices.Contains(ts, "number"):
		return leastNumber(s, raw)
	case slices.Contains(ts, "boolean"):
		return false
	case slices.Contains(ts, "array"):
		return leastArray(s, raw, depth)
	}
	for _, name := range []string{"oneOf", "anyOf"} {
		if vs, _ := keyword(s, raw, name); vs != nil {
			if list, ok := vs.([]any); ok && len(list) > 0 {
				return synthesise(s, list[0], depth+1)
			}
		}
	}
	body := map[string]any{}
	fill(s, raw, body, depth)
	return body
}

func leastString(s *schema.Schema, raw any) string {
	format, _ := keyword(s, raw, "format")
	switch format {
	case "date-time":
		return time.Unix(0, 0).UTC().Format(time.RFC3339)
	case "date":
		return "1970-01-01"
	case "uri", "uri-reference":
		return "about:blank"
	case "uuid":
		return "00000000-0000-4000-8000-000000000000"
	}
	return strings.Repeat("x", max(1, intKeyword(s, raw, "minLength")))
}

func leastNumber(s *schema.Schema, raw any) any {
	if v, ok := keyword(s, raw, "minimum"); ok {
		return v
	}
	if _, ok := keyword(s, raw, "exclusiveMinimum"); ok {
		return json.Number("1")
	}
	return json.Number("0")
}

func leastArray(s *schema.Schema, raw any, depth int) any {
	out := []any{}
	items, _ := keyword(s, raw, "items")
	for range min(intKeyword(s, raw, "minItems"), 16) {
		out = append(out, synthesise(s, items, depth+1))
	}
	return out
}

func intKeyword(s *schema.Schema, raw any, name string) int {
	v, _ := keyword(s, raw, name)
	if n, ok := v.(json.Number); ok {
		i, _ := n.Int64() // a schema whose bound is no int64 is satisfied by 0
		return int(i)
	}
	return 0
}

// shape is a raw schema together with the set that resolves its references; the zero value is none.
type shape struct {
	in  *schema.Schema
	raw any
}

func shapeOf(s *schema.Schema) shape {
	if s == nil {
		return shape{}
	}
	return shape{s, s.Raw()}
}

func (s shape) has(member string) bool {
	if s.in == nil {
		return false
	}
	_, ok := objectOf(s.in, s.raw).properties[member]
	return ok
}

// fill completes a representation; without a schema there is nothing to complete.
func (s shape) fill(body map[string]any) {
	if s.in != nil {
		fill(s.in, s.raw, body, 0)
	}
}

// itemShape is the schema of an item in a collection's answer.
func itemShape(op *spec.Operation) shape {
	s := answerShape(op, 200)
	if s.in == nil {
		return shape{}
	}
	raw := s.raw
	for _, token := range op.Collection.Items.Tokens() {
		raw = objectOf(s.in, raw).properties[token]
	}
	items, ok := keyword(s.in, raw, "items")
	if !ok {
		return shape{}
	}
	return shape{s.in, items}
}

// toolInputs finds the members of a body whose schema is a tool's.
func toolInputs(op *spec.Operation) []toolInput {
	if op.Body == nil || op.Body.Schema == nil {
		return nil
	}
	var out []toolInput
	props := objectOf(op.Body.Schema, op.Body.Schema.Raw()).properties
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if t := spec.PropertyTraitsOf(props[name]); t.ToolInput != "" {
			out = append(out, toolInput{at: tree.PointerTo(name), tool: t.ToolInput})
		}
	}
	return out
}

// set puts a value at a pointer, making objects on the way; a step through something that is no
// object is left alone.
func set(body map[string]any, p tree.Pointer, v any) {
	tokens := p.Tokens()
	if len(tokens) == 0 {
		return
	}
	for _, t := range tokens[:len(tokens)-1] {
		next, ok := body[t].(map[string]any)
		if !ok {
			if _, there := body[t]; there {
				return
			}
			next = map[string]any{}
			body[t] = next
		}
		body = next
	}
	body[tokens[len(tokens)-1]] = v
}

// stringAt is the string at a pointer, or "".
func stringAt(v any, p tree.Pointer) string {
	got, _ := tree.Get(v, p)
	s, _ := got.(string)
	return s
}

// clone copies a decoded JSON value, so that a change of the copy never reaches a schema.
func clone(v any) any {
	switch c := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(c))
		for k, e := range c {
			m[k] = clone(e)
		}
		return m
	case []any:
		a := make([]any, len(c))
		for i, e := range c {
			a[i] = clone(e)
		}
		return a
	default:
		return v
	}
}
