package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// resources judges that what was created is there from then on, as its creation answered it, and
// that what the contract calls immutable is.
func resources() []check.Check {
	return []check.Check{
		{
			ID:   "resources.read",
			Does: "Creates a resource of each kind of payload, reads it at once, and again after other things have happened.",
			Claims: []check.Claim{
				{ID: "resources.read", Says: "A created resource can be read from the first moment on, under the id that its creation gave."},
				{ID: "resources.as-created", Says: "A resource that was just created is read as its creation answered it."},
				{ID: "resources.echo", Says: "What the creation's body said, the resource says too: a member that both have is as it was sent."},
				{ID: "resources.immutable", Says: "A resource that the contract calls immutable is the same at every later read.", For: isImmutable},
				{ID: "resources.write-refused", Says: "No method but those of the contract changes a resource.", For: isImmutable},
			},
			Select: selectReadable,
			Cost:   check.Cost{Requests: 200, Jobs: 1},
			Run:    resourcesRead,
		},
		{
			ID:     "resources.listed",
			Does:   "Creates a resource, looks for it in its collection at once and later, and compares it with what its read operation shows.",
			Claims: []check.Claim{{ID: "resources.listed", Says: "What was created is in its collection from then on, once, as its read operation shows it."}},
			Select: selectListed,
			Cost:   check.Cost{Requests: 400, Jobs: 1},
			Run:    resourcesListed,
		},
		{
			ID:     "resources.money",
			Does:   "Creates with amounts of money of many sizes and scales, and looks for them in the answer, the resource and the list.",
			Claims: []check.Claim{{ID: "resources.money", Says: "An amount of money comes back exactly as it was sent: every digit, the asset and the scale."}},
			Select: selectMoney,
			Cost:   check.Cost{Requests: 200, Jobs: 1},
			Run:    resourcesMoney,
		},
	}
}

// selectReadable are the creations whose resource is read by an operation that does not read a job:
// a job moves on by itself.
func selectReadable(c *spec.Contract) []check.Subject {
	var out []check.Subject
	for _, op := range c.Ops {
		if op.Creates == nil || op.Creates.Read == "" || op.Job != nil && op.Job.Read == op.Creates.Read {
			continue
		}
		out = append(out, check.Subject{Name: op.ID, Op: op, Other: c.Op(op.Creates.Read)})
	}
	return out
}

func isImmutable(s check.Subject) bool { return s.Other != nil && s.Other.Immutable }

// newID is the id of what a creation made, also where the answer names a job beside it.
func newID(op *spec.Operation, ex wire.Exchange) string {
	if !admitted(ex) {
		return ""
	}
	if op.Creates.ID.Part == "header" {
		return ex.Header(op.Creates.ID.Name)
	}
	return member(ex, op.Creates.ID.Pointer)
}

func resourcesRead(_ context.Context, t *check.T, s check.Subject) {
	for _, sm := range specimens(t, s.Op) {
		if !t.Attempt(func(t *check.T) { newCreation(t, s.Op, sm).judgeReads(s.Other) }) {
			return
		}
	}
	for _, sm := range specimens(t, s.Op)[:1] {
		t.Attempt(func(t *check.T) { newCreation(t, s.Op, sm).judgeSpaces(s.Other) })
	}
	newCreation(t, s.Op, richest(specimens(t, s.Op), s.Op)).judgeValues(t, s.Other)
}

// judgeSpaces creates with white space around texts that may be any, where that is admitted.
func (c *creation) judgeSpaces(read *spec.Operation) {
	body, _ := clone(c.in.body).(map[string]any)
	padded := false
	for _, name := range sortedKeys(body) {
		if s, ok := body[name].(string); ok && freeText(c.op, tree.PointerTo(name)) {
			body[name], padded = "  "+s+" ", true
		}
	}
	if !padded || len(c.op.Body.Schema.Validate(body)) > 0 {
		return
	}
	c.in = c.in.with(body)
	done := jobSlotFor(c.t, c.op)
	defer done()
	ex := c.t.Call(primary, c.in.request())
	id := newID(c.op, ex)
	if id == "" {
		return // it may be no text to the target
	}
	c.judgeEcho(read, c.t.Call(primary, about(c.t, read.ID, c.in, id).request()))
	c.follow(primary, ex)
}

// freeText reports whether the contract lets a member of the body be any text.
func freeText(op *spec.Operation, at tree.Pointer) bool {
	for _, name := range []string{"enum", "const", "pattern", "format", "oneOf", "anyOf"} {
		if keyword(op.Body.Schema, at, name) != nil {
			return false
		}
	}
	refers := slices.ContainsFunc(op.Refs, func(r spec.Ref) bool { return r.In == "body" && r.Pointer == at })
	return !refers && keyword(op.Body.Schema, at, "type") == "string"
}

// judgeReads creates one resource and reads it.
func (c *creation) judgeReads(read *spec.Operation) {
	done := jobSlotFor(c.t, c.op)
	defer done()
	ex := c.t.Call(primary, c.in.request())
	id := newID(c.op, ex)
	if id == "" {
		c.t.Inconclusive("a request that was admitted before was answered %s", describe(ex))
	}
	look := about(c.t, read.ID, c.in, id)
	first := c.t.Call(primary, look.request())
	c.t.Must("resources.read", first.Status() == http.StatusOK, "200 for "+c.op.Creates.Resource+" "+id+", which was just created", describe(first))
	shown := member(first, idAt(c.op))
	c.t.Judge("resources.read", shown == "" || shown == id, "the resource with id "+id, "id "+shown)
	c.judgeAsCreated(read, ex, first)
	c.judgeEcho(read, first)
	c.follow(primary, ex)
	if !read.Immutable {
		return
	}
	same := func(claim, when string) {
		now := c.t.Call(primary, look.request())
		diff := c.unlike(read, first, now)
		c.t.Judge(claim, now.Status() == first.Status() && diff == "", "the resource as it was read first, "+when+": "+describe(first),
			describe(now)+": "+diff)
	}
	same("resources.immutable", "at a second read")
	if c.op.Idempotency != nil && c.in.key != "" {
		c.follow(primary, c.t.Call(primary, c.in.request()))
		same("resources.immutable", "after a repetition of its creation")
	}
	if !c.job {
		c.t.Call(primary, c.fresh(c.in.body).request())
		same("resources.immutable", "after another creation in the same place")
		c.tryToWrite(look, same)
	}
}

// tryToWrite sends the methods that change things elsewhere.
func (c *creation) tryToWrite(look intent, same func(claim, when string)) {
	for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if methodOf(c.t.Contract(), look.op.Path, method) {
			continue
		}
		rq := look.request()
		rq.Operation, rq.Method = "", method
		if method != http.MethodDelete {
			rq.Body = encode(c.in.body)
			rq.Fields = append(rq.Fields, wire.Field{Name: "Content-Type", Value: "application/json"})
		}
		ex := c.t.Call(primary, rq)
		c.t.Judge("resources.write-refused", rejected(ex), "a 4xx for "+method+" on "+look.op.Path, describe(ex))
		same("resources.write-refused", "after "+method)
	}
}

func methodOf(c *spec.Contract, path, method string) bool {
	return slices.ContainsFunc(c.Ops, func(op *spec.Operation) bool { return op.Path == path && op.Method == method })
}

// idAt is where a representation of the resource has its id, as far as the creation's answer tells.
func idAt(op *spec.Operation) tree.Pointer {
	if op.Creates.ID.Part == "body" {
		return op.Creates.ID.Pointer
	}
	return "/id"
}

// judgeAsCreated compares the creation's answer with the first read. A state may have gone on.
func (c *creation) judgeAsCreated(read *spec.Operation, created, first wire.Exchange) {
	diff := c.unlike(read, created, first)
	if m := c.t.Contract().Machine(c.op.Creates.Resource); m != nil && diff != "" {
		at := tree.PointerTo(lastToken(m.Schema))
		machine := oracle.Machine{Transitions: m.Transitions, Terminal: m.Terminal}
		if was, now := member(created, at), member(first, at); was != now && machine.Reachable(was, now) {
			c.t.NotApplicable("resources.as-created", "the resource had moved on before it was read")
			return
		}
	}
	c.t.Judge("resources.as-created", diff == "", "what the creation answered: "+describe(created), describe(first)+": "+diff)
}

// unlike names what two representations of one resource differ in, "" for nothing.
func (c *creation) unlike(read *spec.Operation, a, b wire.Exchange) string {
	return differentBodies(a, b, slices.Concat(c.t.Contract().Doc.Volatile, c.op.Volatile, read.Volatile))
}

// selectListed are the creations that are both listed and read.
func selectListed(c *spec.Contract) []check.Subject {
	var out []check.Subject
	for _, op := range c.Ops {
		if op.Creates == nil || op.Creates.Read == "" || listOf(c, op) == nil {
			continue
		}
		out = append(out, check.Subject{Name: op.ID, Op: op, Other: listOf(c, op), Calls: []*spec.Operation{c.Op(op.Creates.Read)}})
	}
	return out
}

func resourcesListed(_ context.Context, t *check.T, s check.Subject) {
	read := s.Calls[0]
	for _, sm := range kinds(specimens(t, s.Op)) {
		c := newCreation(t, s.Op, sm)
		ex := c.send(c.in)
		id := newID(s.Op, ex)
		if id == "" {
			t.Inconclusive("a request that was admitted before was answered %s", describe(ex))
		}
		view := t.Call(primary, about(t, read.ID, c.in, id).request())
		c.judgeListed(s.Other, read, id, view, "at once")
		if !c.job {
			t.Call(primary, c.fresh(c.in.body).request())
		}
		c.judgeListed(s.Other, read, id, view, "later")
	}
}

// judgeListed looks for one item in the collection.
func (c *creation) judgeListed(list, read *spec.Operation, id string, view wire.Exchange, when string) {
	items, ok := c.itemsOf(list, view)
	if !ok {
		c.t.NotApplicable("resources.listed", tooLong)
		return
	}
	var found []any
	for _, it := range items {
		if shown, _ := tree.Get(it, list.Collection.ID); text(shown) == id {
			found = append(found, it)
		}
	}
	c.t.Judge("resources.listed", len(found) == 1, fmt.Sprintf("%s %s once in %s, %s", c.op.Creates.Resource, id, list.ID, when), fmt.Sprintf("%d times", len(found)))
	if len(found) == 0 || view.Status() != http.StatusOK {
		return
	}
	diff := differences(c.t, read, decoded(view), found[0])
	c.t.Judge("resources.listed", len(diff) == 0, "the item as it is read: "+describe(view), fmt.Sprintf("%.300s, different at %v", encode(found[0]), diff))
}

// itemsOf walks the collection, narrowed as far as it can be to where the item must be.
func (c *creation) itemsOf(list *spec.Operation, view wire.Exchange) (items []any, ok bool) {
	l := c.list
	if !c.counted || l.op != list {
		in := newIntent(c.t, list, primary)
		for name := range in.path {
			if v, has := c.in.path[name]; has {
				in.path[name] = v
			}
		}
		l = listing{op: list, role: primary, path: in.path, query: url.Values{}}
	}
	tr, over := whole(c.t, l, []any{decoded(view)})
	for _, p := range tr.pages {
		items = append(items, p.items...)
	}
	return items, over
}

// selectMoney are the creations whose payload has an amount of money in some example. What admits a
// job answers with the job, which repeats no payload.
func selectMoney(c *spec.Contract) []check.Subject {
	var out []check.Subject
	for _, op := range c.Ops {
		if op.Creates == nil || op.Job != nil {
			continue
		}
		for _, e := range bodies(op) {
			if len(moneyIn(op, e.Value)) > 0 {
				out = append(out, check.Subject{Name: op.ID, Op: op})
				break
			}
		}
	}
	return out
}

// amount is a place of a payload with money in it.
type amount struct {
	at    tree.Pointer
	names spec.Money
}

// moneyIn finds the amounts of a payload: members whose schema, or an alternative of it, says so.
func moneyIn(op *spec.Operation, body any) []amount {
	var out []amount
	m, _ := body.(map[string]any)
	for _, name := range sortedKeys(m) {
		if _, object := m[name].(map[string]any); !object {
			continue
		}
		at := tree.PointerTo(name)
		for _, raw := range alternatives(op, at) {
			if trait := spec.PropertyTraitsOf(raw).Money; trait != nil {
				out = append(out, amount{at, *trait})
				break
			}
		}
	}
	return out
}

// alternatives are the schemas of a member, those of its oneOf and anyOf included.
func alternatives(op *spec.Operation, at tree.Pointer) []map[string]any {
	s := op.Body.Schema
	out := schemasAt(s, at)
	for _, raw := range slices.Clone(out) {
		for _, key := range []string{"oneOf", "anyOf"} {
			branches, _ := raw[key].([]any)
			for _, b := range branches {
				out = append(out, applying(s, b, 0)...)
			}
		}
	}
	return out
}

func resourcesMoney(_ context.Context, t *check.T, s check.Subject) {
	judged := false
	for _, sm := range specimens(t, s.Op) {
		probe := newCreation(t, s.Op, sm)
		for _, body := range probe.amounts() {
			t.Attempt(func(t *check.T) {
				c := newCreation(t, s.Op, sm)
				judged = c.judgeMoney(c.adoptAmounts(body)) || judged
			})
		}
	}
	if !judged {
		t.NotApplicable("resources.money", "no representation shows the amounts that "+s.Op.ID+" takes")
	}
}

// amounts are payloads with other amounts: the greatest, those that a double rounds, every scale.
func (c *creation) amounts() []any {
	var out []any
	digits := []string{"1", "10", "9007199254740993", "100000000000000001", "999999999999999999", "123456789"}
	scales := []string{"0", "2", "8", "18"}
	for i, d := range digits {
		body := clone(c.in.body)
		for _, a := range moneyIn(c.op, body) {
			put(body, a.at.Join(tree.Pointer(a.names.Amount)), d)
			put(body, a.at.Join(tree.Pointer(a.names.Scale)), json.Number(scales[i%len(scales)]))
		}
		if len(c.op.Body.Schema.Validate(body)) == 0 {
			out = append(out, body)
		}
	}
	return append(out, c.in.body)
}

// adoptAmounts puts the amounts of a payload into the creation's own.
func (c *creation) adoptAmounts(from any) any {
	body := clone(c.in.body)
	for _, a := range moneyIn(c.op, body) {
		if v, ok := tree.Get(from, a.at); ok {
			put(body, a.at, clone(v))
		}
	}
	return body
}

// judgeMoney creates with a payload and compares every amount that comes back; false if none does.
func (c *creation) judgeMoney(body any) (judged bool) {
	ex := c.send(c.in.with(body))
	if !admitted(ex) {
		c.t.Skip("the target does not take these amounts: %s", describe(ex))
	}
	shown := map[string]any{"the creation's answer": decoded(ex)}
	if again, ok := c.readBack(createdID(c.op, ex)); ok {
		shown["the resource"] = decoded(again)
	}
	for _, where := range sortedKeys(shown) {
		for _, a := range moneyIn(c.op, body) {
			sent, _ := tree.Get(body, a.at)
			got, there := tree.Get(shown[where], a.at)
			if !there {
				continue
			}
			judged = true
			ok := true
			for _, p := range []string{a.names.Amount, a.names.Asset, a.names.Scale} {
				x, _ := tree.Get(sent, tree.Pointer(p))
				y, _ := tree.Get(got, tree.Pointer(p))
				ok = ok && x == y // texts and number spellings, not values
			}
			c.t.Judge("resources.money", ok, fmt.Sprintf("%s of %s as sent: %s", a.at, where, encode(sent)), string(encode(got)))
		}
	}
	return judged
}
