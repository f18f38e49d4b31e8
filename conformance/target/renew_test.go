package target

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assay.kit/conformance/wire"
)

func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }

// issuer is a command that prints another token each time it runs, and a server that takes the
// tokens that were put on its list.
type issuer struct {
	command []string
	runs    string // file with a line for each run
	mu      sync.Mutex
	good    string // the one token that the server takes
	seen    []string
	url     string
}

func newIssuer(t *testing.T, same bool) *issuer {
	t.Helper()
	i := &issuer{runs: filepath.Join(t.TempDir(), "runs"), good: "token-number-1"}
	print := `echo "token-number-$(wc -l < "$0" | tr -d ' ')"`
	if same {
		print = "echo token-number-1"
	}
	i.command = []string{"sh", "-c", `echo x >> "$0"; ` + print, i.runs}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, rq *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		token := strings.TrimPrefix(rq.Header.Get("Authorization"), "Bearer ")
		i.seen = append(i.seen, token)
		if token != i.good {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(s.Close)
	i.url = s.URL
	return i
}

func (i *issuer) caller(t *testing.T, role string, refresh time.Duration) *REST {
	return caller(t, &Profile{BaseURL: i.url, Credentials: map[string]Credential{role: {Command: i.command, Refresh: refresh}}}, Options{})
}

func (i *issuer) accept(token string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.good = token
}

func (i *issuer) sent() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.seen)
}

func (i *issuer) count() int {
	b, _ := os.ReadFile(i.runs)
	return strings.Count(string(b), "\n")
}

func statusOf(r *REST, role string) int {
	return r.Do(context.Background(), role, wire.Request{Method: "GET", Target: "/"}, Call{}).Head.Status
}

// A token that was taken before and is refused now has expired: the command runs once more and the
// request is sent once more. A token that never was any good stays refused.
func TestExpiredTokenIsRenewedOnce(t *testing.T) {
	i := newIssuer(t, false)
	r := i.caller(t, "primary", 0)
	if got := statusOf(r, "primary"); got != 200 || i.count() != 1 {
		t.Fatalf("%d after %d runs", got, i.count())
	}
	i.accept("token-number-2")
	if got := statusOf(r, "primary"); got != 200 || i.count() != 2 || i.sent() != 3 {
		t.Errorf("%d after %d runs, %d requests", got, i.count(), i.sent())
	}
	i.accept("none")
	if got := statusOf(r, "primary"); got != 401 || i.count() != 3 || i.sent() != 5 {
		t.Errorf("%d after %d runs, %d requests", got, i.count(), i.sent())
	}
	if r.Renewed() != 2 {
		t.Errorf("%d renewals", r.Renewed())
	}
	for range 3 { // the new one was never taken: it has not expired
		if got := statusOf(r, "primary"); got != 401 || i.count() != 3 {
			t.Errorf("%d after %d runs", got, i.count())
		}
	}
}

func TestRenewalOfManyLanesRunsOnce(t *testing.T) {
	i := newIssuer(t, false)
	r := i.caller(t, "primary", 0)
	statusOf(r, "primary")
	i.accept("token-number-2")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if got := statusOf(r, "primary"); got != 200 {
				t.Errorf("%d", got)
			}
		})
	}
	wait.Wait()
	if i.count() != 2 {
		t.Errorf("the command ran %d times, want 2", i.count())
	}
}

func TestNoRenewalWhereRefusalIsMeant(t *testing.T) {
	for _, tc := range []struct {
		name, role string
		same       bool
		hook       Capability
		runs       int
	}{
		{"the command knows no other", "primary", true, "", 2},
		{"a token to be retired", RotatedOld, false, "", 1},
		{"a revoked one", "revoked", false, "", 1},
		{"an expired one", "expired", false, "", 1},
		{"a hook has revoked it", "primary", false, RevokeGrant, 1},
	} {
		i := newIssuer(t, tc.same)
		r := i.caller(t, tc.role, 0)
		statusOf(r, tc.role)
		r.tokens.hooked(tc.hook)
		i.accept("token-number-2")
		for range 3 {
			if got := statusOf(r, tc.role); got != 401 {
				t.Errorf("%s: %d", tc.name, got)
			}
		}
		if i.count() != tc.runs || i.sent() != 4 {
			t.Errorf("%s: the command ran %d times, %d requests", tc.name, i.count(), i.sent())
		}
		if tc.hook == "" {
			continue
		}
		r.tokens.hooked(RestoreGrant)
		if got := statusOf(r, tc.role); got != 200 {
			t.Errorf("%s: %d once that was taken back", tc.name, got)
		}
	}
}

func TestRefreshByTime(t *testing.T) {
	i := newIssuer(t, false)
	r := i.caller(t, "primary", 5*time.Minute)
	now := time.Unix(1_000_000, 0)
	r.tokens.now = func() time.Time { return now }
	for minute, want := range []int{1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3} {
		now = time.Unix(1_000_000+int64(minute)*60, 0)
		tok, err := r.Token(t.Context(), "primary")
		if err != nil || tok.Reveal() != "token-number-"+strconv.Itoa(want) {
			t.Errorf("minute %d: run %d, %v", minute, i.count(), err)
		}
		if s := fmt.Sprintf("%v %+v", tok, tok); strings.Contains(s, "number") {
			t.Errorf("a token prints as %s", s)
		}
	}
}
