package diff

import (
	"assay.kit/spec/tree"
)

// manifests are the tools of a catalog, of a tools/list answer, its result or the bare array.
func manifests(root *tree.Node) []*tree.Node {
	if r := root.Get("result"); r != nil {
		root = r
	}
	if root == nil {
		return nil
	}
	if root.Kind == tree.Array {
		return root.Items
	}
	var out []*tree.Node
	for _, key := range []string{"tools", "mcp_utilities"} {
		if list := root.Get(key); list != nil {
			out = append(out, list.Items...)
		}
	}
	return out
}

func revision(tool *tree.Node) string {
	return tool.Get("_meta").Get("assay").Get("revision").Str("schema")
}

// tools pairs manifests by name and schema revision. An old revision that is still there beside a new one
// is unchanged for whoever pins it; one that was replaced is compared with what replaced it.
func (d *differ) tools(a, b *tree.Node) {
	olds, news := byTool(manifests(a)), byTool(manifests(b))
	old, fresh := &document{root: a}, &document{root: b}
	for _, t := range manifests(a) {
		name := t.Str("name")
		sc := scope{where: "tool " + name, dir: request, old: old, new: fresh}
		if same := pick(news[name], revision(t)); same != nil {
			d.tool(sc, name, t, same)
			continue
		}
		var next *tree.Node // one that no old revision has
		for _, n := range news[name] {
			if pick(olds[name], revision(n)) == nil {
				next = n
			}
		}
		switch {
		case next != nil && t == olds[name][len(olds[name])-1]:
			d.tool(sc, name, t, next)
		case len(news[name]) > 0:
			d.add(sc, "tool.revision-gone", Breaking, t, nil)
		default:
			d.add(sc, "tool.gone", Breaking, t, renamed(t, b))
		}
	}
	for _, t := range manifests(b) {
		name := t.Str("name")
		sc := scope{where: "tool " + name, old: old, new: fresh}
		switch {
		case len(olds[name]) == 0:
			d.add(sc, "tool.new", Compatible, nil, t)
		case pick(olds[name], revision(t)) == nil && allThere(olds[name], news[name]):
			d.add(sc, "tool.revision-new", Compatible, nil, t)
		}
	}
}

func byTool(list []*tree.Node) map[string][]*tree.Node {
	out := map[string][]*tree.Node{}
	for _, t := range list {
		out[t.Str("name")] = append(out[t.Str("name")], t)
	}
	return out
}

func pick(list []*tree.Node, rev string) *tree.Node {
	for _, t := range list {
		if revision(t) == rev {
			return t
		}
	}
	return nil
}

func allThere(olds, news []*tree.Node) bool {
	for _, t := range olds {
		if pick(news, revision(t)) == nil {
			return false
		}
	}
	return true
}

// renamed finds the tool that seems to have taken the place of one that is gone: the same domain tool, or
// the same operation under a name that is new.
func renamed(t, in *tree.Node) *tree.Node {
	domain := t.Get("_meta").Get("assay").Get("domain")
	for _, n := range manifests(in) {
		if domain != nil && equal(domain, n.Get("_meta").Get("assay").Get("domain")) {
			return n.Get("name")
		}
	}
	return nil
}

func (d *differ) tool(sc scope, name string, a, b *tree.Node) {
	sc.tool = revisions(name, a, b)
	d.toolSchema(sc.at("input"), request, a.Get("inputSchema"), b.Get("inputSchema"))
	d.toolSchema(sc.at("output"), response, a.Get("outputSchema"), b.Get("outputSchema"))
	d.hints(sc, a.Get("annotations"), b.Get("annotations"))
	d.means(sc, "tool", "", a.Get("_meta").Get("assay"), b.Get("_meta").Get("assay"))
	d.rest(sc, a.Get("_meta"), b.Get("_meta"), "extension.unknown", []string{"assay"}, nil)
	d.rest(sc, a, b, "tool.unknown", []string{"name", "inputSchema", "outputSchema", "annotations", "_meta"},
		map[string]fixed{"description": {"tool.description", Review}, "title": {"schema.words", Doc}, "icons": {"schema.words", Doc}})
}

func (d *differ) toolSchema(sc scope, dir direction, a, b *tree.Node) {
	sc.dir = dir
	// A manifest's schema is a document of its own: its references are relative to it.
	sc.old, sc.new = rooted(a), rooted(b)
	switch {
	case a == nil && b == nil:
	case a == nil:
		d.add(sc, string(dir)+".schema.narrowed", dir.grade(narrowed), nil, b)
	case b == nil:
		d.add(sc, string(dir)+".schema.widened", dir.grade(widened), a, nil)
	default:
		d.schemas(sc, []*tree.Node{a}, []*tree.Node{b})
	}
}

// rooted is a document whose root is inside another; schemas are found by pointers from there.
func rooted(n *tree.Node) *document {
	if n == nil {
		return nil
	}
	return &document{root: n}
}

// hints compares what a tool says of itself. A hint that is not given has the value that the protocol
// gives it (MCP 2025-06-18, ToolAnnotations).
func (d *differ) hints(sc scope, a, b *tree.Node) {
	assumed := map[string]bool{"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}
	for _, key := range union(a, b) {
		x, y := a.Get(key), b.Get(key)
		standing, ok := assumed[key]
		says := func(n *tree.Node) bool { return n == nil && standing || isTrue(n) }
		switch {
		case equal(x, y) || ok && says(x) == says(y):
		case ok && x == nil:
			d.add(sc, "tool.hint", Review, x, y)
		case ok:
			d.add(sc, "tool.hint", Breaking, x, y)
		case key == "title":
			d.add(sc, "schema.words", Doc, x, y)
		default:
			d.add(sc, "tool.unknown", Review, x, y)
		}
	}
}

// requirements pairs the rows of all catalogs by their ids.
func (d *differ) requirements(sc scope, a, b []*tree.Node) {
	olds, news := rows(a), rows(b)
	for _, id := range keysOf(olds, news) {
		x, y := olds[id], news[id]
		part := sc.at(id)
		switch {
		case y == nil:
			d.add(part, "requirement.gone", Breaking, x, nil)
		case x == nil:
			d.add(part, "requirement.new", Compatible, nil, y)
		default:
			d.means(part, "requirement", "", levelled(x), levelled(y))
		}
	}
}

// levelled is a row with its level spelled out: one that has none must be kept.
func levelled(row *tree.Node) *tree.Node {
	if row.Get("level") != nil {
		return row
	}
	out := *row
	level := &tree.Node{Kind: tree.String, Text: "MUST", File: row.File, Line: row.Line, Pointer: row.Pointer}
	out.Members = append(append([]tree.Member{}, row.Members...), tree.Member{Key: "level", File: row.File, Line: row.Line, Value: level})
	return &out
}

func rows(roots []*tree.Node) map[string]*tree.Node {
	out := map[string]*tree.Node{}
	for _, r := range roots {
		if list := r.Get("requirements"); list != nil {
			for _, row := range list.Items {
				out[row.Str("id")] = row
			}
		}
	}
	return out
}
