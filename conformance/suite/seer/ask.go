package seer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// ask is one request to an operation.
type ask struct {
	op   string // id
	as   string // role; "" is the primary
	path map[string]string
	q    url.Values
	body any
	key  string // "" is a fresh one where the operation takes one
}

// request is the ask on the wire; repeating it repeats its key.
func (a ask) request(t *check.T) wire.Request {
	op := operation(t, a.op)
	target := op.Path
	for name, v := range a.path {
		target = strings.ReplaceAll(target, "{"+name+"}", url.PathEscape(v))
	}
	if len(a.q) > 0 {
		target += "?" + a.q.Encode()
	}
	rq := wire.Request{Operation: op.ID, Method: op.Method, Target: target,
		Fields: []wire.Field{{Name: "Accept", Value: "application/json, application/problem+json"}}}
	if a.body != nil {
		rq.Body = encode(a.body)
		rq.Fields = append(rq.Fields, wire.Field{Name: "Content-Type", Value: "application/json"})
	}
	if op.Idempotency != nil {
		if a.key == "" {
			a.key = t.Key()
		}
		rq.Fields = append(rq.Fields, wire.Field{Name: op.Idempotency.Key.Name, Value: a.key})
	}
	return rq
}

// send sends it.
func (a ask) send(t *check.T) wire.Exchange { return t.Call(a.role(), a.request(t)) }

func (a ask) role() string {
	if a.as == "" {
		return role
	}
	return a.as
}

// operation is one that the flow cannot do without.
func operation(t *check.T, id string) *spec.Operation {
	op := t.Contract().Op(id)
	if op == nil {
		t.Inconclusive("the contract has no operation %s", id)
	}
	return op
}

// here reports whether the target has an operation.
func here(t *check.T, id string) bool {
	return t.Contract().Op(id) != nil && !t.Profile().IsAbsent(id)
}

// encode writes JSON without HTML escapes; numbers keep their spelling.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // only what is no JSON, which no caller makes
		panic(fmt.Sprintf("encoding JSON: %v", err))
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// at reads a member of a decoded value, nil if it is absent.
func at(v any, p tree.Pointer) any {
	m, _ := tree.Get(v, p)
	return m
}

// textAt reads a text member, "" if it is absent or none.
func textAt(v any, p tree.Pointer) string {
	s, _ := at(v, p).(string)
	return s
}

// listAt reads an array member, nil if it is absent or none.
func listAt(v any, p tree.Pointer) []any {
	l, _ := at(v, p).([]any)
	return l
}

// copyOf is a deep copy of a decoded object.
func copyOf(v map[string]any) map[string]any {
	c, err := schema.DecodeJSON(encode(v))
	if err != nil {
		return map[string]any{}
	}
	m, _ := c.(map[string]any)
	return m
}

// with is a copy of an object with one member set.
func with(v map[string]any, name string, value any) map[string]any {
	c := copyOf(v)
	c[name] = value
	return c
}

// without is a copy of an object that lacks some members.
func without(v map[string]any, names ...string) map[string]any {
	c := copyOf(v)
	for _, n := range names {
		delete(c, n)
	}
	return c
}

func admitted(ex wire.Exchange) bool { return ex.Status() >= 200 && ex.Status() < 300 }

// turnedDown reports a refusal of what was asked: a 4xx that is neither about the token nor about the pace.
func turnedDown(ex wire.Exchange) bool {
	return ex.Status() >= 400 && ex.Status() < 500 && !slices.Contains([]int{401, 408, 429}, ex.Status())
}

// refusedAs reports whether an answer is the refusal that the contract has for a kind.
func refusedAs(t *check.T, ex wire.Exchange, kind string) bool {
	want, ok := t.Contract().Doc.Codes[kind]
	if !ok {
		return turnedDown(ex)
	}
	return ex.Status() == want.Status && (want.Code == "" || field(ex, "/code") == want.Code)
}

// refusal is a kind of refusal in a few words.
func refusal(t *check.T, kind string) string {
	r := t.Contract().Doc.Codes[kind]
	return fmt.Sprintf("%d %s", r.Status, r.Code)
}

// connection is what the target says of the primary credential, once a run.
func connection(t *check.T, as string) any {
	v, err := t.Once("seer connection "+as, func() (any, error) {
		ex := ask{op: "getConnection", as: as}.send(t)
		if ex.Status() != http.StatusOK {
			return nil, fmt.Errorf("the connection could not be read: %s", short(ex))
		}
		return decoded(ex), nil
	})
	if err != nil {
		t.Inconclusive("%v", err)
	}
	return v
}

// clock is the target's own time, as an answer of this case told it.
func clock(t *check.T) time.Time {
	for _, ex := range slices.Backward(t.Exchanges()) {
		if d, err := http.ParseTime(ex.Header("Date")); err == nil {
			return d
		}
	}
	return time.Now()
}

// lately is an instant just before the case began, on the target's clock.
func lately(t *check.T) string {
	for _, ex := range t.Exchanges() {
		if d, err := http.ParseTime(ex.Header("Date")); err == nil {
			return d.Add(-2 * time.Second).UTC().Format(time.RFC3339)
		}
	}
	return time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
}

// sameTexts compares a decoded array with texts, whatever their order.
func sameTexts(got []any, want []string) bool {
	texts := make([]string, len(got))
	for i, v := range got {
		texts[i] = fmt.Sprint(v)
	}
	want = slices.Clone(want)
	slices.Sort(texts)
	slices.Sort(want)
	return slices.Equal(texts, want)
}

// pointer is that of one member, whatever is in its name.
func pointer(name string) tree.Pointer { return tree.PointerTo(name) }

// members are those of a decoded object, nil if it is none.
func members(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// decodedText is a text's JSON value, nil if it is none.
func decodedText(b []byte) any {
	v, _ := schema.DecodeJSON(b)
	return v
}
