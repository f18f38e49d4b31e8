package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/wire"
)

// pings judges ping, and progress where a request asks for it.
func pings() []check.Check {
	return []check.Check{
		{
			ID:   "mcp.ping",
			Does: "Pings before and after the handshake is complete.",
			Claims: []check.Claim{
				{ID: "mcp.ping", Says: "A ping is answered with an empty result."},
				{ID: "mcp.ping-prompt", Says: "A ping is answered promptly."},
				{ID: "mcp.ping-early", Says: "A ping is answered before notifications/initialized."},
			},
			Needs: needs(), Cost: check.Cost{Requests: 10}, Select: endpoint, Run: ping,
		},
		{
			ID:   "mcp.progress",
			Does: "Asks for progress under tokens of both forms.",
			Claims: []check.Claim{
				{ID: "mcp.progress-served", Says: "A call that asks for progress, under a text or an integer, is served."},
			},
			Needs: needs(), Cost: check.Cost{Requests: 12}, Select: endpoint, Run: progress,
		},
	}
}

// prompt is what a ping may take; a network and a busy machine have their share in it.
const prompt = 5 * time.Second

func ping(_ context.Context, t *check.T, _ check.Subject) {
	early := New(t, "primary")
	if _, m := early.Initialize(Revision); m.Result == nil {
		t.Inconclusive("there is no session to ping in")
	}
	ex, m := early.Call("ping", nil)
	t.Judge("mcp.ping-early", m.Result != nil, "a result of ping before notifications/initialized", told(ex))
	early.Initialized()
	for _, params := range []any{nil, map[string]any{}} {
		ex, m := early.Call("ping", params)
		t.Judge("mcp.ping", empty(m.Result), "an empty object as result", told(ex))
		if m.Result != nil {
			took := ex.Last - ex.Sent
			t.Judge("mcp.ping-prompt", took < prompt, "an answer within "+prompt.String(), took.Round(time.Millisecond).String())
		}
	}
}

// empty reports a result with nothing but _meta in it.
func empty(result json.RawMessage) bool {
	var of map[string]json.RawMessage
	if json.Unmarshal(result, &of) != nil || of == nil {
		return false
	}
	delete(of, "_meta")
	return len(of) == 0
}

// asking calls the sample tool with a progress token, or lists tools where the contract has no sample.
func (s *Session) asking(id json.RawMessage, token any) (wire.Exchange, wire.Message) {
	meta := map[string]any{"progressToken": token}
	if tool, arguments := sample(s.T.Contract()); tool != nil {
		return s.Ask(id, "tools/call", map[string]any{"name": tool.Name, "arguments": arguments, "_meta": meta})
	}
	return s.Ask(id, "tools/list", map[string]any{"_meta": meta})
}

func progress(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	s.works()
	for _, token := range []any{"assay-" + t.Nonce(), 0, 7, "7", "é \"quoted\""} {
		ex, m := s.asking(s.NextID(), token)
		t.Judge("mcp.progress-served", m.Result != nil, fmt.Sprintf("a result with the progress token %#v", token), told(ex))
	}
}
