package mutant

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay.kit/reference/core"
	"assay.kit/reference/core/idem"
	"assay.kit/spec/tree"
)

// payload are servers that compare payloads, or the paths and callers they belong to, by too much or too little.
func payload() []Mutant { return slices.Concat(fingerprints(), scopes()) }

func fingerprints() []Mutant {
	return []Mutant{
		{
			ID: "fingerprint-bytes", Does: "Compares payloads byte by byte.", Contract: "seer",
			Breaks: []string{"idempotency.canonical", "idempotency.spelling"},
			Replace: func(r *core.Rules) {
				r.Fingerprint = func(rq *core.Request) ([]byte, error) {
					sum := sha256.Sum256(rq.Body)
					return sum[:], nil
				}
			},
		},
		{
			ID: "fingerprint-number-text", Does: "Compares numbers as they are spelled.", Contract: "notes",
			Breaks: []string{"idempotency.spelling"},
			Replace: func(r *core.Rules) {
				r.Fingerprint = func(rq *core.Request) ([]byte, error) {
					sum := sha256.Sum256(encode(rq.Value))
					return sum[:], nil
				}
			},
		},
		{
			ID: "fingerprint-length", Does: "Compares the sizes of two payloads, which is cheap, and takes equal ones for one.", Contract: "seer",
			Breaks: with(changes(), "idempotency.linearizable", "idempotency.conflict-silent"),
			Replace: func(r *core.Rules) {
				r.Fingerprint = func(r *core.Request) ([]byte, error) {
					c, err := idem.Canonical(r.Body)
					return []byte(strconv.Itoa(len(c))), err
				}
			},
		},
		{
			ID: "fingerprint-shallow", Does: "Compares the plain members of a payload and not what is nested.", Contract: "seer",
			Breaks:  with(changes(), "idempotency.conflict-silent", "idempotency.linearizable"), // an authorisation has nothing but nested members
			Replace: condensed(func(_ *core.Request, v any) any { return shallow(v) }),
		},
		{
			ID: "fingerprint-no-order", Does: "Sorts arrays before it compares payloads.", Contract: "seer",
			Breaks:  []string{"idempotency.change-order"},
			Replace: condensed(func(_ *core.Request, v any) any { return rewritten(v, 0, sorted) }),
		},
		{
			ID: "fingerprint-no-types", Does: "Takes a number for the text that it spells.", Contract: "notes",
			Breaks: []string{"idempotency.change-type"},
			Replace: condensed(func(_ *core.Request, v any) any {
				return rewritten(v, 0, func(v any, _ int) any {
					if n, ok := v.(json.Number); ok {
						return shortest(n)
					}
					return v
				})
			}),
		},
		{
			ID: "fingerprint-whole-numbers", Does: "Compares numbers without their fractions.", Contract: "notes",
			Breaks: []string{"idempotency.change"},
			Replace: condensed(func(_ *core.Request, v any) any {
				return rewritten(v, 0, func(v any, _ int) any {
					if n, ok := v.(json.Number); ok {
						whole, _, _ := strings.Cut(shortest(n), ".")
						return json.Number(strings.Replace(whole, "-0", "0", 1))
					}
					return v
				})
			}),
		},
		{
			ID: "fingerprint-no-nested-null", Does: "Drops members that are null below the top of a payload.", Contract: "notes",
			Breaks:  []string{"idempotency.change-null"},
			Replace: condensed(func(_ *core.Request, v any) any { return rewritten(v, 0, noNull(1)) }),
		},
		{
			ID: "fingerprint-no-null", Does: "Takes a member that is null for one that is absent.", Contract: "seer",
			Breaks:  []string{"idempotency.change-null"},
			Replace: condensed(func(_ *core.Request, v any) any { return rewritten(v, 0, noNull(0)) }),
		},
		{
			ID: "fingerprint-defaults", Does: "Fills in defaults before it compares payloads.", Contract: "notes",
			Breaks:  []string{"idempotency.change-default"},
			Replace: condensed(func(r *core.Request, v any) any { return defaulted(r, v) }),
		},
	}
}

// condensed takes the fingerprint of what f makes of a payload.
func condensed(f func(r *core.Request, v any) any) func(*core.Rules) {
	return func(r *core.Rules) {
		r.Fingerprint = func(rq *core.Request) ([]byte, error) {
			if rq.Value == nil {
				return idem.Fingerprint(rq.Body)
			}
			return idem.Fingerprint(encode(f(rq, rq.Value)))
		}
	}
}

func shallow(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for name, e := range m {
		switch e.(type) {
		case map[string]any, []any:
			out[name] = fmt.Sprintf("%T", e)
		default:
			out[name] = e
		}
	}
	return out
}

// rewritten copies a value, inner ones first, and lets f change each at its depth.
func rewritten(v any, depth int, f func(v any, depth int) any) any {
	switch x := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(x))
		for name, e := range x {
			m[name] = rewritten(e, depth+1, f)
		}
		return f(m, depth)
	case []any:
		a := make([]any, len(x))
		for i, e := range x {
			a[i] = rewritten(e, depth+1, f)
		}
		return f(a, depth)
	default:
		return f(v, depth)
	}
}

// shortest is the one spelling of a number.
func shortest(n json.Number) string {
	f, err := n.Float64()
	if err != nil {
		return n.String()
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func sorted(v any, _ int) any {
	if n, ok := v.(json.Number); ok {
		return json.Number(shortest(n))
	}
	a, ok := v.([]any)
	if ok {
		slices.SortFunc(a, func(x, y any) int { return strings.Compare(string(encode(x)), string(encode(y))) })
	}
	return v
}

// noNull drops null members of objects from a depth on.
func noNull(from int) func(any, int) any {
	return func(v any, depth int) any {
		if m, ok := v.(map[string]any); ok && depth >= from {
			maps.DeleteFunc(m, func(_ string, e any) bool { return e == nil })
		}
		return v
	}
}

// defaulted adds the defaults of the body's schema, at its top.
func defaulted(r *core.Request, v any) any {
	m, ok := v.(map[string]any)
	if !ok || r.Op.Body == nil || r.Op.Body.Schema == nil {
		return v
	}
	m = maps.Clone(m)
	raw := r.Op.Body.Schema.Raw()
	for object, ok := raw.(map[string]any); ok; object, ok = raw.(map[string]any) {
		props, _ := object["properties"].(map[string]any)
		for name, p := range props {
			prop, _ := p.(map[string]any)
			if d, has := prop["default"]; has {
				if _, there := m[name]; !there {
					m[name] = d
				}
			}
		}
		if raw, ok = r.Op.Body.Schema.Deref(object); !ok {
			break
		}
	}
	return m
}

func scopes() []Mutant {
	return []Mutant{
		{
			ID: "scope-no-client", Does: "Lets the clients of a workspace share their keys.", Contract: "seer",
			Breaks:  []string{"idempotency.scope-client"},
			Replace: scoped(without("client")),
		},
		{
			ID: "scope-no-workspace", Does: "Keeps keys for all workspaces together.", Contract: "seer",
			Breaks:  []string{"idempotency.scope-workspace", "idempotency.scope-leak", "idempotency.scope-client"},
			Replace: scoped(without("workspace", "client")),
		},
		{
			ID: "scope-with-client", Does: "Binds keys to the client although the contract lets clients share them.", Contract: "notes",
			Breaks:  []string{"idempotency.scope-shared"},
			Replace: scoped(func(s []string) []string { return slices.Compact(slices.Sorted(slices.Values(append(s, "client")))) }),
		},
		{
			ID: "scope-no-path", Does: "Keeps keys for all operations together.", Contract: "seer",
			Breaks:  []string{"idempotency.scope-path", "idempotency.scope-parent", "idempotency.path-distinct"},
			Replace: scoped(without("path")),
		},
		{
			ID: "scope-route", Does: "Binds keys to the route and not to the path that it was asked by.", Contract: "seer",
			Breaks:  []string{"idempotency.scope-parent", "idempotency.path-distinct"},
			Replace: identity(func(r *core.Request, s *idem.Source) { s.Path = r.Op.Path }),
		},
		{
			ID: "scope-path-case", Does: "Lower-cases the path that a key is bound to.", Contract: "seer",
			Breaks:  []string{"idempotency.path-distinct"},
			Replace: identity(func(_ *core.Request, s *idem.Source) { s.Path = strings.ToLower(s.Path) }),
		},
		{
			ID: "scope-raw-path", Does: "Binds keys to the path as it was spelled, although all spellings reach one route.", Contract: "seer",
			Breaks:  []string{"idempotency.path", "idempotency.path-dots"},
			Replace: identity(func(r *core.Request, s *idem.Source) { s.Path = r.EscapedPath }),
		},
		{
			ID: "scope-trailing-slash", Does: "Routes a path with a trailing slash like the one without, and binds keys to either.", Contract: "seer",
			Breaks: []string{"idempotency.path-dots", "transport.path-exact"},
			Replace: func(r *core.Rules) {
				identity(func(r *core.Request, s *idem.Source) { s.Path = idem.Normalize(r.EscapedPath) })(r)
				r.NormalizePath = func(path string) string { return "/" + strings.Trim(idem.Normalize(path), "/") }
			},
		},
	}
}

// overwriting gives the resource of a used key the members of another payload. Everything else is as it should be.
func overwriting(ctx context.Context, s core.Store, a core.Admission) (core.Answer, *core.Problem, error) {
	var ans core.Answer
	done := false
	err := s.Update(ctx, func(w core.Writer) error {
		done = false
		if !a.Keyed || a.Op.Job != nil {
			return nil
		}
		b, err := a.Lookup(w)
		if err != nil || a.Decide(b) != idem.Conflict {
			return err
		}
		id, _ := tree.Get(decoded(b.Answer.Body), a.Op.Creates.ID.Pointer)
		res, err := w.Resource(a.Op.Creates.Resource, fmt.Sprint(id))
		if err != nil {
			return err
		}
		body := decoded(res.Body)
		sent, ok := a.Request.Value.(map[string]any)
		if body == nil || !ok {
			return errors.New("neither the resource nor the request is an object")
		}
		maps.Copy(body, sent)
		res.Body = encode(body)
		ans, done = b.Answer, true
		ans.Body = res.Body
		return w.Replace(res)
	})
	if done || err != nil {
		return ans, nil, err
	}
	return core.Admit(ctx, s, a)
}
