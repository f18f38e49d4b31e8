package suite

import (
	"fmt"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

const pollDelaySays = "A delay that a polling answer asks for is one value, as delta-seconds or an HTTP-date."

// delayHeader is the header in which a server says when to come again.
func delayHeader(c *spec.Contract) string {
	if b := c.Doc.Backpressure; b != nil && b.Delay.Name != "" {
		return b.Delay.Name
	}
	return "Retry-After"
}

// judgePollDelay judges every read of a job so far whose answer asks for a delay (RFC 9110 §10.2.3).
// A server need not ask for any.
func judgePollDelay(t *check.T, op *spec.Operation) {
	const claim = "jobs.poll-delay"
	header := delayHeader(t.Contract())
	for _, ex := range t.Exchanges() {
		if ex.Req.Operation != op.Job.Read || ex.Status() != 200 {
			continue
		}
		values := ex.HeaderValues(header)
		if len(values) == 0 {
			continue
		}
		_, read := wire.ParseRetryAfter(values[0], time.Time{})
		t.Judge(claim, len(values) == 1 && read, "one "+header+" as delta-seconds or HTTP-date", fmt.Sprintf("%q", values))
	}
	t.NotApplicable(claim, "no polling answer carries "+header) // unless judged
}
