package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"assay.kit/conformance/check"
	"assay.kit/conformance/wire"
)

// messages judges what a server makes of bodies that are no message of the revision.
func messages() []check.Check {
	return []check.Check{
		{
			ID:   "mcp.parse",
			Does: "Sends bodies that are no JSON, in a session that works.",
			Claims: []check.Claim{
				{ID: "mcp.parse-error", Says: "A body that is no JSON is refused, by a 4xx or a parse error, and never taken."},
				aliveSays(),
			},
			Needs: needs(), Cost: check.Cost{Requests: 20}, Select: endpoint, Run: parse,
		},
		{
			ID:   "mcp.batch",
			Does: "Sends two requests in one array, and an empty array.",
			Claims: []check.Claim{
				{ID: "mcp.batch", Says: "A batch is not carried out: this revision has none."},
				aliveSays(),
			},
			Needs: needs(), Cost: check.Cost{Requests: 10}, Select: endpoint, Run: batch,
		},
		{
			ID:   "mcp.ids",
			Does: "Sends requests with ids of every legal form, and of forms that are not.",
			Claims: []check.Claim{
				{ID: "mcp.id-echo", Says: "A response has the id of its request, be it text, zero, negative or as large as 2^53-1."},
				{ID: "mcp.id-null", Says: "A request whose id is null is not answered with a result."},
				{ID: "mcp.id-form", Says: "A request whose id is neither text nor integer is not answered with a result."},
				aliveSays(),
			},
			Needs: needs(), Cost: check.Cost{Requests: 25}, Select: endpoint, Run: ids,
		},
		{
			ID:   "mcp.notifications",
			Does: "Sends notifications that no server knows, a response to nothing, and a notification in a session that is not there.",
			Claims: []check.Claim{
				{ID: "mcp.notification-refused", Says: "A notification that cannot be taken is answered with an error status, and without the response to any request."},
				aliveSays(),
			},
			Needs: needs(), Cost: check.Cost{Requests: 15}, Select: endpoint, Run: notifications,
		},
	}
}

func parse(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	s.works()
	bodies := []struct {
		what string
		body []byte
	}{
		{"JSON that ends too early", []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"`)},
		{"a word", []byte("assay")},
		{"no byte", []byte{}},
		{"two values", []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"} {`)},
	}
	for _, b := range bodies {
		ex, _ := s.Post(b.body)
		bad := ex.Status() >= 400 && ex.Status() < 500
		for _, m := range ex.Messages() {
			bad = bad || refusedAs(m, codeParse, codeRequest)
		}
		t.Judge("mcp.parse-error", bad && !anyResult(ex), "a 4xx or -32700 to "+b.what, told(ex))
	}
	s.alive("bodies that are no JSON")
}

func batch(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	s.works()
	ping := func() []byte { return Encode(s.NextID(), "ping", nil) }
	two := []byte("[" + string(ping()) + "," + string(ping()) + "]")
	for _, body := range [][]byte{two, []byte("[]")} {
		ex, _ := s.Post(body)
		t.Judge("mcp.batch", ex.Status() != 0 && ex.Status() < 500 && !anyResult(ex), "a refusal of the array "+string(body), told(ex))
	}
	s.alive("a batch")
}

func ids(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	quoted, _ := json.Marshal("assay-" + t.Nonce())
	for _, id := range []string{string(quoted), `"1"`, `"é 😀"`, "0", "-1", "2147483648", "9007199254740991"} {
		ex, _ := s.Ask(json.RawMessage(id), "ping", nil)
		got := "no response"
		same := false
		for _, m := range ex.Messages() {
			if m.Err == nil && m.IsResponse() {
				got = string(m.ID)
				same = same || sameID(m.ID, json.RawMessage(id))
			}
		}
		if got == "no response" {
			got = told(ex)
		}
		t.Judge("mcp.id-echo", same, "the id "+id, got)
	}
	for _, id := range []string{"null", "1.5", "true", "{}", `["1"]`} {
		claim := "mcp.id-form"
		if id == "null" {
			claim = "mcp.id-null"
		}
		ex, _ := s.Ask(json.RawMessage(id), "ping", nil)
		t.Judge(claim, ex.Status() != 0 && !anyResult(ex), "no result to a request with the id "+id, told(ex))
	}
	s.alive("ids of other forms")
}

// sameID compares two ids by JSON type and value; a text may be spelled with other escapes.
func sameID(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var s, u *string
	if json.Unmarshal(a, &s) == nil && json.Unmarshal(b, &u) == nil {
		return s != nil && u != nil && *s == *u
	}
	var x, y float64
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && x == y
}

func notifications(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	s.Notify("notifications/assay-unknown", map[string]any{"assay": true})
	s.alive("an unknown notification")
	s.Post([]byte(`{"jsonrpc":"2.0","id":"assay-` + t.Nonce() + `","result":{}}`))
	s.alive("a response to nothing")
	if s.ID == "" {
		t.NotApplicable("mcp.notification-refused", "the server has no sessions, so there is no notification that it must refuse")
		return
	}
	lost := *s
	lost.ID = invented(s.ID)
	ex := lost.Notify("notifications/initialized", nil)
	ok := ex.Status() >= 400
	for _, m := range ex.Messages() {
		ok = ok && (m.Err != nil || m.ID == nil || string(m.ID) == "null")
	}
	t.Judge("mcp.notification-refused", ok, "an error status, and no id in the body, to a notification in no session", told(ex))
}

// requests judges requests that a server cannot carry out as they are.
func requests() []check.Check {
	return []check.Check{
		{
			ID:   "mcp.methods",
			Does: "Calls methods that no server knows, beside one that it does.",
			Claims: []check.Claim{
				{ID: "mcp.unknown-method", Says: "A method that the server does not know is refused with -32601 and the request's id."},
				aliveSays(),
			},
			Needs: needs(), Cost: check.Cost{Requests: 15}, Select: endpoint, Run: methods,
		},
		{
			ID:   "mcp.params",
			Does: "Calls known methods with params of the wrong shape, beside right ones.",
			Claims: []check.Claim{
				{ID: "mcp.invalid-params", Says: "Params of the wrong shape are refused with -32602."},
				aliveSays(),
			},
			Needs: needs(), Cost: check.Cost{Requests: 25}, Select: endpoint, Run: params,
		},
		{
			ID:   "mcp.tool-name",
			Does: "Calls tools that are not there, beside one that is.",
			Claims: []check.Claim{
				{ID: "mcp.unknown-tool", Says: "A call of a tool that does not exist does not succeed."},
				{ID: "mcp.unknown-tool-error", Says: "A call of a tool that does not exist is an error of the protocol."},
				aliveSays(),
			},
			Needs: needs(), Cost: check.Cost{Requests: 15}, Select: endpoint, Run: toolNames,
		},
		{
			ID:   "mcp.meta",
			Does: "Sends _meta members that the protocol reserves or that others have made up.",
			Claims: []check.Claim{
				{ID: "mcp.meta-ignored", Says: "A _meta member that a server does not know keeps it from nothing."},
			},
			Needs: needs(), Cost: check.Cost{Requests: 10}, Select: endpoint, Run: meta,
		},
	}
}

func methods(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	s.works()
	for _, method := range []string{"assay/unknown", "tools/unknown", "Ping", "tools/list/"} {
		id := s.NextID()
		ex, m := s.Ask(id, method, map[string]any{})
		t.Judge("mcp.unknown-method", refusedAs(m, codeMethod) && sameID(m.ID, id), "-32601 with the id "+string(id)+" to the method "+method, told(ex))
	}
	s.alive("unknown methods")
}

func params(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	s.works()
	name := "assay"
	if tool, _ := sample(t.Contract()); tool != nil {
		name = tool.Name
	}
	wrong := []struct {
		method string
		params any
		codes  []int
	}{
		{"tools/call", nil, []int{codeParams}},
		{"tools/call", map[string]any{"arguments": map[string]any{}}, []int{codeParams}},
		{"tools/call", map[string]any{"name": 1, "arguments": map[string]any{}}, []int{codeParams}},
		{"tools/call", map[string]any{"name": name, "arguments": []any{}}, []int{codeParams}},
		{"tools/call", map[string]any{"name": name, "arguments": "assay"}, []int{codeParams}},
		{"tools/call", []any{name}, []int{codeParams, codeRequest}}, // by-position params are JSON-RPC, and no request of the revision
		{"tools/list", map[string]any{"cursor": 1}, []int{codeParams}},
	}
	for _, w := range wrong {
		ex, m := s.Call(w.method, w.params)
		sent, _ := json.Marshal(w.params)
		if ex.End == wire.EndTimeout { // slow is not wrong, and what hangs once is not waited for again and again
			t.Inconclusive("%s with %s got no answer in time", w.method, sent)
		}
		t.Judge("mcp.invalid-params", refusedAs(m, w.codes...), fmt.Sprintf("-32602 to %s with %s", w.method, sent), told(ex))
	}
	s.alive("wrong params")
}

func toolNames(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	s.works()
	names := []string{"assay_" + t.Nonce(), ""}
	if tool, _ := sample(t.Contract()); tool != nil {
		names = append(names, tool.Name+"_assay")
	}
	for _, name := range names {
		ex, m := s.Tool(name, map[string]any{})
		if ex.End == wire.EndTimeout {
			t.Inconclusive("a call of the tool %q got no answer in time", name)
		}
		t.Judge("mcp.unknown-tool", ex.Status() != 0 && (m.Result == nil || isError(m)), "a refusal of the tool "+name, told(ex))
		t.Judge("mcp.unknown-tool-error", m.Error != nil && m.Result == nil, "a JSON-RPC error to the tool "+name, told(ex))
	}
	s.alive("unknown tools")
}

// isError reports a result that says of itself that the call failed.
func isError(m wire.Message) bool {
	var r struct{ IsError bool }
	return json.Unmarshal(m.Result, &r) == nil && r.IsError
}

func meta(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	s.works()
	keys := map[string]any{"modelcontextprotocol.io/assay": true, "mcp.dev/assay": map[string]any{"a": 1}, "example.com/assay": nil, "assay": "x"}
	for _, method := range []string{"ping", "tools/list"} {
		ex, m := s.Call(method, map[string]any{"_meta": keys})
		t.Judge("mcp.meta-ignored", m.Result != nil, "a result of "+method, told(ex))
	}
}
