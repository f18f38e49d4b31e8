package mutant

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"assay.kit/reference"
	"assay.kit/reference/mcp"
)

// rpcs are servers that speak JSON-RPC badly.
func rpcs() []Mutant {
	return []Mutant{
		{
			ID: "mcp-no-version-member", Does: "Leaves jsonrpc out of every response.", Contract: "seer",
			Breaks: []string{"mcp.message"}, Families: mcpFamily(),
			MCP: posting(func(a *posted) { a.response("", func(m map[string]any) { delete(m, "jsonrpc") }) }),
		},
		{
			ID: "mcp-answered-twice", Does: "Sends the response to a call twice on its stream.", Contract: "seer",
			Breaks: []string{"mcp.one-response"}, Families: mcpFamily(),
			May: []May{{"mcp.resume-after", "what is put in on the way is not there when the stream is resumed"}},
			MCP: streaming(posting(func(a *posted) {
				if a.method() == "tools/call" {
					a.response("", a.again)
				}
			})),
		},
		{
			ID: "mcp-result-array", Does: "Answers ping with an empty array.", Contract: "seer",
			Breaks: []string{"mcp.result-object", "mcp.ping"},
			MCP: posting(func(a *posted) {
				a.response("ping", func(m map[string]any) {
					if m["result"] != nil {
						m["result"] = []any{}
					}
				})
			}),
		},
		{
			ID: "mcp-error-bare", Does: "Sends errors without a message.", Contract: "seer",
			Breaks: []string{"mcp.error-object"}, Families: mcpFamily(),
			MCP: posting(func(a *posted) { a.failure(func(e map[string]any) { delete(e, "message") }) }),
		},
		{
			ID: "mcp-error-code-text", Does: "Sends the code of an error as text.", Contract: "seer",
			Breaks: []string{"mcp.error-object", "mcp.unknown-method", "mcp.invalid-params", "mcp.cursor-invalid"},
			MCP:    posting(func(a *posted) { a.failure(func(e map[string]any) { e["code"] = stringOf(e["code"]) }) }),
		},
		{
			ID: "mcp-error-page", Does: "Explains errors at length, with line breaks.", Contract: "seer",
			Breaks: []string{"mcp.error-text"}, Families: mcpFamily(),
			MCP: posting(func(a *posted) {
				a.failure(func(e map[string]any) { e["message"] = text(e, "message") + "\nSee the manual.\n" })
			}),
		},
		{
			ID: "mcp-accepted-body", Does: "Sends a word with every 202.", Contract: "seer",
			Breaks: []string{"mcp.accepted-empty"}, Families: mcpFamily(),
			MCP: posting(func(a *posted) {
				if a.status == http.StatusAccepted {
					a.plain(a.status, "text/plain", "Accepted\n")
				}
			}),
		},
		{
			ID: "mcp-accepted-204", Does: "Answers notifications with 204.", Contract: "seer",
			Breaks: []string{"mcp.accepted"}, Families: mcpFamily(),
			MCP: posting(func(a *posted) {
				if a.status == http.StatusAccepted {
					a.status = http.StatusNoContent
				}
			}),
		},
		{
			ID: "mcp-latin1", Does: "Writes the refusal of a second initialize in ISO 8859-1.", Contract: "seer",
			Breaks: []string{"mcp.utf8"}, Families: mcpFamily(),
			May: []May{{"mcp.message", "what is no UTF-8 is no JSON"}, {"mcp.sse-frame", "what is no UTF-8 is no JSON"}},
			MCP: posting(func(a *posted) {
				a.body = bytes.Replace(a.body, []byte("initialized already"), []byte("initialis\xe9"), 1)
			}),
		},
		{
			ID: "mcp-frame-text", Does: "Puts a line of text into the stream before the response.", Contract: "seer",
			Breaks: []string{"mcp.sse-frame", "mcp.message"}, Families: mcpFamily(),
			May: []May{{"mcp.resume-after", "what is put in on the way is not there when the stream is resumed"}},
			MCP: streaming(posting(func(a *posted) {
				if a.isStream() && a.method() == "tools/list" {
					a.body = append([]byte("data: working\n\n"), a.body...)
				}
			})),
		},
		{
			ID: "mcp-leaks-token", Does: "Repeats the Authorization field in the data of errors.", Contract: "seer",
			Breaks: []string{"mcp.leak"}, Families: mcpFamily(),
			MCP: posting(func(a *posted) {
				a.failure(func(e map[string]any) { e["data"] = map[string]any{"authorization": a.r.Header.Get("Authorization")} })
			}),
		},
		{
			ID: "mcp-parse-accepted", Does: "Takes a body that is no JSON for a notification.", Contract: "seer",
			Breaks: []string{"mcp.parse-error"},
			MCP: posting(func(a *posted) {
				if !json.Valid(a.raw) && a.status == http.StatusBadRequest {
					a.plain(http.StatusAccepted, "", "")
				}
			}),
		},
		{
			ID: "mcp-parse-ends-session", Does: "Ends the session of whoever sends a body that is no JSON.", Contract: "seer",
			Breaks: []string{aliveClaim},
			MCP: serving(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && !json.Valid(bodyOf(r)) {
					ending := r.Clone(r.Context())
					ending.Method = http.MethodDelete
					ask(next, ending)
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "mcp-batch-served", Does: "Carries out the requests of an array one by one.", Contract: "seer",
			Breaks: []string{"mcp.batch"},
			MCP:    serving(batched),
			May:    []May{{"mcp.message", "an array is no message"}},
		},
		{
			ID: "mcp-id-null-served", Does: "Serves a request whose id is null.", Contract: "seer",
			Breaks: []string{"mcp.id-null"},
			MCP:    servingID(func(id string) bool { return id == "null" }),
		},
		{
			ID: "mcp-id-fraction-served", Does: "Serves a request whose id is a fraction.", Contract: "seer",
			Breaks: []string{"mcp.id-form"},
			MCP:    servingID(func(id string) bool { return strings.Contains(id, ".") && id[0] != '"' }),
		},
		{
			ID: "mcp-id-zero-lost", Does: "Takes the id 0 for none.", Contract: "seer",
			Breaks: []string{"mcp.id-echo"},
			MCP: serving(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && bytes.Contains(bodyOf(r), []byte(`"id":0,`)) {
					w.WriteHeader(http.StatusAccepted)
					return
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "mcp-unknown-method-400", Does: "Answers a method that it does not know with 400 and a line of text.", Contract: "seer",
			Breaks: []string{"mcp.unknown-method"},
			MCP: posting(func(a *posted) {
				unknown := false
				a.response("", func(m map[string]any) { unknown = isCode(m, "-32601") })
				if unknown {
					a.plain(http.StatusBadRequest, "text/plain", "unknown method\n")
				}
			}),
		},
		{
			ID: "mcp-malformed-params-as-iserror", Does: "Answers a tools/call with params of the wrong shape by a result that says isError.", Contract: "seer",
			Breaks: []string{"mcp.invalid-params"},
			MCP: rules(func(r *mcp.Rules) {
				r.Respond = func(method string, a mcp.Response) mcp.Response {
					if method == "tools/call" && a.Error != nil && a.Error.Message != noTool {
						a.Result, a.Error = mcp.Result{Content: []mcp.Content{{Type: "text", Text: a.Error.Message}}, IsError: true}, nil
					}
					return a
				}
			}),
		},
		{
			ID: "mcp-unknown-tool-iserror", Does: "Answers a call of a tool that does not exist by a result that says isError.", Contract: "seer",
			Breaks: []string{"mcp.unknown-tool-error"},
			MCP: rules(func(r *mcp.Rules) {
				r.Respond = func(_ string, a mcp.Response) mcp.Response {
					if a.Error != nil && a.Error.Message == noTool {
						a.Result, a.Error = mcp.Result{Content: []mcp.Content{{Type: "text", Text: noTool}}, IsError: true}, nil
					}
					return a
				}
			}),
		},
		{
			ID: "mcp-meta-refused", Does: "Refuses a _meta member that it does not know.", Contract: "seer",
			Breaks: []string{"mcp.meta-ignored"},
			MCP: posting(func(a *posted) {
				params, _ := a.sent["params"].(map[string]any)
				meta, _ := params["_meta"].(map[string]any)
				if len(meta) > 2 {
					a.instead(http.StatusOK, errorOf(-32602, "The _meta has an unknown member."))
				}
			}),
		},
		{
			ID: "mcp-notification-lost", Does: "Takes a notification without looking for its session.", Contract: "seer",
			Breaks: []string{"mcp.notification-refused", "mcp.session-terminated", "mcp.session-bound"},
			MCP: posting(func(a *posted) {
				if a.status == http.StatusNotFound && a.sent["id"] == nil {
					a.plain(http.StatusAccepted, "", "")
				}
			}),
		},
	}
}

// again adds a message once more at the end of the stream.
func (a *posted) again(m map[string]any) { a.late = append(a.late, m) }

// failure changes the error object of an answer.
func (a *posted) failure(change func(e map[string]any)) {
	a.each(func(m map[string]any) {
		if e, ok := m["error"].(map[string]any); ok {
			change(e)
		}
	})
}

// batched carries out an array of messages.
func batched(next http.Handler, w http.ResponseWriter, r *http.Request) {
	var all []json.RawMessage
	if r.Method != http.MethodPost || json.Unmarshal(bodyOf(r), &all) != nil || len(all) == 0 {
		next.ServeHTTP(w, r)
		return
	}
	r.Header.Set("Accept", "application/json")
	var answers []json.RawMessage
	for _, one := range all {
		answers = append(answers, ask(next, withBody(r, one)).body)
	}
	a := &answer{header: http.Header{"Content-Type": {"application/json"}}, status: http.StatusOK}
	a.set(answers)
	a.send(w)
}

// servingID serves requests whose id the server would refuse, under another one.
func servingID(odd func(id string) bool) func(*reference.MCP) {
	return serving(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		body := decoded(bodyOf(r))
		id, there := body["id"]
		if r.Method != http.MethodPost || !there || !odd(stringOf(id)) {
			next.ServeHTTP(w, r)
			return
		}
		body["id"] = "assay-odd"
		a := &posted{r: r, sent: body, answer: ask(next, withBody(r, encode(body)))}
		a.response("", func(m map[string]any) { m["id"] = id })
		a.send(w)
	})
}
