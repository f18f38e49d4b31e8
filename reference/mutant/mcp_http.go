package mutant

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"assay.kit/reference"
	"assay.kit/reference/core"
	"assay.kit/reference/mcp"
	"assay.kit/spec"
)

// handshakes are servers that begin, ping or cancel badly.
func handshakes() []Mutant {
	negotiate := func(f func(proposed string, supported []string) string) func(*reference.MCP) {
		return rules(func(r *mcp.Rules) { r.Negotiate = f })
	}
	return []Mutant{
		{
			ID: "mcp-version-echoed", Does: "Agrees to every version that is proposed.", Contract: "seer",
			Breaks: []string{"mcp.version-answer", "mcp.version-counter"},
			MCP:    negotiate(func(proposed string, _ []string) string { return proposed }),
		},
		{
			ID: "mcp-version-refused", Does: "Refuses a version that it does not know, as the example of the text does.", Contract: "seer",
			Breaks: []string{"mcp.version-counter"},
			MCP:    unknownVersion(http.StatusOK, -32602),
		},
		{
			ID: "mcp-version-crash", Does: "Fails at a version that it does not know.", Contract: "seer",
			Breaks: []string{"mcp.version-answer", "mcp.version-counter"},
			MCP:    unknownVersion(http.StatusInternalServerError, -32603),
		},
		{
			ID: "mcp-version-oldest", Does: "Offers an old version in place of one that it does not know.", Contract: "seer",
			Breaks: []string{"mcp.version-newest"},
			MCP: negotiate(func(proposed string, _ []string) string {
				if proposed == mcp.Revision {
					return proposed
				}
				return "2024-11-05"
			}),
		},
		{
			ID: "mcp-resources-served", Does: "Lists resources, of which it has declared none.", Contract: "seer",
			Breaks: []string{"mcp.undeclared"},
			MCP: rules(func(r *mcp.Rules) {
				r.Respond = func(method string, a mcp.Response) mcp.Response {
					if method == "resources/list" {
						a.Result, a.Error = map[string]any{"resources": []any{}}, nil
					}
					return a
				}
			}),
		},
		{
			ID: "mcp-ping-early-refused", Does: "Answers no ping before notifications/initialized.", Contract: "seer",
			Breaks: []string{"mcp.ping-early"},
			MCP: serveBy(func() func(http.Handler, http.ResponseWriter, *http.Request) {
				var ready idSet
				return func(next http.Handler, w http.ResponseWriter, r *http.Request) {
					post(next, w, r, func(a *posted) {
						id := r.Header.Get(sessionField)
						switch {
						case a.method() == "notifications/initialized":
							ready.add(id)
						case a.method() == "ping" && !ready.has(id):
							a.instead(http.StatusOK, errorOf(-32600, "The handshake is not complete."))
						}
					})
				}
			}),
		},
		{
			ID: "mcp-ping-slow", Does: "Takes its time for a ping with params.", Contract: "seer",
			Breaks: []string{"mcp.ping-prompt"},
			MCP: serving(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					if m := decoded(bodyOf(r)); m["method"] == "ping" && m["params"] != nil && stringOf(m["params"]) == "{}" {
						wait(r.Context(), pingTime)
					}
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "mcp-progress-text-only", Does: "Refuses a progress token that is a number.", Contract: "seer",
			Breaks: []string{"mcp.progress-served"},
			MCP: posting(func(a *posted) {
				if token := a.token(); token != nil && stringOf(token)[0] != '"' {
					a.instead(http.StatusOK, errorOf(-32602, "The progressToken must be a string."))
				}
			}),
		},
		{
			ID: "mcp-cancel-late-404", Does: "Answers 404 to a cancellation of what it has answered.", Contract: "seer",
			Breaks: []string{"mcp.cancel-late"},
			MCP: posting(func(a *posted) {
				params, _ := a.sent["params"].(map[string]any)
				if _, isText := params["requestId"].(string); a.method() == "notifications/cancelled" && !isText && params["reason"] != nil {
					a.plain(http.StatusNotFound, "text/plain", "no such request\n")
				}
			}),
		},
		{
			ID: "mcp-cancel-crash", Does: "Fails at a cancellation without a requestId.", Contract: "seer",
			Breaks: []string{"mcp.cancel-ignored"},
			MCP: posting(func(a *posted) {
				params, _ := a.sent["params"].(map[string]any)
				if a.method() == "notifications/cancelled" && params["requestId"] == nil {
					a.plain(http.StatusInternalServerError, "text/plain", "failed\n")
				}
			}),
		},
		{
			ID: "mcp-cancelled-answered", Does: "Works on, and answers a call that was cancelled long ago.", Contract: "seer",
			Breaks: []string{"mcp.cancelled"},
			MCP: streaming(func(m *reference.MCP) {
				m.Rules.Cancels = func() bool { return false }
				m.Domain = func(d core.Domain) core.Domain { return slow{d} }
			}),
		},
	}
}

const (
	pingTime = 5200 * time.Millisecond
	workTime = 400 * time.Millisecond
)

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// slow takes a while for every request that has passed the gate.
type slow struct{ core.Domain }

func (s slow) Do(ctx context.Context, r core.Request) (core.Answer, *core.Problem) {
	wait(context.WithoutCancel(ctx), workTime)
	return s.Domain.Do(context.WithoutCancel(ctx), r)
}

func unknownVersion(status, code int) func(*reference.MCP) {
	return posting(func(a *posted) {
		params, _ := a.sent["params"].(map[string]any)
		if a.method() == "initialize" && text(params, "protocolVersion") != mcp.Revision {
			a.header.Del(sessionField)
			a.instead(status, errorOf(code, "This version is not supported."))
		}
	})
}

// heading are servers that read header fields and methods badly.
func heading() []Mutant {
	return []Mutant{
		{
			ID: "mcp-accept-exact", Does: "Knows one spelling of Accept only.", Contract: "seer",
			Breaks: []string{"mcp.accept"},
			MCP: rules(func(r *mcp.Rules) {
				r.Accepts = func(values []string) (json, sse bool) {
					if strings.Join(values, ",") == "text/event-stream" {
						return false, true
					}
					ok := strings.Join(values, ",") == "application/json, text/event-stream"
					return ok, ok
				}
			}),
		},
		{
			ID: "mcp-accept-ignored", Does: "Answers by streams, whatever Accept allows.", Contract: "seer",
			Breaks: []string{"mcp.accept-kept"},
			MCP:    streaming(rules(func(r *mcp.Rules) { r.Accepts = func([]string) (bool, bool) { return true, true } })),
		},
		{
			ID: "mcp-content-type-exact", Does: "Compares the media type as a text.", Contract: "seer",
			Breaks: []string{"mcp.content-type"},
			MCP: rules(func(r *mcp.Rules) {
				r.MediaType = func(values []string) bool { return slices.Equal(values, []string{"application/json"}) }
			}),
		},
		{
			ID: "mcp-get-json", Does: "Answers GET with a page about itself.", Contract: "seer",
			Breaks: []string{"mcp.get"},
			MCP: serving(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				probe := r.Clone(r.Context())
				probe.Method = http.MethodPost
				probe.Header.Set("Content-Type", "application/json")
				if r.Method != http.MethodGet || r.URL.Path != mcp.Path || r.Header.Get(lastField) != "" || ask(next, withBody(probe, []byte(`{"jsonrpc":"2.0","method":"x"}`))).status >= 400 {
					next.ServeHTTP(w, r)
					return
				}
				a := &answer{header: http.Header{"Content-Type": {"application/json"}}, status: http.StatusOK}
				a.set(map[string]any{"name": "tools"})
				a.send(w)
			}),
			May: []May{{"mcp.message", "a page is no message"}, {"mcp.result-or-error", "a page is no message"}},
		},
		{
			ID: "mcp-version-header-post-only", Does: "Looks at MCP-Protocol-Version on POST only.", Contract: "seer",
			Breaks: []string{"mcp.version-header"},
			MCP: serving(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					r.Header.Del(versionField)
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "mcp-version-header-demanded", Does: "Refuses a request of a session that names no version.", Contract: "seer",
			Breaks: []string{"mcp.version-absent"},
			MCP: posting(func(a *posted) {
				if a.r.Header.Get(sessionField) != "" && a.r.Header.Get(versionField) == "" && a.status < 400 {
					a.instead(http.StatusBadRequest, errorOf(-32600, "The version is missing."))
				}
			}),
		},
		{
			ID: "mcp-origin-any", Does: "Serves pages of every origin.", Contract: "seer",
			Breaks: []string{"mcp.origin"},
			MCP:    rules(func(r *mcp.Rules) { r.Origin = func(string, []string) bool { return true } }),
		},
		{
			ID: "mcp-origin-prefix", Does: "Takes an origin for its own that begins like it.", Contract: "seer",
			Breaks: []string{"mcp.origin"},
			MCP: rules(func(r *mcp.Rules) {
				r.Origin = func(origin string, _ []string) bool { return strings.HasPrefix(origin, "http://127.0.0.1") }
			}),
		},
		{
			ID: "mcp-origin-demanded", Does: "Serves no client that is no page of its own.", Contract: "seer",
			Breaks: []string{"mcp.origin-absent"},
			May: []May{{"mcp.initialize-result", "the client of the kit is no page"}, {"mcp.version-answer", "the client of the kit is no page"},
				{"mcp.version-counter", "the client of the kit is no page"}, {"mcp.audience-own", "the client of the kit is no page"}},
			MCP: serving(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				a := &posted{r: r, answer: &answer{header: http.Header{}, status: http.StatusForbidden}}
				if r.Method == http.MethodPost && r.URL.Path == mcp.Path && r.Header.Get("Origin") == "" && strings.HasPrefix(r.Header.Get("Authorization"), "Bearer assay_") {
					a.instead(http.StatusForbidden, errorOf(-32000, "An Origin is needed."))
					a.send(w)
					return
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "mcp-host-any", Does: "Answers to every host's name.", Contract: "seer",
			Breaks: []string{"mcp.host"},
			MCP:    rules(func(r *mcp.Rules) { r.Host = func(string, []string) bool { return true } }),
		},
	}
}

// listings are servers that list their tools badly.
func listings() []Mutant {
	return []Mutant{
		{
			ID: "mcp-tools-list-empty-cursor", Does: "Has an empty nextCursor on the last page.", Contract: "seer",
			Breaks: []string{"mcp.walk-ends"},
			May:    []May{{"mcp.tools-unique", "the empty cursor begins anew"}, {"mcp.cursor-stable", "the empty cursor begins anew"}},
			MCP: posting(func(a *posted) {
				a.result("tools/list", func(result map[string]any) {
					if result["nextCursor"] == nil {
						result["nextCursor"] = ""
					}
				})
			}),
		},
		{
			ID: "mcp-cursor-once", Does: "Takes every cursor once only.", Contract: "seer",
			Breaks: []string{"mcp.cursor-stable"},
			MCP: serveBy(func() func(http.Handler, http.ResponseWriter, *http.Request) {
				var used idSet
				return func(next http.Handler, w http.ResponseWriter, r *http.Request) {
					post(next, w, r, func(a *posted) {
						params, _ := a.sent["params"].(map[string]any)
						cursor := text(params, "cursor")
						if cursor != "" && used.has(cursor) {
							a.instead(http.StatusOK, errorOf(-32602, "The cursor was used."))
						}
						used.add(cursor)
					})
				}
			}),
		},
		{
			ID: "mcp-tools-by-last", Does: "Gives each tool the name of the first.", Contract: "seer",
			Breaks: []string{"mcp.tools-unique"},
			MCP: rules(func(r *mcp.Rules) {
				r.Manifest = func(t *spec.Tool) map[string]any {
					m := mcp.Manifest(t)
					m["name"], _, _ = strings.Cut(t.Name, "_")
					return m
				}
			}),
		},
	}
}
