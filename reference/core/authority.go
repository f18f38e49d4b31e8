package core

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"assay.kit/reference/core/access"
	"assay.kit/reference/core/limit"
	"assay.kit/spec"
)

// Buckets of what the control API has taken away; their values are "1".
const (
	bucketRetired = "retired" // by credential
	bucketGrants  = "revoked_grants"
	bucketHidden  = "hidden" // by client|kind|id
)

// authority knows the credentials and what has been taken from them. It is a cache in front of the
// store: the store has one process, and every change is stored before it holds.
type authority struct {
	store Store
	byTok map[[sha256.Size]byte]access.Credential
	names map[string]access.Credential

	mu          sync.RWMutex
	taken       map[string]map[string]bool // bucket -> key
	unavailable map[string]time.Time       // until, by credential; "" is everybody
}

func newAuthority(ctx context.Context, s Store, cs []access.Credential) (*authority, error) {
	a := &authority{
		store: s, byTok: map[[sha256.Size]byte]access.Credential{}, names: map[string]access.Credential{},
		taken: map[string]map[string]bool{}, unavailable: map[string]time.Time{},
	}
	for _, c := range cs {
		if _, twice := a.names[c.Name]; twice {
			return nil, fmt.Errorf("there are two credentials named %q", c.Name)
		}
		a.byTok[c.TokenHash], a.names[c.Name] = c, c
	}
	err := s.View(ctx, func(r Reader) error {
		for _, bucket := range []string{bucketRetired, bucketGrants, bucketHidden} {
			vs, err := r.Values(bucket)
			if err != nil {
				return err
			}
			a.taken[bucket] = map[string]bool{}
			for key := range vs {
				a.taken[bucket][key] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	return a, nil
}

func (a *authority) has(bucket, key string) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.taken[bucket][key]
}

// set stores that something is taken, or given back.
func (a *authority) set(ctx context.Context, bucket, key string, taken bool) error {
	var v []byte
	if taken {
		v = []byte("1")
	}
	if err := a.store.Update(ctx, func(w Writer) error { return w.SetValue(bucket, key, v) }); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if taken {
		a.taken[bucket][key] = true
	} else {
		delete(a.taken[bucket], key)
	}
	return nil
}

func (a *authority) untilAvailable(credential string, now time.Time) time.Duration {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return max(a.unavailable[""].Sub(now), a.unavailable[credential].Sub(now))
}

func hiddenKey(client, kind, id string) string { return strings.Join([]string{client, kind, id}, "|") }

// Authenticate implements Domain. The grants of the principal are those that it holds at present.
func (c *Core) Authenticate(_ context.Context, token string) (Principal, *Problem) {
	cred, ok := c.authority.byTok[access.Hash(token)]
	if !ok || token == "" {
		return Principal{}, c.Refuse(Unauthenticated, "A valid bearer token is needed.")
	}
	retired := cred.Retired || c.authority.has(bucketRetired, cred.Name)
	if !c.rules.Admissible(cred, retired, c.clock.Now()) {
		return Principal{}, c.Refuse(Unauthenticated, "The bearer token has expired or was revoked.")
	}
	p := cred.Principal
	p.Grants = c.rules.Grants(p.Grants, func(grant string) bool { return c.authority.has(bucketGrants, grant) })
	return p, nil
}

// Permit implements Domain.
func (c *Core) Permit(_ context.Context, p Principal, op *spec.Operation) *Problem {
	now := c.clock.Now()
	if scope := c.rules.MissingScope(p, op.Scopes); scope != "" {
		refused := c.Refuse(Forbidden, "The credential lacks a scope that this operation needs.")
		refused.Required = scope
		return refused
	}
	if left := c.authority.untilAvailable(p.Credential, now); left > 0 {
		refused := c.Refuse(Unavailable, "The service is unavailable for a while.")
		refused.RetryAfter = left
		return refused
	}
	if ok, wait := c.take(p, now); !ok {
		refused := c.Refuse(RateLimited, "The connection's request limit per minute is used up.")
		refused.RetryAfter = wait
		return refused
	}
	return nil
}

func (c *Core) take(p Principal, now time.Time) (bool, time.Duration) {
	c.rateMu.Lock()
	defer c.rateMu.Unlock()
	b := c.buckets[p.Credential]
	if b == nil {
		b = &limit.Bucket{}
		c.buckets[p.Credential] = b
	}
	return c.rules.Take(b, p.Limits, now)
}

// Foreign is how a resource of another workspace is answered: as the access trait of the operation
// that reads it says, else as one that never existed.
func Foreign(c *spec.Contract, kind string) Kind {
	for _, op := range c.Ops {
		if op.Access != nil && op.Access.Foreign == "forbidden" && op.Method == "GET" && readKind(op) == kind {
			return Forbidden
		}
	}
	return NotFound
}

// readKind is the resource type that an operation's last path parameter names, or "".
func readKind(op *spec.Operation) string {
	if ref := refOf(op, "path", lastPathParam(op.Path)); ref != nil {
		return ref.Resource
	}
	return ""
}

// Find implements System.
func (c *Core) Find(r Reader, p Principal, kind, id string) (Resource, *Problem) {
	res, err := r.Resource(kind, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return Resource{}, c.unknown()
	case err != nil:
		c.log.Error("internal error", "kind", kind, "error", err)
		return Resource{}, c.Refuse(Internal, "The server failed; the request id identifies this answer.")
	case !c.rules.MayRead(p, res):
		refused := c.unknown()
		if k := c.rules.Foreign(c.contract, kind); k != NotFound {
			refused = c.Refuse(k, "The resource belongs to somebody else.")
		}
		return Resource{}, refused
	case c.hides(p, res):
		return Resource{}, c.unknown()
	}
	return res, nil
}

// hides reports whether a resource is hidden, itself or with the one whose access it follows.
func (c *Core) hides(p Principal, res Resource) bool {
	hidden := c.authority.has(bucketHidden, hiddenKey(p.Client, res.Kind, res.ID))
	if follows := c.model.known(res.Kind).follows; follows != "" && !hidden {
		hidden = c.authority.has(bucketHidden, hiddenKey(p.Client, follows, res.Parent))
	}
	return c.rules.Hides(p, res, hidden)
}

// unknown has the same words for what never existed, what is foreign and what is hidden: any
// difference would be an oracle of existence.
func (c *Core) unknown() *Problem {
	return c.Refuse(NotFound, "There is no such resource that this connection may read.")
}
