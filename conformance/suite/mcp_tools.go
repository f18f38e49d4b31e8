package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay.kit/conformance/check"
	"assay.kit/conformance/gen"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/suite/mcp"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/schema"
)

// mcpTools judges what the contract says of its tools on MCP: how they are listed, called and refused.
func mcpTools() []check.Check {
	return slices.Concat(mcpListing(), mcpCalls(), mcpRefusals(), mcpWork(), mcpKeys())
}

func mcpListing() []check.Check {
	return []check.Check{{
		ID:   "mcp-tools.listing",
		Does: "Walks the list of tools and compares it with the catalog.",
		Claims: []check.Claim{
			{ID: "mcp-tools.listed", Says: "The pages of tools/list together hold each tool of the contract once."},
			{ID: "mcp-tools.utilities", Says: "The utilities that the contract declares are listed."},
			{ID: "mcp-tools.described", Says: "A tool is listed with a description."},
			{ID: "mcp-tools.input-schema", Says: "A tool's inputSchema means what the catalog's does, in one of its revisions."},
			{ID: "mcp-tools.output-schema", Says: "A tool's outputSchema is that of the structured result: it takes what fits the envelope and the data, and refuses what lacks a required member."},
			{ID: "mcp-tools.effect", Says: "A tool shows its effect class: a tool that only reads says so, and no other does."},
			{ID: "mcp-tools.not-financial", Says: "No tool that is listed has a financial effect."},
		},
		Needs: onBoth(), Cost: check.Cost{Requests: 20},
		Select: mcpEndpoint, Run: mcpList,
	}}
}

// mcpEndpoint is the one endpoint of a contract that has tools. A contract without operations is a server's
// own list: compared with itself it would prove nothing, and what of the protocol it promises has a
// family of its own, which takes what the protocol leaves open.
func mcpEndpoint(c *spec.Contract) []check.Subject {
	if len(c.Tools) == 0 || len(c.Ops) == 0 {
		return nil
	}
	return []check.Subject{{Name: "endpoint"}}
}

func mcpList(_ context.Context, t *check.T, _ check.Subject) {
	listed, why := mcp.Walk(mcp.Open(t, primary))
	if why != "" {
		t.Inconclusive("the tools could not be listed: %s", why)
	}
	by := map[string][]mcp.Listed{}
	for _, tool := range listed {
		by[tool.Name] = append(by[tool.Name], tool)
		t.Judge("mcp-tools.not-financial", effectShown(tool) != string(spec.EffectFinancial), "no financial effect of "+tool.Name, effectShown(tool))
	}
	for _, s := range toolSubjects(anyTool)(t.Contract()) {
		t.Judge("mcp-tools.listed", len(by[s.Name]) == 1, "the tool "+s.Name+" once", fmt.Sprintf("%d times", len(by[s.Name])))
		if s.Tool.Utility {
			t.Judge("mcp-tools.utilities", len(by[s.Name]) > 0, "the utility "+s.Name, "none of the name")
		}
		for _, tool := range by[s.Name] {
			judgeManifest(t, tool, revisionsOf(t.Contract(), s.Name))
		}
	}
	t.NotApplicable("mcp-tools.utilities", "the contract declares no utilities")
	t.NotApplicable("mcp-tools.output-schema", "the catalog has no output schema")
}

// effectShown is the effect class that a tool's _meta tells, "" if it tells none.
func effectShown(tool mcp.Listed) string {
	var m struct{ Effect string }
	_ = json.Unmarshal(tool.Meta["assay"], &m)
	return m.Effect
}

// judgeManifest compares one manifest with the catalog's revisions of the tool.
func judgeManifest(t *check.T, tool mcp.Listed, known []*spec.Tool) {
	first := known[0]
	if first.Description != "" {
		t.Judge("mcp-tools.described", strings.TrimSpace(tool.Description) != "", "a description of "+tool.Name, string(tool.Raw[:min(len(tool.Raw), 120)]))
	} else {
		t.NotApplicable("mcp-tools.described", "the catalog does not describe its tools")
	}
	input, err := schema.DecodeJSON(tool.InputSchema)
	same := slices.ContainsFunc(known, func(k *spec.Tool) bool {
		return k.Input != nil && len(oracle.Diff(meaning(k.Input.Raw(), k.Input), meaning(input, nil), nil)) == 0
	})
	actual := "none"
	if err == nil && first.Input != nil {
		actual = fmt.Sprintf("different at %v", oracle.Diff(meaning(first.Input.Raw(), first.Input), meaning(input, nil), nil))
	}
	t.Judge("mcp-tools.input-schema", same, "the input schema of "+tool.Name, actual)
	judgeOutputSchema(t, tool, known)
	read := tool.Annotations.ReadOnlyHint != nil && *tool.Annotations.ReadOnlyHint
	shown := effectShown(tool)
	if shown == "" {
		shown = map[bool]string{true: string(spec.EffectRead), false: "not read"}[read]
	}
	ok := shown == string(first.Effect) || shown == "not read" && first.Effect != spec.EffectRead
	if first.Effect != spec.EffectRead {
		ok = ok && !read // whatever else it tells
	}
	t.Judge("mcp-tools.effect", ok, fmt.Sprintf("effect %s of %s", first.Effect, tool.Name), fmt.Sprintf("effect %s, readOnlyHint %v", shown, read))
}

// judgeOutputSchema tries the listed schema with values: how a schema is written is the server's affair.
func judgeOutputSchema(t *check.T, tool mcp.Listed, known []*spec.Tool) {
	const claim = "mcp-tools.output-schema"
	want := known[0].Structured
	if want == nil {
		return
	}
	raw, err := schema.DecodeJSON(tool.OutputSchema)
	if err != nil {
		t.Judge(claim, false, "an outputSchema of "+tool.Name, "none")
		return
	}
	if slices.ContainsFunc(known, func(k *spec.Tool) bool {
		return k.Structured != nil && len(oracle.Diff(meaning(k.Structured.Raw(), k.Structured), meaning(raw, nil), nil)) == 0
	}) {
		t.Judge(claim, true, "", "")
		return
	}
	got, err := schema.Compile("assay:"+tool.Name, raw)
	if err != nil {
		t.Judge(claim, false, "an outputSchema of "+tool.Name+" that is a JSON Schema", err.Error())
		return
	}
	sample, ok := resultSample(t, known[0])
	if !ok {
		return
	}
	if vs := got.Validate(sample); len(vs) > 0 {
		t.Judge(claim, false, "an outputSchema of "+tool.Name+" that takes the tool's own result", "at "+string(vs[0].Instance)+": "+vs[0].Message)
		return
	}
	for _, place := range gen.Keywords(want, sample, gen.Options{}) {
		if place.Keyword != "required" {
			continue
		}
		if broken, ok := gen.BreakAt(want, sample, place, gen.Options{}); ok {
			t.Judge(claim, len(got.Validate(broken.Value)) > 0, "an outputSchema of "+tool.Name+" that refuses a result without "+string(broken.Pointer), "it takes one")
		}
	}
	t.Judge(claim, true, "", "")
}

// resultSample is a result that a tool gives for its first example, if it fits the contract.
func resultSample(t *check.T, tool *spec.Tool) (v any, ok bool) {
	if len(tool.Examples) == 0 {
		return nil, false
	}
	c := exampleCall(t, tool, primary, 0)
	free := mcpSlot(t, tool)
	defer free()
	o := c.onMCP(mcp.Open(t, primary), "")
	if in, sayable := c.restOf(); sayable {
		c.settled(t, in, o)
	}
	return o.value, o.ok && len(tool.Structured.Validate(o.value)) == 0
}

// restOf is the call on REST, where there is such a face.
func (c toolCall) restOf() (intent, bool) {
	if c.op == nil {
		return intent{}, false
	}
	return c.intent(primary, "")
}

// deepest bounds the reading of a schema that may refer to itself.
const deepest = 24

// meaning is a schema without what says nothing about values, its references put in their places.
func meaning(raw any, s *schema.Schema) any {
	if s == nil {
		var err error
		if s, err = schema.Compile("assay:listed", raw); err != nil {
			return raw
		}
	}
	return meant(raw, s, 0)
}

func meant(raw any, s *schema.Schema, depth int) any {
	if depth > deepest {
		return nil
	}
	switch v := raw.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = meant(v[i], s, depth+1)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		if next, ok := s.Deref(v); ok {
			if m, isObject := meant(next, s, depth+1).(map[string]any); isObject {
				out = m
			}
		}
		for key, member := range v {
			switch key {
			case "$ref", "$schema", "$id", "$defs", "definitions", "$comment", "$anchor", "title", "description", "examples", "default", "deprecated", "x-assay":
			case "properties", "patternProperties", "dependentSchemas":
				named, _ := member.(map[string]any)
				own := map[string]any{}
				for name, one := range named {
					own[name] = meant(one, s, depth+1)
				}
				out[key] = own
			case "required", "enum":
				out[key] = unordered(member)
			case "const":
				out[key] = member
			default:
				out[key] = meant(member, s, depth+1)
			}
		}
		return out
	default:
		return raw
	}
}

// unordered sorts a list whose order says nothing.
func unordered(v any) any {
	list, _ := v.([]any)
	out := slices.Clone(list)
	slices.SortFunc(out, func(a, b any) int { return strings.Compare(string(encode(a)), string(encode(b))) })
	return out
}

func mcpCalls() []check.Check {
	return []check.Check{{
		ID:   "mcp-tools.call",
		Does: "Calls the tool with the catalog's inputs, or the least that its schema takes.",
		Claims: []check.Claim{
			{ID: "mcp-tools.structured", Says: "structuredContent fits the output schema that the contract gives the tool, and the one that is listed."},
			{ID: "mcp-tools.text", Says: "A text item holds the same value as structuredContent."},
		},
		Needs: onBoth(), Cost: check.Cost{Requests: 60, Jobs: 1},
		Select: toolSubjects(anyTool), Run: mcpCall,
	}}
}

func mcpCall(_ context.Context, t *check.T, s check.Subject) {
	if why := hangs(t, s.Tool); why != "" {
		t.NoneApply(why)
		return
	}
	session := mcp.Open(t, primary)
	var shown *schema.Schema
	if all, why := mcp.Walk(session); why == "" {
		for _, tool := range all {
			if raw, err := schema.DecodeJSON(tool.OutputSchema); err == nil && tool.Name == s.Name {
				shown, _ = schema.Compile("assay:"+tool.Name, raw)
			}
		}
	}
	refused := ""
	for i := range max(1, len(s.Tool.Examples)) {
		if s.Tool.Async && i > 0 {
			break
		}
		c := exampleCall(t, s.Tool, primary, i)
		free := mcpSlot(t, s.Tool)
		ex, m := session.Call("tools/call", c.params(""))
		o := read(t, ex, m)
		if in, sayable := c.restOf(); sayable && o.ok {
			c.settled(t, in, o)
		}
		free()
		if o.ok {
			judgeCallResult(t, s.Tool, shown, m)
		} else {
			refused = o.told
		}
	}
	if refused != "" {
		unseenCall(t, "the tool gave no result: "+refused) // unless it was judged for another example
	}
}

func unseenCall(t *check.T, why string) {
	for _, claim := range []string{"mcp-tools.structured", "mcp-tools.text"} {
		t.NotApplicable(claim, why)
	}
}

// judgeCallResult judges one result that is no error.
func judgeCallResult(t *check.T, tool *spec.Tool, shown *schema.Schema, m wire.Message) {
	r, _ := resultOf(m)
	structured, err := schema.DecodeJSON(r.Structured)
	if tool.Structured == nil && shown == nil && err != nil {
		unseenCall(t, "the tool promises no structured result")
		return
	}
	for _, s := range []*schema.Schema{tool.Structured, shown} {
		if s == nil {
			continue
		}
		why := "no structuredContent"
		if err == nil {
			why = ""
			if vs := s.Validate(structured); len(vs) > 0 {
				why = fmt.Sprintf("at %q %s", vs[0].Instance, vs[0].Message)
			}
		}
		t.Judge("mcp-tools.structured", why == "", "a result of "+tool.Name+" that fits its output schema", why)
	}
	if err != nil {
		return
	}
	texts := r.texts()
	same := slices.ContainsFunc(texts, func(v any) bool { return oracle.Equal(v, structured) && len(oracle.Respelled(v, structured)) == 0 })
	actual := "no text item that is JSON"
	if len(texts) > 0 {
		actual = fmt.Sprintf("different at %v", append(oracle.Diff(structured, texts[0], nil), oracle.Respelled(structured, texts[0])...))
	}
	t.Judge("mcp-tools.text", same, "a text item with the value of structuredContent", actual)
}

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
