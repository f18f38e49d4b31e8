package diff

import (
	"maps"
	"slices"
	"strings"

	"assay.kit/spec/tree"
)

// compareWhole takes a keyword's value as one: more of them narrow, fewer widen, others leave it open.
func compareWhole(c *pair, name string) {
	gone, fresh := c.wholes(name)
	switch {
	case len(gone) > 0 && len(fresh) > 0:
		c.edit(name, changed, gone[0], fresh[0])
	case len(fresh) > 0:
		c.edit(name, narrowed, nil, fresh[0])
	case len(gone) > 0:
		c.edit(name, widened, gone[0], nil)
	}
}

// wholes are the values of a keyword that only one version has. What an extension refers to is no part of
// it, as far as anybody knows.
func (c *pair) wholes(name string) (gone, fresh []*tree.Node) {
	shapes := func(v view) map[string]*tree.Node {
		out := map[string]*tree.Node{}
		for _, n := range v.all(name) {
			if c.d.known[name] {
				out[c.d.shape(v.doc, n)] = n
			} else {
				out[canon(n)] = n
			}
		}
		return out
	}
	a, b := shapes(c.a), shapes(c.b)
	return without(a, b), without(b, a)
}

// compareNote takes a keyword that no validator enforces: any edit is for people to judge.
func compareNote(c *pair, name string) {
	gone, fresh := c.wholes(name)
	if len(gone)+len(fresh) == 0 {
		return
	}
	c.edit(name, changed, firstNode(gone), firstNode(fresh))
}

func firstNode(ns []*tree.Node) *tree.Node {
	if len(ns) > 0 {
		return ns[0]
	}
	return nil
}

// compareFormat: a format that validators enforce narrows; others are notes.
func compareFormat(c *pair, name string) {
	gone, fresh := c.wholes(name)
	enforced := func(ns []*tree.Node) bool {
		return len(ns) == 0 || slices.ContainsFunc(ns, func(n *tree.Node) bool { return isFormat(n.Text) })
	}
	switch {
	case len(gone)+len(fresh) == 0:
	case !enforced(gone) && len(fresh) == 0, !enforced(fresh) && len(gone) == 0:
		c.edit(name, changed, firstNode(gone), firstNode(fresh))
	default:
		compareWhole(c, name)
	}
}

func isFormat(name string) bool {
	switch name {
	case "date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6", "uri",
		"uri-reference", "iri", "iri-reference", "uri-template", "uuid", "json-pointer", "relative-json-pointer", "regex":
		return true
	}
	return false
}

// compareCondition takes if, then and else of one schema as one.
func compareCondition(c *pair, name string) {
	conditions := func(v view) map[string]*tree.Node {
		out := map[string]*tree.Node{}
		for _, p := range v.parts {
			n := p.Get(name)
			if n == nil || p.Get("then") == nil && p.Get("else") == nil {
				continue
			}
			out[c.d.shape(v.doc, n)+"\x00"+c.d.shape(v.doc, p.Get("then"))+"\x00"+c.d.shape(v.doc, p.Get("else"))] = n
		}
		return out
	}
	a, b := conditions(c.a), conditions(c.b)
	gone, fresh := without(a, b), without(b, a)
	switch {
	case len(gone) > 0 && len(fresh) > 0:
		c.edit(name, changed, gone[0], fresh[0])
	case len(fresh) > 0:
		c.edit(name, narrowed, nil, fresh[0])
	case len(gone) > 0:
		c.edit(name, widened, gone[0], nil)
	}
}

func compareDependentRequired(c *pair, name string) {
	for _, trigger := range union(append(c.a.all(name), c.b.all(name)...)...) {
		names := func(v view) map[string]*tree.Node {
			out := map[string]*tree.Node{}
			for _, list := range v.under(name, trigger) {
				for k, n := range elements(list) {
					out[k] = n
				}
			}
			return out
		}
		a, b := names(c.a), names(c.b)
		for _, gone := range without(a, b) {
			c.edit(name, widened, gone, nil)
		}
		for _, fresh := range without(b, a) {
			c.edit(name, narrowed, nil, fresh)
		}
	}
}

// chooses reports whether a view has alternatives under this keyword.
func (v view) chooses(name string) bool {
	return slices.ContainsFunc(v.all(name), func(n *tree.Node) bool { return len(n.Items) > 1 })
}

// branch is one alternative: what it adds to the rest of its schema.
type branch struct {
	node  *tree.Node
	nodes []*tree.Node // with the rest
	shape string
}

// branches are the alternatives of a view; a view without any is its own only one.
func (c *pair) branches(v view, name string) []branch {
	var list *tree.Node
	var rest []*tree.Node
	for _, p := range v.parts {
		n := p.Get(name)
		if n == nil || n.Kind != tree.Array || len(n.Items) < 2 || list != nil {
			continue
		}
		list = n
	}
	if list == nil {
		return c.byType(v)
	}
	for _, p := range v.parts {
		bare := *p
		bare.Members = slices.DeleteFunc(slices.Clone(p.Members), func(m tree.Member) bool {
			return m.Value == list || m.Key == "$ref" || m.Key == "allOf"
		})
		if len(bare.Members) > 0 {
			rest = append(rest, &bare)
		}
	}
	var out []branch
	for _, it := range list.Items {
		out = append(out, branch{it, append([]*tree.Node{it}, rest...), c.d.shape(v.doc, it)})
	}
	return out
}

// byType takes a view without alternatives for as many as it has types: [integer, null] says the same as
// two schemas.
func (c *pair) byType(v view) []branch {
	types := c.d.types(v, 0)
	if t := v.first("type"); t == nil || t.Kind != tree.Array || len(types) < 2 {
		return []branch{{node: v.anchor(), nodes: v.nodes}}
	}
	var out []branch
	for _, t := range slices.Sorted(maps.Keys(types)) {
		only := &tree.Node{Kind: tree.Object, File: "type", Pointer: tree.PointerTo(t)}
		only.Set("type", &tree.Node{Kind: tree.String, Text: t})
		out = append(out, branch{node: v.anchor(), nodes: append([]*tree.Node{only}, v.nodes...)})
	}
	return out
}

// compareChoice pairs the alternatives: equal ones first, then by place where as many are left, else it
// asks which lies within which.
func compareChoice(c *pair, name string) {
	if !c.a.chooses(name) && !c.b.chooses(name) {
		return
	}
	a, b := c.branches(c.a, name), c.branches(c.b, name)
	restA, restB := unmatched(a, b)
	if len(restA) == len(restB) && c.a.chooses(name) && c.b.chooses(name) {
		for i := range restA {
			c.d.schemas(c.sc, []*tree.Node{restA[i].node}, []*tree.Node{restB[i].node})
		}
		return
	}
	lost, won := c.beyond(restA, b, c.sc.old, c.sc.new), c.beyond(restB, a, c.sc.new, c.sc.old)
	switch {
	case len(lost) == 0 && len(won) == 0:
	case len(lost) == 0:
		for _, x := range won {
			c.edit(name, widened, nil, x.node)
		}
	case len(won) == 0:
		for _, x := range lost {
			c.edit(name, narrowed, x.node, nil)
		}
	default:
		c.edit(name, changed, lost[0].node, won[0].node)
	}
}

func unmatched(a, b []branch) (restA, restB []branch) {
	b = slices.Clone(b)
	for _, x := range a {
		i := slices.IndexFunc(b, func(y branch) bool { return y.shape == x.shape && x.shape != "" })
		if i < 0 {
			restA = append(restA, x)
			continue
		}
		b = slices.Delete(b, i, i+1)
	}
	return restA, b
}

// beyond are the branches of a that lie within none of b.
func (c *pair) beyond(a, b []branch, of, in *document) []branch {
	var out []branch
	for _, x := range a {
		if !slices.ContainsFunc(b, func(y branch) bool { return c.d.within(of, in, x.nodes, y.nodes) }) {
			out = append(out, x)
		}
	}
	return out
}

const maxWithin = 2 // alternatives inside alternatives, each of which multiplies the work

// within reports whether every value of a fits b, as far as the rows can tell.
func (d *differ) within(of, in *document, a, b []*tree.Node) bool {
	if d.silent >= maxWithin {
		return false
	}
	sub := d.fresh()
	sub.silent = d.silent + 1
	sub.schemas(scope{dir: request, old: of, new: in}, a, b)
	if sub.broken != nil && d.broken == nil {
		d.broken = sub.broken
	}
	return !slices.ContainsFunc(sub.out, func(f Finding) bool { return f.Grade == Breaking || f.Grade == Review })
}

// others finds edits of keywords that no row judges: extensions, words, what is new or misspelt.
func (c *pair) others() {
	for _, key := range union(append(slices.Clone(c.a.parts), c.b.parts...)...) {
		switch {
		case c.d.known[key] || key == "$ref" || key == "allOf" || isStructure(key):
			continue
		case key == "x-assay":
			c.d.means(c.sc, "property", "", c.a.traits(), c.b.traits())
			continue
		}
		gone, fresh := c.wholes(key)
		if len(gone)+len(fresh) == 0 {
			continue
		}
		a, b := firstNode(gone), firstNode(fresh)
		switch {
		case isWords(key):
			c.d.add(c.sc, "schema.words", Doc, a, b)
		case key == "default":
			c.d.add(c.sc, string(c.sc.dir)+".default."+edited(a, b), defaultGrade(c.sc.dir, a), a, b)
		case key == "deprecated":
			c.d.add(c.sc, "schema.deprecated", Compatible, a, b)
		case key == "readOnly" || key == "writeOnly":
			c.d.add(c.sc, "schema."+key, Review, a, b)
		case strings.HasPrefix(key, "x-"):
			c.d.add(c.sc, "extension.unknown", Review, a, b)
		default:
			c.d.add(c.sc, "schema.unknown", Review, a, b)
			c.unknown = true
		}
	}
}

// defaultGrade: the same request means something else once a default is another one.
func defaultGrade(dir direction, before *tree.Node) Grade {
	switch {
	case dir == response:
		return Doc
	case before == nil:
		return Review
	}
	return Breaking
}

func edited(a, b *tree.Node) string {
	switch {
	case a == nil:
		return "added"
	case b == nil:
		return "removed"
	}
	return "changed"
}
