package mcp

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// protected is the endpoint of a contract whose operations need a credential: its tools do too.
func protected(c *spec.Contract) []check.Subject {
	if !slices.ContainsFunc(c.Ops, func(op *spec.Operation) bool { return !op.Public }) {
		return nil
	}
	return endpoint(c)
}

// authorization judges that every request is authenticated, whatever the session.
func authorization() []check.Check {
	return []check.Check{
		{
			ID:   "mcp.token",
			Does: "Sends requests without a token, with made-up ones, and with a good one in the wrong place, outside and inside a session.",
			Claims: []check.Claim{
				{ID: "mcp.no-token", Says: "A request without a token is refused with 401, on every method."},
				{ID: "mcp.bad-token", Says: "A request with a token that was never issued is refused with 401, on every method."},
				{ID: "mcp.token-each", Says: "A live session is no authentication: each of its requests needs a good token."},
				{ID: "mcp.query-token", Says: "A token in the query authorizes nothing."},
				{ID: "mcp.malformed-authorization", Says: "A request with two Authorization fields is refused with 400 or 401."},
				aliveSays(),
			},
			Needs: needs(), Cost: check.Cost{Requests: 40}, Select: protected, Run: token,
		},
		{
			ID:     "mcp.dead-token",
			Does:   "Sends requests with a token that was revoked.",
			Claims: []check.Claim{{ID: "mcp.dead-token", Says: "A token that was revoked or has expired is refused with 401."}},
			Needs:  needs(target.Revoked), Cost: check.Cost{Requests: 8}, Select: protected, Run: deadToken(target.Revoked),
		},
		{
			ID:     "mcp.expired-token",
			Does:   "Sends requests with a token that has expired.",
			Claims: []check.Claim{{ID: "mcp.dead-token", Says: "A token that was revoked or has expired is refused with 401."}},
			Needs:  needs(target.Expired), Cost: check.Cost{Requests: 8}, Select: protected, Run: deadToken(target.Expired),
		},
		{
			ID:   "mcp.retired-token",
			Does: "Opens a session with a token, has the token revoked, and goes on.",
			Claims: []check.Claim{
				{ID: "mcp.token-each", Says: "A live session is no authentication: each of its requests needs a good token."},
			},
			Needs: needs(target.Rotated, target.RetireToken, target.RestoreToken), Lock: check.Target,
			Cost: check.Cost{Requests: 12}, Select: protected, Run: retired,
		},
	}
}

// anyAs sends one request of each method under an Authorization value; "" sends none.
func (s *Session) anyAs(authorization string) map[string]wire.Exchange {
	out := map[string]wire.Exchange{}
	as := func(rq wire.Request) wire.Request {
		if authorization != "" {
			rq = with(rq, "Authorization", authorization)
		}
		return rq
	}
	nobody := *s
	nobody.Role = ""
	out["POST"], _ = nobody.Do(as(nobody.Request(Encode(nobody.NextID(), "tools/list", nil))))
	s.n = nobody.n
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		out[method] = nobody.raw(as(nobody.bare(method)))
	}
	return out
}

func token(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	s.works()
	fresh := New(t, "")
	ex, _ := fresh.Call("initialize", hello(Revision))
	t.Judge("mcp.no-token", ex.Status() == http.StatusUnauthorized, "401 to initialize without a token", told(ex))
	made := "Bearer assay-" + t.Nonce()
	ex, _ = fresh.Do(with(fresh.Request(Encode(fresh.NextID(), "initialize", hello(Revision))), "Authorization", made))
	t.Judge("mcp.bad-token", ex.Status() == http.StatusUnauthorized, "401 to initialize with a token that was never issued", told(ex))
	good := bearer(t)
	tries := []struct{ claim, what, value string }{
		{"mcp.no-token", "without a token", ""},
		{"mcp.bad-token", "with a token that was never issued", made},
		{"mcp.bad-token", "with half of a good token", "Bearer " + good[:len(good)/2]},
		{"mcp.bad-token", "with a good token under another scheme", "Basic " + good},
	}
	for _, try := range tries {
		for method, ex := range s.anyAs(try.value) {
			t.Judge(try.claim, ex.Status() == http.StatusUnauthorized, "401 to "+method+" "+try.what, told(ex))
			t.Judge("mcp.token-each", ex.Status() != 0 && ex.Status()/100 != 2, "no service of "+method+" in a live session "+try.what, told(ex))
		}
	}
	s.alive("requests without a good token")
	query := *s
	query.Role = ""
	rq := query.ping()
	rq.Target = "?access_token=" + good
	ex, m := query.Do(rq)
	t.Judge("mcp.query-token", ex.Status() != 0 && !served(ex, m), "no service with the token in the query only", told(ex))
	rq = with(s.ping(), "Authorization", "Bearer "+good)
	rq.Fields = append(rq.Fields, wire.Field{Name: "Authorization", Value: made})
	ex, _ = s.Do(rq)
	t.Judge("mcp.malformed-authorization", ex.Status() == http.StatusBadRequest || ex.Status() == http.StatusUnauthorized,
		"400 or 401 to two Authorization fields", told(ex))
	s.alive("a malformed authorization")
}

// bearer is the primary's token, as its requests carry it.
func bearer(t *check.T) string {
	const scheme = "Bearer "
	for _, ex := range t.Exchanges() {
		if v := wire.Lookup(ex.Req.Fields, "Authorization"); ex.Role == "primary" && len(v) > len(scheme)+1 {
			return v[len(scheme):]
		}
	}
	t.Inconclusive("the primary credential is no bearer token")
	return ""
}

func deadToken(role target.Capability) func(context.Context, *check.T, check.Subject) {
	return func(_ context.Context, t *check.T, _ check.Subject) {
		s := Open(t, "primary")
		s.works()
		dead := *s
		dead.Role = string(role)
		first := New(t, string(role))
		ex, _ := first.Do(first.Request(Encode(first.NextID(), "initialize", hello(Revision))))
		t.Judge("mcp.dead-token", ex.Status() == http.StatusUnauthorized, "401 to initialize", told(ex))
		ex, _ = dead.Call("tools/list", nil)
		t.Judge("mcp.dead-token", ex.Status() == http.StatusUnauthorized, "401 to a request in a session that is there", told(ex))
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			ex := dead.raw(dead.bare(method))
			t.Judge("mcp.dead-token", ex.Status() == http.StatusUnauthorized, "401 to "+method, told(ex))
		}
	}
}

func retired(_ context.Context, t *check.T, _ check.Subject) {
	t.Undo(target.RestoreToken, nil) // an earlier run may have retired it
	s := Open(t, target.RotatedOld)
	s.works()
	t.Hook(target.RetireToken, nil)
	defer t.Undo(target.RestoreToken, nil)
	const claim = "mcp.token-each"
	ex, m := s.Call("tools/list", nil)
	t.Judge(claim, ex.Status() != 0 && !served(ex, m), "no service of tools/list once the session's token was revoked", told(ex))
	if tool, arguments := sample(t.Contract()); tool != nil {
		ex, m = s.Tool(tool.Name, arguments)
		t.Judge(claim, ex.Status() != 0 && !served(ex, m), "no service of tools/call once the session's token was revoked", told(ex))
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		ex := s.raw(s.bare(method))
		t.Judge(claim, ex.Status() != 0 && ex.Status()/100 != 2, "no 2xx to "+method+" once the session's token was revoked", told(ex))
	}
}

// tokens judges for whom a token is good, and how a client learns where to get one.
func tokens() []check.Check {
	return []check.Check{
		{
			ID:   "mcp.metadata",
			Does: "Follows the challenge of a 401 to the protected resource's metadata.",
			Claims: []check.Claim{
				{ID: "mcp.challenge", Says: "A 401 carries a Bearer challenge with the URL of the resource's metadata."},
				{ID: "mcp.metadata", Says: "The URL in the challenge gives the resource's metadata, without a token."},
				{ID: "mcp.metadata-servers", Says: "The metadata name at least one authorization server."},
				{ID: "mcp.metadata-resource", Says: "The metadata are those of this endpoint: their resource is its URL, or what their own URL was made of."},
			},
			Needs: needs(), Cost: check.Cost{Requests: 8}, Select: protected, Run: metadata,
		},
		{
			ID:   "mcp.audience",
			Does: "Opens a session with a token that was issued for the other face only.",
			Claims: []check.Claim{
				{ID: "mcp.audience", Says: "A token that was issued for another audience is refused with 401."},
				aliveSays(),
			},
			Needs: needs(target.RESTOnly), Cost: check.Cost{Requests: 12}, Select: protected, Run: audience,
		},
		{
			ID:   "mcp.audience-rest",
			Does: "Uses a token that was issued for this face only on both.",
			Claims: []check.Claim{
				{ID: "mcp.audience-own", Says: "A token that was issued for the endpoint alone is good there."},
				{ID: "mcp.audience-rest", Says: "A token that was issued for the MCP endpoint alone is refused with 401 by the other face."},
			},
			Needs: needs(target.MCPOnly), Cost: check.Cost{Requests: 8}, Select: protected, Run: audienceREST,
		},
		{
			ID:   "mcp.scope",
			Does: "Calls tools with a token that lacks their scopes.",
			Claims: []check.Claim{
				{ID: "mcp.scope", Says: "A tool whose scopes the token lacks is not carried out."},
				{ID: "mcp.scope-reason", Says: "A missing scope is no missing authentication: the refusal is no 401."},
			},
			Needs: needs(target.WithoutScope), Cost: check.Cost{Requests: 12}, Select: protected, Run: scope,
		},
	}
}

func audience(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	other := New(t, string(target.RESTOnly))
	ex, _ := other.Initialize(Revision)
	t.Judge("mcp.audience", ex.Status() == http.StatusUnauthorized, "401 to initialize", told(ex))
	inside := *s
	inside.Role = string(target.RESTOnly)
	ex, _ = inside.Call("tools/list", nil)
	t.Judge("mcp.audience", ex.Status() == http.StatusUnauthorized, "401 to a request in a session that is there", told(ex))
	s.alive("requests for another audience")
}

func audienceREST(_ context.Context, t *check.T, _ check.Subject) {
	s := New(t, string(target.MCPOnly))
	ex, m := s.Initialize(Revision)
	t.Judge("mcp.audience-own", m.Result != nil, "a result of initialize", told(ex))
	cn := t.Contract().Doc.Connection
	if cn == nil || t.Profile().IsAbsent(cn.Operation) {
		t.NotApplicable("mcp.audience-rest", "the contract has no operation that any credential may call")
		return
	}
	op := t.Contract().Op(cn.Operation)
	rq := wire.Request{Operation: op.ID, Method: op.Method, Target: op.Path}
	if ex := t.Call("primary", rq); ex.Status()/100 != 2 {
		t.Inconclusive("%s was answered %s to the primary credential", op.ID, told(ex))
	}
	ex = t.Call(string(target.MCPOnly), rq)
	t.Judge("mcp.audience-rest", ex.Status() == http.StatusUnauthorized, "401 to "+op.ID, told(ex))
}

func scope(_ context.Context, t *check.T, _ check.Subject) {
	tool, arguments := sample(t.Contract())
	if tool == nil || len(tool.Scopes) == 0 {
		t.NoneApply("no tool of the contract that could be called needs a scope")
		return
	}
	Open(t, "primary").works()
	s := Open(t, string(target.WithoutScope))
	ex, m := s.Tool(tool.Name, arguments)
	t.Judge("mcp.scope", ex.Status() != 0 && (m.Result == nil || isError(m)), fmt.Sprintf("a refusal of %s, which needs %v", tool.Name, tool.Scopes), told(ex))
	t.Judge("mcp.scope-reason", ex.Status() != http.StatusUnauthorized, "403, or an error of the tool", told(ex))
}
