package suite

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

func accessRotation() []check.Check {
	return []check.Check{
		{
			ID:   "access.rotation",
			Does: "Creates with the old credential of a rotation and repeats it with the new one.",
			Claims: []check.Claim{
				{ID: "access.overlap", Says: "Both credentials of a rotation work until the old one is retired."},
				{ID: "access.rotation-key", Says: "A key that the old credential bound leads to the original with the new one."},
			},
			Needs:  []target.Capability{target.Rotated},
			Select: keyed,
			Cost:   check.Cost{Requests: 60, Jobs: 1},
			Run:    runRotation,
		},
		{
			ID:   "access.rotation-walk",
			Does: "Begins a walk with the old credential of a rotation and goes on with the new one.",
			Claims: []check.Claim{
				{ID: "access.overlap", Says: "Both credentials of a rotation work until the old one is retired."},
				{ID: "access.rotation-cursor", Says: "A cursor that the old credential was given goes on under the new one."},
			},
			Needs:  []target.Capability{target.Rotated},
			Select: func(c *spec.Contract) []check.Subject { return only(selectFed(c), isSized) },
			Cost:   check.Cost{Requests: 60, Jobs: 1},
			Run:    runRotationWalk,
		},
		{
			ID:   "access.retired",
			Does: "Retires the old credential of a rotation after it has created something, and repeats that with both.",
			Claims: []check.Claim{
				{ID: "access.overlap", Says: "Both credentials of a rotation work until the old one is retired."},
				{ID: "access.retired", Says: "A retired credential is refused with 401 from then on, replays included."},
				{ID: "access.challenge", Says: "A 401 challenges for a bearer token (RFC 9110 §11.6.1, RFC 6750 §3)."},
				{ID: "access.successor", Says: "The new credential of a rotation works on when the old one is retired."},
			},
			Needs:  []target.Capability{target.Rotated, target.RetireToken},
			Lock:   check.Target,
			Select: selectOneCreation,
			Cost:   check.Cost{Requests: 40, Jobs: 1},
			Run:    runRetired,
		},
	}
}

// selectOneCreation gives the creation that costs least, without financial effect.
func selectOneCreation(c *spec.Contract) []check.Subject {
	for _, op := range keyedOps(c) {
		if op.Effect != spec.EffectFinancial && op.Moves == nil {
			return subjects([]*spec.Operation{op})
		}
	}
	return nil
}

const oldRole, newRole = target.RotatedOld, target.RotatedNew

// judgeOverlap judges that the old credential is accepted. Without a way to take its retirement back
// an earlier run may have retired it, and that says nothing.
func judgeOverlap(t *check.T, ex wire.Exchange) {
	if ex.Status() == http.StatusUnauthorized && !t.Profile().Has(target.RestoreToken) {
		t.Inconclusive("the old credential is refused already: %s; issue a new rotation, or add the hook %s", describe(ex), target.RestoreToken)
	}
	t.Must("access.overlap", ex.Status() != http.StatusUnauthorized, "an answer to the old credential of the rotation", describe(ex))
}

// rotating builds a creation of the old credential, on resources of its own.
func rotating(t *check.T, op *spec.Operation) (c *creation, first wire.Exchange) {
	c = newCreation(t, op, specimens(t, op)[0])
	c.counted = false
	// Of the old credential everything: it may belong to another workspace than the primary one.
	if alive := livesIn(t, oldRole); alive.Status() != 0 {
		judgeOverlap(t, alive)
	}
	c.in = exampleIntent(t, op, oldRole, map[string]string{}, c.example)
	first = c.send(c.in)
	judgeOverlap(t, first)
	if !admitted(first) {
		t.Inconclusive("the old credential was answered %s, so a replay would prove nothing", describe(first))
	}
	return c, first
}

// livesIn asks for something that any credential may ask for; the zero Exchange if nothing is.
func livesIn(t *check.T, role string) wire.Exchange {
	for _, op := range t.Contract().Ops {
		if !op.Public && op.Method == http.MethodGet && len(op.Params) == len(optional(op)) && !t.Profile().IsAbsent(op.ID) {
			return t.Call(role, intent{op: op, role: role}.request())
		}
	}
	return wire.Exchange{}
}

// optional are the parameters that an operation can be called without.
func optional(op *spec.Operation) []spec.Param {
	return slices.DeleteFunc(slices.Clone(op.Params), func(p spec.Param) bool { return p.Required || p.In == "path" })
}

func runRotation(_ context.Context, t *check.T, s check.Subject) {
	const claim = "access.rotation-key"
	c, first := rotating(t, s.Op)
	ex := c.send(c.in.as(newRole))
	t.Judge("access.overlap", ex.Status() != http.StatusUnauthorized, "an answer to the new credential of the rotation", describe(ex))
	if t.Judge(claim, c.same(first, ex), c.replayOf(first)+", with the new credential", describe(ex)) {
		other := c.otherPayload(specimens(t, s.Op))
		if other == nil || s.Op.Moves != nil {
			return
		}
		conflict := s.Op.Idempotency.Conflict
		if ex := c.send(c.in.as(newRole).with(other)); admitted(ex) || ex.Status() == conflict.Status {
			t.Judge(claim, refused(t, ex, conflict), wanted(conflict)+" for another payload, with the new credential", describe(ex))
		}
	}
}

func runRotationWalk(_ context.Context, t *check.T, s check.Subject) {
	if alive := livesIn(t, oldRole); alive.Status() != 0 {
		judgeOverlap(t, alive)
	}
	f := newFeeder(t, s.Op, oldRole)
	f.add(t, 3)
	b, ok := marked(t, f.list, "access.rotation-cursor")
	if !ok {
		return
	}
	t.Judge("access.overlap", true, "", "")
	l := b.list
	l.role = newRole
	p, why := l.parse(t.Call(newRole, l.request(b.cursor)))
	t.Judge("access.rotation-cursor", why == "" && slices.Equal(p.ids, b.after.ids), "the page that the old credential is given", describe(p.ex))
}

func runRetired(_ context.Context, t *check.T, s check.Subject) {
	t.Undo(target.RestoreToken, nil) // an earlier run may have retired it
	c, first := rotating(t, s.Op)
	t.Hook(target.RetireToken, nil)
	defer t.Undo(target.RestoreToken, nil)
	tries := []intent{c.in.as(oldRole), c.in.as(oldRole).keyed(t.Key())}
	if read := t.Contract().Op(s.Op.Creates.Read); read != nil && !t.Profile().IsAbsent(read.ID) {
		tries = append(tries, intent{op: read, role: oldRole, path: map[string]string{lastParam(read): createdID(s.Op, first)}})
	}
	for _, in := range tries {
		ex := t.Call(oldRole, in.request())
		judge401(t, "access.retired", ex, "with the retired credential at "+in.op.ID)
		t.Judge("access.retired", !mentions(ex, createdID(s.Op, first)), "nothing of the original", describe(ex))
	}
	ex := c.send(c.in.as(newRole))
	t.Judge("access.successor", c.same(first, ex), c.replayOf(first)+", with the new credential", describe(ex))
	ex = c.send(exampleIntent(t, s.Op, newRole, map[string]string{}, c.example))
	t.Judge("access.successor", admitted(ex), "a 2xx for a new request with the new credential", describe(ex))
}

// accessAuthority judges what a caller must hold beyond scopes.
func accessAuthority() []check.Check {
	return []check.Check{
		{
			ID:   "access.grant",
			Does: "Revokes a grant between two requests under one configuration, and gives it back.",
			Claims: []check.Claim{
				{ID: "access.grant", Says: "A revoked grant is missing from the next request on, also under a configuration that names it."},
				{ID: "access.grant-kept", Says: "Revoking a grant rewrites no configuration."},
				{ID: "access.nothing-admitted", Says: "A request without authority admits nothing, moves nothing, and leaves its key free."},
			},
			Needs:  []target.Capability{target.RevokeGrant, target.RestoreGrant},
			Lock:   check.Target,
			Select: holding("grant"),
			Cost:   check.Cost{Requests: 80, Jobs: 1},
			Run:    runGrant,
		},
		{
			ID:   "access.entitlement",
			Does: "Sends requests that need a data entitlement with a credential that has every scope and no entitlement.",
			Claims: []check.Claim{
				{ID: "access.entitlement", Says: "A missing entitlement is refused with 403, whatever scopes there are."},
				{ID: "access.nothing-admitted", Says: "A request without authority admits nothing, moves nothing, and leaves its key free."},
			},
			Needs:  []target.Capability{target.WithoutEntitlement},
			Select: holding("entitlement"),
			Cost:   check.Cost{Requests: 80, Jobs: 1},
			Run:    withoutAuthority(target.WithoutEntitlement, "access.entitlement", ""),
		},
		{
			ID:   "access.budget",
			Does: "Sends requests that are charged to a budget with a credential whose budget is used up.",
			Claims: []check.Claim{
				{ID: "access.budget", Says: "A request that is charged to an exhausted budget is refused."},
				{ID: "access.budget-code", Says: "An exhausted budget is refused with the contract's status and code for it."},
				{ID: "access.nothing-admitted", Says: "A request without authority admits nothing, moves nothing, and leaves its key free."},
			},
			Needs:  []target.Capability{target.ExhaustedBudget},
			Select: holding("budget"),
			Cost:   check.Cost{Requests: 80, Jobs: 1},
			Run:    withoutAuthority(target.ExhaustedBudget, "access.budget", "access.budget-code"),
		},
	}
}

// holding selects creations by what a caller must hold.
func holding(authority string) func(*spec.Contract) []check.Subject {
	return func(c *spec.Contract) []check.Subject {
		return only(keyed(c), func(s check.Subject) bool { return slices.Contains(s.Op.Authority, authority) })
	}
}

// refusedFor is how a lack of authority is refused: with the contract's code, or any 403.
func refusedFor(t *check.T, kind string) spec.Refusal {
	if r, ok := t.Contract().Doc.Codes[kind]; ok {
		return r
	}
	return spec.Refusal{Status: http.StatusForbidden}
}

func runGrant(_ context.Context, t *check.T, s check.Subject) {
	const claim = "access.grant"
	t.Undo(target.RestoreGrant, nil) // an earlier run may have broken off
	c := newCreation(t, s.Op, specimens(t, s.Op)[0])
	if ex := c.send(c.in); !admitted(ex) {
		t.Inconclusive("the request was answered %s with every grant", describe(ex))
	}
	before := pinnedView(t, c)
	there := c.exist()
	next := c.fresh(c.in.body)
	t.Hook(target.RevokeGrant, nil)
	restored := false
	defer func() {
		if !restored {
			t.Undo(target.RestoreGrant, nil)
		}
	}()
	want := refusedFor(t, "forbidden")
	for range 2 {
		ex := c.send(next)
		t.Judge(claim, ex.Status() == want.Status, wanted(want)+" at the next request after the grant was revoked", describe(ex))
	}
	if after := pinnedView(t, c); before != nil {
		t.Judge("access.grant-kept", after != nil && len(differences(t, s.Op, before, after)) == 0, string(encode(before)), string(encode(after)))
	} else {
		t.NotApplicable("access.grant-kept", "the request names no configuration that can be read")
	}
	if c.counted {
		c.judgeUnchanged("access.nothing-admitted", there)
	}
	restored = t.Undo(target.RestoreGrant, nil)
	if !restored {
		t.Inconclusive("the grant could not be given back")
	}
	ex := c.send(next)
	t.Judge("access.nothing-admitted", admitted(ex), "a 2xx under the key of the refused request when the grant is back", describe(ex))
}

// pinnedView reads what a creation's body refers to and never changes; nil if there is nothing such.
func pinnedView(t *check.T, c *creation) any {
	for _, ref := range c.op.Refs {
		read := readerOf(t.Contract(), ref.Resource)
		id, there := tree.Get(c.in.body, ref.Pointer)
		if ref.In != "body" || !there || read == nil || !read.Immutable || t.Profile().IsAbsent(read.ID) {
			continue
		}
		ex := t.Call(primary, reading(t, read, primary, text(id)))
		if body, err := bodyOf(ex); err == nil && admitted(ex) {
			return body
		}
	}
	return nil
}

// withoutAuthority sends each kind of request as a role that lacks what the operation asks for. The
// primary credential shows first that it is admitted.
func withoutAuthority(role target.Capability, claim, coded string) func(context.Context, *check.T, check.Subject) {
	return func(_ context.Context, t *check.T, s check.Subject) {
		who := string(role)
		judgeAlive(t, who)
		for _, sm := range specimens(t, s.Op) { // those are admitted with every authority
			c := newCreation(t, s.Op, sm)
			c.counted = false
			c.in = exampleIntent(t, s.Op, who, map[string]string{}, sm.example)
			ex := c.send(c.in)
			t.Judge(claim, ex.Status() == http.StatusForbidden || coded != "" && refused(t, ex, refusedFor(t, "budget_exhausted")),
				"a refusal for want of authority", describe(ex))
			if coded != "" {
				want := refusedFor(t, "budget_exhausted")
				t.Judge(coded, refused(t, ex, want), wanted(want), describe(ex))
			}
			again := c.send(c.in)
			t.Judge(claim, !admitted(again), "a refusal again, for the same request under the same key", describe(again))
			judgeUnused(t, c, who)
		}
	}
}

// judgeUnused looks in the collection, as the refused caller, for anything that it made.
func judgeUnused(t *check.T, c *creation, role string) {
	const claim = "access.nothing-admitted"
	list := c.shownBy()
	if list == nil || list.Collection.Isolate == nil {
		t.NotApplicable(claim, "the contract gives no way to count what "+c.op.ID+" creates")
		return
	}
	iso := list.Collection.Isolate
	if iso.Path == "" && iso.Member == "" {
		t.NotApplicable(claim, "the contract gives no way to tell the case's items from others'")
		return
	}
	in := c.in
	l := listing{op: list, role: role, path: in.path, query: map[string][]string{}}
	if iso.Path == "" {
		own := ownMember(t, c, iso.Member, role)
		if own == nil {
			t.NotApplicable(claim, "nothing of the refused caller's own tells its items from others'")
			return
		}
		in = *own
		v, _ := tree.Get(in.body, iso.Member)
		l.member, l.value = iso.Member, text(v)
		if iso.Time {
			l = l.at(iso.Param, since(t))
		} else {
			l = l.at(iso.Param, text(v))
		}
		c.send(in)
	}
	n := len(l.count(t))
	t.Judge(claim, n == 0, "nothing in "+list.ID+" of a request that was refused", strconv.Itoa(n)+" items")
}

// ownMember is the request with a parent of the caller's own in the member that isolates its items;
// nil if none can be made.
func ownMember(t *check.T, c *creation, at tree.Pointer, role string) *intent {
	resource := refResource(c.op, at)
	if resource == "" {
		in := c.in.keyed(t.Key())
		body := clone(in.body)
		put(body, at, t.Key())
		in = in.with(body)
		return &in
	}
	// Of which kind that parent must be was tried with every authority, when the specimens were found.
	made := map[string]string{}
	if !freshParent(t, c.op, resource, role, made, c.example) {
		return nil
	}
	in := exampleIntent(t, c.op, role, made, c.example)
	return &in
}
