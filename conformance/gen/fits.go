package gen

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"unicode/utf8"
)

// settle merges schemas for a value that is there: of each alternative it takes the one that the
// value fits (else the likeliest), of each condition the side that applies.
func settle(src []source, v any) *shape {
	for range maxNesting {
		sh := merge(src)
		var more []source
		for _, group := range sh.choices {
			more = append(more, likeliest(group.branches, v))
		}
		for _, c := range sh.conditions {
			if fits([]source{c.when}, v, 0) {
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
	return merge(bare(src))
}

// bare lists schemas flat and without their alternatives, which have been settled.
func bare(src []source) []source {
	out := make([]source, 0, len(src))
	for _, s := range flat(src) {
		m, ok := s.raw.(map[string]any)
		if !ok {
			out = append(out, s)
			continue
		}
		plain := make(map[string]any, len(m))
		for k, v := range m {
			switch k {
			case "anyOf", "oneOf", "allOf", "if", "then", "else", "dependentSchemas", "$ref":
			default:
				plain[k] = v
			}
		}
		out = append(out, s.with(plain))
	}
	return out
}

func likeliest(group []source, v any) source {
	for _, b := range group {
		if fits([]source{b}, v, 0) {
			return b
		}
	}
	for _, b := range group {
		if merge([]source{b}).kinds&kindOf(v) != 0 {
			return b
		}
	}
	return group[0]
}

// fits is a small validator for parts of a schema, which the real one does not compile. It knows
// every keyword but format, and unevaluatedProperties and unevaluatedItems of a nested branch.
func fits(src []source, v any, depth int) bool {
	if depth > maxNesting {
		return true
	}
	sh := merge(src)
	if sh.kinds&kindOf(v) == 0 {
		return false
	}
	if sh.enum != nil && !slices.ContainsFunc(sh.enum, func(e any) bool { return same(e, v) }) {
		return false
	}
	ok := true
	switch v := v.(type) {
	case json.Number:
		ok = sh.fitsNumber(v)
	case string:
		ok = sh.fitsString(v)
	case []any:
		ok = sh.fitsArray(v, depth)
	case map[string]any:
		ok = sh.fitsObject(v, depth)
	}
	if !ok {
		return false
	}
	for _, group := range sh.choices {
		n := 0
		for _, b := range group.branches {
			if fits([]source{b}, v, depth+1) {
				n++
			}
		}
		if n == 0 || n > 1 && group.keyword == "oneOf" && !slices.ContainsFunc(group.branches, hasFormat) {
			return false
		}
	}
	if slices.ContainsFunc(sh.nots, func(not source) bool { return fits([]source{not}, v, depth+1) }) {
		return false
	}
	for _, c := range sh.conditions {
		side := c.otherwise
		if fits([]source{c.when}, v, depth+1) {
			side = c.then
		}
		if !fits([]source{side}, v, depth+1) {
			return false
		}
	}
	return true
}

// hasFormat reports whether a schema says more than fits knows.
func hasFormat(s source) bool {
	return slices.ContainsFunc(flat([]source{s}), func(f source) bool { return says(f.raw, "format", 0) })
}

// says reports whether a raw schema has a keyword anywhere.
func says(raw any, keyword string, depth int) bool {
	switch x := raw.(type) {
	case map[string]any:
		for k, v := range x {
			if k == keyword || depth < maxNesting && says(v, keyword, depth+1) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(x, func(v any) bool { return depth < maxNesting && says(v, keyword, depth+1) })
	}
	return false
}

func (sh *shape) fitsNumber(v json.Number) bool {
	r, ok := rational(v)
	if !ok {
		return false
	}
	if sh.lo != nil && (r.Cmp(sh.lo.at) < 0 || sh.lo.open && r.Cmp(sh.lo.at) == 0) {
		return false
	}
	if sh.hi != nil && (r.Cmp(sh.hi.at) > 0 || sh.hi.open && r.Cmp(sh.hi.at) == 0) {
		return false
	}
	return !slices.ContainsFunc(sh.multiples, func(m *big.Rat) bool { return !new(big.Rat).Quo(r, m).IsInt() })
}

func (sh *shape) fitsString(v string) bool {
	n := utf8.RuneCountInString(v)
	if n < sh.minLen || sh.maxLen >= 0 && n > sh.maxLen {
		return false
	}
	for _, p := range sh.patterns {
		if re, err := regexp.Compile(p); err == nil && !re.MatchString(v) {
			return false
		}
	}
	return true
}

func (sh *shape) fitsArray(v []any, depth int) bool {
	if len(v) < sh.minItems || sh.maxItems >= 0 && len(v) > sh.maxItems ||
		sh.closedItems >= 0 && len(v) > sh.closedItems || sh.unique && !distinct(v) {
		return false
	}
	for i, item := range v {
		if sub := sh.item(i); len(sub) > 0 && !fits(sub, item, depth+1) {
			return false
		}
	}
	for _, c := range sh.contains {
		n := 0
		for _, item := range v {
			if fits([]source{c.kind}, item, depth+1) {
				n++
			}
		}
		if n < c.min || c.max >= 0 && n > c.max {
			return false
		}
	}
	return true
}

func (sh *shape) fitsObject(v map[string]any, depth int) bool {
	if len(v) < sh.minProps || sh.maxProps >= 0 && len(v) > sh.maxProps {
		return false
	}
	for _, name := range sh.required {
		if _, ok := v[name]; !ok {
			return false
		}
	}
	for name, needs := range sh.dependent {
		if _, ok := v[name]; !ok {
			continue
		}
		for _, n := range needs {
			if _, ok := v[n]; !ok {
				return false
			}
		}
	}
	for name, member := range v {
		// sealed depends on branches that are not settled here
		open := *sh
		open.sealed = false
		if !open.allows(name) {
			return false
		}
		if sub := sh.member(name); len(sub) > 0 && !fits(sub, member, depth+1) {
			return false
		}
	}
	return true
}

func distinct(items []any) bool {
	for i, a := range items {
		for _, b := range items[:i] {
			if same(a, b) {
				return false
			}
		}
	}
	return true
}
