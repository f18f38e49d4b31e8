package gen

import (
	"fmt"
	"slices"
	"strings"

	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// Place is one keyword at one place of a value that can be broken there.
type Place struct {
	Keyword string       // type, enum, const, required, …; additionalProperties also for unevaluatedProperties
	Pointer tree.Pointer // of the value that the keyword constrains; for a missing member, of its object
	Member  string       // of required, dependentRequired: the member that is left out

	spot *spot // where Keywords found it; saves BreakAt the search
}

func (p Place) String() string {
	if p.Member == "" {
		return fmt.Sprintf("%s at %q", p.Keyword, p.Pointer)
	}
	return fmt.Sprintf("%s %s at %q", p.Keyword, p.Member, p.Pointer)
}

// is compares what a place says, not where it came from.
func (p Place) is(q Place) bool {
	return p.Keyword == q.Keyword && p.Pointer == q.Pointer && p.Member == q.Member
}

// spot is a place together with a valid value in which it exists: the base, or the base with the
// optional member or the other alternative that leads there.
type spot struct {
	m    maker
	from any // the base that the search began with
	base any
	at   tree.Pointer
	src  []source // of the place, its alternatives open
	sh   *shape
}

// maxPlaces bounds a search; a schema of a thousand keywords is checked for its first thousand.
const maxPlaces = 1000

// Keywords enumerates the places at which a valid base can be broken, in order of the value. Optional
// members that the base lacks, empty arrays and alternatives that it does not take are included: the
// broken value then has them. A base that is not valid gives none.
func Keywords(s *schema.Schema, base any, o Options) []Place {
	m := maker{s: s, o: o}
	if len(m.validate(base)) > 0 {
		return nil
	}
	f := &finder{m: m, from: base, seen: map[Place]bool{}}
	f.walk(base, m.root(), "", 0)
	return f.places
}

type finder struct {
	m      maker
	from   any
	places []Place
	seen   map[Place]bool // with spot nil
}

func (f *finder) add(keyword, member string, at tree.Pointer, base any, sh *shape) {
	p := Place{Keyword: keyword, Pointer: at, Member: member}
	if f.seen[p] || len(f.places) >= maxPlaces {
		return
	}
	f.seen[p] = true
	p.spot = &spot{m: f.m, from: f.from, base: base, at: at, sh: sh}
	f.places = append(f.places, p)
}

// walk looks at the value at a pointer of base, which is valid as a whole.
func (f *finder) walk(base any, src []source, at tree.Pointer, depth int) {
	v, ok := tree.Get(base, at)
	if !ok || depth > f.m.o.depth()+2 || len(f.places) >= maxPlaces {
		return
	}
	sh := settle(src, v)
	f.keywords(base, sh, v, at)
	f.rules(base, src, sh, v, at)
	switch v := v.(type) {
	case []any:
		f.array(base, sh, v, at, depth)
	case map[string]any:
		f.object(base, sh, v, at, depth)
	}
	f.others(base, src, v, at, depth)
}

// others looks into the types and alternatives that the value does not take.
func (f *finder) others(base any, src []source, v any, at tree.Pointer, depth int) {
	sh := merge(src)
	for _, name := range []string{"string", "array", "object"} {
		k := kindsOf(name)
		if sh.kinds != kAny && sh.kinds&k != 0 && kindOf(v) != k {
			f.instead(base, append(slices.Clone(src), src[0].with(map[string]any{"type": name})), at, depth, 1)
		}
	}
	for _, group := range sh.choices {
		taken := likeliest(group.branches, v)
		for i, b := range group.branches {
			if same(b.raw, taken.raw) {
				continue
			}
			// The branch must not lead back here: a cyclic schema has no end of alternatives.
			f.instead(base, append(bare(src), b), at, depth, i+1)
		}
	}
	for _, c := range sh.conditions {
		if fits([]source{c.when}, v, 0) {
			f.instead(base, append(bare(src), negated(c.when), c.otherwise), at, depth, 1)
		} else {
			f.instead(base, append(bare(src), c.when, c.then), at, depth, 1)
		}
	}
}

// instead walks an example of other schemas in place of the value.
func (f *finder) instead(base any, src []source, at tree.Pointer, depth, seed int) {
	other, ok := f.m.example(src, at, depth, seed)
	if !ok {
		return
	}
	if next := put(base, at, other); len(f.m.validate(next)) == 0 {
		f.walk(next, src, at, depth+1)
	}
}

func (f *finder) keywords(base any, sh *shape, v any, at tree.Pointer) {
	add := func(keyword string) { f.add(keyword, "", at, base, sh) }
	if sh.kinds != kAny {
		add("type")
	}
	switch {
	case sh.enum != nil && sh.constant:
		add("const")
		return
	case sh.enum != nil:
		add("enum")
		return
	}
	switch kindOf(v) {
	case kString:
		if sh.minLen > 0 {
			add("minLength")
		}
		if sh.maxLen >= 0 {
			add("maxLength")
		}
		if len(sh.patterns) > 0 {
			add("pattern")
		}
	case kInt, kFraction:
		f.bounds(sh, add)
	case kArray:
		if sh.minItems > 0 {
			add("minItems")
		}
		if sh.maxItems >= 0 && sh.maxItems == sh.longest() {
			add("maxItems")
		}
		if sh.unique {
			add("uniqueItems")
		}
	}
	if badFormats(sh.format) != nil {
		add("format")
	}
}

func (f *finder) bounds(sh *shape, add func(string)) {
	if sh.lo != nil {
		add(map[bool]string{false: "minimum", true: "exclusiveMinimum"}[sh.lo.open])
	}
	if sh.hi != nil {
		add(map[bool]string{false: "maximum", true: "exclusiveMaximum"}[sh.hi.open])
	}
	if len(sh.multiples) > 0 {
		add("multipleOf")
	}
}

func (f *finder) array(base any, sh *shape, v []any, at tree.Pointer, depth int) {
	if len(v) > 0 {
		n := max(1, min(len(v), longestPrefix(sh)))
		for i := range n {
			f.walk(base, sh.item(i), at.Index(i), depth+1)
		}
		if last := len(v) - 1; last >= n { // a reader may look at the first one only
			f.walk(base, sh.item(last), at.Index(last), depth+1)
		}
		return
	}
	item, ok := f.m.example(sh.item(0), at.Index(0), depth+1, 1)
	if !ok {
		return
	}
	if next := put(base, at, []any{item}); len(f.m.validate(next)) == 0 {
		f.walk(next, sh.item(0), at.Index(0), depth+1)
	}
}

func longestPrefix(sh *shape) int {
	n := 0
	for _, p := range sh.prefixes {
		n = max(n, len(p))
	}
	return n
}

func (f *finder) object(base any, sh *shape, v map[string]any, at tree.Pointer, depth int) {
	for _, name := range sh.required {
		f.add("required", name, at, base, sh)
	}
	if sh.isClosed() {
		f.add("additionalProperties", "", at, base, sh)
	}
	for _, trigger := range sortedKeys(sh.dependent) {
		for _, name := range sh.dependent[trigger] {
			if !sh.requires(name) {
				f.add("dependentRequired", name, at, base, sh)
			}
		}
	}
	if sh.minProps > 0 {
		f.add("minProperties", "", at, base, sh)
	}
	if sh.maxProps >= 0 {
		f.add("maxProperties", "", at, base, sh)
	}
	if len(sh.names) > 0 {
		f.add("propertyNames", "", at, base, sh)
	}
	for _, name := range sortedKeys(v) {
		f.walk(base, f.m.withTool(sh.member(name), v), at.Append(name), depth+1)
	}
	for _, name := range f.absent(sh, v) {
		if next, ok := f.m.including(base, sh, v, at, name, depth); ok {
			f.walk(next, f.m.withTool(sh.member(name), v), at.Append(name), depth+1)
		}
	}
}

// absent lists optional members that could be added: the known ones, and one made-up name of a map
// that is empty.
func (f *finder) absent(sh *shape, v map[string]any) []string {
	var out []string
	for _, name := range sortedKeys(sh.props) {
		if _, there := v[name]; !there && sh.allows(name) {
			out = append(out, name)
		}
	}
	for _, p := range sh.patternProps {
		if name, ok := p.name(v); ok && sh.allows(name) {
			out = append(out, name)
		}
	}
	if len(v) == 0 && len(sh.extra) > 0 && sh.allows("x") {
		out = append(out, "x")
	}
	return out
}

// including adds a member, and those that it needs, to an object that is without it; ok is false if
// the whole is then not valid.
func (m maker) including(base any, sh *shape, v map[string]any, at tree.Pointer, name string, depth int) (any, bool) {
	have := map[string]bool{name: true}
	m.need(sh, have)
	next := base
	for _, n := range sortedKeys(have) {
		if _, there := v[n]; there {
			continue
		}
		if m.o.DropReadOnly && merge(sh.member(n)).readOnly {
			return nil, false
		}
		value, ok := m.example(m.withTool(sh.member(n), v), at.Append(n), depth+1, 1)
		if !ok {
			return nil, false
		}
		next = put(next, at.Append(n), value)
	}
	return next, len(m.validate(next)) == 0
}

// parentOf is the object or array that holds the value at a pointer, by pointer text alone.
func parentOf(p tree.Pointer) tree.Pointer {
	i := strings.LastIndexByte(string(p), '/')
	if i < 0 {
		return ""
	}
	return p[:i]
}
