package suite

import (
	"errors"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"assay.kit/conformance/check"
	"assay.kit/conformance/gen"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// admittedExamples finds, once a run, the examples of a body that the target admits as they are. One
// that it refuses (a caller may lack what it is about) proves nothing when it is refused broken. The
// caller must not hold a job slot.
func admittedExamples(t *check.T, op *spec.Operation) []int {
	if op.Creates != nil && op.Idempotency != nil && len(bodies(op)) <= maxSpecimens {
		var out []int
		for _, sm := range specimens(t, op) {
			out = append(out, sm.example)
		}
		slices.Sort(out)
		return out
	}
	v, err := t.Once("examples "+op.ID, func() (any, error) { return tryExamples(t, op) })
	if err != nil {
		t.Inconclusive("no request to %s is known to be admitted, so a refusal of a broken one would prove nothing: %v", op.ID, err)
	}
	out, _ := v.([]int)
	return out
}

func tryExamples(t *check.T, op *spec.Operation) ([]int, error) {
	var out []int
	last := ""
	for i := range bodies(op) {
		ex := tryExample(t, op, i)
		if admitted(ex) {
			out = append(out, i)
		} else {
			last = describe(ex)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("the examples of its body are refused: " + last)
	}
	return out, nil
}

func tryExample(t *check.T, op *spec.Operation, i int) wire.Exchange {
	if op.Creates != nil {
		c := newCreation(t, op, specimen{example: i})
		return c.send(c.in)
	}
	done := jobSlotFor(t, op)
	defer done()
	return t.Call(primary, exampleIntent(t, op, primary, map[string]string{}, i).request())
}

// waysToBreak are the broken bodies of one place: the likeliest, and what careless readers let pass.
func waysToBreak(t *check.T, op *spec.Operation, base any, place gen.Place) []gen.Broken {
	ways := gen.WaysAt(op.Body.Schema, base, place, options(t))
	if len(ways) == 0 {
		return nil
	}
	out := ways[:1:1]
	switch {
	case t.Effort() == check.Quick:
	case place.Keyword == "pattern":
		out = append(out, lastLine(ways)...)
	case place.Keyword == "format":
		out = append(out, ways[1:min(4, len(ways))]...)
	case place.Keyword == "type":
		out = append(out, asNull(ways)...)
	case claimOfKeyword(place.Keyword) == "validation.unknown-member":
		out = append(out, renamed(t, op, ways)...)
		out = append(out, capitalised(op, ways[0])...)
	}
	return out
}

// asNull is the way that puts null in place of a value: many a reader takes it for no value at all.
func asNull(ways []gen.Broken) []gen.Broken {
	for i, w := range ways[1:] {
		if v, there := tree.Get(w.Value, w.Pointer); there && v == nil && w.Pointer != "" { // as a whole it may be no body at all
			return ways[i+1 : i+2]
		}
	}
	return nil
}

// capitalised is an unknown member that is a known one, of the value that it may have, but for a
// capital: some decoders do not tell them apart.
func capitalised(op *spec.Operation, way gen.Broken) []gen.Broken {
	parent, _ := way.Pointer.Parent()
	object, _ := tree.Get(way.Value, parent)
	m, ok := object.(map[string]any)
	if !ok {
		return nil
	}
	for _, name := range sortedKeys(m) {
		upper := strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):]
		at := parent.Append(name)
		if _, there := m[upper]; there || at == way.Pointer || upper == name {
			continue
		}
		body := clone(way.Value)
		inner, _ := tree.Get(body, parent)
		own, _ := inner.(map[string]any)
		delete(own, lastToken(way.Pointer))
		own[upper] = clone(m[name])
		if vs := op.Body.Schema.Validate(body); len(vs) > 0 {
			return []gen.Broken{{Value: body, Keyword: way.Keyword, Pointer: parent.Append(upper)}}
		}
	}
	return nil
}

// lastLine is the way that only adds a final newline: many an engine's "$" matches before it.
func lastLine(ways []gen.Broken) []gen.Broken {
	at := -1
	for i, w := range ways {
		v, _ := tree.Get(w.Value, w.Pointer)
		if s, _ := v.(string); i > 0 && strings.HasSuffix(s, "\n") && (at < 0 || len(s) > lengthAt(ways[at])) {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	return ways[at : at+1]
}

func lengthAt(w gen.Broken) int {
	v, _ := tree.Get(w.Value, w.Pointer)
	return len(text(v))
}

// renamed are unknown members with other names than the first way's: one that begins like a known
// member, one by the custom of extensions, one that is drawn.
func renamed(t *check.T, op *spec.Operation, ways []gen.Broken) []gen.Broken {
	var out []gen.Broken
	for _, w := range ways[1:] {
		if strings.HasSuffix(string(w.Pointer), "_") {
			out = append(out, w)
			break
		}
	}
	drawn := check.Draw(t, rapid.StringMatching(`[a-z][a-zA-Z0-9_]{3,12}`), "name")
	first := ways[0]
	parent, name := first.Pointer.Parent()
	for _, other := range []string{"x-" + drawn, drawn} {
		body := clone(first.Value)
		object, _ := tree.Get(body, parent)
		m, isObject := object.(map[string]any)
		if _, there := m[other]; !isObject || there {
			continue
		}
		m[other] = m[name]
		delete(m, name)
		if len(op.Body.Schema.Validate(body)) > 0 {
			out = append(out, gen.Broken{Value: body, Keyword: first.Keyword, Pointer: parent.Append(other)})
		}
	}
	return out
}
