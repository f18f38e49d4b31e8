package spec

import (
	"cmp"

	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// catalog reads tool-catalog.json: domain tools and utilities, each with _meta.assay.
func (l *loader) catalog(root *tree.Node) {
	if root.Get("tools") == nil && root.Get("mcp_utilities") == nil {
		l.problem(root, "", "a tool catalog needs tools or mcp_utilities")
		return
	}
	for _, key := range []string{"tools", "mcp_utilities"} {
		for _, n := range l.toolList(root.Get(key), key) {
			meta := n.Get("_meta").Get("assay")
			if meta == nil {
				l.problem(n, "say at least its operation and effect", "the tool %q has no _meta.assay", n.Str("name"))
				continue
			}
			l.tool(n, meta, key == "mcp_utilities")
		}
	}
}

// manifests reads a server's own list, which need not know the vocabulary.
func (l *loader) manifests(root *tree.Node) {
	list := root
	if root.Kind == tree.Object {
		list = root.Get("tools")
	}
	for _, n := range l.toolList(list, "tools") {
		meta := n.Get("_meta").Get("assay")
		l.tool(n, meta, meta != nil && meta.Get("domain") == nil)
	}
}

func (l *loader) toolList(list *tree.Node, key string) []*tree.Node {
	switch {
	case list == nil:
		return nil
	case list.Kind != tree.Array:
		l.problem(list, "", "%s must be a list of tools", key)
		return nil
	case len(list.Items) > maxTools:
		l.problem(list, "", "there are %d tools; at most %d are read", len(list.Items), maxTools)
		return nil
	}
	return list.Items
}

// tool reads one manifest. Without meta the domain name is the tool's own, and its effect is read
// if it declares itself read-only, else compute.
func (l *loader) tool(n, meta *tree.Node, utility bool) {
	name := n.Str("name")
	if name == "" {
		l.problem(n, "", "a tool needs a name")
		return
	}
	t := &Tool{Name: name, Title: n.Str("title"), Description: n.Str("description"), Utility: utility, File: n.File, Line: n.Line}
	t.Annotations = l.annotations(n)
	if meta == nil {
		t.Domain, t.Effect = name, EffectCompute
		if hint := n.Get("annotations").Get("readOnlyHint"); hint != nil && hint.Text == "true" {
			t.Effect = EffectRead
		}
	} else {
		if !l.valid("tool", meta) {
			return
		}
		o := object{meta}
		t.Domain, t.Operation, t.Effect = o.Str("domain"), o.Str("operation"), Effect(o.Str("effect"))
		t.Scopes, t.Async = o.list("scopes"), o.flag("async")
		if k, ok := o.obj("idempotency"); ok {
			t.Key = &ToolKey{Argument: k.Str("argument"), Meta: k.Str("meta")}
		}
		if r, ok := o.obj("revision"); ok {
			t.Revision = ToolRevision{Schema: r.Str("schema"), Method: r.Str("method")}
		}
		switch {
		case !utility && t.Domain == "":
			l.problem(meta, "utilities belong under mcp_utilities", "the tool %q has no domain", name)
			return
		case utility && t.Domain != "":
			l.problem(meta.Get("domain"), "domain tools belong under tools", "the utility %q has a domain", name)
			return
		}
	}
	t.Input = l.toolSchema(n, t, "inputSchema")
	if t.Input == nil && n.Get("inputSchema") == nil {
		l.problem(n, "", "the tool %q has no inputSchema", name)
	}
	t.Output = l.toolSchema(n, t, "outputSchema")
	t.Structured = t.Output
	l.toolExamples(t, meta.Get("examples"))
	if !l.duplicateTool(n, t) {
		l.c.Tools = append(l.c.Tools, t)
		l.tools[t] = manifest{node: n, meta: meta}
	}
}

func (l *loader) toolSchema(n *tree.Node, t *Tool, key string) *schema.Schema {
	node := n.Get(key)
	if node == nil {
		return nil
	}
	s, err := schema.Compile(t.Name+"@"+cmp.Or(t.Revision.Schema, "0")+"."+key, node.Value())
	if err != nil {
		l.problem(node, "", "%s of the tool %q: %v", key, t.Name, err)
		return nil
	}
	return s
}

func (l *loader) toolExamples(t *Tool, examples *tree.Node) {
	if examples == nil || t.Input == nil {
		return
	}
	for _, m := range examples.Members {
		l.example(t.Input, m.Value, "the example "+quote(m.Key)+" of the tool "+quote(t.Name))
		t.Examples = append(t.Examples, Example{Name: m.Key, Value: m.Value.Value(), Line: m.Line})
	}
}

// duplicateTool reports a tool whose name, or domain name, is there in the same revision.
func (l *loader) duplicateTool(n *tree.Node, t *Tool) bool {
	for _, other := range l.c.Tools {
		if other.Revision.Schema != t.Revision.Schema {
			continue
		}
		switch {
		case other.Name == t.Name:
			l.problem(n, "", "the tool %q is there twice in one revision; the first is in line %d", t.Name, other.Line)
		case t.Domain != "" && other.Domain == t.Domain:
			l.problem(n, "", "the domain tool %q is there twice in one revision; the first is in line %d", t.Domain, other.Line)
		default:
			continue
		}
		return true
	}
	return false
}
