package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay.kit/conformance/report"
)

const (
	mostReasons = 3
	fewCases    = 5 // for one reason are no reason for a warning
)

// unjudged says in a few lines why cases could not be judged, the most frequent reason first.
func unjudged(cases []report.Case) []string {
	count, example := map[string]int{}, map[string]string{}
	for _, cs := range cases {
		if cs.Verdict != report.Inconclusive || cs.Note == "" {
			continue
		}
		key := alike(cs.Note)
		count[key]++
		if example[key] == "" || cs.Note < example[key] {
			example[key] = cs.Note
		}
	}
	keys := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(count[b]-count[a], strings.Compare(a, b))
	})
	var out []string
	for _, k := range keys {
		if len(out) == mostReasons || count[k] < fewCases || count[k]*30 < len(cases) {
			break
		}
		out = append(out, fmt.Sprintf("%d of %d cases could not be judged, such as: %s", count[k], len(cases), short(example[k])+unjudgedTip(k)))
	}
	return out
}

// alike takes from a reason what differs from case to case: numbers, and all after the first colon.
func alike(note string) string {
	head, _, _ := strings.Cut(note, ": ")
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '.' {
			return -1
		}
		return r
	}, head)
}

func unjudgedTip(reason string) string {
	switch {
	case strings.HasPrefix(reason, "not begun"), strings.HasPrefix(reason, "ended after"), strings.HasPrefix(reason, "ran out of time"):
		return "; give the run more time (--time), or select less (--only)"
	case strings.HasPrefix(reason, "the budget of"):
		return "; give the run more requests (budget.requests in the profile), or select less (--only)"
	case strings.Contains(reason, "of our own could be tried"), strings.Contains(reason, "accepted none of the contract's examples"), strings.Contains(reason, "could be had"):
		return "; if the target needs data that exists there, name it in the profile under values"
	default:
		return ""
	}
}
