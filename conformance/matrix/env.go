package matrix

import (
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
)

// casesAtOnce is small, because several servers are judged at once in this process.
const casesAtOnce = 4

// env is that of an ordinary run, without shrinking: only whether a claim breaks is asked.
func (o Options) env(p *target.Profile, caller *target.REST, epoch time.Time) check.Env {
	return check.Env{Contract: o.Contract, Profile: p, Caller: caller, Passive: wire.Passive(), Hook: caller.RunHook,
		Redact: caller.Redact, Text: caller.Redactor().Text, Curl: caller.Curl, Epoch: epoch, Seed: o.Seed, Financial: p.Sandbox, Effort: o.Effort,
		Parallel: casesAtOnce, Budget: p.Budget.Requests, JobSlots: p.Budget.Jobs, CaseTime: o.CaseTime}
}
