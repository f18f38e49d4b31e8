package suite

import (
	"fmt"

	"assay.kit/conformance/check"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// bodyOf decodes an answer's JSON strictly.
func bodyOf(ex wire.Exchange) (any, error) { return schema.DecodeJSON(ex.Body()) }

// member reads one member of an answer as text; "" if it is absent, null or no JSON.
func member(ex wire.Exchange, p tree.Pointer) string {
	v, err := bodyOf(ex)
	if err != nil {
		return ""
	}
	m, ok := tree.Get(v, p)
	if !ok {
		return ""
	}
	return text(m)
}

// code is the stable error code of a refusal, "" if it has none.
func code(t *check.T, ex wire.Exchange) string {
	if e := t.Contract().Doc.Error; e != nil {
		return member(ex, e.Code)
	}
	return ""
}

// describe is an answer in a few words: for expected/actual lines.
func describe(ex wire.Exchange) string {
	if ex.Head.Status == 0 {
		return fmt.Sprintf("no answer (%s)", ex.End)
	}
	b := ex.Body()
	if len(b) > 160 {
		return fmt.Sprintf("%d %s…", ex.Head.Status, b[:160])
	}
	return fmt.Sprintf("%d %s", ex.Head.Status, b)
}

// refused reports whether an answer is this refusal; a code that the contract leaves open, or an
// error trait that it does not have, accepts any.
func refused(t *check.T, ex wire.Exchange, want spec.Refusal) bool {
	if ex.Status() != want.Status {
		return false
	}
	return want.Code == "" || t.Contract().Doc.Error == nil || code(t, ex) == want.Code
}

// wanted is a refusal in a few words.
func wanted(r spec.Refusal) string {
	if r.Code == "" {
		return fmt.Sprintf("status %d", r.Status)
	}
	return fmt.Sprintf("status %d with code %s", r.Status, r.Code)
}

// admitted reports a 2xx.
func admitted(ex wire.Exchange) bool { return ex.Status() >= 200 && ex.Status() < 300 }

// rejected reports a 4xx.
func rejected(ex wire.Exchange) bool { return ex.Status() >= 400 && ex.Status() < 500 }
