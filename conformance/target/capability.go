package target

// Capability is something that a check needs from the target's profile beyond the base URL.
type Capability string

// Credentials. Each is a role of the profile's credentials; rotated is two of them.
const (
	Primary            Capability = "primary"
	SecondWorkspace    Capability = "second_workspace"
	SecondClient       Capability = "second_client"
	WithoutScope       Capability = "without_scope"
	WithoutEntitlement Capability = "without_entitlement"
	ExhaustedBudget    Capability = "exhausted_budget"
	Rotated            Capability = "rotated"
	Revoked            Capability = "revoked"
	Expired            Capability = "expired"
	RESTOnly           Capability = "rest_only"
	MCPOnly            Capability = "mcp_only"
	Limited            Capability = "limited"
	SecondKey          Capability = "second_key"
	Gates              Capability = "gates"
)

// Hooks: actions on the target that the API itself does not offer.
const (
	Restart      Capability = "restart"
	AdvanceClock Capability = "advance_clock"
	RevokeGrant  Capability = "revoke_grant"
	RestoreGrant Capability = "restore_grant"
	RetireToken  Capability = "retire_token"
	RestoreToken Capability = "restore_token"
	HoldJob      Capability = "hold_job"
	ReleaseJob   Capability = "release_job"
	FailJob      Capability = "fail_job"
	HideItem     Capability = "hide_item"
	Unavailable  Capability = "unavailable"
	AddItem      Capability = "add_item"
)

// MCP is the second face of the target.
const MCP Capability = "mcp"

// Sandbox says that financial operations reach no real money.
const Sandbox Capability = "sandbox"

// Roles of the two credentials of a rotation.
const (
	RotatedOld = "rotated_old"
	RotatedNew = "rotated_new"
)

// kind tells which section of the profile gives a capability.
type kind int

const (
	credentialKind kind = iota
	hookKind
	flagKind
	faceKind
)

// capability is one row of the closed list.
type capability struct {
	name  Capability
	kind  kind
	means string // completes "the target offers …"
}

func rows() []capability {
	return []capability{
		{Primary, credentialKind, "a valid credential with every scope that the contract names"},
		{SecondWorkspace, credentialKind, "a valid credential of another workspace"},
		{SecondClient, credentialKind, "another client's credential in the primary's workspace"},
		{WithoutScope, credentialKind, "a valid credential that lacks the scopes of the operations"},
		{WithoutEntitlement, credentialKind, "a credential with every scope but without a data entitlement"},
		{ExhaustedBudget, credentialKind, "a credential whose budget is used up"},
		{Rotated, credentialKind, "two credentials of one client that overlap in a rotation"},
		{Revoked, credentialKind, "a credential that was revoked"},
		{Expired, credentialKind, "a credential that has expired"},
		{RESTOnly, credentialKind, "a credential issued for the REST audience only"},
		{MCPOnly, credentialKind, "a credential issued for the MCP audience only"},
		{Limited, credentialKind, "a credential with small rate and job limits, used by nobody else"},
		{SecondKey, credentialKind, "a second credential of the primary's client"},
		{Gates, credentialKind, "a credential that sees gated tools"},
		{Restart, hookKind, "an abrupt stop and start of the server on the same address and data"},
		{AdvanceClock, hookKind, "moving the server's clock forward by {seconds}"},
		{RevokeGrant, hookKind, "revoking a grant of a credential"},
		{RestoreGrant, hookKind, "giving back every grant that was revoked"},
		{RetireToken, hookKind, "retiring the old credential of a rotation"},
		{RestoreToken, hookKind, "accepting the old credential of a rotation again"},
		{HoldJob, hookKind, "keeping the next job from running until it is released"},
		{ReleaseJob, hookKind, "letting every job run that was kept"},
		{FailJob, hookKind, "making the next job fail"},
		{HideItem, hookKind, "hiding an item from a principal"},
		{Unavailable, hookKind, "answering 503 for a while"},
		{AddItem, hookKind, "adding an item to a collection that the API cannot add to"},
		{Sandbox, flagKind, "financial operations that move no real money"},
		{MCP, faceKind, "the same domain as tools, by the Model Context Protocol"},
	}
}

// AllCapabilities is the closed list, in the order in which a profile is written.
func AllCapabilities() []Capability {
	var out []Capability
	for _, r := range rows() {
		out = append(out, r.name)
	}
	return out
}

// ParseCapability reads a name; the error suggests the nearest one.
func ParseCapability(s string) (Capability, error) {
	for _, r := range rows() {
		if string(r.name) == s {
			return r.name, nil
		}
	}
	return "", unknown("capability", s, names(AllCapabilities()))
}

// Means says in words what the target offers with this capability, "" for an unknown one.
func (c Capability) Means() string {
	r, _ := c.row()
	return r.means
}

// Unlock is the piece of a profile that would give the capability, ready to print and edit.
func (c Capability) Unlock() string {
	r, ok := c.row()
	switch {
	case !ok:
		return ""
	case r.kind == flagKind:
		return string(c) + ": true"
	case r.kind == faceKind:
		return "mcp_url: https://...   # or auto: what the connection names"
	case r.kind == hookKind:
		return "hooks:\n  " + string(c) + ": {exec: [...]}   # or {http: {method: POST, url: ...}}"
	case c == Rotated:
		return "credentials:\n  rotated: {old: {bearer: \"${...}\"}, new: {bearer: \"${...}\"}}"
	default:
		return "credentials:\n  " + string(c) + ": {bearer: \"${...}\"}"
	}
}

// IsHook reports whether the capability is an action that RunHook carries out.
func (c Capability) IsHook() bool {
	r, ok := c.row()
	return ok && r.kind == hookKind
}

func (c Capability) row() (capability, bool) {
	for _, r := range rows() {
		if r.name == c {
			return r, true
		}
	}
	return capability{}, false
}

func names(cs []Capability) []string {
	out := make([]string, len(cs))
	for i, c := range cs {
		out[i] = string(c)
	}
	return out
}
