package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// numbers judges that a payload's numbers are such that its canonical form keeps them: RFC 8785
// writes every number as a double, so two numbers that fall on one double would share a fingerprint.
func numbers() []check.Check {
	return []check.Check{{
		ID:   "validation.number",
		Does: "Sends numbers that no double holds, and the nearest that one does.",
		Claims: []check.Claim{
			{ID: "validation.number-distinct", Says: "Two numbers share no replay unless the target takes one for the other: one that no double holds is refused and its key stays free, or it is another payload than its neighbour, or it is shown rounded."},
			{ID: "validation.number-accepted", Says: "A number that a double holds is accepted, however many digits it has."},
		},
		Select: selectNumbers,
		Cost:   check.Cost{Requests: 150, Jobs: 1},
		Run:    validationNumber,
	}}
}

// selectNumbers are the creations with canonical fingerprints whose examples have numbers in them.
func selectNumbers(c *spec.Contract) []check.Subject {
	var out []check.Subject
	for _, s := range keyedBodies(c) {
		if s.Op.Idempotency.Fingerprint != "jcs" {
			continue
		}
		for _, e := range bodies(s.Op) {
			if len(numbersIn(e.Value, "")) > 0 {
				out = append(out, s)
				break
			}
		}
	}
	return out
}

// numbersIn are the pointers of all numbers of a value, in order.
func numbersIn(v any, at tree.Pointer) []tree.Pointer {
	var out []tree.Pointer
	switch x := v.(type) {
	case json.Number:
		return []tree.Pointer{at}
	case map[string]any:
		for _, k := range sortedKeys(x) {
			out = append(out, numbersIn(x[k], at.Append(k))...)
		}
	case []any:
		for i, e := range x {
			out = append(out, numbersIn(e, at.Index(i))...)
		}
	}
	return out
}

const maxNumbers = 6 // payloads of one creation

func validationNumber(_ context.Context, t *check.T, s check.Subject) {
	n := 0
	for _, sm := range specimens(t, s.Op) {
		c := newCreation(t, s.Op, sm)
		for _, at := range numbersIn(c.in.body, "") {
			for _, odd := range c.unholdable(at) {
				if n++; n > scaled(t, 3, maxNumbers, 4*maxNumbers) {
					return
				}
				t.Attempt(func(t *check.T) { newCreation(t, s.Op, sm).judgeNumber(at, odd) })
			}
		}
	}
	if n == 0 {
		t.NoneApply("the schema leaves no room for a number that a double cannot hold")
	}
}

// unholdable are numbers that the schema takes in a place and no double holds.
func (c *creation) unholdable(at tree.Pointer) []string {
	v, _ := tree.Get(c.in.body, at)
	own := text(v)
	more := own + "00000000000000000001"
	if !strings.Contains(own, ".") {
		more = own + ".00000000000000000001"
	}
	var out []string
	for _, s := range []string{more, "0.30000000000000004440892098500626", "0.1000000000000000055511151231257827021181583404541015625", "9007199254740993", "1e-400"} {
		if c.takes(at, s) {
			out = append(out, s)
		}
	}
	return out
}

// takes reports whether the contract's schemas take a number in a place, as it is written.
func (c *creation) takes(at tree.Pointer, number string) bool {
	body := clone(c.in.body)
	set(body, at, json.Number(number))
	if len(c.op.Body.Schema.Validate(body)) > 0 {
		return false
	}
	m, _ := body.(map[string]any)
	for _, name := range sortedKeys(m) {
		for _, raw := range schemasAt(c.op.Body.Schema, tree.PointerTo(name)) {
			tool, _ := tree.Get(body, spec.PropertyTraitsOf(raw).ToolInput)
			if domain, _ := tool.(string); domain != "" && !c.toolTakes(domain, m[name]) {
				return false
			}
		}
	}
	return true
}

func (c *creation) toolTakes(domain string, input any) bool {
	s := options(c.t).ToolInput(domain)
	return s == nil || len(s.Validate(input)) == 0
}

// judgeNumber sends a number that no double holds, and then the double next to it under the same key.
func (c *creation) judgeNumber(at tree.Pointer, odd string) {
	f, _ := strconv.ParseFloat(odd, 64) // an underflow gives 0, which is its neighbour
	near := strconv.FormatFloat(f, 'g', -1, 64)
	if math.Abs(f) >= 1 && math.Abs(f) < 1e21 {
		near = strconv.FormatFloat(f, 'f', -1, 64)
	}
	legal := c.takes(at, near)
	good := clone(c.in.body)
	if legal {
		set(good, at, json.Number(near))
	}
	// The twin first: it shows that nothing else about the payload is wrong.
	ex := c.send(c.fresh(good))
	if legal {
		c.t.Judge("validation.number-accepted", admitted(ex), fmt.Sprintf("a 2xx for %s at %s", near, at), describe(ex))
	}
	if !admitted(ex) {
		c.t.Inconclusive("the same payload with a plain number was answered %s", describe(ex))
	}
	bad := clone(c.in.body)
	set(bad, at, json.Number(odd))
	c.judgeDistinct(at, odd, c.send(c.in.with(bad)), c.send(c.in.with(good)))
}

// judgeDistinct looks at the answers to a number that no double holds and then, under the same key, to
// the double next to it. In the form of RFC 8785 the two are one, so a target that takes the first for
// the second may replay; one that keeps it as it was written has two payloads under one key.
func (c *creation) judgeDistinct(at tree.Pointer, odd string, first, second wire.Exchange) {
	const claim = "validation.number-distinct"
	conflict := c.op.Idempotency.Conflict
	switch {
	case !admitted(first):
		ok := refusedParameter(first.Status()) && !refused(c.t, first, conflict)
		if c.t.Judge(claim, ok, fmt.Sprintf("a 2xx, or a refusal for the number, for %s at %s, which no double holds", odd, at), describe(first)) {
			c.t.Judge(claim, admitted(second), "a 2xx under the same key for the number next to it", describe(second))
		}
	case !c.same(first, second):
		c.t.Judge(claim, refused(c.t, second, conflict), fmt.Sprintf("a replay, or %s, for the number next to %s at %s", wanted(conflict), odd, at), describe(second))
	default:
		shown := member(first, at)
		if ex, ok := c.readBack(createdID(c.op, first)); ok && shown == "" {
			shown = member(ex, at)
		}
		c.t.Judge(claim, shown != "" && !oracle.Equal(json.Number(shown), json.Number(odd)), fmt.Sprintf("%s at %s to be refused, shown as the double next to it, or told apart from that", odd, at),
			describe(second)+", a replay for the number next to it")
	}
}
