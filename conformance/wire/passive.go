package wire

import (
	"errors"
	"strings"

	"assay.kit/spec"
	"assay.kit/spec/schema"
)

// Rule is a passive claim: something that every exchange must keep, whatever check sent it.
type Rule struct {
	Claim string
	Says  string // the promise, in one sentence
	// Look judges one exchange. judged is false if it says nothing about the claim: another status,
	// no such trait, no whole answer.
	Look func(*View) (findings []Finding, judged bool)
}

// Finding is one broken passive claim.
type Finding struct {
	Claim     string `json:"claim"`
	Operation string `json:"operation,omitempty"` // id; "" for a path outside the contract
	Status    int    `json:"status"`
	Ours      bool   `json:"ours,omitempty"` // the kit's fault: it proves nothing about the server
	Expected  string `json:"expected"`
	Actual    string `json:"actual"`
}

// Passive returns the rules, in the order in which they are reported.
func Passive() []Rule {
	rule := func(claim, says string, look func(*View) verdict) Rule {
		return Rule{Claim: claim, Says: says, Look: func(v *View) ([]Finding, bool) {
			if v.End != EndComplete || v.Req.Face != FaceREST {
				return nil, false
			}
			return v.named(claim, look(v))
		}}
	}
	return append([]Rule{
		rule("wire.server-error", "No request makes the server fail: no 5xx but the contract's own 503.", serverError),
		rule("wire.status", "Every status is one that the contract documents for the operation.", documentedStatus),
		rule("wire.schema", "Every answer's body keeps its documented schema.", keepsSchema),
		rule("wire.media-type", "Every body carries its documented media type, in UTF-8.", mediaType),
		rule("wire.utf8", "Every body is UTF-8 without a byte order mark.", validUTF8),
		rule("wire.json", "Every JSON body is one JSON value without duplicate members.", strictJSON),
		rule("wire.request-id", "Every answer on a path of the contract carries one request id.", requestID),
		rule("wire.request-id-body", "A request id in the body of a refusal is that of the header.", requestIDBody),
		rule("wire.headers", "Every header that the contract requires of an answer is there.", requiredHeaders),
		rule("wire.error-shape", "Every refusal is a problem document with a stable code and the status of the wire.", errorShape),
		rule("wire.leak", "No answer shows internals of the server or the caller's token.", leak),
		rule("wire.date-time", "Every date-time carries an offset.", dateTime),
		rule("wire.money", "Every monetary value is an integer string with asset and scale.", money),
		rule("wire.no-nan", "Every number with a unit is finite.", finite),
		rule("wire.retry-after", "A refusal that means later says when, as delta-seconds or HTTP-date.", retryAfter),
		rule("wire.www-authenticate", "Every 401 carries a Bearer challenge.", challenge),
		rule("wire.allow", "Every 405 lists the methods that the path has.", allow),
	}, mcpRules()...)
}

// named puts the claim and the place on what a rule found.
func (v *View) named(claim string, result verdict) ([]Finding, bool) {
	for i := range result.findings {
		f := &result.findings[i]
		f.Claim, f.Operation, f.Status = claim, v.opID(), v.Head.Status
	}
	return result.findings, result.judged
}

// RequestIDUnique is the claim of UniqueRequestIDs.
const RequestIDUnique = "wire.request-id-unique"

// UniqueRequestIDs judges a whole run: no two answers carry the same request id. The finding names
// the operation and status of the later one.
func UniqueRequestIDs(c *spec.Contract, exs []Exchange) []Finding {
	header, ok := correlationHeader(c)
	if !ok {
		return nil
	}
	var out []Finding
	first := map[string]Exchange{}
	for _, ex := range exs {
		id := ex.Header(header)
		if id == "" {
			continue
		}
		if f, dup := first[id]; dup {
			out = append(out, Finding{Claim: RequestIDUnique, Operation: ex.Req.Operation, Status: ex.Head.Status,
				Expected: "a " + header + " of its own for every request",
				Actual:   "the same as of " + f.Req.Method + " " + f.Req.Target + " (case " + f.Case + ")"})
			continue
		}
		first[id] = ex
	}
	return out
}

// verdict is what a rule says of one exchange.
type verdict struct {
	findings []Finding
	judged   bool
}

func silent() verdict { return verdict{} }

func good() verdict { return verdict{judged: true} }

func bad(expected, actual string) verdict {
	return verdict{judged: true, findings: []Finding{{Expected: expected, Actual: actual}}}
}

func (v *verdict) add(expected, actual string) {
	v.findings = append(v.findings, Finding{Expected: expected, Actual: actual})
}

// DocumentedOperation finds the operation that a request's method and path lead to, nil if the
// contract has none. What the sender meant does not count: a check may send odd paths on purpose.
func DocumentedOperation(c *spec.Contract, ex Exchange) *spec.Operation {
	path, _, _ := strings.Cut(ex.Req.Target, "?")
	op, _, _ := c.Find(ex.Req.Method, path)
	return op
}

// View is an exchange with what rules need to know of it, worked out once. It belongs to one goroutine.
type View struct {
	Exchange
	c      *spec.Contract
	op     *spec.Operation // nil: outside the contract
	answer *spec.Answer    // nil: status not documented
	body   []byte
	value  any   // decoded body, if it is JSON
	err    error // why it is not
	placed []placed
	walked bool

	sent     Message // on the MCP face: what was asked, zero if it was no message
	messages []Message
}

// NewView prepares an exchange for the rules.
func NewView(c *spec.Contract, ex Exchange) *View {
	v := &View{Exchange: ex, c: c, body: ex.Body()}
	if ex.Req.Face != FaceREST {
		v.mcp()
		return v
	}
	v.op = DocumentedOperation(c, ex)
	v.answer = answerOf(v.op, ex.Head.Status)
	v.value, v.err = decodeBody(v.body)
	return v
}

// Operation is what the exchange's method and path lead to, nil outside the contract.
func (v *View) Operation() *spec.Operation { return v.op }

func (v *View) opID() string {
	if v.op == nil {
		return ""
	}
	return v.op.ID
}

// Subject is what passive claims are told apart by: what the target was asked, whatever the check
// that bends paths had in mind.
func (v *View) Subject() string {
	switch {
	case v.Req.Face != FaceREST:
		return v.mcpSubject()
	case v.op != nil:
		return v.op.ID
	default:
		return "other"
	}
}

// isError reports whether the answer is a refusal that the contract's error form covers: of one of
// its operations, or the absence of one. Others are answered by whatever stands in front.
func (v *View) isError() bool {
	s := v.Head.Status
	return s >= 400 && v.c.Doc.Error != nil && v.Req.Method != "HEAD" && (v.op != nil || s == 404 || s == 405)
}

// isBroken reports a 5xx that wire.server-error has to say everything about.
func (v *View) isBroken() bool { return v.Head.Status >= 500 && v.Head.Status != 503 }

func answerOf(op *spec.Operation, status int) *spec.Answer {
	if op == nil {
		return nil
	}
	if a, ok := op.Answers[status]; ok {
		return a
	}
	return op.Answers[0]
}

func correlationHeader(c *spec.Contract) (string, bool) {
	e := c.Doc.Correlation
	if e == nil || e.Side != "response" || e.Part != "header" {
		return "", false
	}
	return e.Name, true
}

var (
	errEmpty    = errors.New("the body is empty")
	errNoObject = errors.New("the message is no JSON object")
)

func decodeBody(body []byte) (any, error) {
	if len(body) == 0 {
		return nil, errEmpty
	}
	return schema.DecodeJSON(body)
}
