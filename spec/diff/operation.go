package diff

import (
	"slices"
	"strconv"
	"strings"

	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// operation is one method of a path.
type operation struct {
	method, path string
	item, node   *tree.Node
}

func (o operation) name() string {
	if id := o.node.Str("operationId"); id != "" {
		return id
	}
	return strings.ToUpper(o.method) + " " + o.path
}

// slot is the path with its parameters' names left out: another name is no other path.
func (o operation) slot() string { return o.method + " " + slot(o.path) }

func slot(path string) string {
	var b strings.Builder
	for path != "" {
		open := strings.IndexByte(path, '{')
		end := strings.IndexByte(path, '}')
		if open < 0 || end < open {
			break
		}
		b.WriteString(path[:open] + "{}")
		path = path[end+1:]
	}
	return b.String() + path
}

func isMethod(key string) bool {
	return slices.Contains([]string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}, key)
}

// operations lists those below paths, or below an object like it: webhooks, a callback.
func (d *differ) operations(doc *document, paths *tree.Node) []operation {
	var out []operation
	if paths == nil {
		return nil
	}
	for _, m := range paths.Members {
		item := d.resolve(doc, m.Value)
		if item == nil || strings.HasPrefix(m.Key, "x-") {
			continue
		}
		for _, om := range item.Members {
			if isMethod(om.Key) {
				out = append(out, operation{om.Key, m.Key, item, om.Value})
			}
		}
	}
	return out
}

// paths pairs operations by method and path, what is left by operationId.
func (d *differ) paths(sc scope, a, b *tree.Node) {
	olds, news := d.operations(sc.old, a), d.operations(sc.new, b)
	slots, ids := map[string]*operation{}, map[string]*operation{}
	for i := range news {
		slots[news[i].slot()] = &news[i]
		if id := news[i].node.Str("operationId"); id != "" {
			ids[id] = &news[i]
		}
	}
	taken := map[*operation]bool{}
	var left []operation
	for _, o := range olds {
		n := slots[o.slot()]
		if n == nil {
			left = append(left, o)
			continue
		}
		taken[n] = true
		d.operation(sc.at(o.name()), o, *n)
	}
	for _, o := range left {
		n := ids[o.node.Str("operationId")]
		if n == nil || taken[n] {
			d.add(sc.at(o.name()), "operation.gone", Breaking, o.node, nil)
			continue
		}
		taken[n] = true
		i := d.add(sc.at(o.name()), "operation.moved", Breaking, o.node, n.node)
		d.shows(i, strings.ToUpper(o.method)+" "+o.path, strings.ToUpper(n.method)+" "+n.path)
		d.operation(sc.at(o.name()), o, *n)
	}
	for i := range news {
		if !taken[&news[i]] {
			d.add(sc.at(news[i].name()), "operation.new", Compatible, nil, news[i].node)
		}
	}
}

// shows replaces what a finding shows, where the whole value would say too much.
func (d *differ) shows(i int, before, after string) {
	if i >= 0 {
		d.out[i].Before, d.out[i].After = before, after
	}
}

func (d *differ) operation(sc scope, a, b operation) {
	if x, y := a.node.Get("operationId"), b.node.Get("operationId"); !equal(x, y) {
		g := Breaking
		if x == nil {
			g = Compatible
		}
		d.add(sc, "operation.id", g, x, y)
	}
	d.parameters(sc, a, b)
	d.body(sc.at("request body"), d.resolve(sc.old, a.node.Get("requestBody")), d.resolve(sc.new, b.node.Get("requestBody")))
	d.answers(sc, a.node.Get("responses"), b.node.Get("responses"))
	d.security(sc, a, b)
	d.means(sc, "operation", "", spec.WithDefaults(profile(sc.old), "operation", a.node.Get("x-assay")),
		spec.WithDefaults(profile(sc.new), "operation", b.node.Get("x-assay")))
	d.callbacks(sc, a.node.Get("callbacks"), b.node.Get("callbacks"))
	d.rest(sc, a.node, b.node, "operation.unknown", []string{"operationId", "parameters", "requestBody", "responses", "security", "callbacks", "x-assay", "servers"},
		map[string]fixed{"tags": {"operation.words", Doc}, "deprecated": {"operation.deprecated", Compatible}})
	d.rest(sc, a.item, b.item, "operation.unknown", []string{"parameters", "get", "put", "post", "delete", "options", "head", "patch", "trace", "$ref", "servers"}, nil)
	d.servers(sc, a.node, b.node)
	d.servers(sc, a.item, b.item)
}

// servers compares the addresses; what is said of them is words.
func (d *differ) servers(sc scope, a, b *tree.Node) {
	x, y := a.Get("servers"), b.Get("servers")
	urls := func(n *tree.Node) string {
		var b strings.Builder
		for _, it := range items(n) {
			b.WriteString(strconv.Quote(it.Str("url")) + canon(it.Get("variables")))
		}
		return b.String()
	}
	switch {
	case equal(x, y):
	case urls(x) == urls(y):
		d.add(sc, "operation.words", Doc, x, y)
	default:
		d.add(sc, "document.servers", Review, x, y)
	}
}

func items(n *tree.Node) []*tree.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

func profile(doc *document) string { return doc.root.Get("x-assay").Str("profile") }

// fixed is a rule with its one grade.
type fixed struct {
	rule  string
	grade Grade
}

// rest finds edits of members that nothing else has compared: words, what has a rule of its own, and the
// unknown, which is for people to judge.
func (d *differ) rest(sc scope, a, b *tree.Node, unknown string, done []string, known map[string]fixed) {
	for _, key := range union(a, b) {
		x, y := a.Get(key), b.Get(key)
		if slices.Contains(done, key) || equal(x, y) {
			continue
		}
		k, ok := known[key]
		switch {
		case ok:
		case isWords(key):
			k = fixed{"schema.words", Doc}
		case strings.HasPrefix(key, "x-"):
			k = fixed{"extension.unknown", Review}
		default:
			k = fixed{unknown, Review}
		}
		d.add(sc, k.rule, k.grade, x, y)
	}
}

// parameters of an operation by place and name; a path parameter by its place in the path.
func (d *differ) parameters(sc scope, a, b operation) {
	olds, news := d.params(sc.old, a), d.params(sc.new, b)
	for _, key := range keysOf(olds, news) {
		x, y := olds[key], news[key]
		part := sc.at(d.paramName(x, y))
		switch {
		case y == nil:
			d.add(part, "parameter.gone", Breaking, x, nil)
		case x == nil && isTrue(y.Get("required")):
			d.add(part, "parameter.new-required", Breaking, nil, y)
		case x == nil:
			d.add(part, "parameter.new", Compatible, nil, y)
		default:
			d.parameter(part, x, y)
		}
	}
}

func (d *differ) paramName(a, b *tree.Node) string {
	n := b
	if n == nil {
		n = a
	}
	return n.Str("in") + " parameter " + n.Str("name")
}

func (d *differ) params(doc *document, o operation) map[string]*tree.Node {
	out := map[string]*tree.Node{}
	for _, list := range []*tree.Node{o.item.Get("parameters"), o.node.Get("parameters")} {
		if list == nil {
			continue
		}
		for _, it := range list.Items {
			p := d.resolve(doc, it)
			if p == nil {
				continue
			}
			name := p.Str("name")
			switch p.Str("in") {
			case "header":
				name = strings.ToLower(name)
			case "path":
				name = strconv.Itoa(position(o.path, name))
			}
			out[p.Str("in")+" "+name] = p
		}
	}
	return out
}

// position counts the parameters of a path up to the named one.
func position(path, name string) int {
	before, _, found := strings.Cut(path, "{"+name+"}")
	if !found {
		return -1
	}
	return strings.Count(before, "{")
}

func keysOf(maps ...map[string]*tree.Node) []string {
	var out []string
	for _, m := range maps {
		for k := range m {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (d *differ) parameter(sc scope, a, b *tree.Node) {
	if x, y := a.Get("name"), b.Get("name"); !equal(x, y) && a.Str("in") == "path" {
		d.add(sc, "parameter.renamed", Review, x, y)
	}
	switch x, y := isTrue(a.Get("required")), isTrue(b.Get("required")); {
	case y && !x:
		d.add(sc, "parameter.required", Breaking, a.Get("required"), b.Get("required"))
	case x && !y:
		d.add(sc, "parameter.optional", Compatible, a.Get("required"), b.Get("required"))
	}
	d.valued(sc, a, b)
	d.means(sc, "property", "", a.Get("x-assay"), b.Get("x-assay"))
	serial := fixed{"parameter.serialization", Breaking}
	d.rest(sc, a, b, "parameter.unknown", []string{"name", "in", "required", "schema", "content", "x-assay"},
		map[string]fixed{"style": serial, "explode": serial, "allowReserved": serial, "allowEmptyValue": {"parameter.unknown", Review},
			"deprecated": {"operation.deprecated", Compatible}})
}

// valued compares the schema, or the content, of a parameter or header.
func (d *differ) valued(sc scope, a, b *tree.Node) {
	x, y := a.Get("schema"), b.Get("schema")
	switch {
	case x != nil && y != nil:
		d.schemas(sc, []*tree.Node{x}, []*tree.Node{y})
	case a.Get("content") != nil && b.Get("content") != nil:
		d.content(sc, a.Get("content"), b.Get("content"))
	case x != nil || y != nil || a.Get("content") != nil || b.Get("content") != nil:
		d.add(sc, "parameter.serialization", Breaking, a, b)
	}
}

func (d *differ) body(sc scope, a, b *tree.Node) {
	switch {
	case a == nil && b == nil:
		return
	case a == nil && isTrue(b.Get("required")):
		d.add(sc, "body.new-required", Breaking, nil, b)
		return
	case a == nil:
		d.add(sc, "body.new", Compatible, nil, b)
		return
	case b == nil:
		d.add(sc, "body.gone", Breaking, a, nil)
		return
	}
	switch x, y := isTrue(a.Get("required")), isTrue(b.Get("required")); {
	case y && !x:
		d.add(sc, "body.required", Breaking, a.Get("required"), b.Get("required"))
	case x && !y:
		d.add(sc, "body.optional", Compatible, a.Get("required"), b.Get("required"))
	}
	d.content(sc, a.Get("content"), b.Get("content"))
	d.rest(sc, a, b, "operation.unknown", []string{"required", "content"}, nil)
}

// content compares media types by name.
func (d *differ) content(sc scope, a, b *tree.Node) {
	for _, name := range union(a, b) {
		x, y := a.Get(name), b.Get(name)
		part := sc
		if strings.HasPrefix(name, "x-") {
			continue
		}
		switch {
		case y == nil:
			d.add(part, "media.gone", Breaking, x, nil)
		case x == nil:
			d.add(part, "media.new", Compatible, nil, y)
		default:
			d.media(part, x, y)
		}
	}
}

func (d *differ) media(sc scope, a, b *tree.Node) {
	x, y := a.Get("schema"), b.Get("schema")
	switch {
	case x != nil && y != nil:
		d.schemas(sc, []*tree.Node{x}, []*tree.Node{y})
	case y != nil:
		d.add(sc, string(sc.dir)+".schema.narrowed", sc.dir.grade(narrowed), nil, y)
	case x != nil:
		d.add(sc, string(sc.dir)+".schema.widened", sc.dir.grade(widened), x, nil)
	}
	d.rest(sc, a, b, "media.unknown", []string{"schema"}, map[string]fixed{"encoding": {"media.encoding", Review}})
}

// answers compares responses by status. An answer is made by the other side than the request.
func (d *differ) answers(sc scope, a, b *tree.Node) {
	sc.dir = sc.dir.flipped()
	for _, status := range union(a, b) {
		if strings.HasPrefix(status, "x-") {
			continue
		}
		x, y := d.resolve(sc.old, a.Get(status)), d.resolve(sc.new, b.Get(status))
		part := sc.at("answer " + status)
		good := strings.HasPrefix(status, "1") || strings.HasPrefix(status, "2") || strings.HasPrefix(status, "3")
		switch {
		case y == nil && good:
			d.add(part, "answer.gone", Breaking, x, nil)
		case y == nil:
			d.add(part, "answer.refusal-gone", Compatible, x, nil)
		case x == nil && good && a.Get("default") == nil && a.Get(status[:1]+"XX") == nil:
			d.add(part, "answer.new", Review, nil, y)
		case x == nil:
			d.add(part, "answer.refusal-new", Compatible, nil, y)
		default:
			d.answer(part, x, y)
		}
	}
}

func (d *differ) answer(sc scope, a, b *tree.Node) {
	x, y := a.Get("content"), b.Get("content")
	switch {
	case x != nil && y == nil:
		d.add(sc, "answer.body-gone", Breaking, x, nil)
	case x == nil && y != nil:
		d.add(sc, "answer.body-new", Compatible, nil, y)
	default:
		d.content(sc, x, y)
	}
	d.headers(sc, a.Get("headers"), b.Get("headers"))
	d.rest(sc, a, b, "operation.unknown", []string{"content", "headers"}, map[string]fixed{"links": {"answer.links", Review}})
}

func (d *differ) headers(sc scope, a, b *tree.Node) {
	olds, news := d.headerMap(sc.old, a), d.headerMap(sc.new, b)
	for _, name := range keysOf(olds, news) {
		x, y := olds[name], news[name]
		part := sc.at("header " + name)
		switch {
		case y == nil:
			d.add(part, "header.gone", Breaking, x, nil)
		case x == nil:
			d.add(part, "header.new", Compatible, nil, y)
		default:
			if p, q := isTrue(x.Get("required")), isTrue(y.Get("required")); p && !q {
				d.add(part, "header.optional", Breaking, x.Get("required"), y.Get("required"))
			} else if q && !p {
				d.add(part, "header.always", Compatible, x.Get("required"), y.Get("required"))
			}
			d.valued(part, x, y)
			d.rest(part, x, y, "parameter.unknown", []string{"required", "schema", "content"}, map[string]fixed{"deprecated": {"operation.deprecated", Compatible}})
		}
	}
}

func (d *differ) headerMap(doc *document, n *tree.Node) map[string]*tree.Node {
	out := map[string]*tree.Node{}
	if n == nil {
		return out
	}
	for _, m := range n.Members {
		if h := d.resolve(doc, m.Value); h != nil {
			out[strings.ToLower(m.Key)] = h
		}
	}
	return out
}

// callbacks are requests that the server sends, so their bodies are its answers.
func (d *differ) callbacks(sc scope, a, b *tree.Node) {
	for _, name := range union(a, b) {
		x, y := d.resolve(sc.old, a.Get(name)), d.resolve(sc.new, b.Get(name))
		part := sc.at("callback " + name)
		part.dir = sc.dir.flipped()
		switch {
		case y == nil:
			d.add(part, "operation.gone", Breaking, x, nil)
		case x == nil:
			d.add(part, "operation.new", Compatible, nil, y)
		default:
			d.paths(part, x, y)
		}
	}
}
