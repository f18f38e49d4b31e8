package mcp

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
)

// cancelling judges notifications/cancelled.
func cancelling() []check.Check {
	return []check.Check{
		{
			ID:   "mcp.cancel",
			Does: "Cancels what was never asked, what was answered long ago, and nothing at all.",
			Claims: []check.Claim{
				{ID: "mcp.cancel-ignored", Says: "A cancellation that names no request in progress is ignored."},
				{ID: "mcp.cancel-late", Says: "A cancellation that comes after the answer is taken without a word."},
				aliveSays(),
			},
			Needs: needs(), Cost: check.Cost{Requests: 20}, Select: endpoint, Run: cancel,
		},
		{
			ID:   "mcp.cancelled",
			Does: "Cancels calls of a tool that are still on their way.",
			Claims: []check.Claim{
				{ID: "mcp.cancelled", Says: "A request that was cancelled in time gets no response."},
				aliveSays(),
			},
			Needs: needs(), Cost: check.Cost{Requests: 20}, Select: endpoint, Run: cancelled,
		},
	}
}

func cancel(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	id := s.NextID()
	if ex, m := s.Ask(id, "ping", nil); m.Result == nil {
		t.Inconclusive("a ping was answered %s, so there is nothing to cancel", told(ex))
	}
	ex := s.Notify("notifications/cancelled", map[string]any{"requestId": id, "reason": "assay: too late"})
	t.Judge("mcp.cancel-late", ex.Status()/100 == 2 && !responds(ex), "202 to a cancellation that comes too late", told(ex))
	s.alive("a late cancellation")
	for _, params := range []any{map[string]any{"requestId": "assay-" + t.Nonce()}, map[string]any{"requestId": -1}, map[string]any{}, nil} {
		ex := s.Notify("notifications/cancelled", params)
		// One that is malformed may be refused (HTTP-wise); it must not be answered.
		ok := ex.Status() != 0 && ex.Status() < 500 && (ex.Status()/100 != 2 || !responds(ex))
		sent, _ := json.Marshal(params)
		t.Judge("mcp.cancel-ignored", ok, "202, or a 4xx, to a cancellation with "+string(sent), told(ex))
		s.alive("a cancellation of nothing")
	}
}

// responds reports a response anywhere in an answer.
func responds(ex wire.Exchange) bool {
	for _, m := range ex.Messages() {
		if m.Err == nil && m.IsResponse() {
			return true
		}
	}
	return false
}

const (
	underWay = 50 * time.Millisecond  // until a call that says nothing of itself is taken to have begun
	tooLate  = 150 * time.Millisecond // after the cancellation was taken, a response is none that had been sent already
	cancels  = 3                      // calls to cancel
)

func cancelled(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	tool, arguments := sample(t.Contract())
	if tool == nil {
		t.NoneApply("the contract has no call that could be cancelled")
		return
	}
	s.works()
	judged := false
	for n := range cancels {
		var call, taken wire.Exchange
		id := json.RawMessage(`"assay-cancel-` + string(rune('a'+n)) + `"`)
		begun := make(chan struct{})
		t.Lanes(2, func(lane *check.T, i int) {
			own := s.Fork(lane, i+1)
			if i == 0 {
				call = own.call(begun, Encode(id, "tools/call", map[string]any{"name": tool.Name, "arguments": arguments,
					"_meta": map[string]any{"progressToken": id}}))
				return
			}
			select { // without a word of it, the call has begun for all that can be known
			case <-begun:
			case <-time.After(underWay):
			case <-lane.Context().Done():
			}
			taken = own.Notify("notifications/cancelled", map[string]any{"requestId": id, "reason": "assay"})
		})
		judged = judgeCancelled(t, call, taken) || judged
	}
	if !judged {
		t.NotApplicable("mcp.cancelled", "no call was seen to begin and could be cancelled before its answer")
	}
	s.alive("cancellations")
}

// call sends a body and closes begun at the first event of its answer, or at its end.
func (s *Session) call(begun chan<- struct{}, body []byte) wire.Exchange {
	once := sync.OnceFunc(func() { close(begun) })
	defer once()
	ex, _ := s.DoWithin(s.Request(body), target.Call{Timeout: answerTime, Until: func(wire.Event) bool { once(); return false }})
	return ex
}

// judgeCancelled judges one call that was cancelled; false: it cannot be told. A response is one too many
// only if the call had surely begun, by its progress, when it was cancelled, and the response was
// surely not on its way when the cancellation was taken: anything else may be a race.
func judgeCancelled(t *check.T, call, taken wire.Exchange) bool {
	if taken.Status()/100 != 2 {
		return false
	}
	if responds(call) {
		begun := len(call.Events) > 1 && call.Events[0].At < taken.Sent
		if !begun || call.Events[len(call.Events)-1].At < taken.Last+tooLate {
			return false
		}
		t.Judge("mcp.cancelled", false, "no response to a request that was cancelled", told(call))
		return true
	}
	if call.Status() != 200 && call.Status() != 202 || call.End == wire.EndTimeout {
		return false // a refusal, or a stream that stays open, says nothing
	}
	return t.Judge("mcp.cancelled", true, "", "")
}
