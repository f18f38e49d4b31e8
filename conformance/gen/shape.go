package gen

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"

	"assay.kit/spec"
	"assay.kit/spec/schema"
)

// maxNesting bounds every walk; a cyclic reference ends here.
const maxNesting = 40

// source is a raw schema and the document that its references lead into.
type source struct {
	s   *schema.Schema
	raw any
}

func (s source) with(raw any) source { return source{s.s, raw} }

// kinds is a set of JSON types, in which integers and other numbers are told apart.
type kinds uint8

const (
	kNull kinds = 1 << iota
	kBool
	kInt
	kFraction
	kString
	kArray
	kObject
	kAny = kNull | kBool | kInt | kFraction | kString | kArray | kObject
)

// shape is the conjunction of schemas, each keyword intersected.
type shape struct {
	kinds    kinds
	enum     []any // allowed values, with const; nil: any
	constant bool  // enum came from const

	lo, hi    *bound
	multiples []*big.Rat

	minLen, maxLen int // -1: none
	patterns       []string
	format         string

	prefixes, items    [][]source // one list a source: conjunction
	minItems, maxItems int
	unique             bool
	contains           []containment
	closedItems        int  // items: false after so many; -1: not
	sealedItems        bool // unevaluatedItems: false

	props              map[string][]source
	patternProps       []patternProp
	required           []string
	closed             []closure // one a source with additionalProperties: false
	extra              []source  // additionalProperties and unevaluatedProperties with a schema
	sealed             bool      // unevaluatedProperties: false
	names              []source
	minProps, maxProps int
	dependent          map[string][]string
	forbidden          []string // members whose schema is false
	banned             []string // members that not forbids to be there

	choices    []choice
	nots       []source
	conditions []condition
	traits     spec.PropertyTraits
	readOnly   bool
}

type bound struct {
	at   *big.Rat
	open bool // the bound itself is excluded
}

type patternProp struct {
	re      *regexp.Regexp
	pattern string
	src     source
}

type closure struct {
	names    map[string]bool
	patterns []*regexp.Regexp
}

// containment asks for items of a kind.
type containment struct {
	kind     source
	min, max int    // max -1: any number
	keyword  string // that asks for the least: contains or minContains
}

// choice is an anyOf or a oneOf.
type choice struct {
	keyword  string
	branches []source
}

// condition is if with then and else, or a dependentSchemas of one member.
type condition struct {
	when, then, otherwise source
	member                string // of dependentSchemas: what brings it along
}

// negated is the schema of what another one refuses.
func negated(s source) source { return s.with(map[string]any{"not": s.raw}) }

// flat lists schemas with everything that references and allOf add to them.
func flat(src []source) []source {
	var out []source
	var visit func(s source, depth int)
	visit = func(s source, depth int) {
		out = append(out, s)
		m, ok := s.raw.(map[string]any)
		if !ok || depth > maxNesting || len(out) > 1000 {
			return
		}
		if next, ok := s.s.Deref(m); ok {
			visit(s.with(next), depth+1)
		}
		for _, all := range list(m["allOf"]) {
			visit(s.with(all), depth+1)
		}
	}
	for _, s := range src {
		visit(s, 0)
	}
	return out
}

// merge intersects schemas; alternatives and conditions stay open.
func merge(src []source) *shape {
	sh := &shape{kinds: kAny, minLen: -1, maxLen: -1, minItems: -1, maxItems: -1, minProps: -1, maxProps: -1,
		closedItems: -1, props: map[string][]source{}, dependent: map[string][]string{}}
	for _, s := range flat(src) {
		switch raw := s.raw.(type) {
		case bool:
			if !raw {
				sh.kinds = 0
			}
		case map[string]any:
			sh.scalars(raw)
			sh.arrays(s, raw)
			sh.objects(s, raw)
			sh.alternatives(s, raw)
			sh.noteTraits(raw)
		}
	}
	slices.Sort(sh.required)
	sh.required = slices.Compact(sh.required)
	return sh
}

func (sh *shape) noteTraits(raw map[string]any) {
	sh.readOnly = sh.readOnly || raw["readOnly"] == true
	t := spec.PropertyTraitsOf(raw)
	if t.Ref != nil {
		sh.traits.Ref = t.Ref
	}
	sh.traits.Opaque = sh.traits.Opaque || t.Opaque
}

func (sh *shape) scalars(m map[string]any) {
	if t, ok := m["type"]; ok {
		sh.kinds &= kindsOf(t)
	}
	if e, ok := m["enum"].([]any); ok {
		sh.restrict(e)
	}
	if c, ok := m["const"]; ok {
		sh.restrict([]any{c})
		sh.constant = true
	}
	sh.minLen, sh.maxLen = atLeast(sh.minLen, m["minLength"]), atMost(sh.maxLen, m["maxLength"])
	if p, ok := m["pattern"].(string); ok {
		sh.patterns = append(sh.patterns, p)
	}
	if f, ok := m["format"].(string); ok {
		sh.format = f
	}
	if sh.format == "int32" {
		sh.raise(integer(-1<<31), false)
		sh.lower(integer(1<<31-1), false)
	}
	sh.raise(m["minimum"], false)
	sh.raise(m["exclusiveMinimum"], true)
	sh.lower(m["maximum"], false)
	sh.lower(m["exclusiveMaximum"], true)
	if r, ok := rational(m["multipleOf"]); ok && r.Sign() > 0 {
		sh.multiples = append(sh.multiples, r)
	}
}

func (sh *shape) restrict(values []any) {
	if sh.enum == nil {
		sh.enum = slices.Clone(values)
		return
	}
	sh.enum = slices.DeleteFunc(sh.enum, func(v any) bool {
		return !slices.ContainsFunc(values, func(w any) bool { return same(v, w) })
	})
}

func (sh *shape) raise(v any, open bool) {
	if r, ok := rational(v); ok {
		if sh.lo == nil || r.Cmp(sh.lo.at) > 0 || r.Cmp(sh.lo.at) == 0 && open {
			sh.lo = &bound{r, open}
		}
	}
}

func (sh *shape) lower(v any, open bool) {
	if r, ok := rational(v); ok {
		if sh.hi == nil || r.Cmp(sh.hi.at) < 0 || r.Cmp(sh.hi.at) == 0 && open {
			sh.hi = &bound{r, open}
		}
	}
}

func (sh *shape) arrays(s source, m map[string]any) {
	sh.minItems, sh.maxItems = atLeast(sh.minItems, m["minItems"]), atMost(sh.maxItems, m["maxItems"])
	sh.unique = sh.unique || m["uniqueItems"] == true
	var head, tail []source
	for _, p := range list(m["prefixItems"]) {
		head = append(head, s.with(p))
	}
	if items, ok := m["items"]; ok {
		tail = []source{s.with(items)}
		if items == false {
			sh.closedItems = least(sh.closedItems, len(head))
		}
	}
	sh.sealedItems = sh.sealedItems || m["unevaluatedItems"] == false
	if head != nil || tail != nil {
		sh.prefixes, sh.items = append(sh.prefixes, head), append(sh.items, tail)
	}
	if c, ok := m["contains"]; ok {
		one := containment{kind: s.with(c), min: 1, max: atMost(-1, m["maxContains"]), keyword: "contains"}
		if n, ok := count(m["minContains"]); ok {
			one.min, one.keyword = n, "minContains"
		}
		sh.contains = append(sh.contains, one)
	}
}

func (sh *shape) objects(s source, m map[string]any) {
	for _, r := range list(m["required"]) {
		if name, ok := r.(string); ok {
			sh.required = append(sh.required, name)
		}
	}
	sh.minProps, sh.maxProps = atLeast(sh.minProps, m["minProperties"]), atMost(sh.maxProps, m["maxProperties"])
	own := closure{names: map[string]bool{}}
	properties, _ := m["properties"].(map[string]any)
	for name, p := range properties {
		sh.props[name] = append(sh.props[name], s.with(p))
		own.names[name] = true
		if p == false {
			sh.forbidden = append(sh.forbidden, name)
		}
	}
	patterns, _ := m["patternProperties"].(map[string]any)
	for _, pattern := range sortedKeys(patterns) {
		if re, err := regexp.Compile(pattern); err == nil {
			sh.patternProps = append(sh.patternProps, patternProp{re, pattern, s.with(patterns[pattern])})
			own.patterns = append(own.patterns, re)
		}
	}
	switch a := m["additionalProperties"].(type) {
	case bool:
		if !a {
			sh.closed = append(sh.closed, own)
		}
	case map[string]any:
		sh.extra = append(sh.extra, s.with(a))
	}
	switch u := m["unevaluatedProperties"].(type) {
	case bool:
		sh.sealed = sh.sealed || !u
	case map[string]any:
		sh.extra = append(sh.extra, s.with(u))
	}
	if n, ok := m["propertyNames"]; ok {
		sh.names = append(sh.names, s.with(n))
	}
	dependents, _ := m["dependentRequired"].(map[string]any)
	for name, l := range dependents {
		for _, d := range list(l) {
			if d, ok := d.(string); ok {
				sh.dependent[name] = append(sh.dependent[name], d)
			}
		}
	}
	schemas, _ := m["dependentSchemas"].(map[string]any)
	for _, name := range sortedKeys(schemas) {
		when := map[string]any{"type": "object", "required": []any{name}}
		sh.conditions = append(sh.conditions, condition{when: s.with(when), then: s.with(schemas[name]), otherwise: s.with(true), member: name})
	}
}

func (sh *shape) alternatives(s source, m map[string]any) {
	for _, key := range []string{"anyOf", "oneOf"} {
		var group []source
		for _, b := range list(m[key]) {
			group = append(group, s.with(b))
		}
		if group != nil {
			sh.choices = append(sh.choices, choice{key, group})
		}
	}
	if n, ok := m["not"]; ok {
		sh.nots = append(sh.nots, s.with(n))
		sh.kinds &^= excludedKinds(n)
		if one := onlyRequires(n); len(one) == 1 {
			sh.banned = append(sh.banned, one[0])
		}
	}
	if when, ok := m["if"]; ok {
		c := condition{when: s.with(when), then: s.with(true), otherwise: s.with(true)}
		if then, ok := m["then"]; ok {
			c.then = s.with(then)
		}
		if otherwise, ok := m["else"]; ok {
			c.otherwise = s.with(otherwise)
		}
		sh.conditions = append(sh.conditions, c)
	}
}

// excludedKinds are the types that a schema under not rules out: those of one that says no more.
func excludedKinds(not any) kinds {
	m, ok := not.(map[string]any)
	if t, typed := m["type"]; ok && typed && len(m) == 1 {
		return kindsOf(t)
	}
	if not == true || ok && len(m) == 0 {
		return kAny
	}
	return 0
}

// longest is the greatest length of an array, -1 if it has none.
func (sh *shape) longest() int {
	n := sh.maxItems
	if sh.closedItems >= 0 {
		n = least(n, sh.closedItems)
	}
	open := slices.ContainsFunc(sh.items, func(tail []source) bool { return tail != nil })
	if sh.sealedItems && !open && len(sh.contains) == 0 {
		n = least(n, longestPrefix(sh))
	}
	return n
}

// member lists the schemas of a member by name.
func (sh *shape) member(name string) []source {
	out := slices.Clone(sh.props[name])
	for _, p := range sh.patternProps {
		if p.re.MatchString(name) {
			out = append(out, p.src)
		}
	}
	if out == nil {
		return sh.extra
	}
	return out
}

// item lists the schemas of the item at an index.
func (sh *shape) item(i int) []source {
	var out []source
	for k, head := range sh.prefixes {
		if i < len(head) {
			out = append(out, head[i])
			continue
		}
		out = append(out, sh.items[k]...)
	}
	return out
}

// allows reports whether an object may have a member of this name.
func (sh *shape) allows(name string) bool {
	for _, c := range sh.closed {
		if !c.names[name] && !slices.ContainsFunc(c.patterns, func(re *regexp.Regexp) bool { return re.MatchString(name) }) {
			return false
		}
	}
	if sh.sealed && len(sh.member(name)) == 0 || slices.Contains(sh.banned, name) {
		return false
	}
	return len(sh.names) == 0 || fits(sh.names, name, 0)
}

func (sh *shape) isClosed() bool { return sh.sealed || len(sh.closed) > 0 }

func (sh *shape) requires(name string) bool { return slices.Contains(sh.required, name) }

func kindsOf(t any) kinds {
	switch t := t.(type) {
	case string:
		return map[string]kinds{"null": kNull, "boolean": kBool, "integer": kInt, "number": kInt | kFraction,
			"string": kString, "array": kArray, "object": kObject}[t]
	case []any:
		var all kinds
		for _, one := range t {
			all |= kindsOf(one)
		}
		return all
	default:
		return kAny
	}
}

func kindOf(v any) kinds {
	switch v := v.(type) {
	case nil:
		return kNull
	case bool:
		return kBool
	case json.Number:
		if r, ok := rational(v); ok && r.IsInt() {
			return kInt
		}
		return kFraction
	case string:
		return kString
	case []any:
		return kArray
	default:
		return kObject
	}
}

func atLeast(have int, v any) int {
	if n, ok := count(v); ok {
		return max(have, n)
	}
	return have
}

func atMost(have int, v any) int {
	if n, ok := count(v); ok {
		return least(have, n)
	}
	return have
}

// least is the smaller of two upper bounds, of which the first may be none.
func least(have, n int) int {
	if have < 0 {
		return n
	}
	return min(have, n)
}

// count reads a length; one beyond what fits an int is none.
func count(v any) (int, bool) {
	r, ok := rational(v)
	if !ok || !r.IsInt() || !r.Num().IsInt64() || r.Sign() < 0 || r.Num().Int64() > 1<<31 {
		return 0, false
	}
	return int(r.Num().Int64()), true
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}
