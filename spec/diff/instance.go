package diff

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"

	"assay.kit/spec/tree"
)

// Bounds of what is built. A schema that needs more has no witness, which is no harm.
const (
	maxCandidates = 400
	maxBuilt      = 6    // levels
	maxText       = 4096 // characters
	maxList       = 64
)

// candidates are values near the edges of both views, with the members that the first one lists: whoever
// keeps to it uses no others, but for one that nobody lists. Most fit; the validator has the last word.
func (d *differ) candidates(of, other view) []any {
	var out []any
	add := func(vs ...any) {
		if len(out) < maxCandidates {
			out = append(out, vs...)
		}
	}
	types := d.types(of, 0)
	least, whole := d.build(of, 0, false), d.build(of, 0, true)
	add(least, whole)
	add(d.listed(of)...)
	add(d.listed(other)...)
	for _, v := range []view{of, other} {
		for _, key := range [...]string{"anyOf", "oneOf"} {
			for _, list := range v.all(key) {
				for _, it := range list.Items {
					add(d.build(d.view(v.doc, it), 1, false), d.build(d.view(v.doc, it), 1, true))
				}
			}
		}
	}
	if types["object"] {
		add(d.objects(of, other, least, whole)...)
	}
	if types["string"] {
		add(d.texts(of, other)...)
	}
	if types["number"] || types["integer"] {
		add(d.numbers(of, other)...)
	}
	if types["array"] {
		add(d.lists(of, other)...)
	}
	add(nil, true, false, "text", json.Number("0"), json.Number("0.5"), []any{}, map[string]any{})
	return out
}

func (d *differ) listed(v view) []any {
	enum, _ := v.enum()
	var out []any
	for _, k := range slices.Sorted(maps.Keys(enum)) {
		out = append(out, enum[k].Value())
	}
	return out
}

// build makes one value that should fit: with the required members, or with all of them.
func (d *differ) build(v view, depth int, whole bool) any {
	if vs := d.listed(v); len(vs) > 0 {
		return vs[0]
	}
	for _, key := range [...]string{"anyOf", "oneOf"} {
		if list := v.first(key); list != nil && len(list.Items) > 1 && depth <= maxBuilt {
			bare := d.stripped(v, key)
			return d.build(d.view(v.doc, append([]*tree.Node{list.Items[0]}, bare...)...), depth+1, whole)
		}
	}
	types := d.types(v, 0)
	switch {
	case types["object"] && (len(types) < 6 || len(v.all("properties"))+len(v.all("required")) > 0):
		return d.object(v, depth, whole)
	case types["array"] && (len(types) < 6 || v.first("items") != nil):
		return d.list(v, depth, whole)
	case types["string"] && !onlyNumbers(v):
		return d.text(v)
	case types["number"] || types["integer"]:
		return d.number(v)
	case types["boolean"]:
		return true
	}
	return nil
}

func onlyNumbers(v view) bool {
	return v.first("minimum") != nil || v.first("maximum") != nil || v.first("multipleOf") != nil
}

// stripped are the parts of a view without one keyword, and without what they refer to, which are parts.
func (d *differ) stripped(v view, key string) []*tree.Node {
	var out []*tree.Node
	for _, p := range v.parts {
		bare := *p
		bare.Members = slices.DeleteFunc(slices.Clone(p.Members), func(m tree.Member) bool {
			return m.Key == key || m.Key == "$ref" || m.Key == "allOf"
		})
		if len(bare.Members) > 0 {
			out = append(out, &bare)
		}
	}
	return out
}

func (d *differ) object(v view, depth int, whole bool) any {
	out := map[string]any{}
	required := v.required()
	for _, name := range union(v.all("properties")...) {
		if whole && depth < maxBuilt/2 || required[canon(&tree.Node{Kind: tree.String, Text: name})] != nil {
			out[name] = d.member(v, name, depth, whole)
		}
	}
	for _, n := range required {
		if _, there := out[n.Text]; !there {
			out[n.Text] = d.member(v, n.Text, depth, whole)
		}
	}
	return out
}

func (d *differ) member(v view, name string, depth int, whole bool) any {
	if depth >= maxBuilt {
		return nil
	}
	return d.build(d.view(v.doc, v.under("properties", name)...), depth+1, whole)
}

func (d *differ) list(v view, depth int, whole bool) any {
	n := 0
	if whole {
		n = 1
	}
	if b := d.limit(v, "minItems"); b != nil && b.value.IsInt() && b.value.Num().IsInt64() {
		n = max(n, int(min(b.value.Num().Int64(), maxList)))
	}
	if v.first("contains") != nil {
		n = max(n, 1)
	}
	return d.items(v, depth, n, whole)
}

func (d *differ) items(v view, depth, n int, whole bool) []any {
	out := make([]any, 0, n)
	prefix := v.first("prefixItems")
	for i := range n {
		sub := v.all("items")
		if prefix != nil && i < len(prefix.Items) {
			sub = []*tree.Node{prefix.Items[i]}
		} else if c := v.all("contains"); len(c) > 0 {
			sub = append(slices.Clone(sub), c...)
		}
		if depth >= maxBuilt {
			out = append(out, nil)
			continue
		}
		item := d.view(v.doc, sub...)
		vs := d.listed(item)
		switch {
		case len(vs) > 0:
			out = append(out, vs[i%len(vs)])
		case i > 0 && v.first("uniqueItems") != nil:
			out = append(out, distinct(d.build(item, depth+1, whole), i))
		default:
			out = append(out, d.build(item, depth+1, whole))
		}
	}
	return out
}

// distinct changes a value a little, for lists without repetition.
func distinct(v any, i int) any {
	step := string(rune('a' + i%26))
	switch v := v.(type) {
	case string:
		return v + step
	case json.Number:
		r, ok := new(big.Rat).SetString(string(v))
		if !ok {
			return v
		}
		return decimal(r.Add(r, big.NewRat(int64(i), 1)))
	}
	return v
}

// objects vary the members: each left out, each alone, each with the values of its own edges, and one
// that nobody lists.
func (d *differ) objects(of, other view, least, whole any) []any {
	all, ok := whole.(map[string]any)
	if !ok {
		return nil
	}
	few, _ := least.(map[string]any)
	var out []any
	with := func(m map[string]any, name string, v any) {
		c := maps.Clone(m)
		if c == nil {
			c = map[string]any{}
		}
		c[name] = v
		out = append(out, c)
	}
	with(few, "notListedAnywhere", json.Number("1"))
	names := union(of.all("properties")...)
	for _, name := range names {
		c := maps.Clone(all)
		delete(c, name)
		out = append(out, c)
		with(few, name, d.member(of, name, 0, true))
	}
	for _, name := range names {
		a := d.view(of.doc, of.under("properties", name)...)
		b := d.view(other.doc, other.under("properties", name)...)
		if len(b.nodes) == 0 {
			continue
		}
		edges := append(d.listed(a), d.listed(b)...)
		edges = append(edges, d.texts(a, b)...)
		edges = append(edges, d.numbers(a, b)...)
		for _, v := range append(edges, nil, true, false) {
			if len(out) < maxCandidates/2 {
				with(few, name, v)
				with(all, name, v)
			}
		}
	}
	return out
}

// edges are the limits of both views and their neighbours.
func (d *differ) edges(of, other view, names ...string) []*big.Rat {
	var out []*big.Rat
	for _, v := range []view{of, other} {
		for _, name := range names {
			if b := d.limit(v, name); b != nil {
				one := big.NewRat(1, 1)
				out = append(out, b.value, new(big.Rat).Add(b.value, one), new(big.Rat).Sub(b.value, one))
			}
		}
	}
	return out
}

func (d *differ) numbers(of, other view) []any {
	var out []any
	half := big.NewRat(1, 2)
	for _, e := range d.edges(of, other, "minimum", "maximum") {
		out = append(out, decimal(e), decimal(new(big.Rat).Add(e, half)), decimal(new(big.Rat).Sub(e, half)))
	}
	for _, v := range []view{of, other} {
		for _, n := range v.all("multipleOf") {
			for k := int64(0); k < 8; k++ {
				out = append(out, decimal(new(big.Rat).Mul(number(n), big.NewRat(k, 1))))
			}
		}
	}
	for _, n := range []string{"0", "1", "-1", "2", "0.5", "100", "1000001", "4294967296"} {
		out = append(out, json.Number(n))
	}
	return out
}

// decimal spells a number as JSON; one that has no short decimal form is rounded, and then it is another.
func decimal(r *big.Rat) json.Number {
	if r.IsInt() {
		return json.Number(r.Num().String())
	}
	return json.Number(strings.TrimRight(r.FloatString(12), "0"))
}

func (d *differ) number(v view) any {
	for _, n := range d.numbers(v, v) {
		r, ok := new(big.Rat).SetString(string(n.(json.Number)))
		if !ok || d.types(v, 0)["integer"] && !d.types(v, 0)["number"] && !r.IsInt() {
			continue
		}
		if m := v.first("multipleOf"); m != nil && number(m).Sign() > 0 && !new(big.Rat).Quo(r, number(m)).IsInt() {
			continue
		}
		lo, hi := d.limit(v, "minimum"), d.limit(v, "maximum")
		at := &bound{value: r}
		if (lo == nil || stricter(at, lo, true) >= 0) && (hi == nil || stricter(at, hi, false) >= 0) {
			return n
		}
	}
	return json.Number("0")
}

// lists vary the length and repeat an item.
func (d *differ) lists(of, other view) []any {
	var out []any
	for _, e := range d.edges(of, other, "minItems", "maxItems", "minContains", "maxContains") {
		if n := count(e); n >= 0 && n <= maxList {
			out = append(out, d.items(of, 1, n, false))
		}
	}
	least := 1
	if b := d.limit(of, "minItems"); b != nil {
		least = min(max(1, count(b.value)), maxList)
	}
	for _, v := range []any{json.Number("1"), nil, "UPPER 1", true} {
		out = append(out, slices.Repeat([]any{v}, least))
	}
	twice := d.items(of, 1, 1, false)
	out = append(out, append(slices.Clone(twice), twice...), d.items(of, 1, 2, true), []any{json.Number("1"), json.Number("1")}, []any{"a"})
	item, theirs := d.view(of.doc, of.all("items")...), d.view(other.doc, other.all("items")...)
	for _, v := range append(d.listed(item), d.listed(theirs)...) {
		out = append(out, []any{v})
	}
	return out
}

func count(r *big.Rat) int {
	if !r.IsInt() || !r.Num().IsInt64() {
		return -1
	}
	return int(max(-1, min(r.Num().Int64(), 1<<20)))
}

// texts are of every length at an edge, of both patterns, and of both formats.
func (d *differ) texts(of, other view) []any {
	out := []any{"", "a", d.text(of), d.text(other)}
	for _, e := range d.edges(of, other, "minLength", "maxLength") {
		if n := count(e); n >= 0 && n <= maxText {
			out = append(out, strings.Repeat("a", n), stretch(d.text(of), n))
		}
	}
	for _, v := range []view{of, other} {
		for _, n := range v.all("pattern") {
			for _, s := range samples(n.Text) {
				out = append(out, s)
			}
		}
		for _, n := range v.all("format") {
			for _, s := range formatted(n.Text) {
				out = append(out, s)
			}
		}
	}
	return append(out, "UPPER", "with space", "a-b_c.d", "0123456789", "é", "not a date")
}

// text builds one text that should fit.
func (d *differ) text(v view) string {
	s := "text"
	if n := v.first("format"); n != nil && len(formatted(n.Text)) > 0 {
		return formatted(n.Text)[0]
	}
	if n := v.first("pattern"); n != nil {
		s = pick1(samples(n.Text), s)
	}
	if lo := d.limit(v, "minLength"); lo != nil && len([]rune(s)) < count(lo.value) && count(lo.value) <= maxText {
		s = stretch(s, count(lo.value))
	}
	if hi := d.limit(v, "maxLength"); hi != nil && len([]rune(s)) > count(hi.value) && count(hi.value) >= 0 {
		s = string([]rune(s)[:count(hi.value)])
	}
	return s
}

func pick1(vs []string, otherwise string) string {
	if len(vs) > 0 {
		return vs[0]
	}
	return otherwise
}

// stretch repeats the last character of a text, or cuts it.
func stretch(s string, n int) string {
	r := []rune(s)
	if len(r) == 0 {
		r = []rune("a")
	}
	for len(r) < n {
		r = append(r, r[len(r)-1])
	}
	return string(r[:n])
}

// formatted are texts of a format, nil if it is none of the known ones.
func formatted(format string) []string {
	return map[string][]string{
		"date-time": {"2026-10-01T20:05:00Z"}, "date": {"2026-10-01"}, "time": {"20:05:00Z"}, "duration": {"P1D"},
		"uuid": {"0b7c1d3e-5a24-4f6b-9c0d-1e2f3a4b5c6d"}, "email": {"someone@example.com"}, "hostname": {"example.com"},
		"ipv4": {"192.0.2.1"}, "ipv6": {"2001:db8::1"}, "uri": {"https://example.com/a"}, "uri-reference": {"/a"},
		"json-pointer": {"/a"}, "regex": {"a*"},
	}[format]
}
