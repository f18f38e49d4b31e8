package seer

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
)

// actions judges the lifecycle of financial actions: what an authorisation is good for, and what one
// submission does. Every check of it needs a target that moves no real money.
func actions() []check.Check {
	sel := withCalls(on("submitAction"), "createAction", "authorizeAction", "getAction", "revokeAuthorization")
	return []check.Check{
		{
			ID:   "actions.authority",
			Does: "Submits actions with authorisations of other actions, with revoked and with used ones.",
			Claims: []check.Claim{
				{ID: "actions.bound", Says: "An authorisation serves its own action only: another action's is refused with 403, and neither action moves."},
				{ID: "actions.revoked", Says: "A revoked authorisation is refused at submission."},
				{ID: "actions.used", Says: "An authorisation that has served its submission is refused at another one."},
				{ID: "actions.revocation", Says: "Revoking an active authorisation makes its action proposed again; revoking twice changes nothing more; a used one stays used."},
			},
			Select: sel,
			Cost:   check.Cost{Requests: 80},
			Run:    actionsAuthority,
		},
		{
			ID:   "actions.execution",
			Does: "Submits, repeats the submission one by one and at once, and compares what the venue gave with that of an equal action under an equal key.",
			Claims: []check.Claim{
				{ID: "actions.once", Says: "Repeating a submission executes nothing again: the action keeps one execution and one external identity."},
				{ID: "actions.identity", Says: "The venue's identity of an execution is neither the key nor derived from key or payload: equal ones give different identities."},
				{ID: "actions.history", Says: "The event log shows every state of an action, each one transition after the one before."},
			},
			Select: sel,
			Cost:   check.Cost{Requests: 120},
			Run:    actionsExecution,
		},
		{
			ID:   "actions.race",
			Does: "Revokes an authorisation while it is submitted, and submits with it several times at once.",
			Claims: []check.Claim{
				{ID: "actions.revoke-or-use", Says: "Of a revocation and a submission at once one comes first: the authorisation ends as used or as revoked, and the action accordingly."},
				{ID: "actions.once", Says: "Repeating a submission executes nothing again: the action keeps one execution and one external identity."},
			},
			Select: sel,
			Cost:   check.Cost{Requests: 200},
			Run:    actionsRace,
		},
		{
			ID:     "actions.walk",
			Does:   "Authorises, revokes and submits two actions in drawn orders, with any of their authorisations, beside a model of what must come of it.",
			Claims: []check.Claim{{ID: "actions.model", Says: "Every step is answered, and leaves actions and authorisations, as the contract's rules give it."}},
			Select: sel,
			Cost:   check.Cost{Requests: 700},
			Run:    actionsWalk,
		},
		{
			ID:   "actions.rotation",
			Does: "Authorises with the old of two rotated credentials and submits with the new one what was not authorised, was revoked, or is another action's.",
			Claims: []check.Claim{
				{ID: "actions.not-implied", Says: "A replacement token implies no authorisation: without one of its own, an action is not submitted under it either."},
				{ID: "actions.own-revocation", Says: "Revoking an authorisation takes it from every token, and takes nothing else from them."},
			},
			Needs:  []target.Capability{target.Rotated},
			Select: sel,
			Cost:   check.Cost{Requests: 60},
			Run:    actionsRotation,
		},
		{
			ID:   "actions.expiry",
			Does: "Lets an authorisation run out, and later the key of a submission.",
			Claims: []check.Claim{
				{ID: "actions.expired", Says: "An authorisation whose time is over is refused at submission."},
				{ID: "actions.identity-kept", Says: "The external identity of an execution outlives the key of its submission, and nothing is executed when that key is used again."},
			},
			Needs:  []target.Capability{target.AdvanceClock},
			Lock:   check.Target,
			Select: sel,
			Cost:   check.Cost{Requests: 60},
			Run:    actionsExpiry,
		},
	}
}

// order is an action of the case with what was learnt of it.
type order struct {
	t  *check.T
	as string
	id string
}

// propose creates an action with the contract's first example.
func propose(t *check.T, as string) order {
	op := operation(t, "createAction")
	body := members(resolved(t, op.Body.Examples[0].Value))
	if here(t, "listAccounts") {
		ex := ask{op: "listAccounts", as: as, q: url.Values{"limit": {"1"}}}.send(t)
		if id := textAt(decoded(ex), "/items/0/account_id"); id != "" && t.Profile().Values["account_id"] == nil {
			body["account_id"] = id
		}
	}
	ex := ask{op: "createAction", as: as, body: body}.send(t)
	id := field(ex, "/action_id")
	if id == "" {
		t.Inconclusive("no action could be proposed: %s", short(ex))
	}
	return order{t: t, as: as, id: id}
}

func (o order) path() map[string]string { return map[string]string{"action_id": o.id} }

// authorize asks for an authorisation.
func (o order) authorize() wire.Exchange {
	body := members(resolved(o.t, operation(o.t, "authorizeAction").Body.Examples[0].Value))
	return ask{op: "authorizeAction", as: o.as, path: o.path(), body: body}.send(o.t)
}

// authorized is authorize where it must be given; it returns the authorisation.
func (o order) authorized() string {
	ex := o.authorize()
	id := field(ex, "/authorization_id")
	if id == "" {
		o.t.Inconclusive("an action that was just proposed was not authorised: %s", short(ex))
	}
	return id
}

// submission is the request to submit with an authorisation.
func (o order) submission(authorization, key string) ask {
	return ask{op: "submitAction", as: o.as, path: o.path(), key: key, body: map[string]any{"authorization_id": authorization}}
}

func (o order) submit(authorization string) wire.Exchange {
	return o.submission(authorization, "").send(o.t)
}

// look reads the action.
func (o order) look() any {
	ex := ask{op: "getAction", as: o.as, path: o.path()}.send(o.t)
	if ex.Status() != 200 {
		o.t.Inconclusive("an action that was proposed could not be read: %s", short(ex))
	}
	return decoded(ex)
}

func (o order) state() string { return textAt(o.look(), "/state") }

const venueTime = 10 * time.Second

// decided waits until the venue has decided a submitted action.
func (o order) decided() any {
	for began := o.t.Now(); ; {
		v := o.look()
		if textAt(v, "/state") != "submitted" || o.t.Now()-began > venueTime {
			return v
		}
		o.t.Pause(20 * time.Millisecond)
	}
}

func execution(action any) string { return textAt(action, "/external_execution_id") }

func revoke(t *check.T, as, authorization string) wire.Exchange {
	return ask{op: "revokeAuthorization", as: as, path: map[string]string{"authorization_id": authorization}}.send(t)
}

// judgeStays judges that an action is what it was.
func judgeStays(t *check.T, claim string, o order, before any, when string) {
	now := o.look()
	diff := oracle.Diff(before, now, nil)
	t.Judge(claim, len(diff) == 0, fmt.Sprintf("the action as it was, %s: %.300s", when, encode(before)), fmt.Sprintf("%.300s, different at %v", encode(now), diff))
}

func actionsAuthority(_ context.Context, t *check.T, _ check.Subject) {
	judgeBound(t)
	o := propose(t, role)
	auth := o.authorized()
	first := revoke(t, role, auth)
	t.Judge("actions.revocation", admitted(first) && field(first, "/state") == "revoked", "the authorisation, revoked", short(first))
	t.Judge("actions.revocation", o.state() == "proposed", "an action that is proposed again", o.state())
	again := revoke(t, role, auth)
	diff := oracle.Diff(decoded(first), decoded(again), nil)
	t.Judge("actions.revocation", admitted(again) && len(diff) == 0, "the same answer to a second revocation", fmt.Sprintf("%s, different at %v", short(again), diff))
	before := o.look()
	ex := o.submit(auth)
	t.Judge("actions.revoked", refusedAs(t, ex, "forbidden") || refusedAs(t, ex, "state_conflict"), "a refusal of a revoked authorisation", short(ex))
	judgeStays(t, "actions.revoked", o, before, "after the refusal")

	renewed := o.authorize() // the old one stays revoked, and the new one active
	next := field(renewed, "/authorization_id")
	t.Must("actions.revocation", next != "", "a new authorisation of an action whose old one was revoked", short(renewed))
	revoke(t, role, auth)
	t.Judge("actions.revocation", o.state() == "authorized", "an action that a newer authorisation keeps authorised", o.state())
	ex = o.submit(auth)
	t.Judge("actions.revoked", refusedAs(t, ex, "forbidden"), refusal(t, "forbidden")+" for the revoked one of two authorisations", short(ex))
	ex = o.submit(next)
	t.Judge("actions.revocation", admitted(ex), "a 2xx for the newer authorisation", short(ex))
	done := o.decided()
	ex = o.submit(next)
	t.Judge("actions.used", refusedAs(t, ex, "forbidden") || refusedAs(t, ex, "state_conflict"), "a refusal of a used authorisation", short(ex))
	judgeStays(t, "actions.used", o, done, "after the refusal")
	late := revoke(t, role, next)
	t.Judge("actions.revocation", admitted(late) && field(late, "/state") == "used", "an authorisation that stays used", short(late))
	judgeStays(t, "actions.revocation", o, done, "after its used authorisation was revoked")
}

// judgeBound submits each of two actions with the other's authorisation.
func judgeBound(t *check.T) {
	one, two, bare := propose(t, role), propose(t, role), propose(t, role)
	a, b := one.authorized(), two.authorized()
	before := []any{one.look(), two.look(), bare.look()}
	for _, c := range []struct {
		o    order
		auth string
	}{{one, b}, {two, a}, {bare, a}} {
		ex := c.o.submit(c.auth)
		t.Judge("actions.bound", refusedAs(t, ex, "forbidden") || c.o.id == bare.id && refusedAs(t, ex, "state_conflict"),
			refusal(t, "forbidden")+" for another action's authorisation", short(ex))
	}
	unknown := one.submit("assay-" + t.Nonce())
	t.Judge("actions.bound", turnedDown(unknown), "a 4xx for an authorisation that never was", short(unknown))
	for i, o := range []order{one, two, bare} {
		judgeStays(t, "actions.bound", o, before[i], "after the refusals")
	}
	for _, c := range []struct {
		o    order
		auth string
	}{{one, a}, {two, b}} {
		ex := c.o.submit(c.auth)
		t.Judge("actions.bound", admitted(ex), "a 2xx for its own authorisation", short(ex))
	}
}

func actionsExecution(_ context.Context, t *check.T, _ check.Subject) {
	one, two := propose(t, role), propose(t, role)
	key := t.Key()
	asks := []ask{one.submission(one.authorized(), key), two.submission(two.authorized(), key)}
	var ids []string
	for i, o := range []order{one, two} {
		first := asks[i].send(t)
		if !admitted(first) {
			t.Inconclusive("an authorised action was not submitted: %s", short(first))
		}
		done := o.decided()
		id := execution(done)
		t.Judge("actions.once", id != "", "an external identity once the venue has decided", fmt.Sprintf("%.300s", encode(done)))
		ids = append(ids, id)
		for range 3 {
			again := asks[i].send(t)
			diff := oracle.Diff(decoded(first), decoded(again), nil)
			t.Judge("actions.once", admitted(again) && len(diff) == 0, "the first answer to the submission", fmt.Sprintf("%s, different at %v", short(again), diff))
		}
		t.Lanes(4, func(lane *check.T, _ int) { lane.Call(role, asks[i].request(lane)) })
		judgeStays(t, "actions.once", o, done, "after repetitions of its submission")
		judgeActionHistory(t, o)
		t.Judge("actions.identity", id != key, "another identity than the key "+key, id)
	}
	t.Judge("actions.identity", ids[0] != ids[1], "two identities for two submissions under equal keys and payloads", ids[0]+" twice")
}

// judgeActionHistory reads all events of an action, oldest first.
func judgeActionHistory(t *check.T, o order) {
	m := t.Contract().Machine("action")
	states, ok := history(t, o.id)
	if m == nil || !ok {
		t.NotApplicable("actions.history", "the target has no event log")
		return
	}
	machine := oracle.Machine{Initial: m.Initial, Transitions: m.Transitions, Terminal: m.Terminal, Open: m.Open}
	err := machine.History(states)
	t.Judge("actions.history", err == nil && len(states) > 0 && states[len(states)-1] == o.state(),
		"the states of action "+o.id+" from "+m.Initial+" to "+o.state(), fmt.Sprintf("%v: %v", states, err))
	n := 0
	for _, s := range states {
		if m.Transitions[s] == nil && slices.Contains(m.Terminal, s) {
			n++
		}
	}
	t.Judge("actions.once", n == 1, "one end of the action in its events", fmt.Sprint(states))
}

const raceRounds = 6

func actionsRace(_ context.Context, t *check.T, _ check.Subject) {
	for round := range raceRounds {
		t.Attempt(func(t *check.T) { raceRevocation(t, round) })
	}
}

// raceRevocation sends a revocation and several submissions under keys of their own at once.
func raceRevocation(t *check.T, round int) {
	o := propose(t, role)
	auth := o.authorized()
	const lanes = 4
	answers := make([]wire.Exchange, lanes)
	revoker := round % lanes
	t.Lanes(lanes, func(lane *check.T, i int) {
		if i == revoker && round%3 != 2 { // every third round is of submissions alone
			answers[i] = ask{op: "revokeAuthorization", path: map[string]string{"authorization_id": auth}}.send(lane)
			return
		}
		answers[i] = lane.Call(role, o.submission(auth, lane.Key()).request(lane))
	})
	used := 0
	for i, ex := range answers {
		submission := i != revoker || round%3 == 2
		if submission && admitted(ex) {
			used++
		}
		ok := admitted(ex) || submission && (refusedAs(t, ex, "forbidden") || refusedAs(t, ex, "state_conflict"))
		t.Judge("actions.revoke-or-use", ok, "a 2xx, or a refusal of the authorisation", short(ex))
	}
	t.Judge("actions.once", used <= 1, "at most one submission with one authorisation", fmt.Sprintf("%d of %d", used, lanes))
	want, end := "revoked", "proposed"
	if used > 0 {
		want, end = "used", "executed or rejected"
	}
	final := revoke(t, role, auth)
	t.Judge("actions.revoke-or-use", field(final, "/state") == want, "an authorisation that is "+want, short(final))
	state := textAt(o.decided(), "/state")
	ok := used == 0 && state == "proposed" || used > 0 && slices.Contains([]string{"submitted", "executed", "rejected"}, state)
	t.Judge("actions.revoke-or-use", ok, "an action that is "+end, state)
	if used > 0 {
		judgeSubmittedOnce(t, o)
	}
}

// judgeSubmittedOnce counts the submissions that the event log shows.
func judgeSubmittedOnce(t *check.T, o order) {
	states, ok := history(t, o.id)
	if !ok {
		return
	}
	n := 0
	for _, s := range states {
		if s == "submitted" {
			n++
		}
	}
	t.Judge("actions.once", n == 1, "one submission among the events of the action", fmt.Sprint(states))
}

func actionsRotation(_ context.Context, t *check.T, _ check.Subject) {
	const earlier, later = target.RotatedOld, target.RotatedNew
	authorised, bare, taken := propose(t, earlier), propose(t, earlier), propose(t, earlier)
	auth, gone := authorised.authorized(), taken.authorized()
	if ex := revoke(t, earlier, gone); !admitted(ex) {
		t.Inconclusive("an authorisation could not be revoked: %s", short(ex))
	}
	before := []any{authorised.look(), bare.look(), taken.look()}
	under := func(o order) order { o.as = later; return o }
	for _, c := range []struct {
		claim, what string
		o           order
		auth        string
	}{
		{"actions.not-implied", "an action that was never authorised", bare, auth},
		{"actions.not-implied", "an authorisation that never was", authorised, "assay-" + t.Nonce()},
		{"actions.own-revocation", "an authorisation that was revoked under the other token", taken, gone},
	} {
		ex := under(c.o).submit(c.auth)
		t.Judge(c.claim, turnedDown(ex), "a refusal under the replacement token: "+c.what, short(ex))
	}
	for i, o := range []order{authorised, bare, taken} {
		judgeStays(t, "actions.not-implied", o, before[i], "after the refusals")
	}
	for _, as := range []string{earlier, later} {
		ex := ask{op: "getConnection", as: as}.send(t)
		t.Judge("actions.own-revocation", ex.Status() == 200, "a token that works after an authorisation was revoked", short(ex))
	}
	ex := authorised.submit(auth)
	t.Judge("actions.own-revocation", admitted(ex), "a 2xx for the authorisation that was not revoked", short(ex))
}

func actionsExpiry(_ context.Context, t *check.T, _ check.Subject) {
	o := propose(t, role)
	body := members(resolved(t, operation(t, "authorizeAction").Body.Examples[0].Value))
	ex := ask{op: "authorizeAction", path: o.path(), body: with(body, "valid_seconds", 5)}.send(t)
	auth := field(ex, "/authorization_id")
	if auth == "" {
		t.Inconclusive("no authorisation for five seconds was given: %s", short(ex))
	}
	good := propose(t, role)
	key := t.Key()
	sub := good.submission(good.authorized(), key)
	first := sub.send(t)
	done := good.decided()
	if !admitted(first) || execution(done) == "" {
		t.Inconclusive("no action was executed: %s", short(first))
	}
	t.Hook(target.AdvanceClock, map[string]string{"seconds": "6"})
	ex = o.submit(auth)
	t.Judge("actions.expired", refusedAs(t, ex, "forbidden") || refusedAs(t, ex, "state_conflict"), "a refusal of an authorisation that has expired", short(ex))
	state := o.state()
	t.Judge("actions.expired", state == "proposed" || state == "authorized", "an action that is not submitted", state)
	again := o.authorize()
	t.Judge("actions.expired", admitted(again), "a new authorisation in place of the expired one", short(again))

	// Well past the retention of the submission's key.
	retention := fmt.Sprint(at(connection(t, role), "/idempotency_retention_seconds"))
	t.Hook(target.AdvanceClock, map[string]string{"seconds": retention})
	t.Hook(target.AdvanceClock, map[string]string{"seconds": "5"})
	judgeStays(t, "actions.identity-kept", good, done, "after its submission's key had expired")
	ex = sub.send(t)
	t.Judge("actions.identity-kept", turnedDown(ex) || admitted(ex) && field(ex, "/submission_id") == field(first, "/submission_id"),
		"a refusal, or the first submission again", short(ex))
	judgeStays(t, "actions.identity-kept", good, done, "after the key was used again")
}
