package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"assay.kit/reference"
	"assay.kit/reference/builtin"
	"assay.kit/reference/core"
	"assay.kit/reference/mcp"
	"assay.kit/reference/store/memory"
	"assay.kit/spec"
	"assay.kit/spec/contracts"
)

const (
	both  = "application/json, text/event-stream"
	apple = "equity:listing:apple-common-xnas"
)

// world is a reference that serves a contract to the test.
type world struct {
	t     testing.TB
	ref   *reference.Server
	url   string
	clock *core.OffsetClock
	stop  func() // ends Run, and waits
	http  *http.Client
}

var loadOnce = sync.OnceValue(func() map[string]*spec.Contract {
	out := map[string]*spec.Contract{}
	for _, name := range contracts.Names() {
		fsys, err := contracts.Named(name)
		if err != nil {
			continue
		}
		if c, err := spec.Load(fsys, name); err == nil {
			out[name] = c
		}
	}
	return out
})

func serve(t testing.TB, contract string, o reference.MCP) *world {
	t.Helper()
	c := loadOnce()[contract]
	if c == nil {
		t.Fatalf("contract %s does not load", contract)
	}
	w := &world{t: t}
	var handler http.Handler
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { handler.ServeHTTP(rw, r) }))
	t.Cleanup(srv.Close)
	w.url, w.http = srv.URL, srv.Client()
	w.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	system, err := builtin.For(c, builtin.Options{BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	o.BaseURL = srv.URL
	st := memory.New()
	w.ref, err = reference.New(t.Context(), reference.Options{Contract: c, Store: st, Behaviours: system.Behaviours,
		Seed: 1, Holdings: system.Holdings, Init: system.Seed, MCP: o})
	if err != nil {
		t.Fatal(err)
	}
	handler = w.ref.Handler()
	_, clock := w.ref.Control()
	w.clock, _ = clock.(*core.OffsetClock)
	run, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = w.ref.Run(run) }()
	w.stop = sync.OnceFunc(func() { cancel(); <-ended })
	t.Cleanup(func() { w.stop(); _ = st.Close() })
	return w
}

// message is one JSON-RPC message that the server sent.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  map[string]any  `json:"params"`
	Result  map[string]any  `json:"result"`
	Error   *mcp.Error      `json:"error"`
	event   string          // id of its event
}

func (m *message) tool() map[string]any {
	v, _ := m.Result["structuredContent"].(map[string]any)
	return v
}

func (m *message) isError() bool { v, _ := m.Result["isError"].(bool); return v }

// refusal is the code of a tool's error, "" if it is none.
func (m *message) refusal() string {
	e, _ := m.tool()["error"].(map[string]any)
	code, _ := e["code"].(string)
	return code
}

// reply is one HTTP answer.
type reply struct {
	status   int
	header   http.Header
	body     string
	messages []message
}

func (r reply) last(t testing.TB) *message {
	t.Helper()
	if len(r.messages) == 0 {
		t.Fatalf("the answer %d %q has no message", r.status, r.body)
	}
	return &r.messages[len(r.messages)-1]
}

// caller is one client with a token and, after initialize, a session.
type caller struct {
	w       *world
	token   string
	session string
	header  http.Header // of every request
	n       int
}

func (w *world) caller(credential string) *caller {
	return &caller{w: w, token: w.ref.Token(credential), header: http.Header{}}
}

// begun is a caller with a session.
func (w *world) begun(credential string) *caller {
	w.t.Helper()
	c := w.caller(credential)
	c.initialize()
	return c
}

const initializeParams = `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`

func (c *caller) initialize() *message {
	c.w.t.Helper()
	r := c.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":` + initializeParams + `}`)
	c.session = r.header.Get("Mcp-Session-Id")
	c.header.Set("MCP-Protocol-Version", "2025-06-18")
	if r.status != 200 || c.session == "" {
		c.w.t.Fatalf("initialize: %d %s", r.status, r.body)
	}
	if n := c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); n.status != 202 || n.body != "" {
		c.w.t.Fatalf("initialized: %d %q", n.status, n.body)
	}
	return r.last(c.w.t)
}

// request builds an HTTP request of the caller; change may be nil.
func (c *caller) request(ctx context.Context, method, body string, change func(*http.Request)) *http.Request {
	c.w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, c.w.url+mcp.Path, strings.NewReader(body))
	if err != nil {
		c.w.t.Fatal(err)
	}
	r.Header.Set("Accept", both)
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	for name, values := range c.header {
		r.Header[name] = values
	}
	if change != nil {
		change(r)
	}
	return r
}

func (c *caller) do(method, body string, change func(*http.Request)) reply {
	c.w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	resp, err := c.w.http.Do(c.request(ctx, method, body, change))
	if err != nil {
		c.w.t.Fatal(err)
	}
	defer resp.Body.Close()
	return read(c.w.t, resp)
}

func (c *caller) post(body string) reply { c.w.t.Helper(); return c.do(http.MethodPost, body, nil) }

// ask sends a request with a fresh id and returns its response.
func (c *caller) ask(method, params string) *message {
	c.w.t.Helper()
	c.n++
	id, _ := json.Marshal(c.n)
	r := c.post(`{"jsonrpc":"2.0","id":` + string(id) + `,"method":"` + method + `","params":` + params + `}`)
	m := r.last(c.w.t)
	if r.status != 200 || string(m.ID) != string(id) {
		c.w.t.Fatalf("%s: %d, id %s of %s: %s", method, r.status, m.ID, id, r.body)
	}
	return m
}

// call calls a tool.
func (c *caller) call(tool, arguments string) *message {
	c.w.t.Helper()
	return c.ask("tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)
}

func read(t testing.TB, resp *http.Response) reply {
	t.Helper()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	r := reply{status: resp.StatusCode, header: resp.Header, body: string(raw)}
	switch {
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		r.messages = events(t, bytes.NewReader(raw), -1)
	case len(raw) > 0:
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatalf("%d with %q: %v", r.status, raw, err)
		}
		r.messages = []message{m}
	}
	return r
}

// events reads up to n events of a stream, all if n is negative.
func events(t testing.TB, from io.Reader, n int) []message {
	t.Helper()
	var out []message
	in := bufio.NewScanner(from)
	in.Buffer(nil, 1<<20)
	id := ""
	for n < 0 || len(out) < n {
		if !in.Scan() {
			break
		}
		line := in.Text()
		switch {
		case strings.HasPrefix(line, "id: "):
			id = line[4:]
		case strings.HasPrefix(line, "data: "):
			var m message
			if err := json.Unmarshal([]byte(line[6:]), &m); err != nil {
				t.Fatalf("event %q: %v", line, err)
			}
			m.event = id
			out = append(out, m)
		}
	}
	return out
}
