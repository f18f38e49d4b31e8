package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"assay.kit/mockserver/control"
	"assay.kit/reference/core"
)

// recorder remembers the last call, and fails it with err.
type recorder struct {
	last string
	err  error
}

func (r *recorder) did(format string, args ...any) error {
	r.last = fmt.Sprintf(format, args...)
	return r.err
}

func (r *recorder) SetRetired(_ context.Context, role string, retired bool) error {
	return r.did("retired %s %v", role, retired)
}
func (r *recorder) SetGrant(_ context.Context, grant string, held bool) error {
	return r.did("grant %s %v", grant, held)
}
func (r *recorder) SetHidden(_ context.Context, role, kind, id string, hidden bool) error {
	return r.did("hidden %s %s %s %v", role, kind, id, hidden)
}
func (r *recorder) SetUnavailable(role string, d time.Duration) error {
	return r.did("unavailable %s %s", role, d)
}
func (r *recorder) HoldNext(_ context.Context, role string, n int) error {
	return r.did("hold %s %d", role, n)
}
func (r *recorder) FailNext(_ context.Context, role, code string, n int) error {
	return r.did("fail %s %s %d", role, code, n)
}
func (r *recorder) Release(_ context.Context, job string) error { return r.did("release %s", job) }
func (r *recorder) AddItem(_ context.Context, role, kind string, body map[string]any) (string, error) {
	return "new_1", r.did("add %s %s %v", role, kind, body)
}
func (r *recorder) Now() time.Time { return time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC) }
func (r *recorder) Advance(_ context.Context, d time.Duration) error {
	return r.did("advance %s", d)
}
func (r *recorder) Freeze(context.Context) error  { return r.did("freeze") }
func (r *recorder) Resume(context.Context) error  { return r.did("resume") }
func (r *recorder) Restart(context.Context) error { return r.did("restart") }

func send(r *recorder, method, name, body string, header ...string) (int, map[string]any) {
	req := httptest.NewRequest(method, control.Prefix+name, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	control.New(r, r, r).ServeHTTP(w, req)
	var got map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &got) // the mux's own refusals are no JSON
	return w.Code, got
}

func TestCommands(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"advance", `{"seconds": 1.5}`, "advance 1.5s"},
		{"advance", `{"seconds": "60"}`, "advance 1m0s"},
		{"freeze", ``, "freeze"},
		{"resume", `{}`, "resume"},
		{"restart", ``, "restart"},
		{"revoke_grant", `{"grant":"g"}`, "grant g false"},
		{"restore_grant", `{}`, "grant  true"},
		{"retire_token", ``, "retired rotated_old true"},
		{"restore_token", `{"role":"primary"}`, "retired primary false"},
		{"hold_job", `{"role":"limited","count":2}`, "hold limited 2"},
		{"hold_job", ``, "hold  1"},
		{"release_job", `{"job":"j"}`, "release j"},
		{"fail_job", `{"code":"C"}`, "fail  C 1"},
		{"hide_item", `{"id":"i"}`, "hidden primary  i true"},
		{"show_item", `{"role":"x","kind":"k","id":"i"}`, "hidden x k i false"},
		{"unavailable", `{"seconds":3}`, "unavailable  3s"},
		{"add_item", `{"kind":"k","body":{"a":1}}`, "add primary k map[a:1]"},
	} {
		r := &recorder{}
		status, got := send(r, "POST", c.name, c.body)
		if status != 200 || r.last != c.want || got["now"] != "2026-10-01T00:00:00Z" {
			t.Errorf("%s %s: %d %v, did %q, want %q", c.name, c.body, status, got, r.last, c.want)
		}
	}
	if _, got := send(&recorder{}, "POST", "add_item", `{"kind":"k"}`); got["id"] != "new_1" {
		t.Errorf("add_item answered %v", got)
	}
	if status, got := send(&recorder{}, "GET", "ready", ""); status != 200 || got["now"] == nil {
		t.Errorf("ready: %d %v", status, got)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name, method, command, body string
		header                      []string
		err                         error
		want                        int
	}{
		{"unknown member", "POST", "advance", `{"secs":1}`, nil, nil, 400},
		{"no number", "POST", "advance", `{"seconds":"soon"}`, nil, nil, 400},
		{"not a number", "POST", "advance", `{"seconds":"NaN"}`, nil, nil, 400},
		{"no JSON", "POST", "freeze", `{`, nil, nil, 400},
		{"too long", "POST", "freeze", `{"id":"` + strings.Repeat("x", 1<<20) + `"}`, nil, nil, 400},
		{"refused by the system", "POST", "freeze", ``, nil, errors.New("no"), 400},
		{"unknown name", "POST", "retire_token", ``, nil, core.ErrUnknown, 404},
		{"unknown command", "POST", "explode", ``, nil, nil, 404},
		{"wrong method", "GET", "freeze", ``, nil, nil, 405},
		{"from a browser", "POST", "freeze", ``, []string{"Origin", "https://example.org"}, nil, 403},
	} {
		r := &recorder{err: c.err}
		if status, got := send(r, c.method, c.command, c.body, c.header...); status != c.want {
			t.Errorf("%s: %d %v, want %d", c.name, status, got, c.want)
		}
		if c.err == nil && r.last != "" {
			t.Errorf("%s: it did %q", c.name, r.last)
		}
	}
}
