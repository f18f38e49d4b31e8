package suite

import (
	"slices"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/spec"
)

// collections judges how things are listed: pages, their size, whole walks, what a cursor is bound
// to. Where a creation without financial effect fills the collection, walks are judged on items of
// the case's own; elsewhere only what holds for items of anybody.
func collections() []check.Check {
	return []check.Check{
		{
			ID:   "collections.envelope",
			Does: "Reads a first page and its items.",
			Claims: []check.Claim{
				{ID: "collections.envelope", Says: "A page has its items, its next cursor and every member that the contract requires."},
				{ID: "collections.ids", Says: "Every item has an id of its own, which is not empty."},
			},
			Select: selectCollections,
			Cost:   check.Cost{Requests: 20, Jobs: 1},
			Run:    collectionsEnvelope,
		},
		{
			ID:   "collections.limits",
			Does: "Asks for pages of legal and illegal sizes.",
			Claims: []check.Claim{
				{ID: "collections.limit-accepted", Says: "Every page size from the least to the greatest is accepted."},
				{ID: "collections.page-size", Says: "A page never holds more items than were asked for."},
				{ID: "collections.default-size", Says: "Without a page size a page holds no more than the default."},
				{ID: "collections.limit-rejected", Says: "A page size outside its bounds, or no integer, is refused and never adjusted.", For: outOfRange("reject")},
				{ID: "collections.limit-clamped", Says: "A page size outside its bounds is taken for the nearest bound.", For: outOfRange("clamp")},
				{ID: "collections.limit-type", Says: "A page size that is no integer is refused, also where one outside its bounds is not.", For: outOfRange("clamp")},
				{ID: "collections.complete", Says: "A walk returns every item that was there when it began.", For: isFed},
			},
			Select: selectSizedCollections,
			Cost:   check.Cost{Requests: 110, Jobs: 1},
			Run:    collectionsLimits,
		},
		{
			ID:   "collections.walk",
			Does: "Fills the collection and walks it in every order, in pages of several sizes.",
			Claims: []check.Claim{
				{ID: "collections.complete", Says: "A walk returns every item that was there when it began.", For: isFed},
				{ID: "collections.once", Says: "A walk returns no item twice."},
				{ID: "collections.order", Says: "A walk returns its items in the order asked for.", For: isOrdered},
				{ID: "collections.page-size", Says: "A page never holds more items than were asked for.", For: isSized},
				{ID: "collections.ends", Says: "A walk comes to an end, and no cursor leads back."},
				{ID: "collections.end-marker", Says: "The last page says in the promised way that it is the last."},
				{ID: "collections.limit-change", Says: "The page size may change in mid-walk.", For: isFedAndSized},
				{ID: "collections.repeat", Says: "A cursor can be followed again and leads to the same page."},
				{ID: "collections.encoding", Says: "A cursor comes through one ordinary query encoding."},
			},
			Select: selectCollections,
			Cost:   check.Cost{Requests: 500, Jobs: 1},
			Run:    collectionsWalk,
		},
		{
			ID:   "collections.growth",
			Does: "Adds items between the pages of a walk, then walks anew.",
			Claims: []check.Claim{
				{ID: "collections.snapshot", Says: "An item that was added after the first page is not part of the walk.", For: isPinned},
				{ID: "collections.steady", Says: "An item that was there throughout is returned exactly once, whatever is added meanwhile.", For: isPinned},
				{ID: "collections.once", Says: "A walk returns no item twice."},
				{ID: "collections.order", Says: "A walk returns its items in the order asked for.", For: isOrdered},
				{ID: "collections.new-walk", Says: "A new walk shows what was added before it began."},
			},
			Select: selectFed,
			Cost:   check.Cost{Requests: 1000, Jobs: 1},
			Run:    collectionsGrowth,
		},
		{
			ID:   "collections.concurrent",
			Does: "Lets several walks and several creations run at once.",
			Claims: []check.Claim{
				{ID: "collections.snapshot", Says: "An item that was added after the first page is not part of the walk.", For: isPinned},
				{ID: "collections.steady", Says: "An item that was there throughout is returned exactly once, whatever is added meanwhile.", For: isPinned},
				{ID: "collections.once", Says: "A walk returns no item twice."},
				{ID: "collections.order", Says: "A walk returns its items in the order asked for.", For: isOrdered},
			},
			Select: selectFed,
			Cost:   check.Cost{Requests: 400, Jobs: 2},
			Run:    collectionsConcurrent,
		},
		{
			ID:   "collections.filters",
			Does: "Walks under each filter, and under two at once, and compares with what is known of the case's own items.",
			Claims: []check.Claim{
				{ID: "collections.filter-match", Says: "Every item of a filtered walk meets the filter.", For: isFiltered(false)},
				{ID: "collections.filter-complete", Says: "A filtered walk returns every item that meets the filter.", For: isFiltered(false)},
				{ID: "collections.filter-unchanged", Says: "Under a filter on a member that may change, items that did not change are in the walk exactly if they meet it.", For: isFiltered(true)},
				{ID: "collections.filter-bound", Says: "A lower bound of time leaves out what shows that very instant and takes in what shows the next, in every order.", For: hasLowerBound},
				{ID: "collections.once", Says: "A walk returns no item twice."},
				{ID: "collections.order", Says: "A walk returns its items in the order asked for.", For: isOrdered},
			},
			Select: func(c *spec.Contract) []check.Subject { return only(selectFed(c), anyFilter) },
			Cost:   check.Cost{Requests: 1000, Jobs: 1},
			Run:    collectionsFilters,
		},
		{
			ID:   "collections.bound",
			Does: "Presents a cursor under another filter, order or parent than it was given for.",
			Claims: []check.Claim{
				{ID: "collections.filters-bound", Says: "Whatever the request around it says, a cursor yields only what is left of its own walk, in its order."},
				{ID: "collections.mismatch-refused", Says: "A cursor under another filter, order or parent is refused as invalid."},
			},
			Select: selectCollections,
			Cost:   check.Cost{Requests: 80, Jobs: 1},
			Run:    collectionsBound,
		},
		{
			ID:     "collections.principal",
			Does:   "Presents a cursor under the credential of another workspace.",
			Claims: []check.Claim{{ID: "collections.principal-bound", Says: "Under another principal a cursor is refused and yields none of the first one's items."}},
			Needs:  []target.Capability{target.SecondWorkspace},
			Select: selectCollections,
			Cost:   check.Cost{Requests: 20, Jobs: 1},
			Run:    collectionsPrincipal,
		},
		{
			ID:     "collections.client",
			Does:   "Presents a cursor under the credential of another client of the same workspace.",
			Claims: []check.Claim{{ID: "collections.client-bound", Says: "Under another client of the same workspace a cursor is refused."}},
			Needs:  []target.Capability{target.SecondClient},
			Select: selectCollections,
			Cost:   check.Cost{Requests: 20, Jobs: 1},
			Run:    collectionsClient,
		},
		{
			ID:   "collections.tamper",
			Does: "Presents cursors that no server gave: cut, changed, encoded twice, made up, of another collection.",
			Claims: []check.Claim{
				{ID: "collections.tamper", Says: "A cursor that the server did not give for this is refused with 4xx: no page, no server error."},
				{ID: "collections.cursor-refusal", Says: "A cursor that does not open is refused in the one way that the contract names for it."},
			},
			Select: selectCollections,
			Cost:   check.Cost{Requests: 120, Jobs: 1},
			Run:    collectionsTamper,
		},
		{
			ID:   "collections.expiry",
			Does: "Follows a cursor before and after its time.",
			Claims: []check.Claim{
				{ID: "collections.expired", Says: "A cursor is good until its time is over, and is then refused as expired."},
				{ID: "collections.renewed", Says: "The time of a cursor begins with the page that gave it, not with the walk."},
			},
			Needs:  []target.Capability{target.AdvanceClock},
			Lock:   check.Target,
			Select: selectExpiring,
			Cost:   check.Cost{Requests: 20, Jobs: 1},
			Run:    collectionsExpiry,
		},
	}
}

// selectCollections gives one subject a collection; Other is a creation that fills it, if any does.
func selectCollections(c *spec.Contract) []check.Subject {
	var out []check.Subject
	for _, op := range c.Ops {
		if op.Collection == nil {
			continue
		}
		s := check.Subject{Name: op.ID, Op: op}
		if fs := feedersOf(c, op); len(fs) > 0 {
			s.Other, s.Calls = fs[0], fs[1:]
		}
		out = append(out, s)
	}
	return out
}

func selectFed(c *spec.Contract) []check.Subject { return only(selectCollections(c), isFed) }

func selectSizedCollections(c *spec.Contract) []check.Subject {
	return only(selectCollections(c), isSized)
}

func selectExpiring(c *spec.Contract) []check.Subject {
	return only(selectCollections(c), func(s check.Subject) bool {
		return s.Op.Collection.TTL != spec.Period{} && s.Op.Collection.Expired.Status != 0
	})
}

func only(in []check.Subject, keep func(check.Subject) bool) []check.Subject {
	var out []check.Subject
	for _, s := range in {
		if keep(s) {
			out = append(out, s)
		}
	}
	return out
}

func isFed(s check.Subject) bool         { return s.Other != nil }
func isOrdered(s check.Subject) bool     { return s.Op.Collection.Order != nil }
func isSized(s check.Subject) bool       { return s.Op.Collection.Limit != nil }
func isFedAndSized(s check.Subject) bool { return isFed(s) && isSized(s) }
func isPinned(s check.Subject) bool      { return s.Op.Collection.Snapshot == "watermark" }
func anyFilter(s check.Subject) bool     { return len(s.Op.Collection.Filters) > 0 }

func outOfRange(how string) func(check.Subject) bool {
	return func(s check.Subject) bool {
		return s.Op.Collection.Limit != nil && s.Op.Collection.Limit.OutOfRange == how
	}
}

// hasLowerBound: a filter takes what is later than its value.
func hasLowerBound(s check.Subject) bool {
	return slices.ContainsFunc(s.Op.Collection.Filters, func(f spec.Filter) bool { return f.Match == "after" && !f.Mutable })
}

func isFiltered(mutable bool) func(check.Subject) bool {
	return func(s check.Subject) bool {
		for _, f := range s.Op.Collection.Filters {
			if f.Mutable == mutable {
				return true
			}
		}
		return false
	}
}
