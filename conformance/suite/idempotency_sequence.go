package suite

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

func runSequential(_ context.Context, t *check.T, s check.Subject) {
	all := specimens(t, s.Op)
	for _, sm := range kinds(all) {
		c := newCreation(t, s.Op, sm)
		first, marker := c.openMarked()
		c.judgeExpiry(first)
		c.judgeReplays(first)
		c.judgeConflict(first, c.otherPayload(all), marker)
		c.judgeMoved(first)
	}
}

// judgeReplays repeats the creation and counts.
func (c *creation) judgeReplays(first wire.Exchange) {
	times := map[check.Effort]int{check.Quick: 1, check.Deep: 5}[c.t.Effort()]
	for range max(times, 2) {
		c.judgeReplay("idempotency.replay", first)
	}
	c.judgeCount("idempotency.once", 1)
}

// judgeReplay repeats the creation once and judges all that a replay promises.
func (c *creation) judgeReplay(claim string, first wire.Exchange) {
	again := c.send(c.in)
	if !c.t.Judge(claim, c.same(first, again), c.replayOf(first), describe(again)) {
		return
	}
	if d := c.difference(first, again); c.startsJob(first) {
		// A job had ended before the first repetition, so this tells the original from the current.
		c.t.Judge("idempotency.original", d == "", "the first answer, though the job has ended since", d)
	} else {
		c.t.Judge("idempotency.representation", d == "", "the answer of "+c.op.ID+" that came first", d)
	}
	if e := c.expiry(first); e != "" {
		now := c.expiry(again)
		c.t.Judge("idempotency.expires", now != "", "the expiry on a replay too", "no "+c.op.Idempotency.Expires.String())
		c.t.Judge("idempotency.expires-constant", now == "" || sameInstant(e, now), e, now)
	}
}

func sameInstant(a, b string) bool {
	x, _, errA := instant(a)
	y, _, errB := instant(b)
	return a == b || errA == nil && errB == nil && x.Equal(y)
}

// judgeExpiry looks at the expiry that a first admission announces.
func (c *creation) judgeExpiry(first wire.Exchange) {
	const claim, window = "idempotency.expires", "idempotency.expires-window"
	if c.op.Idempotency.Expires.IsZero() {
		return
	}
	s := c.expiry(first)
	if !c.t.Judge(claim, s != "", "a value at "+c.op.Idempotency.Expires.String(), "none") {
		return
	}
	at, utc, err := instant(s)
	if !c.t.Judge(claim, err == nil && utc, "a point in time in UTC", s) {
		return
	}
	date, err := http.ParseTime(first.Header("Date"))
	keep := c.retention()
	if err != nil || keep == 0 {
		c.t.NotApplicable(window, "the answer carries no Date, or the contract no retention, to compare with")
		return
	}
	const slack = 2 * time.Second
	latest := date.Add(keep)
	earliest := latest.Add(-(first.Last - first.Sent)) // admission came before the answer's Date
	c.t.Judge(window, !at.Before(earliest.Add(-slack)) && !at.After(latest.Add(slack)),
		fmt.Sprintf("%s, which is Date plus %s", latest.UTC().Format(time.RFC3339), keep), s)
}

// otherPayload is a payload of another meaning that the target admits as well, nil if none is known.
func (c *creation) otherPayload(all []specimen) any {
	for _, sm := range all {
		if sm.example < 0 {
			continue
		}
		if body := c.payload(sm.example); !oracle.Equal(body, c.in.body) {
			return body
		}
	}
	return nil
}

// judgeConflict sends another payload under the used key and looks for what it did.
func (c *creation) judgeConflict(first wire.Exchange, other any, marker string) {
	if other == nil {
		if other = c.neighbour(); other == nil {
			return
		}
	}
	id := createdID(c.op, first)
	before, readable := c.readBack(id)
	ex, judged := c.mustConflict("idempotency.conflict", other)
	if !judged {
		return
	}
	if marker == "" {
		c.t.NotApplicable("idempotency.conflict-silent", "the payload has no free text that could be recognised")
	} else {
		c.t.Judge("idempotency.conflict-silent", !mentions(ex, marker), "nothing of the first payload", describe(ex))
	}
	if c.counted {
		c.judgeCount("idempotency.conflict-harmless", 1)
	}
	if after, ok := c.readBack(id); ok && readable && admitted(before) {
		d := c.difference(before, after)
		c.t.Judge("idempotency.conflict-harmless", d == "", c.op.Creates.Resource+" "+id+" as it was", d)
	} else if !c.counted {
		c.t.NotApplicable("idempotency.conflict-harmless", "the resource can be neither read back nor counted")
	}
	c.judgeReplay("idempotency.survives", first)
}

// mustConflict sends a payload that is not the key's own. A target may judge what a payload means
// before it looks at its key, so a refusal of another kind counts only against a payload that is
// admitted under a fresh key; judged is false where it is not.
func (c *creation) mustConflict(claim string, body any) (ex wire.Exchange, judged bool) {
	want := c.op.Idempotency.Conflict
	ex = c.send(c.in.with(body))
	if !refused(c.t, ex, want) && !admitted(ex) && !admitted(c.send(c.fresh(body))) {
		return ex, false
	}
	c.t.Judge(claim, refused(c.t, ex, want), wanted(want), describe(ex))
	return ex, true
}

// mentions reports whether an answer holds a text, in its body or its header.
func mentions(ex wire.Exchange, text string) bool {
	return bytes.Contains(ex.Body(), []byte(text)) ||
		slices.ContainsFunc(ex.Head.Fields, func(f wire.Field) bool { return strings.Contains(f.Value, text) })
}

// judgeMoved lets the resource move on, where an operation moves it, and asks for the replay again.
func (c *creation) judgeMoved(first wire.Exchange) {
	const claim = "idempotency.original"
	if c.startsJob(first) {
		return // judged with every replay, since the job has ended
	}
	move := c.mover()
	if move == nil {
		c.t.NotApplicable(claim, "no operation changes a "+c.op.Creates.Resource+" that was just made")
		return
	}
	made := map[string]string{}
	for k, v := range c.in.made {
		made[k] = v
	}
	made[c.op.Creates.Resource] = createdID(c.op, first)
	in := buildIntent(c.t, move, c.in.role, made, 0)
	if ex := c.t.Call(in.role, in.request()); !admitted(ex) {
		c.t.Inconclusive("%s, to move the %s on, was answered %s", move.ID, c.op.Creates.Resource, describe(ex))
	}
	again := c.send(c.in)
	d := "another resource"
	if c.same(first, again) {
		d = c.difference(first, again)
	}
	c.t.Judge(claim, d == "", "the first answer, though "+move.ID+" came after it", d)
}

// mover is an operation without a job that moves what c creates out of its first state.
func (c *creation) mover() *spec.Operation {
	m := c.t.Contract().Machine(c.op.Creates.Resource)
	if m == nil {
		return nil
	}
	for _, op := range c.t.Contract().Ops {
		safe := op.Effect != spec.EffectFinancial || c.op.Effect == spec.EffectFinancial
		if mv := op.Moves; mv != nil && mv.Resource == m.Resource && contains(mv.From, m.Initial) && op.Job == nil &&
			safe && !c.t.Profile().IsAbsent(op.ID) {
			return op
		}
	}
	return nil
}

// openMarked sends the creation with a unique text in a member that may hold any, so that a later
// answer that repeats the payload is recognised. The marker is "" where no member takes one.
func (c *creation) openMarked() (first wire.Exchange, marker string) {
	plain := c.in
	for _, m := range c.markings() {
		c.in = plain.with(m.body)
		first = c.send(c.in)
		if admitted(first) {
			return first, m.text
		}
		plain = plain.keyed(c.t.Key())
	}
	c.in = plain
	return c.open(), ""
}

type marking struct {
	body any
	text string
}

const maxMarkings = 3

// markings are payloads with a unique text, those whose schema leaves most room first.
func (c *creation) markings() []marking {
	if c.op.Body == nil || c.in.body == nil {
		return nil
	}
	var found []marking
	offer := func(p tree.Pointer, value any, text string) {
		body := clone(c.in.body)
		put(body, p, value)
		if len(found) < maxMarkings && len(c.op.Body.Schema.Validate(body)) == 0 {
			found = append(found, marking{body, text})
		}
	}
	free := "assay " + c.t.Nonce() + " marker"
	leaves := stringLeaves(c.in.body, "")
	for _, p := range leaves {
		if c.mayMark(p) {
			offer(p, free, free)
		}
	}
	for _, name := range openObjects(c.op.Body.Schema) {
		if _, there := tree.Get(c.in.body, tree.PointerTo(name)); !there {
			offer(tree.PointerTo(name), map[string]any{"note": free}, free)
		}
	}
	for _, p := range leaves { // a pattern that leaves room for many texts is room for one of ours
		pattern, _ := propertyAt(c.op.Body.Schema, p)["pattern"].(string)
		if pattern != "" && c.mayMark(p) {
			if text := check.Draw(c.t, longTexts(pattern), "marker"); text != "" {
				offer(p, text, text)
			}
		}
	}
	return found
}

// mayMark keeps off references, the isolation, and what the profile says exists at the target.
func (c *creation) mayMark(p tree.Pointer) bool {
	for _, ref := range c.op.Refs {
		if ref.In == "body" && (ref.Pointer == p || strings.HasPrefix(string(p), string(ref.Pointer)+"/")) {
			return false
		}
	}
	_, fixed := c.t.Profile().Values[lastToken(p)]
	return !fixed && p != c.isolation()
}

// longTexts are texts of a pattern that are long enough to be unique; "" where none was found.
func longTexts(pattern string) *rapid.Generator[string] {
	if _, err := regexp.Compile(pattern); err != nil {
		return rapid.Just("") // ECMA-262 beyond RE2
	}
	const enough = 8
	return rapid.Custom(func(t *rapid.T) string {
		for range 20 {
			if s := rapid.StringMatching(pattern).Draw(t, "text"); len(s) >= enough {
				return s
			}
		}
		return ""
	})
}

// stringLeaves are the pointers of all strings of a value, in order.
func stringLeaves(v any, at tree.Pointer) []tree.Pointer {
	switch x := v.(type) {
	case string:
		return []tree.Pointer{at}
	case map[string]any:
		var out []tree.Pointer
		for _, k := range sortedKeys(x) {
			out = append(out, stringLeaves(x[k], at.Append(k))...)
		}
		return out
	default:
		return nil // an item of an array is not where put reaches
	}
}

// propertyAt is the raw schema of a member, found through properties and references; nil if another
// keyword leads to it.
func propertyAt(s *schema.Schema, p tree.Pointer) map[string]any {
	raw, _ := dereferenced(s, s.Raw())
	for _, token := range p.Tokens() {
		props, _ := raw["properties"].(map[string]any)
		next, ok := dereferenced(s, props[token])
		if !ok {
			return nil
		}
		raw = next
	}
	return raw
}

const maxReferences = 20

func dereferenced(s *schema.Schema, raw any) (map[string]any, bool) {
	for range maxReferences {
		next, ok := s.Deref(raw)
		if !ok {
			break
		}
		raw = next
	}
	m, ok := raw.(map[string]any)
	return m, ok
}

// openObjects names the members of a body that hold an object with members of the caller's choice.
func openObjects(s *schema.Schema) []string {
	props, _ := propertyAt(s, "")["properties"].(map[string]any)
	var names []string
	for _, name := range sortedKeys(props) {
		m, _ := dereferenced(s, props[name])
		if _, ok := m["additionalProperties"].(map[string]any); ok && m["type"] == "object" {
			names = append(names, name)
		}
	}
	return names
}
