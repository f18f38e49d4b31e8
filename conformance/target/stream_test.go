package target

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"assay.kit/conformance/wire"
)

// TestStream reads event streams that end in every way that one can.
func TestStream(t *testing.T) {
	hold := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp/{how}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		fmt.Fprint(w, ": hello\r\n\r\ndata: one\n\n")
		_ = http.NewResponseController(w).Flush()
		switch r.PathValue("how") {
		case "ends":
			fmt.Fprint(w, "data: two\r\rid: 3\ndata: three\n\n")
		case "stays":
			fmt.Fprint(w, "data: two\n\n")
			_ = http.NewResponseController(w).Flush()
			<-hold
		case "breaks":
			panic(http.ErrAbortHandler)
		case "floods":
			for range 1000 {
				fmt.Fprintf(w, "data: %s\n\n", strings.Repeat("x", 100))
			}
		}
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	defer close(hold)
	for _, tc := range []struct {
		how    string
		until  string
		events int
		end    wire.End
		listen time.Duration
	}{
		{"ends", "two", 4, wire.EndComplete, 0},
		{"ends", "two", 4, wire.EndComplete, time.Second},
		{"stays", "two", 3, wire.EndOpen, 0},
		{"stays", "never", 3, wire.EndTimeout, 0},
		{"stays", "never", 3, wire.EndOpen, 50 * time.Millisecond},
		{"breaks", "two", 2, wire.EndTruncated, 0},
		{"floods", "never", 0, wire.EndOversize, 0},
	} {
		t.Run(fmt.Sprintf("%s-%s-%s", tc.how, tc.until, tc.listen), func(t *testing.T) {
			p := &Profile{BaseURL: s.URL, MCPURL: s.URL + "/mcp", Credentials: map[string]Credential{"primary": {Bearer: NewSecret("token-of-test")}}}
			r, err := New(p, Options{MaxBody: 64 << 10})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			ex := r.Do(context.Background(), "primary", wire.Request{Face: wire.FaceMCP, Method: "GET", Target: "/" + tc.how}, Call{
				Timeout: time.Second, Grace: 50 * time.Millisecond, Listen: tc.listen,
				Until: func(e wire.Event) bool { return strings.Contains(string(e.Data), "data: "+tc.until) }})
			if ex.End != tc.end || tc.events > 0 && len(ex.Events) != tc.events {
				t.Errorf("end %s (%s), %d events", ex.End, ex.Err, len(ex.Events))
			}
		})
	}
}

// TestMCPElsewhere: a target may not lead the credentials to another host.
func TestMCPElsewhere(t *testing.T) {
	r, err := New(&Profile{BaseURL: "http://a.example"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.UseMCPFromTarget("http://b.example/mcp"); err == nil || r.HasMCP() {
		t.Errorf("another host was taken: %v", err)
	}
	ex := r.Do(context.Background(), "", wire.Request{Face: wire.FaceMCP, Method: "POST"}, Call{})
	if ex.End != wire.EndRefused || !strings.Contains(ex.Err, "mcp_url") {
		t.Errorf("%s: %s", ex.End, ex.Err)
	}
	if err := r.UseMCPFromTarget("http://a.example:81/mcp"); err != nil || r.MCPEndpoint() != "http://a.example:81/mcp" {
		t.Errorf("%v, %s", err, r.MCPEndpoint())
	}
}
