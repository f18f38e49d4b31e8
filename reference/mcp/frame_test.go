package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"assay.kit/reference/core"
)

// FuzzFrame: whatever arrives is either one message of the revision or a fault with a code of JSON-RPC.
func FuzzFrame(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`,
		`{"jsonrpc":"2.0","id":"a","result":{}}`, `{"jsonrpc":"2.0","id":1.0,"error":{"code":1,"message":""}}`,
		`[]`, `{"a":1,"a":2}`, `{"jsonrpc":"2.0","id":1e3,"method":"x"}`, `{"jsonrpc":"2.0","id":-0,"method":"\u0000"}`, "\ufeff{}", strings.Repeat("[", 200),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, fault := readFrame(body)
		if fault != nil {
			if fault.code != codeParse && fault.code != codeRequest || fault.status != 400 || fault.message == "" {
				t.Errorf("fault %+v", fault)
			}
			if fault.code == codeParse && json.Valid(body) && bytes.Equal(body, bytes.ToValidUTF8(body, nil)) {
				t.Error("JSON does not parse")
			}
			return
		}
		if !json.Valid(body) || m.id == nil && m.method == "" {
			t.Errorf("%q was read as %+v", body, m)
		}
		if m.id != nil {
			out := Response{ID: m.id, Result: struct{}{}}.encode()
			if !json.Valid(out) || bytes.ContainsAny(out, "\r\n") {
				t.Errorf("answered with %q", out)
			}
		}
	})
}

// FuzzAccepts: no header value takes more than it says; a form that is named is taken.
func FuzzAccepts(f *testing.F) {
	for _, s := range []string{"", "*/*", "application/json;q=0.5, text/event-stream", ";;,,", "a/b;q=x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		j, e := Accepts([]string{s})
		if lower := strings.ToLower(s); j && !strings.Contains(lower, "json") && !strings.Contains(lower, "*") || e && !strings.Contains(lower, "event-stream") && !strings.Contains(lower, "*") {
			t.Errorf("%q allows %t %t", s, j, e)
		}
	})
}

func TestIDKey(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`1`, `1`, true}, {`1`, `"1"`, false}, {`1`, `1.0`, true}, {`0`, `-0`, true}, {`10`, `1`, false}, {`-1`, `1`, false},
		{`"a"`, `"\u0061"`, true}, {`"a"`, `"A"`, false}, {`"1"`, `"\"1\""`, false},
	} {
		a, okA := idKey([]byte(c.a))
		b, okB := idKey([]byte(c.b))
		if !okA || !okB || (a == b) != c.same {
			t.Errorf("%s and %s: %q %q", c.a, c.b, a, b)
		}
	}
	for _, bad := range []string{``, `null`, `true`, `1.5`, `1e2`, `{}`, `[]`, `-`, `"` + strings.Repeat("x", maxID) + `"`} {
		if key, ok := idKey([]byte(bad)); ok {
			t.Errorf("%s is an id: %q", bad, key)
		}
	}
}

// TestJournal: what is kept for readers that were cut off stays within its bounds.
func TestJournal(t *testing.T) {
	var j journal
	big := bytes.Repeat([]byte("x"), journalBytes/4)
	gone := 0
	for i := range 6 {
		s := newStream(nil, i)
		s.finish(big)
		gone += len(j.keep(s))
	}
	if gone != 2 || len(j.streams) != 4 || j.bytes != 4*len(big) {
		t.Errorf("%d gone, %d kept, %d bytes", gone, len(j.streams), j.bytes)
	}
	for i := range journalStreams + 10 {
		s := newStream(nil, i)
		s.finish(nil)
		j.keep(s)
	}
	if len(j.streams) != journalStreams {
		t.Errorf("%d kept", len(j.streams))
	}
}

// still is a clock that a test sets.
type still struct{ now time.Time }

func (c *still) Now() time.Time { return c.now }

func (c *still) Wait(ctx context.Context, _ time.Time) error { <-ctx.Done(); return ctx.Err() }

// TestSessionsAreBounded: a client that never ends a session costs no more than its share, and takes
// nothing from others.
func TestSessionsAreBounded(t *testing.T) {
	clock := &still{time.Unix(1000, 0)}
	h := &Handler{Config: Config{Clock: clock, Options: Options{SessionTTL: time.Hour, Rules: Correct()}}, sessions: map[string]*session{}, sweep: minSweep}
	greedy, modest := core.Principal{Client: "greedy", Workspace: "w"}, core.Principal{Client: "modest", Workspace: "w"}
	other := h.open(modest)
	first := h.open(greedy)
	var last *session
	for range maxSessions + 200 {
		clock.now = clock.now.Add(time.Millisecond)
		last = h.open(greedy)
	}
	if n := len(h.sessions); n > maxSessions+2 {
		t.Errorf("%d sessions of one client", n)
	}
	if h.find(other.id, modest) == nil || h.find(last.id, greedy) == nil || h.find(first.id, greedy) != nil {
		t.Error("another session ended than the one that was silent longest")
	}
	select {
	case <-first.ended:
	default:
		t.Error("a session that was given up does not end")
	}
	clock.now = clock.now.Add(2 * time.Hour)
	h.sweep = 0
	h.open(modest)
	if n := len(h.sessions); n != 1 {
		t.Errorf("%d sessions after all have expired", n)
	}
}

// TestOneReader: a second reader of a stream makes the first one stop.
func TestOneReader(t *testing.T) {
	s := newStream(nil, 1)
	first := s.take()
	waiting := s.since(first, 0).changed
	second := s.take()
	<-waiting
	s.finish([]byte("x"))
	s.add([]byte("late"))
	if a, b := s.since(first, 0), s.since(second, 0); !a.taken || b.taken || len(b.events) != 1 || !b.done {
		t.Errorf("%+v %+v", a, b)
	}
}

func TestCorrectRulesAreWhole(t *testing.T) {
	r := Correct()
	if r.Expired(time.Unix(0, 0), time.Unix(59, 0), time.Minute) || !r.Expired(time.Unix(0, 0), time.Unix(60, 0), time.Minute) {
		t.Error("a session's life is off by one")
	}
	if got := r.Negotiate("x", []string{"a", "b"}); got != "b" {
		t.Errorf("negotiated %s", got)
	}
}
