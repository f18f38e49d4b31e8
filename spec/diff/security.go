package diff

import (
	"slices"

	"assay.kit/spec/tree"
)

// alternative is one way to be let in: scopes by scheme; none at all lets everybody in.
type alternative struct {
	node    *tree.Node
	schemes map[string][]string
}

// weaker reports whether whoever satisfies b satisfies a: a asks for nothing that b does not.
func (a alternative) weaker(b alternative) bool {
	for scheme, scopes := range a.schemes {
		have, ok := b.schemes[scheme]
		if !ok {
			return false
		}
		for _, s := range scopes {
			if !slices.Contains(have, s) {
				return false
			}
		}
	}
	return true
}

func alternatives(doc *document, op *tree.Node) (list *tree.Node, out []alternative) {
	list = op.Get("security")
	if list == nil {
		list = doc.root.Get("security")
	}
	if list == nil || len(list.Items) == 0 {
		return list, []alternative{{list, nil}}
	}
	for _, it := range list.Items {
		alt := alternative{it, map[string][]string{}}
		for _, m := range it.Members {
			var scopes []string
			for _, s := range m.Value.Items {
				scopes = append(scopes, s.Text)
			}
			alt.schemes[m.Key] = scopes
		}
		out = append(out, alt)
	}
	return list, out
}

// security: every way in must stay one. A new way in lets others in too, which is for people to judge
// where it asks for less.
func (d *differ) security(sc scope, a, b operation) {
	la, olds := alternatives(sc.old, a.node)
	lb, news := alternatives(sc.new, b.node)
	node := func(n, list, op *tree.Node) *tree.Node {
		switch {
		case n != nil:
			return n
		case list != nil:
			return list
		}
		return op
	}
	for _, o := range olds {
		if !slices.ContainsFunc(news, func(n alternative) bool { return n.weaker(o) }) {
			i := d.add(sc, "security.tightened", Breaking, node(o.node, la, a.node), node(nil, lb, b.node))
			d.shows(i, spelled(o.node), spelled(lb))
		}
	}
	for _, n := range news {
		if !slices.ContainsFunc(olds, func(o alternative) bool { return o.weaker(n) }) {
			i := d.add(sc, "security.loosened", Review, node(nil, la, a.node), node(n.node, lb, b.node))
			d.shows(i, spelled(la), spelled(n.node))
		}
	}
}

func spelled(n *tree.Node) string {
	if n == nil {
		return "[]"
	}
	return shorten(string(n.JSON()))
}

// schemes compares how credentials are carried.
func (d *differ) schemes(sc scope, a, b *tree.Node) {
	for _, name := range union(a, b) {
		x, y := d.resolve(sc.old, a.Get(name)), d.resolve(sc.new, b.Get(name))
		part := sc.at("security scheme " + name)
		switch {
		case x == nil:
			d.add(part, "security.scheme-new", Compatible, nil, y)
		case y == nil: // operations that need it are findings of their own
			d.add(part, "security.scheme-gone", Review, x, nil)
		default:
			how := fixed{"security.scheme", Breaking}
			d.rest(part, x, y, "security.scheme-unknown", nil, map[string]fixed{"type": how, "name": how, "in": how, "scheme": how, "flows": {"security.flows", Review},
				"openIdConnectUrl": how, "bearerFormat": {"schema.words", Doc}})
		}
	}
}
