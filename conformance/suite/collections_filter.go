package suite

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// aValue is how many items there are under one value of a filter: enough for several small pages.
const aValue = 5

func collectionsFilters(_ context.Context, t *check.T, s check.Subject) {
	c := s.Op.Collection
	f := newFeeder(t, s.Op, "primary")
	n := min(25, aValue*max(1, len(f.ways)))
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
	var all [][]condition // a filter
	for _, fl := range c.Filters {
		own := conditionsOf(t, f, fl, views, n)
		for i, cd := range own {
			judgeCondition(t, s, f, cd, i == 0)
		}
		all = append(all, own)
		if fl.Match == "after" && !fl.Mutable {
			judgeBound(t, f, fl, views[:n])
		}
	}
	for i := range all {
		for j := range i {
			judgePairs(t, f, all[j], all[i])
		}
	}
	for _, claim := range []string{"collections.filter-match", "collections.filter-complete", "collections.filter-unchanged", "collections.filter-bound", "collections.once", "collections.order"} {
		t.NotApplicable(claim, "no item of the case shows a member that the collection is filtered by")
	}
}

// condition is a filter with a value, and what is known of the case's items under it.
type condition struct {
	fl      spec.Filter
	value   string
	in, out []string           // ids that meet it, ids that do not; what is in neither may be in a walk or not
	meets   func(key any) bool // whether a member that an item shows does
}

func (c condition) String() string { return c.fl.Param + "=" + c.value }

// conditionsOf gives the conditions of one filter that the case's items tell something about. The
// first n of them are within the listing; the others are under another value of what isolates it.
func conditionsOf(t *check.T, f *feeder, fl spec.Filter, views []any, n int) []condition {
	var out []condition
	if fl.Match == "after" {
		if c, ok := after(f, fl, views); ok {
			out = append(out, c)
			for _, hours := range []int{9, -8} { // one instant has many spellings (RFC 3339 §4.2)
				if same, ok := respelled(c, hours); ok {
					out = append(out, same)
				}
			}
		}
	} else {
		out = equals(f, fl, views)
	}
	if iso := f.list.op.Collection.Isolate; iso != nil && iso.Param == fl.Param {
		return out
	}
	outside := f.ids()[n:]
	for i := range out {
		out[i].in = missing(out[i].in, outside)
		out[i].out = unique(append(out[i].out, outside...))
	}
	return out
}

// equals gives a condition for each value that the case's items show. An item without the member
// meets none of them, unless the contract gives the member a default.
func equals(f *feeder, fl spec.Filter, views []any) []condition {
	byValue := map[string][]string{}
	var known []string // ids of items of which it is known what they meet
	optional := !fl.Mutable && !hasDefault(f.list.op, fl)
	for i, v := range views {
		m, ok := tree.Get(v, fl.Member)
		switch {
		case v == nil || !f.items[i].settled:
		case ok && m != nil:
			if b, isBool := m.(bool); isBool { // the other value is one too, though no item has it
				byValue[text(!b)] = byValue[text(!b)]
			}
			byValue[text(m)] = append(byValue[text(m)], f.items[i].id)
			known = append(known, f.items[i].id)
		case optional:
			known = append(known, f.items[i].id)
		}
	}
	var out []condition
	for _, value := range sortedKeys(byValue) {
		out = append(out, condition{fl: fl, value: value, in: byValue[value], out: missing(known, byValue[value]),
			meets: func(m any) bool { return text(m) == value }})
	}
	return out
}

// hasDefault reports whether the contract says what an item has that does not show a member.
func hasDefault(list *spec.Operation, fl spec.Filter) bool {
	a := list.Answers[200]
	return a != nil && a.Schema != nil && keyword(a.Schema, list.Collection.Items.Append("*").Join(fl.Member), "default") != nil
}

// after gives the condition that holds from the middle of the case's items on. An item shown with the
// very instant of the bound may be in or not, since what is shown may be rounded.
func after(f *feeder, fl spec.Filter, views []any) (c condition, ok bool) {
	type dated struct{ id, key, shown string }
	var all []dated
	for i, v := range views {
		m, _ := tree.Get(v, fl.Member)
		if key, ok := sortKey(m); ok {
			all = append(all, dated{f.items[i].id, key, text(m)})
		}
	}
	if len(all) == 0 {
		return c, false
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].key < all[j].key })
	bound := all[len(all)/2]
	c = condition{fl: fl, value: bound.shown, meets: func(m any) bool {
		key, ok := sortKey(m)
		return !ok || key >= bound.key
	}}
	for _, d := range all {
		switch {
		case d.key > bound.key:
			c.in = append(c.in, d.id)
		case d.key < bound.key:
			c.out = append(c.out, d.id)
		}
	}
	return c, true
}

// respelled is a condition whose instant is written with the offset of another place.
func respelled(c condition, hours int) (condition, bool) {
	at, _, err := instant(c.value)
	c.value = at.In(time.FixedZone("", hours*3600)).Format(time.RFC3339Nano)
	again, _, wrong := instant(c.value)
	return c, err == nil && wrong == nil && again.Equal(at)
}

// judgeCondition walks under one condition in small pages, so that a value that few items have gives
// pages with few or none. The first of a filter is walked in every order.
func judgeCondition(t *check.T, s check.Subject, f *feeder, cd condition, everyOrder bool) {
	ways := orders(s.Op.Collection)
	if !everyOrder || s.Other.Job != nil {
		ways = ways[:1]
	}
	for i, v := range ways {
		judgeFiltered(t, f, f.list.at(cd.fl.Param, cd.value), v, 2-i%2, cd)
	}
}

// mostPairs is how many pairs of values of two filters are tried.
const mostPairs = 3

// judgePairs walks under two filters at once.
func judgePairs(t *check.T, f *feeder, a, b []condition) {
	tried := 0
	for _, x := range a {
		for _, y := range b {
			both := condition{fl: x.fl, value: x.value + "&" + y.String(), in: missing(x.in, missing(x.in, y.in)), out: unique(append(slices.Clone(x.out), y.out...)), meets: x.meets}
			both.fl.Mutable = x.fl.Mutable || y.fl.Mutable
			if len(both.in) == 0 || tried == mostPairs {
				continue
			}
			tried++
			judgeFiltered(t, f, f.list.at(x.fl.Param, x.value).at(y.fl.Param, y.value), nil, 2, both)
		}
	}
}

// judgeFiltered walks a filtered listing and judges every item by what it shows, whosever it is, and
// the case's own by what is known of them.
func judgeFiltered(t *check.T, f *feeder, l listing, v *spec.OrderValue, size int, cd condition) {
	complete := "collections.filter-complete"
	if cd.fl.Mutable {
		complete = "collections.filter-unchanged"
	}
	tr := l.follow(t, v, constant(size), f.enough(), nil)
	if tr.why != "" {
		t.Judge(complete, false, "a walk under "+cd.String(), describe(tr.broken))
		return
	}
	if !cd.fl.Mutable {
		for _, p := range tr.pages {
			for i, it := range p.items {
				if m, ok := tree.Get(it, cd.fl.Member); ok && m != nil { // one that does not show it tells nothing
					t.Judge("collections.filter-match", cd.meets(m), "items under "+cd.String()+" only", p.ids[i]+" with "+string(cd.fl.Member)+" "+text(m))
				}
			}
		}
	}
	if l.op.Collection.Order != nil {
		judged(t, tr, tr.walk(l.op.Collection), map[oracle.ProblemKind]string{oracle.Unordered: "collections.order"})
	}
	if tr.over || f.exclusive {
		judgeMembers(t, complete, tr, cd)
	}
}

// judgeMembers judges which of the case's items a filtered walk holds.
func judgeMembers(t *check.T, claim string, tr trail, cd condition) {
	w := tr.walk(tr.list.op.Collection)
	w.Present, w.Foreign = cd.in, cd.out
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
	t.Judge(claim, len(bad) == 0, fmt.Sprintf("%d items of the case under %s, and %d not", len(cd.in), cd, len(cd.out)), listed(bad)+" ("+tr.shape()+")")
}
