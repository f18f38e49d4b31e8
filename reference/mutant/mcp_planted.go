package mutant

import (
	"net/http"

	"assay.kit/reference"
	"assay.kit/reference/core"
	"assay.kit/reference/mcp"
	"assay.kit/spec"
)

// planted are the defects that the protocol's own conformance suite was measured with. It let the
// first table pass, all green.
func planted() []Mutant { return append(missed(), caught()...) }

func mcpFamily() []string { return []string{"mcp"} }

func missed() []Mutant {
	return []Mutant{
		{
			ID: "mcp-notification-answered", Does: "Answers every notification with 200 and a response.", Contract: "seer",
			Breaks: []string{"mcp.accepted", "mcp.notification-unanswered", "mcp.cancel-ignored", "mcp.cancel-late"},
			MCP: posting(func(a *posted) {
				if a.status == http.StatusAccepted && a.method() != "" {
					a.instead(http.StatusOK, map[string]any{"id": 0, "result": map[string]any{}})
				}
			}),
		},
		{
			ID: "mcp-version-header-ignored", Does: "Takes every MCP-Protocol-Version.", Contract: "seer",
			Breaks: []string{"mcp.version-header"},
			MCP:    rules(func(r *mcp.Rules) { r.Version = func(string, []string) bool { return true } }),
		},
		{
			ID: "mcp-version-older", Does: "Answers the version that it supports with an older one.", Contract: "seer",
			Breaks: []string{"mcp.version-kept"},
			MCP: rules(func(r *mcp.Rules) {
				r.Negotiate = func(proposed string, supported []string) string {
					if proposed == mcp.Revision {
						return "2024-11-05"
					}
					return mcp.Negotiate(proposed, supported)
				}
				r.Version = alsoVersion("2024-11-05")
			}),
		},
		{
			ID: "mcp-id-becomes-text", Does: "Sends back a number as id as text.", Contract: "seer",
			Breaks: []string{"mcp.response-id", "mcp.id-echo"},
			May:    []May{{"mcp.unknown-method", "an error has another id too"}},
			MCP: posting(func(a *posted) {
				a.response("", func(m map[string]any) {
					if _, isText := m["id"].(string); !isText && m["id"] != nil {
						m["id"] = stringOf(m["id"])
					}
				})
			}),
		},
		{
			ID: "mcp-unknown-method-served", Does: "Answers a method that it does not know with an empty result.", Contract: "seer",
			Breaks: []string{"mcp.unknown-method", "mcp.undeclared"},
			MCP: rules(func(r *mcp.Rules) {
				r.Respond = func(_ string, a mcp.Response) mcp.Response {
					if a.Error != nil && a.Error.Code == -32601 {
						a.Result, a.Error = map[string]any{}, nil
					}
					return a
				}
			}),
		},
		{
			ID: "mcp-tools-list-bad-cursor", Does: "Takes a cursor that it never gave for none.", Contract: "seer",
			Breaks: []string{"mcp.cursor-invalid"},
			May:    []May{{"mcp.invalid-params", "a cursor that is no text is none either"}},
			MCP:    rules(func(r *mcp.Rules) { r.Cursor = func(bool) bool { return true } }),
		},
		{
			ID: "mcp-tools-list-nonadvancing", Does: "Gives the second page for every cursor, with the same nextCursor.", Contract: "seer",
			Breaks: []string{"mcp.walk-ends"},
			May:    []May{{"mcp.tools-unique", "a page that comes twice has its tools twice"}},
			MCP: posting(func(a *posted) {
				params, _ := a.sent["params"].(map[string]any)
				if cursor := text(params, "cursor"); cursor != "" {
					a.result("tools/list", func(result map[string]any) { result["nextCursor"] = cursor })
				}
			}),
		},
		{
			ID: "mcp-unknown-tool-served", Does: "Answers a call of a tool that does not exist with an empty result.", Contract: "seer",
			Breaks: []string{"mcp.unknown-tool", "mcp.unknown-tool-error"},
			MCP: rules(func(r *mcp.Rules) {
				r.Respond = func(method string, a mcp.Response) mcp.Response {
					if method == "tools/call" && a.Error != nil && a.Error.Message == noTool {
						a.Result, a.Error = mcp.Result{Content: []mcp.Content{}}, nil
					}
					return a
				}
			}),
		},
		{
			ID: "mcp-output-broken", Does: "Leaves a required member out of every structured result.", Contract: "seer",
			Breaks: []string{"mcp.output-schema"}, Families: mcpFamily(),
			MCP: rules(func(r *mcp.Rules) {
				r.Result = func(t *spec.Tool, a core.Answer) mcp.Reply {
					m := decoded(a.Body)
					delete(m, "status")
					a.Body = encode(m)
					return mcp.ResultOf(t, a)
				}
			}),
		},
		{
			ID: "mcp-tools-undeclared", Does: "Serves tools and does not declare them.", Contract: "seer",
			Breaks: []string{"mcp.capabilities"},
			MCP:    rules(func(r *mcp.Rules) { r.Declare = func() map[string]any { return map[string]any{} } }),
		},
		{
			ID: "mcp-get-404", Does: "Knows no GET: 404.", Contract: "seer",
			Breaks: []string{"mcp.endpoint", "mcp.get"},
			May: []May{{"mcp.version-header", "404 says nothing of the version"}, {"mcp.no-token", "404 says nothing of the token"},
				{"mcp.bad-token", "404 says nothing of the token"}, {"mcp.dead-token", "404 says nothing of the token"}},
			MCP: serving(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet && r.URL.Path == mcp.Path {
					http.NotFound(w, r)
					return
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "mcp-tools-twice", Does: "Lists its first tool once more on every page.", Contract: "seer",
			Breaks: []string{"mcp.tools-unique"},
			MCP: posting(func(a *posted) {
				a.result("tools/list", func(result map[string]any) {
					if list, _ := result["tools"].([]any); len(list) > 0 {
						result["tools"] = append(list, list[0])
					}
				})
			}),
		},
	}
}

func caught() []Mutant {
	return []Mutant{
		{
			ID: "mcp-version-unheard", Does: "Answers every proposal with a version that nobody knows.", Contract: "seer",
			Breaks: []string{"mcp.version-kept"},
			MCP: rules(func(r *mcp.Rules) {
				r.Negotiate = func(string, []string) string { return "2031-01-01" }
				r.Version = alsoVersion("2031-01-01")
			}),
		},
		{
			ID: "mcp-structured-array", Does: "Puts the structured result into an array.", Contract: "seer",
			Breaks: []string{"mcp.call-shape", "mcp.output-schema"}, Families: mcpFamily(),
			MCP: posting(func(a *posted) {
				a.result("tools/call", func(result map[string]any) {
					if s := result["structuredContent"]; s != nil {
						result["structuredContent"] = []any{s}
					}
				})
			}),
		},
		{
			ID: "mcp-unknown-session-400", Does: "Answers a lost session with 400.", Contract: "seer",
			Breaks: []string{"mcp.session-unknown", "mcp.session-terminated"},
			MCP:    rules(func(r *mcp.Rules) { r.Lost = func() int { return http.StatusBadRequest } }),
		},
		{
			ID: "mcp-session-id-blank", Does: "Has a blank in every session id.", Contract: "seer",
			Breaks: []string{"mcp.session-id-ascii"}, Families: mcpFamily(),
			MCP: rules(func(r *mcp.Rules) {
				own := mcp.Correct().SessionID
				r.SessionID = func() string { s := own(); return s[:20] + " " + s[20:] }
			}),
		},
		{
			ID: "mcp-ping-result", Does: "Says something in the result of ping.", Contract: "seer",
			Breaks: []string{"mcp.ping"},
			MCP:    posting(func(a *posted) { a.result("ping", func(result map[string]any) { result["status"] = "ok" }) }),
		},
		{
			ID: "mcp-progress-falls", Does: "Counts progress down.", Contract: "seer",
			Breaks: []string{"mcp.progress-rising"}, Families: mcpFamily(),
			MCP: streaming(rules(func(r *mcp.Rules) { r.Progress = func(step, steps int) float64 { return float64(steps - step) } })),
		},
		{
			ID: "mcp-progress-unasked", Does: "Sends progress for a token that nobody gave.", Contract: "seer",
			Breaks: []string{"mcp.progress-token"}, Families: mcpFamily(),
			MCP: streaming(posting(func(a *posted) {
				if a.method() == "tools/call" {
					a.ahead(progressing("unasked", 1))
				}
			})),
			May: []May{{"mcp.resume-after", "what is put in on the way is not there when the stream is resumed"},
				{"mcp.one-stream", "the token is the same on every stream"}},
		},
		{
			ID: "mcp-error-dropped", Does: "Says of no result that it is an error.", Contract: "seer",
			Breaks: []string{"mcp.bad-arguments", "mcp.scope"},
			May:    []May{{"mcp.output-schema", "the refusal takes the place of the result"}},
			MCP:    posting(func(a *posted) { a.result("tools/call", func(result map[string]any) { delete(result, "isError") }) }),
		},
		{
			ID: "mcp-input-schema-array", Does: "Lists input schemas of arrays.", Contract: "seer",
			Breaks: []string{"mcp.tools-shape", "mcp.tool-schemas"},
			MCP:    manifest(func(m map[string]any) { m["inputSchema"] = map[string]any{"type": "array"} }),
		},
		{
			ID: "mcp-text-plain", Does: "Labels every answer as text/plain.", Contract: "seer",
			Breaks: []string{"mcp.media-type", "mcp.initialize-result"},
			May: []May{{"mcp.version-answer", "a text is no message"}, {"mcp.version-counter", "a text is no message"},
				{"mcp.audience-own", "a text is no result"}},
			MCP: posting(func(a *posted) {
				if len(a.body) > 0 {
					a.header.Set("Content-Type", "text/plain")
				}
			}),
		},
		{
			ID: "mcp-result-and-error", Does: "Adds an error to every result.", Contract: "seer",
			Breaks: []string{"mcp.result-or-error"}, Families: mcpFamily(),
			MCP: posting(func(a *posted) {
				a.response("", func(m map[string]any) {
					if m["result"] != nil {
						m["error"] = map[string]any{"code": 0, "message": "None."}
					}
				})
			}),
		},
	}
}

const (
	aliveClaim = "mcp.alive"
	noTool     = "There is no tool of this name." // of the refusal of an unknown tool
)

// alsoVersion takes a version more than are supported.
func alsoVersion(more string) func(string, []string) bool {
	return func(v string, supported []string) bool { return v == more || mcp.Correct().Version(v, supported) }
}

// manifest changes every tool as it is listed.
func manifest(change func(m map[string]any)) func(*reference.MCP) {
	return rules(func(r *mcp.Rules) {
		r.Manifest = func(t *spec.Tool) map[string]any {
			m := mcp.Manifest(t)
			change(m)
			return m
		}
	})
}
