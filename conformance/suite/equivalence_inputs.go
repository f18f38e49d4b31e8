package suite

import (
	"context"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"assay.kit/conformance/check"
	"assay.kit/conformance/gen"
	"assay.kit/conformance/suite/mcp"
	"assay.kit/spec"
)

// mostJobs bounds the generated inputs of one tool that may begin a job.
const mostJobs = 3

// equivalentInputs draws inputs. What makes an input right or wrong does not matter: the faces must agree.
func equivalentInputs(_ context.Context, t *check.T, s check.Subject) {
	all := revisionsOf(t.Contract(), s.Tool.Name)
	begun := 0
	first := exampleCall(t, s.Tool, primary, 0)
	session := mcp.Open(t, primary)
	t.Property(func(t *check.T) {
		f := faces{t: t, role: primary, s: session.Fork(t, 0)}
		tool := check.Draw(t, rapid.SampledFrom(all), "revision")
		c := first
		c.tool = tool
		kind := check.Draw(t, rapid.SampledFrom([]string{"right", "near", "near", "wrong", "wrong"}), "kind")
		if tool.Async && begun >= mostJobs {
			kind = "wrong"
		}
		switch kind {
		case "right":
			c.args = check.Draw(t, gen.Positive(tool.Input, placed(t, c)), "arguments")
			begun++
		case "near": // more often taken: most of it makes sense at the target
			c.args = check.Draw(t, gen.Neighbour(tool.Input, baseOf(t, tool, first), placed(t, c)), "change").Value
			begun++
		default:
			broken := check.Draw(t, gen.Negative(tool.Input, baseOf(t, tool, first), placed(t, c)), "broken")
			if tokens := broken.Pointer.Tokens(); c.via == nil && (len(tokens) == 0 || c.isParameter(tokens[0])) {
				t.Skip("a parameter has no type on REST")
			}
			c.args = broken.Value
		}
		if c = c.keyless(); c.via == nil && !c.fits() {
			t.Skip("the arguments cannot be said on REST")
		}
		f.judged(c)
	})
	unseen(t, "no generated input was taken")
	t.NotApplicable("equivalence.accepted", "no generated input can be said on both faces")
	t.NotApplicable("equivalence.code", "no generated input was refused with a code")
}

// baseOf is what is broken: the example with what exists at the target, if it fits the revision.
func baseOf(t *check.T, tool *spec.Tool, first toolCall) any {
	if first.tool.Name == tool.Name && len(tool.Input.Validate(first.args)) == 0 {
		return clone(first.args)
	}
	return exampleCall(t, tool, primary, 0).args
}

// placed generates with what exists at the target: what the arguments of a first call refer to stays.
func placed(t *check.T, c toolCall) gen.Options {
	o := gen.Options{Values: map[string]any{}}
	for name, v := range t.Profile().Values {
		o.Values[name] = v
	}
	args, _ := c.args.(map[string]any)
	if c.via == nil && c.op != nil {
		for _, p := range c.op.Params {
			if v, there := args[p.Name]; there && p.In == "path" {
				o.Values[p.Name] = v
			}
		}
	}
	return o
}

// keyless is the call without the argument that carries a business key: it is no part of the payload.
func (c toolCall) keyless() toolCall {
	args, isObject := clone(c.args).(map[string]any)
	if !isObject || c.tool.Key == nil || c.tool.Key.Argument == "" {
		return c
	}
	delete(args, c.tool.Key.Argument)
	return c.with(args)
}

// fits reports whether REST can say the arguments of a tool that is an operation's own face.
func (c toolCall) fits() bool {
	_, ok := c.intent(primary, "")
	return ok
}

// countsEffects reports a tool whose operation makes things that can be counted.
func countsEffects(c *spec.Contract, tool *spec.Tool) bool {
	op := c.Op(tool.Operation)
	if op == nil || !hasTwin(c, tool) || c.Invocation(tool) != nil {
		return false
	}
	l := listOf(c, op)
	return op.Creates != nil && l != nil && l.Collection.Isolate != nil
}

func equivalentEffects(_ context.Context, t *check.T, s check.Subject) {
	const claim = "equivalence.effects"
	in, list, counted := isolated(t, s.Op, primary)
	if !counted {
		t.NoneApply("what " + s.Op.ID + " makes cannot be counted apart from what others make")
		return
	}
	free := jobSlotFor(t, s.Op)
	defer free()
	c := toolCall{tool: s.Tool, op: s.Op, args: argumentsOf(in)}
	session := mcp.Open(t, primary)
	o := c.onMCP(session, "")
	if !o.ok {
		t.Inconclusive("the tool refused what REST is to take: %s", o.told)
	}
	at := s.Op.Creates.ID
	if s.Op.Job != nil && s.Tool.Async {
		at = s.Op.Job.ID
	}
	made := valueText(o.value, at.Pointer)
	ids := list.count(t)
	t.Judge(claim, len(ids) == 1 && (made == "" || ids[0] == made), "one item, "+made, fmt.Sprint(ids))
	c.settled(t, in, o)
	base, _ := c.args.(map[string]any)
	for _, place := range gen.Keywords(s.Tool.Input, base, placed(t, c)) {
		if tokens := place.Pointer.Tokens(); len(tokens) > 0 && c.isParameter(tokens[0]) {
			continue
		}
		broken, ok := gen.BreakAt(s.Tool.Input, base, place, placed(t, c))
		if !ok {
			continue
		}
		if wrong := c.with(broken.Value).onMCP(session, ""); wrong.ok {
			t.NotApplicable(claim, "a call that breaks the schema was taken")
			return
		}
	}
	after := list.count(t)
	t.Judge(claim, slices.Equal(ids, after), "no more than "+fmt.Sprint(ids)+" after calls that were refused", fmt.Sprint(after))
}

// argumentsOf are the arguments of a tool that is an operation's own face, for a request of REST.
func argumentsOf(in intent) map[string]any {
	args, _ := clone(in.body).(map[string]any)
	if args == nil {
		args = map[string]any{}
	}
	for name, v := range in.path {
		args[name] = v
	}
	return args
}
