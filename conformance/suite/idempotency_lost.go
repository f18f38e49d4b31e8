package suite

import (
	"context"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
)

func runLost(_ context.Context, t *check.T, s check.Subject) {
	for _, sm := range kinds(specimens(t, s.Op)) {
		for _, cut := range []target.Cut{target.CutAfterWrite, target.CutAfterHead} {
			if sm.job && cut == target.CutAfterWrite && t.Effort() != check.Deep {
				continue // the server has surely begun with the other one
			}
			t.Attempt(func(t *check.T) { newCreation(t, s.Op, sm).judgeLost(cut) })
		}
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
	c.follow(c.in.role, found)
	for range 2 {
		again := c.t.Call(c.in.role, c.in.request())
		same := c.t.Judge(claim, c.same(found, again), c.replayOf(found), describe(again))
		if e := c.expiry(found); same && e != "" {
			now := c.expiry(again)
			c.t.Judge("idempotency.recovery-expires", sameInstant(e, now), e, now)
		}
	}
	c.judgeCount("idempotency.recovery-once", 1)
}
