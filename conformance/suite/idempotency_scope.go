package suite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// selectPairs makes a ring of the keyed operations, so that each is tried with two others. Those
// with financial effect have a ring of their own: it needs more of the target.
func selectPairs(c *spec.Contract) []check.Subject {
	var rings [2][]*spec.Operation
	for _, op := range keyedOps(c) {
		i := 0
		if op.Effect == spec.EffectFinancial {
			i = 1
		}
		rings[i] = append(rings[i], op)
	}
	var out []check.Subject
	for _, ring := range rings {
		for i, a := range ring {
			if b := ring[(i+1)%len(ring)]; a != b && !(i == 1 && len(ring) == 2) {
				out = append(out, check.Subject{Name: a.ID + "+" + b.ID, Op: a, Other: b})
			}
		}
	}
	return out
}

func runScope(_ context.Context, t *check.T, s check.Subject) {
	const claim = "idempotency.scope-path"
	a := newCreation(t, s.Op, specimens(t, s.Op)[0])
	b := newCreation(t, s.Other, specimens(t, s.Other)[0])
	first := a.open()
	b.in.key = a.in.key
	other := b.send(b.in)
	t.Judge(claim, admitted(other), "a 2xx for "+b.op.ID+" under a key that only "+a.op.ID+" has used", describe(other))
	if admitted(other) {
		t.Judge(claim, createdID(a.op, first) != createdID(b.op, other), "a resource of its own", describe(other))
		again := b.send(b.in)
		t.Judge(claim, b.same(other, again), b.replayOf(other), describe(again))
	}
	again := a.send(a.in)
	t.Judge(claim, a.same(first, again), a.replayOf(first), describe(again))
}

// selectBelowParents are the keyed operations whose path names a resource that can be had twice.
func selectBelowParents(c *spec.Contract) []check.Subject {
	var ops []*spec.Operation
	for _, op := range keyedOps(c) {
		for _, p := range op.Params {
			if p.In == "path" && p.Ref != nil && (p.Ref.Free || createsResource(c, p.Ref.From)) {
				ops = append(ops, op)
				break
			}
		}
	}
	return subjects(ops)
}

func createsResource(c *spec.Contract, id string) bool {
	op := c.Op(id)
	return op != nil && op.Creates != nil
}

func runParent(_ context.Context, t *check.T, s check.Subject) {
	const claim = "idempotency.scope-parent"
	sm := specimens(t, s.Op)[0]
	a, b := newCreation(t, s.Op, sm), newCreation(t, s.Op, sm)
	if a.in.target() == b.in.target() {
		b.renameFree("-b")
	}
	first := a.open()
	b.in.key = a.in.key
	other := b.send(b.in)
	t.Judge(claim, a.apart(first, other), "a resource of its own below "+b.in.target(), describe(other))
	again := a.send(a.in)
	t.Judge(claim, a.same(first, again), a.replayOf(first), describe(again))
	judgeAlike(t, s.Op, sm)
}

// judgeAlike uses one key below parents of our own naming whose ids a careless normalisation merges.
func judgeAlike(t *check.T, op *spec.Operation, sm specimen) {
	const claim = "idempotency.path-distinct"
	a := newCreation(t, op, sm)
	a.renameFree("-a.b")
	var first wire.Exchange
	tried := 0
	for _, suffix := range []string{"-A.b", "-a-b", "-a.b.", "-a..b", "-a_b"} {
		b := newCreation(t, op, sm)
		if !b.renameFree(suffix) {
			continue
		}
		if tried == 0 {
			first = a.open()
		}
		tried++
		proof := b.send(b.in)
		if !admitted(proof) {
			continue // the target has no such id
		}
		b.in.key = a.in.key
		other := b.send(b.in)
		t.Judge(claim, a.apart(first, other), "a resource of its own below "+b.in.target()+", which is not "+a.in.target(), describe(other))
	}
	if tried == 0 {
		t.NotApplicable(claim, "no id in the path is of the caller's choice")
	}
}

// renameFree changes the ids in the path that a caller may choose; ok is false if there are none
// that may be changed so.
func (c *creation) renameFree(suffix string) (ok bool) {
	c.in.path = maps.Clone(c.in.path)
	for _, p := range c.op.Params {
		if p.In != "path" || p.Ref == nil || !p.Ref.Free {
			continue
		}
		id := "assay-" + c.t.Nonce() + suffix
		if p.Schema != nil && len(p.Schema.Validate(id)) > 0 {
			return false
		}
		c.in.path[p.Name], ok = id, true
	}
	return ok
}

func runPath(_ context.Context, t *check.T, s check.Subject) {
	c := newCreation(t, s.Op, specimens(t, s.Op)[0])
	first := c.open()
	for _, claim := range []string{"idempotency.path", "idempotency.path-dots"} {
		before := c.exist()
		for _, sp := range spellings(c.in) {
			if sp.claim == claim {
				c.judgeSpelledPath(first, sp)
			}
		}
		if c.counted {
			c.judgeUnchanged(claim, before)
		}
	}
	again := c.send(c.in)
	t.Judge("idempotency.path", c.same(first, again), c.replayOf(first), describe(again))
}

// judgeSpelledPath repeats a creation on another spelling of its path.
func (c *creation) judgeSpelledPath(first wire.Exchange, sp spelling) {
	done := jobSlotFor(c.t, c.op)
	defer done()
	rq := c.in.request()
	rq.Target = sp.target
	ex := c.t.Call(c.in.role, rq)
	c.follow(c.in.role, ex)
	c.t.Judge(sp.claim, !admitted(ex) || c.same(first, ex), c.replayOf(first)+", or a refusal, on "+sp.target, describe(ex))
}

type spelling struct{ claim, target string }

// spellings are other forms of a request target that name the same resource (RFC 3986 §6.2.2), or
// that many servers take for the same.
func spellings(in intent) []spelling {
	const encoded, dots = "idempotency.path", "idempotency.path-dots"
	path, query, _ := strings.Cut(in.target(), "?")
	if query != "" {
		query = "?" + query
	}
	segments := strings.Split(path, "/")
	last := len(segments) - 1
	var out []spelling
	add := func(claim, path string) {
		if sp := (spelling{claim, path + query}); !slices.Contains(out, sp) {
			out = append(out, sp)
		}
	}
	for i, seg := range segments {
		if seg == "" {
			continue
		}
		for _, form := range []string{"%%%02X", "%%%02x"} {
			if s, ok := encodeOne(seg, form); ok {
				add(encoded, join(segments, i, s))
			}
		}
	}
	add(dots, join(segments, last, "./"+segments[last]))
	add(dots, join(segments, last, "assay/../"+segments[last]))
	add(dots, path+"/")
	add(dots, path+"/.")
	return out
}

// encodeOne percent-encodes one unreserved character of a segment, one whose hexadecimal form has a
// letter where there is one, so that its case can differ.
func encodeOne(seg, form string) (string, bool) {
	at := strings.IndexAny(seg, "-._~jklmnoz")
	if at < 0 {
		at = strings.IndexFunc(seg, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' })
	}
	if at < 0 {
		return "", false
	}
	return seg[:at] + fmt.Sprintf(form, seg[at]) + seg[at+1:], true
}

func join(segments []string, i int, with string) string {
	return strings.Join(append(append(append([]string(nil), segments[:i]...), with), segments[i+1:]...), "/")
}

// stranger is another credential that uses the key of a creation.
type stranger struct {
	*creation
	role  string
	in    intent // admitted under a fresh key, if proven
	proof wire.Exchange
}

// another finds a request on the same path that the other credential is admitted with under a key
// of its own: the same payload, or else (with own, at once) one on its own references. Below a
// parent that is the first credential's there is only the same payload.
func (c *creation) another(role string, own bool) stranger {
	s := stranger{creation: c, role: role, in: c.in.as(role).keyed(c.t.Key())}
	made := map[string]string{}
	for _, p := range c.op.Params {
		if p.In == "path" && p.Ref != nil {
			made[p.Ref.Resource] = c.in.path[p.Name]
			own = own && p.Ref.Free
		}
	}
	if !own {
		if s.proof = c.send(s.in); admitted(s.proof) || c.op.Moves != nil || len(made) > 0 {
			return s
		}
	}
	s.in = buildIntent(c.t, c.op, role, made, 0)
	s.proof = c.send(s.in)
	return s
}

func (s stranger) proven() bool { return admitted(s.proof) }

func runClient(_ context.Context, t *check.T, sub check.Subject) {
	const claim, shared = "idempotency.scope-client", "idempotency.scope-shared"
	c := newCreation(t, sub.Op, specimens(t, sub.Op)[0])
	first := c.open()
	if notScopedBy("client")(sub) {
		ex := c.send(c.in.as(string(target.SecondClient)))
		t.Judge(shared, c.same(first, ex), c.replayOf(first)+", for another client of the workspace", describe(ex))
		return
	}
	s := c.another(string(target.SecondClient), false)
	s.judgeOwn(claim, first, "another client")
}

func runWorkspace(_ context.Context, t *check.T, sub check.Subject) {
	const claim, leak = "idempotency.scope-workspace", "idempotency.scope-leak"
	c := newCreation(t, sub.Op, specimens(t, sub.Op)[0])
	first, marker := c.openMarked()
	s := c.another(string(target.SecondWorkspace), true)
	if notScopedBy("workspace")(sub) {
		t.NotApplicable(leak, "the contract shares keys between workspaces")
		return
	}
	ex := s.judgeOwn(claim, first, "another workspace")
	id := createdID(c.op, first)
	t.Judge(leak, !mentions(ex, id), "nothing of "+c.op.Creates.Resource+" "+id, describe(ex))
	if marker != "" {
		t.Judge(leak, !mentions(ex, marker), "nothing of the first payload", describe(ex))
	}
}

// judgeOwn uses the key of the first creation as the other credential. Where that is not admitted
// even under a key of its own, it must at least not be treated as a use of the first key.
func (s stranger) judgeOwn(claim string, first wire.Exchange, who string) wire.Exchange {
	c := s.creation
	ex := c.send(s.in.keyed(c.in.key))
	if s.proven() {
		c.t.Judge(claim, c.apart(first, ex) && c.apart(s.proof, ex), "a resource of its own for "+who, describe(ex))
	} else {
		conflict := c.op.Idempotency.Conflict
		taken := refused(c.t, ex, conflict) && !refused(c.t, s.proof, conflict)
		c.t.Judge(claim, !c.same(first, ex) && !taken, "for "+who+" an answer that does not depend on the key: "+describe(s.proof), describe(ex))
	}
	again := c.send(c.in)
	c.t.Judge(claim, c.same(first, again), c.replayOf(first), describe(again))
	return ex
}

func runRevoked(_ context.Context, t *check.T, sub check.Subject) {
	const claim = "idempotency.revoked"
	c := newCreation(t, sub.Op, specimens(t, sub.Op)[0])
	first := c.open()
	ex := c.send(c.in.as(string(target.Revoked)))
	id := createdID(c.op, first)
	t.Judge(claim, rejected(ex) && !mentions(ex, id), "a refusal without anything of the original", describe(ex))
	if want, ok := t.Contract().Doc.Codes["unauthenticated"]; ok {
		t.Judge(claim, refused(t, ex, want), wanted(want), describe(ex))
	}
}
