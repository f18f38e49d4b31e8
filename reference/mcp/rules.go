package mcp

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"assay.kit/reference/core"
	"assay.kit/spec"
)

// Rules are the decisions of the transport that an implementer can get wrong, one function each. A nil
// function is the correct one, so the zero value is a correct server.
type Rules struct {
	// What arrives.
	Host      func(host string, own []string) bool         // own: names of the server; empty: any
	Origin    func(origin string, own []string) bool       // own: origins of the server's pages
	Accepts   func(accept []string) (json, sse bool)       // values of the Accept header
	MediaType func(contentType []string) bool              // values of the Content-Type header
	Version   func(header string, supported []string) bool // of MCP-Protocol-Version, where it is given

	// Lifecycle and sessions.
	Negotiate func(proposed string, supported []string) string
	Declare   func() map[string]any // capabilities
	SessionID func() string
	Owns      func(o Owner, p core.Principal) bool
	Expired   func(last, now time.Time, ttl time.Duration) bool
	Lost      func() int // status of a request in a session that is not there

	// Streams.
	EventID  func(stream, n int) string
	Resume   func(from int) int // where a resumed stream goes on; from: after the event that was named
	Progress func(step, steps int) float64
	Cancels  func() bool // whether a cancelled request stays without an answer

	// Tools.
	Listed   func(p core.Principal, all []*spec.Tool) []*spec.Tool // what is listed, and may be called
	Manifest func(t *spec.Tool) map[string]any
	Page     func(from, size, total int) (to int, more bool)
	Cursor   func(opened bool) bool // whether a list cursor is good; opened: it is ours and whole
	Result   func(t *spec.Tool, a core.Answer) Reply
	Refusal  func(t *spec.Tool, p *core.Problem) Reply

	// Respond has the last look at every answer to a request.
	Respond func(method string, r Response) Response
}

// Reply is the outcome of a tool call: a result, or an error of the protocol.
type Reply struct {
	Result *Result
	Error  *Error
}

// Result is a CallToolResult of the revision's schema.
type Result struct {
	Content    []Content `json:"content"`
	Structured any       `json:"structuredContent,omitempty"`
	IsError    bool      `json:"isError,omitempty"`
}

// Content is a text block.
type Content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Correct are the rules of a correct server, every function set: for whoever replaces one by a variant
// of it.
func Correct() Rules { return Rules{}.withDefaults() }

// or sets f to the default if it is nil; F is a function type.
func or[F any](f *F, isNil bool, def F) {
	if isNil {
		*f = def
	}
}

func (r Rules) withDefaults() Rules {
	or(&r.Host, r.Host == nil, OwnHost)
	or(&r.Origin, r.Origin == nil, func(origin string, own []string) bool { return slices.Contains(own, origin) })
	or(&r.Accepts, r.Accepts == nil, Accepts)
	or(&r.MediaType, r.MediaType == nil, MediaType)
	or(&r.Version, r.Version == nil, func(v string, supported []string) bool { return slices.Contains(supported, v) })
	or(&r.Negotiate, r.Negotiate == nil, Negotiate)
	or(&r.Declare, r.Declare == nil, func() map[string]any { return map[string]any{"tools": map[string]any{}} })
	or(&r.SessionID, r.SessionID == nil, newSessionID)
	or(&r.Owns, r.Owns == nil, func(o Owner, p core.Principal) bool { return o == ownerOf(p) })
	or(&r.Expired, r.Expired == nil, func(last, now time.Time, ttl time.Duration) bool { return !now.Before(last.Add(ttl)) })
	or(&r.Lost, r.Lost == nil, func() int { return http.StatusNotFound })
	or(&r.EventID, r.EventID == nil, func(stream, n int) string { return fmt.Sprintf("%d-%d", stream, n) })
	or(&r.Resume, r.Resume == nil, func(from int) int { return from })
	or(&r.Progress, r.Progress == nil, func(step, _ int) float64 { return float64(step) })
	or(&r.Cancels, r.Cancels == nil, func() bool { return true })
	return r.toolDefaults()
}

func (r Rules) toolDefaults() Rules {
	or(&r.Listed, r.Listed == nil, Listed)
	or(&r.Manifest, r.Manifest == nil, Manifest)
	or(&r.Page, r.Page == nil, func(from, size, total int) (int, bool) { to := min(from+size, total); return to, to < total })
	or(&r.Cursor, r.Cursor == nil, func(opened bool) bool { return opened })
	or(&r.Result, r.Result == nil, ResultOf)
	or(&r.Refusal, r.Refusal == nil, RefusalOf)
	or(&r.Respond, r.Respond == nil, func(_ string, a Response) Response { return a })
	return r
}

// Negotiate answers a version that is supported with itself, any other with the newest that is
// (lifecycle, Version Negotiation). The supported ones are in order, the newest last.
func Negotiate(proposed string, supported []string) string {
	if slices.Contains(supported, proposed) {
		return proposed
	}
	return supported[len(supported)-1]
}
