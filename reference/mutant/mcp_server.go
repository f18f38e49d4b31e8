package mutant

import (
	"encoding/base64"
	"net/http"
	"slices"

	"assay.kit/reference"
	"assay.kit/reference/core"
	"assay.kit/reference/mcp"
	"assay.kit/spec"
)

const putIn = "what is put in on the way is not there when the stream is resumed"

// unasked are servers that send what no client asked for, or progress that says the wrong thing.
func unasked() []Mutant {
	onCall := func(m func(a *posted) map[string]any) func(*reference.MCP) {
		return streaming(posting(func(a *posted) {
			if a.method() == "tools/call" {
				a.ahead(m(a))
			}
		}))
	}
	afterCall := func(m func(a *posted) map[string]any) func(*reference.MCP) {
		return streaming(posting(func(a *posted) {
			if a.method() == "tools/call" && a.token() != nil {
				a.behind(m(a))
			}
		}))
	}
	row := func(id, does, claim string, face func(*reference.MCP), may ...May) Mutant {
		return Mutant{ID: id, Does: does, Contract: "seer", Breaks: []string{claim}, Families: mcpFamily(), MCP: face,
			May: append([]May{{"mcp.resume-after", putIn}}, may...)}
	}
	once := May{"mcp.one-stream", "it is the same on every stream"}
	return []Mutant{
		row("mcp-request-id-fraction", "Pings its clients under the id 1.5.", "mcp.server-request-id",
			onCall(func(*posted) map[string]any { return map[string]any{"id": 1.5, "method": "ping"} }), once),
		row("mcp-notification-id", "Gives its notifications an id.", "mcp.notification-id",
			onCall(func(a *posted) map[string]any {
				return map[string]any{"id": "n" + stringOf(a.sent["id"]), "method": "notifications/message", "params": map[string]any{"level": "info", "data": "x"}}
			}), once),
		row("mcp-notification-text", "Sends log messages at a level that there is not.", "mcp.notification-shape",
			onCall(func(*posted) map[string]any {
				return map[string]any{"method": "notifications/message", "params": map[string]any{"level": "trace", "data": "x"}}
			})),
		row("mcp-asks-for-roots", "Asks for the roots of a client that has declared none.", "mcp.client-capability",
			onCall(func(a *posted) map[string]any {
				return map[string]any{"id": "roots-" + stringOf(a.sent["id"]), "method": "roots/list"}
			}), once),
		row("mcp-early-list-changed", "Announces its tools along with the answer to initialize.", "mcp.early-request",
			streaming(posting(func(a *posted) {
				if a.method() == "initialize" {
					a.ahead(map[string]any{"method": "notifications/tools/list_changed"})
				}
			}))),
		row("mcp-cancels-clients", "Cancels the request that it is about to answer.", "mcp.cancel-own",
			onCall(func(a *posted) map[string]any {
				return map[string]any{"method": "notifications/cancelled", "params": map[string]any{"requestId": a.sent["id"]}}
			})),
		row("mcp-progress-token-text", "Sends back a number as progress token as text.", "mcp.progress-token",
			streaming(posting(func(a *posted) {
				a.each(func(m map[string]any) {
					if params, ok := m["params"].(map[string]any); ok && params["progressToken"] != nil {
						if _, isText := params["progressToken"].(string); !isText {
							params["progressToken"] = stringOf(params["progressToken"])
						}
					}
				})
			}))),
		row("mcp-progress-late", "Sends progress after the response.", "mcp.progress-over",
			afterCall(func(a *posted) map[string]any { return progressing(a.token(), 9) })),
		row("mcp-progress-silent", "Sends progress with an empty message.", "mcp.progress-message",
			streaming(posting(func(a *posted) {
				a.each(func(m map[string]any) {
					if params, ok := m["params"].(map[string]any); ok && params["progressToken"] != nil {
						params["message"] = ""
					}
				})
			}))),
		row("mcp-progress-flood", "Sends progress a hundred times at once.", "mcp.progress-rate",
			streaming(posting(func(a *posted) {
				for i := range 100 {
					if token := a.token(); token != nil && a.method() == "tools/call" {
						a.ahead(progressing(token, -1-i))
					}
				}
			}))),
		{
			ID: "mcp-list-changed-undeclared", Does: "Announces a change of its tools whenever somebody listens, and has not declared that it does.", Contract: "seer",
			Breaks: []string{"mcp.list-changed"},
			MCP: serving(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(&opening{ResponseWriter: w, first: event(map[string]any{"method": "notifications/tools/list_changed"}), get: r.Method == http.MethodGet && r.Header.Get(lastField) == ""}, r)
			}),
		},
	}
}

// opening writes something at the start of an event stream that was opened by GET.
type opening struct {
	http.ResponseWriter
	first []byte
	get   bool
}

func (o *opening) Unwrap() http.ResponseWriter { return o.ResponseWriter }

func (o *opening) WriteHeader(status int) {
	o.ResponseWriter.WriteHeader(status)
	if o.get && status == http.StatusOK && o.Header().Get("Content-Type") == "text/event-stream" {
		_, _ = o.Write(o.first)
		_ = http.NewResponseController(o.ResponseWriter).Flush()
	}
}

// shapes are servers whose results have members that the schema has not, or not so.
func shapes() []Mutant {
	row := func(id, does string, face func(*reference.MCP), breaks ...string) Mutant {
		return Mutant{ID: id, Does: does, Contract: "seer", Breaks: breaks, Families: mcpFamily(), MCP: face}
	}
	call := func(change func(result map[string]any)) func(*reference.MCP) {
		return posting(func(a *posted) { a.result("tools/call", change) })
	}
	return []Mutant{
		row("mcp-server-unversioned", "Leaves its version out of serverInfo.", posting(func(a *posted) {
			a.result("initialize", func(result map[string]any) {
				if info, ok := result["serverInfo"].(map[string]any); ok {
					delete(info, "version")
				}
			})
		}), "mcp.initialize-shape", "mcp.initialize-result"),
		row("mcp-next-cursor-null", "Has nextCursor null on the last page.", posting(func(a *posted) {
			a.result("tools/list", func(result map[string]any) {
				if result["nextCursor"] == nil {
					result["nextCursor"] = nil
				}
			})
		}), "mcp.tools-shape"),
		row("mcp-hint-text", "Lists annotations as text.", manifest(func(m map[string]any) {
			m["annotations"] = map[string]any{"readOnlyHint": "true"}
		}), "mcp.tools-shape"),
		row("mcp-schema-invalid", "Lists an input schema with a type that there is not.", manifest(func(m map[string]any) {
			m["inputSchema"] = map[string]any{"type": "object", "properties": map[string]any{"day": map[string]any{"type": "date"}}}
		}), "mcp.tool-schemas"),
		row("mcp-content-absent", "Leaves the content out of structured results.", call(func(result map[string]any) { delete(result, "content") }),
			"mcp.call-shape", "mcp.text-mirror"),
		row("mcp-content-untyped", "Sends text blocks without their text.", call(func(result map[string]any) {
			result["content"] = []any{map[string]any{"type": "text"}}
		}), "mcp.call-shape", "mcp.text-mirror"),
		row("mcp-content-picture", "Adds a picture whose data are no base64.", call(func(result map[string]any) {
			list, _ := result["content"].([]any)
			result["content"] = append(slices.Clone(list), map[string]any{"type": "image", "mimeType": "image/png", "data": "%" + base64.StdEncoding.EncodeToString([]byte("x"))})
		}), "mcp.call-shape"),
		row("mcp-text-differs", "Writes other text than the structured result.", call(func(result map[string]any) {
			if result["structuredContent"] != nil {
				result["content"] = []any{map[string]any{"type": "text", "text": "Done."}}
			}
		}), "mcp.text-mirror"),
		row("mcp-structured-absent", "Gives the result as text only.", rules(func(r *mcp.Rules) {
			r.Result = func(t *spec.Tool, a core.Answer) mcp.Reply {
				reply := mcp.ResultOf(t, a)
				reply.Result.Structured = nil
				return reply
			}
		}), "mcp.output-schema"),
		row("mcp-later-members", "Says how long the list of tools may be kept, as a later revision does.", posting(func(a *posted) {
			a.result("tools/list", func(result map[string]any) { result["ttlMs"], result["cacheScope"] = 1000, "private" })
		}), "mcp.later-revision"),
		row("mcp-meta-prefix", "Has a _meta key whose prefix begins with a digit.", metaOf("1st.example/effect"), "mcp.meta-prefix"),
		row("mcp-meta-name", "Has a _meta key that begins with an underscore.", metaOf("_effect"), "mcp.meta-name"),
		row("mcp-meta-reserved", "Has a _meta key of its own under the protocol's prefix.", metaOf("modelcontextprotocol.io/effect"), "mcp.meta-reserved"),
	}
}

// metaOf adds a key to the _meta of every tool.
func metaOf(key string) func(*reference.MCP) {
	return manifest(func(m map[string]any) {
		meta := map[string]any{key: "read"}
		if own, ok := m["_meta"].(map[string]any); ok {
			for k, v := range own {
				meta[k] = v
			}
		}
		m["_meta"] = meta
	})
}
