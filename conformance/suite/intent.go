package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"sort"
	"strconv"
	"strings"

	"assay.kit/conformance/check"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// intent is one logical request: an operation with everything that makes it this request and no
// other. Retrying it is sending it again; a changed one has another body under the same key.
type intent struct {
	op    *spec.Operation
	role  string
	path  map[string]string
	query url.Values
	body  any    // decoded JSON; nil sends none
	text  []byte // the body as it is to be spelled; nil: body encoded
	key   string // idempotency key; "" sends none
	extra []wire.Field
	made  map[string]string // resources that were made on the way, by type
}

// with returns a copy whose body is another value.
func (in intent) with(body any) intent {
	in.body, in.text = body, nil
	return in
}

// spelled returns a copy whose body goes over the wire as this text.
func (in intent) spelled(text []byte) intent {
	in.text = text
	return in
}

// keyed returns a copy under another idempotency key.
func (in intent) keyed(key string) intent {
	in.key = key
	return in
}

// as returns a copy that another credential sends.
func (in intent) as(role string) intent {
	in.role = role
	return in
}

// target is path and query, escaped in the ordinary way.
func (in intent) target() string {
	p := in.op.Path
	for name, v := range in.path {
		p = strings.ReplaceAll(p, "{"+name+"}", url.PathEscape(v))
	}
	if len(in.query) > 0 {
		p += "?" + in.query.Encode()
	}
	return p
}

// request is the intent on the wire.
func (in intent) request() wire.Request {
	rq := wire.Request{Operation: in.op.ID, Method: in.op.Method, Target: in.target()}
	rq.Fields = append(rq.Fields, wire.Field{Name: "Accept", Value: "application/json, application/problem+json"})
	switch {
	case in.text != nil:
		rq.Body = in.text
	case in.body != nil:
		rq.Body = encode(in.body)
	}
	if rq.Body != nil {
		rq.Fields = append(rq.Fields, wire.Field{Name: "Content-Type", Value: "application/json"})
	}
	if idem := in.op.Idempotency; in.key != "" && idem != nil && idem.Key.Part == "header" {
		rq.Fields = append(rq.Fields, wire.Field{Name: idem.Key.Name, Value: in.key})
	}
	rq.Fields = append(rq.Fields, in.extra...)
	return rq
}

// encode writes JSON with sorted members and without HTML escaping; numbers keep their spelling.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // only for values that are no JSON, which no caller makes
		panic(fmt.Sprintf("encoding a request body: %v", err))
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// clone copies a decoded JSON value, so that a change stays local.
func clone(v any) any {
	switch x := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(x))
		for k, e := range x {
			m[k] = clone(e)
		}
		return m
	case []any:
		a := make([]any, len(x))
		for i, e := range x {
			a[i] = clone(e)
		}
		return a
	default:
		return v
	}
}

// newIntent builds a request for an operation that a correct target accepts: parameters and
// references are resolved, made where they have to be fresh, and the body is the contract's example.
// A new key is set where the operation takes one.
func newIntent(t *check.T, op *spec.Operation, role string) intent {
	return buildIntent(t, op, role, map[string]string{}, 0)
}

const maxDepth = 6 // of resources that need resources; a contract that needs more is refused here

func buildIntent(t *check.T, op *spec.Operation, role string, made map[string]string, depth int) intent {
	if depth > maxDepth {
		t.Inconclusive("%s needs a chain of more than %d resources", op.ID, maxDepth)
	}
	in := intent{op: op, role: role, path: map[string]string{}, query: url.Values{}, made: made}
	if op.Moves != nil {
		bring(t, op, role, made, depth)
	}
	for _, p := range op.Params {
		switch {
		case p.In == "path":
			in.path[p.Name] = parameter(t, op, p, role, made, depth)
		case p.In == "query" && p.Required:
			in.query.Set(p.Name, parameter(t, op, p, role, made, depth))
		}
	}
	if op.Body != nil {
		in.body = exampleBody(t, op, role, made, depth)
	}
	if op.Idempotency != nil {
		in.key = t.Key()
	}
	return in
}

// parameter finds a value for a required parameter: the profile's, a reference's, the example.
func parameter(t *check.T, op *spec.Operation, p spec.Param, role string, made map[string]string, depth int) string {
	if p.Ref != nil {
		if id := resolve(t, *p.Ref, p.Name, role, made, depth); id != "" {
			return id
		}
	}
	if v, ok := t.Profile().Values[p.Name]; ok {
		return text(v)
	}
	if p.Example != nil {
		return text(p.Example)
	}
	t.Inconclusive("no value for parameter %s of %s: give one under values in the profile", p.Name, op.ID)
	return ""
}

// exampleBody is the operation's first example with its references resolved.
func exampleBody(t *check.T, op *spec.Operation, role string, made map[string]string, depth int) any {
	examples := bodies(op)
	if len(examples) == 0 {
		t.Inconclusive("%s has no example of its body in the contract", op.ID)
	}
	return resolveBody(t, op, clone(examples[0].Value), role, made, depth)
}

// bodies are the examples of an operation's body that create synchronously first, so that
// semantics are tried without a job where that is possible.
func bodies(op *spec.Operation) []spec.Example {
	if op.Body == nil {
		return nil
	}
	return op.Body.Examples
}

// resolveBody puts ids that exist at the target, and the profile's values, into an example.
func resolveBody(t *check.T, op *spec.Operation, body any, role string, made map[string]string, depth int) any {
	for _, ref := range op.Refs {
		if ref.In != "body" {
			continue
		}
		if old, ok := tree.Get(body, ref.Pointer); !ok || old == nil {
			continue // the example leaves this optional member out
		}
		if id := resolve(t, ref, lastToken(ref.Pointer), role, made, depth); id != "" {
			set(body, ref.Pointer, id)
		}
	}
	overrideValues(body, t.Profile().Values)
	return body
}

// overrideValues replaces members by what the profile says exists at the target.
func overrideValues(v any, values map[string]any) {
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			if val, ok := values[k]; ok {
				x[k] = val
			} else {
				overrideValues(e, values)
			}
		}
	case []any:
		for _, e := range x {
			overrideValues(e, values)
		}
	}
}

// resolve finds an id of the resource type that a reference names: one made on the way, the
// profile's, a fresh one of our own choosing, or one that the contract says another operation yields.
func resolve(t *check.T, ref spec.Ref, name, role string, made map[string]string, depth int) string {
	if id := made[ref.Resource]; id != "" {
		return id
	}
	if v, ok := t.Profile().Values[name]; ok {
		return text(v)
	}
	if ref.Free {
		id := t.Key() // as unique as a key
		made[ref.Resource] = id
		return id
	}
	from := t.Contract().Op(ref.From)
	if from == nil {
		return ""
	}
	if t.Profile().IsAbsent(from.ID) {
		return resultInstead(t, from, ref.Resource, role)
	}
	if from.Creates != nil {
		id := make1(t, from, role, made, depth)
		made[ref.Resource] = id
		return id
	}
	id, err := t.Once("ref "+role+" "+from.ID+" "+string(ref.At), func() (any, error) {
		return readRef(t, from, ref, role, depth)
	})
	if err != nil {
		t.Inconclusive("no %s: %v", ref.Resource, err)
	}
	return id.(string)
}

// readRef reads an id out of the answer of an operation without effect.
func readRef(t *check.T, from *spec.Operation, ref spec.Ref, role string, depth int) (any, error) {
	for _, op := range t.Contract().Ops {
		if op.Job != nil && op.Job.Read == from.ID && op.Job.Result == ref.At {
			return jobResult(t, op, role)
		}
	}
	ex := t.Call(role, buildIntent(t, from, role, map[string]string{}, depth+1).request())
	v, err := bodyOf(ex)
	if err != nil || ex.Status() != 200 {
		return nil, fmt.Errorf("%s answered %d", from.ID, ex.Status())
	}
	at := ref.At
	if at == "" && from.Collection != nil {
		at = from.Collection.Items.Append("0") + from.Collection.ID
	}
	id, ok := tree.Get(v, at)
	if !ok || id == nil {
		return nil, fmt.Errorf("%s has nothing at %s", from.ID, at)
	}
	return text(id), nil
}

// jobResult has a job done and returns the id of its result.
func jobResult(t *check.T, op *spec.Operation, role string) (any, error) {
	e := background(t, op, role)
	if e < 0 {
		return nil, fmt.Errorf("%s begins no job", op.ID)
	}
	end := admit(t, op, role, e).end(t)
	id, ok := tree.Get(end.body, op.Job.Result)
	if !ok || id == nil {
		return nil, fmt.Errorf("the job of %s ended %s, without a result", op.ID, end.state)
	}
	return text(id), nil
}

// make1 creates a resource and returns its id.
func make1(t *check.T, op *spec.Operation, role string, made map[string]string, depth int) string {
	if t.Profile().IsAbsent(op.ID) {
		lacking(t, op)
	}
	in := buildIntent(t, op, role, made, depth+1)
	ex := t.Call(role, in.request())
	id := createdID(op, ex)
	if id == "" {
		t.Inconclusive("%s, needed to make a %s, answered %s", op.ID, op.Creates.Resource, describe(ex))
	}
	return id
}

// bring makes the resource that an operation moves, and walks it to a state from which it may.
func bring(t *check.T, op *spec.Operation, role string, made map[string]string, depth int) {
	m := t.Contract().Machine(op.Moves.Resource)
	if m == nil || made[m.Resource] != "" {
		return
	}
	bringTo(t, m, op.Moves.From, role, made, depth)
}

// bringTo makes a resource that has a machine, and walks it to one of some states. It returns the
// answer of the creation.
func bringTo(t *check.T, m *spec.States, want []string, role string, made map[string]string, depth int) wire.Exchange {
	create := creationOf(t.Contract(), m.Resource)
	if create == nil {
		t.Inconclusive("no operation makes a %s", m.Resource)
	}
	if t.Profile().IsAbsent(create.ID) {
		lacking(t, create)
	}
	in := buildIntent(t, create, role, made, depth+1)
	first := t.Call(role, in.request())
	made[m.Resource] = createdID(create, first)
	if made[m.Resource] == "" {
		t.Inconclusive("%s, needed to make a %s, answered %s", create.ID, m.Resource, describe(first))
	}
	for _, step := range pathTo(t.Contract(), m, want) {
		if t.Profile().IsAbsent(step.ID) {
			lacking(t, step)
		}
		ex := t.Call(role, buildIntent(t, step, role, made, depth+1).request())
		if ex.Status() >= 300 {
			t.Inconclusive("%s, needed before %s is %s, answered %s", step.ID, m.Resource, strings.Join(want, " or "), describe(ex))
		}
		if step.Creates != nil {
			made[step.Creates.Resource] = createdID(step, ex)
		}
	}
	return first
}

// creationOf is the first operation that creates a resource type, nil if none does.
func creationOf(c *spec.Contract, resource string) *spec.Operation {
	for _, op := range c.Ops {
		if op.Creates != nil && op.Creates.Resource == resource {
			return op
		}
	}
	return nil
}

// pathTo is the shortest list of operations that move a fresh resource into one of the states.
func pathTo(c *spec.Contract, m *spec.States, want []string) []*spec.Operation {
	type node struct {
		state string
		steps []*spec.Operation
	}
	seen := map[string]bool{m.Initial: true}
	for queue := []node{{state: m.Initial}}; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		for _, w := range want {
			if w == n.state {
				return n.steps
			}
		}
		for _, op := range c.Ops {
			if mv := op.Moves; mv != nil && mv.Resource == m.Resource && contains(mv.From, n.state) && !seen[mv.To] {
				seen[mv.To] = true
				queue = append(queue, node{mv.To, append(append([]*spec.Operation(nil), n.steps...), op)})
			}
		}
	}
	return nil
}

// createdID reads the new resource's id out of a creation's answer; "" if it was none.
func createdID(op *spec.Operation, ex wire.Exchange) string {
	if ex.Status() < 200 || ex.Status() > 299 {
		return ""
	}
	v, err := bodyOf(ex)
	if err != nil {
		return ""
	}
	at := op.Creates.ID
	if op.Job != nil && ex.Status() == op.Job.Accepted {
		at = op.Job.ID
	}
	if at.Part == "header" {
		return ex.Header(at.Name)
	}
	id, ok := tree.Get(v, at.Pointer)
	if !ok || id == nil {
		return ""
	}
	return text(id)
}

// text is a scalar as it stands in a path or query.
func text(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case json.Number:
		return x.String()
	case bool:
		return strconv.FormatBool(x)
	case int:
		return strconv.Itoa(x)
	case nil:
		return ""
	default:
		return string(encode(x))
	}
}

func lastToken(p tree.Pointer) string {
	s := string(p)
	for {
		i := strings.LastIndexByte(s, '/')
		tok := s[i+1:]
		if _, err := strconv.Atoi(tok); err != nil || i <= 0 {
			return tok
		}
		s = s[:i] // an element of an array is named after the array
	}
}

// set replaces the value at a pointer that exists.
func set(root any, p tree.Pointer, v any) {
	tokens := p.Tokens()
	for i, tok := range tokens {
		last := i == len(tokens)-1
		switch x := root.(type) {
		case map[string]any:
			if last {
				x[tok] = v
			}
			root = x[tok]
		case []any:
			n, err := strconv.Atoi(tok)
			if err != nil || n < 0 || n >= len(x) {
				return
			}
			if last {
				x[n] = v
			}
			root = x[n]
		default:
			return
		}
	}
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// sortedKeys gives map keys in order, so that a run is a function of its seed.
func sortedKeys[V any](m map[string]V) []string {
	ks := make([]string, 0, len(m))
	for k := range m {
		ks = append(ks, k)
	}
	sort.Strings(ks)
	return ks
}
