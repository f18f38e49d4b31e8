package suite

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// durability judges what an abrupt end of the server leaves: everything that it had acknowledged.
func durability() []check.Check {
	return []check.Check{
		{
			ID:   "durability.keys",
			Does: "Creates from several lanes, kills and restarts the server while they do, and repeats every request.",
			Claims: []check.Claim{
				{ID: "durability.replay", Says: "After a restart every acknowledged creation leads to its resource under its key."},
				{ID: "durability.representation", Says: "After a restart a replay is answered with the status and representation of the first answer."},
				{ID: "durability.expires", Says: "A restart does not move the expiry of a key.", For: tellsExpiry},
				{ID: "durability.conflict", Says: "After a restart another payload under a used key is a conflict still."},
				{ID: "durability.recovery", Says: "A request that the end of the server cut off can be repeated: it leads to one resource, the same from then on."},
				{ID: "durability.once", Says: "A restart neither loses nor doubles what was created."},
				{ID: "durability.kept", Says: "After a restart every acknowledged resource can be read."},
				{ID: "durability.moved", Says: "A move that was acknowledged is not undone by a restart, and what it set going comes to one end.", For: isMove},
				{ID: "durability.jobs", Says: "An admitted job survives a restart and comes to an end of its own, once.", For: admitsJob},
			},
			Needs:  []target.Capability{target.Restart},
			Lock:   check.Target,
			Select: keyed,
			Cost:   check.Cost{Requests: 900, Jobs: writers * eachJobs},
			Run:    runDurable,
		},
		{
			ID:     "durability.cursors",
			Does:   "Begins a walk, restarts the server, and goes on.",
			Claims: []check.Claim{{ID: "durability.cursors", Says: "A cursor that was given before a restart leads on after it."}},
			Needs:  []target.Capability{target.Restart},
			Lock:   check.Target,
			Select: func(c *spec.Contract) []check.Subject { return only(selectFed(c), isSized) },
			Cost:   check.Cost{Requests: 80, Jobs: 1},
			Run:    runDurableCursor,
		},
		{
			ID:     "durability.revoked",
			Does:   "Retires a credential, restarts the server, and uses it.",
			Claims: []check.Claim{{ID: "durability.revoked", Says: "A credential that was retired stays so after a restart."}},
			Needs:  []target.Capability{target.Restart, target.Rotated, target.RetireToken, target.RestoreToken},
			Lock:   check.Target,
			Select: selectOneCreation,
			Cost:   check.Cost{Requests: 40},
			Run:    runDurableRetired,
		},
		{
			ID:     "durability.grant",
			Does:   "Revokes a grant, restarts the server, and asks for what needs it.",
			Claims: []check.Claim{{ID: "durability.grant", Says: "A grant that was revoked stays so after a restart."}},
			Needs:  []target.Capability{target.Restart, target.RevokeGrant, target.RestoreGrant},
			Lock:   check.Target,
			Select: func(c *spec.Contract) []check.Subject { all := holding("grant")(c); return all[:min(1, len(all))] },
			Cost:   check.Cost{Requests: 60, Jobs: 1},
			Run:    runDurableGrant,
		},
		{
			ID:     "durability.events",
			Does:   "Moves a resource along, restarts the server, and reads the log of it before and after.",
			Claims: []check.Claim{{ID: "durability.events", Says: "What was logged before a restart is logged after it, and once."}},
			Needs:  []target.Capability{target.Restart},
			Lock:   check.Target,
			Select: func(c *spec.Contract) []check.Subject { all := selectLogged(c); return all[:min(1, len(all))] },
			Cost:   check.Cost{Requests: 120, Jobs: 2},
			Run:    runDurableLog,
		},
	}
}

func isMove(s check.Subject) bool    { return s.Op.Moves != nil }
func admitsJob(s check.Subject) bool { return s.Op.Job != nil }

const (
	writers   = 4  // lanes that create
	eachPlain = 15 // creations of a lane: some are acknowledged before the end, some are under way, some come too late
	eachJobs  = 2
	atOnce    = 3                     // creations that a lane does not wait between
	pace      = 15 * time.Millisecond // between the others, so that they meet the moment of the end
	downTime  = 30 * time.Second      // longest that a restart may take to answer again
)

// restart ends the server and waits until it answers again.
func restart(t *check.T) {
	t.Hook(target.Restart, nil)
	answering(t)
}

// answering waits until anything at all is answered.
func answering(t *check.T) {
	rq := wire.Request{Method: http.MethodGet, Target: "/"}
	if op := plainRead(t); op != nil {
		rq = intent{op: op, role: primary}.request()
	}
	for began := t.Now(); t.Now()-began < downTime; {
		if ex := t.Send(primary, rq, target.Call{FreshConn: true, Timeout: longest}); ex.Status() != 0 {
			return
		}
		t.Pause(20 * time.Millisecond)
	}
	t.Inconclusive("nothing answers %s after the restart", downTime)
}

func runDurable(_ context.Context, t *check.T, s check.Subject) {
	for _, sm := range kinds(specimens(t, s.Op)) {
		t.Attempt(func(t *check.T) { crash(t, s.Op, sm) })
	}
	if !slices.ContainsFunc(specimens(t, s.Op), func(sm specimen) bool { return sm.job }) {
		t.NotApplicable("durability.jobs", "the target answers none of the contract's examples with a job")
	}
}

// written is a creation that was sent before or during the end of the server.
type written struct {
	in intent
	ex wire.Exchange
}

// acknowledged reports whether the client knows that it was carried out.
func (w written) acknowledged() bool { return admitted(w.ex) && w.ex.End == wire.EndComplete }

// crash writes until the server has gone, and judges what is there afterwards.
func crash(t *check.T, op *spec.Operation, sm specimen) {
	all := specimens(t, op)
	c := newCreation(t, op, sm)
	each := eachPlain
	if sm.job {
		each = eachJobs
	}
	usual := time.Duration(0)
	if sm.job { // how long a job takes when nothing happens
		began := t.Now()
		first := newCreation(t, op, sm)
		first.open()
		usual = t.Now() - began
	}
	queue := drafts(t, c, each)
	free := []func(){}
	for _, q := range queue {
		for range q {
			free = append(free, jobSlotFor(t, op))
		}
	}
	done := writeThrough(t, queue)
	answering(t)
	told := 0
	for _, w := range done {
		if w.acknowledged() {
			told++
		}
	}
	if told == 0 {
		t.Inconclusive("nothing was acknowledged before the restart")
	}
	// Before any request is repeated: a repetition may bring back what was lost.
	c.judgeKept(done)
	c.judgeStillConflict(done, c.otherPayload(all))
	if op.Moves != nil {
		c.judgeStillMoved(done)
	}
	ids := c.judgeAfter(done)
	c.judgeSet(ids)
	for _, id := range ids {
		if !sm.job || !c.judgeEnds(id, usual) {
			break
		}
	}
	for _, f := range free {
		f()
	}
}

// drafts are creations with keys of their own, on resources of their own where one path takes only one.
func drafts(t *check.T, c *creation, each int) [][]intent {
	queue := make([][]intent, writers)
	if c.op.Moves != nil {
		each = 1
	}
	for i := range queue {
		for range each {
			in := c.in.keyed(t.Key())
			if c.op.Moves != nil {
				in = newIntent(t, c.op, primary)
			}
			queue[i] = append(queue[i], in)
		}
	}
	return queue
}

// writeThrough has each lane send its creations, one after the other, while another ends the server.
// Each is sent once; what becomes of those under way nobody knows. A lane stops when it sees that the
// server is back.
func writeThrough(t *check.T, queue [][]intent) (done []written) {
	var mu sync.Mutex
	var answered atomic.Int64
	var back atomic.Bool
	t.Lanes(len(queue)+1, func(lane *check.T, i int) {
		if i == len(queue) {
			for n := 0; answered.Load() < int64(len(queue)) && n < 5000; n++ {
				lane.Pause(time.Millisecond)
			}
			lane.Hook(target.Restart, nil)
			back.Store(true)
			return
		}
		for n, in := range queue[i] {
			if n >= min(atOnce, len(queue[i])-1) && n > 0 {
				lane.Pause(pace)
			}
			if back.Load() {
				return
			}
			ex := lane.SendOnce(in.role, in.request(), target.Call{Timeout: longest})
			answered.Add(1)
			mu.Lock()
			done = append(done, written{in, ex})
			mu.Unlock()
		}
	})
	return done
}

// judgeKept reads what was acknowledged.
func (c *creation) judgeKept(done []written) {
	const claim = "durability.kept"
	for _, w := range done {
		id := ""
		if w.acknowledged() {
			id = newID(c.op, w.ex)
		}
		if ex, ok := c.readBack(id); ok {
			c.t.Judge(claim, admitted(ex), c.op.Creates.Resource+" "+id+" to be there after the restart", describe(ex))
		}
	}
	c.t.NotApplicable(claim, "nothing reads a "+c.op.Creates.Resource) // unless one was read
}

// judgeAfter repeats every request and returns the ids of what exists now.
func (c *creation) judgeAfter(done []written) (ids []string) {
	t := c.t
	for _, w := range done {
		again := t.Call(w.in.role, w.in.request())
		id := createdID(c.op, again)
		if !w.acknowledged() {
			third := t.Call(w.in.role, w.in.request())
			t.Judge("durability.recovery", c.same(again, third), "one resource for a request whose answer the restart cut off, the same twice", describe(again)+", "+describe(third))
			ids = append(ids, id)
			continue
		}
		if !t.Judge("durability.replay", c.same(w.ex, again), c.replayOf(w.ex)+", after the restart", describe(again)) {
			if id != "" {
				ids = append(ids, id)
			}
			continue
		}
		ids = append(ids, id)
		d := c.difference(w.ex, again)
		t.Judge("durability.representation", d == "", "the first answer, after the restart", d)
		if e := c.expiry(w.ex); e != "" {
			now := c.expiry(again)
			t.Judge("durability.expires", sameInstant(e, now), e, now)
		}
	}
	if !slices.ContainsFunc(done, func(w written) bool { return !w.acknowledged() }) {
		t.NotApplicable("durability.recovery", "every request was answered before the server ended")
	}
	return ids
}

// judgeSet compares what is listed with what the answers say.
func (c *creation) judgeSet(ids []string) {
	const claim = "durability.once"
	t := c.t
	t.Judge(claim, len(unique(ids)) == len(ids), "a resource of its own for each key", strings.Join(ids, ", "))
	if !c.counted || c.op.Moves != nil {
		return
	}
	got := c.exist()
	want := unique(ids)
	t.Judge(claim, slices.Equal(got, want), fmt.Sprintf("%d in %s: %s", len(want), c.list.op.ID, strings.Join(want, ", ")),
		fmt.Sprintf("%d: lost %q, too many %q", len(got), missing(want, got), missing(got, want)))
}

func (c *creation) judgeStillConflict(done []written, other any) {
	const claim = "durability.conflict"
	t := c.t
	i := slices.IndexFunc(done, written.acknowledged)
	if other == nil || c.op.Moves != nil {
		t.NotApplicable(claim, "no other payload is known to be admitted here")
		return
	}
	want := c.op.Idempotency.Conflict
	ex := c.send(done[i].in.with(other))
	if !refused(t, ex, want) && !admitted(ex) {
		t.NotApplicable(claim, "the other payload is refused for another reason")
		return
	}
	t.Judge(claim, refused(t, ex, want), wanted(want), describe(ex))
}

// Patience with a job after a restart, beside ten times what a job takes otherwise. What held it may
// have to run out first: that is an hour on a clock that can be moved, else it is waited for.
const (
	afterMoving = 3 * time.Second
	unmoved     = time.Minute
)

// judgeEnds follows a job that was admitted before the restart; false if it does not come to an end.
func (c *creation) judgeEnds(id string, usual time.Duration) bool {
	const claim = "durability.jobs"
	t := c.t
	read := t.Contract().Op(c.op.Job.Read)
	if read == nil || t.Profile().IsAbsent(read.ID) {
		t.NotApplicable(claim, "nothing reads a job")
		return false
	}
	rq := reading(t, read, primary, id)
	patience, moves := unmoved+10*usual, t.Profile().Has(target.AdvanceClock)
	if moves {
		patience = afterMoving + 10*usual
	}
	for p := newPacer(t); ; {
		ex := t.Call(primary, rq)
		if !t.Judge(claim, admitted(ex), "job "+id+" to be there after the restart", describe(ex)) {
			return false
		}
		if state := member(ex, c.op.Job.State); c.over(state) {
			t.Judge(claim, state != c.op.Job.Cancelled, "an end that nobody asked for", describe(ex))
			again := t.Call(primary, rq)
			t.Judge(claim, differentBodies(ex, again, read.Volatile) == "", "the job as it ended: "+describe(ex), describe(again))
			c.judgeOneEnd(claim, machineIn(t.Contract(), c.op), id, ex)
			return true
		}
		if t.Now()-p.begun > patience {
			if !moves {
				return t.Judge(claim, false, "an end of job "+id+" within "+patience.String(), describe(ex))
			}
			advance(t, 3600)
			moves, p = false, newPacer(t)
		}
		p.wait(t, ex)
	}
}

// judgeOneEnd looks in the event log, if there is one, for what ended twice.
func (c *creation) judgeOneEnd(claim string, m *spec.States, id string, now wire.Exchange) {
	list := logOf(c.t.Contract())
	if m == nil || list == nil || !follows(list, m) || c.t.Profile().IsAbsent(list.ID) {
		return
	}
	log, ok := entries(c.t, m, id, decoded(now))
	if !ok {
		return
	}
	ends := 0
	for _, e := range log {
		if slices.Contains(m.Terminal, e.state) {
			ends++
		}
	}
	c.t.Judge(claim, ends <= 1, "one end of "+id+" in the log", fmt.Sprintf("%d among %d events", ends, len(log)))
}

// judgeStillMoved reads what was moved before the restart, until it waits for somebody or has ended.
func (c *creation) judgeStillMoved(done []written) {
	const claim = "durability.moved"
	t := c.t
	mv := c.op.Moves
	m, read, ref := t.Contract().Machine(mv.Resource), readerOf(t.Contract(), mv.Resource), pathRef(c.op)
	if m == nil || read == nil || ref == nil || t.Profile().IsAbsent(read.ID) {
		t.NotApplicable(claim, "nothing reads a "+mv.Resource)
		return
	}
	machine := oracle.Machine{Transitions: m.Transitions, Terminal: m.Terminal}
	for _, w := range done {
		if !w.acknowledged() {
			continue
		}
		id := w.in.path[ref.Name]
		var ex wire.Exchange
		state := ""
		for p := newPacer(t); ; {
			ex = t.Call(primary, reading(t, read, primary, id))
			state = member(ex, tree.PointerTo(lastToken(m.Schema)))
			if !admitted(ex) || m.Terminal == nil || contains(m.Terminal, state) || waits(t, m, state) || t.Now()-p.begun > downTime {
				break
			}
			p.wait(t, ex)
		}
		t.Judge(claim, machine.Reachable(mv.To, state) && (contains(m.Terminal, state) || waits(t, m, state)),
			mv.Resource+" "+id+" in "+mv.To+" or where that leads, and at rest", describe(ex))
		c.judgeOneEnd(claim, m, id, ex)
	}
}

func runDurableCursor(_ context.Context, t *check.T, s check.Subject) {
	const claim = "durability.cursors"
	f := source(t, s, primary, 4)
	b, ok := marked(t, f.list, claim)
	if !ok {
		return
	}
	restart(t)
	p, why := b.list.parse(t.Call(primary, b.list.request(b.cursor)))
	t.Judge(claim, why == "" && slices.Equal(p.ids, b.after.ids), fmt.Sprintf("the page %q, as before the restart", b.after.ids), describe(p.ex))
}

func runDurableRetired(_ context.Context, t *check.T, s check.Subject) {
	op := plainRead(t)
	if op == nil {
		t.Inconclusive("no operation without parameters could be asked")
	}
	rq := intent{op: op, role: target.RotatedOld}.request()
	t.Undo(target.RestoreToken, nil)
	if ex := t.Call(target.RotatedOld, rq); ex.Status() == http.StatusUnauthorized {
		t.Inconclusive("the credential is refused before it was retired: %s", describe(ex))
	}
	defer t.Undo(target.RestoreToken, nil)
	t.Hook(target.RetireToken, nil)
	if ex := t.Call(target.RotatedOld, rq); ex.Status() != http.StatusUnauthorized {
		t.Inconclusive("the credential was not retired, which access.retired judges: %s", describe(ex))
	}
	restart(t)
	ex := t.Call(target.RotatedOld, rq)
	t.Judge("durability.revoked", ex.Status() == http.StatusUnauthorized, "401 for a retired credential, after the restart too", describe(ex))
}

func runDurableGrant(_ context.Context, t *check.T, s check.Subject) {
	t.Undo(target.RestoreGrant, nil)
	c := newCreation(t, s.Op, specimens(t, s.Op)[0])
	c.open()
	next := c.fresh(c.in.body)
	defer t.Undo(target.RestoreGrant, nil)
	t.Hook(target.RevokeGrant, nil)
	if ex := c.send(next); admitted(ex) {
		t.Inconclusive("the grant was not revoked, which access.grant judges: %s", describe(ex))
	}
	restart(t)
	ex := c.send(next)
	t.Judge("durability.grant", !admitted(ex), "a refusal without the grant, after the restart too", describe(ex))
}
