package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/store/memory"
)

// A restart within the process breaks what is under way and keeps the port, the store and the
// credentials; what rules and wraps hold in variables begins anew.
func TestRestartWithinProcess(t *testing.T) {
	ct, err := loadContract("notes")
	if err != nil {
		t.Fatal(err)
	}
	rules, wraps := 0, 0
	arrived := make(chan struct{})
	hold := func(next http.Handler) http.Handler {
		wraps++
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/hold" {
				close(arrived)
				select {
				case <-r.Context().Done(): // the client is gone, or the server broke off
				case <-time.After(10 * time.Second):
				}
			}
			next.ServeHTTP(w, r)
		})
	}
	s, err := start(t.Context(), serving{contract: ct, store: memory.New(), credentials: 1, addr: loopback, control: loopback, restarts: true,
		replace: func(*core.Rules) { rules++ }, wrap: hold})
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	token := s.profile.Credentials["primary"].Bearer.Reveal()
	send := func(method, path, body string, header ...string) (int, string) {
		t.Helper()
		rq, err := http.NewRequestWithContext(t.Context(), method, s.baseURL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		rq.Header.Set("Authorization", "Bearer "+token)
		for i := 0; i+1 < len(header); i += 2 {
			rq.Header.Set(header[i], header[i+1])
		}
		rs, err := http.DefaultTransport.RoundTrip(rq)
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = rs.Body.Close() }()
		b, _ := io.ReadAll(rs.Body)
		return rs.StatusCode, string(b)
	}
	create := func() (int, string) {
		return send("POST", "/notebooks", `{"title": "t", "label": "l"}`, "Content-Type", "application/json", "Request-Key", "k")
	}
	status, first := create()
	if status != 200 {
		t.Fatalf("%d %s", status, first)
	}
	var broken sync.WaitGroup
	broken.Go(func() {
		if status, body := send("GET", "/hold", ""); status != 0 {
			t.Errorf("a request under way was answered %d %s", status, body)
		}
	})
	<-arrived
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	rq, err := http.NewRequestWithContext(ctx, "POST", s.profile.Hooks["restart"].HTTP.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := http.DefaultClient.Do(rq)
	if err != nil || rs.StatusCode != 200 {
		t.Fatalf("restart: %v %v", rs, err)
	}
	_ = rs.Body.Close()
	broken.Wait()
	if status, again := create(); status != 200 || again != first {
		t.Errorf("%d %s after the restart, want %s", status, again, first)
	}
	if rules != 2 || wraps != 2 {
		t.Errorf("rules were made %d times and wraps %d times, want 2", rules, wraps)
	}
}
