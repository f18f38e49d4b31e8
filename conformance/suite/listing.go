package suite

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// listing is a collection narrowed by path and query to what is to be looked at.
type listing struct {
	op    *spec.Operation
	role  string
	path  map[string]string
	query url.Values
	// own picks the items of this case on our side, where no parameter of the collection can.
	member tree.Pointer
	value  string
}

// page is one answer of a collection.
type page struct {
	ex    wire.Exchange
	items []any
	ids   []string
	next  string // "" at the end
}

// at returns a copy of the listing with one query parameter set.
func (l listing) at(param, value string) listing {
	q := url.Values{}
	for k, v := range l.query {
		q[k] = v
	}
	q.Set(param, value)
	l.query = q
	return l
}

// request asks for the page at a cursor; "" is the first page.
func (l listing) request(cursor string) wire.Request {
	in := intent{op: l.op, role: l.role, path: l.path, query: l.query}
	if cursor != "" {
		in.query = url.Values{}
		for k, v := range l.query {
			in.query[k] = v
		}
		in.query.Set(l.op.Collection.Cursor.Name, cursor)
	}
	return in.request()
}

// read fetches one page and ends the flow as inconclusive if it is none.
func (l listing) read(t *check.T, cursor string) page {
	ex := t.Call(l.role, l.request(cursor))
	p, why := l.parse(ex)
	if why != "" {
		t.Inconclusive("%s gave no page: %s", l.op.ID, why)
	}
	return p
}

// parse reads a page out of an answer, or says why it is none.
func (l listing) parse(ex wire.Exchange) (page, string) {
	c := l.op.Collection
	v, err := bodyOf(ex)
	if ex.Status() != http.StatusOK || err != nil {
		return page{ex: ex}, describe(ex)
	}
	items, found := tree.Get(v, c.Items)
	list, isList := items.([]any)
	if !found || !isList {
		return page{ex: ex}, "no array at " + string(c.Items)
	}
	p := page{ex: ex, items: list, ids: make([]string, len(list))}
	for i, it := range list {
		id, _ := tree.Get(it, c.ID)
		p.ids[i] = text(id)
	}
	if next, found := tree.Get(v, c.Next); found && next != nil {
		p.next = text(next)
	}
	return p, ""
}

const maxPages = 400 // of one walk; a collection that is longer is narrowed or given up

// walk follows the cursors to the end and returns the pages; done is false if it did not end.
func (l listing) walk(t *check.T) (pages []page, done bool) {
	cursor := ""
	for range maxPages {
		p := l.read(t, cursor)
		pages = append(pages, p)
		if p.next == "" {
			return pages, true
		}
		cursor = p.next
	}
	return pages, false
}

// mine reports whether an item belongs to the case.
func (l listing) mine(item any) bool {
	if l.member == "" {
		return true
	}
	v, ok := tree.Get(item, l.member)
	return ok && text(v) == l.value
}

// count reads back how many items of the case exist: effects are counted, not inferred from answers.
func (l listing) count(t *check.T) (ids []string) {
	big := l
	if lim := l.op.Collection.Limit; lim != nil {
		big = l.at(lim.Param, text(lim.Max))
	}
	pages, done := big.walk(t)
	if !done {
		t.Inconclusive("%s did not end within %d pages, so effects cannot be counted", l.op.ID, maxPages)
	}
	for _, p := range pages {
		for i, it := range p.items {
			if l.mine(it) {
				ids = append(ids, p.ids[i])
			}
		}
	}
	return ids
}

// isolated builds a creation whose effects can be counted exactly, with the listing that counts
// them; counted is false where the contract gives no way to tell the case's items from others'.
func isolated(t *check.T, op *spec.Operation, role string) (in intent, l listing, counted bool) {
	return isolatedIn(t, op, listOf(t.Contract(), op), role, 0)
}

// isolatedIn is isolated for one of the body's examples, counted in a list of the caller's choice.
func isolatedIn(t *check.T, op, list *spec.Operation, role string, example int) (in intent, l listing, counted bool) {
	made := map[string]string{}
	plain := func() intent { return exampleIntent(t, op, role, made, example) }
	if list == nil || list.Collection.Isolate == nil || t.Profile().IsAbsent(list.ID) {
		return plain(), listing{}, false
	}
	iso := list.Collection.Isolate
	if iso.Time && iso.Member != "" {
		resource := refResource(op, iso.Member)
		if resource == "" || !freshParent(t, op, resource, role, made, example) {
			return plain(), listing{}, false
		}
	}
	in = plain()
	l = listing{op: list, role: role, path: in.path, query: url.Values{}}
	switch {
	case iso.Path != "":
		return in, l, true
	case iso.Time && iso.Member != "":
		v, ok := tree.Get(in.body, iso.Member)
		l.member, l.value = iso.Member, text(v)
		return in, l.at(iso.Param, since(t)), ok
	case !iso.Time && iso.Param != "":
		own := t.Key() // no other creation has it, not even one of the same case
		put(in.body, iso.Member, own)
		return in, l.at(iso.Param, own), true
	}
	return in, l, false
}

// exampleIntent is buildIntent with one of the body's examples.
func exampleIntent(t *check.T, op *spec.Operation, role string, made map[string]string, example int) intent {
	in := buildIntent(t, op, role, made, 0)
	if example > 0 {
		in.body = resolveBody(t, op, clone(bodies(op)[example].Value), role, in.made, 0)
	}
	return in
}

// freshParent makes a resource that nothing refers to yet, and of a kind that the creation may refer
// to: which example of it that is, is tried once a run. ok is false if none is.
func freshParent(t *check.T, op *spec.Operation, resource, role string, made map[string]string, example int) (ok bool) {
	maker := makerOf(t.Contract(), resource)
	if maker == nil || t.Profile().IsAbsent(maker.ID) {
		return false
	}
	which, err := t.Once(fmt.Sprintf("parent %s of %s %d", resource, op.ID, example), func() (any, error) {
		for i := range max(1, len(bodies(maker))) {
			with := map[string]string{}
			if !makeWith(t, maker, resource, role, with, i) {
				continue
			}
			c := creation{t: t, op: op, ended: map[string]string{}}
			if admitted(c.send(exampleIntent(t, op, role, with, example))) {
				return i, nil
			}
		}
		return -1, nil
	})
	if err != nil {
		t.Inconclusive("no %s of our own could be tried for %s: %v", resource, op.ID, err)
	}
	i, _ := which.(int)
	return i >= 0 && makeWith(t, maker, resource, role, made, i)
}

// makeWith makes a resource with one of its creation's examples and notes its id.
func makeWith(t *check.T, maker *spec.Operation, resource, role string, made map[string]string, example int) bool {
	made[resource] = createdID(maker, t.Call(role, exampleIntent(t, maker, role, map[string]string{}, example).request()))
	return made[resource] != ""
}

// makerOf is the operation that creates a resource type without a job or a state before it.
func makerOf(c *spec.Contract, resource string) *spec.Operation {
	for _, op := range c.Ops {
		if op.Creates != nil && op.Creates.Resource == resource && op.Job == nil && op.Moves == nil {
			return op
		}
	}
	return nil
}

func refResource(op *spec.Operation, p tree.Pointer) string {
	for _, r := range op.Refs {
		if r.In == "body" && r.Pointer == p {
			return r.Resource
		}
	}
	return ""
}

// since is a lower bound for the creation time of everything the case makes: the target's own Date
// (its clock, not ours), with room for rounding to seconds.
func since(t *check.T) string {
	at := time.Now()
	for _, ex := range t.Exchanges() {
		if d, err := http.ParseTime(ex.Header("Date")); err == nil {
			at = d
			break
		}
	}
	return at.Add(-2 * time.Second).UTC().Format(time.RFC3339)
}

// listOf is the collection that shows what an operation creates, nil if none does.
func listOf(c *spec.Contract, op *spec.Operation) *spec.Operation {
	if op.Creates == nil || op.Creates.List == "" {
		return nil
	}
	if l := c.Op(op.Creates.List); l != nil && l.Collection != nil {
		return l
	}
	return nil
}

// put sets a member of an object, present or not; only the last token may be missing.
func put(root any, p tree.Pointer, v any) {
	parent, name := p.Parent()
	if obj, ok := tree.Get(root, parent); ok {
		if m, isObj := obj.(map[string]any); isObj {
			m[name] = v
		}
	}
}
