package seer

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"assay.kit/reference/core"
)

func usd(amount string) map[string]any {
	return map[string]any{"amount": amount, "asset": "USD", "scale": 2}
}

func orderBody(extra map[string]any) map[string]any {
	body := map[string]any{
		"kind": "order", "account_id": "acct_example_1", "instrument_id": apple, "side": "buy", "quantity": "10", "notional": usd("102000"),
	}
	for name, v := range extra {
		body[name] = v
	}
	return body
}

func (w *world) propose(extra map[string]any) string {
	w.t.Helper()
	return w.do(request{op: "createAction", body: orderBody(extra)})["action_id"].(string)
}

func (w *world) authorize(action, most string) string {
	w.t.Helper()
	return w.do(request{op: "authorizeAction", path: map[string]string{"action_id": action}, body: map[string]any{"max_notional": usd(most)}})["authorization_id"].(string)
}

func (w *world) action(id string) map[string]any {
	w.t.Helper()
	return w.do(request{op: "getAction", path: map[string]string{"action_id": id}})
}

func submissionOf(action, authorization string) request {
	return request{op: "submitAction", path: map[string]string{"action_id": action}, body: map[string]any{"authorization_id": authorization}}
}

func (w *world) states(resource string) (states []string) {
	w.t.Helper()
	items := w.do(request{op: "listEvents", query: map[string][]string{"resource_id": {resource}, "order": {"created_at"}}})["items"].([]any)
	for _, e := range items {
		states = append(states, e.(map[string]any)["state"].(string))
	}
	return states
}

func TestLifeOfAnAction(t *testing.T) {
	w := newWorld(t)
	notional := map[string]any{"amount": "905770000", "asset": "USD", "scale": json.Number("6")}
	id := w.propose(map[string]any{"notional": notional, "limit_price": nil})
	proposed := w.action(id)
	same(t, proposed["notional"], notional)
	if proposed["state"] != "proposed" || proposed["external_execution_id"] != nil {
		t.Errorf("%v", proposed)
	}
	auth := w.authorize(id, "90577")
	if got := w.action(id)["state"]; got != "authorized" {
		t.Errorf("state %v", got)
	}
	sub := submissionOf(id, auth)
	sub.key = "submit-once"
	first := w.do(sub)
	if first["action_url"] != "/v1/actions/"+id {
		t.Errorf("%v", first)
	}
	done := w.action(id)
	if done["state"] != "executed" || done["external_execution_id"] == nil {
		t.Errorf("%v", done)
	}
	same(t, w.do(sub), first) // the authorisation is used up, the replay is answered
	same(t, w.action(id), done)
	same(t, w.states(id), []string{"proposed", "authorized", "submitted", "executed"})
	w.refused(submissionOf(id, auth), 403, "FORBIDDEN")
}

func TestVenueDecides(t *testing.T) {
	w := newWorld(t)
	cents, traded := w.seer.lastClose(apple, w.clock.now)
	if !traded {
		t.Fatal("no close")
	}
	at := func(cents int64) map[string]any { return usd(fmt.Sprint(cents)) }
	for _, c := range []struct {
		name, most, state, reason string
		extra                     map[string]any
	}{
		{"market buy", "102000", "executed", "", nil},
		{"more than authorised", "101999", "rejected", "over_authorized_notional", nil},
		{"another asset than authorised", "102000", "rejected", "over_authorized_notional", map[string]any{"notional": map[string]any{"amount": "1", "asset": "EUR", "scale": 2}}},
		{"more than the account holds", "99999999999", "rejected", "insufficient_funds", map[string]any{"notional": usd("100000001")}},
		{"all that the account holds", "99999999999", "executed", "", map[string]any{"notional": usd("100000000")}},
		{"sale beyond the cash", "99999999999", "executed", "", map[string]any{"notional": usd("100000001"), "side": "sell"}},
		{"buy limit at the price", "102000", "executed", "", map[string]any{"limit_price": at(cents)}},
		{"buy limit below it", "102000", "rejected", "limit_not_met", map[string]any{"limit_price": at(cents - 1)}},
		{"sell limit at the price", "102000", "executed", "", map[string]any{"limit_price": at(cents), "side": "sell"}},
		{"sell limit above it", "102000", "rejected", "limit_not_met", map[string]any{"limit_price": at(cents + 1), "side": "sell"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := w.propose(c.extra)
			w.do(submissionOf(id, w.authorize(id, c.most)))
			got := w.action(id)
			if got["state"] != c.state {
				t.Fatalf("%v, want %s", got["state"], c.state)
			}
			var ex execution
			err := w.store.View(t.Context(), func(r core.Reader) error {
				res, err := r.Resource(kindExecution, got["external_execution_id"].(string))
				if err != nil {
					return err
				}
				return json.Unmarshal(res.Body, &ex)
			})
			if err != nil || ex.Reason != c.reason || ex.Action != id || (ex.Price == "") != (c.state == "rejected") {
				t.Errorf("record %+v, error %v; want reason %q", ex, err, c.reason)
			}
		})
	}
}

func TestAuthorizationIsBound(t *testing.T) {
	w := newWorld(t)
	one, two := w.propose(nil), w.propose(nil)
	auth := w.authorize(one, "102000")
	w.authorize(two, "102000")
	w.refused(submissionOf(two, auth), 403, "FORBIDDEN")
	w.refused(submissionOf(one, "auth_unknown"), 404, "NOT_FOUND")
	foreign := submissionOf(one, auth)
	foreign.who = "second_workspace"
	w.refused(foreign, 404, "NOT_FOUND")
	w.refused(request{op: "authorizeAction", path: map[string]string{"action_id": one}, body: map[string]any{"max_notional": usd("1")}}, 409, "STATE_CONFLICT")
	if w.action(one)["state"] != "authorized" || w.action(two)["state"] != "authorized" {
		t.Error("a refusal moved an action")
	}
	w.do(submissionOf(one, auth))
}

func TestRevocation(t *testing.T) {
	w := newWorld(t)
	id := w.propose(nil)
	auth := w.authorize(id, "102000")
	revoke := request{op: "revokeAuthorization", path: map[string]string{"authorization_id": auth}}
	first := w.do(revoke)
	if first["state"] != "revoked" || w.action(id)["state"] != "proposed" {
		t.Errorf("%v, action %v", first, w.action(id)["state"])
	}
	same(t, w.do(revoke), first)
	w.refused(submissionOf(id, auth), 403, "FORBIDDEN")
	again := w.authorize(id, "102000")
	same(t, w.do(revoke), first) // the old one stays revoked, and the new one active
	w.do(submissionOf(id, again))
	revoke.path = map[string]string{"authorization_id": again}
	if used := w.do(revoke); used["state"] != "used" || w.action(id)["state"] != "executed" {
		t.Errorf("%v", used)
	}
}

func TestAuthorizationExpires(t *testing.T) {
	w := newWorld(t)
	id := w.propose(nil)
	auth := w.authorize(id, "102000")
	w.clock.now = w.clock.now.Add(899 * time.Second)
	w.refused(request{op: "authorizeAction", path: map[string]string{"action_id": id}, body: map[string]any{"max_notional": usd("1")}}, 409, "STATE_CONFLICT")
	w.clock.now = w.clock.now.Add(time.Second)
	w.refused(submissionOf(id, auth), 403, "FORBIDDEN")
	next := w.authorize(id, "102000")
	revoke := request{op: "revokeAuthorization", path: map[string]string{"authorization_id": auth}}
	if old := w.do(revoke); old["state"] != "expired" {
		t.Errorf("%v", old)
	}
	w.do(submissionOf(id, next))
	same(t, w.states(id), []string{"proposed", "authorized", "proposed", "authorized", "submitted", "executed"})

	late := w.propose(nil)
	auth = w.authorize(late, "1")
	w.clock.now = w.clock.now.Add(time.Hour)
	revoke.path = map[string]string{"authorization_id": auth}
	if old := w.do(revoke); old["state"] != "expired" || w.action(late)["state"] != "proposed" {
		t.Errorf("%v", old)
	}
}

func TestActionReferences(t *testing.T) {
	w := newWorld(t)
	for _, extra := range []map[string]any{{"account_id": "acct_unknown"}, {"instrument_id": "nobody"}} {
		w.refused(request{op: "createAction", body: orderBody(extra)}, 404, "NOT_FOUND")
	}
	w.refused(request{op: "createAction", who: "second_workspace", body: orderBody(nil)}, 404, "NOT_FOUND")
	if items := w.do(request{op: "listActions"})["items"].([]any); len(items) != 0 {
		t.Errorf("refusals left %v", items)
	}
}

// Of many submissions of one action with keys of their own, one goes through.
func TestOneSubmissionWins(t *testing.T) {
	w := newWorld(t)
	id := w.propose(nil)
	auth := w.authorize(id, "102000")
	var mu sync.Mutex
	var wg sync.WaitGroup
	statuses := map[int]int{}
	op := w.contract.Op("submitAction")
	for i := range 8 {
		wg.Go(func() {
			ans, p := w.core.Do(t.Context(), core.Request{
				Op: op, Principal: w.principals["primary"], Path: map[string]string{"action_id": id}, EscapedPath: "/v1/actions/" + id + "/submissions",
				Header: func(string) string { return fmt.Sprintf("key-%d", i) }, Body: []byte(`{"authorization_id": "` + auth + `"}`),
			})
			status := ans.Status
			if p != nil {
				status = p.Status
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
		})
	}
	wg.Wait()
	if statuses[202] != 1 || statuses[403] != 7 {
		t.Errorf("answers by status: %v", statuses)
	}
	var n int
	err := w.store.View(t.Context(), func(r core.Reader) error {
		all, err := r.Scan(core.Query{Kind: kindExecution, AnyWorkspace: true, AnyParent: true, Limit: 10})
		n = len(all)
		return err
	})
	if err != nil || n != 1 {
		t.Errorf("%d executions, error %v", n, err)
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		a, b money
		want bool
	}{
		{money{"100", "USD", 2}, money{"1", "USD", 0}, true},
		{money{"99", "USD", 2}, money{"1", "USD", 0}, false},
		{money{"1", "USD", 0}, money{"1000000000000000000", "USD", 18}, true},
		{money{"999999999999999999", "USD", 18}, money{"1", "USD", 0}, false},
		{money{"100", "EUR", 2}, money{"1", "USD", 2}, false},
	} {
		if got, err := c.a.covers(c.b); err != nil || got != c.want {
			t.Errorf("%v covers %v: %v, %v", c.a, c.b, got, err)
		}
	}
	if _, err := (money{"1.5", "USD", 2}).covers(money{"1", "USD", 2}); err == nil {
		t.Error("a fraction is taken for an integer")
	}
}
