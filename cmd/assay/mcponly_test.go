package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assay.kit/conformance"
	"assay.kit/conformance/report"
	"assay.kit/conformance/target"
	"assay.kit/reference/mcp"
)

// peerServer is a server on the official Go SDK with one tool that only reads, one that does not say so,
// and one whose schema refers to another document. calls counts what was carried out, by tool.
type peerServer struct {
	reads, acts atomic.Int64
	http        *httptest.Server
}

func startPeer(t *testing.T, jsonAnswers bool) *peerServer {
	t.Helper()
	p := &peerServer{}
	srv := sdk.NewServer(&sdk.Implementation{Name: "peer", Version: "1"}, &sdk.ServerOptions{PageSize: 1, SupportedProtocolVersions: []string{mcp.Revision}})
	type in struct {
		Text  string  `json:"text" jsonschema:"what is to be said"`
		Times float64 `json:"times,omitempty"`
	}
	type out struct {
		Said  string `json:"said"`
		Words int    `json:"words"`
	}
	say := func(n *atomic.Int64) func(context.Context, *sdk.CallToolRequest, in) (*sdk.CallToolResult, out, error) {
		return func(_ context.Context, _ *sdk.CallToolRequest, i in) (*sdk.CallToolResult, out, error) {
			n.Add(1)
			return nil, out{Said: i.Text, Words: len(strings.Fields(i.Text))}, nil
		}
	}
	sdk.AddTool(srv, &sdk.Tool{Name: "say", Description: "Says it.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, say(&p.reads))
	sdk.AddTool(srv, &sdk.Tool{Name: "send", Description: "Sends it."}, say(&p.acts))
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, &sdk.StreamableHTTPOptions{JSONResponse: jsonAnswers})
	p.http = httptest.NewServer(handler)
	t.Cleanup(p.http.Close)
	return p
}

func (p *peerServer) judge(t *testing.T, change func(*conformance.Options)) *report.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	o := conformance.Options{Profile: &target.Profile{BaseURL: p.http.URL, MCPURL: p.http.URL, Anonymous: true}, Seed: 1, Only: []string{"mcp-tools"}}
	var err error
	if o.Contract, o.Warnings, err = conformance.Discover(ctx, o.Profile); err != nil {
		t.Fatal(err)
	}
	change(&o)
	r, err := conformance.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPeerByItsOwnList: a server that nobody here wrote is judged by its own list of tools, without a
// token, and nothing is called that does not declare itself read-only unless that is allowed.
func TestPeerByItsOwnList(t *testing.T) {
	for _, jsonAnswers := range []bool{false, true} {
		p := startPeer(t, jsonAnswers)
		r := p.judge(t, func(*conformance.Options) {})
		for _, f := range r.Findings { // the SDK puts members of a later revision into every list
			if f.Claim != "mcp.later-revision" || f.Verdict != report.Warn {
				t.Errorf("%s %s: expected %s, got %s", f.Case, f.Claim, f.Expected, f.Actual)
			}
		}
		verdicts := map[string]report.Verdict{}
		for _, c := range r.Cases {
			verdicts[c.ID] = c.Verdict
			if c.ID == "mcp-tools.call@send" && (len(c.Needs) != 1 || c.Needs[0] != "--allow compute") {
				t.Errorf("%s needs %v", c.ID, c.Needs)
			}
		}
		for id, want := range map[string]report.Verdict{"mcp-tools.call@say": report.Pass, "mcp-tools.arguments@say": report.Pass,
			"mcp-tools.call@send": report.NotExercised, "mcp-tools.arguments@send": report.NotExercised} {
			if verdicts[id] != want {
				t.Errorf("%s is %q, want %s", id, verdicts[id], want)
			}
		}
		if p.reads.Load() == 0 || p.acts.Load() != 0 {
			t.Errorf("%d calls that read and %d others", p.reads.Load(), p.acts.Load())
		}
		p.judge(t, func(o *conformance.Options) { o.Compute = true })
		if p.acts.Load() == 0 {
			t.Error("what is allowed is not called")
		}
	}
}

// TestNoEndpoint: what is no MCP endpoint cannot be judged, and the error says what came instead.
func TestNoEndpoint(t *testing.T) {
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	result := func(v any) string {
		b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "result": v})
		return string(b)
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		says    string
	}{
		"another API":          {answer(404, `{"no": "such path"}`), "404"},
		"an error":             {answer(200, `{"jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": "no"}}`), "-32600"},
		"a later revision":     {answer(200, result(map[string]any{"protocolVersion": "2031-01-01"})), "2031-01-01"},
		"no tools":             {answer(200, result(map[string]any{"protocolVersion": mcp.Revision, "tools": []any{}})), "no tools"},
		"a list without end":   {answer(200, result(map[string]any{"protocolVersion": mcp.Revision, "tools": []any{map[string]any{"name": 7}}, "nextCursor": "again"})), "no tools"},
		"an unreadable result": {answer(200, result([]any{1})), "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(c.handler)
			defer srv.Close()
			_, _, err := conformance.Discover(t.Context(), &target.Profile{BaseURL: srv.URL, MCPURL: srv.URL, Anonymous: true})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want something about %q", err, c.says)
			}
		})
	}
}
