// Package mcp judges the second face of a target: the tools part of the Model Context Protocol over
// Streamable HTTP, revision 2025-06-18. What a contract says of its tools is judged with it.
package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
)

// Revision is the one that this package judges. A later one is a package of its own.
const Revision = "2025-06-18"

// answerTime is the longest that one call may take before the case gives up on it.
const answerTime = 10 * time.Second

// Session is one MCP session of a case: it knows what later requests must carry. It belongs to one
// lane; concurrent calls of one session use Fork.
type Session struct {
	T       *check.T
	Role    string
	ID      string // Mcp-Session-Id; "" where the server has none
	Version string // negotiated; "": no version field is sent
	Opened  wire.Exchange
	Result  json.RawMessage // of initialize
	lane    int
	n       int
}

// Open initializes a session: the premise of a case, which is inconclusive where it fails.
func Open(t *check.T, role string) *Session {
	s := New(t, role)
	ex, m := s.Initialize(Revision)
	if ex.Status() != http.StatusOK || m.Result == nil {
		t.Inconclusive("initialize was answered %d %s, so there is no session to try this in", ex.Status(), brief(ex))
	}
	if ex := s.Initialized(); ex.Status() >= 400 {
		t.Inconclusive("notifications/initialized was answered %d %s, so there is no session to try this in", ex.Status(), brief(ex))
	}
	return s
}

// New is a session before initialize.
func New(t *check.T, role string) *Session { return &Session{T: t, Role: role} }

// Fork is the same session for another lane.
func (s *Session) Fork(t *check.T, lane int) *Session {
	f := *s
	f.T, f.lane, f.n = t, lane, 0
	return &f
}

// Initialize proposes a version and keeps what the answer settles.
func (s *Session) Initialize(version string) (wire.Exchange, wire.Message) {
	reachable(s.T)
	ex, m := s.Call("initialize", hello(version))
	var r struct{ ProtocolVersion string }
	if m.Result != nil && json.Unmarshal(m.Result, &r) == nil {
		s.Version, s.Result = r.ProtocolVersion, m.Result
	}
	s.ID, s.Opened = ex.Header("Mcp-Session-Id"), ex
	return ex, m
}

// reachable ends a case at once where the endpoint answers nothing at all: were each case to find that
// out by itself, a server that hangs would hold up the run by a time-out a case.
func reachable(t *check.T) {
	_, err := t.Once("an answer of the MCP endpoint", func() (any, error) {
		s := New(t, "primary")
		ex, _ := s.Do(s.Request(Encode(s.NextID(), "initialize", hello(Revision))))
		if ex.Status() == 0 {
			return nil, fmt.Errorf("the MCP endpoint answers nothing: %s", brief(ex))
		}
		return nil, nil
	})
	if err != nil {
		t.Inconclusive("%v", err)
	}
}

// hello are the params of initialize, of a client without capabilities.
func hello(version string) map[string]any {
	return map[string]any{"protocolVersion": version, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "assay", "version": "1"}}
}

// Initialized ends the handshake.
func (s *Session) Initialized() wire.Exchange { return s.Notify("notifications/initialized", nil) }

// Call sends a request and returns its response; the message is zero if none came.
func (s *Session) Call(method string, params any) (wire.Exchange, wire.Message) {
	return s.Ask(s.NextID(), method, params)
}

// Tool calls a tool.
func (s *Session) Tool(name string, arguments any) (wire.Exchange, wire.Message) {
	return s.Call("tools/call", map[string]any{"name": name, "arguments": arguments})
}

// Ask is Call with an id of the case's own choosing.
func (s *Session) Ask(id json.RawMessage, method string, params any) (wire.Exchange, wire.Message) {
	return s.Post(Encode(id, method, params))
}

// Notify sends a notification.
func (s *Session) Notify(method string, params any) wire.Exchange {
	ex, _ := s.Post(Encode(nil, method, params))
	return ex
}

// Post sends a body as it is, and returns the response to the request in it.
func (s *Session) Post(body []byte) (wire.Exchange, wire.Message) {
	return s.Do(s.Request(body))
}

// Request is a POST with the session's header fields, to be bent by whoever needs to.
func (s *Session) Request(body []byte) wire.Request {
	rq := wire.Request{Face: wire.FaceMCP, Method: http.MethodPost, Body: body, Fields: []wire.Field{
		{Name: "Content-Type", Value: "application/json"}, {Name: "Accept", Value: "application/json, text/event-stream"}}}
	rq.Fields = append(rq.Fields, s.fields()...)
	return rq
}

func (s *Session) fields() []wire.Field {
	var out []wire.Field
	if s.Version != "" {
		out = append(out, wire.Field{Name: "MCP-Protocol-Version", Value: s.Version})
	}
	if s.ID != "" {
		out = append(out, wire.Field{Name: "Mcp-Session-Id", Value: s.ID})
	}
	return out
}

// Do sends any request. Where its body is a JSON-RPC request, reading a stream ends soon after its
// response; one that never comes is left to the caller, who sees End.
func (s *Session) Do(rq wire.Request) (wire.Exchange, wire.Message) {
	return s.DoWithin(rq, target.Call{Timeout: answerTime})
}

// DoWithin is Do with bounds of the case's own. Until is told each event too, and may end the reading
// before the response.
func (s *Session) DoWithin(rq wire.Request, c target.Call) (wire.Exchange, wire.Message) {
	asked := wire.ParseMessage(rq.Body)
	enough := c.Until
	c.Until = func(e wire.Event) bool {
		if enough != nil && enough(e) {
			return true
		}
		events, _ := wire.ParseStream(e.Data)
		for _, ev := range events {
			if m := wire.ParseMessage(ev.Data); m.Err == nil && m.Method == nil && (m.Result != nil || m.Error != nil) {
				return true
			}
		}
		return false
	}
	ex := s.T.Send(s.Role, rq, c)
	return ex, Response(ex, asked.ID)
}

// Get opens the stream for messages that no request asked for, and reads it for d at most, or until
// enough says so.
func (s *Session) Get(d time.Duration, lastEventID string, enough func(wire.Event) bool) wire.Exchange {
	fields := append(s.fields(), wire.Field{Name: "Accept", Value: "text/event-stream"})
	if lastEventID != "" {
		fields = append(fields, wire.Field{Name: "Last-Event-ID", Value: lastEventID})
	}
	if enough == nil {
		enough = func(wire.Event) bool { return false }
	}
	return s.T.Send(s.Role, wire.Request{Face: wire.FaceMCP, Method: http.MethodGet, Fields: fields},
		target.Call{Timeout: answerTime, Listen: d, Until: enough})
}

// Delete ends the session.
func (s *Session) Delete() wire.Exchange {
	return s.T.Send(s.Role, wire.Request{Face: wire.FaceMCP, Method: http.MethodDelete, Fields: s.fields()}, target.Call{Timeout: answerTime})
}

// NextID is an id that this session has not used yet. Lanes count apart.
func (s *Session) NextID() json.RawMessage {
	s.n++
	return json.RawMessage(strconv.Itoa(s.lane*1_000_000 + s.n))
}

// Response is the message of an answer that responds to an id: by value and type, or failing that
// the only response there is, so that a claim about ids fails alone.
func Response(ex wire.Exchange, id json.RawMessage) wire.Message {
	var only []wire.Message
	for _, m := range ex.Messages() {
		if id != nil && m.Answers(id) {
			return m
		}
		if m.Err == nil && m.IsResponse() {
			only = append(only, m)
		}
	}
	if len(only) == 1 {
		return only[0]
	}
	return wire.Message{}
}

// Encode writes one message; id nil makes it a notification, params nil leaves them out.
func Encode(id json.RawMessage, method string, params any) []byte {
	m := map[string]any{"jsonrpc": "2.0", "method": method}
	if id != nil {
		m["id"] = id
	}
	if params != nil {
		m["params"] = params
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("a message of our own does not encode: %v", err)) // a fault of the kit, reported as such by the executor
	}
	return b
}

// brief is an answer in a few words, for notes.
func brief(ex wire.Exchange) string {
	const most = 200
	body := string(ex.Body())
	if len(body) > most {
		body = body[:most] + "…"
	}
	if ex.Status() == 0 {
		return string(ex.End) + " " + ex.Err
	}
	return body
}
