package gen

import (
	"slices"

	"pgregory.net/rapid"

	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// value draws a value of the conjunction of schemas. It is narrow, not exact: callers filter.
func (m maker) value(t *rapid.T, src []source, at tree.Pointer, depth int) any {
	if v, ok := m.fixed(src, at); ok {
		return rapid.Just(v).Draw(t, "fixed")
	}
	sh := m.choose(t, src, depth)
	for range maxTries {
		if v := m.drawn(t, sh, at, depth); !sh.excludes(v) {
			return v
		}
	}
	t.Skip("nothing was found that is not what it must not be")
	return nil
}

// maxTries is how often a value is drawn again that a rule forbids which drawing does not know.
const maxTries = 12

// excludes reports whether a value fits a schema under not.
func (sh *shape) excludes(v any) bool {
	return slices.ContainsFunc(sh.nots, func(n source) bool { return fits([]source{n}, v, 0) })
}

// drawn draws a value of a shape whose alternatives are settled, but for what not forbids.
func (m maker) drawn(t *rapid.T, sh *shape, at tree.Pointer, depth int) any {
	if sh.enum != nil {
		fitting := slices.DeleteFunc(slices.Clone(sh.enum), func(v any) bool { return sh.kinds&kindOf(v) == 0 || sh.excludes(v) })
		if len(fitting) == 0 {
			t.Skip("no value of the enum has the type")
		}
		return rapid.SampledFrom(fitting).Draw(t, "enum")
	}
	switch kind := m.kind(t, sh, depth); kind {
	case kNull:
		return rapid.Just[any](nil).Draw(t, "null")
	case kBool:
		return rapid.Bool().Draw(t, "bool")
	case kInt, kFraction:
		return sh.number(t, kind == kFraction)
	case kString:
		return sh.text(t)
	case kArray:
		return m.array(t, sh, at, depth)
	default:
		return m.object(t, sh, at, depth)
	}
}

// fixed is a value that exists at the target, if there is one for this place and it fits.
func (m maker) fixed(src []source, at tree.Pointer) (any, bool) {
	v, ok := m.o.At[at]
	if !ok {
		_, name := at.Parent()
		v, ok = m.o.Values[name]
	}
	return v, ok && fits(src, v, 0)
}

// choose merges schemas and draws a branch of every alternative and a side of every condition.
func (m maker) choose(t *rapid.T, src []source, depth int) *shape {
	for range maxNesting {
		sh := merge(src)
		var more []source
		for _, group := range sh.choices {
			more = append(more, m.branch(t, sh, group.branches, depth))
		}
		for _, c := range sh.conditions {
			if m.applies(t, sh, c, depth) {
				more = append(more, c.when, c.then)
			} else {
				more = append(more, negated(c.when), c.otherwise)
			}
		}
		if len(more) == 0 {
			return sh
		}
		src = append(bare(src), more...)
	}
	t.Skip("alternatives without end")
	return nil
}

// applies draws a side of a condition. What only an optional member brings along stays away with it
// where no optional members are wanted.
func (m maker) applies(t *rapid.T, sh *shape, c condition, depth int) bool {
	switch {
	case c.member != "" && sh.requires(c.member):
		return true
	case c.member != "" && (m.o.RequiredOnly || depth >= m.o.depth() || !sh.allows(c.member)):
		return false
	default:
		return rapid.Bool().Draw(t, "if")
	}
}

// branch draws one that the rest of the schema leaves possible; deep down, the flattest.
func (m maker) branch(t *rapid.T, sh *shape, group []source, depth int) source {
	possible := slices.DeleteFunc(slices.Clone(group), func(b source) bool { return sh.kinds&merge([]source{b}).kinds == 0 })
	if len(possible) == 0 {
		t.Skip("no alternative has the type")
	}
	if depth >= m.o.depth() {
		slices.SortStableFunc(possible, func(a, b source) int { return height(a, 0) - height(b, 0) })
		possible = possible[:1]
	}
	return rapid.SampledFrom(possible).Draw(t, "branch")
}

// height is the least nesting that a schema asks for.
func height(s source, depth int) int {
	if depth > 8 {
		return depth
	}
	sh := merge([]source{s})
	least := 0
	if sh.kinds&^(kObject|kArray) == 0 {
		for _, name := range sh.required {
			for _, sub := range sh.member(name) {
				least = max(least, 1+height(sub, depth+1))
			}
		}
		if sh.minItems > 0 {
			for _, sub := range sh.item(0) {
				least = max(least, 1+height(sub, depth+1))
			}
		}
	}
	for _, group := range sh.choices {
		low := maxNesting
		for _, b := range group.branches {
			low = min(low, height(b, depth+1))
		}
		least = max(least, low)
	}
	return least
}

// kind draws a type; a schema that names none means the one that its keywords are about.
func (m maker) kind(t *rapid.T, sh *shape, depth int) kinds {
	allowed := sh.kinds
	if allowed == kAny {
		allowed = sh.hinted()
	}
	if allowed&kFraction != 0 && allowed&kInt != 0 {
		allowed &^= kInt // a fraction generator draws integers too
	}
	var options []kinds
	for k := kObject; k >= kNull; k >>= 1 { // containers first: null is the least telling
		if allowed&k != 0 {
			options = append(options, k)
		}
	}
	switch {
	case len(options) == 0:
		t.Skip("nothing fits")
	case depth >= m.o.depth() && len(options) > 1:
		options = options[len(options)-1:]
	}
	return rapid.SampledFrom(options).Draw(t, "type")
}

func (sh *shape) hinted() kinds {
	var k kinds
	if len(sh.props)+len(sh.required)+len(sh.patternProps)+len(sh.extra) > 0 || sh.isClosed() || sh.minProps > 0 {
		k |= kObject
	}
	if len(sh.items) > 0 || sh.minItems > 0 || len(sh.contains) > 0 {
		k |= kArray
	}
	if sh.minLen > 0 || sh.maxLen >= 0 || len(sh.patterns) > 0 || sh.format != "" {
		k |= kString
	}
	if sh.lo != nil || sh.hi != nil || len(sh.multiples) > 0 {
		k |= kFraction | kInt
	}
	if k == 0 {
		return kString | kInt | kBool
	}
	return k
}

func (m maker) array(t *rapid.T, sh *shape, at tree.Pointer, depth int) any {
	slots := m.slots(t, sh)
	low := max(0, sh.minItems, len(slots))
	high := low + 3
	if depth >= m.o.depth() {
		high = low
	}
	if longest := sh.longest(); longest >= 0 {
		high = min(high, longest)
	}
	if high < low || low > 10_000 {
		t.Skip("no length fits")
	}
	n := rapid.IntRange(low, high).Draw(t, "items")
	out := make([]any, 0, n)
	for i := range n {
		sub := append(slices.Clone(sh.item(i)), slots.at(sh, i)...)
		for try := 0; ; try++ {
			v := m.value(t, sub, at.Index(i), depth+1)
			if !sh.unique || distinct(append(slices.Clone(out), v)) {
				out = append(out, v)
				break
			}
			if try == 10 {
				if len(out) >= low {
					return out
				}
				t.Skip("not enough different items")
			}
		}
	}
	return out
}

// slots says of the first items of an array which kinds they must be of, one set of containments an
// item; what comes after them is of no kind that has all its items.
type slots [][]int

// slots draws how many items there are of each kind. Kinds share items where there is room for no more.
func (m maker) slots(t *rapid.T, sh *shape) slots {
	var out slots
	longest := sh.longest()
	for k, c := range sh.contains {
		n := c.min
		if c.max > n && c.max < 10_000 {
			n = rapid.IntRange(c.min, min(c.max, c.min+2)).Draw(t, "contained")
		}
		if n > 10_000 {
			t.Skip("too many items")
		}
		for i := range n {
			if longest >= 0 && len(out) >= longest {
				out[i%max(1, len(out))] = append(out[i%max(1, len(out))], k)
				continue
			}
			out = append(out, []int{k})
		}
	}
	return out
}

// at lists what the item at an index must be and must not be beside what the array says of it.
func (s slots) at(sh *shape, i int) []source {
	var out []source
	for k, c := range sh.contains {
		switch mine := i < len(s) && slices.Contains(s[i], k); {
		case mine:
			out = append(out, c.kind)
		case c.max >= 0:
			out = append(out, negated(c.kind))
		}
	}
	return out
}

func (m maker) object(t *rapid.T, sh *shape, at tree.Pointer, depth int) any {
	names := m.members(t, sh, at, depth)
	out := map[string]any{}
	var tools []string
	for _, name := range names {
		sub := sh.member(name)
		if m.hasTool(sub) {
			tools = append(tools, name) // needs its sibling's value
			continue
		}
		out[name] = m.value(t, sub, at.Append(name), depth+1)
	}
	for _, name := range tools {
		sub := m.withTool(sh.member(name), out)
		out[name] = m.value(t, sub, at.Append(name), depth+1)
	}
	return out
}

func (m maker) hasTool(src []source) bool {
	return m.o.ToolInput != nil && slices.ContainsFunc(flat(src), func(s source) bool {
		return spec.PropertyTraitsOf(s.raw).ToolInput != ""
	})
}

// members draws the names of an object's members: the required, some optional, what they need.
func (m maker) members(t *rapid.T, sh *shape, at tree.Pointer, depth int) []string {
	have := map[string]bool{}
	for _, name := range sh.required {
		have[name] = true
	}
	for _, name := range sortedKeys(sh.props) {
		if have[name] || !sh.allows(name) || merge(sh.props[name]).kinds == 0 {
			continue
		}
		_, wanted := m.fixed(sh.member(name), at.Append(name))
		switch {
		case m.o.DropReadOnly && merge(sh.props[name]).readOnly:
		case wanted:
			have[name] = true
		case m.o.RequiredOnly || depth >= m.o.depth():
		case rapid.Bool().Draw(t, "with "+name):
			have[name] = true
		}
	}
	m.need(sh, have)
	for _, name := range m.freeNames(t, sh, have, depth) {
		have[name] = true
	}
	if sh.maxProps >= 0 {
		for _, name := range sortedKeys(have) {
			if len(have) > sh.maxProps && !sh.requires(name) {
				delete(have, name)
			}
		}
	}
	for _, name := range sortedKeys(sh.props) { // what is known before what is made up
		if len(have) < sh.minProps && sh.allows(name) {
			have[name] = true
		}
	}
	m.need(sh, have)
	return sortedKeys(have)
}

// need closes a set of names under dependentRequired.
func (m maker) need(sh *shape, have map[string]bool) {
	for range len(sh.dependent) + 1 {
		for name, needs := range sh.dependent {
			for _, n := range needs {
				have[n] = have[n] || have[name]
				if !have[n] {
					delete(have, n)
				}
			}
		}
	}
}

// freeNames draws names of members that only a pattern or a map's value schema describes.
func (m maker) freeNames(t *rapid.T, sh *shape, have map[string]bool, depth int) []string {
	var pool *rapid.Generator[string]
	switch {
	case len(sh.patternProps) > 0:
		pool = matching(sh.patternProps[0].pattern)
	case len(sh.names) > 0 && len(sh.extra) > 0:
		pool = merge(sh.names).texts()
	case len(sh.extra) > 0:
		pool = rapid.StringMatching(`[a-z]{1,8}`)
	default:
		return nil
	}
	low := 0
	if len(have) < sh.minProps {
		low = sh.minProps - len(have)
	}
	high := low + 2
	if m.o.RequiredOnly || depth >= m.o.depth() {
		high = low
	}
	if sh.maxProps >= 0 {
		high = max(low, min(high, sh.maxProps-len(have)))
	}
	var out []string
	for range rapid.IntRange(low, high).Draw(t, "extra members") {
		name := pool.Draw(t, "name")
		if sh.allows(name) && !have[name] {
			out = append(out, name)
		}
	}
	return out
}
