package mutant

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"assay.kit/reference"
	"assay.kit/reference/core"
	"assay.kit/reference/mcp"
	"assay.kit/spec"
)

// onFace replaces rules of the MCP face; REST stays as it is.
func onFace(change func(*mcp.Rules)) func(*reference.MCP) {
	return func(m *reference.MCP) { change(&m.Rules) }
}

// shownAs changes every manifest of tools/list.
func shownAs(change func(t *spec.Tool, m map[string]any)) func(*reference.MCP) {
	return onFace(func(r *mcp.Rules) {
		r.Manifest = func(t *spec.Tool) map[string]any {
			m := decoded(encode(mcp.Manifest(t)))
			change(t, m)
			return m
		}
	})
}

// resulting changes every result of a tool, in both its forms.
func resulting(change func(t *spec.Tool, body map[string]any)) func(*reference.MCP) {
	return onFace(func(r *mcp.Rules) {
		r.Result = func(t *spec.Tool, a core.Answer) mcp.Reply {
			if body := decoded(a.Body); body != nil {
				change(t, body)
				a.Body = encode(body)
			}
			return mcp.ResultOf(t, a)
		}
	})
}

// turning changes every refusal of a tool.
func turning(change func(t *spec.Tool, p core.Problem) mcp.Reply) func(*reference.MCP) {
	return onFace(func(r *mcp.Rules) {
		r.Refusal = func(t *spec.Tool, p *core.Problem) mcp.Reply { return change(t, *p) }
	})
}

// seen is the core as the MCP face alone sees it.
type seen struct {
	core.Domain
	as func(core.Principal) core.Principal
	do func(ctx context.Context, next core.Domain, r core.Request) (core.Answer, *core.Problem)
}

func (s seen) Authenticate(ctx context.Context, token string) (core.Principal, *core.Problem) {
	p, refused := s.Domain.Authenticate(ctx, token)
	if refused == nil && s.as != nil {
		p = s.as(p)
	}
	return p, refused
}

func (s seen) Do(ctx context.Context, r core.Request) (core.Answer, *core.Problem) {
	if s.do == nil {
		return s.Domain.Do(ctx, r)
	}
	return s.do(ctx, s.Domain, r)
}

// doing puts something between the MCP face and the core.
func doing(do func(ctx context.Context, next core.Domain, r core.Request) (core.Answer, *core.Problem)) func(*reference.MCP) {
	return func(m *reference.MCP) {
		m.Domain = func(d core.Domain) core.Domain { return seen{Domain: d, do: do} }
	}
}

// holding gives whoever comes by MCP more, or less, than the credential holds.
func holding(as func(core.Principal) core.Principal) func(*reference.MCP) {
	return func(m *reference.MCP) { m.Domain = func(d core.Domain) core.Domain { return seen{Domain: d, as: as} } }
}

// asking changes the input of a tool before the core sees it: the arguments of a domain tool, else the body.
func asking(change func(r *core.Request, input map[string]any)) func(*reference.MCP) {
	return doing(func(ctx context.Context, next core.Domain, r core.Request) (core.Answer, *core.Problem) {
		if body := decoded(r.Body); body != nil {
			input := body
			if in, ok := body["input"].(map[string]any); ok {
				input = in
			}
			change(&r, input)
			r.Body = encode(body)
		}
		return next.Do(ctx, r)
	})
}

// showing changes what one operation answers the MCP face.
func showing(operation string, change func(body map[string]any)) func(*reference.MCP) {
	return doing(func(ctx context.Context, next core.Domain, r core.Request) (core.Answer, *core.Problem) {
		a, p := next.Do(ctx, r)
		if body := decoded(a.Body); p == nil && r.Op.ID == operation && body != nil {
			change(body)
			a.Body = encode(body)
		}
		return a, p
	})
}

// hiding refuses one operation to the MCP face as if nothing were there.
func hiding(operation string) func(*reference.MCP) {
	return doing(func(ctx context.Context, next core.Domain, r core.Request) (core.Answer, *core.Problem) {
		if r.Op.ID == operation {
			return core.Answer{}, next.Refuse(core.NotFound, "It is not here.")
		}
		return next.Do(ctx, r)
	})
}

// toolCalls changes the params of every tools/call before the server reads them.
func toolCalls(change func(r *http.Request, message, params map[string]any)) func(*reference.MCP) {
	return func(m *reference.MCP) {
		m.Wraps = append(m.Wraps, wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			if message := decoded(bodyOf(r)); r.Method == http.MethodPost && text(message, "method") == "tools/call" {
				if params, ok := message["params"].(map[string]any); ok {
					change(r, message, params)
					body := encode(message)
					r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
				}
			}
			next.ServeHTTP(w, r)
		}))
	}
}

// responding has the last look at the response to tools/call.
func responding(change func(a mcp.Response) mcp.Response) func(*reference.MCP) {
	return onFace(func(r *mcp.Rules) {
		r.Respond = func(method string, a mcp.Response) mcp.Response {
			if method == "tools/call" {
				return change(a)
			}
			return a
		}
	})
}

// lacking leaves tools out of the list; what is not listed cannot be called.
func lacking(drop func(*spec.Tool) bool) func(*reference.MCP) {
	return onFace(func(r *mcp.Rules) {
		r.Listed = func(p core.Principal, all []*spec.Tool) []*spec.Tool {
			return slices.DeleteFunc(mcp.Listed(p, all), drop)
		}
	})
}

// fault is an error of the protocol.
func fault(code int, message string) mcp.Reply {
	return mcp.Reply{Error: &mcp.Error{Code: code, Message: message}}
}

// said is a result of any value, in both forms.
func said(v any, isError bool) *mcp.Result {
	body := encode(v)
	return &mcp.Result{Content: []mcp.Content{{Type: "text", Text: string(body)}}, Structured: json.RawMessage(body), IsError: isError}
}

// allScopes are those that the example contracts have for tools.
func allScopes() []string {
	return []string{"tools:invoke", "market:read", "forecasts:write", "portfolios:write", "jobs:read", "artifacts:read", "connection:read",
		"notes:read", "notes:write", "exports:read", "exports:write"}
}

// readerOf is a request body of its own.
func readerOf(body string) io.ReadCloser { return io.NopCloser(strings.NewReader(body)) }
