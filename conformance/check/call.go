package check

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

const (
	backoffs   = 6                // how often "later" is honoured before the case gives up
	maxBackoff = 90 * time.Second // one wait; a longer Retry-After ends the case
	jobRoom    = 30 * time.Second // how long a creation of a job is tried again for want of room: others' jobs end meanwhile
)

// Call sends one request as a role ("" sends no credential) and returns what came of it. An answer
// that means "later" is honoured and sent again; a broken or missing answer ends the case as
// inconclusive, because it says nothing about the claim at hand.
func (t *T) Call(role string, rq wire.Request) wire.Exchange {
	ex := t.Send(role, rq, target.Call{})
	if ex.End == wire.EndReset && rq.Method == http.MethodGet { // an idle connection closed under our feet
		ex = t.Send(role, rq, target.Call{FreshConn: true})
	}
	if ex.End != wire.EndComplete || ex.Head.Status == 0 { // half an answer would be blamed for what its other half says
		t.Inconclusive("%s %s got no whole answer (%s): %s", rq.Method, pathOf(rq.Target), ex.End, ex.Err)
	}
	return ex
}

// Send is Call for checks that look at broken exchanges themselves: whatever the End, it returns.
func (t *T) Send(role string, rq wire.Request, o target.Call) wire.Exchange {
	op := t.Contract().Op(rq.Operation)
	begun := time.Now()
	for n := 0; ; n++ {
		ex := t.SendOnce(role, rq, o)
		later := t.Contract().Doc.Backpressure
		if later == nil || !slices.Contains(later.Statuses, ex.Head.Status) {
			return ex
		}
		wait, ok := wire.ParseRetryAfter(ex.Header(later.Delay.Name), time.Now())
		if !ok {
			wait = time.Duration(n+1) * 250 * time.Millisecond
		}
		room := op != nil && op.Job != nil && ex.Head.Status == http.StatusTooManyRequests && time.Since(begun) < jobRoom
		if room {
			wait = max(50*time.Millisecond, min(wait, time.Second)) // a slot comes free when a job ends, whatever was estimated
		}
		if wait > min(maxBackoff, t.Left()) {
			t.Inconclusive("%s %s is answered %d and asks to wait %.0f s, longer than this case may wait", rq.Method, pathOf(rq.Target), ex.Head.Status, wait.Seconds())
		}
		if n >= backoffs && !room {
			t.Inconclusive("%s %s is still answered %d after %d waits", rq.Method, pathOf(rq.Target), ex.Head.Status, n)
		}
		t.Pause(wait)
	}
}

// SendOnce sends exactly once, and judges nothing about the answer. It is the last place to stop a
// financial effect that was not allowed, whatever a check had in mind.
func (t *T) SendOnce(role string, rq wire.Request, o target.Call) wire.Exchange {
	r := t.st.run
	if op := r.Contract.Op(rq.Operation); op != nil && op.Effect == spec.EffectFinancial && !r.Financial {
		lacks := AllowFinancial
		if !t.Profile().Has(target.Sandbox) {
			lacks = string(target.Sandbox)
		}
		t.lack(lacks, op.ID+" has a financial effect, which this run may not cause")
	}
	if tool, lacks := r.guard.forbidden(rq); tool != nil {
		t.lack(lacks, "the tool "+tool.Name+" does not declare itself read-only, or has a financial effect, so this run may not call it")
	}
	if err := r.limiter.Wait(t.ctx); err != nil || t.ctx.Err() != nil {
		t.Inconclusive("ran out of time")
	}
	if n := r.sent.Add(1); n > int64(r.Budget) {
		t.Inconclusive("the budget of %d requests is used up", r.Budget)
	}
	t.st.mu.Lock()
	t.st.requests++
	t.st.seq++
	seq := t.st.seq
	t.st.mu.Unlock()
	if o.Timeout <= 0 {
		o.Timeout = r.silence.timeout()
	}
	began := time.Now()
	ex := r.Caller.Do(t.ctx, role, rq, o)
	called := time.Now()
	r.Spent.Calling.Add(int64(called.Sub(began)))
	ex.Case, ex.Lane, ex.Seq, ex.Role = t.st.cs.ID, t.lane, seq, role
	t.at.record(ex)
	r.silence.note(ex)
	if t.ctx.Err() == nil { // the rules take their time, and none is left
		r.watch.look(ex)
	}
	r.Spent.Watching.Add(int64(time.Since(called)))
	return ex
}

func pathOf(target string) string {
	p, _, _ := strings.Cut(target, "?")
	return brief(p, 200)
}
