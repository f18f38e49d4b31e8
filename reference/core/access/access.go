// Package access holds the pure rules of who may do what: credentials, their principals and the
// judgements over them. It knows no store.
package access

import (
	"crypto/sha256"
	"slices"
	"time"
)

// Principal is who a request acts for, and what that credential may do.
type Principal struct {
	Credential   string // its name, e.g. primary; never the secret
	Client       string
	Workspace    string
	Audience     []string
	Scopes       []string
	Grants       []string // grant references it holds
	Entitlements []string // data sources it may read
	Budget       string   // budget reference; "" none
	Exhausted    bool     // its budget is used up
	Issued       time.Time
	Expires      time.Time
	Limits       Limits
}

// Limits is the policy of one connection. Zero is no limit, except for the periods.
type Limits struct {
	RequestsPerMinute    int
	ConcurrentJobs       int
	RequestBytes         int
	IdempotencyRetention time.Duration
	CursorTTL            time.Duration
	EventRetention       time.Duration
}

// Credential is one issued token, kept as its hash.
type Credential struct {
	Name      string
	TokenHash [sha256.Size]byte
	Principal Principal
	Retired   bool // revoked from the start
}

// Hash is what a Credential keeps of a token.
func Hash(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// Admissible reports whether a credential authenticates at now; retired is its present state.
func Admissible(c Credential, retired bool, now time.Time) bool {
	return !retired && now.Before(c.Principal.Expires)
}

// Missing is the first needed scope that the principal lacks, "" if it has them all.
func Missing(p Principal, need []string) string {
	for _, s := range need {
		if !slices.Contains(p.Scopes, s) {
			return s
		}
	}
	return ""
}

// MayRead reports whether a resource of this workspace and client may be read: membership of the
// workspace decides, whichever client made it.
func MayRead(p Principal, workspace, client string) bool {
	return workspace != "" && p.Workspace == workspace
}

// IssuedFor reports whether the principal's token is meant for a transport.
func IssuedFor(p Principal, transport string) bool { return slices.Contains(p.Audience, transport) }

// Still are the held grants that have not been revoked.
func Still(held []string, revoked func(grant string) bool) []string {
	return slices.DeleteFunc(slices.Clone(held), revoked)
}
