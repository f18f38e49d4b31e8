package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assay.kit/reference"
	"assay.kit/reference/mcp"
)

// bearer adds a token to every request and counts them by method.
type bearer struct {
	token string
	next  http.RoundTripper

	mu   sync.Mutex
	sent map[string]int
}

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	b.sent[r.Method]++
	b.mu.Unlock()
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// TestOfficialClient: the official Go client, pinned to the revision, works with the server through
// nothing but the protocol: it lists by pages, calls, is told of progress, and reads a job to its artifact.
func TestOfficialClient(t *testing.T) {
	for _, f := range forms() {
		for _, noStream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", f, noStream), func(t *testing.T) {
				w := serve(t, "seer", reference.MCP{Options: mcp.Options{Form: f, PageSize: 2, NoStream: noStream}})
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				wire := &bearer{token: w.ref.Token("primary"), next: w.http.Transport, sent: map[string]int{}}
				progress := make(chan float64, 8)
				client := sdk.NewClient(&sdk.Implementation{Name: "peer", Version: "1"}, &sdk.ClientOptions{
					ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { progress <- r.Params.Progress },
				})
				transport := &sdk.StreamableClientTransport{Endpoint: w.url + mcp.Path, HTTPClient: &http.Client{Transport: wire}, MaxRetries: -1}
				session, err := client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: mcp.Revision})
				if err != nil {
					t.Fatal(err)
				}
				if r := session.InitializeResult(); r.ProtocolVersion != mcp.Revision || r.ServerInfo.Name != "seer" || r.Capabilities.Tools == nil || r.Capabilities.Logging != nil {
					t.Errorf("initialized with %+v", r)
				}
				if err := session.Ping(ctx, nil); err != nil {
					t.Error(err)
				}
				tools := 0
				for tool, err := range session.Tools(ctx, nil) {
					if err != nil {
						t.Fatal(err)
					}
					if tools++; tool.OutputSchema == nil || tool.Annotations == nil {
						t.Errorf("%s came without its output schema or hints", tool.Name)
					}
				}
				if tools != 7 {
					t.Errorf("%d tools were listed", tools)
				}
				bars := &sdk.CallToolParams{Name: "seer_market_bars", Arguments: map[string]any{"instrumentId": apple, "start": "2026-10-01", "end": "2026-10-02"}}
				bars.SetProgressToken("p")
				if m := peerCall(ctx, t, session, bars); m["status"] != "complete" {
					t.Errorf("bars: %v", m)
				}
				if f != mcp.JSON {
					if a, b := <-progress, <-progress; a >= b {
						t.Errorf("progress went from %v to %v", a, b)
					}
				}
				if r, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "seer_market_bars", Arguments: map[string]any{}}); err != nil || !r.IsError {
					t.Errorf("bad arguments: %+v %v", r, err)
				}
				if _, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "none"}); err == nil {
					t.Error("an unknown tool was called")
				}
				job := peerCall(ctx, t, session, &sdk.CallToolParams{Name: "seer_market_scan", Arguments: map[string]any{
					"condition": map[string]any{"indicator": map[string]any{"name": "momentum", "window": 20}, "operator": "above", "threshold": 0.02}}})
				for range 200 {
					if err := w.clock.Advance(ctx, 5*time.Second); err != nil {
						t.Fatal(err)
					}
					job = peerCall(ctx, t, session, &sdk.CallToolParams{Name: "seer_jobs_get", Arguments: map[string]any{"job_id": job["job_id"]}})
					if job["state"] == "completed" {
						break
					}
				}
				artifact := peerCall(ctx, t, session, &sdk.CallToolParams{Name: "seer_artifacts_get", Arguments: map[string]any{"artifact_id": job["result_ref"]}})
				if artifact["kind"] != "tool_result" {
					t.Errorf("job %v, artifact %v", job, artifact)
				}
				if err := session.Close(); err != nil {
					t.Error(err)
				}
				if wire.sent["DELETE"] != 1 || wire.sent["GET"] == 0 {
					t.Errorf("the client sent %v", wire.sent)
				}
			})
		}
	}
}

func peerCall(ctx context.Context, t *testing.T, s *sdk.ClientSession, p *sdk.CallToolParams) map[string]any {
	t.Helper()
	r, err := s.CallTool(ctx, p)
	if err != nil || r.IsError || len(r.Content) != 1 {
		t.Fatalf("%s: %+v %v", p.Name, r, err)
	}
	raw, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m
}
