package report

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Similar puts the findings together that most likely have one cause: one claim, one verdict, and the
// same kind of expected and actual, whatever the subject. Groups and findings keep their order, so
// that the first of a group is the one to tell in full.
func Similar(findings []Finding) [][]Finding {
	type key struct {
		verdict                 Verdict
		known                   bool
		claim, expected, actual string
	}
	var out [][]Finding
	place := map[key]int{}
	for _, f := range findings {
		k := key{f.Verdict, f.Known != nil, f.Claim, kind(f.Expected), kind(f.Actual)}
		i, ok := place[k]
		if !ok {
			i = len(out)
			place[k], out = i, append(out, nil)
		}
		out[i] = append(out[i], f)
	}
	return out
}

// mostWords of a text tell its kind.
const mostWords = 60

// kind is what a text says without what differs from subject to subject: ids, numbers, names of
// operations and bodies go, a status is its class, words and codes stay, each once and in no order.
func kind(text string) string {
	var words []string
	for _, w := range strings.Fields(text) {
		if strings.ContainsAny(w[:1], `{["<`) || len(words) == mostWords {
			break
		}
		w = strings.TrimFunc(w, unicode.IsPunct)
		switch {
		case w == "":
		case len(w) == 3 && w[0] >= '1' && w[0] <= '5' && isDigits(w):
			words = append(words, w[:1]+"xx")
		case w == strings.ToLower(w) && !strings.ContainsFunc(w, notLetter), w == strings.ToUpper(w) && len(w) > 3 && !strings.ContainsFunc(w, unicode.IsDigit):
			words = append(words, w)
		case strings.ContainsAny(w, "_0123456789") && !isDigits(w) && len(words) > 0:
			words = words[:len(words)-1] // "job job_7f3a": what the id names differs too
		}
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), " ")
}

func isDigits(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) && r != '-' }

// Tells is the number, from 1, of the exchange to look at first: the one that the finding quotes, or
// the last of the operation under test, or the last of all; 0 if there is none.
func (f Finding) Tells() int {
	n := len(f.Exchanges)
	if f.Telling > 0 && f.Telling <= n {
		return f.Telling
	}
	subject, _, _ := strings.Cut(f.Subject(), "+")
	for i := n; i > 0; i-- {
		if f.Exchanges[i-1].Req.Operation == subject {
			return i
		}
	}
	return n
}

// Subject is what the finding's case was run on.
func (f Finding) Subject() string {
	_, subject, ok := strings.Cut(f.Case, "@")
	if !ok {
		return f.Case
	}
	return subject
}

// orderFindings puts failures before warnings, and what showed first before what followed; what no
// exchange shows comes last.
func (r *Report) orderFindings() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(rank[b.Verdict], rank[a.Verdict]), cmp.Compare(moment(a), moment(b)),
			cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.Case, b.Case))
	})
}

func moment(f Finding) time.Duration {
	if n := f.Tells(); n > 0 {
		return f.Exchanges[n-1].Last
	}
	return math.MaxInt64
}
