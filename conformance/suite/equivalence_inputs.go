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
	"assay.kit/conformance/suite/mcp"
	"assay.kit/spec"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// mostJobs bounds the generated inputs of one tool that may begin a job.
const mostJobs = 3

// equivalentInputs draws inputs. What makes an input right or wrong does not matter: the faces must agree.
func equivalentInputs(_ context.Context, t *check.T, s check.Subject) {
	var bases []toolCall
	for _, tool := range revisionsOf(t.Contract(), s.Tool.Name) {
		for i := range tool.Examples {
			if c := exampleCall(t, tool, primary, i); len(tool.Input.Validate(c.args)) == 0 {
				bases = append(bases, c)
			}
		}
	}
	if len(bases) == 0 {
		t.Inconclusive("no example fits the tool's input schema with what there is at the target")
	}
	begun := 0
	session := mcp.Open(t, primary)
	swept(t, faces{t: t, role: primary, s: session}, bases)
	t.Property(func(t *check.T) {
		c := bases[check.Draw(t, rapid.IntRange(0, len(bases)-1), "example")]
		kinds := []string{"right", "near", "digits", "wrong", "wrong"}
		kind := check.Draw(t, rapid.SampledFrom(kinds), "kind")
		if c.tool.Async && begun >= mostJobs {
			kind = "wrong"
		}
		if kind != "wrong" {
			begun++
		}
		if c.args = drawnArguments(t, c, kind); !c.fits() {
			t.Skip("the arguments cannot be said on REST")
		}
		faces{t: t, role: primary, s: session.Fork(t, 0)}.judged(c.keyless())
	})
	unseen(t, "no generated input was taken")
	t.NotApplicable("equivalence.accepted", "no generated input can be said on both faces")
	t.NotApplicable("equivalence.code", "no generated input was refused with a code")
}

// swept sends each base with more digits than many a reader keeps, and the first of each revision broken
// in every place: what is drawn after that may miss the one place that a server reads otherwise.
func swept(t *check.T, f faces, bases []toolCall) {
	done := map[*spec.Tool]bool{}
	for _, c := range bases {
		if args, ok := longDigits(c.tool.Input, c.args); ok && (!c.tool.Async || !done[c.tool]) {
			f.judged(c.with(args).keyless())
		}
		if done[c.tool] {
			continue
		}
		done[c.tool] = true
		for _, place := range gen.Keywords(c.tool.Input, c.args, placed(t, c)) {
			broken, ok := gen.BreakAt(c.tool.Input, c.args, place, placed(t, c))
			if !ok || c.untyped(broken.Pointer) {
				continue
			}
			if wrong := c.with(broken.Value); wrong.fits() {
				f.judged(wrong.keyless())
			}
		}
	}
}

// untyped reports whether a place of the arguments is in a parameter: what is wrong with its type on MCP
// may be right on REST.
func (c toolCall) untyped(at tree.Pointer) bool {
	tokens := at.Tokens()
	return len(tokens) > 0 && c.isParameter(tokens[0])
}

// drawnArguments draws one kind of arguments from those of a call.
func drawnArguments(t *check.T, c toolCall, kind string) any {
	input, o := c.tool.Input, placed(t, c)
	switch kind {
	case "right":
		return check.Draw(t, gen.Positive(input, o), "arguments")
	case "near": // more often taken: most of it makes sense at the target
		return check.Draw(t, gen.Neighbour(input, c.args, o), "change").Value
	case "digits":
		args, ok := longDigits(input, c.args)
		if !ok {
			t.Skip("the example has no number that may have many digits")
		}
		return args
	default:
		broken := check.Draw(t, gen.Negative(input, c.args, o), "broken")
		if c.untyped(broken.Pointer) {
			t.Skip("a parameter has no type on REST")
		}
		return broken.Value
	}
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

// longDigits gives the first number in the arguments that may have them more digits than a binary
// fraction of 64 bits can hold.
func longDigits(s *schema.Schema, args any) (changed any, ok bool) {
	const digits = "00000000000000000001"
	for _, at := range numbersIn(args, "") {
		v, _ := tree.Get(args, at)
		long, _ := v.(json.Number)
		for _, more := range []string{"." + digits, digits} {
			if strings.ContainsAny(long.String(), "eE") || more[0] == '.' && strings.Contains(long.String(), ".") || more[0] != '.' && !strings.Contains(long.String(), ".") {
				continue
			}
			other := clone(args)
			set(other, at, json.Number(long.String()+more))
			if len(s.Validate(other)) == 0 {
				return other, true
			}
		}
	}
	return args, false
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
