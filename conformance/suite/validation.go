package suite

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"assay.kit/conformance/check"
	"assay.kit/conformance/gen"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// validation judges that what the contract's schemas refuse is refused by the target, member by
// member and keyword by keyword, and leaves nothing behind.
func validation() []check.Check {
	return []check.Check{
		{
			ID:   "validation.body",
			Does: "Sends each example of a body, broken in exactly one place and one keyword at a time.",
			Claims: []check.Claim{
				{ID: "validation.unknown-member", Says: "A member that the schema does not know is refused, at any depth that the schema closes."},
				{ID: "validation.keywords", Says: "Every keyword of the schema is enforced: a body that breaks one is refused."},
				{ID: "validation.code", Says: "A body that breaks the schema is refused with the contract's status and code for it."},
				{ID: "validation.pointer", Says: "The refusal names the member that is wrong.", For: nil},
				{ID: "validation.nothing-admitted", Says: "A refused body creates nothing."},
			},
			Select: func(c *spec.Contract) []check.Subject { return subjects(withBody(c)) },
			Cost:   check.Cost{Requests: 400, Jobs: 4},
			Run:    validationBody,
		},
		{
			ID:   "validation.query",
			Does: "Sends query parameters that the contract does not have, or with values that their schemas refuse.",
			Claims: []check.Claim{
				{ID: "validation.unknown-parameter", Says: "A query parameter that the contract does not name is refused."},
				{ID: "validation.parameter", Says: "A query parameter whose value its schema refuses is refused, not coerced."},
				{ID: "validation.parameter-code", Says: "An unknown or bad query parameter is refused with the contract's status and code for it."},
			},
			Select: selectQueries,
			Cost:   check.Cost{Requests: 60, Jobs: 1},
			Run:    validationQuery,
		},
		{
			ID:   "validation.size",
			Does: "Sends a valid body padded with white space to exactly the connection's limit, and one byte more.",
			Claims: []check.Claim{
				{ID: "validation.size-accepted", Says: "A body of exactly the allowed size is accepted."},
				{ID: "validation.size-refused", Says: "A body over the allowed size is refused with 413 and admits nothing."},
			},
			Select: selectSized,
			Cost:   check.Cost{Requests: 12, Jobs: 1},
			Run:    validationSize,
		},
	}
}

// options are what generated bodies must fit: data that exists at the target, and tools' schemas.
func options(t *check.T) gen.Options {
	return gen.Options{Values: t.Profile().Values, ToolInput: func(domain string) *schema.Schema {
		var last *schema.Schema
		for _, tool := range t.Contract().Tools {
			if tool.Domain == domain {
				last = tool.Input
			}
		}
		return last
	}}
}

func validationBody(_ context.Context, t *check.T, s check.Subject) {
	op := s.Op
	examples := admittedExamples(t, op) // before a job slot is held: it takes some
	in, list, counted := isolatedIn(t, op, listOf(t.Contract(), op), "primary", examples[0])
	done := jobSlotFor(t, op)
	defer done()
	valid := in
	if op.Moves != nil { // the valid body uses up what it moves, and then every other is refused
		valid = exampleIntent(t, op, "primary", map[string]string{}, examples[0])
	}
	if ex := t.Call("primary", valid.request()); !admitted(ex) {
		t.Inconclusive("the valid body was answered %s, so a refusal of a broken one would prove nothing", describe(ex))
	}
	taken := 1
	for _, i := range examples {
		base := in.body
		if i != examples[0] {
			base = resolveBody(t, op, clone(op.Body.Examples[i].Value), "primary", in.made, 0)
			if own, ok := tree.Get(in.body, isolation(list)); ok && isolation(list) != "" {
				put(base, isolation(list), own)
			}
		}
		for _, place := range sample(t, gen.Keywords(op.Body.Schema, base, options(t))) {
			for _, broken := range waysToBreak(t, op, base, place) {
				if admitted(judgeBroken(t, in.with(broken.Value).keyed(t.Key()), broken)) {
					taken++
				}
			}
		}
	}
	switch {
	case op.Moves != nil || !counted:
		t.NotApplicable("validation.nothing-admitted", "the contract gives no way to count what "+op.ID+" creates")
	default:
		judgeLeft(t, "validation.nothing-admitted", list, taken)
	}
}

// isolation is the member of a creation's body that tells the case's items from others', "" if none does.
func isolation(l listing) tree.Pointer {
	if l.op == nil || l.op.Collection.Isolate == nil {
		return ""
	}
	return l.op.Collection.Isolate.Member
}

// judgeLeft counts what exists: no more than was admitted. It may be less, if what was admitted against
// the contract has lost what it is told by.
func judgeLeft(t *check.T, claim string, list listing, admitted int) {
	n := len(list.count(t))
	t.Judge(claim, n <= admitted, fmt.Sprintf("no more than the %d that were admitted", admitted), strconv.Itoa(n))
}

// sample keeps all places, or at quick effort every third of those that one claim is about, and
// always its first.
func sample(t *check.T, places []gen.Place) []gen.Place {
	if t.Effort() != check.Quick {
		return places
	}
	var some []gen.Place
	seen := map[string]int{}
	for _, p := range places {
		claim := claimOfKeyword(p.Keyword)
		if seen[claim]%3 == 0 {
			some = append(some, p)
		}
		seen[claim]++
	}
	return some
}

// claimOfKeyword is the claim that a body with this keyword broken is about.
func claimOfKeyword(keyword string) string {
	if keyword == "additionalProperties" || keyword == "unevaluatedProperties" {
		return "validation.unknown-member"
	}
	return "validation.keywords"
}

func judgeBroken(t *check.T, in intent, broken gen.Broken) wire.Exchange {
	ex := t.Call("primary", in.request())
	claim := claimOfKeyword(broken.Keyword)
	what := fmt.Sprintf("a body that breaks %s at %s", broken.Keyword, orRoot(broken.Pointer))
	if !t.Judge(claim, rejected(ex) && ex.Status() != 401 && ex.Status() != 403, "a 4xx for "+what, describe(ex)) {
		return ex
	}
	if r, ok := t.Contract().Doc.Codes["invalid_request"]; ok {
		t.Judge("validation.code", refused(t, ex, r), wanted(r)+" for "+what, describe(ex))
	} else {
		t.NotApplicable("validation.code", "the contract pins no code for it")
	}
	judgePointer(t, ex.Body(), broken)
	return ex
}

// judgePointer looks for the broken member among the violations that the refusal lists.
func judgePointer(t *check.T, body []byte, broken gen.Broken) {
	e := t.Contract().Doc.Error
	if e == nil || e.Violations == "" {
		t.NotApplicable("validation.pointer", "the contract promises no list of violations")
		return
	}
	v, _ := schema.DecodeJSON(body)
	list, _ := tree.Get(v, e.Violations)
	items, _ := list.([]any)
	var seen []string
	near := false
	for _, it := range items {
		p, _ := tree.Get(it, "/pointer")
		seen = append(seen, text(p))
		got := tree.Pointer(text(p))
		// A missing or unknown member may be reported at its object or by its own name.
		near = near || got == broken.Pointer || strings.HasPrefix(string(got), string(broken.Pointer)+"/") ||
			strings.HasPrefix(string(broken.Pointer), string(got)+"/") || got == ""
	}
	t.Judge("validation.pointer", near, "a violation at "+orRoot(broken.Pointer), fmt.Sprintf("violations at %q", seen))
}

func orRoot(p tree.Pointer) string {
	if p == "" {
		return "the top"
	}
	return string(p)
}

// selectQueries are the operations without effect, and the creations that document a bad request: any
// of them may be asked with a parameter.
func selectQueries(c *spec.Contract) []check.Subject {
	var ops []*spec.Operation
	for _, op := range c.Ops {
		if op.Method == "GET" && op.Effect == spec.EffectRead {
			ops = append(ops, op)
		}
	}
	for _, op := range keyedOps(c) {
		if op.Answers[400] != nil {
			ops = append(ops, op)
		}
	}
	return subjects(ops)
}

func validationQuery(_ context.Context, t *check.T, s check.Subject) {
	if s.Op.Method != "GET" {
		validationWriteQuery(t, s.Op)
		return
	}
	in := newIntent(t, s.Op, "primary")
	if ex := t.Call("primary", in.request()); !admitted(ex) {
		t.Inconclusive("the plain request was answered %s", describe(ex))
	}
	q := func(name, value string) intent {
		odd := in
		odd.query = url.Values{}
		for k, v := range in.query {
			odd.query[k] = v
		}
		odd.query.Set(name, value)
		return odd
	}
	ex := t.Call("primary", q("assay_unknown", "1").request())
	t.Judge("validation.unknown-parameter", refusedParameter(ex.Status()), "a 4xx for ?assay_unknown=1", describe(ex))
	judgeParameterCode(t, "?assay_unknown=1", ex)
	for _, p := range s.Op.Params { // names are compared exactly: another letter case is another name
		name := strings.ToUpper(p.Name)
		if p.In != "query" || p.Example == nil || name == p.Name || slices.ContainsFunc(s.Op.Params, func(o spec.Param) bool { return o.Name == name }) {
			continue
		}
		ex := t.Call("primary", q(name, text(p.Example)).request())
		t.Judge("validation.unknown-parameter", refusedParameter(ex.Status()), "a 4xx for ?"+name+"="+text(p.Example), describe(ex))
	}
	tried := false
	for _, p := range s.Op.Params {
		if p.In != "query" || p.Schema == nil || ownedByFamily(s.Op, p.Name) {
			continue
		}
		for _, bad := range badTexts(p) {
			tried = true
			ex := t.Call("primary", q(p.Name, bad).request())
			t.Judge("validation.parameter", refusedParameter(ex.Status()),
				fmt.Sprintf("a 4xx for ?%s=%s", p.Name, bad), describe(ex))
			judgeParameterCode(t, "?"+p.Name+"="+bad, ex)
		}
	}
	if !tried {
		t.NotApplicable("validation.parameter", "no query parameter of "+s.Op.ID+" has a schema that refuses a text")
	}
}

func judgeParameterCode(t *check.T, query string, ex wire.Exchange) {
	const claim = "validation.parameter-code"
	want, pinned := t.Contract().Doc.Codes["invalid_parameter"]
	switch {
	case !pinned:
		t.NotApplicable(claim, "the contract pins no code for it")
	case refusedParameter(ex.Status()):
		t.Judge(claim, refused(t, ex, want), wanted(want)+" for "+query, describe(ex))
	}
}

func refusedParameter(status int) bool {
	return status >= 400 && status < 500 && !slices.Contains([]int{401, 403, 429}, status)
}

// ownedByFamily are parameters that the collection family judges by the trait's own rules.
func ownedByFamily(op *spec.Operation, name string) bool {
	c := op.Collection
	return c != nil && (name == c.Cursor.Name || c.Limit != nil && name == c.Limit.Param)
}

// badTexts are values that a parameter's schema refuses however a server reads the text.
func badTexts(p spec.Param) []string {
	var bad []string
	texts := capitals(p)
	for _, s := range append(texts, []string{"assay-no-such-value", "-1", "1.5", "2026-13-45", "2026-10-01T00:00:00", "true", "TRUE", "1", "0", ""}...) {
		if readings := readAs(s); !slices.ContainsFunc(readings, func(v any) bool { return len(p.Schema.Validate(v)) == 0 }) {
			bad = append(bad, s)
		}
	}
	return bad
}

// capitals are the values that a parameter's schema lists, in other letters.
func capitals(p spec.Param) []string {
	var out []string
	values, _ := keyword(p.Schema, "", "enum").([]any)
	for _, v := range values[:min(2, len(values))] {
		if s := strings.ToUpper(text(v)); s != text(v) {
			out = append(out, s)
		}
	}
	return out
}

// readAs gives every JSON value that a query text may stand for.
func readAs(s string) []any {
	vs := []any{s}
	if v, err := schema.DecodeJSON([]byte(s)); err == nil {
		vs = append(vs, v)
	}
	return vs
}

// selectSized are creations of contracts whose connection tells the largest body.
func selectSized(c *spec.Contract) []check.Subject {
	cn := c.Doc.Connection
	if cn == nil || cn.Limits["requestBytes"] == "" {
		return nil
	}
	var ops []*spec.Operation
	for _, op := range creations(c) {
		if op.Body != nil {
			ops = append(ops, op)
		}
	}
	return subjects(ops)
}

func validationSize(_ context.Context, t *check.T, s check.Subject) {
	limit := limitOf(t, "requestBytes")
	const most = 8 << 20 // we do not send more than this to anybody
	in := newIntent(t, s.Op, "primary")
	body := encode(in.body)
	if limit < len(body) || limit > most {
		t.Inconclusive("the connection's limit of %d bytes cannot be tried with a body of %d", limit, len(body))
	}
	done := jobSlotFor(t, s.Op)
	defer done()
	over := in.keyed(t.Key())
	ex := t.Call("primary", over.spelled(padded(body, limit+1)).request())
	t.Judge("validation.size-refused", ex.Status() == 413, "413 for a body of "+strconv.Itoa(limit+1)+" bytes", describe(ex))
	// Without a length that is announced the limit is the same; whether it is 413 or 411 is left open.
	ex = t.Send("primary", chunked(in.keyed(t.Key()).spelled(padded(body, limit+1)).request()), target.Call{FreshConn: true})
	t.Judge("validation.size-refused", !admitted(ex), "a refusal of a body of "+strconv.Itoa(limit+1)+" bytes in chunks (RFC 9112 §7.1)", describe(ex))
	// The refused request's own key: it must still be free for the same payload without the padding.
	ex = t.Call("primary", over.spelled(padded(body, limit)).request())
	t.Judge("validation.size-accepted", admitted(ex), "a 2xx for a body of exactly "+strconv.Itoa(limit)+" bytes", describe(ex))
}

// padded adds white space before the last byte of an object, up to n bytes.
func padded(body []byte, n int) []byte {
	pad := strings.Repeat(" ", n-len(body))
	return slices.Concat(body[:len(body)-1], []byte(pad), body[len(body)-1:])
}

// chunked sends a body in one chunk instead of announcing its length.
func chunked(rq wire.Request) wire.Request {
	rq.Fields = append(slices.Clone(rq.Fields), wire.Field{Name: "Transfer-Encoding", Value: "chunked"})
	rq.Body = fmt.Appendf(nil, "%x\r\n%s\r\n0\r\n\r\n", len(rq.Body), rq.Body)
	return rq
}

// limitOf reads a limit of the connection, once a run.
func limitOf(t *check.T, name string) int {
	cn := t.Contract().Doc.Connection
	v, err := t.Once("limit "+name, func() (any, error) {
		op := t.Contract().Op(cn.Operation)
		ex := t.Call("primary", newIntent(t, op, "primary").request())
		n, err := strconv.Atoi(member(ex, cn.Limits[name]))
		if err != nil {
			return nil, fmt.Errorf("%s has no number at %s: %s", op.ID, cn.Limits[name], describe(ex))
		}
		return n, nil
	})
	if err != nil {
		t.Inconclusive("%v", err)
	}
	return v.(int)
}
