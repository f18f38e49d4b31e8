package suite

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// judgeValues creates with values that stores lose something of, as far as the schema has room for
// them and the target admits them, and compares what is read. Where a creation is a job or uses
// something up it is left alone.
func (c *creation) judgeValues(t *check.T, read *spec.Operation) {
	if c.job || c.op.Moves != nil {
		return
	}
	for _, change := range changesOfValues() {
		body := clone(c.in.body)
		changed := false
		c.everywhere(&body, "", change, &changed)
		if !changed {
			continue
		}
		t.Attempt(func(t *check.T) {
			own := newCreation(t, c.op, specimen{example: c.example})
			own.in = own.in.with(own.onto(body)).keyed(t.Key())
			ex := t.Call(primary, own.in.request())
			if id := newID(c.op, ex); id != "" {
				own.judgeEcho(read, t.Call(primary, about(t, read.ID, own.in, id).request()))
			}
			t.NotApplicable("resources.echo", "the target does not take such values") // unless judged
		})
	}
}

// richest is the specimen with the longest payload.
func richest(all []specimen, op *spec.Operation) specimen {
	return slices.MaxFunc(all, func(a, b specimen) int {
		return len(encode(bodies(op)[a.example].Value)) - len(encode(bodies(op)[b.example].Value))
	})
}

// onto is a changed body with what isolates this creation.
func (c *creation) onto(body any) any {
	body = clone(body)
	if at := c.isolation(); at != "" {
		if v, ok := tree.Get(c.in.body, at); ok {
			put(body, at, v)
		}
	}
	return body
}

// changesOfValues give a value in place of one, nil for none.
func changesOfValues() []func(c *creation, at tree.Pointer, v any) any {
	texts := func(s string) func(*creation, tree.Pointer, any) any {
		return func(_ *creation, _ tree.Pointer, v any) any {
			if _, ok := v.(string); ok {
				return s
			}
			return nil
		}
	}
	numbers := func(s string) func(*creation, tree.Pointer, any) any {
		return func(_ *creation, _ tree.Pointer, v any) any {
			if _, ok := v.(json.Number); ok {
				return json.Number(s)
			}
			return nil
		}
	}
	return []func(*creation, tree.Pointer, any) any{
		texts("\u00c5ngstro\u0308m 100% \U0001F600"), texts("<b>&amp;</b> \"a\" 'b' \\ / %20 +"), texts("one\r\ntwo\n\tthree\u2028four"),
		texts("nul\x00here"), longest1, numbers("0"), numbers("0.1234567890123"), numbers("1e-7"), fullest,
	}
}

// longest1 is a text of the greatest length, no two parts of which are alike.
func longest1(c *creation, at tree.Pointer, v any) any {
	if _, ok := v.(string); !ok {
		return nil
	}
	n, _ := keyword(c.op.Body.Schema, pattern(at), "maxLength").(json.Number)
	most, err := n.Int64()
	if err != nil || most < 1 || most > mostCharacters {
		return nil
	}
	var b []byte
	for i := 0; len(b) < int(most); i++ {
		b = strconv.AppendInt(append(b, '-'), int64(i), 10)
	}
	return string(b[:most])
}

// fullest is an array of as many texts as it may have, each another.
func fullest(c *creation, at tree.Pointer, v any) any {
	list, ok := v.([]any)
	n, _ := keyword(c.op.Body.Schema, pattern(at), "maxItems").(json.Number)
	most, err := n.Int64()
	if !ok || err != nil || most > 100 || len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	for i := len(list); i < int(most); i++ {
		s, isText := list[0].(string)
		if !isText {
			return nil
		}
		list = append(list, fmt.Sprintf("%.8s%d", s, i))
	}
	return list
}

// pattern is a pointer with "*" for the places of arrays.
func pattern(at tree.Pointer) tree.Pointer {
	var out tree.Pointer
	for _, token := range at.Tokens() {
		if _, err := strconv.Atoi(token); err == nil {
			token = "*"
		}
		out = out.Append(token)
	}
	return out
}

// everywhere changes what may be changed of a body, each place only if the whole stays valid.
func (c *creation) everywhere(body *any, at tree.Pointer, change func(*creation, tree.Pointer, any) any, changed *bool) {
	v, _ := tree.Get(*body, at)
	if now := change(c, at, v); now != nil && at != "" && c.mayMark(at) && !oracle.Equal(now, v) {
		next := clone(*body)
		set(next, at, now)
		if len(c.op.Body.Schema.Validate(next)) == 0 {
			*body, *changed = next, true
		}
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sortedKeys(v) {
			c.everywhere(body, at.Append(name), change, changed)
		}
	case []any:
		for i := range v {
			c.everywhere(body, at.Append(strconv.Itoa(i)), change, changed)
		}
	}
}
