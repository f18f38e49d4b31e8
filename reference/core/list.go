package core

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"assay.kit/reference/core/cursor"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

const (
	scanBatch = 256
	// scanBudget bounds the work for one page: a filter that few items pass gives short or empty
	// pages with a cursor, not a long scan.
	scanBudget = 8192
	// sortBudget bounds a listing in an order that the store does not have.
	sortBudget = 20000
	createdAt  = tree.Pointer("/created_at") // the member that Seq has the order of
)

// walk is one page's request, understood.
type walk struct {
	trait   *spec.Collection
	request *Request
	visible func(Principal, Resource) bool
	size    int
	order   *spec.OrderValue // nil: the one order that there is
	desc    bool
	filters [16]byte
	from    *cursor.Content // nil: first page
	upTo    int64
	after   time.Time // items created later only; zero: all
}

// list is the default Read of a collection.
func (c *Core) list(ctx context.Context, b Behaviour, r *Request) (Answer, *Problem) {
	w, p := c.walk(b, r)
	if p != nil {
		return Answer{}, p
	}
	var items []Resource
	var next string
	err := c.store.View(ctx, func(rd Reader) error {
		for _, ref := range r.Op.Refs {
			if ref.In == "path" {
				if p = c.resolve(rd, r, ref); p != nil {
					return nil
				}
			}
		}
		current, err := rd.Watermark()
		if err != nil {
			return err
		}
		w.upTo = c.rules.Watermark(w.from, current)
		items, next, err = c.page(rd, w)
		return err
	})
	switch {
	case err != nil:
		return Answer{}, c.failed(r.Op, err)
	case p != nil:
		return Answer{}, p
	}
	return c.pageAnswer(w, items, next)
}

// walk judges page size, order and cursor.
func (c *Core) walk(b Behaviour, r *Request) (*walk, *Problem) {
	t := r.Op.Collection
	w := &walk{trait: t, request: r, visible: b.Visible, size: scanBatch}
	except := []string{t.Cursor.Name}
	if t.Limit != nil {
		except = append(except, t.Limit.Param)
		n, ok := c.rules.PageSize(t.Limit, sent(r, t.Limit.Param))
		if !ok {
			return nil, c.invalid(InvalidParameter, "The page size is out of range.", []Violation{{
				pointerTo(t.Limit.Param), "range", fmt.Sprintf("must be an integer from %d to %d", t.Limit.Min, t.Limit.Max)}})
		}
		w.size = n
	}
	name := ""
	if t.Order != nil {
		except = append(except, t.Order.Param)
		name = cmp.Or(r.Query.Get(t.Order.Param), t.Order.Default)
		i := slices.IndexFunc(t.Order.Values, func(v spec.OrderValue) bool { return v.Value == name })
		if i < 0 {
			return nil, c.invalid(InvalidParameter, "The order is unknown.", []Violation{{pointerTo(t.Order.Param), "enum", "must be one of the documented orders"}})
		}
		w.order = &t.Order.Values[i]
	}
	w.desc = c.rules.Descending(w.order)
	w.filters = cursor.Hash(c.rules.NormalizePath(r.EscapedPath), r.Query, except...)
	if r.Op.Collection.Resource == kindEvent {
		w.after = r.Now.Add(-r.Principal.Limits.EventRetention)
	}
	for _, f := range t.Filters {
		if bound := sent(r, f.Param); bound != nil {
			if at := c.rules.CreatedAfter(f, *bound); at.After(w.after) {
				w.after = at
			}
		}
	}
	return w, c.openCursor(w, name)
}

// openCursor reads the cursor, if one was sent, and judges it.
func (c *Core) openCursor(w *walk, order string) *Problem {
	raw := sent(w.request, w.trait.Cursor.Name)
	if raw == nil {
		return nil
	}
	invalid := func() *Problem {
		return c.refusal(w.trait.Invalid, CursorInvalid, "The cursor is not valid for this request.")
	}
	plain, err := c.rules.Open(c.keys, c.rules.CursorScope(w.request.Op.ID, w.request.Principal), *raw)
	if err != nil {
		return invalid()
	}
	content, err := cursor.Decode(plain)
	switch {
	case err != nil || !c.rules.CursorBinds(content, w.filters, order):
		return invalid()
	case c.rules.CursorExpired(content, w.request.Now):
		return c.refusal(w.trait.Expired, CursorExpired, "The cursor has expired; begin the traversal again.")
	}
	w.from = &content
	return nil
}

// sent is a query parameter as it was sent, nil if it was not.
func sent(r *Request, name string) *string {
	if vs, ok := r.Query[name]; ok && len(vs) > 0 {
		return &vs[0]
	}
	return nil
}

// page finds the items of one page and the cursor to the next, "" at the end.
func (c *Core) page(rd Reader, w *walk) ([]Resource, string, error) {
	find := c.scan
	if w.order != nil && w.order.By != createdAt {
		find = c.sorted
	}
	found, unfinished, err := find(rd, w)
	if err != nil {
		return nil, "", err
	}
	items, resume := c.rules.Page(found, w.size)
	if resume == nil {
		resume = unfinished
	}
	if resume == nil {
		return items, "", nil
	}
	next := cursor.Content{
		Expires:   w.request.Now.Add(period(w.trait.TTL, w.request.Principal.Limits)),
		Watermark: w.upTo, Filters: w.filters, Seq: resume.Seq,
	}
	if w.order != nil {
		next.Order = w.order.Value
		if w.order.By != createdAt {
			next.Key = sortKey(*resume, w.order.By)
		}
	}
	s, err := c.rules.Seal(c.keys, c.rules.CursorScope(w.request.Op.ID, w.request.Principal), cursor.Encode(next))
	return items, s, err
}

// scan reads on in the store's order until a page and one item more are found. unfinished is where
// it stopped if the budget ran out before.
func (c *Core) scan(rd Reader, w *walk) (found []Resource, unfinished *Resource, err error) {
	q := c.query(w)
	if w.from != nil {
		q.After = w.from.Seq
	}
	for budget := scanBudget; budget > 0; budget -= q.Limit {
		rows, err := rd.Scan(q)
		if err != nil {
			return nil, nil, err
		}
		for _, row := range rows {
			if c.shows(w, row) {
				if found = append(found, row); len(found) > w.size {
					return found, nil, nil
				}
			}
		}
		if len(rows) < q.Limit {
			return found, nil, nil
		}
		unfinished = &rows[len(rows)-1]
		q.After = unfinished.Seq
	}
	return found, unfinished, nil
}

func (c *Core) query(w *walk) Query {
	parent := parentOf(w.request.Op, w.request.Path)
	return Query{
		Kind: w.trait.Resource, Workspace: w.request.Principal.Workspace, Parent: parent, AnyParent: parent == "",
		CreatedAfter: w.after, UpTo: w.upTo, Desc: w.desc, Limit: min(scanBatch, max(w.size+1, 32)),
	}
}

// sorted reads the whole snapshot, sorts it by a member and then by Seq, and goes on after the key
// of the cursor.
func (c *Core) sorted(rd Reader, w *walk) (found []Resource, unfinished *Resource, err error) {
	q := c.query(w)
	q.Desc, q.Limit = false, sortBudget+1
	rows, err := rd.Scan(q)
	if err != nil {
		return nil, nil, err
	}
	if len(rows) > sortBudget {
		return nil, nil, fmt.Errorf("more than %d resources cannot be listed in order of %s", sortBudget, w.order.By)
	}
	type keyed struct {
		key string
		res Resource
	}
	compare := func(a, b keyed) int {
		n := cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.res.Seq, b.res.Seq))
		if w.desc {
			return -n
		}
		return n
	}
	var all []keyed
	for _, row := range rows {
		k := keyed{sortKey(row, w.order.By), row}
		if w.from != nil && compare(k, keyed{w.from.Key, Resource{Seq: w.from.Seq}}) <= 0 {
			continue
		}
		if c.shows(w, row) {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, compare)
	for _, k := range all[:min(len(all), w.size+1)] {
		found = append(found, k.res)
	}
	return found, nil, nil
}

// sortKey is a member as text that sorts like its value: numbers by value, strings by bytes.
func sortKey(res Resource, by tree.Pointer) string {
	var body any
	if decode(res.Body, &body) != nil {
		return ""
	}
	v, _ := tree.Get(body, by)
	switch v := v.(type) {
	case string:
		return "s" + v
	case json.Number:
		f, _ := v.Float64() // out of range sorts at the end
		bits := math.Float64bits(f)
		if f < 0 {
			bits = ^bits
		} else {
			bits |= 1 << 63
		}
		return fmt.Sprintf("n%016x", bits)
	case bool:
		return fmt.Sprintf("b%t", v)
	}
	return ""
}

// shows reports whether a row is an item of this walk: readable, not hidden, past every filter.
func (c *Core) shows(w *walk, res Resource) bool {
	p := w.request.Principal
	if !c.rules.MayRead(p, res) || c.hides(p, res) {
		return false
	}
	if w.visible != nil && !w.visible(p, res) {
		return false
	}
	var body any
	for _, f := range w.trait.Filters {
		value := sent(w.request, f.Param)
		if value == nil {
			continue
		}
		if body == nil && decode(res.Body, &body) != nil {
			return false
		}
		if !c.rules.Match(f, *value, body) {
			return false
		}
	}
	return true
}

func (c *Core) pageAnswer(w *walk, items []Resource, next string) (Answer, *Problem) {
	list := make([]json.RawMessage, 0, len(items))
	for _, it := range items {
		list = append(list, c.rules.Represent(w.request.Op, it))
	}
	page := map[string]any{}
	set(page, w.trait.Items, list)
	if next == "" {
		c.rules.End(w.trait, page)
	} else {
		set(page, w.trait.Next, next)
	}
	answerShape(w.request.Op, http.StatusOK).fill(page)
	body, err := encode(page)
	if err != nil {
		return Answer{}, c.broken(w.request.Op, err)
	}
	return Answer{Status: http.StatusOK, Body: body}, nil
}

// Watermark is the bound of a walk: what was committed when its first page was made.
func Watermark(c *cursor.Content, current int64) int64 {
	if c == nil {
		return current
	}
	return c.Watermark
}

// Page cuts what was found to one page and says after which item the next one begins; nil: none does.
func Page(found []Resource, limit int) (items []Resource, resume *Resource) {
	if len(found) <= limit {
		return found, nil
	}
	return found[:limit], &found[limit-1]
}

// End marks the last page as the contract says: a null, empty or absent next cursor.
func End(t *spec.Collection, page map[string]any) {
	switch t.End {
	case "absent":
	case "empty":
		set(page, t.Next, "")
	default:
		set(page, t.Next, nil)
	}
}

// CreatedAfter is the bound on creation time that a filter means, zero if it means another member.
func CreatedAfter(f spec.Filter, value string) time.Time {
	if f.Match != "after" || f.Member != createdAt {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		return time.Time{}
	}
	return t
}

// Match reports whether an item passes a filter: its member equals the value, or, for "after", is
// a later time. A member that is absent or null passes none.
func Match(f spec.Filter, value string, item any) bool {
	v, ok := tree.Get(item, f.Member)
	if !ok || v == nil {
		return false
	}
	text := fmt.Sprint(v)
	if f.Match != "after" {
		return text == value
	}
	have, err1 := time.Parse(time.RFC3339Nano, text)
	want, err2 := time.Parse(time.RFC3339Nano, value)
	return err1 == nil && err2 == nil && have.After(want)
}
