package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"assay.kit/conformance/check"
	"assay.kit/conformance/gen"
	"assay.kit/conformance/oracle"
	"assay.kit/spec/tree"
)

const maxBases = 4

// bases are creations to repeat and to change: the examples that need no job, where there are any.
func bases(t *check.T, s check.Subject) []*creation {
	var out []*creation
	for _, sm := range specimens(t, s.Op) {
		if len(out) == maxBases || len(out) > 0 && sm.job != out[0].job {
			break
		}
		out = append(out, newCreation(t, s.Op, sm))
	}
	return out
}

// rebase takes a creation into an attempt of a property and sends it: under a fresh key, or, where
// that would start a job or use up another resource, as a repetition.
func (c *creation) rebase(t *check.T) *creation {
	own := *c
	own.t = t
	if !c.job && c.op.Moves == nil {
		own.in = c.in.keyed(t.Key())
	}
	return &own
}

func runCanonical(_ context.Context, t *check.T, s check.Subject) {
	all := bases(t, s)
	for _, way := range []struct {
		claim string
		kinds []string
	}{
		{"idempotency.canonical", []string{gen.Order, gen.Space}},
		{"idempotency.spelling", []string{gen.Escape, gen.Number}},
	} {
		t.Property(func(t *check.T) {
			c := check.Draw(t, rapid.IntRange(0, len(all)-1), "example")
			all[c].rebase(t).judgeSpelling(way.claim, way.kinds)
		})
	}
	all[0].judgePair()
}

func (c *creation) judgeSpelling(claim string, kinds []string) {
	s := check.Draw(c.t, gen.Respell(c.in.body, kinds...), "spelling")
	if len(s.Kinds) == 0 {
		c.t.Skip("the payload has only one spelling")
	}
	first := c.open()
	again := c.send(c.in.spelled(s.Text))
	// A reader may be stricter than JSON is (5.0 where an integer is due); that is no matter of keys.
	if rejected(again) && !refused(c.t, again, c.op.Idempotency.Conflict) && c.op.Moves == nil &&
		!admitted(c.send(c.in.spelled(s.Text).keyed(c.t.Key()))) {
		c.t.Skip("the target does not read this spelling at all")
	}
	c.t.Must(claim, c.same(first, again), c.replayOf(first)+", for another "+strings.Join(s.Kinds, " and "), describe(again))
}

// change is a payload of another meaning, with the claim that says it is one.
type change struct {
	base   int // of the creations that are changed
	value  any
	at     tree.Pointer
	kind   string // as the generator names it
	manner string // of a text's change
	claim  string
}

func runChange(_ context.Context, t *check.T, s check.Subject) {
	all := bases(t, s)
	pools := map[string][]change{}
	for i, c := range all {
		for _, ch := range c.changes() {
			ch.base = i
			pools[ch.claim] = append(pools[ch.claim], ch)
		}
	}
	if formed, ch, ok := all[0].alike(); ok {
		ch.base = len(all)
		all = append(all, formed)
		pools[ch.claim] = append(pools[ch.claim], ch)
	}
	for _, cl := range []string{"idempotency.change", "idempotency.change-form", "idempotency.change-order", "idempotency.change-type", "idempotency.change-null", "idempotency.change-default"} {
		if len(pools[cl]) == 0 {
			t.NotApplicable(cl, "the schema leaves no room for it in any example that the target admits")
		}
		for _, ch := range choose(t, pools[cl]) {
			if !t.Attempt(func(t *check.T) { all[ch.base].rebase(t).judgeChange(ch) }) {
				break // one is enough
			}
			t.NotApplicable(cl, "the target admits no such change under a key of its own either") // if none was judged
		}
	}
}

// judgeChange creates and sends the change under the same key.
func (c *creation) judgeChange(ch change) {
	c.open()
	c.mustConflict(ch.claim, ch.value, fmt.Sprintf("a payload that differs (%s%s)", ch, ch.manner), ch.between(c.in.body))
}

// between says what was changed into what.
func (ch change) between(body any) string {
	short := func(v any) string {
		p, there := tree.Get(v, ch.at)
		if !there {
			return "absent"
		}
		return fmt.Sprintf("%.80s", encode(p))
	}
	return fmt.Sprintf(", when %s was changed from %s to %s", orRoot(ch.at), short(body), short(ch.value))
}

// choose takes as many changes as the effort allows, from one on that the seed picks: each kind of
// change once, then each place once, then any.
func choose(t *check.T, pool []change) []change {
	n := min(len(pool), scaled(t, 6, 16, 80))
	if n == 0 {
		return nil
	}
	start := check.Draw(t, rapid.IntRange(0, len(pool)-1), "first change")
	pool = slices.Concat(pool[start:], pool[:start])
	var out []change
	taken := map[int]bool{}
	take := func(what func(change) string) {
		seen := map[string]bool{}
		for _, ch := range out {
			seen[what(ch)] = true
		}
		for i, ch := range pool {
			if w := what(ch); len(out) < n && !taken[i] && !seen[w] {
				seen[w], taken[i] = true, true
				out = append(out, ch)
			}
		}
	}
	take(func(ch change) string { return ch.kind + ch.manner })
	take(func(ch change) string { return fmt.Sprint(ch.base, ch) })
	for i, ch := range pool {
		if len(out) < n && !taken[i] {
			out = append(out, ch)
		}
	}
	return out
}

// mannerOf tells changes of a text apart by what a careless comparison may overlook.
func mannerOf(was, now any) string {
	a, isText := was.(string)
	b, stays := now.(string)
	if x, isNumber := was.(json.Number); isNumber {
		y, _ := now.(json.Number)
		return mannerOfNumber(x.String(), y.String())
	}
	switch {
	case !isText || !stays:
		return ""
	case strings.EqualFold(a, b):
		return " case"
	case strings.TrimSpace(a) == strings.TrimSpace(b):
		return " space"
	case strings.HasPrefix(b, a) || strings.HasPrefix(a, b):
		return " length"
	default:
		return " character"
	}
}

// mannerOfNumber tells changes of a number apart by what is left of it when it is rounded.
func mannerOfNumber(was, now string) string {
	a, fraction, _ := strings.Cut(was, ".")
	b, other, _ := strings.Cut(now, ".")
	switch {
	case now == "":
		return ""
	case a == b && len(fraction) == len(other):
		return " digit"
	case a == b:
		return " fraction"
	default:
		return " number"
	}
}

const maxChanges = 160

// changes lists payloads next to the creation's own.
func (c *creation) changes() []change {
	if c.op.Body == nil || c.in.body == nil {
		return nil
	}
	o := options(c.t)
	near := gen.Neighbours(c.op.Body.Schema, c.in.body, maxChanges, o)
	if len(near) == 0 { // nothing but references: one that leads nowhere is another payload all the same
		o.ChangeRefs = true
		near = gen.Neighbours(c.op.Body.Schema, c.in.body, maxChanges, o)
	}
	var out []change
	for _, n := range near {
		was, _ := tree.Get(c.in.body, n.Pointer)
		now, _ := tree.Get(n.Value, n.Pointer)
		out = append(out, change{value: n.Value, at: n.Pointer, kind: n.Kind, manner: mannerOf(was, now), claim: c.kindOf(n)})
	}
	return append(out, c.spelledDefaults()...)
}

// kindOf names the claim that a change belongs to.
func (c *creation) kindOf(n gen.Change) string {
	was, before := tree.Get(c.in.body, n.Pointer)
	now, after := tree.Get(n.Value, n.Pointer)
	switch {
	case n.Kind == "order":
		return "idempotency.change-order"
	case n.Kind == "type":
		return "idempotency.change-type"
	case n.Kind == "item", before && after:
		return "idempotency.change"
	case before && was == nil, after && now == nil:
		return "idempotency.change-null" // there or not
	case before && c.mayBeDefault(n.Pointer, was), after && c.mayBeDefault(n.Pointer, now):
		return "idempotency.change-default"
	default:
		return "idempotency.change"
	}
}

// mayBeDefault reports whether a member with this value may mean what its absence means.
func (c *creation) mayBeDefault(at tree.Pointer, v any) bool {
	if d := keyword(c.op.Body.Schema, at, "default"); d != nil && oracle.Equal(d, v) {
		return true
	}
	switch x := v.(type) {
	case bool:
		return !x
	case string:
		return x == ""
	case []any:
		return len(x) == 0
	case map[string]any:
		return len(x) == 0
	default:
		return oracle.Equal(v, 0)
	}
}

// spelledDefaults adds each member that the payload leaves out, with its default.
func (c *creation) spelledDefaults() []change {
	var out []change
	root, ok := c.in.body.(map[string]any)
	if !ok {
		return nil
	}
	for _, name := range memberNames(c.op.Body.Schema, "") {
		at := tree.PointerTo(name)
		d := keyword(c.op.Body.Schema, at, "default")
		if _, there := root[name]; there || d == nil {
			continue
		}
		body := clone(c.in.body)
		put(body, at, d)
		if len(c.op.Body.Schema.Validate(body)) == 0 {
			out = append(out, change{value: body, at: at, kind: "default", claim: "idempotency.change-default"})
		}
	}
	return out
}

// neighbour is one payload of another meaning, the nearest; nil if there is none.
func (c *creation) neighbour() any {
	all := c.changes()
	i := slices.IndexFunc(all, func(ch change) bool { return ch.claim == "idempotency.change" })
	if i < 0 {
		return nil
	}
	return all[i].value
}

// String tells a change in a few words.
func (ch change) String() string { return fmt.Sprintf("%s at %s", ch.kind, orRoot(ch.at)) }
