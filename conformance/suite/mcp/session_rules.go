package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
)

// sessions judges Session Management. A server need not have sessions; then none of it applies.
func sessions() []check.Check {
	return []check.Check{
		{
			ID:   "mcp.session",
			Does: "Sends requests in a session, in none, and in one that was never issued.",
			Claims: []check.Claim{
				{ID: "mcp.session-issued", Says: "A server that needs a session gives its id with the answer to initialize."},
				{ID: "mcp.session-missing", Says: "A server that needs a session answers a request without one with 400."},
				{ID: "mcp.initialize-first", Says: "Nothing is served to a client that has not initialized, where the server has sessions."},
				{ID: "mcp.session-unknown", Says: "A session that was never issued is answered with 404."},
				{ID: "mcp.session-invented", Says: "Nothing is served in a session that was never issued."},
				aliveSays(),
			},
			Needs: needs(), Cost: check.Cost{Requests: 20}, Select: endpoint, Run: session,
		},
		{
			ID:   "mcp.session-end",
			Does: "Ends a session by DELETE and goes on using it, and its neighbour.",
			Claims: []check.Claim{
				{ID: "mcp.session-delete", Says: "DELETE ends the session, or is answered 405."},
				{ID: "mcp.session-terminated", Says: "A request in a session that was ended is answered with 404."},
				aliveSays(),
			},
			Needs: needs(), Cost: check.Cost{Requests: 20}, Select: endpoint, Run: sessionEnd,
		},
		{
			ID:   "mcp.session-ids",
			Does: "Opens many sessions and compares their ids.",
			Claims: []check.Claim{
				{ID: "mcp.session-distinct", Says: "Every session has an id of its own."},
				{ID: "mcp.session-strong", Says: "A session id is long, and cannot be guessed from the one before."},
			},
			Needs: needs(), Cost: check.Cost{Requests: 3 * manySessions}, Select: endpoint, Run: sessionIDs,
		},
		{
			ID:   "mcp.session-apart",
			Does: "Uses one request id in two sessions at once, for different requests.",
			Claims: []check.Claim{
				{ID: "mcp.session-apart", Says: "The answer to a request is the one of its own session, whatever another session asks under the same id."},
			},
			Needs: needs(), Cost: check.Cost{Requests: 30}, Select: endpoint, Run: sessionsApart,
		},
		{
			ID:   "mcp.second-initialize",
			Does: "Initializes once more within a session.",
			Claims: []check.Claim{
				aliveSays(),
			},
			Needs: needs(), Cost: check.Cost{Requests: 8}, Select: endpoint, Run: secondInitialize,
		},
	}
}

const noSessions = "the server has no sessions"

// invented is a session id of the same form that was surely never issued.
func invented(id string) string {
	out := []byte(id)
	for i, c := range out {
		switch {
		case c >= '0' && c <= '9':
			out[i] = '0' + ('9' - c)
		case c >= 'a' && c <= 'f':
			out[i] = 'a' + ('f' - c)
		case c >= 'g' && c <= 'z':
			out[i] = 'g' + ('z' - c)
		case c >= 'A' && c <= 'Z':
			out[i] = 'A' + ('Z' - c)
		}
	}
	return string(out)
}

func session(_ context.Context, t *check.T, _ check.Subject) {
	s := New(t, "primary")
	if ex, m := s.Initialize(Revision); m.Result == nil {
		t.Inconclusive("initialize was answered %s, so there is no session to try this in", told(ex))
	}
	s.Initialized()
	none := *s
	none.ID = ""
	ex, m := none.Call("tools/list", nil)
	if s.ID == "" {
		t.Judge("mcp.session-issued", m.Result != nil, "a result without a session id, since initialize gave none", told(ex))
		t.NoneApply(noSessions)
		return
	}
	t.Judge("mcp.session-issued", true, "", "")
	switch {
	case m.Result != nil:
		t.NotApplicable("mcp.session-missing", "the server serves requests without a session")
		t.NotApplicable("mcp.initialize-first", "the server serves requests without a session")
	default:
		t.Judge("mcp.session-missing", ex.Status() == http.StatusBadRequest, "400 without Mcp-Session-Id", told(ex))
		t.Judge("mcp.initialize-first", refused(ex, m), "a refusal before initialize", told(ex))
	}
	lost := *s
	lost.ID = invented(s.ID)
	ex, m = lost.Call("tools/list", nil)
	t.Judge("mcp.session-unknown", ex.Status() == http.StatusNotFound, "404 to POST in a session that was never issued", told(ex))
	t.Judge("mcp.session-invented", ex.Status() != 0 && !served(ex, m), "no service in a session that was never issued", told(ex))
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		ex := lost.raw(lost.bare(method))
		t.Judge("mcp.session-unknown", ex.Status() == http.StatusNotFound || ex.Status() == http.StatusMethodNotAllowed,
			"404 (or 405) to "+method+" in a session that was never issued", told(ex))
		t.Judge("mcp.session-invented", ex.Status() != 0 && ex.Status()/100 != 2, "no 2xx to "+method+" in a session that was never issued", told(ex))
	}
	s.alive("requests in other sessions")
}

func sessionEnd(_ context.Context, t *check.T, _ check.Subject) {
	s, other := Open(t, "primary"), Open(t, "primary")
	if s.ID == "" {
		t.NoneApply(noSessions)
		return
	}
	s.works()
	ex := s.Delete()
	kept := ex.Status() == http.StatusMethodNotAllowed
	t.Must("mcp.session-delete", kept || ex.Status()/100 == 2, "a 2xx or 405 to DELETE", told(ex))
	if kept {
		t.NotApplicable("mcp.session-terminated", "the server lets no client end a session")
		other.alive("DELETE of another session")
		return
	}
	ex, _ = s.Call("ping", nil)
	t.Judge("mcp.session-terminated", ex.Status() == http.StatusNotFound, "404 to POST in a session that was ended", told(ex))
	ex = s.Notify("notifications/initialized", nil)
	t.Judge("mcp.session-terminated", ex.Status() == http.StatusNotFound, "404 to a notification in a session that was ended", told(ex))
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		ex = s.raw(s.bare(method))
		t.Judge("mcp.session-terminated", ex.Status() == http.StatusNotFound || method == http.MethodGet && ex.Status() == http.StatusMethodNotAllowed,
			"404 to "+method+" in a session that was ended", told(ex))
	}
	other.alive("DELETE of another session")
}

// manySessions are opened to compare their ids.
const manySessions = 16

func sessionIDs(_ context.Context, t *check.T, _ check.Subject) {
	var ids []string
	seen := map[string]bool{}
	for range manySessions {
		s := New(t, "primary")
		s.Initialize(Revision)
		if s.ID == "" {
			t.NoneApply(noSessions)
			return
		}
		t.Judge("mcp.session-distinct", !seen[s.ID], "an id that no session had before", "one that another session has")
		seen[s.ID] = true
		ids = append(ids, s.ID)
		defer s.Delete()
	}
	shortest := len(ids[0])
	for _, id := range ids {
		shortest = min(shortest, len(id))
	}
	t.Judge("mcp.session-strong", shortest >= strong, fmt.Sprintf("at least %d characters", strong), fmt.Sprint(shortest))
	varying := 0
	for i := range shortest {
		for _, id := range ids[1:] {
			if id[i] != ids[0][i] {
				varying++
				break
			}
		}
	}
	t.Judge("mcp.session-strong", varying >= strong/2, fmt.Sprintf("at least %d characters that differ among %d ids", strong/2, len(ids)), fmt.Sprint(varying))
}

// strong is the length from which on an id can be unguessable: 16 characters of base64 are 96 bits.
const strong = 16

func sessionsApart(_ context.Context, t *check.T, _ check.Subject) {
	a, b := Open(t, "primary"), Open(t, "primary")
	for n := range 3 {
		id := json.RawMessage(fmt.Sprintf(`"assay-%d"`, n))
		var answers [2]wire.Message
		var exs [2]wire.Exchange
		t.Lanes(2, func(lane *check.T, i int) {
			s, method := a.Fork(lane, 1), "ping"
			if i == 1 {
				s, method = b.Fork(lane, 2), "tools/list"
			}
			exs[i], answers[i] = s.Ask(id, method, nil)
		})
		t.Judge("mcp.session-apart", answers[0].Result != nil && !lists(answers[0]), "the result of ping to one session", told(exs[0]))
		t.Judge("mcp.session-apart", lists(answers[1]), "the result of tools/list to the other", told(exs[1]))
	}
}

// lists reports a result with a list of tools.
func lists(m wire.Message) bool {
	var r struct{ Tools *[]json.RawMessage }
	return json.Unmarshal(m.Result, &r) == nil && r.Tools != nil
}

func secondInitialize(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	again := *s
	again.n += 100
	again.Initialize(Revision) // refused or not: the first session goes on
	s.alive("a second initialize")
}

// principals judges whose a session is.
func principals() []check.Check {
	return []check.Check{
		{
			ID:   "mcp.session-bound",
			Does: "Uses the session of one principal under the token of another.",
			Claims: []check.Claim{
				{ID: "mcp.session-bound", Says: "A session serves the principal that opened it and no other."},
				aliveSays(),
			},
			Needs: needs(target.SecondWorkspace), Cost: check.Cost{Requests: 12}, Select: endpoint, Run: sessionBound,
		},
	}
}

func sessionBound(_ context.Context, t *check.T, _ check.Subject) {
	s, own := Open(t, "primary"), Open(t, "second_workspace")
	if s.ID == "" {
		t.NoneApply(noSessions)
		return
	}
	own.alive("its own handshake")
	stolen := *s
	stolen.Role, stolen.n = "second_workspace", s.n+100
	ex, m := stolen.Call("tools/list", nil)
	t.Judge("mcp.session-bound", ex.Status() != 0 && !served(ex, m), "no service of tools/list to another principal", told(ex))
	ex = stolen.Notify("notifications/cancelled", map[string]any{"requestId": 1})
	t.Judge("mcp.session-bound", ex.Status() >= 400, "a refusal of a notification by another principal", told(ex))
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		ex := stolen.raw(stolen.bare(method))
		t.Judge("mcp.session-bound", ex.Status() != 0 && ex.Status()/100 != 2, "no 2xx to "+method+" by another principal", told(ex))
	}
	s.alive("another principal's attempts")
}
