package diff

import (
	"maps"
	"math/big"
	"slices"
	"strings"

	"assay.kit/spec/tree"
)

// relation says what an edit does to the set of values that fit.
type relation string

const (
	narrowed relation = "narrowed" // fewer fit
	widened  relation = "widened"  // more fit
	changed  relation = "changed"  // cannot be told from the keyword alone
)

// grade judges an edit by who makes the values: what they made before must still be taken, what they
// make now must have been possible before.
func (d direction) grade(r relation) Grade {
	switch {
	case r == changed:
		return Review // a witness makes it breaking
	case d == both, d == request && r == narrowed, d == response && r == widened:
		return Breaking
	}
	return Compatible
}

// pair is one schema of the old version and the one of the new that took its place.
type pair struct {
	d    *differ
	sc   scope
	a, b view
	hits []int // findings that a witness may prove

	before         int  // findings that were there before this pair
	unknown        bool // a keyword was edited that no row judges
	typesA, typesB map[string]bool
	inert          bool // the keyword at hand restricts no value that both allow
}

// applies reports whether both sides allow values of a type; a keyword of another type says nothing.
func (c *pair) applies(on string) bool {
	has := func(types map[string]bool) bool { return types[on] || on == "number" && types["integer"] }
	return on == "" || has(c.typesA) && has(c.typesB)
}

// schemas compares what describes one value in both versions.
func (d *differ) schemas(sc scope, a, b []*tree.Node) {
	va, vb := d.view(sc.old, a...), d.view(sc.new, b...)
	key := string(sc.dir) + " " + va.key() + "| " + vb.key()
	if d.seen[key] || d.broken != nil || len(d.out) >= maxFindings {
		return
	}
	if err := d.stopped(); err != nil {
		d.broken = err
		return
	}
	d.seen[key] = true
	for _, n := range append(slices.Clone(va.parts), vb.parts...) {
		d.reached[n] = true
	}
	sc = sc.into(vb.anchor())
	c := &pair{d: d, sc: sc, a: va, b: vb, before: len(d.out)}
	if va.never != vb.never {
		c.edit("schema", map[bool]relation{true: narrowed, false: widened}[vb.never], va.anchor(), vb.anchor())
		return
	}
	c.typesA, c.typesB = d.types(va, 0), d.types(vb, 0)
	for _, k := range d.keywords {
		c.inert = !c.applies(k.on)
		k.compare(c, k.name)
	}
	c.inert = false
	c.others()
	c.prove()
	c.convict()
}

// edit records one edit of a keyword under its rule, graded by direction.
func (c *pair) edit(keyword string, r relation, a, b *tree.Node) {
	c.graded(keyword, r, c.sc.dir.grade(r), a, b)
}

func (c *pair) graded(keyword string, r relation, g Grade, a, b *tree.Node) {
	if c.inert {
		g = Compatible
	}
	i := c.d.add(c.sc, string(c.sc.dir)+"."+keyword+"."+string(r), g, a, b)
	if i < 0 {
		return
	}
	f := &c.d.out[i]
	if f.Old == nil {
		f.Old, _ = place(c.a.anchor())
	}
	if f.New == nil {
		f.New, _ = place(c.b.anchor())
	}
	c.hits = append(c.hits, i)
}

func compareType(c *pair, name string) {
	a, b := c.typesA, c.typesB
	lost, won := uncovered(a, b), uncovered(b, a)
	na, nb := c.a.first(name), c.b.first(name)
	switch {
	case lost && won:
		c.graded(name, changed, Breaking, na, nb)
	case lost:
		c.edit(name, narrowed, na, nb)
	case won:
		c.edit(name, widened, na, nb)
	}
}

// uncovered reports whether a has a type that b has not; integers are numbers.
func uncovered(a, b map[string]bool) bool {
	for t := range a {
		if !b[t] && (t != "integer" || !b["number"]) {
			return true
		}
	}
	return false
}

// types are those that a view allows: the listed, else those of its enum, else of its alternatives.
func (d *differ) types(v view, depth int) map[string]bool {
	out := map[string]bool{"null": true, "boolean": true, "number": true, "string": true, "array": true, "object": true}
	meet := func(with map[string]bool) {
		next := map[string]bool{}
		for t := range out {
			switch {
			case with[t]:
				next[t] = true
			case t == "number" && with["integer"]:
				next["integer"] = true
			case t == "integer" && with["number"]:
				next[t] = true
			}
		}
		out = next
	}
	for _, t := range v.all("type") {
		if with := words(t); len(with) > 0 {
			meet(with)
		}
	}
	if enum, ok := v.enum(); ok {
		with := map[string]bool{}
		for _, e := range enum {
			with[typeOf(e)] = true
		}
		meet(with)
	}
	for _, key := range [...]string{"anyOf", "oneOf"} {
		for _, list := range v.all(key) {
			if depth > 3 || list.Kind != tree.Array || len(list.Items) == 0 {
				continue
			}
			with := map[string]bool{}
			for _, it := range list.Items {
				maps.Copy(with, d.types(d.view(v.doc, it), depth+1))
			}
			meet(with)
		}
	}
	return out
}

func words(n *tree.Node) map[string]bool {
	out := map[string]bool{}
	if n.Kind == tree.String {
		out[n.Text] = true
	}
	for _, it := range n.Items {
		out[it.Text] = true
	}
	return out
}

func typeOf(n *tree.Node) string {
	if n.Kind == tree.Number && number(n).IsInt() {
		return "integer"
	}
	return n.Kind.String()
}

// enum is the set of listed values, by their spelling; false if any value is.
func (v view) enum() (map[string]*tree.Node, bool) {
	var out map[string]*tree.Node
	meet := func(with map[string]*tree.Node) {
		if out == nil {
			out = with
			return
		}
		maps.DeleteFunc(out, func(k string, _ *tree.Node) bool { return with[k] == nil })
	}
	for _, e := range v.all("enum") {
		meet(elements(e))
	}
	for _, n := range v.all("const") {
		meet(map[string]*tree.Node{canon(n): n})
	}
	return out, out != nil
}

func compareEnum(c *pair, name string) {
	a, listedA := c.a.enum()
	b, listedB := c.b.enum()
	list := func(v view) *tree.Node {
		if n := v.first("enum"); n != nil {
			return n
		}
		return v.first("const")
	}
	switch {
	case !listedA && !listedB:
		return
	case !listedA:
		c.edit(name, narrowed, nil, list(c.b))
		return
	case !listedB:
		c.edit(name, widened, list(c.a), nil)
		return
	}
	for _, gone := range without(a, b) {
		c.edit(name, narrowed, gone, nil)
	}
	for _, fresh := range without(b, a) {
		g := c.sc.dir.grade(widened)
		if c.a.open() {
			g = Compatible // whoever reads it was told that there may be others
		}
		c.graded(name, widened, g, nil, fresh)
	}
}

func compareExtensible(c *pair, name string) {
	a, b := elements(c.a.first(name)), elements(c.b.first(name))
	for _, gone := range without(a, b) {
		c.graded(name, narrowed, Review, gone, nil)
	}
	for _, fresh := range without(b, a) {
		c.graded(name, widened, Compatible, nil, fresh)
	}
}

func (v view) required() map[string]*tree.Node {
	out := map[string]*tree.Node{}
	for _, list := range v.all("required") {
		maps.Copy(out, elements(list))
	}
	return out
}

func compareRequired(c *pair, name string) {
	a, b := c.a.required(), c.b.required()
	for _, gone := range without(a, b) {
		c.edit(name, widened, gone, nil)
	}
	for _, fresh := range without(b, a) {
		c.edit(name, narrowed, nil, fresh)
	}
}

func compareProperties(c *pair, name string) {
	for _, key := range union(append(c.a.all(name), c.b.all(name)...)...) {
		a, b := c.a.under(name, key), c.b.under(name, key)
		sc := c.sc.member(key)
		switch {
		case len(a) > 0 && len(b) > 0:
			c.d.schemas(sc, a, b)
		case len(b) == 0:
			g := Breaking // whoever reads it finds nothing
			if c.sc.dir == request && !c.b.closed() {
				g = Review // it is still taken, and perhaps no longer heeded
			}
			c.graded(name, narrowed, g, a[0], nil)
		default:
			g := Compatible
			if c.a.closed() && c.sc.dir != request {
				g = Breaking // whoever reads it was told that there is nothing else
			}
			c.graded(name, widened, g, nil, b[0])
		}
	}
}

func compareOpenness(c *pair, name string) {
	a, b := c.a.openness(), c.b.openness()
	node := func(v view) *tree.Node {
		if n := v.first(name); n != nil {
			return n
		}
		return v.first("unevaluatedProperties")
	}
	switch {
	case b < a:
		c.edit(name, narrowed, node(c.a), node(c.b))
	case b > a:
		c.edit(name, widened, node(c.a), node(c.b))
	case a == 1:
		c.d.schemas(c.sc.member("*"), []*tree.Node{node(c.a)}, []*tree.Node{node(c.b)})
	}
}

func comparePatternProperties(c *pair, name string) {
	for _, key := range union(append(c.a.all(name), c.b.all(name)...)...) {
		a, b := c.a.under(name, key), c.b.under(name, key)
		switch {
		case len(a) > 0 && len(b) > 0:
			c.d.schemas(c.sc.member("*"), a, b)
		case len(b) == 0 && c.b.closed():
			c.edit(name, narrowed, a[0], nil)
		case len(b) == 0:
			c.edit(name, widened, a[0], nil)
		case c.a.closed():
			c.edit(name, widened, nil, b[0])
		default:
			c.edit(name, narrowed, nil, b[0])
		}
	}
}

// bound is the effective limit of a view.
type bound struct {
	node      *tree.Node
	value     *big.Rat
	exclusive bool
}

// limit finds the strictest of a view's bounds; an exclusive bound of integers is the next integer.
func (d *differ) limit(v view, name string) *bound {
	lower := strings.HasPrefix(name, "min")
	var best *bound
	take := func(n *tree.Node, exclusive bool) {
		if n.Kind != tree.Number {
			return
		}
		b := &bound{n, number(n), exclusive}
		if exclusive && !d.types(v, 0)["number"] && b.value.IsInt() {
			step := big.NewRat(1, 1)
			if !lower {
				step.Neg(step)
			}
			b.value, b.exclusive = new(big.Rat).Add(b.value, step), false
		}
		if best == nil || stricter(b, best, lower) > 0 {
			best = b
		}
	}
	for _, n := range v.all(name) {
		take(n, false)
	}
	if name == "minimum" || name == "maximum" {
		for _, n := range v.all("exclusive" + strings.ToUpper(name[:1]) + name[1:]) {
			take(n, true)
		}
	}
	return best
}

// stricter is positive if b refuses more than c.
func stricter(b, c *bound, lower bool) int {
	n := b.value.Cmp(c.value)
	if !lower {
		n = -n
	}
	switch {
	case n != 0:
		return n
	case b.exclusive == c.exclusive:
		return 0
	case b.exclusive:
		return 1
	}
	return -1
}

func compareBound(c *pair, name string) {
	a, b := c.d.limit(c.a, name), c.d.limit(c.b, name)
	lower := strings.HasPrefix(name, "min")
	vacuous := func(x *bound) bool { return x != nil && lower && name != "minimum" && x.value.Sign() <= 0 }
	if vacuous(a) {
		a = nil
	}
	if vacuous(b) {
		b = nil
	}
	switch {
	case a == nil && b == nil:
	case a == nil:
		c.edit(name, narrowed, nil, b.node)
	case b == nil:
		c.edit(name, widened, a.node, nil)
	default:
		switch n := stricter(b, a, lower); {
		case n > 0:
			c.edit(name, narrowed, a.node, b.node)
		case n < 0:
			c.edit(name, widened, a.node, b.node)
		}
	}
}

func compareMultiple(c *pair, name string) {
	a, b := c.a.first(name), c.b.first(name)
	if equal(a, b) {
		return
	}
	rel := changed
	switch {
	case a == nil:
		rel = narrowed
	case b == nil:
		rel = widened
	case number(a).Sign() > 0 && number(b).Sign() > 0:
		q := new(big.Rat).Quo(number(b), number(a))
		if q.IsInt() {
			rel = narrowed
		} else if q.Inv(q).IsInt() {
			rel = widened
		}
	}
	c.edit(name, rel, a, b)
}

func compareUnique(c *pair, name string) {
	has := func(v view) bool { return slices.ContainsFunc(v.all(name), isTrue) }
	switch a, b := has(c.a), has(c.b); {
	case b && !a:
		c.edit(name, narrowed, c.a.first(name), c.b.first(name))
	case a && !b:
		c.edit(name, widened, c.a.first(name), c.b.first(name))
	}
}

func compareSub(c *pair, name string) {
	a, b := c.a.all(name), c.b.all(name)
	switch {
	case len(a) > 0 && len(b) > 0:
		c.d.schemas(c.sc.member("*"), a, b)
	case len(b) > 0 && !free(b):
		c.edit(name, narrowed, nil, b[0])
	case len(a) > 0 && !free(a):
		c.edit(name, widened, a[0], nil)
	}
}

// free reports whether schemas allow everything.
func free(nodes []*tree.Node) bool {
	for _, n := range nodes {
		if !isTrue(n) && (n.Kind != tree.Object || len(n.Members) > 0) {
			return false
		}
	}
	return true
}

func comparePrefix(c *pair, name string) {
	a, b := c.a.first(name), c.b.first(name)
	if a == nil && b == nil {
		return
	}
	at := func(n *tree.Node, i int) *tree.Node {
		if n == nil || i >= len(n.Items) {
			return nil
		}
		return n.Items[i]
	}
	for i := 0; ; i++ {
		switch x, y := at(a, i), at(b, i); {
		case x == nil && y == nil:
			return
		case x == nil:
			c.edit(name, changed, nil, y)
		case y == nil:
			c.edit(name, changed, x, nil)
		default:
			c.d.schemas(c.sc.member("*"), []*tree.Node{x}, []*tree.Node{y})
		}
	}
}
