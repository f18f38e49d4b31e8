package mutant

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"

	"assay.kit/reference"
	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
	"assay.kit/reference/mcp"
)

const (
	authField = "Authorization"
	// otherAudience is in the refusal of a token that was issued for another one.
	otherAudience = "issued for another audience"
	metadataPath  = "/.well-known/oauth-protected-resource"
)

// doorkeepers are servers that let the wrong callers in.
func doorkeepers() []Mutant {
	deadTokens := []May{{"mcp.dead-token", "what is dead is as good as made up"}}
	return []Mutant{
		{
			ID: "mcp-no-token-served", Does: "Serves a client without a token as whoever called last.", Contract: "seer",
			Breaks: []string{"mcp.no-token"},
			May: []May{{"mcp.token-each", "a request without a token may be in a session"}, {"mcp.query-token", "a token in the query is none"},
				{aliveClaim, "a DELETE without a token ends the session"}},
			MCP: serveBy(asLast(func(r *http.Request, _ *answer) bool { return r.Header.Get(authField) == "" })),
		},
		{
			ID: "mcp-any-token-served", Does: "Takes every token that looks like one.", Contract: "seer",
			Breaks: []string{"mcp.bad-token"},
			May: append(deadTokens, May{"mcp.token-each", "a made-up token is good in a session too"}, May{aliveClaim, "a DELETE ends the session"},
				May{"mcp.audience", "what was issued for another audience is as good as made up"}),
			MCP: serveBy(asLast(func(r *http.Request, _ *answer) bool { return strings.HasPrefix(r.Header.Get(authField), "Bearer ") })),
		},
		{
			ID: "mcp-dead-token-served", Does: "Forgets that tokens expire and are revoked.", Contract: "seer",
			Breaks: []string{"mcp.dead-token"},
			May:    []May{{"mcp.token-each", "a token may be revoked within a session"}},
			MCP: serveBy(asLast(func(r *http.Request, a *answer) bool {
				const issued = len("Bearer assay_") + 43 // the form of those that it issues
				v := r.Header.Get(authField)
				return strings.HasPrefix(v, "Bearer assay_") && len(v) == issued && !bytes.Contains(a.body, []byte(otherAudience))
			})),
		},
		{
			ID: "mcp-audience-ignored", Does: "Takes a token that was issued for the other face.", Contract: "seer",
			Breaks: []string{"mcp.audience"},
			MCP:    serveBy(asLast(func(_ *http.Request, a *answer) bool { return bytes.Contains(a.body, []byte(otherAudience)) })),
		},
		{
			ID: "mcp-audience-nobody", Does: "Asks for tokens of both audiences, so that one for itself alone is refused.", Contract: "seer",
			Breaks:   []string{"mcp.audience-own"},
			Families: mcpFamily(),
			Replace: func(r *core.Rules) {
				r.Audience = func(p core.Principal, transport string) bool {
					return access.IssuedFor(p, transport) && (transport == access.AudienceREST || access.IssuedFor(p, access.AudienceREST))
				}
			},
		},
		{
			ID: "mcp-audience-everywhere", Does: "Takes a token for either face on both.", Contract: "seer",
			Breaks:  []string{"mcp.audience", "mcp.audience-rest"},
			Replace: func(r *core.Rules) { r.Audience = func(core.Principal, string) bool { return true } },
		},
		{
			ID: "mcp-session-outlives-grant", Does: "Looks at a token once, and takes it for good from then on.", Contract: "seer",
			Breaks: []string{"mcp.token-each"},
			MCP:    func(m *reference.MCP) { m.Domain = func(d core.Domain) core.Domain { return &onceSeen{Domain: d} } },
		},
		{
			ID: "mcp-session-is-login", Does: "Takes a live session for the proof of who its client is.", Contract: "seer",
			Breaks: []string{"mcp.token-each", "mcp.session-bound"},
			May: append(deadTokens, May{"mcp.no-token", "in a session no token is needed"}, May{"mcp.bad-token", "in a session no token is looked at"},
				May{"mcp.audience", "in a session no token is looked at"}, May{aliveClaim, "anybody may end the session"},
				May{"mcp.query-token", "in a session no token is needed"}, May{"mcp.malformed-authorization", "in a session no token is looked at"}),
			MCP: serveBy(loggedIn),
		},
		{
			ID: "mcp-query-token-served", Does: "Takes the token from the query too.", Contract: "seer",
			Breaks: []string{"mcp.query-token"},
			MCP: serving(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if token := r.URL.Query().Get("access_token"); token != "" && r.Header.Get(authField) == "" {
					r.Header.Set(authField, "Bearer "+token)
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "mcp-first-authorization", Does: "Takes the first of two Authorization fields.", Contract: "seer",
			Breaks: []string{"mcp.malformed-authorization"},
			MCP: serving(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if v := r.Header.Values(authField); len(v) > 1 {
					r.Header.Set(authField, v[0])
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "mcp-scope-401", Does: "Answers 401 to a call whose scope is missing.", Contract: "seer",
			Breaks: []string{"mcp.scope-reason"},
			MCP: posting(func(a *posted) {
				if a.method() == "tools/call" && bytes.Contains(a.body, []byte("lacks")) {
					a.plain(http.StatusUnauthorized, "text/plain", "unauthorized\n")
				}
			}),
		},
	}
}

// asLast serves a refused caller as the one who was served last, where it is to be.
func asLast(lets func(r *http.Request, refusal *answer) bool) func() func(http.Handler, http.ResponseWriter, *http.Request) {
	return func() func(http.Handler, http.ResponseWriter, *http.Request) {
		var owners sync.Map // of sessions; "" is of none
		return func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			session := r.Header.Get(sessionField)
			if r.Method == http.MethodPost {
				body := bodyOf(r)
				a := ask(next, withBody(r, body))
				if a.status == http.StatusOK {
					owners.Store("", r.Header.Get(authField))
					if id := a.header.Get(sessionField); id != "" {
						owners.Store(id, r.Header.Get(authField))
					}
				}
				if a.status != http.StatusUnauthorized || !lets(r, a) {
					a.send(w)
					return
				}
				r = withBody(r, body)
			} else {
				probe := withBody(r, []byte(`{"jsonrpc":"2.0","method":"x"}`))
				probe.Method = http.MethodPost
				probe.Header.Set("Content-Type", "application/json")
				if a := ask(next, probe); a.status != http.StatusUnauthorized || !lets(r, a) {
					next.ServeHTTP(w, r)
					return
				}
			}
			owner, ok := owners.Load(session)
			if !ok {
				owner, ok = owners.Load("")
			}
			if s, isText := owner.(string); ok && isText {
				r.Header.Set(authField, s)
			}
			next.ServeHTTP(w, r)
		}
	}
}

// onceSeen never asks twice who a token is.
type onceSeen struct {
	core.Domain
	known sync.Map
}

func (o *onceSeen) Authenticate(ctx context.Context, token string) (core.Principal, *core.Problem) {
	if p, ok := o.known.Load(token); ok {
		if principal, isOne := p.(core.Principal); isOne {
			return principal, nil
		}
	}
	p, refused := o.Domain.Authenticate(ctx, token)
	if refused == nil {
		o.known.Store(token, p)
	}
	return p, refused
}

// loggedIn uses the token that a session was opened with for all that follows in it.
func loggedIn() func(http.Handler, http.ResponseWriter, *http.Request) {
	var owners sync.Map
	return func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if owner, ok := owners.Load(r.Header.Get(sessionField)); ok {
			if s, isText := owner.(string); isText {
				r.Header.Set(authField, s)
			}
		}
		as := r.Header.Get(authField)
		post(next, w, r, func(a *posted) {
			if id := a.header.Get(sessionField); id != "" && a.status == http.StatusOK {
				owners.Store(id, as)
			}
		})
	}
}

// directions are servers that do not lead a client to its token.
func directions() []Mutant {
	challenge := func(change func(v string) string) func(*reference.MCP) {
		return serving(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(&relabelling{ResponseWriter: w, name: "Www-Authenticate", change: change}, r)
		})
	}
	document := func(change func(m map[string]any)) func(*reference.MCP) {
		return serving(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			if !strings.HasPrefix(r.URL.Path, metadataPath) {
				next.ServeHTTP(w, r)
				return
			}
			a := ask(next, r)
			m := a.object()
			change(m)
			a.set(m)
			a.send(w)
		})
	}
	row := func(id, does, claim string, face func(*reference.MCP)) Mutant {
		return Mutant{ID: id, Does: does, Contract: "seer", Breaks: []string{claim}, MCP: face}
	}
	return []Mutant{
		row("mcp-challenge-bare", "Does not say in its challenge where tokens come from.", "mcp.challenge", challenge(func(string) string { return `Bearer realm="tools"` })),
		row("mcp-challenge-relative", "Has a path for a URL in its challenge.", "mcp.challenge",
			challenge(func(string) string { return `Bearer resource_metadata="` + metadataPath + mcp.Path + `"` })),
		row("mcp-metadata-404", "Has no metadata where its challenge leads.", "mcp.metadata",
			serving(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, metadataPath) {
					http.NotFound(w, r)
					return
				}
				next.ServeHTTP(w, r)
			})),
		row("mcp-metadata-no-servers", "Names no authorization server in its metadata.", "mcp.metadata-servers",
			document(func(m map[string]any) { m["authorization_servers"] = []any{} })),
		row("mcp-metadata-other", "Has the metadata of another resource.", "mcp.metadata-resource",
			document(func(m map[string]any) { m["resource"] = "https://tools.example/mcp" })),
	}
}

// relabelling changes a header field of an answer before it is sent.
type relabelling struct {
	http.ResponseWriter
	name   string
	change func(v string) string
}

func (w *relabelling) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *relabelling) WriteHeader(status int) {
	if v := w.Header().Get(w.name); v != "" {
		w.Header().Set(w.name, w.change(v))
	}
	w.ResponseWriter.WriteHeader(status)
}
