package gen

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"pgregory.net/rapid"

	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// Change is a valid value that differs from another one in one place.
type Change struct {
	Value   any
	Pointer tree.Pointer // of what changed, was added or was removed
	Kind    string       // leaf, type, null, order, added, removed, item
}

// Neighbour generates valid values that differ from v in one place and by as little as possible: a
// character, one step of a number, two items swapped, one optional member more or less, null for
// absent, a text for the number in it. It never gives another spelling of the same value. Members
// that refer to a resource, and values that exist at the target, stay unless Options.ChangeRefs.
// A value without neighbours ends the case as rapid's invalid data.
func Neighbour(s *schema.Schema, v any, o Options) *rapid.Generator[Change] {
	m := maker{s: s, o: o}
	edits := m.edits(v)
	if len(edits) == 0 {
		return rapid.Just(Change{}).Filter(func(Change) bool { return false })
	}
	return rapid.Custom(func(t *rapid.T) Change {
		first := rapid.IntRange(0, len(edits)-1).Draw(t, "edit")
		for i := range edits { // the next one if this one is not valid
			e := edits[(first+i)%len(edits)]
			options := e.options()
			start := rapid.IntRange(0, max(0, len(options)-1)).Draw(t, "way")
			for j := range options {
				c := options[(start+j)%len(options)]
				if !same(c.Value, v) && len(m.validate(c.Value)) == 0 {
					return c
				}
			}
		}
		t.Skip("no neighbour is valid")
		return Change{}
	})
}

// Neighbours lists the changes that Neighbour draws from, each proved valid: at most limit, spread
// over the places of the value.
func Neighbours(s *schema.Schema, v any, limit int, o Options) []Change {
	m := maker{s: s, o: o}
	edits := m.edits(v)
	var out []Change
	for round := 0; len(out) < limit; round++ {
		more := false
		for _, e := range edits {
			options := e.options()
			if round >= len(options) {
				continue
			}
			more = true
			if c := options[round]; len(out) < limit && !same(c.Value, v) && len(m.validate(c.Value)) == 0 {
				out = append(out, c)
			}
		}
		if !more {
			break
		}
	}
	return out
}

// place of a value that may be changed, with ways to do it; none is known to be valid yet.
type place struct {
	m    maker
	base any
	at   tree.Pointer
	src  []source
	kind string // added, or "" for all changes of what is there
}

// edits lists the places of a value.
func (m maker) edits(v any) []place {
	var out []place
	m.collect(v, m.root(), "", 0, &out)
	return out
}

func (m maker) collect(base any, src []source, at tree.Pointer, depth int, out *[]place) {
	v, ok := tree.Get(base, at)
	if !ok || depth > maxNesting || len(*out) >= maxPlaces || m.isPinned(src, at) {
		return
	}
	*out = append(*out, place{m: m, base: base, at: at, src: src})
	sh := settle(src, v)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sortedKeys(v) {
			m.collect(base, m.withTool(sh.member(name), v), at.Append(name), depth+1, out)
		}
		for _, name := range sortedKeys(sh.props) {
			sub := m.withTool(sh.member(name), v)
			readOnly := m.o.DropReadOnly && merge(sub).readOnly
			if _, there := v[name]; !there && sh.allows(name) && !readOnly && !m.isPinned(sub, at.Append(name)) {
				*out = append(*out, place{m: m, base: base, at: at.Append(name), src: sub, kind: "added"})
			}
		}
	case []any:
		for i := range v {
			m.collect(base, sh.item(i), at.Index(i), depth+1, out)
		}
	}
}

// isPinned: an id of a resource cannot be changed by a character and still be found. An id that the
// caller may choose can.
func (m maker) isPinned(src []source, at tree.Pointer) bool {
	if m.o.ChangeRefs {
		return false
	}
	if _, fixed := m.fixed(src, at); fixed {
		return true
	}
	ref := merge(src).traits.Ref
	return ref != nil && !ref.Free
}

// options lists changed wholes, the nearest first.
func (p place) options() []Change {
	var out []Change
	change := func(kind string, values ...any) {
		for _, v := range values {
			out = append(out, Change{Value: put(p.base, p.at, v), Pointer: p.at, Kind: kind})
		}
	}
	if p.kind == "added" {
		if merge(p.src).kinds&kNull != 0 {
			change("null", nil)
		}
		for seed := 1; seed <= 3; seed++ {
			if v, ok := p.m.example(p.src, p.at, 1, seed); ok {
				change("added", v)
			}
		}
		return out
	}
	v, _ := tree.Get(p.base, p.at)
	sh := settle(p.src, v)
	switch v := v.(type) {
	case []any:
		out = append(out, p.reordered(v)...)
	case string:
		change("leaf", nearTexts(v)...)
		change("type", asNumber(v)...)
	case json.Number:
		change("leaf", nearNumbers(v)...)
		change("type", v.String())
	case bool:
		change("leaf", !v)
		change("type", map[bool]string{true: "true", false: "false"}[v])
	}
	if sh.enum != nil {
		change("leaf", sh.enum...)
	}
	if v != nil && merge(p.src).kinds&kNull != 0 {
		change("null", nil)
	}
	if _, object := v.(map[string]any); !object {
		for seed := 1; seed <= 2; seed++ {
			if other, ok := p.m.example(p.src, p.at, 1, seed); ok {
				change("leaf", other)
			}
		}
	}
	if p.at != "" {
		out = append(out, p.removed())
	}
	return out
}

// removed leaves a member or item out.
func (p place) removed() Change {
	kind := "removed"
	if holder, _ := tree.Get(p.base, parentOf(p.at)); isArray(holder) {
		kind = "item"
	}
	return Change{Value: remove(p.base, p.at), Pointer: p.at, Kind: kind}
}

func isArray(v any) bool {
	_, ok := v.([]any)
	return ok
}

// reordered swaps the first two items that differ, reverses, and repeats the last item.
func (p place) reordered(items []any) []Change {
	var out []Change
	add := func(kind string, v []any) {
		out = append(out, Change{Value: put(p.base, p.at, v), Pointer: p.at, Kind: kind})
	}
	for i := 1; i < len(items); i++ {
		if !same(items[i-1], items[i]) {
			swapped := slices.Clone(items)
			swapped[i-1], swapped[i] = items[i], items[i-1]
			add("order", swapped)
			break
		}
	}
	if len(items) > 2 {
		reversed := slices.Clone(items)
		slices.Reverse(reversed)
		add("order", reversed)
	}
	if len(items) > 0 {
		add("item", append(slices.Clone(items), items[len(items)-1]))
	}
	return out
}

// nearTexts changes one character: at the end first, which a fingerprint cut short does not see.
func nearTexts(s string) []any {
	out := []any{s + "a", s + " "}
	if s == "" {
		return out
	}
	first, size := utf8.DecodeRuneInString(s)
	last, tail := utf8.DecodeLastRuneInString(s)
	head, rest := s[:len(s)-tail], s[size:]
	return append(out, head, head+string(next(last)), string(next(first))+rest, string(swapCase(first))+rest,
		head+string(swapCase(last)), strings.ToUpper(s), strings.ToLower(s), " "+s, strings.TrimSpace(s))
}

// next is another character of the same class.
func next(r rune) rune {
	switch {
	case r == '9':
		return '8'
	case r == 'z':
		return 'y'
	case r == 'Z':
		return 'Y'
	case r >= '0' && r < '9', r >= 'a' && r < 'z', r >= 'A' && r < 'Z':
		return r + 1
	default:
		return 'x'
	}
}

// asNumber is the number that a text spells, if it does.
func asNumber(s string) []any {
	if len(s) > 20 || !json.Valid([]byte(s)) {
		return nil
	}
	if _, ok := rational(json.Number(s)); !ok {
		return nil
	}
	return []any{json.Number(s)}
}

// nearNumbers changes the last digit of a fraction and goes a step up and down, a small fraction, the
// opposite sign, ten times.
func nearNumbers(n json.Number) []any {
	r, ok := rational(n)
	if !ok {
		return nil
	}
	var out []any
	if i := strings.IndexByte(n.String(), '.'); i >= 0 && strings.Trim(n.String(), "-0123456789.") == "" {
		last := next(rune(n.String()[len(n.String())-1]))
		out = append(out, json.Number(n.String()[:len(n.String())-1]+string(last)))
	}
	for _, d := range []*big.Rat{big.NewRat(1, 1), big.NewRat(-1, 1), big.NewRat(1, 1_000_000), big.NewRat(1, 2)} {
		out = append(out, decimal(new(big.Rat).Add(r, d)))
	}
	return append(out, decimal(new(big.Rat).Neg(r)), decimal(new(big.Rat).Mul(r, big.NewRat(10, 1))))
}
