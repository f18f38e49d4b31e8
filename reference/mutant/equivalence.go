package mutant

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"assay.kit/reference"
	"assay.kit/reference/core"
	"assay.kit/reference/mcp"
	"assay.kit/spec"
)

// equivalences are servers one of whose faces does what the other does not. REST is as it should be:
// what is broken shows on MCP alone.
func equivalences() []Mutant {
	return slices.Concat(otherInputs(), otherResults(), otherAuthority(), otherWork())
}

func otherInputs() []Mutant {
	return []Mutant{
		{
			ID: "equivalence-unknown-ignored", Does: "Ignores arguments that the schema does not name, where REST refuses them.", Contract: "notes",
			Breaks: []string{"equivalence.accepted"},
			May:    []May{{"equivalence.code", "what is wrong besides is told instead"}, {"equivalence.effects", "a call that is to be refused is taken"}},
			MCP: toolCalls(func(_ *http.Request, _, params map[string]any) {
				args, ok := params["arguments"].(map[string]any)
				if !ok || text(params, "name") != "open-notebook" {
					return
				}
				for name := range args {
					if !slices.Contains([]string{"title", "label", "style", "request_key"}, name) {
						delete(args, name)
					}
				}
			}),
		},
		{
			ID: "equivalence-null-refused", Does: "Refuses null for a member that may be null.", Contract: "notes",
			Breaks: []string{"equivalence.accepted"},
			May:    []May{{"equivalence.code", "it is refused for another reason"}},
			MCP: doing(func(ctx context.Context, next core.Domain, r core.Request) (core.Answer, *core.Problem) {
				if style, there := decoded(r.Body)["style"]; there && style == nil {
					return core.Answer{}, next.Refuse(core.InvalidRequest, "style must be an object.")
				}
				return next.Do(ctx, r)
			}),
		},
		{
			ID: "equivalence-newest-schema", Does: "Takes inputs of the newest schema revision, where REST keeps to the one that is pinned.", Contract: "seer",
			Breaks: []string{"equivalence.accepted"},
			May:    []May{{"equivalence.code", "who may not call it is told so, where REST tells of the input"}},
			MCP:    asking(func(_ *core.Request, input map[string]any) { delete(input, "include_volume") }),
		},
		{
			ID: "equivalence-texts-trimmed", Does: "Cuts texts that are too long, where REST refuses them.", Contract: "notes",
			Breaks: []string{"equivalence.accepted"},
			MCP: toolCalls(func(_ *http.Request, _, params map[string]any) {
				args, _ := params["arguments"].(map[string]any)
				if title := []rune(text(args, "title")); len(title) > 120 {
					args["title"] = string(title[:120])
				}
			}),
		},
		{
			ID: "equivalence-code-differs", Does: "Has error codes of its own for what tools refuse.", Contract: "seer",
			Breaks: []string{"equivalence.code"},
			MCP: turning(func(t *spec.Tool, p core.Problem) mcp.Reply {
				p.Code = "TOOL_FAILED"
				return mcp.RefusalOf(t, &p)
			}),
		},
		{
			ID: "equivalence-not-found-everywhere", Does: "Says that it found nothing, whatever it refuses.", Contract: "notes",
			Breaks: []string{"equivalence.code"},
			MCP: turning(func(t *spec.Tool, p core.Problem) mcp.Reply {
				p.Code = "NO_SUCH_THING"
				return mcp.RefusalOf(t, &p)
			}),
		},
		{
			ID: "equivalence-twice", Does: "Makes two notebooks for one call.", Contract: "notes",
			Breaks: []string{"equivalence.effects"},
			MCP: doing(func(ctx context.Context, next core.Domain, r core.Request) (core.Answer, *core.Problem) {
				if r.Op.ID == "createNotebook" {
					own := r
					own.Header = func(name string) string {
						if v := r.Header(name); v != "" && strings.EqualFold(name, "Request-Key") {
							return v + "-2"
						}
						return r.Header(name)
					}
					_, _ = next.Do(ctx, own)
				}
				return next.Do(ctx, r)
			}),
		},
		{
			ID: "equivalence-kept-though-refused", Does: "Makes a notebook of what is right in a call before it looks at the rest.", Contract: "notes",
			Breaks: []string{"equivalence.effects"},
			MCP: func(m *reference.MCP) {
				m.Wraps = append(m.Wraps, wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
					body := bodyOf(r)
					params, _ := decoded(body)["params"].(map[string]any)
					args, _ := params["arguments"].(map[string]any)
					if len(args) > 2 && text(params, "name") == "open-notebook" {
						params["arguments"] = map[string]any{"title": args["title"], "label": args["label"]}
						message := decoded(body)
						message["params"] = params
						own := r.Clone(r.Context())
						own.Body, own.ContentLength = readerOf(string(encode(message))), -1
						ask(next, own)
					}
					next.ServeHTTP(w, r)
				}))
			},
		},
		{
			ID: "equivalence-domain-names", Does: "Lists each tool under the name that it has on REST, too.", Contract: "seer",
			Breaks: []string{"equivalence.names"},
			MCP: onFace(func(r *mcp.Rules) {
				r.Respond = func(method string, a mcp.Response) mcp.Response {
					page := decoded(encode(a.Result))
					list, ok := page["tools"].([]any)
					if method != "tools/list" || !ok {
						return a
					}
					for _, t := range slices.Clone(list) {
						other := decoded(encode(t))
						if name, prefixed := strings.CutPrefix(text(other, "name"), "seer_market_"); prefixed {
							other["name"] = "market." + name
							list = append(list, other)
						}
					}
					page["tools"] = list
					a.Result = page
					return a
				}
			}),
		},
		{
			ID: "equivalence-other-keys", Does: "Keeps the keys of tools apart from those of REST.", Contract: "notes",
			Breaks: []string{"equivalence.key"},
			MCP: toolCalls(func(_ *http.Request, _, params map[string]any) {
				if args, _ := params["arguments"].(map[string]any); text(args, "request_key") != "" {
					args["request_key"] = "mcp-" + text(args, "request_key")
				}
			}),
		},
		{
			ID: "equivalence-foreign-cursor", Does: "Takes a cursor for none, and gives the first page.", Contract: "notes",
			Breaks: []string{"equivalence.cursor"},
			MCP: toolCalls(func(_ *http.Request, _, params map[string]any) {
				if args, ok := params["arguments"].(map[string]any); ok {
					delete(args, "after")
				}
			}),
			May: []May{{"equivalence.accepted", "a cursor that is none is refused on REST"}, {"equivalence.result", "the page is another"}},
		},
		{
			ID: "equivalence-bars-cursor", Does: "Starts from the beginning whatever the cursor of a range.", Contract: "seer",
			Breaks: []string{"equivalence.cursor"},
			May:    []May{{"equivalence.accepted", "a cursor that is none is refused on REST"}},
			MCP:    asking(func(_ *core.Request, input map[string]any) { delete(input, "cursor") }),
		},
	}
}

func otherResults() []Mutant {
	return []Mutant{
		{
			ID: "equivalence-number-rendering", Does: "Writes whole numbers as 1.0.", Contract: "seer",
			Breaks: []string{"equivalence.digits"},
			May:    []May{{"equivalence.job", "a job's numbers too"}, {"equivalence.artifact", "an artifact's numbers too"}},
			MCP: resulting(func(_ *spec.Tool, body map[string]any) {
				spelled(body, func(n json.Number) json.Number {
					if !strings.ContainsAny(n.String(), ".eE") {
						return n + ".0"
					}
					return n
				})
			}),
		},
		{
			ID: "equivalence-precision-loss", Does: "Rounds numbers that have more digits than a double carries, where REST refuses them.", Contract: "notes",
			Breaks: []string{"equivalence.accepted"},
			MCP: toolCalls(func(_ *http.Request, _, params map[string]any) {
				spelled(params["arguments"], func(n json.Number) json.Number {
					f, err := n.Float64()
					if err != nil || len(n) < 18 {
						return n
					}
					return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
				})
			}),
		},
		{
			ID: "equivalence-single-precision", Does: "Computes with the precision of 32 bits.", Contract: "seer",
			Breaks: []string{"equivalence.result"},
			May:    []May{{"equivalence.digits", "a number that stays the same may be spelled otherwise"}, {"equivalence.artifact", "an artifact's numbers too"}},
			MCP: resulting(func(_ *spec.Tool, body map[string]any) {
				spelled(body, func(n json.Number) json.Number {
					f, err := n.Float64()
					if err != nil || !strings.Contains(n.String(), ".") {
						return n
					}
					return json.Number(strconv.FormatFloat(float64(float32(f)), 'f', -1, 64))
				})
			}),
		},
		{
			ID: "equivalence-null-dropped", Does: "Leaves members that are null out of a result.", Contract: "notes",
			Breaks: []string{"equivalence.result"},
			MCP: resulting(func(_ *spec.Tool, body map[string]any) {
				for name, v := range body {
					if v == nil {
						delete(body, name)
					}
				}
			}),
		},
		{
			ID: "equivalence-order", Does: "Gives the lists of a result newest first.", Contract: "seer",
			Breaks: []string{"equivalence.result"},
			MCP: resulting(func(_ *spec.Tool, body map[string]any) {
				if data, ok := body["data"].(map[string]any); ok {
					if list, ok := data["observations"].([]any); ok {
						slices.Reverse(list)
					}
				}
			}),
		},
		{
			ID: "equivalence-own-default", Does: "Has another default for an argument than REST.", Contract: "seer",
			Breaks: []string{"equivalence.result"},
			MCP: asking(func(r *core.Request, input map[string]any) {
				if body := decoded(r.Body); text(body, "tool") == "market.bars" && input["adjustment"] == nil {
					input["adjustment"] = "total_return"
				}
			}),
		},
	}
}

// spelled rewrites every number of a value in place.
func spelled(v any, change func(json.Number) json.Number) {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			if n, ok := e.(json.Number); ok {
				v[name] = change(n)
			} else {
				spelled(e, change)
			}
		}
	case []any:
		for i, e := range v {
			if n, ok := e.(json.Number); ok {
				v[i] = change(n)
			} else {
				spelled(e, change)
			}
		}
	}
}

func otherAuthority() []Mutant {
	return []Mutant{
		{
			ID: "equivalence-scopes-ignored", Does: "Does not look at scopes, where REST does.", Contract: "seer",
			Breaks: []string{"equivalence.grants"},
			MCP:    holding(withAllScopes),
		},
		{
			ID: "equivalence-scope-wanted", Does: "Wants a scope for reading notes that REST does not want.", Contract: "notes",
			Breaks: []string{"equivalence.accepted"},
			May:    []May{{"equivalence.code", "it is refused for want of a scope"}},
			MCP: doing(func(ctx context.Context, next core.Domain, r core.Request) (core.Answer, *core.Problem) {
				if r.Op.ID == "listNotes" && !slices.Contains(r.Principal.Scopes, "notes:list") {
					return core.Answer{}, next.Refuse(core.Forbidden, "The credential lacks a scope.")
				}
				return next.Do(ctx, r)
			}),
		},
		{
			ID: "equivalence-entitlements-ignored", Does: "Serves data without the entitlement that REST wants.", Contract: "seer",
			Breaks: []string{"equivalence.entitlements"},
			MCP: holding(func(p core.Principal) core.Principal {
				p.Entitlements = []string{"source_market_example"}
				return p
			}),
		},
		{
			ID: "equivalence-forbidden-hidden", Does: "Says of what is forbidden that it is not there.", Contract: "seer",
			Breaks: []string{"equivalence.code"},
			MCP: turning(func(t *spec.Tool, p core.Problem) mcp.Reply {
				if p.Code == "FORBIDDEN" {
					p.Code = "NOT_FOUND"
				}
				return mcp.RefusalOf(t, &p)
			}),
		},
	}
}

func otherWork() []Mutant {
	return []Mutant{
		{
			ID: "equivalence-job-stale", Does: "Shows a job that has ended as running.", Contract: "seer",
			Breaks: []string{"equivalence.job"},
			May:    []May{{"equivalence.result", "reading a job is a tool like any other"}},
			MCP: showing("getJob", func(body map[string]any) {
				body["state"] = "running"
				delete(body, "result_ref")
			}),
		},
		{
			ID: "equivalence-artifact-rounded", Does: "Rounds the numbers of an artifact.", Contract: "seer",
			Breaks: []string{"equivalence.artifact"},
			May:    []May{{"equivalence.result", "reading an artifact is a tool like any other"}, {"equivalence.digits", "the same"}},
			MCP: showing("getArtifact", func(body map[string]any) {
				spelled(body["data"], func(n json.Number) json.Number {
					f, err := n.Float64()
					if err != nil || !strings.Contains(n.String(), ".") {
						return n
					}
					return json.Number(strconv.FormatFloat(f, 'f', 3, 64))
				})
			}),
		},
		{
			ID: "equivalence-work-differs", Does: "Looks two sessions further ahead for a forecast that is asked for by MCP.", Contract: "seer",
			Breaks: []string{"equivalence.outcome"},
			MCP: asking(func(r *core.Request, input map[string]any) {
				if horizon, ok := input["horizon"].(map[string]any); ok && text(decoded(r.Body), "tool") == "forecast.create" {
					if horizon["value"] == json.Number("20") {
						horizon["value"] = json.Number("22")
					}
				}
			}),
		},
	}
}
