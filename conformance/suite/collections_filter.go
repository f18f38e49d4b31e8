package suite

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

func collectionsFilters(_ context.Context, t *check.T, s check.Subject) {
	c := s.Op.Collection
	f := newFeeder(t, s.Op, "primary")
	n := 6
	if s.Other.Job != nil {
		n = 3
	}
	f.add(t, n)
	if iso := c.Isolate; iso != nil && !iso.Time && iso.Param != "" && f.list.query.Has(iso.Param) {
		// The filter that isolates is judged too: these two are outside it.
		f.label(iso, "assay-"+t.Nonce()+"-b")
		f.add(t, 2)
	}
	views := f.views(t)
	for _, fl := range c.Filters {
		if fl.Match == "after" {
			filterAfter(t, f, fl, views)
		} else {
			filterEqual(t, f, fl, views)
		}
	}
	for _, claim := range []string{"collections.filter-match", "collections.filter-complete", "collections.filter-unchanged", "collections.once"} {
		t.NotApplicable(claim, "no item of the case shows a member that the collection is filtered by")
	}
}

// filterEqual walks under each value that the case's items show, in small pages, so that one that
// few items have gives pages with few or none.
func filterEqual(t *check.T, f *feeder, fl spec.Filter, views []any) {
	byValue := map[string][]string{}
	var shown []string // ids of items that show the member
	for i, v := range views {
		m, ok := tree.Get(v, fl.Member)
		if ok && m != nil && f.items[i].settled {
			byValue[text(m)] = append(byValue[text(m)], f.items[i].id)
			shown = append(shown, f.items[i].id)
		}
	}
	for _, value := range sortedKeys(byValue) {
		tr := f.list.at(fl.Param, value).follow(t, nil, constant(2), f.enough(), nil)
		if tr.why != "" {
			t.Judge(claimOf(fl, "collections.filter-complete"), false, "a walk under "+fl.Param+"="+value, describe(tr.broken))
			continue
		}
		others := missing(shown, byValue[value])
		if !fl.Mutable {
			judgeMatch(t, tr, fl, value)
		}
		if tr.over || f.exclusive {
			judgeMembers(t, claimOf(fl, "collections.filter-complete"), tr, byValue[value], others, fl.Param+"="+value)
		}
	}
}

func claimOf(fl spec.Filter, immutable string) string {
	if fl.Mutable {
		return "collections.filter-unchanged"
	}
	return immutable
}

// judgeMatch judges every item of a walk, whosever it is. An item that does not show the member
// tells nothing.
func judgeMatch(t *check.T, tr trail, fl spec.Filter, value string) {
	for _, p := range tr.pages {
		for i, it := range p.items {
			m, ok := tree.Get(it, fl.Member)
			if ok && m != nil {
				t.Judge("collections.filter-match", text(m) == value, string(fl.Member)+" to be "+value, p.ids[i]+" with "+text(m))
			}
		}
	}
}

// judgeMembers judges which of the case's items a filtered walk holds.
func judgeMembers(t *check.T, claim string, tr trail, in, out []string, filter string) {
	w := tr.walk(tr.list.op.Collection)
	w.Present, w.Foreign = in, out
	var bad, twice []string
	for _, p := range w.Judge() {
		switch p.Kind {
		case oracle.Missing, oracle.Leaked:
			bad = append(bad, p.String())
		case oracle.Duplicate:
			twice = append(twice, p.String())
		}
	}
	t.Judge("collections.once", len(twice) == 0, expectation(oracle.Duplicate), listed(twice)+" ("+tr.shape()+")")
	t.Judge(claim, len(bad) == 0, fmt.Sprintf("%d items of the case under %s, and %d not", len(in), filter, len(out)), listed(bad)+" ("+tr.shape()+")")
}

// filterAfter walks from the middle of the case's items on. An item shown with the very instant of
// the bound may be in or not, since what is shown may be rounded.
func filterAfter(t *check.T, f *feeder, fl spec.Filter, views []any) {
	type dated struct{ id, key, shown string }
	var all []dated
	for i, v := range views {
		m, _ := tree.Get(v, fl.Member)
		if key, ok := sortKey(m); ok {
			all = append(all, dated{f.items[i].id, key, text(m)})
		}
	}
	if len(all) == 0 {
		return
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].key < all[j].key })
	bound := all[len(all)/2]
	var in, out []string
	for _, d := range all {
		switch {
		case d.key > bound.key:
			in = append(in, d.id)
		case d.key < bound.key:
			out = append(out, d.id)
		}
	}
	// Items outside an isolating label are in no walk of this listing.
	if f.exclusive {
		seen := f.list.follow(t, nil, constant(0), f.enough(), nil)
		in = slices.DeleteFunc(in, func(id string) bool { return !slices.Contains(seen.ids(), id) })
	}
	tr := f.list.at(fl.Param, bound.shown).follow(t, nil, constant(2), f.enough(), nil)
	if tr.why != "" {
		t.Judge("collections.filter-complete", false, "a walk under "+fl.Param+"="+bound.shown, describe(tr.broken))
		return
	}
	for _, p := range tr.pages {
		for i, it := range p.items {
			m, _ := tree.Get(it, fl.Member)
			if key, ok := sortKey(m); ok {
				t.Judge("collections.filter-match", key >= bound.key, string(fl.Member)+" after "+bound.shown, p.ids[i]+" with "+text(m))
			}
		}
	}
	if tr.over || f.exclusive {
		judgeMembers(t, "collections.filter-complete", tr, in, out, fl.Param+"="+bound.shown)
	}
}
