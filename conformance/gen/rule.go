package gen

import (
	"slices"
	"strings"

	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// rules adds the places of keywords that hold a whole schema: not, anyOf, oneOf, if, dependentSchemas,
// contains. Whether one can be broken alone shows only when it is tried, so each is.
func (f *finder) rules(base any, src []source, sh *shape, v any, at tree.Pointer) {
	open := merge(src)
	add := func(keyword, member string) {
		p := Place{Keyword: keyword, Pointer: at, Member: member}
		if f.seen[p] || len(f.places) >= maxPlaces {
			return
		}
		p.spot = &spot{m: f.m, from: f.from, base: base, at: at, src: src, sh: sh}
		f.seen[Place{Keyword: keyword, Pointer: at, Member: member}] = true
		if len(p.spot.ways(p)) > 0 {
			f.places = append(f.places, p)
		}
	}
	if len(open.nots) > 0 {
		add("not", "")
	}
	for _, c := range open.choices {
		add(c.keyword, "")
	}
	for _, c := range open.conditions {
		if c.member != "" {
			add("dependentSchemas", c.member)
			continue
		}
		add("then", "")
		add("else", "")
	}
	switch v.(type) {
	case []any:
		for _, c := range sh.contains {
			if c.min > 0 {
				add(c.keyword, "")
			}
			if c.max >= 0 {
				add("maxContains", "")
			}
		}
		if sh.closedItems >= 0 {
			add("items", "")
		}
		if sh.sealedItems {
			add("unevaluatedItems", "")
		}
	case map[string]any:
		for _, name := range sh.forbidden {
			add("properties", name)
		}
	}
}

// against lists values that should break a place of rules; mine is false for any other place.
func (sp *spot) against(p Place, v any) (out []candidate, mine bool) {
	switch p.Keyword {
	case "not":
		for _, n := range merge(sp.src).nots {
			out = append(out, sp.examples(append(without(sp.src, "not"), n), v, n)...)
		}
	case "anyOf", "oneOf":
		out = sp.undecided(p.Keyword, v)
	case "then", "else", "dependentSchemas":
		out = sp.crossed(p)
	case "contains", "minContains", "maxContains":
		items, _ := v.([]any)
		out = sp.contained(p.Keyword, items)
	case "items", "unevaluatedItems":
		items, _ := v.([]any)
		out = sp.tooLong(items)
	case "properties":
		at := sp.at.Append(p.Member)
		out = []candidate{{put(sp.base, at, "assay"), at}, {put(sp.base, at, integer(1)), at}}
	default:
		return nil, false
	}
	return out, true
}

// tries is how many examples are looked at for one rule, and ruleTries how long one is looked for:
// many a rule cannot be broken alone.
const (
	tries     = 3
	ruleTries = 40
)

// examples puts examples of schemas in the place of a value: first, of an object, with no more changed
// than what one of the schemas is about.
func (sp *spot) examples(src []source, v any, about ...source) []candidate {
	var near, far []candidate
	object, _ := v.(map[string]any)
	m := sp.m
	m.effort = ruleTries
	for seed := range tries {
		made, ok := m.example(src, sp.at, 1, seed)
		if !ok {
			break
		}
		far = append(far, candidate{put(sp.base, sp.at, made), sp.at})
		if other, isObject := made.(map[string]any); isObject && object != nil {
			near = append(near, candidate{put(sp.base, sp.at, overlaid(object, other, merge(about))), sp.at})
		}
	}
	return append(near, far...)
}

// overlaid is an object with those members of another one that a schema is about.
func overlaid(object, other map[string]any, about *shape) map[string]any {
	out := make(map[string]any, len(object))
	for name, v := range object {
		out[name] = v
	}
	for name, v := range other {
		if _, described := about.props[name]; described || about.requires(name) {
			out[name] = v
		}
	}
	return out
}

// undecided gives values of no alternative, and of oneOf also values of two.
func (sp *spot) undecided(keyword string, v any) []candidate {
	var out []candidate
	rest := without(sp.src, keyword)
	for _, c := range merge(sp.src).choices {
		if c.keyword != keyword {
			rest = append(rest, sp.src[0].with(map[string]any{c.keyword: raws(c.branches)}))
		}
	}
	for _, c := range merge(sp.src).choices {
		if c.keyword != keyword {
			continue
		}
		if keyword == "oneOf" {
			for i, a := range c.branches {
				for _, b := range c.branches[:i] {
					out = append(out, sp.examples(append(slices.Clone(rest), a, b), v, b)...)
				}
			}
		}
		none := c.branches[0].with(map[string]any{"anyOf": raws(c.branches)})
		out = append(out, sp.examples(append(slices.Clone(rest), negated(none)), nil, none)...)
	}
	return out
}

func raws(branches []source) []any {
	out := make([]any, 0, len(branches))
	for _, b := range branches {
		out = append(out, b.raw)
	}
	return out
}

// crossed gives values that take one side of a condition and do not fit what that side asks for.
func (sp *spot) crossed(p Place) []candidate {
	var out []candidate
	v, _ := tree.Get(sp.base, sp.at)
	for _, c := range merge(sp.src).conditions {
		if c.member != "" && c.member != p.Member {
			continue
		}
		when, side := c.when, c.then
		if p.Keyword == "else" {
			when, side = negated(c.when), c.otherwise
		}
		out = append(out, sp.examples(append(bare(sp.src), when, negated(side)), v, when, side)...)
	}
	return out
}

// contained changes how many items are of a kind: one too few, or one too many.
func (sp *spot) contained(keyword string, items []any) []candidate {
	var out []candidate
	for _, c := range sp.sh.contains {
		fitting := func(v any) bool { return fits([]source{c.kind}, v, 0) }
		var changed []any
		var ok bool
		if keyword == "maxContains" {
			changed, ok = sp.turned(items, c.kind, func(v any) bool { return !fitting(v) }, c.max+1)
		} else if keyword == c.keyword {
			changed, ok = sp.turned(items, negated(c.kind), fitting, len(items)-c.min+1)
		}
		if ok {
			out = append(out, candidate{put(sp.base, sp.at, changed), sp.at})
		}
	}
	return out
}

// turned turns items into such of another kind until there are n of that: those that are not of it
// yet, then further ones where the array has room.
func (sp *spot) turned(items []any, kind source, other func(any) bool, n int) ([]any, bool) {
	out := slices.Clone(items)
	have := 0
	for _, it := range out {
		if !other(it) {
			have++
		}
	}
	for i := 0; have < n && n < 10_000; i++ {
		if i < len(out) && !other(out[i]) {
			continue
		}
		v, ok := sp.another(out, i, kind)
		if !ok {
			return nil, false
		}
		if i < len(out) {
			out[i] = v
		} else {
			out = append(out, v)
		}
		have++
	}
	return out, true
}

// another is an item of a kind for an index of an array, different from the others where they must be.
func (sp *spot) another(items []any, i int, kind source) (any, bool) {
	for seed := range 20 {
		v, ok := sp.m.example(append(slices.Clone(sp.sh.item(i)), kind), sp.at.Index(i), 1, seed)
		if ok && (!sp.sh.unique || !slices.ContainsFunc(items, func(have any) bool { return same(have, v) })) {
			return v, true
		}
	}
	return nil, false
}

// tooLong fills an array up and adds an item more than it may have.
func (sp *spot) tooLong(items []any) []candidate {
	full := sp.sh.longest()
	if full < 0 || full > 1000 {
		return nil
	}
	out, ok := sp.grown(items, max(full, len(items)))
	if !ok {
		return nil
	}
	var all []candidate
	for _, extra := range []any{"assay", integer(1)} {
		all = append(all, candidate{put(sp.base, sp.at, append(slices.Clone(out), extra)), sp.at.Index(len(out))})
	}
	return all
}

// without lists schemas flat and without one keyword; of if, then and else go along.
func without(src []source, keyword string) []source {
	var out []source
	for _, s := range flat(src) {
		m, ok := s.raw.(map[string]any)
		if !ok {
			out = append(out, s)
			continue
		}
		plain := make(map[string]any, len(m))
		for k, v := range m {
			if k != keyword && k != "allOf" && k != "$ref" {
				plain[k] = v
			}
		}
		out = append(out, s.with(plain))
	}
	return out
}

// name is one that a pattern describes, if the object has none yet.
func (p patternProp) name(object map[string]any) (string, bool) {
	for name := range object {
		if p.re.MatchString(name) {
			return "", false
		}
	}
	for seed := range tries {
		if name, ok := drawnName(p.pattern, seed); ok && p.re.MatchString(name) {
			return name, true
		}
	}
	return "", false
}

func drawnName(pattern string, seed int) (name string, ok bool) {
	defer func() {
		if recover() != nil { // rapid's only way to say that it found nothing
			name, ok = "", false
		}
	}()
	return matching(pattern).Example(seed), true
}

// isSide: of these the validator names the keyword that the side's schema broke, and where it stands.
func isSide(keyword string) bool {
	return keyword == "then" || keyword == "else" || keyword == "dependentSchemas"
}

// bySide takes what the validator says if all of it is about one side of a condition.
func (b *Broken) bySide(vs []schema.Violation, keyword string) bool {
	for _, v := range vs {
		if !strings.Contains(v.Location+"/", "/"+keyword+"/") {
			return false
		}
	}
	if len(vs) == 0 {
		return false
	}
	b.Keyword, b.Pointer, b.Member, b.Raw = vs[0].Keyword, vs[0].Instance, "", Encode(b.Value)
	for _, v := range vs[1:] {
		if v.Keyword != b.Keyword || v.Instance != b.Pointer {
			b.Also = append(b.Also, v.Keyword)
		}
	}
	slices.Sort(b.Also)
	b.Also = slices.Compact(b.Also)
	return true
}

// locationOf is where the schema has the choice that a place is about, "" if it is about none.
func locationOf(vs []schema.Violation, p Place, at tree.Pointer) string {
	if p.Keyword != "anyOf" && p.Keyword != "oneOf" {
		return ""
	}
	for _, v := range vs {
		if v.Instance == at && v.Keyword == p.Keyword {
			return v.Location
		}
	}
	return ""
}
