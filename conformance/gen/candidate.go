package gen

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"assay.kit/spec/tree"
)

// maxGrow bounds what is made too long or too many on purpose.
const maxGrow = 100_000

// candidates lists values that should break a place, the likeliest first.
func (sp *spot) candidates(p Place) []candidate {
	v, _ := tree.Get(sp.base, sp.at)
	if out, mine := sp.against(p, v); mine {
		return out
	}
	switch p.Keyword {
	case "required", "dependentRequired":
		return sp.missing(p, v)
	case "additionalProperties", "propertyNames":
		return sp.unknown(p, v)
	case "minProperties", "maxProperties":
		return sp.resized(p, v)
	}
	var out []candidate
	for _, broken := range sp.replacements(p.Keyword, v) {
		out = append(out, candidate{put(sp.base, sp.at, broken), sp.at})
	}
	return out
}

// replacements lists values for the place itself.
func (sp *spot) replacements(keyword string, v any) []any {
	sh := sp.sh
	switch keyword {
	case "type":
		return otherTypes(sh.kinds, v)
	case "enum", "const":
		return outside(sh.enum)
	case "minimum":
		return sh.past(sh.lo, -1)
	case "maximum":
		return sh.past(sh.hi, 1)
	case "exclusiveMinimum":
		return append([]any{decimal(sh.lo.at)}, sh.past(sh.lo, -1)...)
	case "exclusiveMaximum":
		return append([]any{decimal(sh.hi.at)}, sh.past(sh.hi, 1)...)
	case "multipleOf":
		return sh.between2(v)
	case "minLength", "maxLength":
		s, _ := v.(string)
		return sh.mislength(s, keyword == "minLength")
	case "pattern":
		s, _ := v.(string)
		return mutations(s)
	case "format":
		return badFormats(sh.format)
	default:
		items, _ := v.([]any)
		return sp.badItems(keyword, items)
	}
}

// otherTypes gives values of the types that are not allowed; first the text of a number, the number
// of a text, a list of one and what else a lenient reader coerces.
func otherTypes(allowed kinds, v any) []any {
	var near []any
	switch v := v.(type) {
	case string:
		near = []any{integer(12), []any{v}}
	case json.Number:
		near = []any{v.String(), json.Number("0.5"), []any{v}}
	case bool:
		near = []any{map[bool]string{true: "true", false: "false"}[v], integer(1)}
	case []any:
		near = []any{map[string]any{}, "a"}
		if len(v) > 0 {
			near = append(near, v[0])
		}
	case map[string]any:
		near = []any{[]any{v}, "{}"}
	}
	all := append(near, nil, true, integer(12), json.Number("0.5"), "text", []any{}, map[string]any{})
	return slices.DeleteFunc(all, func(v any) bool { return allowed&kindOf(v) != 0 })
}

// outside gives neighbours of allowed values: other case, a blank more, one number on.
func outside(enum []any) []any {
	var out []any
	for _, e := range enum {
		switch e := e.(type) {
		case string:
			out = append(out, strings.ToUpper(e), strings.ToLower(e), e+" ", e+"_")
		case json.Number:
			if r, ok := rational(e); ok {
				out = append(out, decimal(new(big.Rat).Add(r, big.NewRat(1, 1))))
			}
		case bool:
			out = append(out, !e)
		}
	}
	out = append(out, "assay_unknown", "", nil)
	return slices.DeleteFunc(out, func(v any) bool {
		return slices.ContainsFunc(enum, func(e any) bool { return same(e, v) })
	})
}

// past gives numbers beyond a bound, by one step and by more.
func (sh *shape) past(b *bound, sign int64) []any {
	step := big.NewRat(1, 1)
	if len(sh.multiples) > 0 {
		step = sh.multiples[0]
	}
	var out []any
	for _, n := range []int64{1, 1000} {
		d := new(big.Rat).Mul(step, big.NewRat(sign*n, 1))
		next := new(big.Rat).Add(b.at, d)
		if sh.kinds&kFraction == 0 && !next.IsInt() { // a bound between two integers
			n, _ := floor(next)
			next.SetInt(n)
		}
		out = append(out, decimal(next))
	}
	if sh.kinds&kFraction != 0 && len(sh.multiples) == 0 {
		out = append(out, decimal(new(big.Rat).Add(b.at, big.NewRat(sign, 1000))))
	}
	return out
}

// between2 gives numbers between two multiples.
func (sh *shape) between2(v any) []any {
	r, ok := rational(v)
	if !ok {
		return nil
	}
	var out []any
	for _, m := range sh.multiples {
		half := new(big.Rat).Quo(m, big.NewRat(2, 1))
		one := big.NewRat(1, 1)
		for _, d := range []*big.Rat{one, new(big.Rat).Neg(one), half, new(big.Rat).Neg(half)} {
			out = append(out, decimal(new(big.Rat).Add(r, d)))
		}
	}
	return out
}

// mislength gives texts one too short or one too long, in code points.
func (sh *shape) mislength(s string, short bool) []any {
	runes := []rune(s)
	if short {
		n := sh.minLen - 1
		out := []any{string(runes[:min(n, len(runes))])}
		if n > 0 && n <= maxGrow {
			out = append(out, strings.Repeat("a", n), strings.Repeat("1", n))
		}
		return out
	}
	n := sh.maxLen + 1
	if n > maxGrow {
		return nil
	}
	fill := func(unit string) string {
		long := []rune(s + strings.Repeat(unit, n/max(1, utf8.RuneCountInString(unit))+1))
		return string(long[:n])
	}
	out := []any{fill("a"), fill("1"), strings.Repeat("a", n)}
	if len(runes) > 0 {
		out = append([]any{fill(string(runes[len(runes)-1]))}, append(out, fill(s))...)
	}
	return out
}

// mutations gives texts one change away, for a pattern not to match.
func mutations(s string) []any {
	var out []any
	if s != "" {
		first, size := utf8.DecodeRuneInString(s)
		last, tail := utf8.DecodeLastRuneInString(s)
		for _, r := range []rune{'!', ' ', '~', '0', 'a', 'Z', 'é', '\n'} {
			out = append(out, string(r)+s[size:], s[:len(s)-tail]+string(r))
		}
		out = append(out, string(swapCase(first))+s[size:], s[:len(s)-tail]+string(swapCase(last)), s[size:], s[:len(s)-tail])
	}
	return append(out, s+" ", s+"!", s+"\n", " "+s, strings.ToUpper(s), strings.ToLower(s), "", "!", strings.Repeat("!", utf8.RuneCountInString(s)))
}

func swapCase(r rune) rune {
	if unicode.IsUpper(r) {
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}

func (sp *spot) badItems(keyword string, items []any) []any {
	sh := sp.sh
	switch keyword {
	case "minItems":
		if n := sh.minItems - 1; n <= len(items) {
			return []any{slices.Clone(items[:n])}
		}
	case "maxItems":
		if sh.maxItems < 10_000 {
			if more, ok := sp.grown(items, sh.maxItems+1); ok {
				return []any{more}
			}
		}
	case "uniqueItems":
		if len(items) == 0 {
			items, _ = sp.grown(items, 1)
		}
		if len(items) == 0 {
			return nil
		}
		out := []any{append(slices.Clone(items), items[0])}
		if len(items) > 1 { // where no more fit
			out = append(out, append(slices.Clone(items[:len(items)-1]), items[0]))
		}
		if n, ok := items[0].(json.Number); ok && !strings.ContainsAny(n.String(), ".eE") {
			out = append(out, append(slices.Clone(items), json.Number(n.String()+".0")))
		}
		return out
	}
	return nil
}

// grown fills an array up to n items: with copies if they may repeat, else with further examples.
func (sp *spot) grown(items []any, n int) ([]any, bool) {
	out := slices.Clone(items)
	for seed := 1; len(out) < n; seed++ {
		if !sp.sh.unique && len(items) > longestPrefix(sp.sh) {
			out = append(out, items[len(items)-1])
			continue
		}
		v, ok := sp.m.example(sp.sh.item(len(out)), sp.at.Index(len(out)), 1, seed)
		if !ok || seed > 20*n+20 {
			return out, false
		}
		if !sp.sh.unique || distinct(append(slices.Clone(out), v)) {
			out = append(out, v)
		}
	}
	return out, true
}

// missing leaves a member out; of dependentRequired after its trigger was put in.
func (sp *spot) missing(p Place, v any) []candidate {
	object, _ := v.(map[string]any)
	base := sp.base
	if p.Keyword == "dependentRequired" {
		added := false
		for _, trigger := range sortedKeys(sp.sh.dependent) {
			if _, there := object[trigger]; there || added || !slices.Contains(sp.sh.dependent[trigger], p.Member) {
				continue
			}
			base, added = sp.m.including(sp.base, sp.sh, object, sp.at, trigger, 0)
		}
		if base == nil {
			return nil
		}
	}
	return []candidate{{remove(base, sp.at.Append(p.Member)), sp.at}}
}

// unknown adds a member that the object does not know; a near miss of a known name comes second.
func (sp *spot) unknown(p Place, v any) []candidate {
	object, _ := v.(map[string]any)
	names := []string{"assay_unknown"}
	if p.Keyword == "propertyNames" {
		names = []string{"assay unknown!", "", "!", strings.Repeat("a", 300), "A", "1"}
	}
	for _, known := range sortedKeys(sp.sh.props) {
		if p.Keyword == "additionalProperties" {
			names = append(names, strings.ToUpper(known), known+"_")
		}
	}
	var value any = "assay"
	if p.Keyword == "propertyNames" && len(object) > 0 {
		value = object[sortedKeys(object)[0]] // one that the map's value schema accepts
	}
	var out []candidate
	for _, name := range names {
		if _, there := object[name]; !there && !sp.sh.allows(name) {
			out = append(out, candidate{put(sp.base, sp.at.Append(name), value), sp.at.Append(name)})
		}
	}
	return out
}

// resized takes members away, or adds known and made-up ones.
func (sp *spot) resized(p Place, v any) []candidate {
	object, _ := v.(map[string]any)
	base := sp.base
	if p.Keyword == "minProperties" {
		n := len(object)
		for _, name := range sortedKeys(object) {
			if n >= sp.sh.minProps && !sp.sh.requires(name) {
				base = remove(base, sp.at.Append(name))
				n--
			}
		}
		return []candidate{{base, sp.at}}
	}
	if sp.sh.maxProps > 1000 {
		return nil
	}
	n := len(object)
	names := sortedKeys(sp.sh.props)
	for i := range sp.sh.maxProps + 1 {
		names = append(names, "x"+strings.Repeat("x", i))
	}
	for i, name := range names {
		if _, there := object[name]; there || n > sp.sh.maxProps || !sp.sh.allows(name) {
			continue
		}
		value, ok := sp.m.example(sp.sh.member(name), sp.at.Append(name), 1, i)
		if ok {
			base = put(base, sp.at.Append(name), value)
			n++
		}
	}
	return []candidate{{base, sp.at}}
}
