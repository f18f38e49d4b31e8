package spec

import (
	"maps"
	"slices"
	"strings"

	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// Annotations are a tool's own hints about itself (MCP 2025-06-18, ToolAnnotations); nil is not given.
type Annotations struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    *bool  `json:"readOnlyHint,omitempty"`
	Destructive *bool  `json:"destructiveHint,omitempty"`
	Idempotent  *bool  `json:"idempotentHint,omitempty"`
	OpenWorld   *bool  `json:"openWorldHint,omitempty"`
}

// ToolKey says where a call carries the business key of its operation's idempotency: in one argument,
// or in one member of _meta. A call without it is a new intent each time.
type ToolKey struct{ Argument, Meta string }

// Invocation is how the arguments of a domain tool become the body of an operation that invokes tools
// by name. Any other tool is the face of its operation alone: an argument that is named like a path,
// query or header parameter is that parameter, and the other arguments are the body.
type Invocation struct {
	Input      tree.Pointer            // member of the body that the arguments are
	Tool       tree.Pointer            // member of the body with the domain name
	Operation  *Operation              // the connection, which tells the members below; nil if there are none
	Connection map[string]tree.Pointer // members of the body that the connection binds, and where it tells them
}

// Invocation returns how a tool is invoked through its operation, nil if it is the operation's own face.
func (c *Contract) Invocation(t *Tool) *Invocation {
	op := c.Op(t.Operation)
	if t.Utility || op == nil || op.Body == nil || op.Body.Schema == nil {
		return nil
	}
	props, _ := behind(op.Body.Schema)["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		traits := PropertyTraitsOf(props[name])
		if traits.ToolInput == "" {
			continue
		}
		inv := &Invocation{Input: tree.PointerTo(name), Tool: traits.ToolInput, Connection: map[string]tree.Pointer{}}
		if c.Doc.Connection == nil {
			return inv
		}
		for member, p := range props {
			if ref := PropertyTraitsOf(p).Ref; ref != nil && ref.From == c.Doc.Connection.Operation && ref.At != "" {
				inv.Connection[member], inv.Operation = ref.At, c.Op(ref.From)
			}
		}
		return inv
	}
	return nil
}

// behind is a raw schema behind its references.
func behind(s *schema.Schema) map[string]any {
	raw := s.Raw()
	for range 16 {
		next, ok := s.Deref(raw)
		if !ok {
			break
		}
		raw = next
	}
	m, _ := raw.(map[string]any)
	return m
}

// annotations reads a tool's hints. In a catalog of ours a hint of another type is a problem; a live
// server's is for a check to judge.
func (l *loader) annotations(n *tree.Node) *Annotations {
	node := n.Get("annotations")
	if node == nil || node.Kind != tree.Object {
		return nil
	}
	a := &Annotations{Title: node.Str("title")}
	for key, hint := range map[string]**bool{
		"readOnlyHint": &a.ReadOnly, "destructiveHint": &a.Destructive, "idempotentHint": &a.Idempotent, "openWorldHint": &a.OpenWorld,
	} {
		v := node.Get(key)
		switch {
		case v == nil:
		case v.Kind == tree.Bool:
			b := v.Text == "true"
			*hint = &b
		case !l.live:
			l.problem(v, "", "the hint %s of the tool %q must be true or false", key, n.Str("name"))
		}
	}
	return a
}

// structured sets the schema of each tool's structuredContent on MCP: that of the tool's own output, or
// for a domain tool that of the operation's answer with the output in its place.
func (l *loader) structured() {
	for _, t := range l.c.Tools {
		t.Structured = t.Output
		if l.c.Invocation(t) == nil {
			continue
		}
		op := l.c.Op(t.Operation)
		status := 200
		if t.Async && op.Job != nil {
			status = op.Job.Accepted
		}
		answer := op.Answer(status)
		if answer == nil || answer.Schema == nil {
			continue
		}
		b := bundler{from: answer.Schema, defs: map[string]any{}}
		doc := b.document()
		if m := l.c.Doc.MCP; m != nil && m.Envelope != "" && t.Output != nil && !t.Async {
			b.place(doc, m.Envelope, t.Output.Raw())
		}
		s, err := schema.Compile(t.Name+"@"+t.Revision.Schema+".structured", doc)
		if err != nil {
			l.problem(l.tools[t].node, "", "the result of the tool %q has no schema: %v", t.Name, err)
			continue
		}
		t.Structured = s
	}
}

// bundler copies a schema out of its document, with all that it refers to under $defs.
type bundler struct {
	from *schema.Schema
	defs map[string]any
}

// document is the schema as a document of its own, an object schema at its root.
func (b *bundler) document() map[string]any {
	doc, _ := b.copied(behind(b.from)).(map[string]any)
	if doc == nil {
		doc = map[string]any{}
	}
	doc["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	doc["type"] = "object"
	if len(b.defs) > 0 {
		doc["$defs"] = b.defs
	}
	return doc
}

// copied is a deep copy in which references to the document are references to $defs.
func (b *bundler) copied(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = b.copied(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, member := range v {
			ref, isRef := member.(string)
			switch {
			case key == "$ref" && isRef && strings.HasPrefix(ref, "#"):
				out[key] = "#/$defs/" + b.define(ref)
			case isData(key):
				out[key] = member
			case isNames(key):
				out[key] = eachNamed(member, b.copied)
			default:
				out[key] = b.copied(member)
			}
		}
		return out
	default:
		return v
	}
}

// isData reports whether a keyword's value is no schema, whatever it looks like.
func isData(key string) bool {
	return key == "const" || key == "enum" || key == "default" || key == "examples" || key == "x-assay"
}

// isNames reports whether the members below a keyword are names of the schema's author, not keywords.
func isNames(key string) bool {
	return key == "properties" || key == "patternProperties" || key == "dependentSchemas" || key == "$defs" || key == "definitions"
}

func eachNamed(v any, f func(any) any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(m))
	for name, schema := range m {
		out[name] = f(schema)
	}
	return out
}

// define puts what a reference names under $defs, once, and returns its name there.
func (b *bundler) define(ref string) string {
	p, err := tree.ParseFragment(ref)
	if err != nil {
		return ""
	}
	name := strings.Join(p.Tokens(), ".")
	name = strings.TrimPrefix(name, "components.schemas.")
	if _, there := b.defs[name]; there {
		return name
	}
	b.defs[name] = true // a schema may refer to itself
	raw, ok := b.from.Deref(map[string]any{"$ref": ref})
	if ok {
		b.defs[name] = b.copied(raw)
	}
	return name
}

// place puts a schema of another document at the property that a pointer names. Its own references
// follow it there.
func (b *bundler) place(doc map[string]any, at tree.Pointer, raw any) {
	where, m := "#", doc
	tokens := at.Tokens()
	for i, t := range tokens {
		props, ok := m["properties"].(map[string]any)
		if !ok {
			props = map[string]any{}
			m["properties"] = props
		}
		where += "/properties" + string(tree.PointerTo(t))
		if i == len(tokens)-1 {
			props[t] = moved(raw, where)
			return
		}
		next, ok := props[t].(map[string]any)
		if !ok {
			next = map[string]any{}
			props[t] = next
		}
		m = next
	}
}

// moved is a copy of a schema that was a document, as it reads below another.
func moved(v any, base string) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = moved(v[i], base)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, member := range v {
			ref, isRef := member.(string)
			switch {
			case key == "$ref" && isRef && strings.HasPrefix(ref, "#"):
				out[key] = base + strings.TrimPrefix(ref, "#")
			case key == "$schema" && isRef: // of the whole document now
			case isData(key):
				out[key] = member
			case isNames(key):
				out[key] = eachNamed(member, func(v any) any { return moved(v, base) })
			default:
				out[key] = moved(member, base)
			}
		}
		return out
	default:
		return v
	}
}
