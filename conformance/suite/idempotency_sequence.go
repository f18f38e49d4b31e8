package suite

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

func runSequential(_ context.Context, t *check.T, s check.Subject) {
	all := specimens(t, s.Op)
	for i, sm := range kinds(all) {
		t.Attempt(func(t *check.T) {
			c := newCreation(t, s.Op, sm)
			first, marker := c.openMarked()
			c.judgeExpiry(first)
			c.judgeReplays(first)
			c.judgeConflict(first, c.otherPayload(all), marker)
			c.judgeMoved(first)
			if i == 0 {
				c.judgeLate(first)
			}
		})
	}
}

// judgeLate repeats the creation when a second has passed: before that, an expiry in whole seconds
// looks constant though every replay moves it.
func (c *creation) judgeLate(first wire.Exchange) {
	e := c.expiry(first)
	if e == "" {
		return
	}
	if left := 1100*time.Millisecond - (c.t.Now() - first.Sent); left > 0 {
		c.t.Pause(left)
	}
	if again := c.send(c.in); c.same(first, again) && c.expiry(again) != "" {
		c.t.Judge("idempotency.expires-constant", sameInstant(e, c.expiry(again)), e, c.expiry(again))
	}
}

// judgeReplays repeats the creation and counts.
func (c *creation) judgeReplays(first wire.Exchange) {
	for range scaled(c.t, 2, 2, 5) {
		c.judgeReplay("idempotency.replay", first)
	}
	c.judgeCount("idempotency.once", 1)
}

// judgeReplay repeats the creation once and judges all that a replay promises.
func (c *creation) judgeReplay(claim string, first wire.Exchange) {
	again := c.send(c.in)
	if spendsAuthority(check.Subject{Op: c.op}) {
		c.t.Judge("idempotency.spent", c.same(first, again), c.replayOf(first), describe(again))
	}
	if !c.t.Judge(claim, c.same(first, again), c.replayOf(first), describe(again)) {
		return
	}
	if d := c.difference(first, again); c.startsJob(first) {
		// A job had ended before the first repetition, so this tells the original from the current.
		c.t.Judge("idempotency.original", d == "", "the first answer, though the job has ended since", d)
		c.t.NotApplicable("idempotency.representation", "the job has moved on before the first repetition: see idempotency.original")
	} else {
		c.t.Judge("idempotency.representation", d == "", "the answer of "+c.op.ID+" that came first", d)
	}
	if e := c.expiry(first); e != "" {
		now := c.expiry(again)
		c.t.Judge("idempotency.expires", now != "", "the expiry on a replay too", "no "+c.op.Idempotency.Expires.String())
		c.t.Judge("idempotency.expires-constant", now == "" || sameInstant(e, now), e, now)
	}
}

func sameInstant(a, b string) bool {
	x, _, errA := instant(a)
	y, _, errB := instant(b)
	return a == b || errA == nil && errB == nil && x.Equal(y)
}

// judgeExpiry looks at the expiry that a first admission announces.
func (c *creation) judgeExpiry(first wire.Exchange) {
	const claim, window = "idempotency.expires", "idempotency.expires-window"
	if c.op.Idempotency.Expires.IsZero() {
		return
	}
	s := c.expiry(first)
	if !c.t.Judge(claim, s != "", "a value at "+c.op.Idempotency.Expires.String(), "none") {
		return
	}
	at, utc, err := instant(s)
	if !c.t.Judge(claim, err == nil, "a point in time with an offset", s) {
		return
	}
	if tellsUTC(check.Subject{Op: c.op}) {
		c.t.Judge("idempotency.expires-utc", utc, "a point in time in UTC", s)
	}
	began, source := c.admission(first)
	keep := c.retention()
	if source == "" || keep == 0 {
		c.t.NotApplicable(window, "no answer tells the moment of admission by the target's own clock, or the contract no retention")
		return
	}
	// What tells the moment may be of any between the request and the answer, and so may admission.
	slack := 2*time.Second + first.Last - first.Sent
	want := began.Add(keep)
	c.t.Judge(window, at.Sub(want).Abs() <= slack,
		fmt.Sprintf("%s, which is %s plus %s", want.UTC().Format(time.RFC3339), source, keep), s)
}

// admission is when the target admitted a creation, by the clock that its keys expire by, and what
// tells it; source is "" if nothing does. Date is often another clock (that of the HTTP server, or of a
// proxy), so it counts only where nobody can have moved one of them.
func (c *creation) admission(first wire.Exchange) (at time.Time, source string) {
	if at, source = c.shownCreation(first); source != "" {
		return at, source
	}
	if ex, ok := c.readBack(createdID(c.op, first)); ok && admitted(ex) {
		if at, source = c.shownCreation(ex); source != "" {
			return at, source
		}
	}
	date, err := http.ParseTime(first.Header("Date"))
	const near = 2 * time.Second // of our own clock: then it is nobody's cached or moved one
	if err != nil || c.t.Profile().Has(target.AdvanceClock) || time.Since(date).Abs() > near+c.t.Now()-first.Sent {
		return time.Time{}, ""
	}
	return date, "Date"
}

// shownCreation reads the moment of creation out of an answer.
func (c *creation) shownCreation(ex wire.Exchange) (at time.Time, source string) {
	for _, p := range c.timesOfCreation() {
		if at, _, err := instant(member(ex, p)); err == nil {
			return at, string(p)
		}
	}
	return time.Time{}, ""
}

// timesOfCreation are the members of an item that lists of the resource are sorted by, or narrowed to
// what is newer by, and that cannot change.
func (c *creation) timesOfCreation() []tree.Pointer {
	var out []tree.Pointer
	for _, op := range c.t.Contract().Ops {
		if op.Collection == nil || op.Collection.Resource != c.op.Creates.Resource {
			continue
		}
		for _, f := range op.Collection.Filters {
			if f.Match == "after" && !f.Mutable {
				out = append(out, f.Member)
			}
		}
		if o := op.Collection.Order; o != nil {
			for _, v := range o.Values {
				out = append(out, v.By)
			}
		}
	}
	return out
}

// otherPayload is a payload of another meaning that the target admits as well, nil if none is known.
func (c *creation) otherPayload(all []specimen) any {
	for _, sm := range all {
		if c.in.body == nil {
			return nil
		}
		if body := c.payload(sm.example); !oracle.Equal(body, c.in.body) {
			return body
		}
	}
	return nil
}

// judgeConflict sends another payload under the used key and looks for what it did.
func (c *creation) judgeConflict(first wire.Exchange, other any, marker string) {
	if other == nil {
		if other = c.neighbour(); other == nil {
			return
		}
	}
	id := createdID(c.op, first)
	before, readable := c.readBack(id)
	there := c.exist()
	ex, judged := c.mustConflict("idempotency.conflict", other, "another payload", "")
	if !judged {
		return
	}
	if marker == "" {
		c.t.NotApplicable("idempotency.conflict-silent", "the payload has no free text that could be recognised")
	} else {
		c.t.Judge("idempotency.conflict-silent", !mentions(ex, marker), "nothing of the first payload", describe(ex))
	}
	if c.counted {
		c.judgeUnchanged("idempotency.conflict-harmless", there)
	}
	if after, ok := c.readBack(id); ok && readable && admitted(before) {
		d := c.difference(before, after)
		c.t.Judge("idempotency.conflict-harmless", d == "", c.op.Creates.Resource+" "+id+" as it was", d)
	} else if !c.counted {
		c.t.NotApplicable("idempotency.conflict-harmless", "the resource can be neither read back nor counted")
	}
	if want := c.op.Idempotency.Conflict; refused(c.t, ex, want) { // a server may learn the payload that it refuses
		again := c.send(c.in.with(other))
		c.t.Judge("idempotency.conflict", refused(c.t, again, want), wanted(want)+" for another payload, the second time too", describe(again))
	}
	c.judgeReplay("idempotency.survives", first)
}

// mustConflict sends a payload that is not the key's own. A target may judge what a payload means
// before it looks at its key, so a refusal of another kind counts only against a payload that is
// admitted under a fresh key; judged is false where it is not.
func (c *creation) mustConflict(claim string, body any, what, changed string) (ex wire.Exchange, judged bool) {
	want := c.op.Idempotency.Conflict
	ex = c.send(c.in.with(body))
	if !refused(c.t, ex, want) && !admitted(ex) && !c.admittedElsewhere(body) {
		return ex, false
	}
	c.t.Judge(claim, refused(c.t, ex, want), wanted(want)+" for "+what, describe(ex)+changed)
	return ex, true
}

// admittedElsewhere sends a payload under a fresh key, where it is not counted among the case's own.
func (c *creation) admittedElsewhere(body any) bool {
	if !c.counted {
		return admitted(c.send(c.fresh(body)))
	}
	own := newCreation(c.t, c.op, c.specimen)
	return admitted(own.send(own.in.with(own.adopt(body))))
}

// mentions reports whether an answer holds a text, in its body or its header.
func mentions(ex wire.Exchange, text string) bool {
	return bytes.Contains(ex.Body(), []byte(text)) ||
		slices.ContainsFunc(ex.Head.Fields, func(f wire.Field) bool { return strings.Contains(f.Value, text) })
}

// judgeMoved lets the resource move on, where an operation moves it, and asks for the replay again.
func (c *creation) judgeMoved(first wire.Exchange) {
	const claim = "idempotency.original"
	if c.startsJob(first) {
		return // judged with every replay, since the job has ended
	}
	move := c.mover()
	if move == nil {
		c.t.NotApplicable(claim, "no operation changes a "+c.op.Creates.Resource+" that was just made")
		return
	}
	made := map[string]string{}
	for k, v := range c.in.made {
		made[k] = v
	}
	made[c.op.Creates.Resource] = createdID(c.op, first)
	in := buildIntent(c.t, move, c.in.role, made, 0)
	if ex := c.t.Call(in.role, in.request()); !admitted(ex) {
		c.t.Inconclusive("%s, to move the %s on, was answered %s", move.ID, c.op.Creates.Resource, describe(ex))
	}
	again := c.send(c.in)
	d := "another resource"
	if c.same(first, again) {
		d = c.difference(first, again)
	}
	c.t.Judge(claim, d == "", "the first answer, though "+move.ID+" came after it", d)
}

// mover is an operation without a job that moves what c creates out of its first state.
func (c *creation) mover() *spec.Operation {
	m := c.t.Contract().Machine(c.op.Creates.Resource)
	if m == nil {
		return nil
	}
	for _, op := range c.t.Contract().Ops {
		safe := op.Effect != spec.EffectFinancial || c.op.Effect == spec.EffectFinancial
		if mv := op.Moves; mv != nil && mv.Resource == m.Resource && contains(mv.From, m.Initial) && op.Job == nil &&
			safe && !c.t.Profile().IsAbsent(op.ID) {
			return op
		}
	}
	return nil
}
