package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"assay.kit/reference/store/memory"
)

// TestBothFaces: one process serves both faces of one store, says where, ends open streams with itself,
// and forgets sessions but nothing else when it is killed.
func TestBothFaces(t *testing.T) {
	ct, err := loadContract("seer")
	if err != nil {
		t.Fatal(err)
	}
	s, err := start(t.Context(), serving{contract: ct, store: memory.New(), credentials: 1, addr: loopback, control: loopback, restarts: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	session := ""
	send := func(method, url, body string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.profile.Credentials["primary"].Bearer.Reveal())
		r.Header.Set("Content-Type", "application/json")
		if method == http.MethodGet && url == s.profile.MCPURL {
			r.Header.Set("Accept", "text/event-stream")
		} else {
			r.Header.Set("Accept", "application/json")
		}
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	ask := func(method, url, body string) (status int, v map[string]any) {
		t.Helper()
		resp := send(method, url, body)
		defer func() { _ = resp.Body.Close() }()
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, v
	}
	initialize := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	call := func(tool, arguments string) (int, map[string]any) {
		t.Helper()
		status, v := ask("POST", s.profile.MCPURL, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`)
		result, _ := v["result"].(map[string]any)
		value, _ := result["structuredContent"].(map[string]any)
		return status, value
	}

	if _, connection := ask("GET", s.baseURL+"/v1/connection", ""); connection["mcp_endpoint"] != s.profile.MCPURL || s.profile.MCPURL != s.baseURL+"/mcp" {
		t.Fatalf("the connection says %v, the profile %s", connection["mcp_endpoint"], s.profile.MCPURL)
	}
	if status, v := ask("POST", s.profile.MCPURL, initialize); status != 200 || session == "" {
		t.Fatalf("%d %v", status, v)
	}
	_, job := call("seer_market_scan", `{"condition":{"indicator":{"name":"momentum","window":20},"operator":"above","threshold":0.02}}`)
	id, _ := job["job_id"].(string)
	if status, v := ask("GET", s.baseURL+"/v1/jobs/"+id, ""); status != 200 {
		t.Fatalf("the job %q of a tool is not there on REST: %v", id, v)
	}

	stream := send("GET", s.profile.MCPURL, "")
	if hook := s.profile.Hooks["restart"]; send(hook.HTTP.Method, hook.HTTP.URL, "").StatusCode/100 != 2 {
		t.Fatal("no restart")
	}
	if _, err := io.ReadAll(stream.Body); err == nil {
		t.Error("a stream ends in order with a server that is killed")
	}
	_ = stream.Body.Close()
	if status, _ := call("seer_jobs_get", `{"job_id":"`+id+`"}`); status != 404 {
		t.Errorf("the session outlives its server: %d", status)
	}
	session = ""
	ask("POST", s.profile.MCPURL, initialize)
	if _, again := call("seer_jobs_get", `{"job_id":"`+id+`"}`); again["job_id"] != id {
		t.Errorf("the job %q is lost with the session: %v", id, again)
	}

	stream = send("GET", s.profile.MCPURL, "")
	began := time.Now()
	s.stop()
	if rest, err := io.ReadAll(stream.Body); err != nil || len(rest) > 0 {
		t.Errorf("the stream ended with %q %v", rest, err)
	}
	_ = stream.Body.Close()
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the end took %s with a stream open", took)
	}
}
