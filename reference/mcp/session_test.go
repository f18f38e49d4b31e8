package mcp_test

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"assay.kit/reference"
	"assay.kit/reference/core"
	"assay.kit/reference/mcp"
)

func (c *caller) alive() bool { c.w.t.Helper(); return c.post(ping).status == 200 }

func TestDelete(t *testing.T) {
	w := serve(t, "seer", inForm(mcp.JSON))
	me, other := w.begun("primary"), w.begun("primary")
	if r := me.do("DELETE", "", nil); r.status/100 != 2 {
		t.Fatalf("DELETE: %d %s", r.status, r.body)
	}
	for _, method := range []string{"POST", "GET", "DELETE"} {
		if r := me.do(method, ping, nil); r.status != 404 {
			t.Errorf("%s after DELETE: %d %s", method, r.status, r.body)
		}
	}
	if !other.alive() {
		t.Error("another session ended too")
	}
}

// TestOwner: a session is its client's; for anybody else it does not exist. Another token of the same
// client goes on with it.
func TestOwner(t *testing.T) {
	w := serve(t, "seer", inForm(mcp.JSON))
	me := w.begun("primary")
	for _, who := range []string{"second_client", "second_workspace", "limited"} {
		thief := w.caller(who)
		thief.session = me.session
		for _, method := range []string{"POST", "GET", "DELETE"} {
			if r := thief.do(method, ping, nil); r.status != 404 {
				t.Errorf("%s by %s: %d %s", method, who, r.status, r.body)
			}
		}
	}
	for _, who := range []string{"rest_only", "revoked", "expired"} {
		if r := w.caller(who).post(ping); r.status != 401 || !strings.Contains(r.header.Get("WWW-Authenticate"), `error="invalid_token"`) {
			t.Errorf("%s: %d %s", who, r.status, r.header)
		}
	}
	if !me.alive() {
		t.Error("the session is gone")
	}
	old := w.begun("rotated_old")
	old.token = w.ref.Token("rotated_new")
	if !old.alive() {
		t.Error("the new token of a client does not go on with its session")
	}
	w.begun("mcp_only")
}

func TestExpiry(t *testing.T) {
	w := serve(t, "seer", reference.MCP{Options: mcp.Options{Form: mcp.JSON, SessionTTL: time.Minute}})
	idle, used := w.begun("primary"), w.begun("primary")
	body := open(t, idle, "")
	for range 3 {
		if err := w.clock.Advance(t.Context(), 40*time.Second); err != nil {
			t.Fatal(err)
		}
		if !used.alive() {
			t.Fatal("a session that is used expired")
		}
	}
	if n := len(events(t, body, 1)); n != 0 { // it ends by itself
		t.Errorf("%d events on an expired session", n)
	}
	if r := idle.post(ping); r.status != 404 {
		t.Errorf("a silent session: %d %s", r.status, r.body)
	}
}

// open opens a GET stream and returns its body; the test ends it.
func open(t *testing.T, c *caller, last string) *body {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	resp, err := c.w.http.Do(c.request(ctx, "GET", "", func(r *http.Request) {
		if last != "" {
			r.Header.Set("Last-Event-ID", last)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("GET: %d %s", resp.StatusCode, resp.Header)
	}
	return &body{resp}
}

type body struct{ *http.Response }

func (b *body) Read(p []byte) (int, error) { return b.Body.Read(p) }

// TestStreamsEnd: an open stream ends, in order, with its session and with the server.
func TestStreamsEnd(t *testing.T) {
	for name, end := range map[string]func(*world, *caller){
		"DELETE":   func(_ *world, c *caller) { c.do("DELETE", "", nil) },
		"shutdown": func(w *world, _ *caller) { w.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			w := serve(t, "seer", inForm(mcp.SSE))
			me := w.begun("primary")
			streams := []*body{open(t, me, ""), open(t, me, "")}
			if !me.alive() {
				t.Fatal("no ping beside open streams")
			}
			end(w, me)
			for _, s := range streams {
				if n := len(events(t, s, -1)); n != 0 {
					t.Errorf("%d events on a stream that listens", n)
				}
			}
		})
	}
}

// TestNoGoroutineStays: after the server's end nothing of it runs on.
func TestNoGoroutineStays(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("server", func(t *testing.T) {
		w := serve(t, "seer", inForm(mcp.SSE))
		for range 5 {
			me := w.begun("primary")
			open(t, me, "")
			me.call("seer_market_bars", `{"instrumentId":"`+apple+`"}`)
		}
		w.stop()
	})
	for range 200 { // connections close on their own time
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
		time.Sleep(5 * time.Millisecond)
	}
	buf := make([]byte, 64<<10)
	t.Errorf("%d goroutines, before %d\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
}

func TestStreamsAreBounded(t *testing.T) {
	me := serve(t, "seer", inForm(mcp.SSE)).begun("primary")
	first := open(t, me, "")
	for range 8 {
		open(t, me, "")
	}
	if n := len(events(t, first, -1)); n != 0 { // it ended for the ninth
		t.Errorf("%d events", n)
	}
}

// TestResume: after an event its stream goes on, and no other; what is unknown has nothing left.
func TestResume(t *testing.T) {
	w := serve(t, "seer", inForm(mcp.SSE))
	me, other := w.begun("primary"), w.begun("primary")
	call := func(id string) []message {
		r := me.post(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"seer_market_bars","_meta":{"progressToken":"t` + id + `"},"arguments":{"instrumentId":"` + apple + `"}}}`)
		return r.messages
	}
	a, b := call("1"), call("2")
	if len(a) != 3 || len(b) != 3 {
		t.Fatalf("%d and %d messages, want progress twice and the response", len(a), len(b))
	}
	seen := map[string]bool{}
	for _, m := range append(a, b...) {
		if m.event == "" || seen[m.event] {
			t.Errorf("event id %q is missing or there twice", m.event)
		}
		seen[m.event] = true
	}
	for from := range a {
		got := events(t, open(t, me, a[from].event), -1)
		if len(got) != len(a)-from-1 {
			t.Fatalf("after event %d: %d events", from, len(got))
		}
		for i, m := range got {
			if want := a[from+1+i]; m.event != want.event || string(m.ID) != string(want.ID) {
				t.Errorf("after event %d came %+v, want %+v", from, m, want)
			}
		}
	}
	for _, id := range []string{"99-0", "x", "1-99", "-1"} {
		if got := events(t, open(t, me, id), -1); len(got) != 0 {
			t.Errorf("after %q: %d events", id, len(got))
		}
	}
	for _, m := range a {
		for _, got := range events(t, open(t, other, m.event), -1) {
			if string(got.ID) == "1" {
				t.Error("a stream of another session was replayed")
			}
		}
	}
}

// slow is a Domain whose calls of one operation wait.
type slow struct {
	core.Domain
	operation string
	entered   chan context.Context
	leave     chan struct{}
	broken    bool
}

func (s *slow) Do(ctx context.Context, r core.Request) (core.Answer, *core.Problem) {
	if r.Op.ID != s.operation {
		return s.Domain.Do(ctx, r)
	}
	s.entered <- ctx
	select {
	case <-s.leave:
	case <-ctx.Done():
	}
	if s.broken {
		panic("broken on purpose")
	}
	return s.Domain.Do(ctx, r)
}

func slowWorld(t *testing.T, f mcp.Form) (*world, *slow) {
	s := &slow{operation: "getJob", entered: make(chan context.Context, 8), leave: make(chan struct{})}
	o := inForm(f)
	o.Domain = func(d core.Domain) core.Domain { s.Domain = d; return s }
	return serve(t, "seer", o), s
}

const slowCall = `{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"seer_jobs_get","_meta":{"progressToken":1},"arguments":{"job_id":"job_none"}}}`

// begin sends the slow call in the background.
func (c *caller) begin(ctx context.Context) <-chan *http.Response {
	out := make(chan *http.Response, 1)
	r := c.request(ctx, "POST", slowCall, nil)
	go func() {
		resp, err := c.w.http.Do(r)
		if err != nil {
			resp = nil
		}
		out <- resp
	}()
	return out
}

// TestCancel: a cancelled call is stopped, gets no response, and its id may be used again.
func TestCancel(t *testing.T) {
	for _, f := range []mcp.Form{mcp.JSON, mcp.SSE} {
		w, s := slowWorld(t, f)
		me := w.begun("primary")
		answer := me.begin(t.Context())
		ctx := <-s.entered
		if r := me.post(slowCall); r.status != 400 || r.last(t).Error == nil {
			t.Errorf("%s: the same id while in flight: %d %s", f, r.status, r.body)
		}
		if other := w.begun("primary"); other.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow"}}`).status != 202 || ctx.Err() != nil {
			t.Errorf("%s: another session cancels", f)
		}
		if r := me.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow","reason":"test"}}`); r.status != 202 || r.body != "" {
			t.Errorf("%s: cancelled: %d %q", f, r.status, r.body)
		}
		resp := <-answer
		for _, m := range read(t, resp).messages {
			if m.Result != nil || m.Error != nil {
				t.Errorf("%s: a cancelled call was answered: %+v", f, m)
			}
		}
		_ = resp.Body.Close()
		<-ctx.Done()
		close(s.leave)
		if !me.alive() {
			t.Errorf("%s: the session is gone", f)
		}
	}
}

// TestDropped: a dropped connection cancels nothing; the stream can be read on elsewhere.
func TestDropped(t *testing.T) {
	w, s := slowWorld(t, mcp.SSE)
	me := w.begun("primary")
	ctx, drop := context.WithCancel(t.Context())
	resp := <-me.begin(ctx)
	first := events(t, resp.Body, 1)
	call := <-s.entered
	drop()
	_ = resp.Body.Close()
	rest := open(t, me, first[0].event)
	if call.Err() != nil {
		t.Fatal("the call was cancelled with its connection")
	}
	close(s.leave)
	got := events(t, rest, -1)
	if len(got) != 2 || string(got[1].ID) != `"slow"` || got[1].refusal() != "NOT_FOUND" {
		t.Errorf("resumed with %+v", got)
	}
}

// TestDeleteInFlight: DELETE comes to its end though a call hangs, and ends the call.
func TestDeleteInFlight(t *testing.T) {
	for _, f := range []mcp.Form{mcp.JSON, mcp.SSE} {
		w, s := slowWorld(t, f)
		me := w.begun("primary")
		answer := me.begin(t.Context())
		call := <-s.entered
		if r := me.do("DELETE", "", nil); r.status != 204 {
			t.Fatalf("DELETE: %d", r.status)
		}
		resp := <-answer
		_ = read(t, resp)
		_ = resp.Body.Close()
		<-call.Done()
		w.stop()
	}
}

// TestPanic: a defect below one call is that call's alone.
func TestPanic(t *testing.T) {
	w, s := slowWorld(t, mcp.SSE)
	s.broken = true
	close(s.leave)
	me := w.begun("primary")
	if m := me.call("seer_jobs_get", `{"job_id":"x"}`); m.Error == nil || m.Error.Code != -32603 || strings.Contains(m.Error.Message, "purpose") {
		t.Errorf("answered %+v", m)
	}
	if !me.alive() {
		t.Error("the session is gone")
	}
}

// plain hides what a connection can do beyond writing, as a recorder around the server does.
type plain struct{ w http.ResponseWriter }

func (p plain) Header() http.Header         { return p.w.Header() }
func (p plain) WriteHeader(status int)      { p.w.WriteHeader(status) }
func (p plain) Write(b []byte) (int, error) { return p.w.Write(b) }

// TestWrapped: whatever is around the server, a stream has all its messages.
func TestWrapped(t *testing.T) {
	o := inForm(mcp.SSE)
	o.Wraps = []reference.Wrap{func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(plain{w}, r) })
	}}
	me := serve(t, "seer", o).begun("primary")
	r := me.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"seer_jobs_get","_meta":{"progressToken":1},"arguments":{"job_id":"x"}}}`)
	if len(r.messages) != 3 || r.last(t).refusal() != "NOT_FOUND" {
		t.Errorf("%s", r.body)
	}
}

// TestSessionsAreApart: the same ids in two sessions at once.
func TestSessionsAreApart(t *testing.T) {
	w := serve(t, "seer", inForm(mcp.Mixed))
	var all sync.WaitGroup
	for i := range 8 {
		instrument := []string{apple, "equity:listing:cisco-common-xnas"}[i%2]
		me := w.begun("primary")
		all.Go(func() {
			for range 20 {
				m := me.call("seer_market_bars", `{"instrumentId":"`+instrument+`","start":"2026-10-01","end":"2026-10-02"}`)
				if data, _ := m.tool()["data"].(map[string]any); data["instrumentId"] != instrument {
					t.Errorf("asked for %s, got %v", instrument, m.Result)
				}
			}
		})
	}
	all.Wait()
}
