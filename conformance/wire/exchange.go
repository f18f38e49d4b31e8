// Package wire holds what was said between client and server: exchanges as events, and the passive
// claims that look at every one of them. Everything here is a pure function of recorded data.
package wire

import (
	"bytes"
	"net/textproto"
	"time"
)

// Field is one header line as it went over the wire; order and repetition are kept.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Face says what a request's target is relative to.
type Face string

// Faces.
const (
	FaceREST    Face = ""         // the base URL
	FaceMCP     Face = "mcp"      // the MCP endpoint; the target may be empty
	FaceMCPHost Face = "mcp-host" // the origin of the MCP endpoint, where its well-known documents are
)

// Request is what is to be sent. Target is path and query, already escaped, appended to the face's
// URL as it is: a request that tests odd spellings needs every byte kept.
type Request struct {
	Face      Face    `json:"face,omitempty"`
	Operation string  `json:"operation,omitempty"` // id in the contract; "" if it is none of its operations
	Method    string  `json:"method"`
	Target    string  `json:"target"`
	Fields    []Field `json:"fields,omitempty"`
	Body      Bytes   `json:"body,omitzero"`      // nil: no body; empty: Content-Length: 0
	Left      int     `json:"left_out,omitempty"` // bytes of the body that a report leaves out
}

// Head is the status line and header of an answer.
type Head struct {
	Status int     `json:"status"` // 0: none arrived
	Proto  string  `json:"proto,omitempty"`
	Fields []Field `json:"fields,omitempty"`
}

// Event is a piece of the answer's body. A plain body is one event; an SSE frame is one each.
type Event struct {
	At   time.Duration `json:"at"` // since the run began, monotonic
	Data Bytes         `json:"data"`
	Left int           `json:"left_out,omitempty"` // bytes that a report leaves out
}

// End says how the exchange ended.
type End string

// Ends. Everything but EndComplete leaves the outcome open, unless a head with 4xx arrived.
const (
	EndComplete  End = "complete"
	EndRefused   End = "refused"   // no connection: never sent
	EndReset     End = "reset"     // connection broke after sending
	EndTimeout   End = "timeout"   // no or no whole answer in time
	EndCut       End = "cut"       // we cut it on purpose
	EndTruncated End = "truncated" // body shorter than promised
	EndOversize  End = "oversize"  // head or body over our bound
	EndGarbage   End = "garbage"   // not HTTP
	EndOpen      End = "open"      // a stream that we left when we had what we came for
)

// Exchange is one request and what came of it. Times are since the run began, on the monotonic clock.
type Exchange struct {
	Case   string        `json:"case"`
	Lane   int           `json:"lane"` // concurrent lanes of one case; 0 is the main one
	Seq    int           `json:"seq"`  // within the case, from 1, in order of sending
	Role   string        `json:"role"` // credential: primary, second_client, ...; "" sends none
	Req    Request       `json:"request"`
	Head   Head          `json:"head"`
	Events []Event       `json:"events,omitempty"`
	Sent   time.Duration `json:"sent"` // just before the first byte was written
	Last   time.Duration `json:"last"` // last byte read, or the moment of the End
	End    End           `json:"end"`
	Err    string        `json:"err,omitempty"` // the transport's own words for an End that is not complete
}

// Effect is what the exchange did to the server's state.
type Effect int

// Effects: None (never sent, or answered 4xx), Done (2xx), Unknown (reset, time-out, 5xx).
const (
	None Effect = iota
	Done
	Unknown
)

// Effect reads the effect off the answer (architecture, decision 11).
func (e Exchange) Effect() Effect {
	switch s := e.Head.Status; {
	case e.End == EndRefused, s >= 300 && s < 500:
		return None
	case s >= 200 && s < 300:
		return Done
	default:
		return Unknown
	}
}

// Status is the answer's status, 0 if none arrived.
func (e Exchange) Status() int { return e.Head.Status }

// Header returns the first value of a response header, case-insensitively, or "".
func (e Exchange) Header(name string) string { return Lookup(e.Head.Fields, name) }

// HeaderValues returns all values of a response header.
func (e Exchange) HeaderValues(name string) []string {
	var vs []string
	for _, f := range e.Head.Fields {
		if textproto.CanonicalMIMEHeaderKey(f.Name) == textproto.CanonicalMIMEHeaderKey(name) {
			vs = append(vs, f.Value)
		}
	}
	return vs
}

// Body is the whole answer body.
func (e Exchange) Body() []byte {
	if len(e.Events) == 1 {
		return e.Events[0].Data
	}
	var b bytes.Buffer
	for _, ev := range e.Events {
		b.Write(ev.Data)
	}
	return b.Bytes()
}

// Lookup returns the first value of a field, case-insensitively, or "".
func Lookup(fs []Field, name string) string {
	want := textproto.CanonicalMIMEHeaderKey(name)
	for _, f := range fs {
		if textproto.CanonicalMIMEHeaderKey(f.Name) == want {
			return f.Value
		}
	}
	return ""
}
