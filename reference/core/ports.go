// Package core judges and carries out requests for any contract with traits: admission,
// idempotency, traversal, jobs, access and limits. What a system computes is added by Behaviours;
// how requests arrive (rest, mcp) and where state lives (store/*) are behind ports.
package core

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"assay.kit/reference/core/access"
	"assay.kit/spec"
)

// Domain is all that a transport sees. A transport calls Authenticate, then Route-level work of its
// own, then Permit, then Do: the order of judgement is the contract's (401, 404/405, 403, 429, …).
type Domain interface {
	// Authenticate resolves a bearer token; the Problem is a 401.
	Authenticate(ctx context.Context, token string) (Principal, *Problem)
	// Permit judges scope and rate for an operation, before the body is read.
	Permit(ctx context.Context, p Principal, op *spec.Operation) *Problem
	// Do judges the rest and carries the request out.
	Do(ctx context.Context, r Request) (Answer, *Problem)
	// Refuse builds the Problem of a refusal kind with the contract's status and code.
	Refuse(kind Kind, detail string) *Problem
}

// Principal is who a request acts for, and what that credential may do.
type Principal = access.Principal

// Limits is the policy of one connection.
type Limits = access.Limits

// Request is one request after the transport's part.
type Request struct {
	ID          string // request id
	Op          *spec.Operation
	Principal   Principal
	Path        map[string]string // decoded path parameters
	EscapedPath string            // as it arrived, before normalisation
	Query       url.Values
	Header      func(name string) string // "" if absent
	Body        []byte                   // raw; nil if none was sent
	Value       any                      // decoded body, json.Number; set by core before a Behaviour sees it
	Now         time.Time                // contract clock at admission; set by core
}

// Answer is what a request gave. Body is JSON, nil for none.
type Answer struct {
	Status int
	Header map[string]string
	Body   json.RawMessage
}

// Kind names a refusal independently of the contract's status and code for it.
type Kind string

// Kinds of refusal; the contract's x-assay codes map each to a status and code.
const (
	Unauthenticated  Kind = "unauthenticated"
	Forbidden        Kind = "forbidden"
	NotFound         Kind = "not_found"
	MethodNotAllowed Kind = "method_not_allowed"
	InvalidJSON      Kind = "invalid_json"
	InvalidRequest   Kind = "invalid_request"
	InvalidParameter Kind = "invalid_parameter"
	KeyRequired      Kind = "key_required"
	KeyConflict      Kind = "key_conflict"
	CursorInvalid    Kind = "cursor_invalid"
	CursorExpired    Kind = "cursor_expired"
	StateConflict    Kind = "state_conflict"
	TooLarge         Kind = "too_large"
	UnsupportedMedia Kind = "unsupported_media_type"
	RateLimited      Kind = "rate_limited"
	TooManyJobs      Kind = "too_many_jobs"
	BudgetExhausted  Kind = "budget_exhausted"
	Unavailable      Kind = "unavailable"
	Internal         Kind = "internal"
)

// Problem is a refusal (RFC 9457). It is an error only in the sense of Go; nothing was admitted.
type Problem struct {
	Kind       Kind
	Status     int
	Code       string
	Title      string
	Detail     string
	Required   string // the scope or grant that is missing
	Violations []Violation
	RetryAfter time.Duration // > 0: when to try again
	Header     map[string]string
}

func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// Violation is one broken rule of the request's schema.
type Violation struct {
	Pointer string `json:"pointer"`
	Keyword string `json:"keyword"`
	Message string `json:"message"`
}

// ErrNotFound is what a Reader returns for an id that the store does not hold.
var ErrNotFound = errors.New("not found")

// Store keeps everything durable. View sees one consistent snapshot. Update is atomic and durable
// when it returns nil; a store may run f again or group several Updates into one commit, so f does
// no I/O and has no effect but through its Writer. An error of f rolls f back and is returned as is.
type Store interface {
	View(ctx context.Context, f func(Reader) error) error
	Update(ctx context.Context, f func(Writer) error) error
	Close() error
}

// Reader reads inside a View or Update. What it returns is shared and must not be modified.
type Reader interface {
	Resource(kind, id string) (Resource, error)
	Scan(Query) ([]Resource, error)
	Watermark() (int64, error) // highest sequence number committed, 0 if none
	Binding(identity string) (Binding, error)
	Task(job string) (Task, error)
	Due(now time.Time, n int) ([]Task, error) // not Running, not Held, Due <= now, in order of Due
	Stuck(n int) ([]Task, error)              // Running or Held, in order of Job
	Active(credential string) (int, error)    // tasks of a credential
	Value(bucket, key string) ([]byte, error)
	Values(bucket string) (map[string][]byte, error)
}

// Writer writes inside an Update.
type Writer interface {
	Reader
	Insert(Resource) (seq int64, err error) // Seq is assigned in commit order; error if the id exists
	Replace(Resource) error                 // State, Body, Private; Seq and Created stay
	Bind(Binding) error                     // replaces an expired one
	SetTask(Task) error
	DropTask(job string) error
	SetValue(bucket, key string, v []byte) error   // nil deletes
	PurgeBindings(t time.Time) error               // those that expired at t or before
	PurgeResources(kind string, t time.Time) error // those created before t
}

// Resource is one stored thing. Body is its public representation as its read operation gives it.
type Resource struct {
	Kind      string
	ID        string
	Workspace string
	Client    string
	Parent    string // the path parameter of its list, or the id of the resource whose access it follows; "" if none
	Seq       int64  // order of commit
	Created   time.Time
	State     string // "" if it has no machine
	Body      json.RawMessage
	Private   json.RawMessage // a Behaviour's own data
}

// Query selects resources in order of Seq.
type Query struct {
	Kind, Workspace, Parent string
	AnyParent, AnyWorkspace bool
	CreatedAfter            time.Time // exclusive; zero: no bound
	After                   int64     // exclusive in the direction of the scan; 0: from the start (or, Desc, from UpTo)
	UpTo                    int64     // inclusive watermark; 0: no bound
	Desc                    bool
	Limit                   int
}

// Binding associates an identity with a fingerprint and the first answer.
type Binding struct {
	Identity    string
	Fingerprint []byte
	Expires     time.Time
	Answer      Answer
}

// Task is the runner's record of a job that has not ended.
type Task struct {
	Job        string // resource id
	Operation  string // that admitted it
	Workspace  string
	Client     string
	Credential string
	Due        time.Time
	Attempt    int // grows with each start; fences writes of an older attempt
	Running    bool
	Held       bool            // by the control API
	Fail       string          // error code that the control API wants it to end with; "" none
	Input      json.RawMessage // what the Behaviour's Work gets
}

// Behaviour is what one operation does beyond its traits. A nil function leaves the default, which
// stores and echoes what the schemas describe; so a contract without Go code works.
type Behaviour struct {
	// Prepare runs after the key lookup and before admission, outside the write transaction: resolves
	// references, checks authority, computes. Its plan goes to Apply.
	Prepare func(ctx context.Context, sys System, r *Request) (plan any, p *Problem)
	// Apply runs inside the admission transaction and writes. The default creates, moves or deletes by traits.
	Apply func(sys System, w Writer, r *Request, plan any) (Answer, *Problem)
	// Read answers an operation without effect. The default reads or lists by traits.
	Read func(ctx context.Context, sys System, r *Request) (Answer, *Problem)
	// Work carries out an admitted job outside any transaction. The default synthesises a result from
	// the schema of the artifact.
	Work func(ctx context.Context, sys System, t Task) (Result, error)
	// Visible filters an item out of a listing (entitlement); nil shows all of the workspace.
	Visible func(p Principal, res Resource) bool
}

// Result is what Work gave: the artifact's body (its id is set by core) or an error code.
type Result struct {
	Body      map[string]any
	ErrorCode string        // not "": the job failed
	Wait      time.Duration // > 0: the job waits that long on the contract clock and Work runs again
}

// System is what a Behaviour may use of core.
type System interface {
	Contract() *spec.Contract
	Store() Store
	Clock() Clock
	NewID(prefix string) string // opaque, unguessable
	Refuse(kind Kind, detail string) *Problem
	// Find returns a resource that the principal may read, else the contract's not-found Problem:
	// foreign and unknown are answered alike.
	Find(r Reader, p Principal, kind, id string) (Resource, *Problem)
	// Create inserts a resource in its initial state, records the event, and returns it stored. It sets
	// Created, and in the body the id, state and created_at where the schema of its kind has them.
	Create(w Writer, p Principal, res Resource) (Resource, error)
	// Step moves a resource along its contract's machine and records the event; a move that the
	// machine does not have is a state_conflict Problem. change edits the body before it is stored;
	// res.Private, if not nil, is stored too. What else res holds is read anew.
	Step(w Writer, res Resource, to string, change func(body map[string]any)) (Resource, *Problem)
	// AdmitJob creates the job resource of an operation with the job trait and its Task, and returns the accepted answer.
	AdmitJob(w Writer, r *Request, extra map[string]any, input any) (Answer, *Problem)
	// Seal and Open are for cursors that are not a collection's (a tool's input cursor).
	Seal(p Principal, scope string, ttl time.Duration, v any) (string, error)
	Open(p Principal, scope, cursor string, v any) *Problem
}

// Clock is the contract clock: an offset to real time that can be frozen and advanced.
type Clock interface {
	Now() time.Time
	// Wait returns when the clock reads until or later, or when ctx ends.
	Wait(ctx context.Context, until time.Time) error
}
