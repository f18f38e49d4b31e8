package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// connection judges what the target tells a caller about its own credential.
func connection() []check.Check {
	return []check.Check{
		{
			ID:   "connection.shown",
			Does: "Reads the connection under each valid credential and compares it with what the credential can do.",
			Claims: []check.Claim{
				{ID: "connection.context", Says: "The connection tells client, workspace, audience, expiry and scopes of the presented credential."},
				{ID: "connection.scopes", Says: "The scopes that the connection tells are those that operations are judged by."},
				{ID: "connection.limits", Says: "Every limit of the connection is a positive integer."},
				{ID: "connection.secret", Says: "The connection never returns the credential itself, whole or in part."},
				{ID: "connection.defaults", Says: "Whatever the connection offers as a default is there and can be read."},
				{ID: "connection.endpoint", Says: "The connection tells the endpoint of its tools as a URL."},
			},
			Select: selectConnection,
			Cost:   check.Cost{Requests: 150},
			Run:    connectionShown,
		},
		{
			ID:     "connection.own",
			Does:   "Reads the connection under credentials of two workspaces, and of two clients of one.",
			Claims: []check.Claim{{ID: "connection.own", Says: "The connection is that of the presented credential: another workspace's credential is shown another context."}},
			Needs:  []target.Capability{target.SecondWorkspace},
			Select: selectConnection,
			Cost:   check.Cost{Requests: 10},
			Run:    connectionOwn,
		},
	}
}

// selectConnection gives the operation that tells the connection.
func selectConnection(c *spec.Contract) []check.Subject {
	cn := c.Doc.Connection
	if cn == nil || c.Op(cn.Operation) == nil {
		return nil
	}
	return []check.Subject{{Name: cn.Operation, Op: c.Op(cn.Operation)}}
}

// validRoles are the credentials that should be accepted, as far as the profile has them. The one
// with small limits is left to the checks that count its requests.
func validRoles(t *check.T) []string {
	all := []string{primary, string(target.SecondClient), string(target.SecondWorkspace), string(target.WithoutScope),
		string(target.WithoutEntitlement), string(target.ExhaustedBudget), target.RotatedNew}
	return slices.DeleteFunc(all, func(role string) bool { return !t.Profile().HasRole(role) })
}

func connectionShown(_ context.Context, t *check.T, s check.Subject) {
	cn := t.Contract().Doc.Connection
	for _, role := range validRoles(t) {
		ex, body := connectionOf(t, s.Op, role)
		if body == nil {
			continue
		}
		judgeSecret(t, role, ex)
		for _, name := range sortedKeys(cn.Limits) {
			v, _ := tree.Get(body, cn.Limits[name])
			t.Judge("connection.limits", positiveInteger(v), "a positive integer at "+string(cn.Limits[name])+" for "+role, string(encode(v)))
		}
		judgeContext(t, role, ex, body)
		judgeScopes(t, role, body)
		if role == primary {
			judgeDefaults(t, s.Op, body)
			judgeEndpoint(t, body)
		}
	}
	for claim, without := range map[string]bool{"connection.limits": len(cn.Limits) == 0, "connection.context": len(cn.Context) == 0,
		"connection.scopes": cn.Context["scopes"] == ""} {
		if without {
			t.NotApplicable(claim, "the contract does not say where the connection tells it")
		}
	}
}

// connectionOf reads the connection under a role; nil if that role is not accepted.
func connectionOf(t *check.T, op *spec.Operation, role string) (wire.Exchange, any) {
	ex := t.Call(role, newIntent(t, op, role).request())
	body, err := bodyOf(ex)
	switch {
	case ex.Status() == http.StatusOK && err == nil:
		return ex, body
	case role == primary:
		t.Inconclusive("%s was answered %s", op.ID, describe(ex))
	}
	return ex, nil
}

func positiveInteger(v any) bool {
	n, ok := v.(json.Number)
	if !ok || len(n) > 20 {
		return false
	}
	r, ok := new(big.Rat).SetString(n.String())
	return ok && r.IsInt() && r.Sign() > 0
}

// partOfSecret is how much of a token in a row is too much to be chance.
const partOfSecret = 12

// judgeSecret looks for the token that the request carried, or a part of it, in the answer.
func judgeSecret(t *check.T, role string, ex wire.Exchange) {
	token := tokenIn(ex)
	if token == "" {
		return
	}
	n := min(partOfSecret, len(token))
	found := false
	for i := 0; i+n <= len(token); i++ {
		found = found || mentions(ex, token[i:i+n])
	}
	t.Judge("connection.secret", !found, "nothing of the token of "+role, "a part of it in the answer")
}

// tokenIn is the bearer token that an exchange's request carried, "" if none.
func tokenIn(ex wire.Exchange) string {
	token, ok := strings.CutPrefix(wire.Lookup(ex.Req.Fields, "Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	return token
}

// judgeContext judges what the credential is bound to, where the contract says that it is shown.
func judgeContext(t *check.T, role string, ex wire.Exchange, body any) {
	const claim = "connection.context"
	at := t.Contract().Doc.Connection.Context
	for _, name := range sortedKeys(at) {
		v, _ := tree.Get(body, at[name])
		what := fmt.Sprintf("%s of %s at %s", name, role, at[name])
		switch name {
		case "scopes", "audience":
			list, ok := v.([]any)
			t.Judge(claim, ok && !slices.ContainsFunc(list, func(e any) bool { s, isText := e.(string); return !isText || s == "" }),
				"a list of texts: the "+what, string(encode(v)))
		case "expiry":
			until, _, err := instant(text(v))
			date, undated := http.ParseTime(ex.Header("Date"))
			t.Judge(claim, err == nil && (undated != nil || until.After(date.Add(-time.Minute))),
				"a time that is not over: the "+what, text(v))
		default:
			s, ok := v.(string)
			t.Judge(claim, ok && s != "", "a text: the "+what, string(encode(v)))
		}
	}
}

// judgeScopes compares the scopes that are told with what reads without parameters are answered.
func judgeScopes(t *check.T, role string, body any) {
	at := t.Contract().Doc.Connection.Context["scopes"]
	v, ok := tree.Get(body, at)
	list, isList := v.([]any)
	if at == "" || !ok || !isList {
		return // connection.context judges that
	}
	var gone []string
	for _, op := range t.Contract().Ops {
		if op.Method != http.MethodGet || len(op.Scopes) == 0 || strings.Contains(op.Path, "{") {
			continue
		}
		if t.Profile().IsAbsent(op.ID) {
			gone = append(gone, op.ID)
			continue
		}
		var lacks []string
		for _, scope := range op.Scopes {
			if !slices.Contains(list, any(scope)) {
				lacks = append(lacks, scope)
			}
		}
		ex := t.Call(role, newIntent(t, op, role).request())
		switch {
		case admitted(ex):
			t.Judge("connection.scopes", len(lacks) == 0, op.ID+" to be refused to "+role+", whose connection tells no "+strings.Join(lacks, " "), describe(ex))
		case ex.Status() == http.StatusForbidden:
			t.Judge("connection.scopes", len(lacks) > 0, op.ID+" to be open to "+role+", whose connection tells "+strings.Join(op.Scopes, " "), describe(ex))
		}
	}
	why := "no read without parameters needs a scope"
	if len(gone) > 0 {
		why = listed(gone) + ", the reads that need a scope and no parameter, are declared absent in the profile"
	}
	t.NotApplicable("connection.scopes", why) // unless one was judged
}

// judgeDefaults reads what the contract says that the connection yields.
func judgeDefaults(t *check.T, connection *spec.Operation, body any) {
	const claim = "connection.defaults"
	seen := map[tree.Pointer]bool{}
	for _, op := range t.Contract().Ops {
		if t.Profile().IsAbsent(op.ID) {
			continue // what only it needs is needed by nobody
		}
		for _, ref := range op.Refs {
			if ref.From != connection.ID || seen[ref.At] {
				continue
			}
			seen[ref.At] = true
			v, ok := tree.Get(body, ref.At)
			if parent, _ := ref.At.Parent(); !ok && emptyArray(body, parent) {
				continue // it offers none of these, which is legal
			}
			if !t.Judge(claim, ok && text(v) != "", "a "+ref.Resource+" at "+string(ref.At), string(encode(v))) {
				continue
			}
			if read := readerOf(t.Contract(), ref.Resource); read != nil && !t.Profile().IsAbsent(read.ID) {
				ex := t.Call(primary, reading(t, read, primary, text(v)))
				t.Judge(claim, ex.Status() == http.StatusOK, "200 for "+ref.Resource+" "+text(v)+", which the connection offers", describe(ex))
			}
		}
	}
	if len(seen) == 0 {
		t.NotApplicable(claim, "no operation refers to anything that the connection offers")
		return
	}
	t.NotApplicable(claim, "the connection offers none of what operations refer to")
}

func emptyArray(root any, at tree.Pointer) bool {
	v, _ := tree.Get(root, at)
	list, ok := v.([]any)
	return ok && len(list) == 0
}

// readerOf is the operation that reads one resource of a type by its id, nil if none does.
func readerOf(c *spec.Contract, resource string) *spec.Operation {
	for _, op := range c.Ops {
		if op.Method != http.MethodGet || op.Collection != nil || !strings.Contains(op.Path, "{") {
			continue
		}
		for _, ref := range op.Refs {
			if ref.In == "path" && ref.Name == lastParam(op) && ref.Resource == resource {
				return op
			}
		}
	}
	return nil
}

func judgeEndpoint(t *check.T, body any) {
	const claim = "connection.endpoint"
	mcp := t.Contract().Doc.MCP
	if mcp == nil || mcp.Endpoint == "" {
		t.NotApplicable(claim, "the contract promises no endpoint of tools")
		return
	}
	v, _ := tree.Get(body, mcp.Endpoint)
	u, err := url.Parse(text(v))
	t.Judge(claim, err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "", "an absolute URL at "+string(mcp.Endpoint), text(v))
}

func connectionOwn(_ context.Context, t *check.T, s check.Subject) {
	const claim = "connection.own"
	_, mine := connectionOf(t, s.Op, primary)
	ex, theirs := connectionOf(t, s.Op, string(target.SecondWorkspace))
	if theirs == nil {
		t.Inconclusive("%s was answered %s to the credential of another workspace", s.Op.ID, describe(ex))
	}
	at := t.Contract().Doc.Connection.Context
	t.Judge(claim, len(differences(t, s.Op, mine, theirs)) > 0, "another context for the credential of another workspace", describe(ex))
	judgeApart(t, at["workspace"], mine, theirs, false, "another workspace")
	if !t.Profile().HasRole(string(target.SecondClient)) {
		return
	}
	if _, other := connectionOf(t, s.Op, string(target.SecondClient)); other != nil {
		judgeApart(t, at["workspace"], mine, other, true, "another client of the workspace")
		judgeApart(t, at["client"], mine, other, false, "another client of the workspace")
	}
}

// judgeApart compares one member of two connections that both have it.
func judgeApart(t *check.T, at tree.Pointer, a, b any, same bool, who string) {
	x, okA := tree.Get(a, at)
	y, okB := tree.Get(b, at)
	if at == "" || !okA || !okB {
		return
	}
	want := "another value at "
	if same {
		want = "the same value at "
	}
	t.Judge("connection.own", (text(x) == text(y)) == same, want+string(at)+" for "+who, text(y)+" beside "+text(x))
}
