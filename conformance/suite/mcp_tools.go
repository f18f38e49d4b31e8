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
