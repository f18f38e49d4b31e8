package mutant

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"assay.kit/reference/core"
)

// tools are servers that break what the domain tools promise beyond their schemas; bars.go has those
// of one tool's data.
func tools() []Mutant { return slices.Concat(discovery(), invocations(), bars(), barPages()) }

const (
	invokePath = "/v1/tool-invocations"
	listPath   = "/v1/tools"
)

// manifested changes every manifest, listed or read.
func manifested(change func(m map[string]any)) func(http.Handler) http.Handler {
	return edit(func(r *http.Request, a *answer) {
		body := a.object()
		switch {
		case a.status != http.StatusOK:
			return
		case is(r, "GET", listPath):
			for _, m := range items(body) {
				change(m)
			}
		case is(r, "GET", listPath+"/*"):
			change(body)
		default:
			return
		}
		a.set(body)
	})
}

// listing changes the items of the list of tools.
func listing(change func(all []any) []any) func(http.Handler) http.Handler {
	return edit(func(r *http.Request, a *answer) {
		if body := a.object(); is(r, "GET", listPath) && a.status == http.StatusOK {
			all, _ := body["items"].([]any)
			body["items"] = change(all)
			a.set(body)
		}
	})
}

func named(name string) func(any) bool {
	return func(v any) bool { m, _ := v.(map[string]any); return m["name"] == name }
}

// again sends a request once more with another body, and under its own key.
func again(next http.Handler, r *http.Request, body map[string]any) *answer {
	raw := encode(body)
	sub := r.Clone(r.Context())
	sub.Body, sub.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	return ask(next, sub)
}

// rewriting changes the body of an invocation before the server sees it.
func rewriting(change func(body, input map[string]any)) func(http.Handler) http.Handler {
	return wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		body := decoded(bodyOf(r))
		input, _ := body["input"].(map[string]any)
		if !is(r, "POST", invokePath) || input == nil {
			next.ServeHTTP(w, r)
			return
		}
		change(body, input)
		again(next, r, body).send(w)
	})
}

// forgiving tries a refused invocation again with another body.
func forgiving(when func(a *answer) bool, change func(body, input map[string]any)) func(http.Handler) http.Handler {
	return wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		body := decoded(bodyOf(r))
		input, _ := body["input"].(map[string]any)
		a := ask(next, r)
		if is(r, "POST", invokePath) && input != nil && when(a) {
			change(body, input)
			a = again(next, r, body)
		}
		a.send(w)
	})
}

func refusedWith(status int) func(*answer) bool {
	return func(a *answer) bool { return a.status == status }
}

func discovery() []Mutant {
	return []Mutant{
		{
			ID: "tools-one-hidden", Does: "Lists no tool that works in the background.", Contract: "seer",
			Breaks: []string{"tools.listed"},
			Wrap: listing(func(all []any) []any {
				return slices.DeleteFunc(all, func(v any) bool { m, _ := v.(map[string]any); return m["async"] == true })
			}),
		},
		{
			ID: "tools-protocol-names", Does: "Lists tools by the names that they have on the other protocol.", Contract: "seer",
			Breaks: []string{"tools.listed", "tools.readable"},
			Wrap: listing(func(all []any) []any {
				for _, v := range all {
					m, _ := v.(map[string]any)
					m["name"] = "seer_" + strings.ReplaceAll(text(m, "name"), ".", "_")
				}
				return all
			}),
		},
		{
			ID: "tools-listed-twice", Does: "Lists the first tool again on every page.", Contract: "seer",
			Breaks: []string{"tools.listed", "tools.readable"},
			May:    []May{{"tools.manifest", "the twin has the first tool's manifest"}, {"tools.revision", "the same"}},
			Wrap: listing(func(all []any) []any {
				if slices.ContainsFunc(all, named("market.bars")) || len(all) == 0 {
					return all
				}
				first, _ := all[0].(map[string]any)
				twin := map[string]any{}
				for k, v := range first {
					twin[k] = v
				}
				twin["name"] = "market.bars"
				return append([]any{twin}, all...)
			}),
		},
		{
			ID: "tools-utilities", Does: "Lists the protocol's utilities among the domain tools.", Contract: "seer",
			Breaks: []string{"tools.listed"},
			May:    []May{{"tools.readable", "it cannot be read by that name"}},
			Wrap: listing(func(all []any) []any {
				return append(all, map[string]any{"name": "seer_jobs_get", "effect": "read", "scopes": []any{"jobs:read"},
					"inputSchema": map[string]any{"type": "object"}, "outputSchema": map[string]any{"type": "object"}})
			}),
		},
		{
			ID: "tools-schema-broken", Does: "Shows an output schema with a type that there is not.", Contract: "seer",
			Breaks: []string{"tools.manifest"},
			Wrap:   manifested(func(m map[string]any) { m["outputSchema"] = map[string]any{"type": "record"} }),
		},
		{
			ID: "tools-effect-guessed", Does: "Calls every effect of a tool read.", Contract: "seer",
			Breaks: []string{"tools.manifest"},
			Wrap:   manifested(func(m map[string]any) { m["effect"] = "read" }),
		},
		{
			ID: "tools-scopes-empty", Does: "Does not tell the scopes of a tool.", Contract: "seer",
			Breaks: []string{"tools.manifest"},
			Wrap:   manifested(func(m map[string]any) { m["scopes"] = []any{} }),
		},
		{
			ID: "tools-financial", Does: "Offers the submission of orders as a tool.", Contract: "seer",
			Breaks: []string{"tools.not-financial"},
			May:    []May{{"tools.readable", "it cannot be read by its name"}},
			Wrap: listing(func(all []any) []any {
				return append(all, map[string]any{"name": "orders.submit", "effect": "financial", "scopes": []any{"actions:submit"},
					"inputSchema": map[string]any{"type": "object"}, "outputSchema": map[string]any{"type": "object"}})
			}),
		},
		{
			ID: "tools-read-differs", Does: "Leaves the output schema out of the manifest that is read by name.", Contract: "seer",
			Breaks: []string{"tools.readable"},
			Wrap: onlyAt("GET", listPath+"/*", func(a *answer) {
				body := a.object()
				body["outputSchema"] = map[string]any{}
				a.set(body)
			}),
		},
		{
			ID: "tools-newest", Does: "Shows tools in their newest schema revision, whatever is pinned.", Contract: "seer",
			Breaks: []string{"tools.revision"},
			Wrap: manifested(func(m map[string]any) {
				if m["name"] == "market.bars" {
					m["revision"] = map[string]any{"schema": "1.1", "method": "bars-r1"}
				}
			}),
		},
		{
			ID: "tools-input-trimmed", Does: "Shows input schemas without their bounds.", Contract: "seer",
			Breaks: []string{"tools.revision"},
			Wrap: manifested(func(m map[string]any) {
				m["inputSchema"] = rewritten(m["inputSchema"], 0, func(v any, _ int) any {
					if s, ok := v.(map[string]any); ok {
						delete(s, "maxLength")
						delete(s, "maxItems")
					}
					return v
				})
			}),
		},
		{
			ID: "tools-any-name", Does: "Reads a tool by either of its names.", Contract: "seer",
			Breaks: []string{"tools.name-unknown"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if is(r, "GET", listPath+"/*") && strings.HasPrefix(segment(r, 0), "seer_") {
					r = r.Clone(r.Context())
					r.URL.Path = listPath + "/" + domainOf(segment(r, 0))
				}
				next.ServeHTTP(w, r)
			}),
		},
	}
}

// domainOf turns a protocol name into a domain name.
func domainOf(name string) string {
	return strings.Replace(strings.TrimPrefix(name, "seer_"), "_", ".", 1)
}

func invocations() []Mutant {
	return []Mutant{
		{
			ID: "invoke-any-name", Does: "Invokes a tool by either of its names.", Contract: "seer",
			Breaks: []string{"tools.name-unknown"},
			Wrap: rewriting(func(body, _ map[string]any) {
				if strings.HasPrefix(text(body, "tool"), "seer_") {
					body["tool"] = domainOf(text(body, "tool"))
				}
			}),
		},
		{
			ID: "invoke-async-as-200", Does: "Answers the admission of background work with 200.", Contract: "seer",
			Breaks: []string{"tools.invoked", "wire.schema"},
			May:    []May{{"tools.evidence", "what it takes for a result is none"}, {"tools.output", "what it takes for a result is none"}},
			Wrap: onlyAt("POST", invokePath, func(a *answer) {
				if a.status == http.StatusAccepted {
					a.status = http.StatusOK
				}
			}),
		},
		{
			ID: "invoke-data-renamed", Does: "Gives the currency in lower case letters.", Contract: "seer",
			Breaks: []string{"tools.output"},
			Wrap: toolResults(func(body, data map[string]any) {
				if c, ok := data["currency"].(string); ok {
					data["currency"] = json.Number(fmt.Sprint(len(c)))
				}
			}),
		},
		{
			ID: "invoke-other-tool", Does: "Names the tool of a result as the other protocol does.", Contract: "seer",
			Breaks: []string{"tools.output"},
			May:    []May{{"tools.unknown-refused", "the result of the corrected request is another tool's by its name"}, {"tools.name-unknown", "the same"}, {"tools.curl", "the same"}},
			Wrap: toolResults(func(body, _ map[string]any) {
				body["tool"] = "seer_" + strings.ReplaceAll(text(body, "tool"), ".", "_")
			}),
		},
		{
			ID: "invoke-no-evidence", Does: "Leaves the evidence of a result empty.", Contract: "seer",
			Breaks: []string{"tools.evidence"},
			Wrap:   toolResults(func(body, _ map[string]any) { body["evidence"] = []any{} }),
		},
		{
			ID: "invoke-source-hidden", Does: "Covers a source that no evidence is of.", Contract: "seer",
			Breaks: []string{"tools.evidence"},
			Wrap: toolResults(func(body, _ map[string]any) {
				if c, ok := body["coverage"].(map[string]any); ok {
					c["source_refs"] = []any{"source_market_example", "source_vendor_b"}
				}
			}),
		},
		{
			ID: "invoke-needs-thread", Does: "Gives a result without data to a caller that names no conversation.", Contract: "seer",
			Breaks: []string{"tools.self-contained"},
			May:    []May{{"tools.short-history", "there are no indicators"}, {"tools.output", "there is no data"}, {"tools.range", "there is no data"}},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				a := ask(next, r)
				if body := a.object(); is(r, "POST", invokePath) && a.status == 200 && r.Header.Get("X-Conversation") == "" {
					body["data"] = nil
					a.set(body)
				}
				a.send(w)
			}),
		},
		{
			ID: "invoke-guesses-tool", Does: "Takes an unknown tool for the first one.", Contract: "seer",
			Breaks: []string{"tools.unknown-refused"},
			May:    []May{{"tools.name-unknown", "a protocol name is unknown too"}},
			Wrap: forgiving(refusedWith(http.StatusBadRequest), func(body, _ map[string]any) {
				if !strings.Contains(text(body, "tool"), "market.") {
					body["tool"] = "market.bars"
				}
			}),
		},
		{
			ID: "invoke-folds-case", Does: "Does not tell capital letters in the name of a tool.", Contract: "seer",
			Breaks: []string{"tools.unknown-refused"},
			Wrap:   rewriting(func(body, _ map[string]any) { body["tool"] = strings.ToLower(text(body, "tool")) }),
		},
		{
			ID: "invoke-default-revision", Does: "Runs under the default agent revision if the one that is named is not known.", Contract: "seer",
			Breaks: []string{"tools.unknown-refused"},
			Wrap:   forgiving(refusedWith(http.StatusNotFound), func(body, _ map[string]any) { body["agent_revision_id"] = "agr_example_3" }),
		},
		{
			ID: "invoke-unpinned", Does: "Runs a tool that the agent revision does not pin in the default revision's way.", Contract: "seer",
			Breaks: []string{"tools.unknown-refused"},
			Wrap: forgiving(func(a *answer) bool { return a.status == 403 && strings.Contains(a.text("required"), ".") },
				func(body, _ map[string]any) { body["agent_revision_id"] = "agr_example_3" }),
		},
		{
			ID: "invoke-unpinned-job", Does: "Checks the pin of a tool only when it answers at once.", Contract: "seer",
			Breaks: []string{"tools.unknown-refused"},
			Wrap: forgiving(func(a *answer) bool { return a.status == 403 && a.text("required") == "market.scan" },
				func(body, _ map[string]any) { body["agent_revision_id"] = "agr_example_3" }),
		},
		{
			ID: "invoke-scope-ignored", Does: "Enforces the scope of the endpoint and not that of the tool.", Contract: "seer",
			Breaks: []string{"tools.scope"},
			Behave: func(all map[string]core.Behaviour) {
				prepare(all, "invokeTool", func(r *core.Request) {
					r.Principal.Scopes = append(slices.Clone(r.Principal.Scopes), "market:read", "forecasts:write", "portfolios:write")
				})
			},
		},
		{
			ID: "invoke-scope-500", Does: "Fails where a scope of the tool is missing.", Contract: "seer",
			Breaks: []string{"tools.scope", "wire.server-error"},
			Wrap: edit(func(r *http.Request, a *answer) {
				if is(r, "POST", invokePath) && a.status == 403 && strings.Contains(a.text("required"), ":") {
					*a = *problem(http.StatusInternalServerError, "INTERNAL")
				}
			}),
		},
		{
			ID: "invoke-wants-accept", Does: "Answers only a client that asks for JSON by name.", Contract: "seer",
			Breaks: []string{"tools.curl"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if is(r, "POST", invokePath) && !strings.Contains(r.Header.Get("Accept"), "json") {
					refuse(w, http.StatusBadRequest, "INVALID_REQUEST")
					return
				}
				next.ServeHTTP(w, r)
			}),
		},
	}
}

// toolResults changes the results of tools, as they are given and as they are kept.
func toolResults(change func(body, data map[string]any)) func(http.Handler) http.Handler {
	return edit(func(r *http.Request, a *answer) {
		invoked := is(r, "POST", invokePath) || is(r, "GET", invokePath+"/*")
		body := a.object()
		data, ok := body["data"].(map[string]any)
		if invoked && a.status == http.StatusOK && ok {
			change(body, data)
			a.set(body)
		}
	})
}

// prepare changes a request before an operation's own Prepare sees it.
func prepare(all map[string]core.Behaviour, op string, change func(r *core.Request)) {
	b := all[op]
	if then := b.Prepare; then != nil {
		b.Prepare = preparing(then, change)
		all[op] = b
	}
}

// remembered keeps a value by name; the zero value is empty.
type remembered struct {
	mu sync.Mutex
	m  map[string]string
}

// put keeps a value and returns the one that was kept before.
func (k *remembered) put(name, value string) (before string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.m == nil {
		k.m = map[string]string{}
	}
	before = k.m[name]
	k.m[name] = value
	return before
}

func (k *remembered) get(name string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.m[name]
}

// number is the place of a name among all that were asked for, from 0.
func (k *remembered) number(name string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.m == nil {
		k.m = map[string]string{}
	}
	if k.m[name] == "" {
		k.m[name] = strconv.Itoa(len(k.m))
	}
	n, _ := strconv.Atoi(k.m[name])
	return n
}

func randomID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }
