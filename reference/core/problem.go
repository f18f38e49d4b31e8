package core

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"time"

	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// statusOf is what a kind is answered with where the contract does not say.
func statusOf(k Kind) int {
	switch k {
	case Unauthenticated:
		return http.StatusUnauthorized
	case Forbidden, BudgetExhausted:
		return http.StatusForbidden
	case NotFound:
		return http.StatusNotFound
	case MethodNotAllowed:
		return http.StatusMethodNotAllowed
	case InvalidJSON, InvalidRequest, InvalidParameter, KeyRequired, CursorInvalid:
		return http.StatusBadRequest
	case KeyConflict, StateConflict:
		return http.StatusConflict
	case CursorExpired:
		return http.StatusGone
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case UnsupportedMedia:
		return http.StatusUnsupportedMediaType
	case RateLimited, TooManyJobs:
		return http.StatusTooManyRequests
	case Unavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// Refuse implements Domain and System.
func (c *Core) Refuse(k Kind, detail string) *Problem {
	r := c.contract.Doc.Codes[string(k)]
	p := c.refusal(r, k, detail)
	switch k {
	case RateLimited, TooManyJobs, Unavailable:
		p.RetryAfter = time.Second
	case Unauthenticated:
		p.Header = map[string]string{"WWW-Authenticate": "Bearer"}
	}
	return p
}

// refusal builds a Problem from what the contract says of it, completed by the kind's own.
func (c *Core) refusal(r spec.Refusal, k Kind, detail string) *Problem {
	if r.Status == 0 {
		r.Status = statusOf(k)
	}
	if r.Code == "" {
		r.Code = strings.ToUpper(string(k))
	}
	return &Problem{Kind: k, Status: r.Status, Code: r.Code, Title: http.StatusText(r.Status), Detail: detail}
}

func (c *Core) invalid(k Kind, detail string, vs []Violation) *Problem {
	p := c.Refuse(k, detail)
	p.Violations = vs
	return p
}

// broken logs an error of our own and builds the Problem that says nothing of it.
func (c *Core) broken(op *spec.Operation, err error) *Problem {
	c.log.Error("internal error", "operation", op.ID, "error", err)
	return c.Refuse(Internal, "The server failed; the request id identifies this answer.")
}

const problemJSON = "application/problem+json"

// Render writes a Problem with its members where the contract's error trait puts them. In
// application/problem+json they are those of RFC 9457; in any other form the words stand beside the
// code. Without a trait it is problem details.
func Render(t *spec.ErrorTrait, p *Problem, requestID string) (mediaType string, body []byte) {
	at := spec.ErrorTrait{MediaType: problemJSON, Code: "/code", RequestID: "/request_id", Violations: "/errors"}
	if t != nil {
		at = *t
	}
	m := map[string]any{}
	put := func(where tree.Pointer, v string) {
		if where != "" && v != "" {
			set(m, where, v)
		}
	}
	beside, _ := at.Code.Parent()
	if at.MediaType == problemJSON {
		m = map[string]any{"type": "about:blank", "title": p.Title, "status": p.Status}
		put("/detail", p.Detail)
	} else {
		put(beside.Append("message"), p.Detail)
	}
	put(at.Code, p.Code)
	put(at.RequestID, requestID)
	put(beside.Append("required"), p.Required)
	if at.Violations != "" && len(p.Violations) > 0 {
		set(m, at.Violations, p.Violations)
	}
	body, err := encode(m)
	if err != nil { // strings and numbers only: cannot be
		body, _ = json.Marshal(map[string]any{"status": p.Status})
	}
	return at.MediaType, body
}

// RetryAfter is the delay in whole seconds, rounded up and at least 1 (RFC 9110 §10.2.3).
func RetryAfter(d time.Duration) int { return max(1, int(math.Ceil(d.Seconds()))) }
