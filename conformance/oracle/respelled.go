package oracle

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Respelled lists the JSON pointers at which two decoded JSON values hold the same number in other
// digits (1 and 1.0, 1e3 and 1000), in order, at most 20. What differs otherwise is left to Diff.
func Respelled(a, b any) []string {
	var r respeller
	r.compare(a, b, []string{""})
	return r.found
}

type respeller struct{ found []string }

func (r *respeller) compare(a, b any, at []string) {
	if len(r.found) == maxDiffs {
		return
	}
	switch a := a.(type) {
	case map[string]any:
		b, _ := b.(map[string]any)
		names := make([]string, 0, len(a))
		for name := range a {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			if v, both := b[name]; both {
				r.compare(a[name], v, below(at, escape(name)))
			}
		}
	case []any:
		b, _ := b.([]any)
		for i := range min(len(a), len(b)) {
			r.compare(a[i], b[i], below(at, strconv.Itoa(i)))
		}
	case json.Number:
		if b, ok := b.(json.Number); ok && a != b && Equal(a, b) {
			r.found = append(r.found, strings.Join(at, "/"))
		}
	}
}
