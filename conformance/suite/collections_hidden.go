package suite

import (
	"context"
	"fmt"
	"slices"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/spec"
)

// hidden judges walks during which items are taken from the walker's sight.
func hidden() []check.Check {
	return []check.Check{{
		ID:   "collections.hidden",
		Does: "Hides items in the middle of a walk: the one that the cursor stands at, the next one, and a later one.",
		Claims: []check.Claim{
			{ID: "collections.hidden", Says: "An item that may no longer be seen is left out of the rest of a walk."},
			{ID: "collections.hidden-on", Says: "Hiding an item neither breaks a walk nor ends it: all others are in it, once."},
		},
		Needs:  []target.Capability{target.HideItem},
		Lock:   check.Target, // in a shared collection the items of others would be most of the walk
		Select: func(c *spec.Contract) []check.Subject { return only(selectFed(c), isSized) },
		Cost:   check.Cost{Requests: 1500, Jobs: 1},
		Run:    collectionsHidden,
	}}
}

// hiddenOf is how many items there are in a walk that is disturbed.
const hiddenOf = 6

func collectionsHidden(_ context.Context, t *check.T, s check.Subject) {
	for _, size := range []int{1, 2} {
		for at := range 3 {
			if s.Other.Job != nil && size > 1 {
				return // each walk costs six jobs
			}
			t.Attempt(func(t *check.T) { hideOne(t, s, size, at) })
		}
	}
}

// hideOne walks to a page that ends with an item of the case's own and sees what is left of the walk.
// Then it hides that item, or the first or a later one of what is left, and walks on from there.
func hideOne(t *check.T, s check.Subject, size, at int) {
	f := newFeeder(t, s.Op, primary)
	f.add(t, hiddenOf)
	l := f.list.sized(size)
	mine := f.ids()
	p := l.read(t, "")
	for n := 0; len(p.ids) == 0 || !slices.Contains(mine, p.ids[len(p.ids)-1]); n++ { // items of others came after ours
		if p.next == "" || n > f.enough() {
			t.Skip("the walk met none of the items that were made for it")
		}
		p = l.read(t, p.next)
	}
	left, whole := rest(t, f, l, p.next, mine)
	switch {
	case !whole:
		t.Skip("the walk met %d items of the %d that were made for it, and then no end within %d pages", len(left), len(mine), f.enough())
	case len(left) < 3:
		t.Skip("the walk ended after %d of the %d items that were made for it: too few are left to hide one", len(left), len(mine))
	}
	gone := append([]string{p.ids[len(p.ids)-1]}, left...)[at]
	t.Hook(target.HideItem, map[string]string{"kind": s.Op.Collection.Resource, "id": gone})
	want := slices.DeleteFunc(slices.Clone(left), func(id string) bool { return id == gone })
	now, ok := rest(t, f, l, p.next, mine)
	if !t.Judge("collections.hidden-on", ok, "the walk to go on to its end after item "+gone+" was hidden", fmt.Sprintf("it broke off after %q", now)) {
		return
	}
	t.Judge("collections.hidden", !slices.Contains(now, gone), "no item "+gone+", which was hidden", fmt.Sprintf("%q", now))
	t.Judge("collections.hidden-on", slices.Equal(now, want) || slices.Contains(now, gone), fmt.Sprintf("what was left of the walk before: %q", want), fmt.Sprintf("%q", now))
}

// rest walks on from a cursor and gives the ids of the case's own items, in order; ok is false if the
// walk broke off, or neither ended nor left the case's items behind in time: the items of others may be many.
func rest(t *check.T, f *feeder, l listing, cursor string, mine []string) (own []string, ok bool) {
	behind := 0 // pages since the last item of our own
	for range f.enough() + 2*hiddenOf {
		if cursor == "" {
			return own, true
		}
		p, why := l.parse(t.Call(l.role, l.request(cursor)))
		if why != "" {
			return own, false
		}
		behind++
		for _, id := range p.ids {
			if slices.Contains(mine, id) {
				own, behind = append(own, id), 0
			}
		}
		if !f.exclusive && behind > f.enough()/2 && len(own) > 0 {
			return own, true
		}
		cursor = p.next
	}
	return own, false
}
