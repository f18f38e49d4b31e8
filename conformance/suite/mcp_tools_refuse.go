package suite

import (
	"context"
	"fmt"
	"strings"

	"assay.kit/conformance/check"
	"assay.kit/conformance/gen"
	"assay.kit/conformance/suite/mcp"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

func mcpRefusals() []check.Check {
	return []check.Check{
		{
			ID:   "mcp-tools.arguments",
			Does: "Calls the tool with arguments that it takes, and then with the same broken in each place, and with a credential or an identity among them.",
			Claims: []check.Claim{
				{ID: "mcp-tools.invalid", Says: "Arguments that break the input schema are refused, by the protocol's error for invalid params or in the result."},
				{ID: "mcp-tools.identity", Says: "A credential, a workspace or an agent identity among the arguments is refused as an unknown member."},
			},
			Needs: onBoth(), Cost: check.Cost{Requests: 120, Jobs: 1},
			Select: toolSubjects(anyTool), Run: mcpArguments,
		},
		{
			ID:   "mcp-tools.protocol",
			Does: "Calls a tool, then one that does not exist, and then none, and one with arguments that are no object.",
			Claims: []check.Claim{
				{ID: "mcp-tools.malformed", Says: "A call without a name is refused by an error of the protocol."},
				{ID: "mcp-tools.arguments-object", Says: "A call whose arguments are no object is refused by an error of the protocol."},
				{ID: "mcp-tools.unknown", Says: "A tool that does not exist is not carried out."},
				{ID: "mcp-tools.unknown-error", Says: "A call of a tool that does not exist is refused by an error of the protocol."},
			},
			Needs: onBoth(), Cost: check.Cost{Requests: 20, Jobs: 1},
			Select: mcpEndpoint, Run: mcpProtocol,
		},
		{
			ID:     "mcp-tools.domain-error",
			Does:   "Reads by the tool what is there, and then what never was.",
			Claims: []check.Claim{{ID: "mcp-tools.domain-error", Says: "A well-formed call that cannot give its result is a tool result with isError, no error of the protocol."}},
			Needs:  onBoth(), Cost: check.Cost{Requests: 40, Jobs: 1},
			Select: toolSubjects(namesThing), Run: mcpDomainError,
		},
		{
			ID:     "mcp-tools.scope",
			Does:   "Calls the tool as the primary and then under a credential without its scopes.",
			Claims: []check.Claim{{ID: "mcp-tools.scope", Says: "A tool is not carried out for a credential that lacks its scopes."}},
			Needs:  onBoth(target.WithoutScope), Cost: check.Cost{Requests: 40, Jobs: 1},
			Select: toolSubjects(func(_ *spec.Contract, tool *spec.Tool) bool { return len(tool.Scopes) > 0 && len(tool.Examples) > 0 }), Run: mcpScope,
		},
	}
}

// rightCall shows that a tool takes a call, so that refusing a broken one means something. ok is false
// where nobody has said what the tool takes beyond its schema, and the least that fits is refused.
func rightCall(t *check.T, s *mcp.Session, tool *spec.Tool) (c toolCall, ok bool) {
	if why := hangs(t, tool); why != "" {
		t.NoneApply(why)
		return c, false
	}
	c = exampleCall(t, tool, primary, 0)
	free := mcpSlot(t, tool)
	defer free()
	o := c.onMCP(s, "")
	if in, sayable := c.restOf(); sayable && o.ok {
		c.settled(t, in, o)
	}
	if !o.ok && len(tool.Examples) > 0 {
		t.Inconclusive("%s refuses a call that is right, so refusing a broken one would prove nothing: %s", tool.Name, o.told)
	}
	if !o.ok {
		t.NoneApply(tool.Name + " refuses the least that its schema takes, so no call is known to be right; name data that exists under values in the profile: " + o.told)
	}
	return c, o.ok
}

// hangs finds out, once a run, whether a tool that nobody has given inputs for answers in time: were each
// check to wait for it, a server that hangs would hold up the run by a time-out a case.
func hangs(t *check.T, tool *spec.Tool) (why string) {
	if len(tool.Examples) > 0 {
		return ""
	}
	v, err := t.Once("tool answers "+tool.Name, func() (any, error) {
		o := exampleCall(t, tool, primary, 0).onMCP(mcp.Open(t, primary), "")
		if o.ex.End == wire.EndTimeout {
			return tool.Name + " does not answer in time", nil
		}
		return "", nil
	})
	if err != nil {
		t.Inconclusive("%v", err)
	}
	why, _ = v.(string)
	return why
}

// identities are arguments that would say who asks, with what and as whom.
func identities() []string {
	return []string{"access_token", "authorization", "api_key", "workspace_id", "agent_id", "agent_revision_id"}
}

func mcpArguments(_ context.Context, t *check.T, s check.Subject) {
	if s.Tool.Input == nil {
		t.NoneApply("the tool's input schema cannot be read")
		return
	}
	session := mcp.Open(t, primary)
	c, ok := rightCall(t, session, s.Tool)
	if !ok {
		return
	}
	refuses := func(claim, what string, args any) {
		o := c.with(args).onMCP(session, "")
		if o.known {
			t.Judge(claim, !o.ok, "a refusal of "+s.Name+" "+what, o.told)
		}
		if in, sayable := c.restOf(); sayable && o.ok {
			c.settled(t, in, o)
		}
	}
	for _, place := range gen.Keywords(s.Tool.Input, c.args, placed(t, c)) {
		if broken, ok := gen.BreakAt(s.Tool.Input, c.args, place, placed(t, c)); ok {
			if _, isObject := broken.Value.(map[string]any); isObject {
				refuses("mcp-tools.invalid", "with "+place.String()+" broken", broken.Value)
			}
		}
	}
	for _, name := range identities() {
		args, _ := clone(c.args).(map[string]any)
		if _, there := args[name]; there || args == nil {
			continue
		}
		args[name] = "assay-" + t.Nonce()
		if v, bound := c.bound[name]; bound {
			args[name] = v // even the right one has no place there
		}
		if len(s.Tool.Input.Validate(args)) > 0 {
			refuses("mcp-tools.identity", "with "+name+" among the arguments", args)
		}
	}
	t.NotApplicable("mcp-tools.invalid", "nothing breaks the tool's input schema")
	t.NotApplicable("mcp-tools.identity", "the tool's input schema is open")
}

// simplest is the tool that is called where any will do: one that reads, answers at once, and needs the
// least; nil if none may be called.
func simplest(t *check.T) *spec.Tool {
	var best *spec.Tool
	weight := func(tool *spec.Tool) int {
		w := 0
		if tool.Async {
			w += 8
		}
		if tool.Effect != spec.EffectRead {
			w += 4
		}
		if len(tool.Examples) == 0 {
			w++
			if tool.Input != nil && len(tool.Input.Validate(map[string]any{})) > 0 {
				w++ // what it needs can only be guessed
			}
		}
		return w
	}
	for _, tool := range t.Contract().Tools {
		if t.MayCall(tool) && (best == nil || weight(tool) < weight(best)) {
			best = tool
		}
	}
	return best
}

func mcpProtocol(_ context.Context, t *check.T, _ check.Subject) {
	session := mcp.Open(t, primary)
	tool := simplest(t)
	if tool == nil {
		t.NoneApply("there is no tool that this run may call")
		return
	}
	c, ok := rightCall(t, session, tool)
	if !ok {
		return
	}
	for _, bad := range []struct {
		claim, what string
		params      map[string]any
	}{
		{"mcp-tools.malformed", "a call without a name", map[string]any{"arguments": c.args}},
		{"mcp-tools.malformed", "a name that is a number", map[string]any{"name": 7, "arguments": c.args}},
		{"mcp-tools.arguments-object", "arguments that are an array", map[string]any{"name": tool.Name, "arguments": []any{c.args}}},
		{"mcp-tools.arguments-object", "arguments that are a text", map[string]any{"name": tool.Name, "arguments": "none"}},
	} {
		ex, m := session.Call("tools/call", bad.params)
		if o := read(t, ex, m); o.known || rejected(ex) || m.Error != nil {
			t.Judge(bad.claim, m.Result == nil, "an error of the protocol for "+bad.what, o.told)
		}
	}
	for _, name := range []string{"assay_no_such_tool", strings.ToUpper(tool.Name) + "_"} {
		ex, m := session.Call("tools/call", map[string]any{"name": name, "arguments": c.args})
		o := read(t, ex, m)
		if !o.known && m.Error == nil && !rejected(ex) {
			continue
		}
		t.Judge("mcp-tools.unknown", !o.ok, "a refusal of the tool "+name, o.told)
		t.Judge("mcp-tools.unknown-error", m.Result == nil, "an error of the protocol for the tool "+name, o.told)
	}
}

// namesThing reports a tool that reads one thing by an id that a caller does not choose.
func namesThing(c *spec.Contract, tool *spec.Tool) bool {
	op := c.Op(tool.Operation)
	return hasTwin(c, tool) && c.Invocation(tool) == nil && op.Effect == spec.EffectRead && pathRef(op) != nil
}

func mcpDomainError(_ context.Context, t *check.T, s check.Subject) {
	session := mcp.Open(t, primary)
	c, ok := rightCall(t, session, s.Tool)
	if !ok {
		return
	}
	args, _ := clone(c.args).(map[string]any)
	args[pathRef(s.Op).Name] = "assay-" + t.Nonce()
	o := c.with(args).onMCP(session, "")
	if !o.known {
		t.Inconclusive("no answer that can be judged: %s", o.told)
	}
	t.Judge("mcp-tools.domain-error", !o.ok && !o.protocol, "a result with isError for what never was", o.told)
}

func mcpScope(_ context.Context, t *check.T, s check.Subject) {
	c, ok := rightCall(t, mcp.Open(t, primary), s.Tool)
	if !ok {
		return
	}
	lacking := mcp.New(t, string(target.WithoutScope))
	ex, m := lacking.Initialize(mcp.Revision)
	if m.Result == nil { // it may lack the endpoint altogether
		t.Judge("mcp-tools.scope", ex.Status() >= 400 || m.Error != nil, "a refusal", describe(ex))
		return
	}
	lacking.Initialized()
	free := mcpSlot(t, s.Tool)
	defer free()
	o := c.onMCP(lacking, "")
	if !o.known {
		t.Inconclusive("no answer that can be judged: %s", o.told)
	}
	if in, sayable := c.restOf(); sayable && o.ok {
		c.settled(t, in, o)
	}
	t.Judge("mcp-tools.scope", !o.ok, fmt.Sprintf("a refusal of %s for want of %s", s.Name, strings.Join(s.Tool.Scopes, ", ")), o.told)
}
