package mutant

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
	"assay.kit/reference/core/cursor"
	"assay.kit/reference/core/idem"
	"assay.kit/spec"
)

// accesses are servers that let in whom they should not, or keep out whom they should let in.
func accesses() []Mutant { return slices.Concat(tokens(), scopeless(), rotations(), holdings()) }

// wallet remembers every Authorization field that was accepted: a server confuses callers only if it
// keeps something of them.
type wallet struct {
	mu   sync.Mutex
	good []string
}

func (k *wallet) keep(r *http.Request, status int) {
	v := r.Header.Get("Authorization")
	k.mu.Lock()
	defer k.mu.Unlock()
	if v != "" && status < 300 && !slices.Contains(k.good, v) {
		k.good = append(k.good, v)
	}
}

// others are those that were accepted, apart from a request's own.
func (k *wallet) others(r *http.Request) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(k.good), func(v string) bool { return v == r.Header.Get("Authorization") })
}

// as carries out a copy of a request for somebody else.
func as(next http.Handler, r *http.Request, authorization string) *answer {
	body := bodyOf(r)
	own := r.Clone(r.Context())
	own.Header.Set("Authorization", authorization)
	own.Body = nopBody(body)
	a := ask(next, own)
	r.Body = nopBody(body)
	return a
}

// known makes a Wrap that may look at who has been let in so far.
func known(serve func(next http.Handler, k *wallet, w http.ResponseWriter, r *http.Request)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		k := &wallet{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(next, k, w, r) })
	}
}

// answered is ask, for servers with a wallet.
func (k *wallet) answered(next http.Handler, r *http.Request) *answer {
	body := bodyOf(r)
	a := ask(next, r)
	k.keep(r, a.status)
	r.Body = nopBody(body)
	return a
}

func tokens() []Mutant {
	effect := May{"access.nothing-admitted", "whoever is let in has an effect"}
	return []Mutant{
		{
			ID: "token-no-challenge", Does: "Sends no challenge with a 401.", Contract: "seer",
			Breaks: []string{"access.challenge"}, May: []May{{"wire.www-authenticate", "every 401 is looked at"}},
			Wrap: edit(func(_ *http.Request, a *answer) { a.header.Del("WWW-Authenticate") }),
		},
		{
			ID: "token-basic-challenge", Does: "Challenges for a password.", Contract: "notes",
			Breaks: []string{"access.challenge"}, May: []May{{"wire.www-authenticate", "every 401 is looked at"}},
			Wrap: edit(func(_ *http.Request, a *answer) {
				if a.status == http.StatusUnauthorized {
					a.header.Set("WWW-Authenticate", `Basic realm="notes"`)
				}
			}),
		},
		{
			ID: "token-forbidden", Does: "Answers 403 without a token.", Contract: "seer",
			Breaks: []string{"access.unauthenticated", "access.token-first", "access.revoked", "access.expired"},
			May: []May{{"access.challenge", "a 403 that takes the place of a 401 challenges nobody"}, {"wire.status", "not every operation documents a 403"},
				{"access.retired", "a retired token is one case of it"}},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if a := ask(next, r); a.status == http.StatusUnauthorized {
					refuse(w, http.StatusForbidden, "FORBIDDEN")
				} else {
					a.send(w)
				}
			}),
		},
		{
			ID: "token-expired", Does: "Does not look at the expiry of a token.", Contract: "seer",
			Breaks: []string{"access.expired"}, May: []May{effect},
			Replace: func(r *core.Rules) {
				r.Admissible = func(_ access.Credential, retired bool, _ time.Time) bool { return !retired }
			},
		},
		{
			ID: "token-revoked", Does: "Accepts a token until it expires, revoked or not.", Contract: "notes",
			Breaks: []string{"access.revoked", "access.retired"}, May: []May{effect},
			Replace: func(r *core.Rules) {
				r.Admissible = func(c access.Credential, _ bool, now time.Time) bool { return now.Before(c.Principal.Expires) }
			},
		},
		{
			ID: "token-cut", Does: "Keeps tokens in a column that is as long as they are, and cuts what is longer.", Contract: "seer",
			Breaks: []string{"access.unauthenticated"}, May: []May{effect},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				const column = len("Bearer ") + len("assay_") + 43
				if v := r.Header.Get("Authorization"); len(v) > column {
					r.Header.Set("Authorization", v[:column])
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "token-any-scheme", Does: "Takes the last word of Authorization for the token.", Contract: "seer",
			Breaks: []string{"access.unauthenticated"}, May: []May{effect},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if words := strings.Fields(r.Header.Get("Authorization")); len(words) > 1 {
					r.Header.Set("Authorization", "Bearer "+words[len(words)-1])
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "token-one-route-open", Does: "Forgets to protect the route of artifacts.", Contract: "seer",
			Breaks: []string{"access.unauthenticated"},
			May: []May{{"access.token-first", "the open route is judged as if a token were there"}, {"access.revoked", "the route is open to these too"},
				{"access.expired", "the route is open to these too"}},
			Wrap: known(func(next http.Handler, k *wallet, w http.ResponseWriter, r *http.Request) {
				a := k.answered(next, r)
				for _, v := range k.others(r) {
					if a.status == http.StatusUnauthorized && is(r, "GET", "/v1/artifacts/*") {
						a = as(next, r, v)
					}
				}
				a.send(w)
			}),
		},
		{
			ID: "token-near", Does: "Compares the first half of a token.", Contract: "notes",
			Breaks: []string{"access.unauthenticated"}, May: []May{effect},
			Wrap: known(func(next http.Handler, k *wallet, w http.ResponseWriter, r *http.Request) {
				a := k.answered(next, r)
				mine := r.Header.Get("Authorization")
				for _, v := range k.others(r) {
					if a.status == http.StatusUnauthorized && len(mine) > len(v)/2 && mine[:len(v)/2] == v[:len(v)/2] {
						a = as(next, r, v)
					}
				}
				a.send(w)
			}),
		},
		{
			ID: "token-after-body", Does: "Reads the body before it looks at the token.", Contract: "seer",
			Breaks: []string{"access.token-first"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if body := bodyOf(r); len(body) > 0 && !json.Valid(body) {
					refuse(w, http.StatusBadRequest, "INVALID_JSON")
					return
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "token-after-query", Does: "Judges the query before the token.", Contract: "seer",
			Breaks: []string{"access.token-first"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if a := ask(next, r); a.status == http.StatusUnauthorized && r.URL.RawQuery != "" {
					refuse(w, http.StatusBadRequest, "INVALID_PARAMETER")
				} else {
					a.send(w)
				}
			}),
		},
		{
			ID: "token-late", Does: "Carries a creation out before it answers that there is no token.", Contract: "notes",
			Breaks: []string{"access.nothing-admitted"},
			Wrap: known(func(next http.Handler, k *wallet, w http.ResponseWriter, r *http.Request) {
				a := k.answered(next, r)
				if others := k.others(r); a.status == http.StatusUnauthorized && r.Method == http.MethodPost && len(others) > 0 {
					as(next, r, others[0])
				}
				a.send(w)
			}),
		},
		{
			ID: "token-late-cancel", Does: "Cancels a job before it looks at the token.", Contract: "seer",
			Breaks: []string{"access.nothing-admitted"},
			Wrap: known(func(next http.Handler, k *wallet, w http.ResponseWriter, r *http.Request) {
				a := k.answered(next, r)
				if is(r, "POST", "/v1/jobs/*/cancellation") && a.status == http.StatusUnauthorized {
					for _, v := range k.others(r) {
						as(next, r, v)
					}
				}
				a.send(w)
			}),
		},
	}
}

func scopeless() []Mutant {
	effect := May{"access.nothing-admitted", "whoever is let in has an effect"}
	return []Mutant{
		{
			ID: "scope-not-found", Does: "Hides what a token has no scope for.", Contract: "notes",
			Breaks: []string{"access.scope", "access.scope-code", "access.scope-first"},
			May:    []May{{"wire.status", "not every operation documents a 404"}},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				a := ask(next, r)
				if a.status == http.StatusForbidden {
					a.status = http.StatusNotFound
					a.set(map[string]any{"error": map[string]any{"code": "NO_SUCH_THING", "trace": a.header.Get("Request-Id")}})
				}
				a.send(w)
			}),
		},
		{
			ID: "scope-read-free", Does: "Asks no scope of a read.", Contract: "seer",
			Breaks: []string{"access.scope", "connection.scopes"},
			May:    []May{{"access.scope-code", "there is no refusal"}, {"access.scope-first", "there is no refusal"}},
			Replace: func(r *core.Rules) {
				r.MissingScope = func(p core.Principal, need []string) string {
					return access.Missing(p, slices.DeleteFunc(slices.Clone(need), func(s string) bool { return strings.HasSuffix(s, ":read") }))
				}
			},
		},
		{
			ID: "scope-any", Does: "Is content with any scope.", Contract: "seer",
			Breaks: []string{"access.scope"},
			May: []May{effect, {"access.scope-code", "there is no refusal"}, {"access.scope-first", "there is no refusal"},
				{"connection.scopes", "what is told is not what is judged by"}},
			Replace: func(r *core.Rules) {
				r.MissingScope = func(p core.Principal, need []string) string {
					if len(p.Scopes) > 0 {
						return ""
					}
					return access.Missing(p, need)
				}
			},
		},
		{
			ID: "scope-code", Does: "Has a code of its own for a missing scope.", Contract: "seer",
			Breaks: []string{"access.scope-code"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				if m := a.object(); a.status == http.StatusForbidden && strings.Contains(text(m, "required"), ":") {
					m["code"] = "INSUFFICIENT_SCOPE"
					a.set(m)
				}
			}),
		},
		{
			ID: "scope-after-lookup", Does: "Looks for the resource before it looks at the scope.", Contract: "seer",
			Breaks: []string{"access.scope-first"},
			Wrap: known(func(next http.Handler, k *wallet, w http.ResponseWriter, r *http.Request) {
				a := k.answered(next, r)
				if a.status == http.StatusForbidden && r.Method == http.MethodGet && strings.Count(r.URL.Path, "/") > 2 {
					there := false
					for _, v := range k.others(r) {
						there = there || as(next, reading(r), v).status < 300
					}
					if !there {
						a = problem(http.StatusNotFound, "NOT_FOUND")
					}
				}
				a.send(w)
			}),
		},
		{
			ID: "scope-late", Does: "Creates before it answers that a scope is missing.", Contract: "notes",
			Breaks: []string{"access.nothing-admitted"},
			Wrap: known(func(next http.Handler, k *wallet, w http.ResponseWriter, r *http.Request) {
				a := k.answered(next, r)
				if others := k.others(r); a.status == http.StatusForbidden && r.Method == http.MethodPost && len(others) > 0 {
					as(next, r, others[0])
				}
				a.send(w)
			}),
		},
	}
}

// reading asks for the resource that a request is about, and for nothing to happen to it.
func reading(r *http.Request) *http.Request {
	own := r.Clone(r.Context())
	own.Method = http.MethodGet
	own.Body, own.ContentLength = http.NoBody, 0
	parts := strings.Split(r.URL.Path, "/")
	for _, verb := range []string{"cancellation", "authorizations", "submissions", "notes"} {
		if n := len(parts) - 1; n > 3 && parts[n] == verb {
			parts = parts[:n]
		}
	}
	own.URL.Path = strings.Join(parts, "/")
	own.URL.RawQuery, own.URL.RawPath = "", ""
	return own
}

func rotations() []Mutant {
	return []Mutant{
		{
			ID: "rotation-old-dies", Does: "Ends the old credential when the new one is issued.", Contract: "seer",
			Breaks: []string{"access.overlap"},
			Replace: func(r *core.Rules) {
				r.Admissible = func(c access.Credential, retired bool, now time.Time) bool {
					return c.Name != access.RotatedOld && access.Admissible(c, retired, now)
				}
			},
		},
		{
			ID: "rotation-own-keys", Does: "Binds a key to the credential instead of the client.", Contract: "seer",
			Breaks: []string{"access.rotation-key"},
			May:    []May{{"access.successor", "a replay with the new credential is part of it"}},
			Replace: func(r *core.Rules) {
				r.Identity = func(t *spec.Idempotency, rq *core.Request, s idem.Source) string {
					s.Client = rq.Principal.Credential
					return idem.Identity(t.Scope, s)
				}
			},
		},
		{
			ID: "rotation-own-cursors", Does: "Binds a cursor to the credential instead of the client.", Contract: "notes",
			Breaks: []string{"access.rotation-cursor"},
			Replace: func(r *core.Rules) {
				r.CursorScope = func(op string, p core.Principal) []byte { return cursor.Scope(op, p.Workspace, p.Credential) }
			},
		},
		{
			ID: "retired-cached", Does: "Asks once whether a token is good, and remembers the answer.", Contract: "notes",
			Breaks: []string{"access.retired"},
			Replace: func(r *core.Rules) {
				var verdicts sync.Map
				r.Admissible = func(c access.Credential, retired bool, now time.Time) bool {
					v, _ := verdicts.LoadOrStore(c.Name, access.Admissible(c, retired, now))
					return v == true
				}
			},
		},
		{
			ID: "retired-replays", Does: "Answers a repetition from what it has kept, before it looks at the token.", Contract: "seer",
			Breaks: []string{"access.retired"},
			Wrap: func(next http.Handler) http.Handler {
				var kept sync.Map
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					key := r.Header.Get("Idempotency-Key")
					id := strings.Join([]string{r.Header.Get("Authorization"), key, r.URL.Path, string(bodyOf(r))}, "\x00")
					if old, ok := kept.Load(id); ok && key != "" {
						if a, ok := old.(*answer); ok {
							a.header.Set("X-Request-Id", "req_"+rand.Text())
							a.send(w)
							return
						}
					}
					a := ask(next, r)
					if a.status < 300 && key != "" {
						own := *a
						own.header = a.header.Clone()
						kept.Store(id, &own)
					}
					a.send(w)
				})
			},
		},
		{
			ID: "retired-both", Does: "Retires every credential of the client along with one.", Contract: "seer",
			Breaks: []string{"access.successor"}, May: []May{{"access.overlap", "the old credential dies with the new one before its overlap is over"}},
			Replace: func(r *core.Rules) {
				var dead sync.Map
				r.Admissible = func(c access.Credential, retired bool, now time.Time) bool {
					if retired && !c.Retired {
						dead.Store(c.Principal.Client, true)
					}
					_, gone := dead.Load(c.Principal.Client)
					return !gone && access.Admissible(c, retired, now)
				}
			},
		},
	}
}

func holdings() []Mutant {
	effect := May{"access.nothing-admitted", "whoever is let in has an effect"}
	all := []Mutant{
		{
			ID: "grant-cached", Does: "Resolves grants once and remembers them.", Contract: "seer",
			Breaks: []string{"access.grant"}, May: []May{effect},
			Replace: func(r *core.Rules) {
				var seen sync.Map
				r.Grants = func(held []string, revoked func(string) bool) []string {
					return access.Still(held, func(g string) bool {
						v, _ := seen.LoadOrStore(g, revoked(g))
						return v == true
					})
				}
			},
		},
		{
			ID: "grant-pinned", Does: "Lets a pinned revision carry its grants whatever happens to them.", Contract: "seer",
			Breaks: []string{"access.grant"}, May: []May{effect},
			Replace: func(r *core.Rules) {
				r.Grants = func(held []string, _ func(string) bool) []string { return held }
			},
		},
		{
			ID: "grant-rewrites", Does: "Strikes a revoked grant from the revisions that name it.", Contract: "seer",
			Breaks: []string{"access.grant-kept"},
			Wrap: func(next http.Handler) http.Handler {
				var mu sync.Mutex
				struck := map[string]bool{}
				return edit(func(r *http.Request, a *answer) {
					mu.Lock()
					defer mu.Unlock()
					if g := a.text("required"); strings.HasPrefix(g, "grant_") {
						struck[g] = true
					}
					m := a.object()
					if refs, ok := m["grant_refs"].([]any); ok && is(r, "GET", "/v1/agent-revisions/*") {
						m["grant_refs"] = slices.DeleteFunc(refs, func(g any) bool { s, _ := g.(string); return struck[s] })
						a.set(m)
					}
				})(next)
			},
		},
		{
			ID: "grant-refusal-binds", Does: "Binds a key to the refusal for want of authority.", Contract: "seer",
			Breaks: []string{"access.nothing-admitted"}, May: []May{{"wire.request-id-body", "a kept answer has no id of its own"}},
			Replace: func(r *core.Rules) {
				r.Stores = func(status int) bool { return idem.Stores(status) || status == http.StatusForbidden }
			},
		},
		{
			ID: "budget-code", Does: "Answers an exhausted budget like any lack of authority.", Contract: "seer",
			Breaks: []string{"access.budget-code"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				if m := a.object(); text(m, "code") == "BUDGET_EXHAUSTED" {
					m["code"] = "FORBIDDEN"
					a.set(m)
				}
			}),
		},
		{
			ID: "budget-late", Does: "Admits a job before it finds the budget exhausted.", Contract: "seer",
			Breaks: []string{"access.nothing-admitted"},
			Wrap: known(func(next http.Handler, k *wallet, w http.ResponseWriter, r *http.Request) {
				a := k.answered(next, r)
				if others := k.others(r); a.text("code") == "BUDGET_EXHAUSTED" && len(others) > 0 {
					for _, v := range others {
						if as(next, r, v).status < 300 {
							break
						}
					}
				}
				a.send(w)
			}),
		},
	}
	for _, lax := range []struct {
		id, does string
		breaks   []string
		may      []May
		change   func(*core.Principal)
	}{
		{"entitlement-ignored", "Does not ask for a data entitlement.", []string{"access.entitlement"}, []May{effect},
			func(p *core.Principal) { p.Entitlements = []string{"source_market_example"} }},
		{"budget-ignored", "Does not look whether the budget is exhausted.", []string{"access.budget"},
			[]May{effect, {"access.budget-code", "there is no refusal"}}, func(p *core.Principal) { p.Exhausted = false }},
	} {
		all = append(all, Mutant{ID: lax.id, Does: lax.does, Contract: "seer", Breaks: lax.breaks, May: lax.may,
			Behave: func(bs map[string]core.Behaviour) {
				for op, b := range bs {
					if b.Prepare != nil {
						b.Prepare = preparing(b.Prepare, func(r *core.Request) { lax.change(&r.Principal) })
						bs[op] = b
					}
				}
			}})
	}
	return all
}

// nopBody is a request's body once more.
func nopBody(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }
