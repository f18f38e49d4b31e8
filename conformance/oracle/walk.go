package oracle

import (
	"fmt"
	"slices"
)

// Page is one answer of a walk over a collection.
type Page struct {
	IDs   []string
	Keys  []string // what is sorted on, one an id, in a form that compares as the contract says; nil: not judged
	Limit int      // asked for; 0: not judged
	Last  bool     // it said that the walk is over
}

// Walk is a walk over a collection from the first page on.
type Walk struct {
	Pages   []Page
	Present []string // ids that were in the collection, and visible, from before the first page until the end
	Foreign []string // ids that must not appear: of others, or outside the filter
	Added   []string // ids added after the first page was answered
	Pinned  bool     // the walk shows the state at its first page, so Added must not appear
	Desc    bool     // by Keys; ties are in any order
}

// ProblemKind names what is wrong with a walk.
type ProblemKind string

// Kinds of problem.
const (
	Missing   ProblemKind = "missing"    // present throughout, never returned
	Duplicate ProblemKind = "duplicate"  // returned twice
	Late      ProblemKind = "late"       // added after the first page
	Leaked    ProblemKind = "leaked"     // must not be seen
	Unordered ProblemKind = "unordered"  // two neighbours against the order
	OverLimit ProblemKind = "over_limit" // more items than asked for
	Endless   ProblemKind = "endless"    // pages after the last, or no last page
)

// Problem is one thing that is wrong, at a page.
type Problem struct {
	Kind ProblemKind
	Page int    // index of the page, -1: of none
	ID   string // of the item, "" if it is about the page
}

func (p Problem) String() string {
	switch {
	case p.Page < 0:
		return fmt.Sprintf("%s: %s", p.Kind, p.ID)
	case p.ID == "":
		return fmt.Sprintf("%s: page %d", p.Kind, p.Page+1)
	default:
		return fmt.Sprintf("%s: %s on page %d", p.Kind, p.ID, p.Page+1)
	}
}

// Judge lists what is wrong with a walk that was followed to its end, in order of the pages. An
// empty page in the middle is legal; so is an item that was there only for a part of the walk.
func (w Walk) Judge() []Problem {
	var out []Problem
	seen := map[string]bool{}
	foreign, added := set(w.Foreign), set(w.Added)
	previous, ordered := "", false
	for i, page := range w.Pages {
		if page.Limit > 0 && len(page.IDs) > page.Limit {
			out = append(out, Problem{OverLimit, i, ""})
		}
		if page.Last != (i == len(w.Pages)-1) {
			out = append(out, Problem{Endless, i, ""})
		}
		for j, id := range page.IDs {
			if seen[id] {
				out = append(out, Problem{Duplicate, i, id})
			}
			seen[id] = true
			if foreign[id] {
				out = append(out, Problem{Leaked, i, id})
			}
			if w.Pinned && added[id] {
				out = append(out, Problem{Late, i, id})
			}
			if len(page.Keys) != len(page.IDs) {
				ordered = false
				continue
			}
			key := page.Keys[j]
			if ordered && (w.Desc && key > previous || !w.Desc && key < previous) {
				out = append(out, Problem{Unordered, i, id})
			}
			previous, ordered = key, true
		}
	}
	if len(w.Pages) == 0 {
		out = append(out, Problem{Endless, -1, "no page at all"})
	}
	missing := slices.DeleteFunc(slices.Clone(w.Present), func(id string) bool { return seen[id] })
	slices.Sort(missing)
	for _, id := range slices.Compact(missing) {
		out = append(out, Problem{Missing, -1, id})
	}
	return out
}

func set(ids []string) map[string]bool {
	out := make(map[string]bool, len(ids))
	for _, id := range ids {
		out[id] = true
	}
	return out
}
