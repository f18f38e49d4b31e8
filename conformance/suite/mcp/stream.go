package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
)

// streams judges answers that are event streams, and resuming them. A server need offer neither.
func streams() []check.Check {
	return []check.Check{
		{
			ID:   "mcp.stream",
			Does: "Asks for several things and sees each stream to its end.",
			Claims: []check.Claim{
				{ID: "mcp.stream-response", Says: "A stream that answers a request does not end before the response."},
				{ID: "mcp.stream-closed", Says: "A stream that answers a request ends after the response."},
			},
			Needs: needs(), Cost: check.Cost{Requests: 15}, Select: endpoint, Run: stream,
		},
		{
			ID:   "mcp.streams-apart",
			Does: "Listens on two streams while requests are answered on others, and compares what came.",
			Claims: []check.Claim{
				{ID: "mcp.one-stream", Says: "Every message comes on one stream only."},
				{ID: "mcp.event-id-unique", Says: "No two events of a session have the same id, whatever their streams."},
				{ID: "mcp.list-changed", Says: "A change of the tool list is announced only by a server that declared it."},
			},
			Needs: needs(), Cost: check.Cost{Requests: 20}, Select: endpoint, Run: streamsApart,
		},
		{
			ID:   "mcp.resume",
			Does: "Resumes a stream after its first event, in its own session and in another.",
			Claims: []check.Claim{
				{ID: "mcp.resume-own", Says: "A resumed stream gives nothing that belonged to another."},
				{ID: "mcp.resume-after", Says: "A resumed stream goes on after the event that was named: nothing again, nothing left out."},
				{ID: "mcp.resume-session", Says: "An event id gives nothing of the stream in another session."},
			},
			Needs: needs(), Cost: check.Cost{Requests: 25}, Select: endpoint, Run: resume,
		},
	}
}

func isStream(ex wire.Exchange) bool {
	return ex.Status() == http.StatusOK && ex.MediaType() == "text/event-stream"
}

// closing is what a server has to end a stream after the response.
const closing = 2 * time.Second

func stream(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	s.works()
	bodies := [][]byte{Encode(s.NextID(), "ping", nil), Encode(s.NextID(), "tools/list", nil), Encode(s.NextID(), "ping", nil),
		Encode(s.NextID(), "tools/list", map[string]any{"_meta": map[string]any{"progressToken": "assay-1"}})}
	if tool, arguments := sample(t.Contract()); tool != nil {
		bodies = append(bodies, Encode(s.NextID(), "tools/call", map[string]any{"name": tool.Name, "arguments": arguments,
			"_meta": map[string]any{"progressToken": "assay-2"}}))
	}
	any := false
	for _, body := range bodies {
		ex, m := s.DoWithin(s.Request(body), target.Call{Timeout: answerTime, Grace: closing})
		if !isStream(ex) {
			continue
		}
		any = true
		if t.Judge("mcp.stream-response", m.Result != nil || m.Error != nil, "a response on the stream", told(ex)) {
			t.Judge("mcp.stream-closed", ex.End == wire.EndComplete, "the end of the stream within "+closing.String()+" of the response", string(ex.End))
		}
	}
	if !any {
		t.NoneApply("the server answers in JSON only")
	}
}

// eventsOf are the events of a stream that carry a message.
func eventsOf(ex wire.Exchange) []wire.StreamEvent {
	events, _ := wire.ParseStream(ex.Body())
	return slices.DeleteFunc(events, func(e wire.StreamEvent) bool { return len(e.Data) == 0 })
}

func streamsApart(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	s.works()
	const asking = 3
	exs := make([]wire.Exchange, 2+asking)
	t.Lanes(len(exs), func(lane *check.T, i int) {
		own := s.Fork(lane, i+1)
		if i < 2 {
			exs[i] = own.Get(2*glance, "", nil)
			return
		}
		lane.Pause(underWay)
		exs[i], _ = own.asking(own.NextID(), fmt.Sprintf("assay-%d", i))
	})
	judgeOneStream(t, exs)
	judgeEventIDs(t, exs)
	var r struct {
		Capabilities struct{ Tools struct{ ListChanged bool } }
	}
	_ = json.Unmarshal(s.Result, &r)
	announced := slices.ContainsFunc(exs, func(ex wire.Exchange) bool {
		return slices.ContainsFunc(ex.Messages(), func(m wire.Message) bool { return m.Name() == "notifications/tools/list_changed" })
	})
	t.Judge("mcp.list-changed", !announced || r.Capabilities.Tools.ListChanged, "no tools/list_changed, since listChanged is not declared", "one")
}

// judgeOneStream judges that no message came twice. Two notifications may say the same by chance, so
// only what names a request or a token of ours counts.
func judgeOneStream(t *check.T, exs []wire.Exchange) {
	on := map[string]int{}
	for i, ex := range exs {
		for _, m := range ex.Messages() {
			if m.Err != nil || !m.IsResponse() && m.Name() != "notifications/progress" && m.ID == nil {
				continue
			}
			key := string(m.Raw)
			if m.IsResponse() {
				key = "response " + string(m.ID)
			}
			first, there := on[key]
			t.Judge("mcp.one-stream", !there || first == i, "each message on one stream", "the same on two: "+key)
			on[key] = i
		}
	}
	t.Judge("mcp.one-stream", true, "", "")
}

func judgeEventIDs(t *check.T, exs []wire.Exchange) {
	seen := map[string]bool{}
	for _, ex := range exs {
		if !isStream(ex) {
			continue
		}
		for _, e := range eventsOf(ex) {
			if e.HasID && e.ID != "" {
				t.Judge("mcp.event-id-unique", !seen[e.ID], "an id for each event of the session", fmt.Sprintf("%q twice", e.ID))
				seen[e.ID] = true
			}
		}
	}
	if len(seen) == 0 {
		t.NotApplicable("mcp.event-id-unique", "the server gives events no ids")
	}
}

func resume(_ context.Context, t *check.T, _ check.Subject) {
	s, other := Open(t, "primary"), Open(t, "primary")
	s.works()
	var mine wire.Exchange
	var events []wire.StreamEvent
	for n := range 4 { // a server may stream some answers and not others
		id, _ := json.Marshal(fmt.Sprintf("assay-%s-%d", t.Nonce(), n))
		mine, _ = s.asking(id, fmt.Sprintf("assay-%s-%d", t.Nonce(), n))
		if events = eventsOf(mine); isStream(mine) && len(events) > 0 && events[0].HasID && events[0].ID != "" {
			break
		}
		events = nil
	}
	if len(events) == 0 {
		t.NoneApply("no answer is a stream whose events have ids, so none can be resumed")
		return
	}
	foreign, _ := json.Marshal("assay-" + t.Nonce() + "-beside")
	beside, _ := s.asking(foreign, "assay-"+t.Nonce()+"-beside")
	judgeResumed(t, s.resumed(events[0].ID), events[1:], eventsOf(beside))
	last := events[len(events)-1]
	if last.HasID && last.ID != events[0].ID {
		judgeResumed(t, s.resumed(last.ID), nil, eventsOf(beside))
	}
	ex := other.resumed(events[0].ID)
	for _, e := range eventsOf(ex) {
		leaked := slices.ContainsFunc(events, func(own wire.StreamEvent) bool { return string(own.Data) == string(e.Data) })
		t.Judge("mcp.resume-session", !leaked, "nothing of another session's stream", clip(e.Data))
	}
	t.Judge("mcp.resume-session", true, "", "")
}

// replay is what a server has to send what is left of a stream; most end it after that.
const replay = 2 * time.Second

// resumed reads what is left of a stream after an event.
func (s *Session) resumed(id string) wire.Exchange {
	return s.Get(replay, id, func(e wire.Event) bool {
		events, _ := wire.ParseStream(e.Data)
		return slices.ContainsFunc(events, func(ev wire.StreamEvent) bool {
			m := wire.ParseMessage(ev.Data)
			return m.Err == nil && m.IsResponse()
		})
	})
}

// judgeResumed compares what a resumed stream gave with what was left of it. One that gives nothing
// where something was left is of a server that does not keep it, which it need not.
func judgeResumed(t *check.T, ex wire.Exchange, left, beside []wire.StreamEvent) {
	got := eventsOf(ex)
	if !isStream(ex) {
		got = nil
	}
	for _, e := range got {
		foreign := slices.ContainsFunc(beside, func(b wire.StreamEvent) bool { return string(b.Data) == string(e.Data) })
		t.Judge("mcp.resume-own", !foreign, "events of the resumed stream only", clip(e.Data))
	}
	t.Judge("mcp.resume-own", true, "", "")
	if !isStream(ex) || len(got) == 0 && len(left) > 0 {
		t.NotApplicable("mcp.resume-after", "the server keeps no events to resume by")
		return
	}
	if ex.End != wire.EndComplete && len(got) < len(left) && slices.Equal(marksOf(got), marksOf(left[:len(got)])) {
		t.NotApplicable("mcp.resume-after", "what was left of the stream did not come within "+replay.String())
		return
	}
	t.Judge("mcp.resume-after", slices.Equal(marksOf(got), marksOf(left)), dataOf(left), dataOf(got))
}

// marksOf tells events apart by what they are, not by how they are written.
func marksOf(events []wire.StreamEvent) []string {
	var out []string
	for _, e := range events {
		m := wire.ParseMessage(e.Data)
		var p struct{ Progress float64 }
		_ = json.Unmarshal(m.Params, &p)
		switch {
		case m.Err != nil:
			out = append(out, string(e.Data))
		case m.IsResponse():
			out = append(out, "response")
		default:
			out = append(out, fmt.Sprintf("%s %v", m.Name(), p.Progress))
		}
	}
	return out
}

func dataOf(events []wire.StreamEvent) string {
	var all []string
	for _, e := range events {
		all = append(all, clip(e.Data))
	}
	if len(all) == 0 {
		return "no event"
	}
	return fmt.Sprintf("%d events: %s", len(all), strings.Join(all, " | "))
}

func clip(data []byte) string {
	const most = 300
	if len(data) > most {
		return strings.ToValidUTF8(string(data[:most]), "") + "…"
	}
	return string(data)
}
