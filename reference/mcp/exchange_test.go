package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"assay.kit/reference"
	"assay.kit/reference/mcp"
)

func forms() []mcp.Form { return []mcp.Form{mcp.JSON, mcp.SSE, mcp.Mixed} }

func inForm(f mcp.Form) reference.MCP { return reference.MCP{Options: mcp.Options{Form: f}} }

func set(name, v string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, v) }
}

func unset(name string) func(*http.Request) { return func(r *http.Request) { r.Header.Del(name) } }

const (
	ping = `{"jsonrpc":"2.0","id":"p","method":"ping"}`
	note = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// TestExchanges is the table of what one request to a live session gets. A code of 0 is no error.
func TestExchanges(t *testing.T) {
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
	}
	for _, f := range forms() {
		w := serve(t, "seer", inForm(f))
		for _, c := range []struct {
			name, method, body string
			change             func(*http.Request)
			status, code       int
		}{
			{"ping", "POST", ping, nil, 200, 0},
			{"ping with params", "POST", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{}}}`, nil, 200, 0},
			{"notification", "POST", note, nil, 202, 0},
			{"unknown notification", "POST", `{"jsonrpc":"2.0","method":"notifications/whatever","params":{}}`, nil, 202, 0},
			{"malformed cancellation", "POST", `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, nil, 202, 0},
			{"cancellation of nothing", "POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, nil, 202, 0},
			{"response", "POST", `{"jsonrpc":"2.0","id":1,"result":{}}`, nil, 202, 0},
			{"error response", "POST", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`, nil, 202, 0},

			{"no JSON", "POST", `{"jsonrpc":"2.0",`, nil, 400, -32700},
			{"empty", "POST", ``, nil, 400, -32700},
			{"invalid UTF-8", "POST", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", nil, 400, -32700},
			{"two values", "POST", ping + ping, nil, 400, -32700},
			{"batch", "POST", `[` + ping + `]`, nil, 400, -32600},
			{"empty batch", "POST", `[]`, nil, 400, -32600},
			{"scalar", "POST", `3`, nil, 400, -32600},
			{"no version", "POST", `{"id":1,"method":"ping"}`, nil, 400, -32600},
			{"version 1", "POST", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, nil, 400, -32600},
			{"null id", "POST", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, nil, 400, -32600},
			{"fractional id", "POST", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, nil, 400, -32600},
			{"boolean id", "POST", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, nil, 400, -32600},
			{"object id", "POST", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, nil, 400, -32600},
			{"id twice", "POST", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, nil, 400, -32600},
			{"method twice", "POST", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, nil, 400, -32600},
			{"method in capitals", "POST", `{"jsonrpc":"2.0","id":1,"Method":"ping"}`, nil, 400, -32600},
			{"number as method", "POST", `{"jsonrpc":"2.0","id":1,"method":1}`, nil, 400, -32600},
			{"method and result", "POST", `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, nil, 400, -32600},
			{"result and error", "POST", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, nil, 400, -32600},
			{"nothing", "POST", `{"jsonrpc":"2.0","id":1}`, nil, 400, -32600},
			{"unknown method", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/frobnicate"}`, nil, 200, -32601},
			{"undeclared logging", "POST", `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}`, nil, 200, -32601},
			{"undeclared resources", "POST", `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, nil, 200, -32601},
			{"notification as request", "POST", `{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}`, nil, 200, -32601},
			{"second initialize", "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + initializeParams + `}`, nil, 200, -32600},

			{"params by position", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`, nil, 200, -32602},
			{"null params", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}`, nil, 200, -32602},
			{"bad cursor", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`, nil, 200, -32602},
			{"empty cursor", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""}}`, nil, 200, -32602},
			{"null cursor", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":null}}`, nil, 200, -32602},
			{"number as meta", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":1}}`, nil, 200, -32602},
			{"no params of a call", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, nil, 200, -32602},
			{"no name", "POST", call(`{"arguments":{}}`), nil, 200, -32602},
			{"number as name", "POST", call(`{"name":1}`), nil, 200, -32602},
			{"unknown tool", "POST", call(`{"name":"seer_market_bar"}`), nil, 200, -32602},
			{"domain name", "POST", call(`{"name":"market.bars"}`), nil, 200, -32602},
			{"array as arguments", "POST", call(`{"name":"seer_market_bars","arguments":[]}`), nil, 200, -32602},
			{"null arguments", "POST", call(`{"name":"seer_market_bars","arguments":null}`), nil, 200, -32602},
			{"progress token null", "POST", call(`{"name":"seer_market_bars","_meta":{"progressToken":null}}`), nil, 200, -32602},
			{"key no string", "POST", call(`{"name":"seer_market_bars","_meta":{"seer/idempotencyKey":1}}`), nil, 200, -32602},

			{"no token", "POST", ping, unset("Authorization"), 401, -32000},
			{"bad token", "POST", ping, set("Authorization", "Bearer nonsense"), 401, -32000},
			{"basic", "POST", ping, set("Authorization", "Basic eDp5"), 401, -32000},
			{"two tokens", "POST", ping, func(r *http.Request) { r.Header.Add("Authorization", "Bearer x") }, 400, -32000},
			{"token in the query", "POST", ping, func(r *http.Request) {
				r.Header.Del("Authorization")
				r.URL.RawQuery = "access_token=" + w.ref.Token("primary")
			}, 401, -32000},
			{"no token on GET", "GET", "", unset("Authorization"), 401, -32000},
			{"no token on DELETE", "DELETE", "", unset("Authorization"), 401, -32000},

			{"no session", "POST", ping, unset("Mcp-Session-Id"), 400, -32600},
			{"no session on GET", "GET", "", unset("Mcp-Session-Id"), 400, -32600},
			{"no session on DELETE", "DELETE", "", unset("Mcp-Session-Id"), 400, -32600},
			{"unknown session", "POST", ping, set("Mcp-Session-Id", "abc"), 404, -32000},
			{"unknown session, notification", "POST", note, set("Mcp-Session-Id", "abc"), 404, -32000},
			{"unknown session on GET", "GET", "", set("Mcp-Session-Id", "abc"), 404, -32000},
			{"unknown session on DELETE", "DELETE", "", set("Mcp-Session-Id", "abc"), 404, -32000},
			{"initialize in an unknown session", "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + initializeParams + `}`, set("Mcp-Session-Id", "abc"), 404, -32000},

			{"other version", "POST", ping, set("MCP-Protocol-Version", "1999-01-01"), 400, -32600},
			{"garbage version", "POST", ping, set("MCP-Protocol-Version", "x"), 400, -32600},
			{"empty version", "POST", ping, set("MCP-Protocol-Version", ""), 400, -32600},
			{"two versions", "POST", ping, func(r *http.Request) { r.Header.Add("MCP-Protocol-Version", "2025-06-18") }, 400, -32600},
			{"other version on GET", "GET", "", set("MCP-Protocol-Version", "1999-01-01"), 400, -32600},
			{"other version on DELETE", "DELETE", "", set("MCP-Protocol-Version", "1999-01-01"), 400, -32600},
			{"no version", "POST", ping, unset("MCP-Protocol-Version"), 200, 0},

			{"accepts neither", "POST", ping, set("Accept", "text/html"), 406, -32600},
			{"accepts neither, by quality", "POST", ping, set("Accept", "*/*, application/json;q=0, text/event-stream;q=0.0"), 406, -32600},
			{"accepts all", "POST", ping, set("Accept", "*/*"), 200, 0},
			{"accepts nothing named", "POST", ping, unset("Accept"), 200, 0},
			{"accepts in capitals", "POST", ping, set("Accept", "TEXT/Event-Stream;q=0.5 , APPLICATION/JSON"), 200, 0},
			{"GET without streams", "GET", "", set("Accept", "application/json"), 406, -32600},
			{"text", "POST", ping, set("Content-Type", "text/plain"), 415, -32000},
			{"no content type", "POST", ping, unset("Content-Type"), 415, -32000},
			{"charset", "POST", ping, set("Content-Type", "application/json; charset=UTF-8"), 200, 0},
			{"other charset", "POST", ping, set("Content-Type", "application/json; charset=latin1"), 415, -32000},
			{"compressed", "POST", ping, set("Content-Encoding", "gzip"), 415, -32000},
			{"too large", "POST", `"` + strings.Repeat("x", 300<<10) + `"`, nil, 413, -32000},

			{"foreign origin", "POST", ping, set("Origin", "http://evil.example"), 403, -32000},
			{"null origin", "POST", ping, set("Origin", "null"), 403, -32000},
			{"foreign origin on GET", "GET", "", set("Origin", "http://evil.example"), 403, -32000},
			{"own origin", "POST", ping, set("Origin", w.url), 200, 0},
			{"foreign host", "POST", ping, func(r *http.Request) { r.Host = "evil.example" }, 403, -32000},
			{"other name of this machine", "POST", ping, func(r *http.Request) { r.Host = "LOCALHOST:1" }, 200, 0},
			{"PUT", "PUT", ping, nil, 405, -32000},
		} {
			t.Run(string(f)+"/"+c.name, func(t *testing.T) {
				me := w.begun("primary")
				r := me.do(c.method, c.body, c.change)
				if r.status != c.status {
					t.Fatalf("status %d with %s, want %d", r.status, r.body, c.status)
				}
				if c.status == 202 {
					if r.body != "" || r.header.Get("Content-Type") != "" {
						t.Errorf("202 has a body: %q", r.body)
					}
					return
				}
				m := r.last(t)
				if m.Version != "2.0" || (m.Error == nil) != (c.code == 0) || m.Error != nil && (m.Error.Code != c.code || m.Error.Message == "" || m.Result != nil) {
					t.Errorf("answered %s, want code %d", r.body, c.code)
				}
				if c.status == 401 && !strings.Contains(r.header.Get("WWW-Authenticate"), `resource_metadata="`+w.url+`/.well-known/oauth-protected-resource/mcp"`) {
					t.Errorf("the challenge is %q", r.header.Get("WWW-Authenticate"))
				}
				if got := me.post(ping); got.status != 200 {
					t.Errorf("afterwards the session is gone: %d %s", got.status, got.body)
				}
			})
		}
	}
}

// TestIDs: a response repeats the id's type, value and spelling.
func TestIDs(t *testing.T) {
	for _, f := range forms() {
		me := serve(t, "seer", inForm(f)).begun("primary")
		for _, id := range []string{`0`, `-1`, `9007199254740991`, `"1"`, `""`, `"ü\u00fc😀"`, `" x "`} {
			r := me.post(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
			if m := r.last(t); string(m.ID) != id || m.Error != nil {
				t.Errorf("%s: id %s came back in %s", f, id, r.body)
			}
		}
	}
}

func TestInitialize(t *testing.T) {
	w := serve(t, "seer", inForm(mcp.Mixed))
	seen := map[string]bool{}
	for _, proposed := range []string{"2025-06-18", "2024-11-05", "2031-01-01", "x"} {
		c := w.caller("primary")
		r := c.post(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"` + proposed + `","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"},"_meta":{}}}`)
		m := r.last(t)
		if m.Result["protocolVersion"] != mcp.Revision {
			t.Errorf("proposed %s: %s", proposed, r.body)
		}
		if caps, _ := json.Marshal(m.Result["capabilities"]); string(caps) != `{"tools":{}}` {
			t.Errorf("capabilities are %s", caps)
		}
		id := r.header.Get("Mcp-Session-Id")
		if len(id) < 32 || seen[id] || strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Errorf("session id %q", id)
		}
		seen[id] = true
	}
	for _, params := range []string{`{}`, `[]`, `{"protocolVersion":1,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}`,
		`{"protocolVersion":"2025-06-18","clientInfo":{"name":"t","version":"1"}}`, `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t"}}`} {
		r := w.caller("primary").post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + params + `}`)
		if m := r.last(t); m.Error == nil || m.Error.Code != -32602 || string(m.ID) != "1" || r.header.Get("Mcp-Session-Id") != "" {
			t.Errorf("params %s: %d %s", params, r.status, r.body)
		}
	}
}

// TestForms: the form is the operator's where the client takes both, else the client's.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		form   mcp.Form
		accept string
		want   []string // of four requests in a row
	}{
		{mcp.JSON, both, []string{"json", "json", "json", "json"}},
		{mcp.SSE, both, []string{"sse", "sse", "sse", "sse"}},
		{mcp.Mixed, both, []string{"sse", "json", "sse", "json"}},
		{mcp.JSON, "text/event-stream", []string{"sse", "sse", "sse", "sse"}},
		{mcp.SSE, "application/json", []string{"json", "json", "json", "json"}},
		{mcp.Mixed, "application/*;q=0.1", []string{"json", "json", "json", "json"}},
	} {
		me := serve(t, "seer", inForm(c.form)).begun("primary")
		var got []string
		for range c.want {
			kind := "json"
			if me.do("POST", ping, set("Accept", c.accept)).header.Get("Content-Type") == "text/event-stream" {
				kind = "sse"
			}
			got = append(got, kind)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s for %q: %v", c.form, c.accept, got)
		}
	}
}

func TestNoStream(t *testing.T) {
	w := serve(t, "seer", reference.MCP{Options: mcp.Options{Form: mcp.SSE, NoStream: true}})
	me := w.begun("primary")
	if r := me.do("GET", "", nil); r.status != 405 || r.header.Get("Allow") != "POST, DELETE" {
		t.Errorf("GET: %d %s", r.status, r.body)
	}
	if r := me.post(ping); strings.Contains(r.body, "id: ") || r.last(t).Error != nil {
		t.Errorf("events have ids that nothing resumes: %s", r.body)
	}
}
