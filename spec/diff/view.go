package diff

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay.kit/spec/tree"
)

// view is all that describes one value: a schema, what its $ref names, and the branches of its allOf,
// which must all hold. So it makes no difference whether something is inline, referenced or composed.
type view struct {
	doc   *document
	parts []*tree.Node // objects
	never bool         // a false schema is among them
	nodes []*tree.Node // as they were given
}

const maxParts = 256

func (d *differ) view(doc *document, nodes ...*tree.Node) view {
	v := view{doc: doc, nodes: make([]*tree.Node, 0, len(nodes))}
	for _, n := range nodes {
		v.nodes = append(v.nodes, d.behind(doc, n))
	}
	seen := map[*tree.Node]bool{}
	var visit func(n *tree.Node)
	visit = func(n *tree.Node) {
		if n == nil || seen[n] || len(v.parts) >= maxParts {
			return
		}
		seen[n] = true
		if isFalse(n) {
			v.never = true
		}
		if n.Kind != tree.Object {
			return
		}
		v.parts = append(v.parts, n)
		for _, key := range [...]string{"$ref", "$dynamicRef"} {
			if ref := n.Get(key); ref != nil && ref.Kind == tree.String {
				visit(d.follow(doc, ref))
			}
		}
		for _, key := range [...]string{"allOf", "anyOf", "oneOf"} {
			if list := n.Get(key); list != nil && list.Kind == tree.Array && (key == "allOf" || len(list.Items) == 1) {
				for _, it := range list.Items {
					visit(it)
				}
			}
		}
	}
	for _, n := range v.nodes {
		visit(n)
	}
	return v
}

// behind is what a schema that is nothing but a reference names, so that it is compared once.
func (d *differ) behind(doc *document, n *tree.Node) *tree.Node {
	for range 32 {
		ref := n.Get("$ref")
		if ref == nil || ref.Kind != tree.String || len(n.Members) > 1 {
			return n
		}
		next := d.follow(doc, ref)
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// follow returns what a reference names; one that leads nowhere ends the comparison with an error.
func (d *differ) follow(doc *document, ref *tree.Node) *tree.Node {
	if n := doc.named[ref.Text]; n != nil {
		return n
	}
	if n := doc.find(ref.Text); n != nil {
		if doc.named == nil {
			doc.named = map[string]*tree.Node{}
		}
		doc.named[ref.Text] = n
		return n
	}
	if d.broken == nil {
		d.broken = fmt.Errorf("%s:%d: the $ref %q leads nowhere in this document", ref.File, ref.Where(), ref.Text)
	}
	return nil
}

// find looks a reference up: a pointer, or an anchor (JSON Schema 2020-12, Core §8.2.2).
func (d *document) find(ref string) (found *tree.Node) {
	if p, err := tree.ParseFragment(ref); err == nil {
		return d.root.At(p)
	}
	name, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	d.root.Walk(func(n *tree.Node) bool {
		if n.Str("$anchor") == name || n.Str("$dynamicAnchor") == name {
			found = n
		}
		return found == nil
	})
	return found
}

// resolve follows the $ref of an object that is no schema, a bounded number of times.
func (d *differ) resolve(doc *document, n *tree.Node) *tree.Node {
	for range 32 {
		ref := n.Get("$ref")
		if ref == nil || ref.Kind != tree.String {
			return n
		}
		n = d.follow(doc, ref)
	}
	return nil
}

// anchor is where the view is written.
func (v view) anchor() *tree.Node {
	if len(v.nodes) > 0 {
		return v.nodes[0]
	}
	return nil
}

// key names the view by its places.
func (v view) key() string {
	var b strings.Builder
	for _, n := range v.nodes {
		b.WriteString(keyOf(n))
		b.WriteByte(' ')
	}
	return b.String()
}

// all gathers a keyword's values.
func (v view) all(key string) []*tree.Node {
	var out []*tree.Node
	for _, p := range v.parts {
		if n := p.Get(key); n != nil {
			out = append(out, n)
		}
	}
	return out
}

// first is a keyword's first value, nil if there is none.
func (v view) first(key string) *tree.Node {
	for _, p := range v.parts {
		if n := p.Get(key); n != nil {
			return n
		}
	}
	return nil
}

// under gathers the schemas of one name below a keyword: properties, patternProperties.
func (v view) under(key, name string) []*tree.Node {
	var out []*tree.Node
	for _, p := range v.parts {
		if n := p.Get(key).Get(name); n != nil {
			out = append(out, n)
		}
	}
	return out
}

// traits merges the x-assay of the parts: the outer one says it first.
func (v view) traits() *tree.Node {
	all := v.all("x-assay")
	if len(all) < 2 {
		return v.first("x-assay")
	}
	out := *all[0]
	out.Members = append([]tree.Member{}, out.Members...)
	for _, x := range all[1:] {
		for _, m := range x.Members {
			if out.Get(m.Key) == nil {
				out.Members = append(out.Members, m)
			}
		}
	}
	return &out
}

// closed reports whether members that no part lists are refused.
func (v view) closed() bool { return v.openness() == 0 }

// openness is 0 if unlisted members are refused, 1 if they must fit a schema, 2 if they are free.
func (v view) openness() int {
	open := 2
	for _, key := range [...]string{"additionalProperties", "unevaluatedProperties"} {
		for _, n := range v.all(key) {
			switch {
			case isFalse(n):
				return 0
			case n.Kind == tree.Object && len(n.Members) > 0:
				open = 1
			}
		}
	}
	return open
}

// open reports whether a reader must tolerate values beyond an enum.
func (v view) open() bool {
	x := v.traits()
	return isTrue(x.Get("open")) || isTrue(x.Get("states").Get("open"))
}

// shape is a digest of a schema with its references in line and without words for people, for keywords
// that are compared as a whole: the same for a schema in line and for one that is referred to.
func (d *differ) shape(doc *document, n *tree.Node) string { return d.shaped(doc, n, 0) }

const maxInline = 4 // references inside each other; what is deeper counts by its name

// shaped digests one node, each once: many schemas refer to the same ones.
func (d *differ) shaped(doc *document, n *tree.Node, depth int) string {
	if n == nil || n.Kind != tree.Object {
		return canon(n)
	}
	key := shapeKey{n, depth}
	if s, ok := doc.shapes[key]; ok {
		return s
	}
	if ref := n.Get("$ref"); ref != nil && ref.Kind == tree.String && len(n.Members) == 1 && depth < maxInline {
		s := d.shaped(doc, d.follow(doc, ref), depth+1)
		doc.remember(key, s)
		return s
	}
	var b strings.Builder
	for _, m := range byName(n) {
		d.writeMember(&b, doc, m, depth)
	}
	sum := sha256.Sum256([]byte(b.String()))
	s := hex.EncodeToString(sum[:12])
	doc.remember(key, s)
	return s
}

func (d *differ) writeMember(b *strings.Builder, doc *document, m tree.Member, depth int) {
	switch {
	case isWords(m.Key) || isStructure(m.Key):
		return
	case m.Key == "$ref" && m.Value.Kind == tree.String && depth < maxInline:
		b.WriteString("$ref=" + d.shaped(doc, d.follow(doc, m.Value), depth+1))
	case isNames(m.Key) && m.Value.Kind == tree.Object:
		b.WriteString(m.Key + "{")
		for _, named := range byName(m.Value) {
			b.WriteString(strconv.Quote(named.Key) + ":" + d.shaped(doc, named.Value, depth) + ",")
		}
		b.WriteByte('}')
	case m.Value.Kind == tree.Array && isList(m.Key):
		b.WriteString(m.Key + "[")
		for _, it := range m.Value.Items {
			b.WriteString(d.shaped(doc, it, depth) + ",")
		}
		b.WriteByte(']')
	case m.Value.Kind == tree.Array && (m.Key == "required" || m.Key == "enum" || m.Key == "type"):
		b.WriteString(m.Key + "<" + strings.Join(slices.Sorted(maps.Keys(elements(m.Value))), ",") + ">")
	case m.Value.Kind == tree.Object && m.Key != "const" && m.Key != "default":
		b.WriteString(m.Key + "(" + d.shaped(doc, m.Value, depth) + ")")
	default:
		b.WriteString(m.Key + "=" + canon(m.Value))
	}
	b.WriteByte(';')
}

func isNames(key string) bool {
	return key == "properties" || key == "patternProperties" || key == "dependentSchemas"
}

func isList(key string) bool {
	return key == "allOf" || key == "anyOf" || key == "oneOf" || key == "prefixItems"
}

// isWords are keywords for people only.
func isWords(key string) bool {
	switch key {
	case "title", "description", "summary", "example", "examples", "$comment", "externalDocs":
		return true
	}
	return false
}

// isStructure are keywords that say where schemas are, not what fits; what they hold is compared where
// it is referred to.
func isStructure(key string) bool {
	switch key {
	case "$defs", "definitions", "$schema", "$anchor", "$id", "$vocabulary":
		return true
	}
	return false
}
