package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// transport judges HTTP itself: which requests are no requests at all, and routes. What every
// answer must look like is judged passively (package wire).
func transport() []check.Check {
	return []check.Check{
		{
			ID:   "transport.bodies",
			Does: "Sends bodies that are not JSON, not UTF-8, ambiguous or of another media type, each under a key of its own, then the valid body under that key.",
			Claims: []check.Claim{
				{ID: "transport.json", Says: "A body that is not one JSON value is refused with 400 or 415."},
				{ID: "transport.utf8", Says: "A body that is not UTF-8 is refused with 400 or 415."},
				{ID: "transport.duplicate-members", Says: "A body with two members of one name is refused: readers disagree about which one counts."},
				{ID: "transport.media-type", Says: "A body of another media type is refused with 415 or 400."},
				{ID: "transport.code", Says: "A body that is no JSON, or of another media type, is refused with the contract's status and code for it."},
				{ID: "transport.media-type-spelling", Says: "A charset parameter and the letter case of the media type do not matter (RFC 9110 §8.3.1)."},
				{ID: "transport.nothing-admitted", Says: "A refused body admits nothing: its key is still free and nothing exists.", For: hasKey},
			},
			Select: func(c *spec.Contract) []check.Subject { return subjects(withBody(c)) },
			Cost:   check.Cost{Requests: 60, Jobs: 4},
			Run:    transportBodies,
		},
		{
			ID:   "transport.routes",
			Does: "Asks for paths that do not exist, and known paths with methods that the contract does not have.",
			Claims: []check.Claim{
				{ID: "transport.unknown-path", Says: "An unknown path is answered with 404."},
				{ID: "transport.method", Says: "A known path with an unsupported method is answered with 405."},
				{ID: "transport.path-exact", Says: "A trailing slash or another letter case is another path, which leads to no resource."},
				{ID: "transport.allow", Says: "A 405 lists the supported methods in Allow (RFC 9110 §15.5.6)."},
			},
			Select: selectPaths,
			Cost:   check.Cost{Requests: 8},
			Run:    transportRoutes,
		},
	}
}

func hasKey(s check.Subject) bool { return s.Op != nil && s.Op.Idempotency != nil }

// withBody are the operations that take a JSON body.
func withBody(c *spec.Contract) []*spec.Operation {
	var ops []*spec.Operation
	for _, op := range c.Ops {
		if op.Body != nil && len(op.Body.Examples) > 0 {
			ops = append(ops, op)
		}
	}
	return ops
}

// badForm is a way to spell a request that is none.
type badForm struct {
	claim, name string
	media       string
	body        func(valid []byte) []byte
}

func badForms() []badForm {
	const js = "application/json"
	same := func(b []byte) []byte { return b }
	return []badForm{
		{"transport.json", "cut off in the middle", js, func(b []byte) []byte { return b[:len(b)/2] }},
		{"transport.json", "a comma before the end", js, func(b []byte) []byte { return append(slices.Clone(b[:len(b)-1]), ",}"...) }},
		{"transport.json", "a second value behind the first", js, func(b []byte) []byte { return append(slices.Clone(b), " {}"...) }},
		{"transport.json", "single quotes", js, func(b []byte) []byte { return bytes.ReplaceAll(b, []byte{'"'}, []byte{'\''}) }},
		{"transport.json", emptyBody, js, func([]byte) []byte { return []byte{} }},
		{"transport.media-type", "as text/plain", "text/plain", same},
		{"transport.media-type", "as XML", "application/xml", same},
		{"transport.media-type", "as a form", "application/x-www-form-urlencoded", same},
	}
}

// badValues are forms in which one value of a valid body is spelled as no JSON spells it, each so that
// a reader who takes it after all finds nothing else to refuse.
func badValues(valid any) []badForm {
	const js, most = "application/json", 6
	object, ok := valid.(map[string]any)
	if !ok || len(object) == 0 {
		return nil
	}
	first := sortedKeys(object)[0]
	out := []badForm{{"transport.duplicate-members", "with " + first + " twice", js, func(b []byte) []byte {
		return bytes.Join([][]byte{[]byte("{"), encode(first), []byte(":"), encode(object[first]), []byte(","), b[1:]}, nil)
	}}}
	if at, ok := firstNumber(valid, ""); ok {
		out = append(out, badForm{"transport.json", "with NaN as the number " + string(at), js, func([]byte) []byte {
			return bytes.Replace(replaced(valid, at, stand), encode(stand), []byte("NaN"), 1)
		}})
	}
	leaves := stringLeaves(valid, "")
	for _, at := range leaves[:min(most, len(leaves))] {
		old, _ := tree.Get(valid, at)
		out = append(out, badForm{"transport.utf8", "with a byte that is no UTF-8 in " + string(at), js, func([]byte) []byte {
			return bytes.Replace(replaced(valid, at, text(old)+stand), []byte(stand), []byte{0x80}, 1)
		}})
	}
	return out
}

// stand stands for what JSON cannot be asked to spell.
const stand = "assay-stand-in"

// replaced is the text of a body with another value at a place.
func replaced(body any, at tree.Pointer, v any) []byte {
	body = clone(body)
	set(body, at, v)
	return encode(body)
}

// firstNumber is the place of a number in a value.
func firstNumber(v any, at tree.Pointer) (tree.Pointer, bool) {
	switch x := v.(type) {
	case json.Number:
		return at, true
	case map[string]any:
		for _, name := range sortedKeys(x) {
			if p, ok := firstNumber(x[name], at.Append(name)); ok {
				return p, true
			}
		}
	}
	return "", false
}

func transportBodies(_ context.Context, t *check.T, s check.Subject) {
	in, list, counted := isolated(t, s.Op, "primary")
	valid := encode(in.body)
	done := jobSlotFor(t, s.Op)
	defer done()
	twin := in
	if s.Op.Moves != nil { // the valid body uses up what it moves, and then every other is refused for that
		twin = newIntent(t, s.Op, "primary")
	}
	if ex := t.Call("primary", twin.request()); !admitted(ex) {
		t.Inconclusive("the valid body was answered %s, so a refusal of a broken one would prove nothing", describe(ex))
	}
	refused, taken := "", 0 // key of a refused form, number of those that were not
	for _, form := range append(badForms(), badValues(in.body)...) {
		try := in.keyed(t.Key()).spelled(form.body(valid))
		rq := retyped(try.request(), form.media)
		ex := t.Call("primary", rq)
		t.Judge(form.claim, slices.Contains([]int{400, 415, 422}, ex.Status()),
			"400 or 415 for the body "+form.name, describe(ex))
		judgeFormCode(t, form, ex)
		switch {
		case admitted(ex):
			taken++
		case refused == "":
			refused = try.key
		}
	}
	for _, media := range []string{"application/json; charset=utf-8", "Application/JSON"} {
		if s.Op.Moves != nil {
			t.NotApplicable("transport.media-type-spelling", "a second request would not be legal in the resource's state")
			break
		}
		// The same key: a replay costs no second resource and proves that the body was read alike.
		ex := t.Call("primary", retyped(in.request(), media))
		t.Judge("transport.media-type-spelling", admitted(ex), "a 2xx for Content-Type: "+media, describe(ex))
	}
	// Whether it is JSON or too deep for a reader is open; that a server survives it is not (wire.server-error).
	t.Send("primary", in.keyed(t.Key()).spelled(nested(5000)).request(), target.Call{})
	if counted {
		judgeLeft(t, "transport.nothing-admitted", list, 1+taken)
	}
	judgeKeyFree(t, in, refused, counted)
}

// nested is an array in an array, many times.
func nested(depth int) []byte {
	return []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
}

// judgeFormCode holds the refusal of a form to the contract's code, where only one can be meant: an
// empty body may as well be none, and readers may part over the rest.
func judgeFormCode(t *check.T, form badForm, ex wire.Exchange) {
	const claim = "transport.code"
	reason := map[string]string{"transport.json": "invalid_json", "transport.media-type": "unsupported_media_type"}[form.claim]
	want, pinned := t.Contract().Doc.Codes[reason]
	switch {
	case reason == "" || form.name == emptyBody || !rejected(ex):
	case !pinned:
		t.NotApplicable(claim, "the contract pins no code for it")
	default:
		t.Judge(claim, refused(t, ex, want), wanted(want)+" for the body "+form.name, describe(ex))
	}
}

const emptyBody = "an empty body"

// judgeKeyFree shows that the key of a refused form is still free.
func judgeKeyFree(t *check.T, in intent, usedKey string, counted bool) {
	const claim = "transport.nothing-admitted"
	if in.op.Idempotency == nil || usedKey == "" {
		return
	}
	if in.op.Moves == nil {
		done := jobSlotFor(t, in.op)
		defer done()
		ex := t.Call(in.role, in.keyed(usedKey).request())
		t.Judge(claim, admitted(ex), "the valid body to be admitted under the key of a refused one", describe(ex))
	} else if !counted {
		t.NotApplicable(claim, "the contract gives no way to count it")
	}
}

// retyped replaces the media type of a request.
func retyped(rq wire.Request, media string) wire.Request {
	rq.Fields = slices.Clone(rq.Fields)
	for i, f := range rq.Fields {
		if f.Name == "Content-Type" {
			rq.Fields[i].Value = media
		}
	}
	return rq
}

// jobSlotFor takes a job slot if the operation may admit a job.
func jobSlotFor(t *check.T, op *spec.Operation) func() {
	if op.Job == nil {
		return func() {}
	}
	return t.JobSlot()
}

// selectPaths gives one subject a path template; its operation is the first of that path.
func selectPaths(c *spec.Contract) []check.Subject {
	var out []check.Subject
	seen := map[string]bool{}
	for _, op := range c.Ops {
		if !seen[op.Path] {
			seen[op.Path] = true
			out = append(out, check.Subject{Name: op.ID, Op: op})
		}
	}
	return out
}

func transportRoutes(_ context.Context, t *check.T, s check.Subject) {
	unknown := literalPrefix(s.Op.Path) + "/assay-" + t.Nonce() + "/no-such-path"
	if op, _, allowed := t.Contract().Find("GET", unknown); op == nil && len(allowed) == 0 {
		ex := t.Call("primary", wire.Request{Method: "GET", Target: unknown})
		t.Judge("transport.unknown-path", ex.Status() == 404, "404 for "+unknown, describe(ex))
	} else {
		t.NotApplicable("transport.unknown-path", "every path below this one exists")
	}
	judgeSpellings(t, s.Op)
	askOdd(t, s.Op)
	// Ids that name nothing: a server that carries the method out after all shall hit nothing.
	path := s.Op.Path
	for _, p := range s.Op.Params {
		if p.In == "path" {
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape("assay-"+t.Nonce()))
		}
	}
	_, _, allowed := t.Contract().Find(s.Op.Method, path)
	for _, m := range []string{"PUT", "PATCH", "DELETE", "POST"} {
		if !slices.Contains(allowed, m) {
			judgeMethod(t, m, path, allowed)
		}
	}
}

// askOdd asks for ids that no database holds: with the character NUL, and with bytes that are no UTF-8.
// They name nothing, and what refuses them must not fail (wire.server-error).
func askOdd(t *check.T, op *spec.Operation) {
	for _, odd := range []string{"a%00b", "a%FFb"} {
		path := op.Path
		for _, p := range op.Params {
			if p.In == "path" {
				path = strings.ReplaceAll(path, "{"+p.Name+"}", odd)
			}
		}
		if _, _, allowed := t.Contract().Find("GET", path); path == op.Path || !slices.Contains(allowed, "GET") {
			return
		}
		t.Send("primary", wire.Request{Method: "GET", Target: path}, target.Call{})
	}
}

// judgeSpellings asks for a path that can be read in spellings that are other paths.
func judgeSpellings(t *check.T, op *spec.Operation) {
	if _, _, allowed := t.Contract().Find("GET", op.Path); !slices.Contains(allowed, "GET") || strings.Contains(op.Path, "{") {
		t.NotApplicable("transport.path-exact", "tried on paths without parameters that can be read")
		return
	}
	for _, path := range []string{op.Path + "/", strings.ToUpper(op.Path)} {
		if other, _, _ := t.Contract().Find("GET", path); other != nil {
			continue
		}
		ex := t.Call("primary", wire.Request{Method: "GET", Target: path})
		t.Judge("transport.path-exact", !admitted(ex), "404, or a redirection, for "+path, describe(ex))
	}
}

func judgeMethod(t *check.T, method, path string, allowed []string) {
	ex := t.Send("primary", wire.Request{Method: method, Target: path}, target.Call{FreshConn: true})
	if ex.Status() == 0 {
		t.Inconclusive("%s %s got no answer: %s", method, path, ex.End)
	}
	// With an id that names nothing, a server may as well look for the resource first.
	legal := ex.Status() == 405 || ex.Status() == 404 && strings.Contains(path, "assay-")
	t.Judge("transport.method", legal, "405 for "+method+" "+path, describe(ex))
	if ex.Status() != 405 {
		t.NotApplicable("transport.allow", "no method was refused with 405: the resource was looked for first")
		return
	}
	allow := strings.ToUpper(strings.Join(ex.HeaderValues("Allow"), ","))
	for _, m := range allowed {
		t.Judge("transport.allow", strings.Contains(allow, m), "Allow to list "+strings.Join(allowed, ", "), "Allow: "+allow)
	}
}

// literalPrefix is a path template up to its first parameter.
func literalPrefix(path string) string {
	p, _, found := strings.Cut(path, "/{")
	if !found {
		return path
	}
	return p
}
