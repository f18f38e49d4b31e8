package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"assay.kit/conformance/check"
	"assay.kit/spec"
	"assay.kit/spec/schema"
)

// arguments judges that a tool's input schema is kept.
func arguments() []check.Check {
	return []check.Check{
		{
			ID:   "mcp.arguments",
			Does: "Calls a tool with arguments that it takes, and then with each required one missing or of another type.",
			Claims: []check.Claim{
				{ID: "mcp.bad-arguments", Says: "Arguments that break the input schema are refused, in the result or as an error of the protocol."},
			},
			Needs: needs(), Cost: check.Cost{Requests: 40}, Select: withExamples, Run: badArguments,
		},
	}
}

// withExamples are the tools whose calls are known to be right; of several revisions the first.
func withExamples(c *spec.Contract) []check.Subject {
	var out []check.Subject
	seen := map[string]bool{}
	for _, tool := range c.Tools {
		if !seen[tool.Name] && len(tool.Examples) > 0 && tool.Input != nil {
			out = append(out, check.Subject{Name: tool.Name, Tool: tool})
		}
		seen[tool.Name] = true
	}
	return out
}

func badArguments(_ context.Context, t *check.T, subject check.Subject) {
	tool := subject.Tool
	s := Open(t, "primary")
	right, ok := tool.Examples[0].Value.(map[string]any)
	if !ok {
		t.NoneApply("the tool's example is no object")
		return
	}
	wrong := spoiled(tool, right)
	if len(wrong) == 0 {
		t.NoneApply("every object fits the input schema of the tool")
		return
	}
	s.works() // of this tool the right call may make a job, or name what is not there
	for _, args := range wrong {
		sent, _ := json.Marshal(args)
		ex, m := s.Tool(tool.Name, args)
		t.Judge("mcp.bad-arguments", ex.Status() != 0 && ex.Status() < 500 && (m.Result == nil || isError(m)),
			fmt.Sprintf("a refusal of %s", clip(sent)), told(ex))
	}
}

// spoiled are arguments that surely break the input schema, each in one member.
func spoiled(tool *spec.Tool, right map[string]any) []map[string]any {
	var out []map[string]any
	add := func(args map[string]any) {
		raw, err := json.Marshal(args)
		if err != nil {
			return
		}
		if v, err := schema.DecodeJSON(raw); err == nil && len(tool.Input.Validate(v)) > 0 {
			out = append(out, args)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(right)) {
		missing, retyped := maps.Clone(right), maps.Clone(right)
		delete(missing, name)
		add(missing)
		retyped[name] = []any{map[string]any{"assay": true}}
		add(retyped)
	}
	return out
}
