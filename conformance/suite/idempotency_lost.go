package suite

import (
	"context"
	"fmt"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
)

func runLost(_ context.Context, t *check.T, s check.Subject) {
	jobs := false
	for _, sm := range kinds(specimens(t, s.Op)) {
		for _, cut := range []target.Cut{target.CutAfterWrite, target.CutAfterHead} {
			if sm.job && cut == target.CutAfterWrite && t.Effort() != check.Deep {
				continue // the server has surely begun with the other one
			}
			newCreation(t, s.Op, sm).judgeLost(cut)
			jobs = jobs || sm.job
		}
	}
	if !jobs {
		t.NotApplicable("idempotency.disconnect", "no example that the target admits starts a job")
	}
}

// judgeLost breaks the connection under a creation and repeats it.
func (c *creation) judgeLost(cut target.Cut) {
	const claim = "idempotency.recovery"
	done := jobSlotFor(c.t, c.op)
	defer done()
	lost := c.t.SendOnce(c.in.role, c.in.request(), target.Call{Cut: cut, FreshConn: true})
	if lost.End != wire.EndCut {
		c.t.Inconclusive("the connection could not be cut as planned: %s %s", lost.End, lost.Err)
	}
	found := c.t.Call(c.in.role, c.in.request())
	if !c.t.Judge(claim, admitted(found), "the resource of the request whose answer was lost, or a first one", describe(found)) {
		return
	}
	if c.startsJob(found) {
		c.judgeDisconnect(createdID(c.op, found))
	}
	for range 2 {
		again := c.t.Call(c.in.role, c.in.request())
		c.t.Judge(claim, c.same(found, again), c.replayOf(found), describe(again))
		if e := c.expiry(found); e != "" {
			now := c.expiry(again)
			c.t.Judge("idempotency.recovery-expires", sameInstant(e, now), e, now)
		}
	}
	c.judgeCount("idempotency.recovery-once", 1)
}

const disconnectPatience = 10 * time.Second

// judgeDisconnect follows the job of a client that went away. One that ends well is enough; where it
// ends otherwise, or not for long, an equal job whose client stayed tells whether that is its fault.
func (c *creation) judgeDisconnect(id string) {
	const claim = "idempotency.disconnect"
	j := c.op.Job
	ended := c.await(c.in.role, id, disconnectPatience)
	if state := c.ended[id]; state == j.Success || state == "" {
		c.t.Judge(claim, true, "", "")
		return
	}
	began := c.t.Now()
	twin := c.t.Call(c.in.role, c.fresh(c.in.body).request())
	other := createdID(c.op, twin)
	if !admitted(twin) || other == "" || !c.await(c.in.role, other, jobPatience/2) {
		c.t.Inconclusive("job %s is %s, and an equal one tells nothing: %s", id, c.ended[id], describe(twin))
	}
	if !ended {
		// It began first; it may take as long again as the other took, several times.
		c.await(c.in.role, id, max(2*time.Second, 4*(c.t.Now()-began)))
	}
	c.t.Judge(claim, c.ended[id] == c.ended[other], fmt.Sprintf("the job to end as %s, as one of the same payload did", c.ended[other]),
		"it is "+c.ended[id])
}
