// Package spec holds a loaded contract as data: its operations, tools, requirements and the
// promises (x-assay traits) that OpenAPI cannot express. No third-party type leaks out of it.
//
// A contract is a folder with openapi.yaml, tool-catalog.json and requirements.yaml; the first two
// are optional, but not both may be missing. Load reads one, joins the three and validates every
// use of the vocabulary; all its errors carry file, line and pointer.
package spec

import (
	"assay.kit/spec/route"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// Contract is everything that was promised, from one folder.
type Contract struct {
	Name     string         // folder name, e.g. "seer"
	Title    string         // info.title
	Version  string         // info.version
	Digest   string         // "sha256:<hex>" over the sources after overlays
	Doc      DocTraits      // x-assay of the document
	Ops      []*Operation   // in document order
	Tools    []*Tool        // in catalog order; one name may appear in several revisions
	Reqs     []*Requirement // in catalog order
	States   []*States      // state machines, one a resource type
	Warnings []Warning      // what was loaded but looks wrong (an overlay action that matched nothing)
	Raw      *tree.Node     // the OpenAPI document after overlays and lifting to 3.1; nil if there is none
	Routes   *route.Table   // path matcher over Ops; its values are path templates
	Schemas  *schema.Set    // every schema of the document, by JSON pointer
}

// Operation is one method of one path.
type Operation struct {
	ID, Method, Path string // Path is the template, e.g. /v1/jobs/{job_id}
	Summary          string
	Params           []Param
	Body             *Body           // nil: takes no body
	Answers          map[int]*Answer // by status; key 0 is "default", 1 to 5 a range such as 4XX
	Scopes           []string        // OAuth-style scopes that the security requirement names
	Public           bool            // security: [] (no credential needed)
	Origin           Origin
	Refs             []Ref // of parameters and of body members, ready for resolution
	Line             int   // in openapi.yaml
	Traits
}

// Param is a path, query or header parameter.
type Param struct {
	Name, In string // In: path, query, header
	Required bool
	Schema   *schema.Schema
	Example  any // decoded JSON with json.Number, nil if none
	Ref      *Ref
}

// Body is a request body.
type Body struct {
	Required  bool
	MediaType string         // the JSON one if there is any
	Schema    *schema.Schema // nil if it has no JSON form
	Examples  []Example
}

// Answer is one documented response.
type Answer struct {
	Status    int
	MediaType string         // "" if it has no body
	Schema    *schema.Schema // nil if it has no body
	Headers   []Param        // documented response headers, In "header"
	Examples  []Example
}

// Example is a named example; Value is decoded JSON with json.Number.
type Example struct {
	Name  string
	Value any
	Line  int
}

// Traits are the promises of one operation; nil means not promised.
type Traits struct {
	Creates     *Creates
	Idempotency *Idempotency
	Collection  *Collection
	Job         *Job
	Moves       *Moves
	Access      *Access
	Authority   []string // what a caller must hold beyond scopes: grant, entitlement, budget, authorization
	Effect      Effect
	Immutable   bool
	Volatile    []tree.Pointer // members of the answer that may differ between two equal answers
}

// Effect says what calling an operation or tool does to the world.
type Effect string

// Effects. The zero value is not valid after loading: GET defaults to read, all else must say.
const (
	EffectRead      Effect = "read"
	EffectCompute   Effect = "compute"
	EffectFinancial Effect = "financial"
)

// Origin says how far the source documents carry a statement.
type Origin string

// Origins.
const (
	Stated   Origin = "stated"
	Inferred Origin = "inferred"
)

// Weaker returns Inferred if either is.
func (o Origin) Weaker(p Origin) Origin {
	if o == Inferred || p == Inferred {
		return Inferred
	}
	return Stated
}

// Refusal is a status and the stable error code that goes with it; Code "" leaves the code open.
type Refusal struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
}

// Period is a length of time that the contract fixes in seconds or leaves to a limit of the
// connection (Doc.Connection.Limits). At most one is set; none promises nothing.
type Period struct {
	Seconds int
	Limit   string
}

// Creates: the operation makes a resource.
type Creates struct {
	Resource string // type name, e.g. agent_revision
	ID       Expr   // where the new id is in the answer
	Read     string // operation that reads one back, "" if none
	List     string // collection that lists it, "" if none
}

// Idempotency: a retry of the same intent makes one thing, a changed one is refused.
type Idempotency struct {
	Key         Expr // $request.header.Idempotency-Key
	Required    bool
	MaxLength   int      // of the key; printable ASCII from 1 to this
	Scope       []string // of workspace, client, method, path
	Fingerprint string   // jcs (RFC 8785)
	Conflict    Refusal  // same identity, other payload
	Missing     Refusal  // no key, or an empty one
	InFlight    string   // wait: a twin waits for the first and then replays
	Replay      string   // original: status and representation of the first answer
	Stores      string   // success: refusals do not bind the key
	Retention   Period
	Expires     Expr   // $response.header.Idempotency-Key-Expires-At; zero if not promised
	AfterExpiry string // fresh: the key is unused again
}

// Collection: the operation lists a resource type page by page.
type Collection struct {
	Resource string
	Items    tree.Pointer // the array in the answer
	Next     tree.Pointer // the next cursor in the answer
	Cursor   Expr         // where the next request carries it
	Limit    *PageLimit
	ID       tree.Pointer // the stable id in an item
	Order    *Order       // nil: one fixed order, not promised further
	Filters  []Filter
	Isolate  *Isolate // how a walk is narrowed to items of the caller's own; nil: not possible
	Snapshot string   // watermark: bound to the first page; none
	End      string   // how the last page says so: null, absent or empty
	Invalid  Refusal  // a cursor that does not open, or comes with other filters, order or principal
	Expired  Refusal
	TTL      Period
}

// PageLimit is the page size parameter.
type PageLimit struct {
	Param             string
	Min, Max, Default int
	OutOfRange        string // reject or clamp
}

// Order names the sort parameter and its values.
type Order struct {
	Param   string
	Default string
	Values  []OrderValue
}

// OrderValue is one legal value of the sort parameter.
type OrderValue struct {
	Value string
	By    tree.Pointer // member of the item that is sorted on; ties are broken by id
	Desc  bool
}

// Filter is one query parameter that narrows a collection.
type Filter struct {
	Param   string
	Member  tree.Pointer // of the item
	Match   string       // equal, or after: what the member shows is later, the value itself excluded
	Mutable bool         // the member may change after creation
}

// Isolate narrows a walk to items made by one caller: by a free parent id in the path, or by a
// filter on a member that the caller chose at creation.
type Isolate struct {
	Path   string       // path parameter whose id a caller may choose freely, shared with the creation
	Param  string       // or: query parameter ...
	Member tree.Pointer // ... equal to this member of the creation's body
	Time   bool         // or: Param is a lower bound on creation time
}

// Job: the operation admits background work.
type Job struct {
	Accepted  int          // status of the admission answer, 202
	ID        Expr         // in the admission answer
	StatusURL Expr         // in the admission answer; zero if not promised
	Read      string       // operation that reads the job
	Cancel    string       // operation that cancels it, "" if none
	State     tree.Pointer // in the job
	Result    tree.Pointer // in the job, present when it ended well
	Artifact  string       // operation that reads the result, its last path parameter is the result id
	Error     tree.Pointer // in the job, present when it failed
	Success   string       // terminal state that carries Result
	Failure   string       // terminal state that carries Error
	Cancelled string       // terminal state after cancelling
}

// Moves: the operation drives a transition of a state machine.
type Moves struct {
	Resource string // machine, by resource type
	From     []string
	To       string
}

// Access says how a foreign id is answered and whose access this resource follows.
type Access struct {
	Foreign string // not_found or forbidden
	Follows string // resource type, "" if its own
}

// States is the machine of one resource type's state member.
type States struct {
	Resource    string
	Schema      tree.Pointer // of the property in the document
	Initial     string
	Transitions map[string][]string
	Terminal    []string
	Open        bool              // a reader must tolerate further states
	Meaning     map[string]string // one sentence a state
}

// Ref says which resource type an id names and where one comes from.
type Ref struct {
	In       string       // path, query or body
	Name     string       // parameter name, if In is path or query
	Pointer  tree.Pointer // of the member, if In is body; "*" is every item of an array
	Resource string
	From     string       // operation that yields one; "" only with Free
	At       tree.Pointer // of the id in From's answer; "" = its creates or collection id
	Free     bool         // the caller may choose a new id
}

// DocTraits are the promises of the whole document.
type DocTraits struct {
	Profile      string // named set of defaults: seer
	Error        *ErrorTrait
	Connection   *Connection
	Correlation  *Expr // where the request id is: $response.header.X-Request-Id
	Backpressure *Backpressure
	MCP          *MCP
	Volatile     []tree.Pointer
	BaseURLEnv   string // names of the environment variables of a default profile
	TokenEnv     string
	Codes        map[string]Refusal // refusals of the domain by kind: see the vocabulary's schema
}

// ErrorTrait says what a refusal looks like.
type ErrorTrait struct {
	MediaType  string
	Code       tree.Pointer // the stable machine-readable code
	RequestID  tree.Pointer // "" if not promised
	Violations tree.Pointer // list of {pointer, keyword, message}; "" if not promised
}

// Connection names the operation that returns the caller's context and limits.
type Connection struct {
	Operation string
	Limits    map[string]tree.Pointer // by limit name: requestsPerMinute, concurrentJobs, requestBytes, idempotencyRetention, cursorTtl, eventRetention
	Context   map[string]tree.Pointer // by what it says of the credential: client, workspace, audience, expiry, scopes
}

// Backpressure says which statuses mean "later" and where the delay is.
type Backpressure struct {
	Statuses []int
	Delay    Expr
}

// MCP says how the contract appears as tools.
type MCP struct {
	Endpoint  tree.Pointer // in the connection's answer; "" if it does not tell
	Revision  string       // protocol revision, 2025-06-18
	Prefix    string       // tool name = Prefix + domain name with dots replaced by Separator
	Separator string
	Envelope  tree.Pointer // where the data payload is in the answer to a domain tool's invocation; "" no envelope
	Utilities []string     // tools that are no face of a domain tool
}

// Tool is one revision of one tool.
type Tool struct {
	Name        string // on MCP
	Domain      string // on REST; "" for a utility
	Title       string
	Description string
	Effect      Effect
	Scopes      []string
	Revision    ToolRevision
	Operation   string // the REST operation that invokes it
	Async       bool   // answers AcceptedJob, never a synchronous result
	Utility     bool
	Annotations *Annotations // on MCP; nil if there are none
	Key         *ToolKey     // nil: calls carry no business key
	Input       *schema.Schema
	Output      *schema.Schema // of the data payload; on MCP inside the envelope
	Structured  *schema.Schema // of structuredContent on MCP: Output, or the envelope around it
	Examples    []Example      // of the input
	File        string
	Line        int
}

// ToolRevision separates the schema's revision from the numerical method's.
type ToolRevision struct{ Schema, Method string }

// Role says whose promise a requirement is.
type Role string

// Roles.
const (
	RoleServer Role = "server"
	RoleClient Role = "client"
	RoleGate   Role = "gate"
	RoleBoth   Role = "both"
)

// Requirement is one row of the catalog.
type Requirement struct {
	ID        string
	Role      Role
	Origin    Origin
	Level     string   // MUST (default), SHOULD or MAY
	Needs     []string // capabilities; the closed list is in conformance/target
	Source    string
	Statement string
	Claims    []ClaimRef // what judges it; the only place where this link is written
	Note      string     // why it has no claim yet, or why it is excluded
	File      string     // where the row is written
	Line      int
}

// ClaimRef links a requirement to a claim of a check.
type ClaimRef struct {
	ID     string
	Origin Origin // the row's, unless the claim judges a weaker, inferred part of it
}

// Op returns the operation with this id, or nil.
func (c *Contract) Op(id string) *Operation {
	for _, o := range c.Ops {
		if o.ID == id {
			return o
		}
	}
	return nil
}

// Machine returns the state machine of a resource type, or nil.
func (c *Contract) Machine(resource string) *States {
	for _, s := range c.States {
		if s.Resource == resource {
			return s
		}
	}
	return nil
}

// Requirement returns the row with this id, or nil.
func (c *Contract) Requirement(id string) *Requirement {
	for _, r := range c.Reqs {
		if r.ID == id {
			return r
		}
	}
	return nil
}
