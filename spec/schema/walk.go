package schema

import "assay.kit/spec/tree"

// methods are the fixed operation fields of a path item.
var methods = [...]string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// Sites are what a walk over an OpenAPI document calls for each object of a kind; nil skips it.
// References are not followed: what they name is visited at its own place.
type Sites struct {
	Schema    func(*tree.Node) // every schema, the outer before the inner
	Parameter func(*tree.Node)
	Header    func(*tree.Node)
	Media     func(*tree.Node) // media type objects
	Operation func(path, method string, item, op *tree.Node)
}

// Walk visits an OpenAPI 3.x document. It looks only where the specification puts such objects: a
// property called "schema" or an example that looks like one is left alone.
func Walk(doc *tree.Node, s Sites) {
	eachMember(doc.Get("paths"), func(path string, item *tree.Node) { s.pathItem(path, item) })
	eachMember(doc.Get("webhooks"), func(_ string, item *tree.Node) { s.pathItem("", item) })
	c := doc.Get("components")
	eachMember(c.Get("schemas"), func(_ string, n *tree.Node) { s.schema(n) })
	eachMember(c.Get("parameters"), func(_ string, n *tree.Node) { s.parameter(n) })
	eachMember(c.Get("headers"), func(_ string, n *tree.Node) { s.header(n) })
	eachMember(c.Get("requestBodies"), func(_ string, n *tree.Node) { s.content(n) })
	eachMember(c.Get("responses"), func(_ string, n *tree.Node) { s.response(n) })
	eachMember(c.Get("callbacks"), func(_ string, n *tree.Node) { s.callback(n) })
	eachMember(c.Get("pathItems"), func(_ string, n *tree.Node) { s.pathItem("", n) })
}

func eachMember(n *tree.Node, f func(string, *tree.Node)) {
	if n == nil || n.Kind != tree.Object {
		return
	}
	for _, m := range n.Members {
		f(m.Key, m.Value)
	}
}

func eachItem(n *tree.Node, f func(*tree.Node)) {
	if n == nil || n.Kind != tree.Array {
		return
	}
	for _, it := range n.Items {
		f(it)
	}
}

// pathItem reports operations only under a path: those of webhooks and callbacks are the client's.
func (s Sites) pathItem(path string, item *tree.Node) {
	eachItem(item.Get("parameters"), s.parameter)
	for _, m := range methods {
		op := item.Get(m)
		if op == nil {
			continue
		}
		if s.Operation != nil && path != "" {
			s.Operation(path, m, item, op)
		}
		eachItem(op.Get("parameters"), s.parameter)
		s.content(op.Get("requestBody"))
		eachMember(op.Get("responses"), func(_ string, n *tree.Node) { s.response(n) })
		eachMember(op.Get("callbacks"), func(_ string, n *tree.Node) { s.callback(n) })
	}
}

func (s Sites) callback(n *tree.Node) {
	eachMember(n, func(_ string, item *tree.Node) { s.pathItem("", item) })
}

func (s Sites) response(n *tree.Node) {
	eachMember(n.Get("headers"), func(_ string, h *tree.Node) { s.header(h) })
	s.content(n)
}

func (s Sites) parameter(n *tree.Node) {
	if s.Parameter != nil {
		s.Parameter(n)
	}
	s.schema(n.Get("schema"))
	s.content(n)
}

func (s Sites) header(n *tree.Node) {
	if s.Header != nil {
		s.Header(n)
	}
	s.schema(n.Get("schema"))
	s.content(n)
}

func (s Sites) content(n *tree.Node) {
	eachMember(n.Get("content"), func(_ string, media *tree.Node) {
		if s.Media != nil {
			s.Media(media)
		}
		s.schema(media.Get("schema"))
		eachMember(media.Get("encoding"), func(_ string, e *tree.Node) {
			eachMember(e.Get("headers"), func(_ string, h *tree.Node) { s.header(h) })
		})
	})
}

// schema visits a schema and all below it.
func (s Sites) schema(n *tree.Node) {
	if n == nil || s.Schema == nil {
		return
	}
	s.Schema(n)
	eachSubschema(n, s.schema)
}

// eachSubschema calls f for the schemas directly inside a schema (JSON Schema 2020-12, Core §10).
func eachSubschema(n *tree.Node, f func(*tree.Node)) {
	for _, key := range [...]string{
		"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema",
	} {
		if sub := n.Get(key); sub != nil && (sub.Kind == tree.Object || sub.Kind == tree.Bool) {
			f(sub)
		}
	}
	for _, key := range [...]string{"allOf", "anyOf", "oneOf", "prefixItems"} {
		eachItem(n.Get(key), f)
	}
	for _, key := range [...]string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"} {
		eachMember(n.Get(key), func(_ string, sub *tree.Node) { f(sub) })
	}
}
