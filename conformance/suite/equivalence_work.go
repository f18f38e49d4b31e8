package suite

import (
	"context"
	"fmt"
	"slices"

	"assay.kit/conformance/check"
	"assay.kit/conformance/gen"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/suite/mcp"
	"assay.kit/conformance/target"
	"assay.kit/spec"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// valueText is a member of a result as text, "" if it is absent or null.
func valueText(v any, at tree.Pointer) string {
	m, _ := tree.Get(v, at)
	return text(m)
}

func equivalentAuthority() []check.Check {
	return []check.Check{
		{
			ID:     "equivalence.grants",
			Does:   "Calls the tool under a credential without its scopes, on both faces.",
			Claims: []check.Claim{{ID: "equivalence.grants", Says: "For want of a grant or scope one face refuses what the other refuses, and lets through what it lets through."}, refusedAlike()},
			Needs:  onBoth(target.WithoutScope), Cost: check.Cost{Requests: 60, Jobs: 1},
			Select: toolSubjects(hasTwin), Run: authorityOf(target.WithoutScope, "equivalence.grants"),
		},
		{
			ID:     "equivalence.entitlements",
			Does:   "Calls the tool under a credential without a data entitlement, on both faces.",
			Claims: []check.Claim{{ID: "equivalence.entitlements", Says: "For want of an entitlement one face refuses what the other refuses, and lets through what it lets through."}, refusedAlike()},
			Needs:  onBoth(target.WithoutEntitlement), Cost: check.Cost{Requests: 60, Jobs: 1},
			Select: toolSubjects(hasTwin), Run: authorityOf(target.WithoutEntitlement, "equivalence.entitlements"),
		},
	}
}

// authorityOf sends every example of a tool as a credential that lacks something. What the examples
// refer to is made by the primary.
func authorityOf(role target.Capability, claim string) func(context.Context, *check.T, check.Subject) {
	return func(_ context.Context, t *check.T, s check.Subject) {
		f := faces{t: t, role: string(role), s: mcp.New(t, string(role))}
		ex, m := f.s.Initialize(mcp.Revision)
		open := m.Result != nil
		primarys := bothFaces(t, primary)
		if open {
			f.s.Initialized()
		}
		for _, tool := range revisionsOf(t.Contract(), s.Tool.Name) {
			for i := range tool.Examples {
				c := exampleCall(t, tool, primary, i)
				in, sayable := c.intent(string(role), "")
				if !sayable {
					continue
				}
				if c.op.Idempotency != nil {
					in = in.keyed(t.Key())
				}
				free := mcpSlot(t, tool)
				here := c.onREST(t, in)
				c.settled(t, in.as(primary), here)
				there := read(t, ex, m) // of initialize, where that was refused
				if open {
					there = c.onMCP(f.s, "")
				}
				c.settled(t, in.as(primary), there)
				free()
				if !here.known || !there.known {
					continue
				}
				if here.ok != there.ok && !f.asPrimary(c, primarys) {
					continue // the faces differ for everybody
				}
				t.Judge(claim, here.ok == there.ok, here.told, there.told)
				f.reasons(here, there)
			}
		}
		t.NotApplicable("equivalence.code", "nothing is refused with a code")
		t.NotApplicable(claim, "no example can be said on both faces")
	}
}

// asPrimary reports whether the primary's call is taken on both faces.
func (f faces) asPrimary(c toolCall, primarys faces) (both bool) {
	both = true
	for _, onMCP := range []bool{false, true} {
		free := mcpSlot(f.t, c.tool)
		o := primarys.one(c, onMCP)
		if in, ok := c.restOf(); ok {
			c.settled(f.t, in, o)
		}
		free()
		both = both && o.ok
	}
	return both
}

func equivalentWork() []check.Check {
	return []check.Check{{
		ID:   "equivalence.work",
		Does: "Begins work by the tool and by REST, and reads the jobs and what they made through both faces.",
		Claims: []check.Claim{
			{ID: "equivalence.job", Says: "A job that is read through MCP is the one that REST shows, whichever face began it."},
			{ID: "equivalence.artifact", Says: "What a job made is read through MCP as REST shows it."},
			{ID: "equivalence.outcome", Says: "The same work ends alike and makes the same, whichever face began it."},
		},
		Needs: onBoth(), Cost: check.Cost{Requests: 400, Jobs: 3},
		Select: toolSubjects(beginsWork), Run: equivalentJobs,
	}}
}

// beginsWork reports a tool of background work that a utility can read.
func beginsWork(c *spec.Contract, tool *spec.Tool) bool {
	op := c.Op(tool.Operation)
	return hasTwin(c, tool) && tool.Async && op.Job != nil && toolNamed(c, op.Job.Read) != nil
}

// finished is a job at its end, and what it made.
type finished struct {
	id, state      string
	job, artifact  any
	madeID         string
	readOf, madeOf toolCall // the utilities that read them
}

// finish follows a job to its end on REST.
func (c toolCall) finish(t *check.T, in intent, o outcome) finished {
	id := c.jobIn(o)
	if id == "" {
		t.Inconclusive("%s begins no job for its first example: %s", c.tool.Name, o.told)
	}
	end := awaited(t, in, id)
	f := finished{id: id, state: end.state, job: end.body, madeID: valueText(end.body, c.op.Job.Result)}
	f.readOf = utility(t, c.op.Job.Read, in, id)
	if made := toolNamed(t.Contract(), c.op.Job.Artifact); made != nil && f.madeID != "" {
		f.madeOf = utility(t, c.op.Job.Artifact, in, f.madeID)
		ex := t.Call(in.role, about(t, c.op.Job.Artifact, in, f.madeID).request())
		f.artifact, _ = bodyOf(ex)
		if !admitted(ex) {
			t.Inconclusive("what the job %s made could not be read: %s", id, describe(ex))
		}
	}
	return f
}

// utility is the call that reads one thing by its id.
func utility(t *check.T, operation string, in intent, id string) toolCall {
	tool := toolNamed(t.Contract(), operation)
	return toolCall{tool: tool, op: t.Contract().Op(operation), args: argumentsOf(about(t, operation, in, id))}
}

func equivalentJobs(_ context.Context, t *check.T, s check.Subject) {
	f := bothFaces(t, primary)
	c := exampleCall(t, s.Tool, primary, len(s.Tool.Examples)-1)
	in, _ := c.intent(primary, "")
	var all []finished
	for _, onMCP := range []bool{false, true, false} {
		free := t.JobSlot()
		var o outcome
		if onMCP {
			o = c.onMCP(f.s, "")
		} else {
			o = c.onREST(t, f.fresh(c, in))
		}
		if !o.ok {
			t.Inconclusive("the work could not be begun: %s", o.told)
		}
		all = append(all, c.finish(t, in, o))
		free()
	}
	for _, one := range all {
		f.sameRead("equivalence.job", one.readOf, one.job)
		if one.madeOf.tool != nil {
			f.sameRead("equivalence.artifact", one.madeOf, one.artifact)
		}
	}
	t.NotApplicable("equivalence.artifact", "the job made nothing that a tool can read")
	before, there, after := all[0], all[1], all[2]
	if before.state != after.state {
		t.NotApplicable("equivalence.outcome", "the same work does not always end alike on REST")
		return
	}
	t.Judge("equivalence.outcome", there.state == before.state, "state "+before.state, "state "+there.state)
	open := differences(t, c.op, before.artifact, after.artifact)
	diff := beyond(differences(t, c.op, before.artifact, there.artifact), open)
	t.Judge("equivalence.outcome", len(diff) == 0, "what the work makes when REST begins it", different(before.artifact, there.artifact, diff))
}

// fresh is a request under a key of its own, where the operation takes one.
func (f faces) fresh(c toolCall, in intent) intent {
	if c.op.Idempotency == nil {
		return in
	}
	return in.keyed(f.t.Key())
}

// sameRead reads one thing through its tool and compares it with what REST showed.
func (f faces) sameRead(claim string, c toolCall, want any) {
	o := c.onMCP(f.s, "")
	if !o.known {
		f.t.Inconclusive("%s gave no answer that can be judged: %s", c.tool.Name, o.told)
	}
	f.t.Judge(claim, o.ok, "what REST shows", o.told)
	if !o.ok {
		return
	}
	diff := append(differences(f.t, c.op, want, o.value), oracle.Respelled(want, o.value)...)
	f.t.Judge(claim, len(diff) == 0, "what REST shows", different(want, o.value, diff))
}

func equivalentPages() []check.Check {
	return []check.Check{{
		ID:     "equivalence.cursor",
		Does:   "Takes the first page on one face and goes on with its cursor on the other.",
		Claims: []check.Claim{{ID: "equivalence.cursor", Says: "A cursor means the same on both faces, or is refused on the other: it never yields other data."}},
		Needs:  onBoth(), Cost: check.Cost{Requests: 60, Jobs: 1},
		Select: toolSubjects(givesPages), Run: equivalentCursors,
	}}
}

// pageOf says where a tool takes a cursor, and where its result gives the next.
func pageOf(c *spec.Contract, tool *spec.Tool) (argument string, next tree.Pointer) {
	op := c.Op(tool.Operation)
	if op == nil {
		return "", ""
	}
	if col := op.Collection; col != nil && col.Cursor.Part == "query" {
		return col.Cursor.Name, col.Next
	}
	if c.Invocation(tool) == nil || tool.Structured == nil || tool.Input == nil {
		return "", ""
	}
	// An invocation has no collection of its own: the input's cursor is the one that its results give.
	const cursor = "cursor"
	if hasProperty(tool.Input, cursor) && hasProperty(tool.Structured, "next_"+cursor) {
		return cursor, tree.PointerTo("next_" + cursor)
	}
	return "", ""
}

// hasProperty reports whether an object schema names a property, behind its references.
func hasProperty(s *schema.Schema, name string) bool {
	raw := s.Raw()
	const most = 16
	for range most {
		m, _ := raw.(map[string]any)
		props, _ := m["properties"].(map[string]any)
		if _, there := props[name]; there {
			return true
		}
		next, ok := s.Deref(raw)
		if !ok {
			return false
		}
		raw = next
	}
	return false
}

func givesPages(c *spec.Contract, tool *spec.Tool) bool {
	argument, _ := pageOf(c, tool)
	return hasTwin(c, tool) && argument != ""
}

func equivalentCursors(_ context.Context, t *check.T, s check.Subject) {
	f := bothFaces(t, primary)
	argument, next := pageOf(t.Contract(), s.Tool)
	tried := 0
	for _, tool := range revisionsOf(t.Contract(), s.Tool.Name) {
		for i := range tool.Examples {
			c := exampleCall(t, tool, primary, i)
			c.stock(t)
			for _, mcpFirst := range []bool{false, true} {
				first := f.one(c, mcpFirst)
				cursor := valueText(first.value, next)
				if !first.ok || cursor == "" {
					continue
				}
				tried++
				twin := f.one(c, !mcpFirst)
				if !twin.ok || len(f.otherPage(c, next, first, twin)) > 0 {
					continue // the faces differ without a cursor
				}
				args, _ := clone(c.args).(map[string]any)
				args[argument] = cursor
				own, other := f.one(c.with(args), mcpFirst), f.one(c.with(args), !mcpFirst)
				if !own.ok || !other.known {
					continue
				}
				// Where a page is given at all, it is the one that follows.
				diff := f.otherPage(c, next, own, other)
				t.Judge("equivalence.cursor", !other.ok || len(diff) == 0, "the page that follows, or a refusal", fmt.Sprintf("%s, different at %v", other.told, diff))
			}
		}
	}
	if tried == 0 {
		t.NoneApply("no example gives more than one page")
	}
}

// otherPage lists where two pages differ; a cursor may be written anew.
func (f faces) otherPage(c toolCall, next tree.Pointer, a, b outcome) []string {
	return slices.DeleteFunc(differences(f.t, c.op, a.value, b.value), func(p string) bool { return p == string(next) })
}

// one is the call on one of the faces.
func (f faces) one(c toolCall, onMCP bool) outcome {
	if onMCP {
		return c.onMCP(f.s, "")
	}
	in, ok := c.intent(f.role, "")
	if !ok {
		return outcome{}
	}
	return c.onREST(f.t, f.fresh(c, in))
}

// pageful is how many items are made for a collection to have a second page.
const pageful = 5

// stock makes items for the collection of a call, and asks for small pages, where that can be done.
func (c toolCall) stock(t *check.T) {
	args, isObject := c.args.(map[string]any)
	if !isObject || c.op.Collection == nil {
		return
	}
	if lim := c.op.Collection.Limit; lim != nil {
		args[lim.Param] = 2
	}
	for _, maker := range t.Contract().Ops {
		if maker.Creates == nil || maker.Creates.List != c.op.ID || maker.Job != nil || t.Profile().IsAbsent(maker.ID) {
			continue
		}
		for range pageful {
			in := newIntent(t, maker, primary)
			for name := range in.path {
				if v, there := args[name]; there {
					in.path[name] = text(v)
				}
			}
			if ex := t.Call(primary, in.request()); !admitted(ex) {
				return
			}
		}
		return
	}
}

func equivalentKeys() []check.Check {
	return []check.Check{{
		ID:     "equivalence.key",
		Does:   "Creates under a key on one face, and again under it on the other, with the same payload and with another.",
		Claims: []check.Claim{{ID: "equivalence.key", Says: "A key names one intent, on whichever face it comes: the same payload is answered with the first result, another is refused."}},
		Needs:  onBoth(), Cost: check.Cost{Requests: 60, Jobs: 1},
		Select: toolSubjects(sharesKeys), Run: equivalentKey,
	}}
}

// sharesKeys reports a tool that is an operation's own face and passes its key on. What a tool is
// invoked by name for has a path of its own on each face, and a key may be bound to that.
func sharesKeys(c *spec.Contract, tool *spec.Tool) bool {
	op := c.Op(tool.Operation)
	return hasTwin(c, tool) && c.Invocation(tool) == nil && tool.Key != nil && op.Idempotency != nil && op.Creates != nil
}

func equivalentKey(_ context.Context, t *check.T, s check.Subject) {
	const claim = "equivalence.key"
	f := bothFaces(t, primary)
	for _, mcpFirst := range []bool{false, true} {
		free := mcpSlot(t, s.Tool)
		c := exampleCall(t, s.Tool, primary, 0)
		key := t.Key()
		keyed := func(c toolCall, onMCP bool) outcome {
			if onMCP {
				return c.onMCP(f.s, key)
			}
			in, _ := c.intent(primary, key)
			return c.onREST(t, in)
		}
		first, again := keyed(c, mcpFirst), keyed(c, !mcpFirst)
		in, _ := c.intent(primary, key)
		c.settled(t, in, first)
		free()
		if !first.ok || !again.known {
			continue
		}
		id, got := valueText(first.value, s.Op.Creates.ID.Pointer), valueText(again.value, s.Op.Creates.ID.Pointer)
		t.Judge(claim, again.ok && id == got, "the answer that made "+id, again.told)
		for _, changed := range otherArguments(t, c) {
			if fresh := f.one(changed, !mcpFirst); !fresh.ok { // shown admissible first
				continue
			}
			if other := keyed(changed, !mcpFirst); other.known {
				t.Judge(claim, !other.ok, "a refusal of another payload under the key", other.told)
			}
			break
		}
	}
	t.NotApplicable(claim, "nothing was made under a key")
}

// otherArguments are calls that the schema takes too, and whose payload is another. What they mean may
// be refused all the same.
func otherArguments(t *check.T, c toolCall) (others []toolCall) {
	const tries, most = 60, 8
	for _, change := range gen.Neighbours(c.tool.Input, c.args, tries, placed(t, c)) {
		tokens := change.Pointer.Tokens()
		if len(tokens) == 0 || c.isParameter(tokens[0]) || c.tool.Key != nil && tokens[0] == c.tool.Key.Argument || len(others) == most {
			continue
		}
		others = append(others, c.with(change.Value))
	}
	return others
}
