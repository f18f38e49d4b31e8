package mcp

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
)

// transport judges the header fields and methods of Streamable HTTP.
func transport() []check.Check {
	return []check.Check{
		{
			ID:   "mcp.accept",
			Does: "Asks for both forms of answer in every spelling that Accept has for it, and for one of them.",
			Claims: []check.Claim{
				{ID: "mcp.accept", Says: "An Accept that has both forms, however it is written, is served."},
				{ID: "mcp.accept-kept", Says: "An answer that is served has a form that Accept allows."},
			},
			Needs: needs(), Cost: check.Cost{Requests: 15}, Select: endpoint, Run: accept,
		},
		{
			ID:   "mcp.content-type",
			Does: "Sends JSON under every spelling of its media type.",
			Claims: []check.Claim{
				{ID: "mcp.content-type", Says: "The media type of JSON is understood with a charset and in capitals."},
				aliveSays(),
			},
			Needs: needs(), Cost: check.Cost{Requests: 10}, Select: endpoint, Run: contentType,
		},
		{
			ID:   "mcp.get",
			Does: "Opens the endpoint by GET.",
			Claims: []check.Claim{
				{ID: "mcp.endpoint", Says: "The endpoint that takes POST is there for GET too."},
				{ID: "mcp.get", Says: "GET opens an event stream, or is answered 405."},
			},
			Needs: needs(), Cost: check.Cost{Requests: 5}, Select: endpoint, Run: get,
		},
		{
			ID:   "mcp.version-header",
			Does: "Names protocol versions that nobody knows, and none, in requests of a session.",
			Claims: []check.Claim{
				{ID: "mcp.version-header", Says: "A request that names a version that the server does not support is refused with 400."},
				{ID: "mcp.version-absent", Says: "A request of a session that names no version is served by the one that was negotiated."},
				aliveSays(),
			},
			Needs: needs(), Cost: check.Cost{Requests: 25}, Select: endpoint, Run: versionHeader,
		},
		{
			ID:   "mcp.origin",
			Does: "Calls the server as pages of other sites would, and as no page.",
			Claims: []check.Claim{
				{ID: "mcp.origin", Says: "No request whose Origin is that of another site is served."},
				{ID: "mcp.host", Says: "A server on this machine serves no request for another host's name."},
				{ID: "mcp.origin-absent", Says: "A request without Origin is served."},
			},
			Needs: needs(), Cost: check.Cost{Requests: 25}, Select: endpoint, Run: origin,
		},
	}
}

// with is a request with a field set to another value.
func with(rq wire.Request, name, value string) wire.Request {
	rq = without(rq, name)
	rq.Fields = append(rq.Fields, wire.Field{Name: name, Value: value})
	return rq
}

// without is a request without a field.
func without(rq wire.Request, name string) wire.Request {
	rq.Fields = slices.DeleteFunc(slices.Clone(rq.Fields), func(f wire.Field) bool { return strings.EqualFold(f.Name, name) })
	return rq
}

// ping is a ping of the session, to be bent.
func (s *Session) ping() wire.Request { return s.Request(Encode(s.NextID(), "ping", nil)) }

func accept(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	both := []string{"application/json, text/event-stream", "text/event-stream,application/json", "application/json;q=0.4 , text/event-stream;q=0.9",
		"Application/JSON, Text/Event-Stream", "text/html;q=0.1, application/json, text/event-stream, */*;q=0.1"}
	for _, a := range both {
		ex, m := s.Do(with(s.ping(), "Accept", a))
		t.Judge("mcp.accept", ex.Status() == http.StatusOK && m.Result != nil, "a result with Accept: "+a, told(ex))
	}
	ex, m := s.Do(with(s.ping(), "Accept", both[0]))
	form := ex.MediaType()
	t.Judge("mcp.accept-kept", m.Result == nil || form == "application/json" || form == "text/event-stream", "one of the two forms", form)
	for _, only := range []string{"application/json", "text/event-stream"} {
		ex, m := s.Do(with(s.ping(), "Accept", only))
		if m.Result != nil { // a server may refuse a client that does not take both
			t.Judge("mcp.accept-kept", ex.MediaType() == only, only, ex.MediaType())
		}
	}
}

func contentType(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	for _, ct := range []string{"application/json; charset=utf-8", "Application/JSON", `application/json;charset="UTF-8"`} {
		ex, m := s.Do(with(s.ping(), "Content-Type", ct))
		t.Judge("mcp.content-type", m.Result != nil, "a result with Content-Type: "+ct, told(ex))
	}
	s.Do(with(s.ping(), "Content-Type", "text/plain")) // whether it is refused is not said
	s.alive("a body of another media type")
}

// glance is how long a stream is looked at that may have nothing to say.
const glance = 250 * time.Millisecond

func get(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	ex := s.Get(glance, "", nil)
	t.Judge("mcp.endpoint", ex.Status() != 0 && ex.Status() != http.StatusNotFound, "a stream or 405", told(ex))
	stream := ex.Status() == http.StatusOK && ex.MediaType() == "text/event-stream"
	t.Judge("mcp.get", stream || ex.Status() == http.StatusMethodNotAllowed, "text/event-stream or 405",
		fmt.Sprintf("%d %s", ex.Status(), ex.MediaType()))
}

// bare is a GET or DELETE of the session, to be bent.
func (s *Session) bare(method string) wire.Request {
	rq := wire.Request{Face: wire.FaceMCP, Method: method, Fields: s.fields()}
	if method == http.MethodGet {
		rq.Fields = append(rq.Fields, wire.Field{Name: "Accept", Value: "text/event-stream"})
	}
	return rq
}

// raw sends a GET or DELETE and looks at it for a moment only.
func (s *Session) raw(rq wire.Request) wire.Exchange {
	return s.T.Send(s.Role, rq, target.Call{Timeout: answerTime, Listen: glance, Until: func(wire.Event) bool { return true }})
}

func versionHeader(_ context.Context, t *check.T, _ check.Subject) {
	const field = "MCP-Protocol-Version"
	s := Open(t, "primary")
	s.alive("the handshake")
	ended := false
	for _, bad := range []string{"1999-01-01", "assay"} {
		ex, _ := s.Do(with(s.ping(), field, bad))
		t.Judge("mcp.version-header", ex.Status() == http.StatusBadRequest, "400 to POST with "+field+": "+bad, told(ex))
		ex, _ = s.Do(with(s.Request(Encode(nil, "notifications/initialized", nil)), field, bad))
		t.Judge("mcp.version-header", ex.Status() == http.StatusBadRequest, "400 to a notification with "+field+": "+bad, told(ex))
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			ex := s.raw(with(s.bare(method), field, bad))
			// A server without such a method need not look any further.
			ok := ex.Status() == http.StatusBadRequest || ex.Status() == http.StatusMethodNotAllowed
			t.Judge("mcp.version-header", ok, "400 (or 405) to "+method+" with "+field+": "+bad, told(ex))
			ended = ended || method == http.MethodDelete && ex.Status()/100 == 2
		}
	}
	if ended { // which was judged above; what follows would blame the server for a session that is gone
		s = Open(t, "primary")
	} else {
		s.alive("requests of other versions")
	}
	ex, m := s.Do(without(s.ping(), field))
	switch {
	case m.Result != nil:
		t.Judge("mcp.version-absent", true, "", "")
	case s.ID == "":
		t.NotApplicable("mcp.version-absent", "without a session nothing tells the server which version was negotiated")
	default:
		t.Judge("mcp.version-absent", false, "a result without "+field, told(ex))
	}
}

func origin(_ context.Context, t *check.T, _ check.Subject) {
	reachable(t)
	first := New(t, "primary")
	hi := first.Request(Encode(first.NextID(), "initialize", hello(Revision)))
	if ex, m := first.Do(hi); m.Result == nil && endpointURL(t.Profile()) != nil {
		own := endpointURL(t.Profile())
		_, again := first.Do(with(hi, "Origin", own.Scheme+"://"+own.Host))
		t.Must("mcp.origin-absent", again.Result == nil, "a result of initialize without Origin, since with its own there is one", told(ex))
	}
	s := Open(t, "primary")
	s.works()
	t.Judge("mcp.origin-absent", true, "", "") // what was served until here had none
	for _, site := range []string{"http://assay.example", "http://127.0.0.1.assay.example", "null"} {
		ex, m := first.Do(with(first.Request(Encode(first.NextID(), "initialize", hello(Revision))), "Origin", site))
		t.Judge("mcp.origin", ex.Status() != 0 && !served(ex, m), "no service of initialize with Origin: "+site, told(ex))
		ex, m = s.Do(with(s.Request(Encode(s.NextID(), "tools/list", nil)), "Origin", site))
		t.Judge("mcp.origin", ex.Status() != 0 && !served(ex, m), "no service of tools/list with Origin: "+site, told(ex))
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			ex := s.raw(with(s.bare(method), "Origin", site))
			t.Judge("mcp.origin", ex.Status() != 0 && ex.Status()/100 != 2, "no 2xx to "+method+" with Origin: "+site, told(ex))
			if method == http.MethodDelete && ex.Status()/100 == 2 {
				s = Open(t, "primary") // in a session that is gone every refusal below would prove nothing
			}
		}
	}
	if !local(t.Profile()) {
		t.NotApplicable("mcp.host", "the endpoint is on no loopback address; what names it has is not known")
		return
	}
	ex, m := s.Do(with(s.ping(), "Host", "assay.example"))
	t.Judge("mcp.host", ex.Status() != 0 && !served(ex, m), "no service with Host: assay.example", told(ex))
}

// local reports whether the endpoint is on this machine only.
func local(p *target.Profile) bool {
	raw := p.MCPURL
	if raw == "" || raw == "auto" {
		raw = p.BaseURL
	}
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || ip != nil && ip.IsLoopback()
}
