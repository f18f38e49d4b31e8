package mutant

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
	"assay.kit/spec"
)

// workspaces are servers that show one workspace to another, or hide too much within one, and those
// whose connection is not the caller's.
func workspaces() []Mutant { return slices.Concat(foreigns(), selectors(), connections()) }

// readable makes a rule by which more, or less, may be read than a workspace has.
func readable(also func(p core.Principal, res core.Resource) (verdict, decided bool)) func(*core.Rules) {
	return func(r *core.Rules) {
		r.MayRead = func(p core.Principal, res core.Resource) bool {
			if v, ok := also(p, res); ok {
				return v
			}
			return access.MayRead(p, res.Workspace, res.Client)
		}
	}
}

func anyones(kind string) func(*core.Rules) {
	return readable(func(_ core.Principal, res core.Resource) (bool, bool) { return true, res.Kind == kind })
}

// exists reports whether anybody who was let in so far may read what a request is about.
func (k *wallet) exists(next http.Handler, r *http.Request) bool {
	return slices.ContainsFunc(k.others(r), func(v string) bool { return as(next, reading(r), v).status < 300 })
}

func foreigns() []Mutant {
	seen := []May{{"access.foreign-code", "there is no refusal"}, {"access.oracle", "what is shown is not like what never was"}}
	owned := May{"access.selector", "what was made for one workspace is read in another"}
	return []Mutant{
		{
			ID: "foreign-jobs", Does: "Finds a job by its id alone.", Contract: "seer",
			Breaks: []string{"access.foreign", "access.foreign-harmless"}, May: append(slices.Clone(seen), owned),
			Replace: anyones("job"),
		},
		{
			ID: "foreign-artifacts", Does: "Protects jobs, but not what they made.", Contract: "seer",
			Breaks: []string{"access.follows", "access.foreign"}, May: seen,
			Replace: anyones("artifact"),
		},
		{
			ID: "foreign-revisions", Does: "Resolves an agent revision of any workspace.", Contract: "seer",
			Breaks: []string{"access.foreign"}, May: append(slices.Clone(seen), owned),
			Replace: anyones("agent_revision"),
		},
		{
			ID: "foreign-notebooks", Does: "Takes a note into whichever notebook is named.", Contract: "notes",
			Breaks: []string{"access.foreign"}, May: append(slices.Clone(seen), May{"access.foreign-list", "a notebook's notes are found with it"}),
			Replace: anyones("notebook"),
		},
		{
			ID: "foreign-forbidden", Does: "Answers 403 for what belongs to another workspace, and 404 for what does not exist.", Contract: "seer",
			Breaks:  []string{"access.oracle", "access.foreign-code"},
			Replace: func(r *core.Rules) { r.Foreign = func(*spec.Contract, string) core.Kind { return core.Forbidden } },
		},
		{
			ID: "foreign-forbidden-job", Does: "Answers 403 for a job of another workspace.", Contract: "seer",
			Breaks: []string{"access.oracle", "access.foreign-code"},
			Replace: func(r *core.Rules) {
				r.Foreign = func(_ *spec.Contract, kind string) core.Kind {
					if kind == "job" {
						return core.Forbidden
					}
					return core.NotFound
				}
			},
		},
		{
			ID: "foreign-words", Does: "Says in other words that something is of another workspace.", Contract: "seer",
			Breaks: []string{"access.oracle"},
			Wrap: known(func(next http.Handler, k *wallet, w http.ResponseWriter, r *http.Request) {
				a := k.answered(next, r)
				if m := a.object(); a.status == http.StatusNotFound && k.exists(next, r) {
					m["detail"] = "There is no such resource in this workspace."
					a.set(m)
				}
				a.send(w)
			}),
		},
		{
			ID: "foreign-header", Does: "Names the cache entry of a resource also when it refuses it.", Contract: "notes",
			Breaks: []string{"access.oracle"},
			Wrap: known(func(next http.Handler, k *wallet, w http.ResponseWriter, r *http.Request) {
				a := k.answered(next, r)
				if a.status == http.StatusNotFound && k.exists(next, r) {
					a.header.Set("X-Cache", "hit")
				}
				a.send(w)
			}),
		},
		{
			ID: "foreign-cancel", Does: "Cancels a job of another workspace and denies that it exists.", Contract: "seer",
			Breaks: []string{"access.foreign-harmless"},
			Wrap: known(func(next http.Handler, k *wallet, w http.ResponseWriter, r *http.Request) {
				a := k.answered(next, r)
				if a.status == http.StatusNotFound && is(r, "POST", "/v1/jobs/*/cancellation") {
					for _, v := range k.others(r) {
						as(next, r, v)
					}
				}
				a.send(w)
			}),
		},
		{
			ID: "foreign-events", Does: "Finds events by the resource's id alone.", Contract: "seer",
			Breaks: []string{"access.foreign-list"},
			Wrap: known(func(next http.Handler, k *wallet, w http.ResponseWriter, r *http.Request) {
				a := k.answered(next, r)
				if is(r, "GET", "/v1/events") && r.URL.Query().Has("resource_id") {
					for _, v := range k.others(r) {
						if len(items(a.object())) == 0 {
							a = as(next, r, v)
						}
					}
				}
				a.send(w)
			}),
		},
		{
			ID: "foreign-agents", Does: "Lists the revisions of an agent by its id alone.", Contract: "seer",
			Breaks: []string{"access.foreign-list"},
			Wrap: known(func(next http.Handler, k *wallet, w http.ResponseWriter, r *http.Request) {
				a := k.answered(next, r)
				if is(r, "GET", "/v1/agents/*/revisions") {
					for _, v := range k.others(r) {
						if len(items(a.object())) > 0 {
							break
						}
						if b := as(next, r, v); b.status < 300 && len(items(b.object())) > 0 {
							a = b
						}
					}
				}
				a.send(w)
			}),
		},
		{
			ID: "client-private", Does: "Keeps what a client made from the other clients of its workspace.", Contract: "seer",
			Breaks: []string{"access.same-workspace", "access.same-workspace-list"},
			Replace: readable(func(p core.Principal, res core.Resource) (bool, bool) {
				return false, res.Client != "" && res.Client != p.Client
			}),
		},
		{
			ID: "client-private-lists", Does: "Lists to a client only what it made itself.", Contract: "notes",
			Breaks: []string{"access.same-workspace-list"},
			Wrap: known(func(next http.Handler, k *wallet, w http.ResponseWriter, r *http.Request) {
				a := k.answered(next, r)
				m := a.object()
				for _, name := range []string{"notebooks", "notes"} {
					if list, ok := m[name].([]any); ok && a.status < 300 && !first(k, r) {
						m[name] = list[:0]
						a.set(m)
					}
				}
				a.send(w)
			}),
		},
		{
			ID: "hidden-job-artifact", Does: "Shows the artifact of a job that may not be read.", Contract: "seer",
			Breaks: []string{"access.follows"},
			Replace: func(r *core.Rules) {
				r.Hides = func(_ core.Principal, res core.Resource, hidden bool) bool { return hidden && res.Kind != "artifact" }
			},
		},
		{
			ID: "hidden-item-shown", Does: "Goes on to list what may no longer be seen.", Contract: "notes",
			Breaks: []string{"collections.hidden"},
			Replace: func(r *core.Rules) {
				r.Hides = func(core.Principal, core.Resource, bool) bool { return false }
			},
		},
		{
			ID: "hidden-item-fails", Does: "Breaks off a walk that meets an item which may no longer be seen.", Contract: "seer",
			Breaks: []string{"collections.hidden-on"},
			Replace: func(r *core.Rules) {
				r.Hides = func(_ core.Principal, res core.Resource, hidden bool) bool {
					if hidden && res.Kind == "agent_revision" {
						panic("no longer to be seen")
					}
					return hidden
				}
			},
			May: []May{{"wire.server-error", "it breaks off with a 500"}},
		},
		{
			ID: "hidden-item-ends", Does: "Ends a walk at a page from which something was left out.", Contract: "notes",
			Breaks: []string{"collections.hidden-on"}, May: anyWalk("the flag is the server's, so any walk beside it may end early", "collections.hidden-on"),
			Replace: func(r *core.Rules) {
				var left atomic.Bool
				r.Hides = func(_ core.Principal, _ core.Resource, hidden bool) bool {
					if hidden {
						left.Store(true)
					}
					return hidden
				}
				r.Page = func(found []core.Resource, limit int) ([]core.Resource, *core.Resource) {
					page, resume := core.Page(found, limit)
					if left.Swap(false) {
						resume = nil
					}
					return page, resume
				}
			},
		},
	}
}

// first reports whether a request comes from whoever was let in first.
func first(k *wallet, r *http.Request) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.good) > 0 && k.good[0] == r.Header.Get("Authorization")
}

// switching makes a Wrap by which a request chooses whose it is.
func switching(names func(r *http.Request) []string) func(http.Handler) http.Handler {
	return known(func(next http.Handler, k *wallet, w http.ResponseWriter, r *http.Request) {
		for _, wanted := range names(r) {
			for _, v := range k.others(r) {
				cn := as(next, connectionOf(r), v)
				if wanted != "" && (cn.text("workspace_id") == wanted || cn.text("client_id") == wanted) {
					as(next, r, v).send(w)
					return
				}
			}
		}
		k.answered(next, r).send(w)
	})
}

func connectionOf(r *http.Request) *http.Request {
	own := r.Clone(r.Context())
	own.Method, own.URL, own.RequestURI = http.MethodGet, &url.URL{Path: "/v1/connection"}, "/v1/connection"
	own.Body, own.ContentLength = http.NoBody, 0
	return own
}

// withoutMember takes a member out of a request's body and returns its text.
func withoutMember(r *http.Request, name string) string {
	var m map[string]json.RawMessage
	body := bodyOf(r)
	if json.Unmarshal(body, &m) != nil || m[name] == nil {
		return ""
	}
	var v string
	_ = json.Unmarshal(m[name], &v) // no text: ""
	delete(m, name)
	b := encode(m)
	r.Body, r.ContentLength = nopBody(b), int64(len(b))
	return v
}

func withoutParameter(r *http.Request, name string) string {
	q := r.URL.Query()
	v := q.Get(name)
	if q.Has(name) {
		q.Del(name)
		r.URL.RawQuery = q.Encode()
	}
	return v
}

func selectors() []Mutant {
	return []Mutant{
		{
			ID: "select-header", Does: "Lets a header choose the workspace.", Contract: "seer",
			Breaks: []string{"access.selector"},
			Wrap:   switching(func(r *http.Request) []string { return []string{r.Header.Get("X-Workspace-Id")} }),
		},
		{
			ID: "select-query", Does: "Lets a query parameter choose the workspace.", Contract: "seer",
			Breaks: []string{"access.selector", "access.selector-refused"},
			Wrap:   switching(func(r *http.Request) []string { return []string{withoutParameter(r, "workspace_id")} }),
		},
		{
			ID: "select-body", Does: "Lets a member of the body choose the client.", Contract: "seer",
			Breaks: []string{"access.selector", "access.selector-refused"},
			Wrap:   switching(func(r *http.Request) []string { return []string{withoutMember(r, "client_id")} }),
		},
		{
			ID: "select-ignored", Does: "Ignores a workspace in the body where it should refuse it.", Contract: "seer",
			Breaks: []string{"access.selector-refused"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				withoutMember(r, "workspace_id")
				next.ServeHTTP(w, r)
			}),
		},
	}
}

// connected edits what the connection tells.
func connected(change func(r *http.Request, m map[string]any)) func(http.Handler) http.Handler {
	return edit(func(r *http.Request, a *answer) {
		if m := a.object(); a.status == http.StatusOK && is(r, "GET", "/v1/connection") {
			change(r, m)
			a.set(m)
		}
	})
}

func connections() []Mutant {
	return []Mutant{
		{
			ID: "connection-hint", Does: "Shows the end of the token, so that people know which it is.", Contract: "seer",
			Breaks: []string{"connection.secret"},
			Wrap: connected(func(r *http.Request, m map[string]any) {
				v := r.Header.Get("Authorization")
				m["credential_hint"] = "…" + v[len(v)-14:]
			}),
			May: []May{{"wire.leak", "a part of a secret is a leak"}},
		},
		{
			ID: "connection-echo", Does: "Returns the token in a header.", Contract: "seer",
			Breaks: []string{"connection.secret"},
			Wrap: edit(func(r *http.Request, a *answer) {
				if is(r, "GET", "/v1/connection") && a.status == http.StatusOK {
					a.header.Set("X-Access-Token", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
				}
			}),
			May: []May{{"wire.leak", "a secret is a leak"}},
		},
		{
			ID: "connection-limit-text", Does: "Tells a limit as a text.", Contract: "seer",
			Breaks: []string{"connection.limits"}, May: []May{{"wire.schema", "the schema says integer"}},
			Wrap: connected(func(_ *http.Request, m map[string]any) { m["max_request_bytes"] = "262144" }),
		},
		{
			ID: "connection-limit-zero", Does: "Tells zero for a limit that it does not keep.", Contract: "seer",
			Breaks: []string{"connection.limits"}, May: []May{{"wire.schema", "the schema says at least 1"}},
			Wrap: connected(func(_ *http.Request, m map[string]any) { m["event_retention_seconds"] = 0 }),
		},
		{
			ID: "connection-all-scopes", Does: "Tells every scope that there is, whoever asks.", Contract: "seer",
			Breaks: []string{"connection.scopes"},
			Wrap: connected(func(_ *http.Request, m map[string]any) {
				m["scopes"] = []string{"tools:read", "agents:read", "jobs:read", "artifacts:read", "events:read", "accounts:read", "actions:read"}
			}),
		},
		{
			ID: "connection-no-expiry", Does: "Does not tell when the token expires.", Contract: "seer",
			Breaks: []string{"connection.context"},
			Wrap:   connected(func(_ *http.Request, m map[string]any) { delete(m, "expires_at") }),
		},
		{
			ID: "connection-shared", Does: "Tells everybody the context of whoever asked first.", Contract: "seer",
			Breaks: []string{"connection.own"},
			May:    []May{{"connection.scopes", "the scopes are somebody else's too"}},
			Wrap: known(func(next http.Handler, k *wallet, w http.ResponseWriter, r *http.Request) {
				a := k.answered(next, r)
				k.mu.Lock()
				owner := ""
				if len(k.good) > 0 {
					owner = k.good[0]
				}
				k.mu.Unlock()
				if a.status == http.StatusOK && is(r, "GET", "/v1/connection") && owner != "" {
					a = as(next, r, owner)
				}
				a.send(w)
			}),
		},
		{
			ID: "connection-dangling", Does: "Offers a default agent revision that is not there.", Contract: "seer",
			Breaks: []string{"connection.defaults"},
			Wrap:   connected(func(_ *http.Request, m map[string]any) { m["default_agent_revision"] = "agr_example_9" }),
		},
		{
			ID: "connection-relative", Does: "Tells the endpoint of its tools without a host.", Contract: "seer",
			Breaks: []string{"connection.endpoint"},
			May:    []May{{"wire.schema", "the schema says uri"}},
			Wrap:   connected(func(_ *http.Request, m map[string]any) { m["mcp_endpoint"] = "/mcp" }),
		},
	}
}
