package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
)

const (
	twins    = 8 // lanes of a race
	jobTwins = 4 // where each could start a job
)

func runTwins(_ context.Context, t *check.T, s check.Subject) {
	for _, sm := range kinds(specimens(t, s.Op)) {
		rounds := scaled(t, 1, 3, 12)
		if sm.job {
			rounds = scaled(t, 1, 1, 3)
		}
		for range rounds {
			if !t.Attempt(func(t *check.T) { newCreation(t, s.Op, sm).judgeTwins() }) {
				break
			}
		}
	}
}

// judgeTwins sends one creation from many lanes at once. No more than one job may come of it, so it
// holds one slot; a target that starts more is wrong, and its own limit stops it.
func (c *creation) judgeTwins() {
	done := jobSlotFor(c.t, c.op)
	defer done()
	answers := slices.DeleteFunc(c.atOnce(func(int) intent { return c.in }), unknown)
	if len(answers) < 2 {
		c.t.Inconclusive("of requests at once %d were answered; the outcome of all others is unknown", len(answers))
	}
	first := answers[0]
	agree := true
	for _, ex := range answers {
		ok := c.same(first, ex)
		agree = agree && ok
		c.t.Judge("idempotency.atomic", ok, fmt.Sprintf("one resource for all %d requests", len(answers)),
			describe(first)+", "+describe(ex))
		if ok {
			d := c.difference(first, ex)
			c.t.Judge("idempotency.atomic", d == "", "one representation for all", d)
		}
		c.follow(c.in.role, ex)
	}
	c.judgeCount("idempotency.atomic-once", 1)
	again := c.t.Call(c.in.role, c.in.request())
	known := func(ex wire.Exchange) bool { return c.same(ex, again) }
	c.t.Judge("idempotency.atomic-record", slices.ContainsFunc(answers, known) && (known(first) || !agree), c.replayOf(first), describe(again))
}

// atOnce sends one request from each of several lanes at the same moment.
func (c *creation) atOnce(in func(lane int) intent) []wire.Exchange {
	n := twins
	if c.job {
		n = jobTwins
	}
	answers := make([]wire.Exchange, n)
	c.t.Lanes(n, func(lane *check.T, i int) {
		answers[i] = c.keenly(lane, in(i))
	})
	return answers
}

// keenly sends a request and takes only an honest "later" for one: a refusal for overload that does
// not say when to come back is how a server looks that fails over its own race.
func (c *creation) keenly(lane *check.T, in intent) wire.Exchange {
	rq := in.request()
	// A connection of its own: an idle one may be closed by the server just as it is used again.
	ex := lane.SendOnce(in.role, rq, target.Call{FreshConn: true})
	later := lane.Contract().Doc.Backpressure
	if later == nil || !slices.Contains(later.Statuses, ex.Status()) {
		return ex
	}
	if _, says := wire.ParseRetryAfter(ex.Header(later.Delay.Name), time.Now()); !says && ex.Status() >= 500 {
		return ex
	}
	return lane.Send(in.role, rq, target.Call{FreshConn: true})
}

// unknown reports an exchange whose outcome nobody knows: it failed, or no whole answer arrived.
func unknown(ex wire.Exchange) bool { return ex.End != wire.EndComplete || ex.Effect() == wire.Unknown }

const racePayloads = 4

func runRace(_ context.Context, t *check.T, s check.Subject) {
	all := specimens(t, s.Op)
	for _, sm := range kinds(all) {
		rounds := scaled(t, 1, 2, 8)
		if sm.job {
			rounds = 1
		}
		for range rounds {
			if !t.Attempt(func(t *check.T) { runRound(t, newCreation(t, s.Op, sm), all) }) {
				break
			}
		}
	}
}

func runRound(t *check.T, c *creation, all []specimen) {
	payloads := c.rivals(all)
	if len(payloads) < 2 {
		t.NoneApply("the target is known to admit only one payload here")
		return
	}
	c.judgeRace(payloads)
}

// rivals are payloads of different meaning that the target admits: the examples of the same kind,
// or, where there is only one, a neighbour of it that was admitted elsewhere for a proof.
func (c *creation) rivals(all []specimen) []any {
	out := []any{c.in.body}
	for _, sm := range all {
		if c.in.body == nil || sm.job != c.job || len(out) == racePayloads {
			continue
		}
		body := c.payload(sm.example)
		if !slices.ContainsFunc(out, func(b any) bool { return oracle.Equal(b, body) }) {
			out = append(out, body)
		}
	}
	if len(out) > 1 || c.op.Moves != nil {
		return out
	}
	if body := c.neighbour(); body != nil {
		proof := newCreation(c.t, c.op, c.specimen)
		if admitted(proof.send(proof.in.with(proof.adopt(body)))) {
			out = append(out, body)
		}
	}
	return out
}

// judgeRace lets the lanes send different payloads under one key, each lane several in turn.
func (c *creation) judgeRace(payloads []any) {
	done := jobSlotFor(c.t, c.op)
	defer done()
	turns := 3
	lanes := twins
	if c.job {
		turns, lanes = 2, jobTwins
	}
	history := make([][]race, lanes)
	c.t.Lanes(lanes, func(lane *check.T, i int) {
		for turn := range turns {
			which := (i + turn) % len(payloads)
			r := race{lane: i, payload: which, began: lane.Now()}
			r.ex = c.keenly(lane, c.in.with(payloads[which]))
			r.ended = lane.Now()
			history[i] = append(history[i], r)
		}
	})
	runs := slices.Concat(history...)
	c.judgeWinner(runs)
	for _, r := range runs {
		c.follow(c.in.role, r.ex)
	}
	c.judgeCount("idempotency.race-once", 1)
	c.judgeHistory(runs)
}

// race is one request of a race.
type race struct {
	lane, payload int
	began, ended  time.Duration
	ex            wire.Exchange
}

func (c *creation) judgeWinner(runs []race) {
	const claim = "idempotency.race"
	var winner *race
	for i, r := range runs {
		if admitted(r.ex) && !unknown(r.ex) {
			winner = &runs[i]
			break
		}
	}
	if winner == nil && slices.ContainsFunc(runs, func(r race) bool { return unknown(r.ex) }) {
		c.t.Inconclusive("no payload is known to be admitted, and the outcome of some requests is unknown")
	}
	if !c.t.Judge(claim, winner != nil, "one payload to be admitted", "none: "+describe(runs[0].ex)) {
		return
	}
	for _, r := range runs {
		if unknown(r.ex) {
			continue
		}
		if r.payload == winner.payload {
			c.t.Judge(claim, c.same(winner.ex, r.ex), c.replayOf(winner.ex)+" for the payload that won", describe(r.ex))
		} else {
			want := c.op.Idempotency.Conflict
			c.t.Judge(claim, refused(c.t, r.ex, want), wanted(want)+" for a payload that lost", describe(r.ex))
		}
	}
}

const searchTime = 5 * time.Second

// judgeHistory asks the ledger's model for an order of the requests that explains all answers.
func (c *creation) judgeHistory(runs []race) {
	var history []oracle.IdemOp
	var told []string
	for _, r := range runs {
		history = append(history, oracle.IdemOp{Client: r.lane, Call: r.began, Return: r.ended,
			Payload: fmt.Sprintf("payload %d", r.payload), Outcome: c.outcome(r.ex)})
		told = append(told, fmt.Sprintf("lane %d payload %d: %s", r.lane+1, r.payload, c.outcome(r.ex)))
	}
	switch oracle.Linearizable(history, searchTime) {
	case oracle.TimedOut:
		c.t.Inconclusive("no order of %d answers was found or excluded within %s", len(runs), searchTime)
	case oracle.Illegal:
		c.t.Judge("idempotency.linearizable", false, "some order of the requests that explains the answers", strings.Join(told, "; "))
		c.t.Illustrate("idempotency.linearizable", "history", func() ([]byte, error) { return oracle.Explain(history, searchTime) })
	case oracle.OK:
		c.t.Judge("idempotency.linearizable", true, "", "")
	}
}

func (c *creation) outcome(ex wire.Exchange) oracle.Outcome {
	switch {
	case unknown(ex):
		return oracle.Unknown()
	case admitted(ex):
		return oracle.Created(createdID(c.op, ex))
	case refused(c.t, ex, c.op.Idempotency.Conflict):
		return oracle.Conflict()
	case ex.Effect() == wire.None:
		return oracle.None()
	default:
		return oracle.Unknown()
	}
}
