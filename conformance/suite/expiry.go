package suite

import (
	"context"
	"fmt"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// expiry judges what time takes away, by moving the target's clock.
func expiry() []check.Check {
	return []check.Check{
		{
			ID:     "expiry.crowded",
			Does:   "Uses many other keys between a creation and its repetition.",
			Claims: []check.Claim{{ID: "expiry.crowded", Says: "A key stays bound for its time, however many others are used meanwhile."}},
			Select: selectOneCreation,
			Cost:   check.Cost{Requests: 450, Jobs: 1},
			Run:    runCrowded,
		},
		expiringKeys(),
	}
}

// expiringKeys is the row whose case moves the clock.
func expiringKeys() check.Check {
	return check.Check{
		ID:   "expiry.key",
		Does: "Repeats a creation while its key is bound, close to its expiry, and after it.",
		Claims: []check.Claim{
			{ID: "expiry.before", Says: "Until it expires a key leads to the original: a repetition replays, and another payload is a conflict."},
			{ID: "expiry.after", Says: "After it has expired a key is fresh, or is refused: never half of a replay."},
			{ID: "expiry.fresh", Says: "An expired key can be used again like any other.", For: freshAfterwards},
			{ID: "expiry.rebound", Says: "An expired key that is used again is bound anew, for its whole time."},
			{ID: "expiry.undisturbed", Says: "The expiry of its key changes nothing about a resource."},
		},
		Needs:  []target.Capability{target.AdvanceClock},
		Lock:   check.Target,
		Select: func(c *spec.Contract) []check.Subject { return only(keyed(c), retains) },
		Cost:   check.Cost{Requests: 80, Jobs: 1},
		Run:    runExpiry,
	}
}

func retains(s check.Subject) bool { return s.Op.Idempotency.Retention != spec.Period{} }

func freshAfterwards(s check.Subject) bool {
	return s.Op.Idempotency.AfterExpiry == "fresh" && s.Op.Moves == nil
}

func runCrowded(_ context.Context, t *check.T, s check.Subject) {
	const lanes = 4
	c := newCreation(t, s.Op, specimens(t, s.Op)[0])
	first := c.open()
	each := scaled(t, 10, 75, 1500) / lanes
	others := make([][]intent, lanes)
	for i := range others {
		for range each {
			others[i] = append(others[i], c.in.keyed(t.Key()))
		}
	}
	t.Lanes(lanes, func(lane *check.T, i int) {
		for _, in := range others[i] {
			if ex := lane.Call(in.role, in.request()); !admitted(ex) {
				lane.Inconclusive("the same payload under another key was answered %s", describe(ex))
			}
		}
	})
	again := c.send(c.in)
	t.Judge("expiry.crowded", c.same(first, again), fmt.Sprintf("%s, after %d other keys", c.replayOf(first), lanes*each), describe(again))
}

// closeTo is how near to the expiry a key is still tried: the clock runs on while it is.
func closeTo(keep time.Duration) time.Duration {
	return max(5*time.Second, min(keep/10, time.Minute))
}

func runExpiry(_ context.Context, t *check.T, s check.Subject) {
	all := specimens(t, s.Op)
	c := newCreation(t, s.Op, all[0])
	keep := c.retention()
	if keep <= 2*closeTo(keep) {
		t.Inconclusive("a retention of %s is too short to be tried at both ends", keep)
	}
	first := c.open()
	other := c.otherPayload(all)
	second := c.in.keyed(t.Key())
	if s.Op.Moves == nil && other != nil {
		if !admitted(c.send(second)) {
			t.Inconclusive("the same payload was refused under another key")
		}
	}
	id := createdID(s.Op, first)
	before, readable := c.readBack(id)
	began, moved := t.Now(), time.Duration(0)
	forward := func(d time.Duration) {
		if d >= time.Second {
			advance(t, int(d.Seconds()))
			moved += d.Truncate(time.Second)
		}
	}
	forward(keep / 2)
	c.judgeBound(t, first.Status(), id, "at half of its time", other)
	forward(keep - moved - closeTo(keep) - (t.Now() - began))
	c.judgeBound(t, first.Status(), id, fmt.Sprintf("%s before its expiry", closeTo(keep)), other)
	forward(2*closeTo(keep) + time.Second)

	again := c.send(c.in)
	fresh := admitted(again) && createdID(s.Op, again) != id
	t.Judge("expiry.after", fresh || rejected(again), "a resource of its own, or a refusal, after the expiry", describe(again))
	if freshAfterwards(s) {
		t.Judge("expiry.fresh", fresh, "a 2xx with a resource of its own", describe(again))
		if other != nil {
			ex := c.send(second.with(other))
			t.Judge("expiry.fresh", admitted(ex), "a 2xx for another payload, since the key is unused", describe(ex))
		}
	}
	if fresh {
		c.judgeRebound(first.Status(), c.expiry(first), again)
	} else {
		t.NotApplicable("expiry.rebound", "the key could not be used again here")
	}
	if after, ok := c.readBack(id); ok && readable && admitted(before) {
		d := c.difference(before, after)
		t.Judge("expiry.undisturbed", d == "", c.op.Creates.Resource+" "+id+" as it was", d)
	} else {
		t.NotApplicable("expiry.undisturbed", "the resource cannot be read back")
	}
}

// judgeBound judges a key that has not expired.
func (c *creation) judgeBound(t *check.T, status int, id, when string, other any) {
	const claim = "expiry.before"
	again := c.send(c.in)
	t.Judge(claim, again.Status() == status && createdID(c.op, again) == id, fmt.Sprintf("status %d with %s %s, %s", status, c.op.Creates.Resource, id, when), describe(again))
	if other == nil || c.op.Moves != nil {
		return
	}
	want := c.op.Idempotency.Conflict
	ex := c.send(c.in.with(other))
	t.Judge(claim, refused(t, ex, want) || !admitted(ex) && ex.Status() != want.Status, wanted(want)+" for another payload, "+when, describe(ex))
}

// judgeRebound judges the second life of a key.
func (c *creation) judgeRebound(status int, wasUntil string, second wire.Exchange) {
	const claim = "expiry.rebound"
	t := c.t
	t.Judge(claim, second.Status() == status, fmt.Sprintf("status %d, as at the first time", status), describe(second))
	if now := c.expiry(second); wasUntil != "" {
		old, _, errOld := instant(wasUntil)
		until, _, err := instant(now)
		t.Judge(claim, err == nil && (errOld != nil || until.After(old)), "an expiry after "+wasUntil, now)
	}
	id := createdID(c.op, second)
	if ex, ok := c.readBack(id); ok {
		t.Judge(claim, admitted(ex), c.op.Creates.Resource+" "+id+" for its creator to read", describe(ex))
	}
	again := c.send(c.in)
	t.Judge(claim, c.same(second, again), c.replayOf(second), describe(again))
}
