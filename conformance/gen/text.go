package gen

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// Key generates idempotency keys: visible ASCII, from one character to maxLen, both ends likely.
// Blanks are left out: a header field loses them at its ends.
func Key(maxLen int) *rapid.Generator[string] {
	short := rapid.StringMatching(`[a-zA-Z0-9_-]{1,12}`)
	if maxLen < 12 {
		short = rapid.StringMatching(fmt.Sprintf(`[a-zA-Z0-9_-]{1,%d}`, max(1, maxLen)))
	}
	odd := rapid.StringMatching(fmt.Sprintf(`[!-~]{1,%d}`, max(1, min(maxLen, 40))))
	full := rapid.Map(rapid.StringMatching(`[!-~]`), func(c string) string { return strings.Repeat(c, max(1, maxLen)) })
	return rapid.OneOf(short, odd, full)
}

func (sh *shape) text(t *rapid.T) any { return sh.texts().Draw(t, "text") }

// texts generates strings by pattern, else format, else length alone.
func (sh *shape) texts() *rapid.Generator[string] {
	if len(sh.patterns) > 0 {
		return sh.byPattern()
	}
	low := max(0, sh.minLen)
	if g := byFormat(sh.format); g != nil {
		return g.Filter(func(s string) bool { return sh.fitsString(s) })
	}
	high := low + 24
	if sh.maxLen >= 0 {
		high = sh.maxLen
	}
	if high < low {
		return rapid.Just("").Filter(func(string) bool { return false })
	}
	common := rapid.StringOfN(rapid.RuneFrom([]rune("abcxyzABC019 _-.:/")), low, min(high, low+24), -1)
	if low > 1000 {
		return rapid.Just(strings.Repeat("a", low))
	}
	// Two-unit, combining and right-to-left characters: lengths are counted in code points.
	wide := rapid.StringOfN(rapid.RuneFrom([]rune("aé日\U0001F600e\u0301\u05D0\"\\'<&")), low, min(high, low+8), -1)
	edges := []string{strings.Repeat("a", low)}
	if high <= 5000 {
		edges = append(edges, strings.Repeat("b", high))
	}
	return rapid.OneOf(common, common, wide, rapid.SampledFrom(edges))
}

// byPattern draws by one pattern and filters by the rest. A length that the pattern alone hardly
// meets is worked into its first unbounded repetition.
func (sh *shape) byPattern() *rapid.Generator[string] {
	options := []*rapid.Generator[string]{matching(sh.patterns[0])}
	if stretched, ok := stretch(sh.patterns[0], max(0, sh.minLen), sh.maxLen); ok {
		options = append(options, matching(stretched))
	}
	return rapid.OneOf(options...).Filter(func(s string) bool { return sh.fitsString(s) && !strings.ContainsRune(s, utf8.RuneError) })
}

// matching generates by a pattern if Go knows it; ECMA's look-around is beyond it.
func matching(pattern string) *rapid.Generator[string] {
	if _, err := regexp.Compile(pattern); err != nil {
		return rapid.Just("").Filter(func(string) bool { return false })
	}
	return rapid.StringMatching(printable(pattern))
}

// printable narrows "any character" to what a person could read: a dot would draw control characters.
func printable(pattern string) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return pattern
	}
	readable, err := syntax.Parse(`[ -~]`, syntax.Perl)
	if err != nil {
		return pattern
	}
	rewrite(re, func(r *syntax.Regexp) bool {
		if r.Op == syntax.OpAnyChar || r.Op == syntax.OpAnyCharNotNL {
			*r = *readable
		}
		if r.Op == syntax.OpCharClass && len(r.Rune) > 2 && r.Rune[0] == 0 { // a negated class
			r.Rune = clipped(r.Rune)
		}
		return false
	})
	return re.String()
}

// clipped keeps the printable ASCII part of a class, or all of it if there is none.
func clipped(ranges []rune) []rune {
	var out []rune
	for i := 0; i+1 < len(ranges); i += 2 {
		if lo, hi := max(ranges[i], ' '), min(ranges[i+1], '~'); lo <= hi {
			out = append(out, lo, hi)
		}
	}
	if out == nil {
		return ranges
	}
	return out
}

func rewrite(re *syntax.Regexp, f func(*syntax.Regexp) (stop bool)) bool {
	if f(re) {
		return true
	}
	for _, sub := range re.Sub {
		if rewrite(sub, f) {
			return true
		}
	}
	return false
}

// stretch sets the first unbounded repetition of a pattern to the length range.
func stretch(pattern string, low, high int) (string, bool) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil || low == 0 && high < 0 {
		return "", false
	}
	if high < 0 {
		high = low + 16
	}
	low, high = min(low, 1000), min(high, 1000) // RE2's limit of a repetition
	done := rewrite(re, func(r *syntax.Regexp) bool {
		open := r.Op == syntax.OpStar || r.Op == syntax.OpPlus || r.Op == syntax.OpRepeat && r.Max < 0
		if !open {
			return false
		}
		floor := 0
		switch r.Op {
		case syntax.OpPlus:
			floor = 1
		case syntax.OpRepeat:
			floor = r.Min
		}
		r.Op, r.Min, r.Max = syntax.OpRepeat, max(low, floor), max(high, low, floor)
		return true
	})
	return re.String(), done
}
