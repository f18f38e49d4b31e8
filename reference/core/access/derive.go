package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"time"

	"assay.kit/spec"
)

// Audiences of the two transports.
const (
	AudienceREST = "rest"
	AudienceMCP  = "mcp"
)

// Names of the derived credentials; they are the roles of a target profile.
const (
	Primary            = "primary"
	SecondClient       = "second_client"
	SecondWorkspace    = "second_workspace"
	WithoutScope       = "without_scope"
	WithoutEntitlement = "without_entitlement"
	ExhaustedBudget    = "exhausted_budget"
	RotatedOld         = "rotated_old"
	RotatedNew         = "rotated_new"
	Revoked            = "revoked"
	Expired            = "expired"
	RESTOnly           = "rest_only"
	MCPOnly            = "mcp_only"
	Limited            = "limited"
)

// Holdings are the names of what a contract's principals hold beyond scopes.
type Holdings struct {
	Grants       []string
	Entitlements []string
	Budget       string
}

// Issued is a credential with its secret, for whoever hands it out. It is never stored.
type Issued struct {
	Credential
	Token string
}

// The life of a derived credential is fixed, not counted from a start: the same seed gives the same
// connection after every restart, and no advance of the contract clock reaches its end.
var (
	issued  = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	expires = time.Date(2150, 1, 1, 0, 0, 0, 0, time.UTC)
	past    = time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)
)

const mainWorkspace = "ws_main"

// DefaultLimits is the policy of every derived credential but Limited.
func DefaultLimits() Limits {
	return Limits{
		RequestsPerMinute: 600_000, ConcurrentJobs: 256, RequestBytes: 256 << 10,
		IdempotencyRetention: 24 * time.Hour, CursorTTL: 15 * time.Minute, EventRetention: 7 * 24 * time.Hour,
	}
}

// Derive makes the full set of credentials for a contract: every scope that it names, every grant
// and entitlement held, two audiences; and each of the others differs in the one thing that its name
// says. The same seed and contract name give the same set.
//
// WithoutScope keeps the scopes of the operations that invoke tools, and lacks all others: so both
// an operation's scope and a tool's own scope can be found missing.
func Derive(seed int64, c *spec.Contract, h Holdings) []Issued {
	d := deriver{seed: seed, contract: c.Name, scopes: Scopes(c), holdings: h}
	out := []Issued{
		d.issue(Primary, Primary, nil),
		d.issue(SecondClient, SecondClient, nil),
		d.issue(SecondWorkspace, SecondWorkspace, func(p *Principal) { p.Workspace = "ws_other" }),
		d.issue(WithoutScope, WithoutScope, func(p *Principal) { p.Scopes = invoking(c) }),
		d.issue(WithoutEntitlement, WithoutEntitlement, func(p *Principal) { p.Entitlements = nil }),
		d.issue(ExhaustedBudget, ExhaustedBudget, func(p *Principal) { p.Exhausted = true }),
		d.issue(RotatedOld, "rotated", nil),
		d.issue(RotatedNew, "rotated", nil),
		d.issue(Revoked, Revoked, nil),
		d.issue(Expired, Expired, func(p *Principal) { p.Expires = past }),
		d.issue(RESTOnly, RESTOnly, func(p *Principal) { p.Audience = []string{AudienceREST} }),
		d.issue(MCPOnly, MCPOnly, func(p *Principal) { p.Audience = []string{AudienceMCP} }),
		d.issue(Limited, Limited, func(p *Principal) { p.Limits.RequestsPerMinute, p.Limits.ConcurrentJobs = 60, 2 }),
	}
	for i := range out {
		out[i].Retired = out[i].Name == Revoked
	}
	return out
}

type deriver struct {
	seed     int64
	contract string
	scopes   []string
	holdings Holdings
}

func (d deriver) issue(name, client string, change func(*Principal)) Issued {
	p := Principal{
		Credential: name, Client: "client_" + client, Workspace: mainWorkspace,
		Audience: []string{AudienceREST, AudienceMCP}, Scopes: slices.Clone(d.scopes),
		Grants: slices.Clone(d.holdings.Grants), Entitlements: slices.Clone(d.holdings.Entitlements), Budget: d.holdings.Budget,
		Issued: issued, Expires: expires, Limits: DefaultLimits(),
	}
	if change != nil {
		change(&p)
	}
	token := d.token(name)
	return Issued{Credential{Name: name, TokenHash: Hash(token), Principal: p}, token}
}

func (d deriver) token(name string) string {
	mac := hmac.New(sha256.New, binary.BigEndian.AppendUint64(nil, uint64(d.seed)))
	mac.Write([]byte(d.contract + "\x00" + name))
	return "assay_" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Scopes are all scopes that a contract's operations and tools name, sorted.
func Scopes(c *spec.Contract) []string {
	var all []string
	for _, op := range c.Ops {
		all = append(all, op.Scopes...)
	}
	for _, t := range c.Tools {
		all = append(all, t.Scopes...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// invoking are the scopes of the operations that invoke domain tools.
func invoking(c *spec.Contract) []string {
	all := []string{}
	for _, t := range c.Tools {
		op := c.Op(t.Operation)
		if t.Utility || op == nil {
			continue
		}
		for _, s := range op.Scopes {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}
