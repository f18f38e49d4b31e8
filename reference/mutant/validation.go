package mutant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"assay.kit/reference/core"
	"assay.kit/reference/core/idem"
	"assay.kit/spec"
)

// validation are servers that take what their contract refuses, or refuse what it takes.
func validation() []Mutant { return slices.Concat(bodies(), characters(), parameters(), decoders()) }

// enforces are the claims that break with a rule of the schema that is not enforced: what gets past it
// may still be refused later, in other words.
func enforces(claim string) []string { return []string{claim, "validation.code", "validation.pointer"} }

func bodies() []Mutant {
	return []Mutant{
		{
			ID: "validation-unknown-ignored", Does: "Ignores members that the schema does not know.", Contract: "seer",
			Breaks:  enforces("validation.unknown-member"),
			Replace: ignoring("additionalProperties", "unevaluatedProperties"),
		},
		{
			ID: "validation-nested-unknown-ignored", Does: "Refuses unknown members at the top of a body and ignores them below.", Contract: "seer",
			Breaks: enforces("validation.unknown-member"),
			Replace: lenient(func(v core.Violation) bool {
				return v.Keyword == "additionalProperties" && strings.Count(v.Pointer, "/") > 1
			}),
		},
		{
			ID: "validation-one-route", Does: "Ignores unknown members of one request only: the authorisation of an action.", Contract: "seer",
			Breaks: enforces("validation.unknown-member"),
			Replace: func(r *core.Rules) {
				r.ValidateBody = func(op *spec.Operation, v any) []core.Violation {
					return slices.DeleteFunc(core.ValidateBody(op, v), func(v core.Violation) bool {
						return op.ID == "authorizeAction" && v.Keyword == "additionalProperties"
					})
				}
			},
		},
		{
			ID: "validation-no-pattern", Does: "Does not look at patterns.", Contract: "seer",
			Breaks: enforces("validation.keywords"), Replace: ignoring("pattern"),
			May: []May{
				{"wire.schema", "what was taken against its pattern is shown as it was taken"},
				{"wire.money", "likewise, of an amount"},
			},
		},
		{
			ID: "validation-no-enum", Does: "Takes any text where the schema lists the legal ones.", Contract: "notes",
			Breaks: enforces("validation.keywords"), Replace: ignoring("enum"),
		},
		{
			ID: "validation-no-length", Does: "Does not look at the length of texts and arrays.", Contract: "notes",
			Breaks: enforces("validation.keywords"), Replace: ignoring("minLength", "maxLength", "minItems", "maxItems"),
		},
		{
			ID: "validation-no-bounds", Does: "Does not look at the bounds of numbers.", Contract: "notes",
			Breaks: enforces("validation.keywords"), Replace: ignoring("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
		},
		{
			ID: "validation-coerces", Does: "Takes a value of another type for one that could be meant.", Contract: "notes",
			Breaks: enforces("validation.keywords"), Replace: ignoring("type"),
			May: []May{{"wire.schema", "what was taken with another type is shown with it"}},
		},
		{
			ID: "validation-not-required", Does: "Does without members that the schema requires.", Contract: "notes",
			Breaks: enforces("validation.keywords"), Replace: ignoring("required"),
		},
		{
			ID: "validation-wrong-code", Does: "Gives every refusal of a body the code of broken JSON.", Contract: "seer",
			Breaks: []string{"validation.code"}, Replace: coded(core.InvalidRequest, "INVALID_JSON"),
		},
		{
			ID: "validation-422", Does: "Refuses a body that breaks the schema with 422 where the contract says 400.", Contract: "seer",
			Breaks: []string{"validation.code", "wire.status"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				if a.text("code") != "INVALID_REQUEST" {
					return
				}
				body := a.object()
				body["status"] = http.StatusUnprocessableEntity
				a.status = http.StatusUnprocessableEntity
				a.set(body)
			}),
		},
		{
			ID: "validation-paths-not-pointers", Does: "Names the wrong member by a path of its own form instead of a JSON pointer.", Contract: "seer",
			Breaks: []string{"validation.pointer"},
			Replace: func(r *core.Rules) {
				r.Render = func(t *spec.ErrorTrait, p *core.Problem, id string) (string, []byte) {
					own := *p
					own.Violations = nil
					for _, v := range p.Violations {
						v.Pointer = "$" + strings.ReplaceAll(v.Pointer, "/", ".")
						own.Violations = append(own.Violations, v)
					}
					return core.Render(t, &own, id)
				}
			},
		},
		{
			ID: "validation-after-insert", Does: "Makes the resource, then finds the body broken, refuses it and leaves the resource.", Contract: "notes",
			Breaks: []string{"validation.nothing-admitted", "idempotency.refusal-harmless"},
			May:    []May{{"wire.schema", "what was left behind shows members that the schema refuses"}},
			Replace: func(r *core.Rules) {
				r.ValidateBody = func(op *spec.Operation, v any) []core.Violation {
					if op.Job == nil {
						return nil
					}
					return core.ValidateBody(op, v)
				}
				r.Admit = insertFirst
			},
		},
	}
}

// insertFirst validates when it is too late.
func insertFirst(ctx context.Context, s core.Store, a core.Admission) (core.Answer, *core.Problem, error) {
	vs := core.ValidateBody(a.Op, a.Request.Value)
	if len(vs) == 0 {
		return core.Admit(ctx, s, a)
	}
	err := s.Update(ctx, func(w core.Writer) error {
		if _, p := a.Apply(w); p != nil {
			return p
		}
		return nil
	})
	var p *core.Problem
	if err != nil && !errors.As(err, &p) {
		return core.Answer{}, nil, err
	}
	return core.Answer{}, &core.Problem{
		Kind: core.InvalidRequest, Status: http.StatusUnprocessableEntity, Code: "BODY_INVALID", Title: "Unprocessable Entity",
		Detail: "The body breaks the schema of the operation.", Violations: vs,
	}, nil
}

// ignoring does not enforce some keywords of the schemas of bodies and of tools' inputs.
func ignoring(keywords ...string) func(*core.Rules) {
	return lenient(func(v core.Violation) bool { return slices.Contains(keywords, v.Keyword) })
}

func lenient(passes func(core.Violation) bool) func(*core.Rules) {
	return func(r *core.Rules) {
		r.ValidateBody = func(op *spec.Operation, v any) []core.Violation {
			return slices.DeleteFunc(core.ValidateBody(op, v), passes)
		}
		r.ValidateInput = func(tool *spec.Tool, v any) []core.Violation {
			return slices.DeleteFunc(core.ValidateInput(tool, v), passes)
		}
	}
}

// coded gives refusals of a kind another code.
func coded(kind core.Kind, code string) func(*core.Rules) {
	return func(r *core.Rules) {
		r.Render = func(t *spec.ErrorTrait, p *core.Problem, id string) (string, []byte) {
			own := *p
			if own.Kind == kind {
				own.Code = code
			}
			return core.Render(t, &own, id)
		}
	}
}

func parameters() []Mutant {
	return []Mutant{
		{
			ID: "validation-unknown-parameter", Does: "Ignores query parameters that it does not know.", Contract: "seer",
			Breaks:  []string{"validation.unknown-parameter"},
			Replace: query("additionalProperties"),
		},
		{
			ID: "validation-parameter-coerced", Does: "Takes a parameter that its schema refuses for one that was not sent.", Contract: "seer",
			Breaks:  []string{"validation.parameter"},
			Replace: query("type", "enum", "pattern", "format", "minLength", "maxLength"),
		},
		{
			ID: "validation-parameter-code", Does: "Gives a bad query the code of a bad body.", Contract: "seer",
			Breaks:  []string{"validation.parameter-code"},
			Replace: coded(core.InvalidParameter, "INVALID_REQUEST"),
		},
		{
			ID: "validation-size-off-by-one", Does: "Refuses a body of exactly the allowed size.", Contract: "seer",
			Breaks:  []string{"validation.size-accepted"},
			Replace: func(r *core.Rules) { r.BodyLimit = func(l core.Limits) int { return l.RequestBytes - 1 } },
		},
		{
			ID: "validation-size-unlimited", Does: "Reads bodies of any size, whatever the connection says.", Contract: "seer",
			Breaks:  []string{"validation.size-refused"},
			Replace: func(r *core.Rules) { r.BodyLimit = func(core.Limits) int { return 0 } },
		},
	}
}

func query(ignored ...string) func(*core.Rules) {
	return func(r *core.Rules) {
		r.ValidateQuery = func(op *spec.Operation, q url.Values) []core.Violation {
			return slices.DeleteFunc(core.ValidateQuery(op, q), func(v core.Violation) bool { return slices.Contains(ignored, v.Keyword) })
		}
	}
}

func decoders() []Mutant {
	return []Mutant{
		{
			ID: "json-nan", Does: "Takes NaN and Infinity for numbers.", Contract: "seer",
			Breaks: []string{"transport.json"},
			May:    []May{{"transport.code", "the number that is read may be refused for what it is"}},
			Replace: decoding(func(b []byte) []byte {
				b = bytes.ReplaceAll(b, []byte(":NaN"), []byte(":1"))
				return bytes.ReplaceAll(b, []byte(":Infinity"), []byte(":1"))
			}),
		},
		{
			ID: "json-trailing-data", Does: "Stops reading after the first value of a body.", Contract: "seer",
			Breaks: []string{"transport.json"},
			May:    []May{{"transport.code", "the first value may be refused for what it is"}},
			Replace: decoding(func(b []byte) []byte {
				var first json.RawMessage
				if json.NewDecoder(bytes.NewReader(b)).Decode(&first) != nil {
					return b
				}
				return first
			}),
		},
		{
			ID: "json-duplicate-members", Does: "Lets the last of several members of one name count.", Contract: "seer",
			Breaks: []string{"transport.duplicate-members"},
			Replace: decoding(func(b []byte) []byte {
				if m := decoded(b); m != nil && json.Valid(b) && utf8.Valid(b) {
					return encode(m)
				}
				return b
			}),
		},
		{
			ID: "json-rounds-compared", Does: "Keeps a number that no double holds as it is written, and compares payloads by the nearest double.", Contract: "notes",
			Breaks: []string{"validation.number-distinct"},
			Replace: func(r *core.Rules) {
				r.Decode = func(b []byte) (any, error) {
					if m := decoded(b); m != nil && json.Valid(b) {
						if _, err := idem.Decode(rounded(b)); err == nil {
							return m, nil
						}
					}
					return idem.Decode(b)
				}
				r.Fingerprint = func(rq *core.Request) ([]byte, error) { return idem.Fingerprint(rounded(rq.Body)) }
			},
		},
		{
			ID: "json-short-numbers", Does: "Refuses numbers of more than 15 digits.", Contract: "seer",
			Breaks: []string{"validation.number-accepted"},
			Replace: func(r *core.Rules) {
				r.Decode = func(b []byte) (any, error) {
					long := false
					numbers(b, func(n json.Number) json.Number {
						long = long || len(strings.Trim(n.String(), "-0")) > 15
						return n
					})
					if long {
						return nil, errors.New("a number has too many digits")
					}
					return idem.Decode(b)
				}
			},
		},
		{
			ID: "json-repairs-utf8", Does: "Replaces bytes that are no UTF-8 by the replacement character.", Contract: "seer",
			Breaks:  []string{"transport.utf8"},
			Replace: decoding(func(b []byte) []byte { return bytes.ToValidUTF8(b, []byte("\ufffd")) }),
		},
	}
}

func rounded(b []byte) []byte {
	return numbers(b, func(n json.Number) json.Number { return json.Number(shortest(n)) })
}

// numbers changes the numbers of a body; what is no JSON object stays as it is.
func numbers(b []byte, change func(json.Number) json.Number) []byte {
	m := decoded(b)
	if m == nil || !json.Valid(b) {
		return b
	}
	return encode(rewritten(m, 0, func(v any, _ int) any {
		if n, ok := v.(json.Number); ok {
			return change(n)
		}
		return v
	}))
}

// decoding reads a body after it was mended.
func decoding(mend func([]byte) []byte) func(*core.Rules) {
	return func(r *core.Rules) {
		r.Decode = func(b []byte) (any, error) { return idem.Decode(mend(b)) }
		r.Fingerprint = func(rq *core.Request) ([]byte, error) {
			rq.Body = mend(rq.Body) // whoever reads the body later reads it mended too
			return idem.Fingerprint(rq.Body)
		}
	}
}
