package suite

import (
	"bytes"
	"strings"

	"assay.kit/conformance/check"
	"assay.kit/spec/tree"
)

func isCanonical(s check.Subject) bool { return s.Op.Idempotency.Fingerprint == "jcs" }

// ending is the same creation with more at the end of a text that may be any, as far as the target
// admits it. What would start a job or use something up is left alone.
func (c *creation) ending(more string) (own *creation, at tree.Pointer, ok bool) {
	if c.job || c.op.Moves != nil {
		return nil, "", false
	}
	for _, at := range stringLeaves(c.in.body, "") {
		was, _ := tree.Get(c.in.body, at)
		body := clone(c.in.body)
		set(body, at, text(was)+more)
		if !c.mayMark(at) || len(c.op.Body.Schema.Validate(body)) > 0 {
			continue
		}
		own := *c
		own.in = c.fresh(body)
		return &own, at, admitted(own.send(own.in))
	}
	return nil, "", false
}

// alike is a creation and a change of it that looks the same: a letter with an accent, in one
// character and in two.
func (c *creation) alike() (base *creation, ch change, ok bool) {
	base, at, ok := c.ending(" caf\u00e9")
	if !ok || !isCanonical(check.Subject{Op: c.op}) {
		return nil, change{}, false
	}
	was, _ := tree.Get(base.in.body, at)
	body := clone(base.in.body)
	set(body, at, strings.TrimSuffix(text(was), "\u00e9")+"e\u0301")
	return base, change{value: body, at: at, kind: "form", claim: "idempotency.change-form"}, len(c.op.Body.Schema.Validate(body)) == 0
}

// judgePair repeats a creation with a character that JSON escapes in two parts (RFC 8259 §7).
func (c *creation) judgePair() {
	own, _, ok := c.ending(" \U0001F600")
	if !ok {
		return
	}
	first := own.send(own.in)
	escaped := bytes.Replace(encode(own.in.body), []byte("\U0001F600"), []byte(`\ud83d\ude00`), 1)
	again := own.send(own.in.spelled(escaped))
	if !admitted(first) {
		return
	}
	c.t.Judge("idempotency.spelling", own.same(first, again), own.replayOf(first)+`, for the escapes \ud83d\ude00 of one character`, describe(again))
}
