package lint

import (
	"fmt"
	"strings"

	"assay.kit/spec"
)

// eachTool calls f for every tool and collects what it finds at it.
func eachTool(c *spec.Contract, f func(*spec.Tool) (message, hint string)) []Finding {
	var out []Finding
	for _, t := range c.Tools {
		if message, hint := f(t); message != "" {
			out = append(out, Finding{Problem: spec.Problem{File: t.File, Line: t.Line, Message: message, Hint: hint}})
		}
	}
	return out
}

// toolHints compares the hints, which a client may know, with the effect, which only we do. Destructive
// is what a client assumes of a tool that neither says so nor is read-only.
func toolHints(c *spec.Contract) []Finding {
	return eachTool(c, func(t *spec.Tool) (string, string) {
		var readOnly, destructive *bool
		if t.Annotations != nil {
			readOnly, destructive = t.Annotations.ReadOnly, t.Annotations.Destructive
		}
		reads := readOnly != nil && *readOnly
		switch {
		case reads != (t.Effect == spec.EffectRead):
			return fmt.Sprintf("the tool %q has the effect %s and readOnlyHint %t", t.Name, t.Effect, reads), fmt.Sprintf("add annotations: {readOnlyHint: %t}", t.Effect == spec.EffectRead)
		case t.Effect == spec.EffectCompute && destructive == nil:
			return fmt.Sprintf("the tool %q only computes, and does not say that it is not destructive", t.Name), "add annotations: {destructiveHint: false}"
		}
		return "", ""
	})
}

func toolOutputMissing(c *spec.Contract) []Finding {
	return eachTool(c, func(t *spec.Tool) (string, string) {
		if t.Output != nil {
			return "", ""
		}
		return fmt.Sprintf("the tool %q has no outputSchema", t.Name), "say what its result holds"
	})
}

// toolArguments looks for what the operation needs and the tool's arguments cannot give, where they are
// the operation's own parameters.
func toolArguments(c *spec.Contract) []Finding {
	return eachTool(c, func(t *spec.Tool) (string, string) {
		op := c.Op(t.Operation)
		if op == nil || c.Invocation(t) != nil {
			return "", ""
		}
		props, _ := target(t.Input, t.Input.Raw())["properties"].(map[string]any)
		for _, p := range op.Params {
			key := op.Idempotency != nil && op.Idempotency.Key.Part == p.In && strings.EqualFold(op.Idempotency.Key.Name, p.Name)
			if p.Required && !key && props[p.Name] == nil {
				return fmt.Sprintf("the tool %q has no argument %q, which %s needs", t.Name, p.Name, op.ID), "add it to the inputSchema"
			}
		}
		switch {
		case t.Key == nil:
		case op.Idempotency == nil:
			return fmt.Sprintf("the tool %q carries a key, and %s takes none", t.Name, op.ID), "remove its idempotency"
		case t.Key.Argument != "" && props[t.Key.Argument] == nil:
			return fmt.Sprintf("the tool %q has no argument %q for its key", t.Name, t.Key.Argument), "add it to the inputSchema"
		}
		return "", ""
	})
}
