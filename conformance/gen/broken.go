package gen

import (
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// Broken is a valid value broken in exactly one place. The schema refuses it, with this keyword at
// this pointer.
type Broken struct {
	Value   any
	Raw     []byte       // Value as JSON
	Keyword string       // as the validator names it
	Pointer tree.Pointer // of the offending value; of required and dependentRequired, the object
	Member  string       // of those two: the member that is missing
	Also    []string     // further keywords that the same value breaks at the same place
}

// BreakAt breaks base at one place of Keywords, always the same way. ok is false if no value was
// found that the schema refuses there and nowhere else, as with a pattern that matches everything.
func BreakAt(s *schema.Schema, base any, p Place, o Options) (b Broken, ok bool) {
	all := breaks(maker{s: s, o: o}, base, p)
	if len(all) == 0 {
		return Broken{}, false
	}
	return all[0], true
}

// WaysAt lists all ways to break base at one place of Keywords that BreakAt chooses from, in its order.
func WaysAt(s *schema.Schema, base any, p Place, o Options) []Broken {
	return breaks(maker{s: s, o: o}, base, p)
}

// Negative generates broken values of a valid base: a place first, then one of the ways to break it.
func Negative(s *schema.Schema, base any, o Options) *rapid.Generator[Broken] {
	places := Keywords(s, base, o)
	m := maker{s: s, o: o}
	if len(places) == 0 {
		return rapid.Just(Broken{}).Filter(func(Broken) bool { return false })
	}
	return rapid.Custom(func(t *rapid.T) Broken {
		first := rapid.IntRange(0, len(places)-1).Draw(t, "place")
		for i := range places { // the next one if this one cannot be broken
			ways := breaks(m, base, places[(first+i)%len(places)])
			if len(ways) > 0 {
				return rapid.SampledFrom(ways).Draw(t, "way")
			}
		}
		t.Skip("nothing can be broken")
		return Broken{}
	})
}

// breaks lists the proven ways to break a place: those that break this keyword alone, or, if there
// is none, those that break others of the same value with it.
func breaks(m maker, base any, p Place) []Broken {
	sp := p.spot
	if sp == nil || sp.m.s != m.s || !same(sp.from, base) {
		for _, q := range Keywords(m.s, base, m.o) {
			if q.is(p) {
				sp = q.spot
			}
		}
	}
	if sp == nil {
		return nil
	}
	return sp.ways(p)
}

// ways are the proven ways to break a place that was found.
func (sp *spot) ways(p Place) []Broken {
	m := sp.m
	var pure, mixed []Broken
	for _, c := range sp.candidates(p) {
		if same(c.value, sp.base) {
			continue
		}
		b, ok := m.prove(c, p)
		switch {
		case !ok:
		case len(b.Also) == 0:
			pure = append(pure, b)
		default:
			mixed = append(mixed, b)
		}
	}
	if pure != nil {
		return pure
	}
	return mixed
}

// candidate is a value that should be broken, and where.
type candidate struct {
	value any
	at    tree.Pointer
}

// prove lets the validator decide. Every violation must be at the place, or only say that an
// alternative around it no longer fits, or follow from the place.
func (m maker) prove(c candidate, p Place) (Broken, bool) {
	vs := m.validate(c.value)
	b := Broken{Value: c.value, Pointer: c.at, Member: p.Member}
	if isSide(p.Keyword) {
		return b, b.bySide(vs, p.Keyword)
	}
	choice := locationOf(vs, p, c.at)
	for _, v := range vs {
		switch {
		case choice != "" && strings.HasPrefix(v.Location, choice+"/"): // what each alternative says
		case follows(v, p, c.at):
		case v.Instance == c.at && meant(p, v):
			b.Keyword = v.Keyword
		case v.Instance == c.at:
			b.Also = append(b.Also, v.Keyword)
		case !around(vs, v, c.at):
			return Broken{}, false
		}
	}
	if b.Keyword == "" && !b.byChoice(vs, c.at) {
		return Broken{}, false
	}
	slices.Sort(b.Also)
	b.Also = slices.Compact(b.Also)
	b.Raw = Encode(c.value)
	return b, true
}

// byChoice names the failed alternative instead of the keyword, where the validator says no more
// than that: a changed discriminator fits no branch.
func (b *Broken) byChoice(vs []schema.Violation, at tree.Pointer) bool {
	for _, v := range vs {
		if isChoice(v) && at.Within(v.Instance) {
			b.Keyword, b.Pointer = v.Keyword, v.Instance
			b.Also = slices.DeleteFunc(b.Also, func(k string) bool { return k == v.Keyword })
			return true
		}
	}
	return false
}

// follows: once a branch of allOf fails, its members count as unevaluated (JSON Schema 2020-12
// §11.3), so that a broken member is reported as an unknown one too.
func follows(v schema.Violation, p Place, at tree.Pointer) bool {
	return v.Keyword == "unevaluatedProperties" && p.Keyword != "additionalProperties" && at.Within(parentOf(v.Instance))
}

// meant takes the names under which one rule is reported for the same.
func meant(p Place, v schema.Violation) bool {
	switch p.Keyword {
	case "additionalProperties":
		return v.Keyword == p.Keyword || v.Keyword == "unevaluatedProperties" || v.Keyword == "false"
	case "const", "enum":
		return v.Keyword == "const" || v.Keyword == "enum"
	case "required", "dependentRequired":
		return v.Keyword == p.Keyword && strings.Contains(v.Message, strconv.Quote(p.Member))
	default:
		return v.Keyword == p.Keyword
	}
}

// around reports whether a violation elsewhere only says that a failed alternative, in which the
// place lies, has other branches.
func around(vs []schema.Violation, v schema.Violation, at tree.Pointer) bool {
	return slices.ContainsFunc(vs, func(a schema.Violation) bool {
		return isChoice(a) && at.Within(a.Instance) && v.Instance.Within(a.Instance)
	})
}

func isChoice(v schema.Violation) bool { return v.Keyword == "anyOf" || v.Keyword == "oneOf" }
