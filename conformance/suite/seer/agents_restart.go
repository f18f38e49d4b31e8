package seer

import (
	"context"
	"fmt"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
)

func agentsRestart(_ context.Context, t *check.T, _ check.Subject) {
	const untilBack = 30 * time.Second
	agent := "assay-" + t.Nonce()
	base := configuration(t)
	for range 2 {
		if ex := newRevision(t, agent, base); !admitted(ex) {
			t.Inconclusive("no revision could be made: %s", short(ex))
		}
	}
	t.Hook(target.Restart, nil)
	for began := t.Now(); ; {
		ex := t.Send("primary", wire.Request{Operation: "getConnection", Method: "GET", Target: operation(t, "getConnection").Path}, target.Call{FreshConn: true})
		if ex.Status() != 0 {
			break
		}
		if t.Now()-began > untilBack {
			t.Inconclusive("nothing answers %s after the restart", untilBack)
		}
		t.Pause(20 * time.Millisecond)
	}
	ex := newRevision(t, agent, with(base, "model_binding", "model:aura-example-r9"))
	if !admitted(ex) {
		t.Inconclusive("no revision could be made after the restart: %s", short(ex))
	}
	t.Judge("agents.restart", numberAt(decoded(ex)) == 3, "revision number 3", fmt.Sprint(at(decoded(ex), "/revision")))
}
