package diff

import (
	"regexp/syntax"
	"strings"
)

// samples are a few texts that a regular expression matches: with the fewest repetitions, with one more,
// and with the last of each choice. Nil if it is no expression that Go knows.
func samples(pattern string) []string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	re = re.Simplify()
	var out []string
	for _, how := range []sampler{{}, {more: 1}, {last: true}, {more: 1, last: true}} {
		how.write(re, 0)
		if how.b.Len() <= maxText {
			out = append(out, how.b.String())
		}
	}
	return out
}

// sampler writes one text.
type sampler struct {
	b    strings.Builder
	more int  // repetitions beyond the fewest
	last bool // of each choice
}

const maxNested = 64

func (s *sampler) write(re *syntax.Regexp, depth int) {
	if depth > maxNested || s.b.Len() > maxText {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		s.b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if len(re.Rune) == 0 {
			return
		}
		r := re.Rune[0]
		if s.last {
			r = re.Rune[len(re.Rune)-1]
		}
		s.b.WriteRune(r)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		s.b.WriteByte('a')
	case syntax.OpStar, syntax.OpQuest:
		for range s.more {
			s.write(re.Sub[0], depth+1)
		}
	case syntax.OpPlus:
		for range 1 + s.more {
			s.write(re.Sub[0], depth+1)
		}
	case syntax.OpRepeat:
		n := re.Min
		if re.Max < 0 || n+s.more <= re.Max {
			n += s.more
		}
		for range n {
			s.write(re.Sub[0], depth+1)
		}
	case syntax.OpAlternate:
		i := 0
		if s.last {
			i = len(re.Sub) - 1
		}
		s.write(re.Sub[i], depth+1)
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			s.write(sub, depth+1)
		}
	}
}
