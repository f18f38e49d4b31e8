package suite

import (
	"assay.kit/conformance/check"
	"assay.kit/spec"
)

// validationWriteQuery sends a creation with a parameter that nobody knows, and then, to show that
// nothing else was wrong with it, without.
func validationWriteQuery(t *check.T, op *spec.Operation) {
	c := newCreation(t, op, specimens(t, op)[0])
	rq := c.in.request()
	rq.Target += "?assay_unknown=1"
	done := jobSlotFor(t, op)
	ex := t.Call(primary, rq)
	c.follow(primary, ex)
	done()
	if admitted(ex) || admitted(c.send(c.in)) {
		t.Judge("validation.unknown-parameter", refusedParameter(ex.Status()), "a 4xx for ?assay_unknown=1", describe(ex))
		judgeParameterCode(t, "?assay_unknown=1", ex)
	} else {
		t.Inconclusive("the plain creation was refused too: %s", describe(ex))
	}
	t.NotApplicable("validation.parameter", op.ID+" has no query parameter")
}
