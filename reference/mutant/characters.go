package mutant

import (
	"encoding/json"
	"strings"
	"unicode/utf16"

	"assay.kit/reference/core"
	"assay.kit/spec"
)

// characters are servers that are wrong about a single character of a text or of a name.
func characters() []Mutant {
	return []Mutant{
		{
			ID: "validation-length-bytes", Does: "Counts the length of a text in bytes.", Contract: "notes",
			Breaks:  []string{"validation.length-units"},
			Replace: measuring(func(s string) int { return len(s) }),
		},
		{
			ID: "validation-length-utf16", Does: "Counts the length of a text in units of UTF-16.", Contract: "notes",
			Breaks:  []string{"validation.length-units"},
			Replace: measuring(func(s string) int { return len(utf16.Encode([]rune(s))) }),
		},
		{
			ID: "validation-pattern-last-line", Does: "Lets the end of a pattern match before a final newline.", Contract: "notes",
			Breaks: enforces("validation.keywords"),
			Replace: func(r *core.Rules) {
				r.ValidateBody = func(op *spec.Operation, v any) []core.Violation {
					return core.ValidateBody(op, rewritten(v, 0, func(v any, _ int) any {
						if s, ok := v.(string); ok {
							return strings.TrimSuffix(s, "\n")
						}
						return v
					}))
				}
			},
		},
		{
			ID: "validation-extensions-ignored", Does: "Ignores unknown members whose names begin with x.", Contract: "notes",
			Breaks: enforces("validation.unknown-member"),
			Replace: lenient(func(v core.Violation) bool {
				return v.Keyword == "additionalProperties" && strings.HasPrefix(v.Pointer[strings.LastIndexByte(v.Pointer, '/')+1:], "x")
			}),
		},
		{
			ID: "validation-longer-name", Does: "Ignores unknown members whose names go on after an underscore.", Contract: "seer",
			Breaks: enforces("validation.unknown-member"),
			Replace: lenient(func(v core.Violation) bool {
				return v.Keyword == "additionalProperties" && strings.HasSuffix(v.Pointer, "_")
			}),
		},
	}
}

// measuring also refuses texts at the top of a body that are too long by a measure of its own.
func measuring(length func(string) int) func(*core.Rules) {
	return func(r *core.Rules) {
		r.ValidateBody = func(op *spec.Operation, v any) []core.Violation {
			out := core.ValidateBody(op, v)
			m, _ := v.(map[string]any)
			if len(out) > 0 || m == nil {
				return out
			}
			for name, raw := range topMembers(op) {
				most, err := number(raw["maxLength"])
				if s, ok := m[name].(string); ok && err == nil && length(s) > most {
					out = append(out, core.Violation{Pointer: "/" + name, Keyword: "maxLength", Message: "is too long"})
				}
			}
			return out
		}
	}
}

func number(v any) (int, error) {
	n, _ := v.(json.Number)
	i, err := n.Int64()
	return int(i), err
}

// topMembers are the raw schemas of the members at the top of a body.
func topMembers(op *spec.Operation) map[string]map[string]any {
	out := map[string]map[string]any{}
	if op.Body == nil || op.Body.Schema == nil {
		return out
	}
	raw := op.Body.Schema.Raw()
	for object, ok := raw.(map[string]any); ok; object, ok = raw.(map[string]any) {
		props, _ := object["properties"].(map[string]any)
		for name, p := range props {
			if prop, isObject := p.(map[string]any); isObject {
				out[name] = prop
			}
		}
		if raw, ok = op.Body.Schema.Deref(object); !ok {
			break
		}
	}
	return out
}
