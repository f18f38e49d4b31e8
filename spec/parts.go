package spec

import (
	"slices"
	"strconv"
	"strings"

	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// params reads the parameters of a path item and of an operation, which replaces those of the
// same place and name (OpenAPI 3.1 §4.8.10).
func (l *loader) params(lists ...*tree.Node) []Param {
	var out []Param
	for _, list := range lists {
		if list == nil {
			continue
		}
		for _, it := range list.Items {
			n := l.resolve(it)
			if n == nil {
				l.problem(it, "", "the $ref of this parameter runs in a circle")
				continue
			}
			p := l.param(n, n.Str("name"), n.Str("in"))
			same := func(q Param) bool { return q.Name == p.Name && q.In == p.In }
			if i := slices.IndexFunc(out, same); i >= 0 {
				out[i] = p
			} else {
				out = append(out, p)
			}
		}
	}
	return out
}

// param reads a parameter or header object.
func (l *loader) param(n *tree.Node, name, in string) Param {
	p := Param{Name: name, In: in, Required: object{n}.flag("required")}
	at := n
	if content := n.Get("content"); content != nil && len(content.Members) > 0 {
		at = content.Members[0].Value
	}
	p.Schema = l.schemaOf(at)
	examples := l.examples(at, p.Schema, "an example of the "+strings.TrimSpace(in+" parameter ")+" "+quote(name))
	if len(examples) > 0 {
		p.Example = examples[0].Value
	} else if p.Schema != nil {
		p.Example = firstExample(p.Schema)
	}
	if x := n.Get("x-assay"); x != nil {
		p.Ref = propertyTraits(object{x}).Ref
	}
	if p.Ref == nil && p.Schema != nil {
		p.Ref = refOf(p.Schema, p.Schema.Raw())
	}
	if p.Ref != nil {
		r := *p.Ref
		r.In, r.Name = in, name
		p.Ref = &r
	}
	return p
}

// firstExample takes a parameter's example from its schema.
func firstExample(s *schema.Schema) any {
	raw := s.Raw()
	for range maxChain {
		m, _ := raw.(map[string]any)
		if ex, ok := m["examples"].([]any); ok && len(ex) > 0 {
			return ex[0]
		}
		next, ok := s.Deref(raw)
		if !ok {
			return nil
		}
		raw = next
	}
	return nil
}

// schemaOf compiles the member schema of a parameter, header or media type object.
func (l *loader) schemaOf(n *tree.Node) *schema.Schema {
	node := n.Get("schema")
	if node == nil {
		return nil
	}
	s, err := l.c.Schemas.At(node.Pointer)
	if err != nil {
		l.problem(node, "", "%v", err)
		return nil
	}
	return s
}

// jsonMedia picks the JSON entry of a content map: application/json, else the first +json.
func jsonMedia(content *tree.Node) (mediaType string, media *tree.Node) {
	if content == nil {
		return "", nil
	}
	for _, m := range content.Members {
		base := baseType(m.Key)
		if base == "application/json" {
			return m.Key, m.Value
		}
		if media == nil && strings.HasSuffix(base, "+json") {
			mediaType, media = m.Key, m.Value
		}
	}
	return mediaType, media
}

func baseType(mediaType string) string {
	base, _, _ := strings.Cut(mediaType, ";")
	return strings.ToLower(strings.TrimSpace(base))
}

func (l *loader) body(n *tree.Node) *Body {
	if n == nil {
		return nil
	}
	n = l.resolve(n)
	content := n.Get("content")
	b := &Body{Required: object{n}.flag("required")}
	name, media := jsonMedia(content)
	if media == nil {
		if content != nil && len(content.Members) > 0 {
			b.MediaType = content.Members[0].Key
		}
		l.warn(n, "", "this request body has no JSON form and is not judged")
		return b
	}
	b.MediaType, b.Schema = name, l.schemaOf(media)
	b.Examples = l.examples(media, b.Schema, "an example of this request body")
	return b
}

// answers reads the responses. A range such as 4XX has its first digit as key, default has 0.
func (l *loader) answers(n *tree.Node) map[int]*Answer {
	out := map[int]*Answer{}
	if n == nil {
		return out
	}
	for _, m := range n.Members {
		status, ok := answerKey(m.Key)
		if !ok {
			if !strings.HasPrefix(m.Key, "x-") {
				l.problem(m.Value, "", "%q is no status: write 200, 4XX or default", m.Key)
			}
			continue
		}
		r := l.resolve(m.Value)
		if r == nil {
			l.problem(m.Value, "", "the $ref of this response runs in a circle")
			continue
		}
		out[status] = l.answer(status, r)
	}
	return out
}

func answerKey(key string) (int, bool) {
	if key == "default" {
		return 0, true
	}
	if len(key) != 3 || key[0] < '1' || key[0] > '5' {
		return 0, false
	}
	if key[1:] == "XX" {
		return int(key[0] - '0'), true
	}
	n, err := strconv.Atoi(key)
	return n, err == nil
}

func (l *loader) answer(status int, r *tree.Node) *Answer {
	a := &Answer{Status: status}
	if hs := r.Get("headers"); hs != nil {
		for _, m := range hs.Members {
			if h := l.resolve(m.Value); h != nil && !strings.EqualFold(m.Key, "content-type") {
				a.Headers = append(a.Headers, l.param(h, m.Key, "header"))
			}
		}
	}
	content := r.Get("content")
	name, media := jsonMedia(content)
	if media == nil {
		if content != nil && len(content.Members) > 0 {
			a.MediaType = content.Members[0].Key
		}
		return a
	}
	a.MediaType, a.Schema = name, l.schemaOf(media)
	a.Examples = l.examples(media, a.Schema, "an example of this response")
	return a
}

// examples reads example and examples of a parameter, header or media type and validates each.
func (l *loader) examples(n *tree.Node, s *schema.Schema, what string) []Example {
	var out []Example
	add := func(name string, v *tree.Node) {
		if s != nil {
			l.example(s, v, what)
		}
		out = append(out, Example{Name: name, Value: v.Value(), Line: v.Line})
	}
	if ex := n.Get("example"); ex != nil {
		add("example", ex)
	}
	if ex := n.Get("examples"); ex != nil && ex.Kind == tree.Object {
		for _, m := range ex.Members {
			if e := l.resolve(m.Value); e.Get("value") != nil {
				add(m.Key, e.Get("value"))
			}
		}
	}
	return out
}

// example reports each way in which an example breaks its schema, at the line of what is wrong.
func (l *loader) example(s *schema.Schema, v *tree.Node, what string) {
	for _, viol := range s.Validate(v.Value()) {
		where := ""
		if viol.Instance != "" {
			where = " at " + string(viol.Instance)
		}
		l.problem(v.Nearest(viol.Instance), "", "%s breaks its schema%s: %s", what, where, viol.Message)
	}
}

// schemas reads what is promised beside schemas anywhere in the document, and checks their examples.
func (l *loader) schemas(doc *tree.Node) {
	schema.Walk(doc, schema.Sites{Schema: func(n *tree.Node) {
		if x := n.Get("x-assay"); x != nil {
			l.machine(n, propertyTraits(object{x}).States)
		}
		examples := n.Get("examples")
		if examples == nil || examples.Kind != tree.Array || len(examples.Items) == 0 {
			return
		}
		s, err := l.c.Schemas.At(n.Pointer)
		if err != nil {
			l.problem(n, "", "%v", err)
			return
		}
		for _, e := range examples.Items {
			l.example(s, e, "an example of this schema")
		}
	}})
}

// machine adds a state machine. Two schemas may show the same one; two different ones of one
// resource type are a contradiction.
func (l *loader) machine(n *tree.Node, s *States) {
	if s == nil {
		return
	}
	s.Schema = n.Pointer
	if first := l.c.Machine(s.Resource); first != nil {
		where := l.c.Raw.At(first.Schema)
		if string(where.Get("x-assay").Get("states").JSON()) != string(n.Get("x-assay").Get("states").JSON()) {
			l.problem(n.Get("x-assay").Get("states"), "", "the states of %q differ from those in line %d", s.Resource, where.Where())
		}
		return
	}
	l.c.States = append(l.c.States, s)
}

// Answer returns the documented response for a status: its own, its range's (4XX), the default
// one, or nil.
func (o *Operation) Answer(status int) *Answer {
	for _, key := range []int{status, status / 100, 0} {
		if a := o.Answers[key]; a != nil {
			return a
		}
	}
	return nil
}
