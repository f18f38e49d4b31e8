package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"pgregory.net/rapid"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// trail is a walk as it was seen.
type trail struct {
	list    listing
	order   *spec.OrderValue
	pages   []page
	limits  []int         // asked for, one a page; 0: none was
	cursors []string      // that led to each page, "" for the first
	broken  wire.Exchange // the answer that was no page, if one was not
	why     string        // why it was none
	loop    string        // a cursor that came back
	over    bool          // the end was reached
}

// constant asks for the same page size on every page.
func constant(n int) func(int) int { return func(int) int { return n } }

// follow walks from the first page on, at most so many pages; before is called before each page.
func (l listing) follow(t *check.T, v *spec.OrderValue, size func(int) int, most int, before func(page int)) trail {
	tr := trail{list: l.ordered(v), order: v}
	seen := map[string]bool{}
	for cursor := ""; len(tr.pages) < most; {
		if before != nil {
			before(len(tr.pages))
		}
		n := size(len(tr.pages))
		at := tr.list.sized(n)
		p, why := at.parse(t.Call(l.role, at.request(cursor)))
		if why != "" {
			tr.broken, tr.why = p.ex, why
			return tr
		}
		tr.pages, tr.limits, tr.cursors = append(tr.pages, p), append(tr.limits, n), append(tr.cursors, cursor)
		switch {
		case p.next == "":
			tr.over = true
			return tr
		case seen[p.next]:
			tr.loop = p.next
			return tr
		}
		seen[p.next] = true
		cursor = p.next
	}
	return tr
}

// ids are those of all pages, in order.
func (tr trail) ids() []string {
	var out []string
	for _, p := range tr.pages {
		out = append(out, p.ids...)
	}
	return out
}

// first and last say when the first page was asked for and was there.
func (tr trail) first() (sent, last time.Duration) { return tr.pages[0].ex.Sent, tr.pages[0].ex.Last }

// walk puts a trail into the form that the oracle judges. A walk that was given up is cut: of what
// it did not reach nothing is said.
func (tr trail) walk(c *spec.Collection) oracle.Walk {
	var w oracle.Walk
	by := promised(c, tr.order)
	for i, p := range tr.pages {
		pg := oracle.Page{IDs: p.ids, Last: i == len(tr.pages)-1, Limit: tr.limits[i]}
		if tr.limits[i] == 0 && c.Limit != nil {
			pg.Limit = c.Limit.Default
		}
		if by != nil {
			pg.Keys = keys(p.items, by.By)
		}
		w.Pages = append(w.Pages, pg)
	}
	w.Desc = by != nil && by.Desc
	return w
}

// keys are the values that items are sorted on, in a form that compares like them; nil if one is
// missing or of a kind that nobody promised an order for.
func keys(items []any, by tree.Pointer) []string {
	out := make([]string, len(items))
	for i, it := range items {
		v, ok := tree.Get(it, by)
		k, comparable := sortKey(v)
		if !ok || !comparable {
			return nil
		}
		out[i] = k
	}
	return out
}

// sortKey maps instants and numbers to texts whose byte order is their order.
func sortKey(v any) (string, bool) {
	switch x := v.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339, x); err == nil {
			return at.UTC().Format("2006-01-02T15:04:05.000000000Z"), true
		}
		return x, true
	case json.Number:
		f, err := x.Float64()
		if err != nil {
			return "", false
		}
		bits := math.Float64bits(f)
		if f < 0 {
			bits = ^bits
		} else {
			bits |= 1 << 63
		}
		return fmt.Sprintf("%016x", bits), true
	default:
		return "", false
	}
}

// disorder shows the first two neighbours of a walk that are against its order.
func (tr trail) disorder() string {
	by := promised(tr.list.op.Collection, tr.order)
	if by == nil {
		return ""
	}
	var last any
	lastKey, lastID := "", ""
	for _, p := range tr.pages {
		for i, it := range p.items {
			v, _ := tree.Get(it, by.By)
			key, ok := sortKey(v)
			if ok && lastID != "" && (by.Desc && key > lastKey || !by.Desc && key < lastKey) {
				return fmt.Sprintf("%s %s of %s comes after %s of %s", by.By, text(v), p.ids[i], text(last), lastID)
			}
			if ok {
				last, lastKey, lastID = v, key, p.ids[i]
			}
		}
	}
	return ""
}

// judged turns the oracle's problems into verdicts: of each kind under its claim. Kinds without a
// claim are not judged.
func judged(t *check.T, tr trail, w oracle.Walk, claims map[oracle.ProblemKind]string) {
	found := map[oracle.ProblemKind][]string{}
	for _, p := range w.Judge() {
		found[p.Kind] = append(found[p.Kind], p.String())
	}
	for _, kind := range kindsIn(claims) {
		bad := listed(found[kind])
		if kind == oracle.Unordered && bad != "" {
			bad += ": " + tr.disorder()
		}
		t.Judge(claims[kind], bad == "", expectation(kind), fmt.Sprintf("%s (%s)", bad, tr.shape()))
	}
}

func kindsIn(claims map[oracle.ProblemKind]string) []oracle.ProblemKind {
	var out []oracle.ProblemKind
	for k := range claims {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func expectation(k oracle.ProblemKind) string {
	switch k {
	case oracle.Missing:
		return "every item that was there throughout"
	case oracle.Duplicate:
		return "each item once"
	case oracle.Late:
		return "no item that was added after the first page"
	case oracle.Leaked:
		return "no item outside the filter"
	case oracle.Unordered:
		return "items in the order asked for"
	case oracle.OverLimit:
		return "no more items than asked for"
	default:
		return "an end"
	}
}

// listed keeps a list short.
func listed(all []string) string {
	const most = 4
	if len(all) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
	}
	return strings.Join(all, ", ")
}

// shape is a walk in a few words: how many items each page had.
func (tr trail) shape() string {
	sizes := make([]string, len(tr.pages))
	for i, p := range tr.pages {
		sizes[i] = fmt.Sprint(len(p.ids))
	}
	q, _ := tr.list.query, tr.order
	return fmt.Sprintf("%s?%s, items a page: %s", tr.list.op.Path, q.Encode(), listed(sizes))
}

// enough is how many pages a walk may take before it is given up: a collection of the case's own
// has few, one that is shared may have as many as others like.
func (f *feeder) enough() int {
	switch {
	case f.exclusive:
		return 100 + 4*len(f.items)
	case len(f.items) == 0:
		return 25
	default:
		return 120
	}
}

const tooLong = "the collection is shared, and too long to be walked to its end"

func collectionsWalk(_ context.Context, t *check.T, s check.Subject) {
	n := 5
	if s.Other != nil && s.Other.Job != nil {
		n = 3
	}
	f := source(t, s, "primary", n)
	for _, v := range orders(s.Op.Collection) {
		for _, size := range sizes(s.Op.Collection, len(f.items), v == nil) {
			walkOnce(t, f, v, constant(size))
		}
	}
	if isFedAndSized(s) {
		mixed := f.list.follow(t, nil, func(i int) int { return 1 + i%3 }, f.enough(), nil)
		if got, missed := mixed.ids(), missing(f.ids(), mixed.ids()); mixed.why == "" && (f.exclusive || mixed.over) {
			t.Judge("collections.limit-change", len(missed) == 0 && len(unique(got)) == len(got),
				"each of "+fmt.Sprint(len(f.items))+" items once, in pages of 1, 2, 3, 1, …", fmt.Sprintf("missing %v (%s)", missed, mixed.shape()))
		} else if mixed.why != "" {
			t.Judge("collections.limit-change", false, "a page", describe(mixed.broken))
		}
	}
	repeats(t, f)
	for _, claim := range []string{"collections.complete", "collections.ends", "collections.end-marker", "collections.limit-change"} {
		t.NotApplicable(claim, tooLong) // unless a walk came to its end, and was judged
	}
}

// sizes are the page sizes to walk with: few where nothing is new to be seen.
func sizes(c *spec.Collection, items int, plain bool) []int {
	switch {
	case c.Limit == nil:
		return []int{0}
	case plain:
		return []int{0, 2}
	}
	out := []int{1, 2, 3, items, c.Limit.Max}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(n int) bool { return n < c.Limit.Min || n > c.Limit.Max })
}

// walked follows a walk and judges that each of its cursors led to a page.
func walked(t *check.T, f *feeder, v *spec.OrderValue, size func(int) int) trail {
	tr := f.list.follow(t, v, size, f.enough(), nil)
	if len(tr.pages) == 0 {
		t.Inconclusive("%s gave no page: %s", f.list.op.ID, tr.why)
	}
	if len(tr.pages) > 1 || tr.why != "" {
		t.Judge("collections.encoding", tr.why == "", "a page for a cursor that was given a moment ago", describe(tr.broken))
	}
	return tr
}

// walkOnce judges one walk over a collection that stands still, as far as the case's items go.
func walkOnce(t *check.T, f *feeder, v *spec.OrderValue, size func(int) int) {
	c := f.list.op.Collection
	tr := walked(t, f, v, size)
	w := tr.walk(c)
	claims := map[oracle.ProblemKind]string{oracle.Duplicate: "collections.once"}
	if len(f.items) > 0 && (tr.over || f.exclusive && tr.why == "") {
		w.Present = f.ids()
		claims[oracle.Missing] = "collections.complete"
	}
	if c.Order != nil {
		claims[oracle.Unordered] = "collections.order"
	}
	if c.Limit != nil {
		claims[oracle.OverLimit] = "collections.page-size"
	}
	judged(t, tr, w, claims)
	switch {
	case tr.loop != "":
		t.Judge("collections.ends", false, "a cursor that leads on", "a cursor that was given before: "+tr.loop)
	case tr.over || f.exclusive && tr.why == "":
		t.Judge("collections.ends", tr.over, "an end", fmt.Sprintf("%d pages and no end for %d items", len(tr.pages), len(f.items)))
	}
	if tr.over {
		judgeEnd(t, c, tr.pages)
	}
}

// judgeEnd judges how the pages say whether there is more.
func judgeEnd(t *check.T, c *spec.Collection, pages []page) {
	body, err := bodyOf(pages[len(pages)-1].ex)
	if err != nil {
		return
	}
	next, found := tree.Get(body, c.Next)
	ok := false
	switch c.End {
	case "null":
		ok = found && next == nil
	case "absent":
		ok = !found
	case "empty":
		ok = found && next == ""
	}
	t.Judge("collections.end-marker", ok, string(c.Next)+" to be "+c.End+" on the last page", string(encode(next))+
		map[bool]string{true: "", false: " (absent)"}[found])
	for _, p := range pages[:len(pages)-1] {
		body, _ := bodyOf(p.ex)
		next, _ := tree.Get(body, c.Next)
		_, isText := next.(string)
		t.Judge("collections.end-marker", isText, string(c.Next)+" to be a text where there is more", string(encode(next)))
	}
}

// repeats follows each cursor of a walk a second time, when the walk is over.
func repeats(t *check.T, f *feeder) {
	tr := walked(t, f, nil, constant(2))
	if len(tr.pages) < 2 {
		t.NotApplicable("collections.repeat", "there are too few items for a second page")
		t.NotApplicable("collections.encoding", "there are too few items for a second page")
		return
	}
	for i := 1; i < min(len(tr.pages), 6); i++ {
		at := tr.list.sized(2)
		p, why := at.parse(t.Call(at.role, at.request(tr.cursors[i])))
		t.Judge("collections.repeat", why == "" && slices.Equal(p.ids, tr.pages[i].ids) && (p.next == "") == (tr.pages[i].next == ""),
			fmt.Sprintf("the page that this cursor led to before: %v", tr.pages[i].ids), fmt.Sprintf("%v %s", p.ids, why))
	}
}

// missing lists what is in want and not in got.
func missing(want, got []string) []string {
	return slices.DeleteFunc(slices.Clone(want), func(id string) bool { return slices.Contains(got, id) })
}

func unique(ids []string) []string {
	out := slices.Clone(ids)
	slices.Sort(out)
	return slices.Compact(out)
}

// script is what happens in one attempt of collections.growth.
type script struct {
	Before  int   // items that are there when the walk begins
	Size    int   // of its pages
	Order   int   // index of the order
	Between []int // items added before the second, third … page, over and over
	Room    int   // for additions in all, so that an endless walk does not add for ever
}

func collectionsGrowth(_ context.Context, t *check.T, s check.Subject) {
	n := len(orders(s.Op.Collection))
	if s.Other.Job != nil { // each item costs a job: two scripts instead of many
		for i := range n {
			grow(t, s, script{Before: 2, Size: 1, Order: i, Between: []int{1, 0}, Room: 8})
		}
		return
	}
	for _, i := range []int{0, n - 1} { // what a walk is bound to may be lost after many pages only
		t.Attempt(func(t *check.T) { grow(t, s, script{Before: 20, Size: 2, Order: i, Between: []int{1}, Room: 12}) })
	}
	t.Property(func(t *check.T) {
		grow(t, s, script{
			Before:  check.Draw(t, rapid.IntRange(1, 5), "items before the walk"),
			Size:    check.Draw(t, rapid.IntRange(1, 3), "page size"),
			Order:   check.Draw(t, rapid.IntRange(0, n-1), "order"),
			Between: check.Draw(t, rapid.SliceOfN(rapid.IntRange(0, 2), 1, 4), "items added before each page"),
			Room:    8,
		})
	})
}

// grow walks while items are added, and walks again.
func grow(t *check.T, s check.Subject, sc script) {
	f := newFeeder(t, s.Op, "primary")
	f.add(t, sc.Before)
	before := f.ids()
	v := orders(s.Op.Collection)[sc.Order]
	room := sc.Room
	tr := f.list.follow(t, v, constant(sc.Size), f.enough(), func(page int) {
		if page == 0 {
			return
		}
		n := min(room, sc.Between[(page-1)%len(sc.Between)])
		room -= n
		f.add(t, n)
	})
	if len(tr.pages) == 0 || tr.why != "" {
		t.Inconclusive("%s broke off: %s", s.Op.ID, tr.why)
	}
	judgeMoving(t, s, tr, before, f.ids()[len(before):], tr.over || f.exclusive)
	again := f.list.follow(t, v, constant(sc.Size), f.enough(), nil)
	if again.over {
		lost := missing(f.ids(), again.ids())
		t.Judge("collections.new-walk", len(lost) == 0, fmt.Sprintf("all %d items", len(f.items)), fmt.Sprintf("missing %v (%s)", lost, again.shape()))
	} else {
		t.NotApplicable("collections.new-walk", tooLong)
	}
}

// judgeMoving judges a walk during which items were added.
func judgeMoving(t *check.T, s check.Subject, tr trail, before, added []string, whole bool) {
	c := s.Op.Collection
	w := tr.walk(c)
	claims := map[oracle.ProblemKind]string{oracle.Duplicate: "collections.once"}
	if isPinned(s) {
		w.Pinned, w.Added = true, added
		claims[oracle.Late] = "collections.snapshot"
		if whole {
			w.Present = before
			claims[oracle.Missing] = "collections.steady"
		} else {
			t.NotApplicable("collections.steady", tooLong)
		}
	}
	if c.Order != nil {
		claims[oracle.Unordered] = "collections.order"
	}
	judged(t, tr, w, claims)
}

func collectionsConcurrent(_ context.Context, t *check.T, s check.Subject) {
	walkers, writers, each := 4, 3, 5
	if s.Other.Job != nil {
		walkers, writers, each = 2, 2, 2
	}
	f := newFeeder(t, s.Op, "primary")
	f.add(t, 3)
	var mu sync.Mutex
	var trails []trail
	var late []fed
	t.Lanes(walkers+writers, func(t *check.T, lane int) {
		for range each {
			if lane < walkers {
				v := orders(s.Op.Collection)[lane%len(orders(s.Op.Collection))]
				tr := f.list.follow(t, v, constant(1+lane%2), f.enough(), nil)
				mu.Lock()
				trails = append(trails, tr)
				mu.Unlock()
				continue
			}
			it, why := f.make(t, lane%len(f.ways))
			if why != "" {
				t.Inconclusive("an item could not be made: %s", why)
			}
			mu.Lock()
			late = append(late, it)
			mu.Unlock()
		}
	})
	all := append(slices.Clone(f.items), late...)
	for _, tr := range trails {
		if len(tr.pages) == 0 || tr.why != "" {
			t.Inconclusive("%s broke off: %s", s.Op.ID, tr.why)
		}
		// What was in the making while the first page was, may be in the walk or not.
		sent, last := tr.first()
		var before, added []string
		for _, it := range all {
			switch {
			case it.done < sent:
				before = append(before, it.id)
			case it.sent > last:
				added = append(added, it.id)
			}
		}
		judgeMoving(t, s, tr, before, added, tr.over || f.exclusive)
	}
}
