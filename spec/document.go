package spec

import (
	"strings"

	"assay.kit/spec/route"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// document reads the OpenAPI document into the contract.
func (l *loader) document(doc *tree.Node) {
	if !l.version(doc) || !l.references(doc) {
		return
	}
	l.structure(doc)
	doc = schema.Lift(doc)
	l.c.Raw = doc
	l.c.Title, l.c.Version = doc.Get("info").Str("title"), doc.Get("info").Str("version")
	set, err := schema.New(l.memURI("openapi"), doc.Value())
	if err != nil {
		l.problem(doc, "", "%v", err)
		return
	}
	l.c.Schemas = set
	if !l.vocabularyUses(doc) || len(l.problems) > 0 {
		return
	}
	l.c.Doc = docTraits(object{orEmpty(doc.Get("x-assay"))}, l.defaults)
	l.operations(doc)
	l.schemas(doc)
}

func orEmpty(n *tree.Node) *tree.Node {
	if n == nil {
		return &tree.Node{Kind: tree.Object}
	}
	return n
}

func (l *loader) version(doc *tree.Node) bool {
	v := doc.Get("openapi")
	switch {
	case doc.Kind != tree.Object || v == nil:
		hint := ""
		if doc.Get("swagger") != nil {
			hint = "convert Swagger 2.0 to OpenAPI 3.1 first"
		}
		l.problem(doc, hint, "this is no OpenAPI document: it has no member openapi")
	case v.Kind != tree.String || !strings.HasPrefix(v.Text, "3.0") && !strings.HasPrefix(v.Text, "3.1"):
		l.problem(v, "write openapi: 3.1.0, quoted if it has only one dot", "OpenAPI %s is not read; 3.0 and 3.1 are", v.JSON())
	default:
		return true
	}
	return false
}

// references checks every $ref: within this file, and to something that is there. $id would change
// what they are relative to.
func (l *loader) references(doc *tree.Node) bool {
	before := len(l.problems)
	isData := dataNodes(doc)
	doc.Walk(func(n *tree.Node) bool {
		if isData[n] {
			return false
		}
		ref := n.Get("$ref")
		if ref == nil || ref.Kind != tree.String {
			return true
		}
		p, err := tree.ParseFragment(ref.Text)
		switch {
		case !strings.HasPrefix(ref.Text, "#"):
			l.problem(ref, "copy what it names into this document", "the $ref %q leaves this document, and only references within it are followed", ref.Text)
		case err != nil:
			l.problem(ref, "use the form #/components/…", "the $ref %q is no JSON pointer", ref.Text)
		case doc.At(p) == nil:
			l.problem(ref, "", "the $ref %q leads nowhere", ref.Text)
		}
		return true
	})
	schema.Walk(doc, schema.Sites{Schema: func(n *tree.Node) {
		if id := n.Get("$id"); id != nil && id.Kind == tree.String {
			l.problem(id, "remove it", "$id changes what the references below it are relative to, and is not followed here")
		}
	}})
	return len(l.problems) == before
}

// dataNodes are the values that are data of their own, not part of the document's structure:
// examples, defaults and constants, in which a $ref or x-assay means nothing.
func dataNodes(doc *tree.Node) map[*tree.Node]bool {
	data := map[*tree.Node]bool{}
	mark := func(n *tree.Node, keys ...string) {
		for _, k := range keys {
			if v := n.Get(k); v != nil {
				data[v] = true
			}
		}
	}
	named := func(n *tree.Node) { // an Example Object may be a $ref, its value may not
		mark(n, "example")
		if ex := n.Get("examples"); ex != nil {
			for _, m := range ex.Members {
				mark(m.Value, "value")
			}
		}
	}
	schema.Walk(doc, schema.Sites{
		Schema:    func(n *tree.Node) { mark(n, "example", "examples", "default", "const", "enum") },
		Parameter: named, Header: named, Media: named,
	})
	if ex := doc.Get("components").Get("examples"); ex != nil {
		for _, m := range ex.Members {
			mark(m.Value, "value")
		}
	}
	return data
}

// vocabularyUses validates every x-assay of the document, and refuses one where it means nothing.
func (l *loader) vocabularyUses(doc *tree.Node) bool {
	before := len(l.problems)
	var err error
	if l.defaults, err = defaultsOf(doc.Get("x-assay").Str("profile")); err != nil {
		l.defaults = &tree.Node{Kind: tree.Object} // the vocabulary reports the name
	}
	seen := map[*tree.Node]bool{}
	use := func(place string, n *tree.Node) {
		if x := n.Get("x-assay"); x != nil && !seen[x] {
			seen[x] = true
			l.valid(place, x)
		}
	}
	use("document", doc)
	property := func(n *tree.Node) { use("property", n) }
	schema.Walk(doc, schema.Sites{
		Schema: property, Parameter: property,
		Operation: func(_, _ string, _, op *tree.Node) { use("operation", op) },
	})
	if items := doc.Get("components").Get("pathItems"); items != nil { // a path may be a $ref to one
		for _, item := range items.Members {
			for _, m := range item.Value.Members {
				use("operation", m.Value)
			}
		}
	}
	isData := dataNodes(doc)
	doc.Walk(func(n *tree.Node) bool {
		if isData[n] {
			return false
		}
		if x := n.Get("x-assay"); x != nil && !seen[x] && !isProperties(doc, n) {
			l.problem(x, "put it on the document, an operation, a schema or a parameter", "x-assay means nothing here")
		}
		return true
	})
	return len(l.problems) == before
}

// isProperties tells a map of names, in which x-assay would be a property's name.
func isProperties(doc, n *tree.Node) bool {
	_, name := n.Pointer.Parent()
	return name == "properties" || name == "patternProperties" || name == "$defs"
}

// resolve follows the $refs of an object; nil if they run in a circle.
func (l *loader) resolve(n *tree.Node) *tree.Node {
	for range 32 {
		ref := n.Get("$ref")
		if ref == nil || ref.Kind != tree.String {
			return n
		}
		p, err := tree.ParseFragment(ref.Text)
		if err != nil {
			return nil
		}
		n = l.c.Raw.At(p)
	}
	return nil
}

// operations reads all paths in document order.
func (l *loader) operations(doc *tree.Node) {
	paths := doc.Get("paths")
	if paths == nil {
		return
	}
	var templates []string
	for _, m := range paths.Members {
		if strings.HasPrefix(m.Key, "x-") {
			continue
		}
		templates = append(templates, m.Key)
		item := l.resolve(m.Value)
		if item == nil {
			l.problem(m.Value, "", "the $ref of this path runs in a circle")
			continue
		}
		for _, om := range item.Members {
			if isMethod(om.Key) {
				l.operation(m.Key, strings.ToUpper(om.Key), item, om)
			}
		}
	}
	table, err := route.New(templates)
	if err != nil {
		l.badPaths(paths, templates)
		return
	}
	l.c.Routes = table
}

// badPaths reports each template that cannot be added to those before it.
func (l *loader) badPaths(paths *tree.Node, templates []string) {
	var fine []string
	for _, text := range templates {
		if _, err := route.New(append(fine, text)); err != nil {
			l.problem(paths.Get(text), "", "%v", err)
			continue
		}
		fine = append(fine, text)
	}
}

func isMethod(key string) bool {
	switch key {
	case "get", "put", "post", "delete", "options", "head", "patch", "trace":
		return true
	}
	return false
}

func (l *loader) operation(path, method string, item *tree.Node, m tree.Member) {
	n := m.Value
	op := &Operation{ID: n.Str("operationId"), Method: method, Path: path, Summary: n.Str("summary"), Origin: Inferred, Line: m.Line}
	if op.ID == "" {
		l.problem(n, "add operationId", "%s %s has no operationId, and traits, reports and baselines name operations by it", method, path)
		return
	}
	if first := l.c.Op(op.ID); first != nil {
		l.problem(n.Get("operationId"), "", "the operationId %q is there twice; the first is in line %d", op.ID, first.Line)
		return
	}
	l.places[op.ID] = n
	x := orEmpty(n.Get("x-assay"))
	if o := x.Str("origin"); o != "" {
		op.Origin = Origin(o)
	}
	op.Params = l.params(item.Get("parameters"), n.Get("parameters"))
	op.Body = l.body(n.Get("requestBody"))
	op.Answers = l.answers(n.Get("responses"))
	op.Scopes, op.Public = l.security(n)
	op.Traits = operationTraits(object{x}, l.defaults)
	l.collectionLimit(op, x)
	l.effect(op, n)
	op.Refs = l.refs(op)
	l.c.Ops = append(l.c.Ops, op)
}

func (l *loader) effect(op *Operation, n *tree.Node) {
	safe := op.Method == "GET" || op.Method == "HEAD" || op.Method == "OPTIONS" || op.Method == "TRACE"
	switch {
	case op.Effect == "" && safe:
		op.Effect = EffectRead
	case op.Effect == "":
		l.problem(n, "add x-assay: {effect: compute} (or read, financial)", "%s does not say its effect; only GET is taken to read", op.ID)
	}
}

// security reads the scopes of the first alternative that names any. An empty list, or an empty
// alternative, makes the operation public.
func (l *loader) security(op *tree.Node) (scopes []string, public bool) {
	s := op.Get("security")
	if s == nil {
		s = l.c.Raw.Get("security")
	}
	if s == nil || s.Kind != tree.Array || len(s.Items) == 0 {
		return nil, true
	}
	for _, alternative := range s.Items {
		if len(alternative.Members) == 0 {
			public = true
		}
	}
	for _, alternative := range s.Items {
		for _, scheme := range alternative.Members {
			for _, scope := range scheme.Value.Items {
				scopes = append(scopes, scope.Text)
			}
		}
		if len(scopes) > 0 {
			break
		}
	}
	return scopes, public
}
