package core

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"assay.kit/reference/core/access"
	"assay.kit/reference/core/cursor"
	"assay.kit/reference/core/idem"
	"assay.kit/reference/core/job"
	"assay.kit/reference/core/limit"
	"assay.kit/spec"
)

// Rules are the decisions that an implementer can get wrong, one function each. A nil function is
// the correct one, so the zero value is a correct server; whoever wants a broken or unusual server
// replaces one.
type Rules struct {
	// What arrives.
	NormalizePath func(escaped string) string                           // the one spelling of a path
	Decode        func(body []byte) (any, error)                        // strict JSON; the error is a 400
	ValidateBody  func(op *spec.Operation, v any) []Violation           // against the schema in force
	ValidateQuery func(op *spec.Operation, q url.Values) []Violation    // known names, once each, against their schemas; not page size and cursor
	ValidateInput func(tool *spec.Tool, input any) []Violation          // of a tool
	PageSize      func(l *spec.PageLimit, raw *string) (n int, ok bool) // raw nil: not sent
	BodyLimit     func(l Limits) int                                    // bytes; 0 or less: none

	// Who may.
	Admissible   func(c access.Credential, retired bool, now time.Time) bool
	Audience     func(p Principal, transport string) bool                              // whether the token was issued for it
	Grants       func(held []string, revoked func(grant string) bool) (still []string) // at this request
	MissingScope func(p Principal, need []string) string                               // "": none
	MayRead      func(p Principal, res Resource) bool
	Hides        func(p Principal, res Resource, hidden bool) bool // hidden by the control API
	Foreign      func(c *spec.Contract, kind string) Kind          // how a resource that may not be read is answered
	Take         func(b *limit.Bucket, l Limits, now time.Time) (ok bool, wait time.Duration)
	JobRoom      func(active int, l Limits) bool

	// Idempotency.
	Key         func(t *spec.Idempotency, key string) bool
	Identity    func(t *spec.Idempotency, r *Request, s idem.Source) string
	Fingerprint func(r *Request) ([]byte, error)
	Decide      func(b *idem.Bound, fingerprint []byte, now time.Time) idem.Decision
	Expiry      func(admitted time.Time, retention time.Duration) time.Time
	Stores      func(status int) bool // whether an outcome binds the key
	Replay      func(r Reader, op *spec.Operation, b Binding) (Answer, error)
	Conflict    func(op *spec.Operation, b Binding, refused *Problem) *Problem // refused is the contract's
	Admit       func(ctx context.Context, s Store, a Admission) (Answer, *Problem, error)

	// Traversal.
	CursorScope   func(operation string, p Principal) []byte // what a cursor is tied to
	Seal          func(k cursor.Keys, scope, plain []byte) (string, error)
	Open          func(k cursor.Keys, scope []byte, s string) ([]byte, error)
	CursorBinds   func(c cursor.Content, filters [16]byte, order string) bool
	CursorExpired func(c cursor.Content, now time.Time) bool
	Watermark     func(c *cursor.Content, current int64) int64 // c is nil on the first page
	Descending    func(v *spec.OrderValue) bool                // v is nil if the contract names no order
	Match         func(f spec.Filter, value string, item any) bool
	CreatedAfter  func(f spec.Filter, value string) time.Time                            // bound that the store can apply; zero: none
	Page          func(found []Resource, limit int) (items []Resource, resume *Resource) // found holds up to limit+1; resume nil: the end
	End           func(t *spec.Collection, page map[string]any)                          // marks the last page
	Represent     func(op *spec.Operation, res Resource) json.RawMessage                 // of a resource that is read or listed

	// Machines and jobs.
	Legal    func(m *spec.States, from, to string) bool
	Phases   func(m *spec.States, success string) job.Phases
	Delay    func(job, state string) time.Duration // how long a job stays in a state at least
	CancelTo func(m *spec.States, cancelled, state string) (to string, move bool)
	Stop     func(w Writer, job string) error // ends the work of a job that was cancelled
	JobView  func(j *spec.Job, state string, body map[string]any) map[string]any
	Accepted func(j *spec.Job, answer map[string]any) map[string]any // the answer to an admission
	Fenced   func(stored, mine Task) bool                            // whether a runner's write comes too late
	Publish  func(ctx context.Context, s Store, p Publication) error
	Records  func(m *spec.States, from, to string) bool // whether a move is an event

	// What is answered.
	Render func(t *spec.ErrorTrait, p *Problem, requestID string) (mediaType string, body []byte)
}

// Correct are the rules of a correct server, every function set: for whoever replaces one by a variant
// of it.
func Correct() Rules { return Rules{}.withDefaults() }

// withDefaults puts the correct function wherever there is none.
func (r Rules) withDefaults() Rules {
	r = r.requestDefaults()
	r = r.idempotencyDefaults()
	r = r.traversalDefaults()
	return r.jobDefaults()
}

// or sets f to the default if it is nil; F is a function type.
func or[F any](f *F, isNil bool, def F) {
	if isNil {
		*f = def
	}
}

func (r Rules) requestDefaults() Rules {
	or(&r.NormalizePath, r.NormalizePath == nil, idem.Normalize)
	or(&r.Decode, r.Decode == nil, idem.Decode)
	or(&r.ValidateBody, r.ValidateBody == nil, ValidateBody)
	or(&r.ValidateQuery, r.ValidateQuery == nil, ValidateQuery)
	or(&r.ValidateInput, r.ValidateInput == nil, ValidateInput)
	or(&r.PageSize, r.PageSize == nil, PageSize)
	or(&r.BodyLimit, r.BodyLimit == nil, func(l Limits) int { return l.RequestBytes })
	or(&r.Admissible, r.Admissible == nil, access.Admissible)
	or(&r.Audience, r.Audience == nil, access.IssuedFor)
	or(&r.Grants, r.Grants == nil, access.Still)
	or(&r.Hides, r.Hides == nil, func(_ Principal, _ Resource, hidden bool) bool { return hidden })
	or(&r.MissingScope, r.MissingScope == nil, access.Missing)
	or(&r.MayRead, r.MayRead == nil, func(p Principal, res Resource) bool { return access.MayRead(p, res.Workspace, res.Client) })
	or(&r.Foreign, r.Foreign == nil, Foreign)
	or(&r.Take, r.Take == nil, func(b *limit.Bucket, l Limits, now time.Time) (bool, time.Duration) {
		return b.Take(l.RequestsPerMinute, now)
	})
	or(&r.JobRoom, r.JobRoom == nil, func(active int, l Limits) bool { return limit.Room(active, l.ConcurrentJobs) })
	or(&r.Render, r.Render == nil, Render)
	return r
}

func (r Rules) idempotencyDefaults() Rules {
	or(&r.Key, r.Key == nil, func(t *spec.Idempotency, key string) bool { return idem.ValidKey(key, t.MaxLength) })
	or(&r.Identity, r.Identity == nil, func(t *spec.Idempotency, _ *Request, s idem.Source) string { return idem.Identity(t.Scope, s) })
	or(&r.Fingerprint, r.Fingerprint == nil, func(r *Request) ([]byte, error) { return idem.Fingerprint(r.Body) })
	or(&r.Decide, r.Decide == nil, idem.Decide)
	or(&r.Expiry, r.Expiry == nil, idem.Expiry)
	or(&r.Stores, r.Stores == nil, idem.Stores)
	or(&r.Replay, r.Replay == nil, func(_ Reader, _ *spec.Operation, b Binding) (Answer, error) { return b.Answer, nil })
	or(&r.Conflict, r.Conflict == nil, func(_ *spec.Operation, _ Binding, refused *Problem) *Problem { return refused })
	or(&r.Admit, r.Admit == nil, Admit)
	return r
}

func (r Rules) traversalDefaults() Rules {
	or(&r.CursorScope, r.CursorScope == nil, func(op string, p Principal) []byte { return cursor.Scope(op, p.Workspace, p.Client) })
	or(&r.Seal, r.Seal == nil, cursor.Seal)
	or(&r.Open, r.Open == nil, cursor.Open)
	or(&r.CursorBinds, r.CursorBinds == nil, cursor.Binds)
	or(&r.CursorExpired, r.CursorExpired == nil, cursor.Expired)
	or(&r.Watermark, r.Watermark == nil, Watermark)
	or(&r.Descending, r.Descending == nil, func(v *spec.OrderValue) bool { return v == nil || v.Desc })
	or(&r.Match, r.Match == nil, Match)
	or(&r.CreatedAfter, r.CreatedAfter == nil, CreatedAfter)
	or(&r.Page, r.Page == nil, Page)
	or(&r.End, r.End == nil, End)
	or(&r.Represent, r.Represent == nil, func(_ *spec.Operation, res Resource) json.RawMessage { return res.Body })
	return r
}

func (r Rules) jobDefaults() Rules {
	or(&r.Legal, r.Legal == nil, job.Legal)
	or(&r.Phases, r.Phases == nil, job.PhasesOf)
	or(&r.Delay, r.Delay == nil, func(id, _ string) time.Duration { return job.Delay(id) })
	or(&r.CancelTo, r.CancelTo == nil, job.CancelTo)
	or(&r.Stop, r.Stop == nil, func(w Writer, job string) error { return w.DropTask(job) })
	or(&r.JobView, r.JobView == nil, job.View)
	or(&r.Accepted, r.Accepted == nil, func(_ *spec.Job, answer map[string]any) map[string]any { return answer })
	or(&r.Fenced, r.Fenced == nil, func(stored, mine Task) bool { return stored.Attempt != mine.Attempt })
	or(&r.Publish, r.Publish == nil, Publish)
	or(&r.Records, r.Records == nil, func(*spec.States, string, string) bool { return true })
	return r
}
