package mutant

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"assay.kit/reference"
	"assay.kit/reference/core"
	"assay.kit/reference/mcp"
)

// idSet is a set of ids for concurrent use.
type idSet struct{ m sync.Map }

func (s *idSet) add(v string) { s.m.Store(v, true) }

func (s *idSet) has(v string) bool {
	_, ok := s.m.Load(v)
	return ok
}

// lifetimes are servers that issue, bind or end sessions badly.
func lifetimes() []Mutant {
	return []Mutant{
		{
			ID: "mcp-session-not-given", Does: "Needs a session and does not give its id.", Contract: "seer",
			Breaks: []string{"mcp.session-issued"},
			May:    []May{{"mcp.ping-early", "there is no session to ping in"}, {"mcp.ping", "there is no session to ping in"}},
			MCP:    posting(func(a *posted) { a.header.Del(sessionField) }),
		},
		{
			ID: "mcp-session-missing-500", Does: "Fails at a request without a session.", Contract: "seer",
			Breaks: []string{"mcp.session-missing", "mcp.initialize-first"},
			MCP:    withoutSession(http.StatusInternalServerError),
		},
		{
			ID: "mcp-session-missing-404", Does: "Takes a missing session for a lost one.", Contract: "seer",
			Breaks: []string{"mcp.session-missing"},
			MCP:    withoutSession(http.StatusNotFound),
		},
		{
			ID: "mcp-session-adopted", Does: "Opens a session for whoever names one that is not there.", Contract: "seer",
			Breaks: []string{"mcp.session-unknown", "mcp.session-invented", "mcp.session-terminated", "mcp.notification-refused"},
			May:    []May{{"mcp.session-bound", "another's session is not there either"}},
			MCP: serving(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				post(next, w, r, func(a *posted) {
					if a.status != http.StatusNotFound {
						return
					}
					opening := withBody(r, encode(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": map[string]any{
						"protocolVersion": mcp.Revision, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "x", "version": "1"}}}))
					opening.Header.Del(sessionField)
					again := withBody(r, a.raw)
					again.Header.Set(sessionField, ask(next, opening).header.Get(sessionField))
					a.answer = ask(next, again)
				})
			}),
		},
		{
			ID: "mcp-session-survives", Does: "Answers DELETE with 204 and keeps the session.", Contract: "seer",
			Breaks: []string{"mcp.session-terminated"},
			MCP:    deleting(http.StatusNoContent),
		},
		{
			ID: "mcp-delete-400", Does: "Refuses DELETE with 400.", Contract: "seer",
			Breaks: []string{"mcp.session-delete"},
			MCP:    deleting(http.StatusBadRequest),
		},
		{
			ID: "mcp-session-reissued", Does: "Gives a new session the id of an older one that nobody has used since it was opened.", Contract: "seer",
			Breaks: []string{"mcp.session-distinct"},
			MCP:    serveBy(reissuing),
		},
		{
			ID: "mcp-session-counted", Does: "Numbers its sessions.", Contract: "seer",
			Breaks: []string{"mcp.session-strong"},
			MCP: func(m *reference.MCP) {
				var mu sync.Mutex
				n := 1000
				m.Rules.SessionID = func() string {
					mu.Lock()
					defer mu.Unlock()
					n++
					return fmt.Sprintf("session-%d", n)
				}
			},
		},
		{
			ID: "mcp-sessions-mixed", Does: "Keeps the answers to requests by their ids alone, whatever their session.", Contract: "seer",
			Breaks: []string{"mcp.session-apart"},
			May:    []May{{"mcp.tools-shape", "the answer to a list may be that to a ping"}, {"mcp.media-type", "the answer may have another form"}},
			MCP: serveBy(func() func(http.Handler, http.ResponseWriter, *http.Request) {
				var mu sync.Mutex
				kept := map[string]*answer{}
				return func(next http.Handler, w http.ResponseWriter, r *http.Request) {
					id, isText := "", false
					if r.Method == http.MethodPost {
						id, isText = decoded(bodyOf(r))["id"].(string)
					}
					if !isText || !strings.HasPrefix(id, "assay-") || len(id) > len("assay-00") {
						next.ServeHTTP(w, r)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					if kept[id] == nil {
						kept[id] = ask(next, r)
					}
					kept[id].send(w)
				}
			}),
		},
		{
			ID: "mcp-session-other-principal", Does: "Serves a session to every principal that knows its id.", Contract: "seer",
			Breaks: []string{"mcp.session-bound"},
			May:    []May{{aliveClaim, "another may end the session"}},
			MCP:    rules(func(r *mcp.Rules) { r.Owns = func(mcp.Owner, core.Principal) bool { return true } }),
		},
	}
}

// withoutSession answers a request that names no session.
func withoutSession(status int) func(*reference.MCP) {
	return posting(func(a *posted) {
		if a.r.Header.Get(sessionField) == "" && a.method() != "initialize" && a.method() != "" && a.status == http.StatusBadRequest && a.sent["id"] != nil {
			a.instead(status, errorOf(-32000, "There is no session."))
		}
	})
}

// deleting answers a DELETE that would end a session, which goes on.
func deleting(status int) func(*reference.MCP) {
	return serving(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodDelete {
			next.ServeHTTP(w, r)
			return
		}
		probe := withBody(r, []byte(`{"jsonrpc":"2.0","id":"probe","method":"ping"}`))
		probe.Method = http.MethodPost
		probe.Header.Set("Content-Type", "application/json")
		if a := ask(next, probe); a.status != http.StatusOK {
			a.send(w)
			return
		}
		w.WriteHeader(status)
	})
}

// reissuing gives clients names for sessions, and an old name for a new session once there are many
// that nobody has used.
func reissuing() func(http.Handler, http.ResponseWriter, *http.Request) {
	const many = 8
	var mu sync.Mutex
	var unused []string
	of := map[string]string{}
	return func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		name := r.Header.Get(sessionField)
		if own := of[name]; own != "" {
			r.Header.Set(sessionField, own)
			for i, u := range unused {
				if u == name {
					unused = append(unused[:i:i], unused[i+1:]...)
					break
				}
			}
		}
		mu.Unlock()
		post(next, w, r, func(a *posted) {
			id := a.header.Get(sessionField)
			if id == "" || a.method() != "initialize" {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			name := id
			if len(unused) > many {
				name, unused = unused[0], unused[1:]
			}
			unused, of[name] = append(unused, name), id
			a.header.Set(sessionField, name)
		})
	}
}

// flows are servers that keep, end or resume their streams badly.
func flows() []Mutant {
	return []Mutant{
		{
			ID: "mcp-stream-cut", Does: "Ends the stream of a list with progress before the response.", Contract: "seer",
			Breaks: []string{"mcp.stream-response"},
			MCP: streaming(posting(func(a *posted) {
				if a.method() == "tools/list" && a.token() != nil {
					a.body = []byte(": end\n\n")
				}
			})),
		},
		{
			ID: "mcp-stream-open", Does: "Leaves the stream of a list with progress open after the response.", Contract: "seer",
			Breaks: []string{"mcp.stream-closed"},
			MCP: streaming(serving(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				lists := false
				if r.Method == http.MethodPost {
					body := bodyOf(r)
					lists = bytes.Contains(body, []byte("tools/list")) && bytes.Contains(body, []byte("progressToken"))
				}
				next.ServeHTTP(w, r)
				if lists {
					_ = http.NewResponseController(w).Flush()
					wait(r.Context(), openTime)
				}
			})),
		},
		{
			ID: "mcp-event-ids-again", Does: "Counts the events of every stream from one.", Contract: "seer",
			Breaks: []string{"mcp.event-id-unique"},
			May:    []May{{"mcp.resume-own", "an id names events of many streams"}, {"mcp.resume-after", "an id names events of many streams"}},
			MCP:    streaming(rules(func(r *mcp.Rules) { r.EventID = func(_, n int) string { return fmt.Sprint(n + 1) } })),
		},
		{
			ID: "mcp-resume-again", Does: "Resumes a stream at the event that was named.", Contract: "seer",
			Breaks: []string{"mcp.resume-after"},
			MCP:    streaming(rules(func(r *mcp.Rules) { r.Resume = func(from int) int { return max(from-1, 0) } })),
		},
		{
			ID: "mcp-resume-skips", Does: "Leaves out an event when it resumes a stream.", Contract: "seer",
			Breaks: []string{"mcp.resume-after"},
			MCP:    streaming(rules(func(r *mcp.Rules) { r.Resume = func(from int) int { return from + 1 } })),
		},
		{
			ID: "mcp-resume-everything", Does: "Sends all that the session was ever sent when it resumes a stream.", Contract: "seer",
			Breaks: []string{"mcp.resume-own"},
			May:    []May{{"mcp.resume-after", "there is more than what was left"}},
			MCP:    streaming(serveBy(recalling)),
		},
		{
			ID: "mcp-resume-any-session", Does: "Finds the stream to resume by the event id, in whatever session it was.", Contract: "seer",
			Breaks: []string{"mcp.resume-session"},
			MCP: streaming(serving(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if session, id, ok := strings.Cut(r.Header.Get(lastField), "."); ok && r.Method == http.MethodGet {
					r.Header.Set(sessionField, session)
					r.Header.Set(lastField, id)
				}
				post(next, w, r, func(a *posted) {
					session := a.r.Header.Get(sessionField) + a.header.Get(sessionField)
					a.body = bytes.ReplaceAll(a.body, []byte("id: "), []byte("id: "+session+"."))
				})
			})),
		},
		{
			ID: "mcp-broadcast", Does: "Sends every response to whoever listens in the session, too.", Contract: "seer",
			Breaks: []string{"mcp.get-response", "mcp.one-stream"},
			MCP:    streaming(serveBy(func() func(http.Handler, http.ResponseWriter, *http.Request) { return (&hub{part: `"result"`}).serve })),
		},
		{
			ID: "mcp-progress-broadcast", Does: "Sends progress to whoever listens in the session, too.", Contract: "seer",
			Breaks: []string{"mcp.get-unrelated", "mcp.one-stream"},
			MCP: streaming(serveBy(func() func(http.Handler, http.ResponseWriter, *http.Request) {
				return (&hub{part: `"notifications/progress"`}).serve
			})),
		},
	}
}

const openTime = 4 * time.Second

// recalling sends all of a session's history to who resumes.
func recalling() func(http.Handler, http.ResponseWriter, *http.Request) {
	var mu sync.Mutex
	history := map[string][]byte{}
	return func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		session := r.Header.Get(sessionField)
		if r.Method == http.MethodGet && r.Header.Get(lastField) != "" {
			mu.Lock()
			all := bytes.Clone(history[session])
			mu.Unlock()
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write(all)
			return
		}
		post(next, w, r, func(a *posted) {
			if a.isStream() {
				mu.Lock()
				defer mu.Unlock()
				history[session] = append(history[session], a.body...)
			}
		})
	}
}

// hub hands a part of what is sent in a session to those who listen in it.
type hub struct {
	part string // of the events that are handed on

	mu        sync.Mutex
	listeners map[string][]chan []byte
}

func (h *hub) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	session := r.Header.Get(sessionField)
	if r.Method == http.MethodGet && r.URL.Path == mcp.Path && r.Header.Get(lastField) == "" {
		h.listen(next, w, r, session)
		return
	}
	post(next, w, r, func(a *posted) {
		if !a.isStream() || a.method() != "tools/call" {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, line := range strings.Split(string(a.body), "\n") {
			if !strings.HasPrefix(line, "data: ") || !strings.Contains(line, h.part) {
				continue
			}
			for _, c := range h.listeners[session] {
				select {
				case c <- []byte(line + "\n\n"):
				default: // who does not read misses it
				}
			}
		}
	})
}

// listen opens the stream as the server does, and puts in what is handed on.
func (h *hub) listen(next http.Handler, w http.ResponseWriter, r *http.Request, session string) {
	const kept = 64
	c := make(chan []byte, kept)
	h.mu.Lock()
	if h.listeners == nil {
		h.listeners = map[string][]chan []byte{}
	}
	h.listeners[session] = append(h.listeners[session], c)
	h.mu.Unlock()
	next.ServeHTTP(&handing{opening: opening{ResponseWriter: w}, r: r, from: c}, r)
}

// handing writes what comes from elsewhere into an event stream once it is open.
type handing struct {
	opening
	r    *http.Request
	from <-chan []byte
}

func (h *handing) WriteHeader(status int) {
	h.ResponseWriter.WriteHeader(status)
	if status != http.StatusOK {
		return
	}
	for {
		_ = http.NewResponseController(h.ResponseWriter).Flush()
		select {
		case e := <-h.from:
			_, _ = h.ResponseWriter.Write(e)
		case <-h.r.Context().Done():
			return
		}
	}
}
