package suite

import (
	"net/url"
	"strings"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// feeder fills a collection with items of the case's own, and narrows the collection to them as far
// as the contract allows.
type feeder struct {
	list      listing
	ways      []intent // creations that fill it, one a kind of item; none: the collection cannot be fed
	items     []fed
	exclusive bool // the narrowed collection shows nothing but what this feeder made
}

// fed is one item that was made. Its creation took effect between sent and done.
type fed struct {
	id         string
	in         intent // that made it
	sent, done time.Duration
	settled    bool // it will not change any more by itself
}

// feedersOf are the creations without financial effect that a collection lists, those without a job first.
func feedersOf(c *spec.Contract, list *spec.Operation) []*spec.Operation {
	var plain, jobs []*spec.Operation
	for _, op := range c.Ops {
		switch {
		case op.Creates == nil || op.Creates.List != list.ID || op.Effect == spec.EffectFinancial || op.Moves != nil:
		case op.Job != nil:
			jobs = append(jobs, op)
		default:
			plain = append(plain, op)
		}
	}
	return append(plain, jobs...)
}

// newFeeder prepares to fill a collection; nothing is made yet but what the items need.
func newFeeder(t *check.T, list *spec.Operation, role string) *feeder {
	f := &feeder{}
	made := map[string]string{}
	var byOp [][]intent
	for _, op := range feedersOf(t.Contract(), list) {
		if t.Profile().IsAbsent(op.ID) {
			continue
		}
		byOp = append(byOp, waysOf(t, op, role, made))
	}
	for i := 0; ; i++ { // the first way of each creation, then the second of each
		n := len(f.ways)
		for _, ways := range byOp {
			if i < len(ways) {
				f.ways = append(f.ways, ways[i])
			}
		}
		if len(f.ways) == n {
			break
		}
	}
	f.list = listing{op: list, role: role, path: map[string]string{}, query: url.Values{}}
	if len(f.ways) == 0 {
		in := newIntent(t, list, role)
		f.list.path, f.list.query = in.path, in.query
		return f
	}
	for _, p := range list.Params {
		if p.In == "path" {
			f.list.path[p.Name] = f.ways[0].path[p.Name]
		}
	}
	f.isolate(t)
	return f
}

// waysOf are the intents of one creation, one an example of its body, on the same parents.
func waysOf(t *check.T, op *spec.Operation, role string, made map[string]string) []intent {
	in := buildIntent(t, op, role, made, 0)
	if op.Body == nil {
		return []intent{in}
	}
	var out []intent
	for _, ex := range bodies(op) {
		out = append(out, in.with(resolveBody(t, op, clone(ex.Value), role, made, 0)))
	}
	return out
}

// isolate narrows the collection. By time it is narrowed when the first item is there, because only
// the item tells the target's clock.
func (f *feeder) isolate(t *check.T) {
	iso := f.list.op.Collection.Isolate
	switch {
	case f.ownParent(t):
		f.exclusive = true
	case iso == nil || iso.Time || iso.Param == "":
	default:
		f.label(iso, "assay-"+t.Nonce())
		f.list = f.list.at(iso.Param, "assay-"+t.Nonce())
		f.exclusive = true
	}
}

// label marks the items that are made from now on.
func (f *feeder) label(iso *spec.Isolate, value string) {
	for i, w := range f.ways {
		body := clone(w.body)
		put(body, iso.Member, value)
		f.ways[i] = w.with(body)
	}
}

// ownParent reports whether a path parameter of the collection names something that this case made.
func (f *feeder) ownParent(t *check.T) bool {
	for _, p := range f.list.op.Params {
		if p.In != "path" || p.Ref == nil {
			continue
		}
		if _, given := t.Profile().Values[p.Name]; given {
			continue
		}
		from := t.Contract().Op(p.Ref.From)
		if p.Ref.Free || from != nil && from.Creates != nil {
			return true
		}
	}
	return false
}

// add makes n items, one after the other. A way that the target does not accept is dropped, as
// long as there is another.
func (f *feeder) add(t *check.T, n int) {
	for range n {
		for {
			if len(f.ways) == 0 {
				t.Inconclusive("%s cannot be filled: no creation was accepted", f.list.op.ID)
			}
			way := len(f.items) % len(f.ways)
			it, why := f.make(t, way)
			if why == "" {
				f.items = append(f.items, it)
				break
			}
			if len(f.ways) == 1 {
				t.Inconclusive("%s cannot be filled: %s", f.list.op.ID, why)
			}
			f.ways = append(f.ways[:way:way], f.ways[way+1:]...)
		}
		f.anchor(t)
	}
}

// make makes one item by one way; safe for lanes. why says what came instead of it.
func (f *feeder) make(t *check.T, way int) (it fed, why string) {
	in := f.ways[way%len(f.ways)]
	if in.op.Idempotency != nil {
		in = in.keyed(t.Key())
	}
	free := jobSlotFor(t, in.op)
	ex := t.Call(in.role, in.request())
	it = fed{id: createdID(in.op, ex), in: in, sent: ex.Sent, done: ex.Last, settled: true}
	if it.id == "" {
		free()
		return it, in.op.ID + " answered " + describe(ex)
	}
	if in.op.Job != nil {
		it.settled = settle(t, in, it.id)
	}
	if it.settled {
		free() // else the slot stays taken until the case ends
	}
	return it, ""
}

// anchor narrows a collection that is isolated by time to what is not older than the first item.
func (f *feeder) anchor(t *check.T) {
	iso := f.list.op.Collection.Isolate
	if f.exclusive || iso == nil || !iso.Time || len(f.items) != 1 || f.list.query.Has(iso.Param) {
		return
	}
	f.list = f.list.at(iso.Param, anchorOf(t, f.list.op.Collection, f.views(t)))
}

// anchorOf is an instant just before the oldest of some items, on the target's own clock.
func anchorOf(t *check.T, c *spec.Collection, views []any) string {
	oldest := time.Time{}
	for _, fl := range c.Filters {
		if fl.Param != c.Isolate.Param {
			continue
		}
		for _, v := range views {
			m, _ := tree.Get(v, fl.Member)
			if at, err := time.Parse(time.RFC3339, text(m)); err == nil && (oldest.IsZero() || at.Before(oldest)) {
				oldest = at
			}
		}
	}
	if oldest.IsZero() {
		return since(t)
	}
	return oldest.Add(-time.Second).UTC().Format(time.RFC3339)
}

// views reads back what the feeder made, in order; nil for an item that cannot be read.
func (f *feeder) views(t *check.T) []any {
	out := make([]any, len(f.items))
	for i, it := range f.items {
		read := it.in.op.Creates.Read
		if read == "" || t.Profile().IsAbsent(read) {
			continue
		}
		ex := t.Call(it.in.role, about(t, read, it.in, it.id).request())
		if ex.Status() == 200 {
			out[i], _ = bodyOf(ex)
		}
	}
	return out
}

// ids are the items' ids in order of creation.
func (f *feeder) ids() []string {
	out := make([]string, len(f.items))
	for i, it := range f.items {
		out[i] = it.id
	}
	return out
}

// about is a request for one thing by its id: the operation's last path parameter; the others are
// those of the creation that made it.
func about(t *check.T, opID string, made intent, id string) intent {
	op := t.Contract().Op(opID)
	in := intent{op: op, role: made.role, path: map[string]string{}, query: url.Values{}}
	for name, v := range made.path {
		if strings.Contains(op.Path, "{"+name+"}") {
			in.path[name] = v
		}
	}
	in.path[lastParam(op)] = id
	if op.Body != nil && op.Body.Required {
		in.body = exampleBody(t, op, made.role, made.made, 0)
	}
	if op.Idempotency != nil {
		in.key = t.Key()
	}
	return in
}

// lastParam is the name of the last parameter in an operation's path.
func lastParam(op *spec.Operation) string {
	name, _, _ := strings.Cut(op.Path[strings.LastIndexByte(op.Path, '{')+1:], "}")
	return name
}

// stirred makes sure that a collection which cannot be fed has had the chance to hold something:
// once a run every creation without financial effect is carried out, and its job followed.
func stirred(t *check.T, role string) {
	_, _ = t.Once("suite stir "+role, func() (any, error) {
		for _, op := range t.Contract().Ops {
			if op.Creates == nil || op.Effect == spec.EffectFinancial || op.Moves != nil || t.Profile().IsAbsent(op.ID) {
				continue
			}
			in := newIntent(t, op, role)
			free := jobSlotFor(t, op)
			ex := t.Call(role, in.request())
			if id := createdID(op, ex); op.Job != nil && id != "" && ex.Status() == op.Job.Accepted {
				awaited(t, in, id)
			}
			free()
		}
		return nil, nil
	})
}

// source prepares a collection with at least n items where that is possible.
func source(t *check.T, s check.Subject, role string, n int) *feeder {
	f := newFeeder(t, s.Op, role)
	if s.Other != nil {
		f.add(t, n)
		return f
	}
	if len(f.list.sized(n).read(t, "").items) < n {
		stirred(t, role)
	}
	f.recent(t)
	return f
}

// recent narrows a collection that others fill to its newest few items and what follows them, where
// it can be narrowed by time and shows the newest first.
func (f *feeder) recent(t *check.T) {
	c := f.list.op.Collection
	by := promised(c, nil)
	if c.Isolate == nil || !c.Isolate.Time || by == nil || !by.Desc {
		return
	}
	if items := f.list.sized(10).read(t, "").items; len(items) > 0 {
		f.list = f.list.at(c.Isolate.Param, anchorOf(t, c, items))
	}
}

// sized asks for pages of n items; 0, or a collection without sizes, asks for nothing.
func (l listing) sized(n int) listing {
	lim := l.op.Collection.Limit
	if lim == nil || n == 0 {
		return l
	}
	return l.at(lim.Param, text(min(max(n, lim.Min), lim.Max)))
}

// without drops a query parameter.
func (l listing) without(param string) listing {
	q := url.Values{}
	for k, v := range l.query {
		if k != param {
			q[k] = v
		}
	}
	l.query = q
	return l
}

// orders are the values of the sort parameter; nil stands for asking for none.
func orders(c *spec.Collection) []*spec.OrderValue {
	out := []*spec.OrderValue{nil}
	if c.Order == nil {
		return out
	}
	for i := range c.Order.Values {
		out = append(out, &c.Order.Values[i])
	}
	return out
}

// ordered asks for an order; nil asks for none.
func (l listing) ordered(v *spec.OrderValue) listing {
	if v == nil {
		return l
	}
	return l.at(l.op.Collection.Order.Param, v.Value)
}

// promised is the order that a walk has: the one asked for, or the default one; nil if none is promised.
func promised(c *spec.Collection, asked *spec.OrderValue) *spec.OrderValue {
	if asked != nil || c.Order == nil {
		return asked
	}
	for i := range c.Order.Values {
		if c.Order.Values[i].Value == c.Order.Default {
			return &c.Order.Values[i]
		}
	}
	return nil
}
