package suite

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// door is an operation with a request that is admitted with every authority, to be tried without.
type door struct {
	op   *spec.Operation
	in   intent
	made *creation // the same, if it is a creation with a key
	keys []string  // under which it was tried
}

// newDoor builds the request, on resources of the case's own, and shows that it is admitted where
// that has no effect.
func newDoor(t *check.T, op *spec.Operation) *door {
	d := &door{op: op}
	if op.Idempotency != nil && op.Creates != nil {
		d.made = newCreation(t, op, specimens(t, op)[0])
		d.in = d.made.in
		return d
	}
	d.in = buildIntent(t, op, primary, existing(t, op, primary), 0)
	if op.Method == http.MethodGet {
		if ex := t.Call(primary, d.in.request()); !admitted(ex) {
			t.Inconclusive("the request was answered %s with every authority, so a refusal would prove nothing", describe(ex))
		}
	}
	return d
}

// existing names resources that an operation reads and that only a job makes, so that they are there
// for sure.
func existing(t *check.T, op *spec.Operation, role string) map[string]string {
	made := map[string]string{}
	for _, jobs := range t.Contract().Ops {
		if jobs.Job == nil || jobs.Job.Artifact != op.ID || jobs.Job.Result == "" || t.Profile().IsAbsent(jobs.ID) {
			continue
		}
		id, err := t.Once("a result of "+jobs.ID+" for "+role, func() (any, error) { return jobResult(t, jobs, role) })
		if err == nil {
			made[pathRef(op).Resource] = id.(string)
			break
		}
	}
	return made
}

// try is the request once more, under a key of its own.
func (d *door) try(t *check.T) intent {
	if d.op.Idempotency == nil {
		return d.in
	}
	in := d.in.keyed(t.Key())
	d.keys = append(d.keys, in.key)
	return in
}

// judgeShut judges that what was tried had no effect: nothing was made or moved, and a key that was
// tried is free for the same request with authority.
func (d *door) judgeShut(t *check.T) {
	const claim = "access.nothing-admitted"
	switch {
	case d.op.Method == http.MethodGet:
		return
	case d.made == nil:
		d.judgeUnmoved(t, claim)
		return
	}
	if d.made.counted {
		d.made.judgeUnchanged(claim, nil)
	}
	ex := d.made.send(d.in.keyed(d.keys[0]))
	t.Judge(claim, admitted(ex), "a 2xx with authority under the key of a refused request", describe(ex))
	if d.made.counted {
		d.made.judgeCount(claim, 1)
	}
}

// judgeUnmoved judges an operation without a key: a job is not cancelled, and a move can still be made.
func (d *door) judgeUnmoved(t *check.T, claim string) {
	for _, op := range t.Contract().Ops {
		if op.Job == nil || op.Job.Cancel != d.op.ID {
			continue
		}
		ex := t.Call(primary, reading(t, t.Contract().Op(op.Job.Read), primary, d.in.path[lastParam(d.op)]))
		state := member(ex, op.Job.State)
		t.Judge(claim, ex.Status() == http.StatusOK && state != op.Job.Cancelled, "a job that was not cancelled", describe(ex))
		break
	}
	ex := t.Call(primary, d.in.request())
	t.Judge(claim, admitted(ex), "a 2xx with authority, since nothing has moved", describe(ex))
}

// judge401 judges a refusal for want of a good token.
func judge401(t *check.T, claim string, ex wire.Exchange, what string) {
	want, ok := t.Contract().Doc.Codes["unauthenticated"]
	if !ok {
		want = spec.Refusal{Status: http.StatusUnauthorized}
	}
	if !t.Judge(claim, refused(t, ex, want), wanted(want)+" "+what, describe(ex)) {
		return
	}
	bearer := slices.ContainsFunc(ex.HeaderValues("WWW-Authenticate"), challengesBearer)
	t.Judge("access.challenge", bearer, "WWW-Authenticate with a Bearer challenge "+what, fmt.Sprintf("%q", ex.HeaderValues("WWW-Authenticate")))
}

// challengesBearer finds the scheme in a list of challenges (RFC 9110 §11.6.1); its case is free.
func challengesBearer(v string) bool {
	for _, challenge := range strings.Split(v, ",") {
		scheme, _, _ := strings.Cut(strings.TrimSpace(challenge), " ")
		if strings.EqualFold(scheme, "Bearer") {
			return true
		}
	}
	return false
}

// badToken is an Authorization field that authenticates nobody; "" is none.
type badToken struct{ what, value string }

// badTokens are such fields; those that are near a good one are made of it.
func badTokens(t *check.T, good string) []badToken {
	bad := []badToken{
		{"without a token", ""},
		{"with a scheme and no token", "Bearer"},
		{"with a token that was never issued", "Bearer assay-" + t.Nonce()},
	}
	if len(good) < 8 {
		return bad
	}
	changed := []byte(good)
	at := len(changed) - 5 // not the last: in base64 its lowest bits may mean nothing
	changed[at] = shifted(changed[at], 7)
	return append(bad,
		badToken{"with a good token that was cut", "Bearer " + good[:len(good)/2]},
		badToken{"with a good token, one character changed", "Bearer " + string(changed)},
		badToken{"with a good token and more behind it", "Bearer " + good + "-assay"},
		badToken{"with a good token under another scheme", "Basic " + good},
	)
}

// under is a request with another Authorization field.
func (in intent) under(authorization string) wire.Request {
	rq := in.request()
	if authorization != "" {
		rq.Fields = append(slices.Clone(rq.Fields), wire.Field{Name: "Authorization", Value: authorization})
	}
	return rq
}

func runToken(_ context.Context, t *check.T, s check.Subject) {
	d := newDoor(t, s.Op)
	for _, bad := range badTokens(t, goodToken(t, s.Op)) {
		judge401(t, "access.unauthenticated", t.Call("", d.try(t).under(bad.value)), bad.what)
	}
	for _, wrong := range wrongRequests(t, d) {
		judge401(t, "access.token-first", t.Call("", wrong.in.under("Bearer assay-"+t.Nonce())), "with a bad token "+wrong.why)
	}
	d.judgeShut(t)
}

// goodToken is the token of the primary credential, as its requests carry it.
func goodToken(t *check.T, op *spec.Operation) string {
	all := t.Exchanges()
	if i := slices.IndexFunc(all, func(ex wire.Exchange) bool { return ex.Role == primary }); i >= 0 {
		return tokenIn(all[i])
	}
	// Nothing has been sent yet; what is asked for does not matter.
	return tokenIn(t.Call(primary, wire.Request{Method: http.MethodOptions, Target: literalPrefix(op.Path)}))
}

type wrongRequest struct {
	why string
	in  intent
}

// wrongRequests are wrong in more than the token.
func wrongRequests(t *check.T, d *door) []wrongRequest {
	var out []wrongRequest
	query := d.in
	query.query = map[string][]string{"assay_unknown": {"1"}}
	out = append(out, wrongRequest{"and an unknown query parameter", query})
	if ref := pathRef(d.op); ref != nil {
		out = append(out, wrongRequest{"and an id that names nothing", d.in.renamed(ref.Name, "assay-"+t.Nonce())})
	}
	if d.in.body != nil {
		out = append(out, wrongRequest{"and a body that is no JSON", d.in.spelled([]byte("{")).keyed(t.Key())})
	}
	if d.op.Idempotency != nil && d.op.Idempotency.Required {
		out = append(out, wrongRequest{"and no key", d.in.keyed("")})
	}
	return out
}

// renamed is a copy with another value of a path parameter.
func (in intent) renamed(param, value string) intent {
	path := map[string]string{}
	for k, v := range in.path {
		path[k] = v
	}
	path[param] = value
	in.path = path
	return in
}

// deadToken judges a credential that was good once.
func deadToken(role target.Capability, claim string) func(context.Context, *check.T, check.Subject) {
	return func(_ context.Context, t *check.T, s check.Subject) {
		d := newDoor(t, s.Op)
		for range 2 { // the second may be answered from a cache
			judge401(t, claim, t.Call(string(role), d.try(t).as(string(role)).request()), "with the token of "+string(role))
		}
		d.judgeShut(t)
	}
}

func runScopes(_ context.Context, t *check.T, s check.Subject) {
	role := string(target.WithoutScope)
	d := newDoor(t, s.Op)
	judgeAlive(t, role)
	want, coded := t.Contract().Doc.Codes["forbidden"]
	if !coded {
		t.NotApplicable("access.scope-code", "the contract pins no code for it")
	}
	for range 2 {
		ex := t.Call(role, d.try(t).as(role).request())
		t.Judge("access.scope", ex.Status() == http.StatusForbidden, "403 without scope "+strings.Join(s.Op.Scopes, " "), describe(ex))
		if coded {
			t.Judge("access.scope-code", refused(t, ex, want), wanted(want), describe(ex))
		}
	}
	if ref := pathRef(s.Op); ref != nil {
		ex := t.Call(role, d.in.as(role).renamed(ref.Name, unlike(d.in.path[ref.Name], 3)).keyed(t.Key()).request())
		t.Judge("access.scope-first", ex.Status() == http.StatusForbidden, "403 for an id that names nothing, too", describe(ex))
	}
	d.judgeShut(t)
	if d.made != nil && len(d.keys) > 0 { // by now it has been admitted with authority: a kept answer is none for this token
		ex := t.Call(role, d.in.keyed(d.keys[0]).as(role).request())
		t.Judge("access.scope", ex.Status() == http.StatusForbidden, "403 for a repetition without scope "+strings.Join(s.Op.Scopes, " "), describe(ex))
	}
}

// judgeAlive makes sure that a credential is accepted at all, where an operation asks for no scope.
func judgeAlive(t *check.T, role string) {
	for _, op := range t.Contract().Ops {
		if op.Public || len(op.Scopes) > 0 || op.Method != http.MethodGet || strings.Contains(op.Path, "{") || t.Profile().IsAbsent(op.ID) {
			continue
		}
		if ex := t.Call(role, newIntent(t, op, role).request()); ex.Status() == http.StatusUnauthorized {
			t.Inconclusive("the credential %s is not accepted at all: %s", role, describe(ex))
		}
		return
	}
}
