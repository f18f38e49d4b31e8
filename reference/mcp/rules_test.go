package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"assay.kit/reference"
	"assay.kit/reference/core"
	"assay.kit/reference/mcp"
	"assay.kit/spec"
)

// TestRules: each rule, when it is replaced by a wrong one, shows on the wire, and the correct one does
// what the revision asks for.
func TestRules(t *testing.T) {
	status := func(method, body string, change func(*http.Request), want int) func(*world) bool {
		return func(w *world) bool { return w.begun("primary").do(method, body, change).status == want }
	}
	bars := `{"instrumentId":"` + apple + `"}`
	withProgress := func(me *caller) []message {
		return me.post(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"seer_market_bars","_meta":{"progressToken":1},"arguments":` + bars + `}}`).messages
	}
	for _, c := range []struct {
		name  string
		set   func(*mcp.Rules)
		holds func(*world) bool
	}{
		{"Host", func(r *mcp.Rules) { r.Host = func(string, []string) bool { return true } },
			status("POST", ping, func(r *http.Request) { r.Host = "evil.example" }, 403)},
		{"Origin", func(r *mcp.Rules) { r.Origin = func(string, []string) bool { return true } }, status("POST", ping, set("Origin", "http://evil.example"), 403)},
		{"Accepts", func(r *mcp.Rules) { r.Accepts = func([]string) (bool, bool) { return true, true } }, status("POST", ping, set("Accept", "text/html"), 406)},
		{"MediaType", func(r *mcp.Rules) { r.MediaType = func([]string) bool { return true } }, status("POST", ping, set("Content-Type", "text/plain"), 415)},
		{"Version", func(r *mcp.Rules) { r.Version = func(string, []string) bool { return true } }, status("POST", ping, set("MCP-Protocol-Version", "1999-01-01"), 400)},
		{"Negotiate", func(r *mcp.Rules) { r.Negotiate = func(string, []string) string { return "2024-11-05" } },
			func(w *world) bool { return w.caller("primary").initialize().Result["protocolVersion"] == mcp.Revision }},
		{"Declare", func(r *mcp.Rules) { r.Declare = func() map[string]any { return map[string]any{} } }, func(w *world) bool {
			caps, _ := w.caller("primary").initialize().Result["capabilities"].(map[string]any)
			return caps["tools"] != nil
		}},
		{"SessionID", func(r *mcp.Rules) { r.SessionID = func() string { return "one" } },
			func(w *world) bool { return w.begun("primary").session != w.begun("primary").session }},
		{"Owns", func(r *mcp.Rules) { r.Owns = func(mcp.Owner, core.Principal) bool { return true } }, func(w *world) bool {
			me, thief := w.begun("primary"), w.caller("second_client")
			thief.session = me.session
			return thief.post(ping).status == 404
		}},
		{"Expired", func(r *mcp.Rules) { r.Expired = func(_, _ time.Time, _ time.Duration) bool { return false } }, func(w *world) bool {
			me := w.begun("primary")
			if err := w.clock.Advance(t.Context(), 2*time.Hour); err != nil {
				t.Fatal(err)
			}
			return me.post(ping).status == 404
		}},
		{"Lost", func(r *mcp.Rules) { r.Lost = func() int { return 400 } }, status("POST", ping, set("Mcp-Session-Id", "gone"), 404)},
		{"EventID", func(r *mcp.Rules) { r.EventID = func(int, int) string { return "e" } }, func(w *world) bool {
			ms := withProgress(w.begun("primary"))
			return ms[0].event != ms[1].event
		}},
		{"Resume", func(r *mcp.Rules) { r.Resume = func(int) int { return 0 } }, func(w *world) bool {
			me := w.begun("primary")
			return len(events(t, open(t, me, withProgress(me)[1].event), -1)) == 1
		}},
		{"Progress", func(r *mcp.Rules) { r.Progress = func(step, _ int) float64 { return -float64(step) } }, func(w *world) bool {
			ms := withProgress(w.begun("primary"))
			return ms[0].Params["progress"].(float64) < ms[1].Params["progress"].(float64)
		}},
		{"Listed", func(r *mcp.Rules) {
			r.Listed = func(_ core.Principal, all []*spec.Tool) []*spec.Tool { return all }
		}, func(w *world) bool { return len(w.begun("primary").listAll()) == 7 }},
		{"Manifest", func(r *mcp.Rules) {
			r.Manifest = func(tl *spec.Tool) map[string]any {
				m := mcp.Manifest(tl)
				delete(m, "outputSchema")
				return m
			}
		}, func(w *world) bool { return w.begun("primary").listAll()[0]["outputSchema"] != nil }},
		{"Page", func(r *mcp.Rules) {
			r.Page = func(from, size, total int) (int, bool) { return min(from+size, total-1), false }
		}, func(w *world) bool { return len(w.begun("primary").listAll()) == 7 }},
		{"Cursor", func(r *mcp.Rules) { r.Cursor = func(bool) bool { return true } },
			func(w *world) bool { return w.begun("primary").ask("tools/list", `{"cursor":"x"}`).Error != nil }},
		{"Result", func(r *mcp.Rules) {
			r.Result = func(tl *spec.Tool, a core.Answer) mcp.Reply {
				reply := mcp.ResultOf(tl, a)
				reply.Result.Structured = nil
				return reply
			}
		}, func(w *world) bool { return w.begun("primary").call("seer_market_bars", bars).tool() != nil }},
		{"Refusal", func(r *mcp.Rules) {
			r.Refusal = func(_ *spec.Tool, p *core.Problem) mcp.Reply {
				return mcp.Reply{Error: &mcp.Error{Code: -32603, Message: p.Detail}}
			}
		}, func(w *world) bool { return w.begun("primary").call("seer_market_bars", `{}`).isError() }},
		{"Respond", func(r *mcp.Rules) {
			r.Respond = func(_ string, a mcp.Response) mcp.Response { a.ID = []byte(`"p "`); return a }
		}, func(w *world) bool {
			r := w.caller("primary")
			return strings.Contains(fmt.Sprint(r.post(`{"jsonrpc":"2.0","id":7,"method":"initialize","params":`+initializeParams+`}`).body), `"id":7`)
		}},
	} {
		var broken mcp.Rules
		c.set(&broken)
		if !c.holds(serve(t, "seer", reference.MCP{Options: mcp.Options{Form: mcp.SSE}})) {
			t.Errorf("%s: the correct server does not hold it", c.name)
		}
		if c.holds(serve(t, "seer", reference.MCP{Options: mcp.Options{Form: mcp.SSE, Rules: broken}})) {
			t.Errorf("%s: a wrong rule does not show", c.name)
		}
	}
}

// TestCancels: a rule that answers what was cancelled shows too.
func TestCancels(t *testing.T) {
	for _, answers := range []bool{false, true} {
		s := &slow{operation: "getJob", entered: make(chan context.Context, 8), leave: make(chan struct{})}
		o := inForm(mcp.SSE)
		o.Domain = func(d core.Domain) core.Domain { s.Domain = d; return s }
		if answers {
			o.Rules.Cancels = func() bool { return false }
		}
		me := serve(t, "seer", o).begun("primary")
		answer := me.begin(t.Context())
		<-s.entered
		me.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow"}}`)
		resp := <-answer
		ms := read(t, resp).messages
		_ = resp.Body.Close()
		if got := len(ms) > 0 && string(ms[len(ms)-1].ID) == `"slow"`; got != answers {
			t.Errorf("answered: %t, want %t", got, answers)
		}
	}
}
