package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay.kit/fixtures"
	"assay.kit/reference"
	"assay.kit/reference/mcp"
	"assay.kit/spec"
	"assay.kit/spec/schema"
)

// listAll walks the pages of tools/list.
func (c *caller) listAll() []map[string]any {
	c.w.t.Helper()
	var all []map[string]any
	params := `{}`
	for range 50 {
		m := c.ask("tools/list", params)
		tools, _ := m.Result["tools"].([]any)
		for _, tl := range tools {
			manifest, _ := tl.(map[string]any)
			all = append(all, manifest)
		}
		next, more := m.Result["nextCursor"]
		if !more {
			return all
		}
		raw, _ := json.Marshal(next)
		params = `{"cursor":` + string(raw) + `}`
	}
	c.w.t.Fatal("the list does not end")
	return nil
}

// TestList: the pages hold every tool once, each manifest whole, and make a contract again.
func TestList(t *testing.T) {
	for name, want := range map[string]string{
		"seer":  "[seer_market_bars seer_market_indicators seer_market_scan seer_forecast_create seer_portfolio_propose seer_jobs_get seer_artifacts_get]",
		"notes": "[open-notebook list-notes export-notebook read-export read-file]",
	} {
		for _, size := range []int{1, 3, 7, 100} {
			me := serve(t, name, reference.MCP{Options: mcp.Options{PageSize: size}}).begun("primary")
			all := me.listAll()
			var names []string
			for _, m := range all {
				n, _ := m["name"].(string)
				names = append(names, n)
				in, _ := m["inputSchema"].(map[string]any)
				out, _ := m["outputSchema"].(map[string]any)
				if in["type"] != "object" || out["type"] != "object" || m["description"] == "" || m["annotations"] == nil {
					t.Errorf("the manifest of %s is not whole: %v", n, m)
				}
			}
			if fmt.Sprint(names) != want {
				t.Errorf("%s by %d: %v", name, size, names)
			}
			raw, err := json.Marshal(map[string]any{"tools": all})
			if err != nil {
				t.Fatal(err)
			}
			c, err := spec.FromTools(raw, name)
			if err != nil {
				t.Fatal(err)
			}
			if i := slices.IndexFunc(c.Tools, func(tl *spec.Tool) bool { return tl.Utility }); i < 0 || len(c.Tools) != len(all) || c.Tools[i].Annotations.ReadOnly == nil {
				t.Errorf("%s: of %d manifests came %d tools, and utility %d", name, len(all), len(c.Tools), i)
			}
		}
	}
}

// TestDocuments: the published messages get the published answers, value for value but for the ids.
func TestDocuments(t *testing.T) {
	w := serve(t, "seer", reference.MCP{Options: mcp.Options{Form: mcp.JSON, PageSize: 100}})
	file := func(name string) string {
		b, err := fixtures.FS.ReadFile("seer/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	decoded := func(text string) map[string]any {
		var v map[string]any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	me := w.caller("primary")
	r := me.post(file("mcp-initialize.json"))
	if me.session = r.header.Get("Mcp-Session-Id"); string(r.last(t).ID) != "0" || r.last(t).Result["protocolVersion"] != "2025-06-18" {
		t.Fatalf("initialize: %s", r.body)
	}
	if r := me.post(file("mcp-initialized.json")); r.status != 202 {
		t.Errorf("initialized: %d", r.status)
	}
	manifest := decoded(file("mcp-manifest-market-bars.json"))
	tools, _ := me.post(file("mcp-tools-list.json")).last(t).Result["tools"].([]any)
	first, _ := tools[0].(map[string]any)
	for name, want := range manifest {
		if !reflect.DeepEqual(first[name], want) {
			t.Errorf("%s of the manifest is %v, want %v", name, first[name], want)
		}
	}
	if m := me.post(file("mcp-tools-call-market-bars.json")).last(t); m.isError() || m.tool()["status"] == nil {
		t.Errorf("call: %v", m.Result)
	}
	if m := me.post(file("mcp-tools-call-jobs-get.json")).last(t); m.refusal() != "NOT_FOUND" { // it is no job of ours
		t.Errorf("job: %v", m.Result)
	}
	input := `{"instrumentId":"` + apple + `","start":"2026-10-01","end":"2026-10-02","as_of":"2026-10-03T00:00:00Z"}`
	if got, want := me.call("seer_market_bars", input).tool(), decoded(file("tool-result-market-bars.json")); !reflect.DeepEqual(without(got), without(want)) {
		t.Errorf("bars are %v, want %v", got, want)
	}
}

func TestListCursor(t *testing.T) {
	w := serve(t, "seer", inForm(mcp.JSON))
	me := w.begun("primary")
	next, _ := me.ask("tools/list", `{}`).Result["nextCursor"].(string)
	page := func(c *caller) string {
		m := c.ask("tools/list", `{"cursor":"`+next+`"}`)
		if m.Error != nil {
			return fmt.Sprint(m.Error.Code)
		}
		tools, _ := json.Marshal(m.Result["tools"])
		return string(tools)
	}
	first := page(me)
	if page(me) != first || page(w.begun("primary")) != first || len(first) < 100 {
		t.Error("a cursor does not give the same page again")
	}
	if got := page(w.begun("second_client")); got != "-32602" {
		t.Errorf("another client's cursor: %s", got)
	}
}

// rest sends a request to the other face.
func (c *caller) rest(method, path, body, key string) (status int, value map[string]any) {
	c.w.t.Helper()
	r := c.request(c.w.t.Context(), method, body, nil)
	r.URL.Path, r.URL.RawQuery, _ = strings.Cut(path, "?")
	if u, err := url.Parse(path); err == nil {
		r.URL.Path, r.URL.RawPath, r.URL.RawQuery = u.Path, u.RawPath, u.RawQuery
	}
	r.Header.Del("Mcp-Session-Id")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
		r.Header.Set("Request-Key", key)
	}
	resp, err := c.w.http.Do(r)
	if err != nil {
		c.w.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&value); err != nil {
		c.w.t.Fatal(err)
	}
	return resp.StatusCode, value
}

// without is an answer without what differs between two equal ones.
func without(m map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		switch k {
		case "invocation_id", "job_id", "status_url", "next_cursor":
			v = v == nil
		}
		out[k] = v
	}
	return out
}

// TestSameDomain: a call of each face with the same input, valid or not, under the same principal has
// the same outcome.
func TestSameDomain(t *testing.T) {
	w := serve(t, "seer", inForm(mcp.Mixed))
	if err := w.clock.Freeze(t.Context()); err != nil { // admission time is part of the answers
		t.Fatal(err)
	}
	var callers []*caller
	for _, who := range []string{"primary", "second_workspace", "without_scope", "without_entitlement", "exhausted_budget"} {
		callers = append(callers, w.begun(who))
	}
	revision := map[*caller]any{}
	for _, c := range callers {
		_, connection := c.rest("GET", "/v1/connection", "", "")
		revision[c] = connection["default_agent_revision"]
	}
	tools := []*spec.Tool{}
	for _, tl := range loadOnce()["seer"].Tools {
		if !tl.Utility && tl.Revision.Schema == "1.0" {
			tools = append(tools, tl)
		}
	}
	key := 0
	rapid.Check(t, func(rt *rapid.T) {
		me := rapid.SampledFrom(callers).Draw(rt, "caller")
		tl := rapid.SampledFrom(tools).Draw(rt, "tool")
		input := drawInput(rt, tl)
		key++
		body, _ := json.Marshal(map[string]any{"agent_revision_id": revision[me], "tool": tl.Domain, "input": json.RawMessage(input)})
		status, rest := me.rest("POST", "/v1/tool-invocations", string(body), fmt.Sprint("k", key))
		m := me.call(tl.Name, input)
		if m.Error != nil {
			rt.Fatalf("%s %s: a protocol error: %+v", tl.Name, input, m.Error)
		}
		mirrored(rt, m)
		switch {
		case status >= 400:
			e, _ := m.tool()["error"].(map[string]any)
			if !m.isError() || e["code"] != rest["code"] || e["status"] != rest["status"] || e["required"] != rest["required"] {
				rt.Fatalf("%s %s: REST says %v, MCP %v", tl.Name, input, rest, m.Result)
			}
			if fmt.Sprint(e["errors"]) != strings.ReplaceAll(fmt.Sprint(rest["errors"]), "pointer:/input", "pointer:") {
				rt.Fatalf("%s %s: violations are %v on REST, %v on MCP", tl.Name, input, rest["errors"], e["errors"])
			}
		case m.isError() || !reflect.DeepEqual(without(rest), without(m.tool())):
			rt.Fatalf("%s %s: REST says %v, MCP %v", tl.Name, input, rest, m.tool())
		default:
			structured, _ := json.Marshal(m.Result["structuredContent"])
			v, err := schema.DecodeJSON(structured)
			if err != nil {
				rt.Fatal(err)
			}
			if vs := tl.Structured.Validate(v); len(vs) > 0 {
				rt.Fatalf("%s: the result breaks the outputSchema: %v", tl.Name, vs)
			}
		}
	})
}

// mirrored: one text block holds what structuredContent holds.
func mirrored(t interface{ Fatalf(string, ...any) }, m *message) {
	content, _ := m.Result["content"].([]any)
	if len(content) != 1 {
		t.Fatalf("content is %v", m.Result["content"])
		return
	}
	block, _ := content[0].(map[string]any)
	s, _ := block["text"].(string)
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil || block["type"] != "text" || !reflect.DeepEqual(v, m.Result["structuredContent"]) {
		t.Fatalf("the text %q is not %v", s, m.Result["structuredContent"])
	}
}

// drawInput is an example of the tool, or one with a member changed.
func drawInput(rt *rapid.T, tl *spec.Tool) string {
	example := rapid.SampledFrom(tl.Examples).Draw(rt, "example")
	base, _ := example.Value.(map[string]any)
	in := map[string]any{}
	for k, v := range base {
		in[k] = v
	}
	values := rapid.SampledFrom([]string{`null`, `1`, `1.0`, `9007199254740993`, `1e400`, `""`, `"x"`, `[]`, `{}`, `{"a":1,"a":2}`, `"\ud800"`, `true`, `"2026-10-02"`, `"` + apple + `"`, `"none"`})
	switch rapid.IntRange(0, 4).Draw(rt, "change") {
	case 1:
		delete(in, rapid.SampledFrom(sorted(in)).Draw(rt, "drop"))
	case 2:
		in[rapid.SampledFrom(sorted(in)).Draw(rt, "member")] = json.RawMessage(values.Draw(rt, "value"))
	case 3:
		in[rapid.SampledFrom([]string{"agent_revision_id", "authorization", "as_of", "cursor", "limit", "start"}).Draw(rt, "more")] = json.RawMessage(values.Draw(rt, "value"))
	case 4: // the same once more, in other spellings
		raw, _ := json.Marshal(in)
		return strings.Replace(string(raw), "{", "{ ", 1)
	}
	raw, err := json.Marshal(in)
	if err != nil { // a raw value that is no JSON by encoding/json
		rt.Skip(err)
	}
	return string(raw)
}

func sorted(m map[string]any) []string {
	names := []string{}
	for k := range m {
		names = append(names, k)
	}
	slices.Sort(names)
	return names
}

// TestKey: the key of a call makes one thing of two calls, whoever else uses it elsewhere.
func TestKey(t *testing.T) {
	w := serve(t, "seer", inForm(mcp.SSE))
	me := w.begun("primary")
	call := func(c *caller, tool, key, arguments string) *message {
		return c.ask("tools/call", `{"name":"`+tool+`","_meta":{"seer/idempotencyKey":`+key+`},"arguments":`+arguments+`}`)
	}
	bars := `{"instrumentId":"` + apple + `"}`
	id := func(m *message) any { return m.tool()["invocation_id"] }
	first := call(me, "seer_market_bars", `"k1"`, bars)
	if again := call(me, "seer_market_bars", `"k1"`, ` { "instrumentId" : "`+apple+`" } `); id(again) != id(first) || id(first) == nil {
		t.Errorf("a repeated call made %v, the first %v", id(again), id(first))
	}
	if m := call(me, "seer_market_bars", `"k1"`, `{"instrumentId":"`+apple+`","interval":"1d"}`); m.refusal() != "IDEMPOTENCY_CONFLICT" {
		t.Errorf("another payload under the key: %v", m.Result)
	}
	if m := call(me, "seer_market_indicators", `"k1"`, `{"instrumentId":"`+apple+`","indicators":[{"name":"sma","window":5}]}`); m.isError() {
		t.Errorf("the key of another tool binds: %v", m.Result)
	}
	if m := call(w.begun("second_client"), "seer_market_bars", `"k1"`, bars); id(m) == id(first) || m.isError() {
		t.Errorf("the key of another client binds: %v", m.Result)
	}
	if m := call(me, "seer_market_bars", `"ü"`, bars); m.refusal() != "INVALID_PARAMETER" {
		t.Errorf("a key beyond ASCII: %v", m.Result)
	}
	if a, b := me.call("seer_market_bars", bars), me.call("seer_market_bars", bars); id(a) == id(b) {
		t.Error("two calls without a key made one thing")
	}
}

// TestJob follows a job to its artifact, in a session that did not begin it, and compares both faces.
func TestJob(t *testing.T) {
	w := serve(t, "seer", inForm(mcp.Mixed))
	first := w.begun("primary")
	m := first.call("seer_forecast_create", `{"instrument_id":"`+apple+`","target":"simple_price_return","horizon":{"value":5,"unit":"trading_sessions"}}`)
	job, _ := m.tool()["job_id"].(string)
	first.do("DELETE", "", nil)
	me := w.begun("primary")
	var state map[string]any
	for range 200 {
		if err := w.clock.Advance(t.Context(), 5*time.Second); err != nil {
			t.Fatal(err)
		}
		if state = me.call("seer_jobs_get", `{"job_id":"`+job+`"}`).tool(); state["state"] == "completed" {
			break
		}
	}
	if state["state"] != "completed" {
		t.Fatalf("the job %q is %v", job, state)
	}
	if _, rest := me.rest("GET", "/v1/jobs/"+job, "", ""); !reflect.DeepEqual(rest, state) {
		t.Errorf("job: REST %v, MCP %v", rest, state)
	}
	ref, _ := state["result_ref"].(string)
	artifact := me.call("seer_artifacts_get", `{"artifact_id":"`+ref+`"}`)
	mirrored(t, artifact)
	if _, rest := me.rest("GET", "/v1/artifacts/"+ref, "", ""); artifact.isError() || !reflect.DeepEqual(rest, artifact.tool()) {
		t.Errorf("artifact: REST %v, MCP %v", rest, artifact.tool())
	}
	for _, who := range []string{"second_workspace", "without_scope"} {
		want := map[string]string{"second_workspace": "NOT_FOUND", "without_scope": "FORBIDDEN"}[who]
		if got := w.begun(who).call("seer_jobs_get", `{"job_id":"`+job+`"}`).refusal(); got != want {
			t.Errorf("%s: %q, want %s", who, got, want)
		}
	}
	for _, bad := range []string{`{}`, `{"job_id":1}`, `{"job_id":"x","token":"y"}`} {
		if m := me.call("seer_jobs_get", bad); !m.isError() {
			t.Errorf("arguments %s are taken: %v", bad, m.Result)
		}
	}
}

// TestToolCursor: a cursor of one face continues on the other.
func TestToolCursor(t *testing.T) {
	me := serve(t, "seer", inForm(mcp.Mixed)).begun("primary")
	m := me.call("seer_market_bars", `{"instrumentId":"`+apple+`","start":"2019-01-02","end":"2026-09-30","as_of":"2026-10-03T00:00:00Z"}`)
	next, _ := json.Marshal(m.tool()["next_cursor"])
	input := `{"instrumentId":"` + apple + `","cursor":` + string(next) + `}`
	_, connection := me.rest("GET", "/v1/connection", "", "")
	revision, _ := json.Marshal(connection["default_agent_revision"])
	_, rest := me.rest("POST", "/v1/tool-invocations", `{"agent_revision_id":`+string(revision)+`,"tool":"market.bars","input":`+input+`}`, "k")
	if m := me.call("seer_market_bars", input); m.isError() || !reflect.DeepEqual(without(m.tool()), without(rest)) {
		t.Errorf("the second page: %v", m.Result["isError"])
	}
}

// TestLimited: what is too much is a tool's error that says when to come again, and the rate is one for
// both faces.
func TestLimited(t *testing.T) {
	w := serve(t, "seer", inForm(mcp.JSON))
	if err := w.clock.Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	me := w.begun("limited")
	for range 100 {
		m := me.call("seer_jobs_get", `{"job_id":"x"}`)
		if m.refusal() == "NOT_FOUND" {
			continue
		}
		e, _ := m.tool()["error"].(map[string]any)
		if after, _ := e["retry_after_seconds"].(float64); e["code"] != "RATE_LIMITED" || e["status"] != 429.0 || after < 1 {
			t.Errorf("refused with %v", e)
		}
		if status, _ := me.rest("GET", "/v1/connection", "", ""); status != http.StatusTooManyRequests {
			t.Errorf("REST answers %d", status)
		}
		return
	}
	t.Error("nothing is too much")
}

// TestFacesOfOperations: tools of a contract that no line of Go knows.
func TestFacesOfOperations(t *testing.T) {
	w := serve(t, "notes", inForm(mcp.Mixed))
	me := w.begun("primary")
	open := func(arguments string) *message { return me.call("open-notebook", arguments) }
	nb := open(`{"title":"A","label":"a","style":null,"request_key":"k"}`)
	id, _ := nb.tool()["id"].(string)
	if id == "" || open(`{"label":"a","title":"A","style":null,"request_key":"k"}`).tool()["id"] != id {
		t.Fatalf("a key opens two notebooks: %v", nb.Result)
	}
	status, rest := me.rest("POST", "/notebooks", `{"title":"A","label":"a","style":null}`, "k")
	if status != 200 || !reflect.DeepEqual(rest, nb.tool()) {
		t.Errorf("the same key on REST: %d %v", status, rest)
	}
	for _, c := range []struct{ arguments, code string }{
		{`{"title":"B","label":"a","style":null,"request_key":"k"}`, "KEY_REUSED"},
		{`{"title":"B","label":"A"}`, "BODY_INVALID"},
		{`{"title":"B","label":"a","workspace":"w"}`, "BODY_INVALID"},
		{`{"title":"B","label":"a","style":{"margins":[1,1,1,9007199254740993]}}`, "NOT_JSON"},
		{`{"title":"B","label":"a","request_key":"` + strings.Repeat("k", 65) + `"}`, "PARAMETER_INVALID"},
		{`{"title":"B","label":"a","request_key":""}`, "KEY_MISSING"},
	} {
		if m := open(c.arguments); m.refusal() != c.code {
			t.Errorf("%s: %v, want %s", c.arguments, m.Result, c.code)
		}
	}
	for i := range 3 {
		if status, v := me.rest("POST", "/notebooks/"+id+"/notes", fmt.Sprintf(`{"text":"n%d","label":"a"}`, i), fmt.Sprint(i)); status != 201 {
			t.Fatal(v)
		}
	}
	page := me.call("list-notes", `{"notebook_id":"`+id+`","page_size":2}`)
	after, _ := page.tool()["next"].(string)
	_, rest = me.rest("GET", "/notebooks/"+id+"/notes?page_size=2&after="+url.QueryEscape(after), "", "")
	if more := me.call("list-notes", `{"notebook_id":"`+id+`","page_size":2,"after":"`+after+`"}`); !reflect.DeepEqual(more.tool(), rest) || len(rest["notes"].([]any)) != 1 {
		t.Errorf("the second page: REST %v, MCP %v", rest, more.Result)
	}
	for _, c := range []struct{ tool, arguments, code string }{
		{"list-notes", `{"notebook_id":"../exports"}`, "NO_SUCH_THING"},
		{"list-notes", `{"notebook_id":"` + id + `","page_size":"2"}`, "PARAMETER_INVALID"},
		{"list-notes", `{"notebook_id":"` + id + `","after":"x"}`, "PAGE_UNKNOWN"},
		{"read-export", `{"export_id":"none"}`, "NO_SUCH_THING"},
		{"export-notebook", `{"notebook_id":"none","format":"text"}`, "NO_SUCH_THING"},
	} {
		if m := me.call(c.tool, c.arguments); m.refusal() != c.code {
			t.Errorf("%s %s: %v, want %s", c.tool, c.arguments, m.Result, c.code)
		}
	}
	if m := me.call("export-notebook", `{"notebook_id":"`+id+`","format":"text"}`); m.isError() || m.tool()["phase"] == nil {
		t.Errorf("export: %v", m.Result)
	}
}
