package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// call carries out tools/call: one call is one request of the tool's operation.
func (h *Handler) call(ctx context.Context, j *job, params map[string]json.RawMessage) Response {
	name, ok := text(params["name"])
	if !ok {
		return failure(codeParams, "The name must be a string.")
	}
	arguments, given := params["arguments"]
	if !given {
		arguments = json.RawMessage("{}")
	}
	if len(arguments) == 0 || arguments[0] != '{' {
		return failure(codeParams, "The arguments must be an object.")
	}
	t := h.named(j.x.principal, name)
	if t == nil {
		return failure(codeParams, "There is no tool of this name.")
	}
	meta, _ := members(params["_meta"]) // dispatch has looked at it
	key, why := t.key(meta)
	if why != "" {
		return failure(codeParams, why)
	}
	token := meta["progressToken"]
	h.progress(ctx, j, token, 0)
	answer, p := h.invoke(ctx, j.x, t, arguments, key)
	h.progress(ctx, j, token, 1)
	reply := Reply{}
	if p != nil {
		for i := range p.Violations {
			p.Violations[i].Pointer = t.pointerOf(p.Violations[i].Pointer)
		}
		reply = h.Rules.Refusal(t.Tool, p)
	} else {
		reply = h.Rules.Result(t.Tool, answer)
	}
	if reply.Error != nil {
		return Response{Error: reply.Error}
	}
	return success(reply.Result)
}

func (h *Handler) named(p core.Principal, name string) *tool {
	for _, t := range h.listed(p) {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// steps of a call that progress is told of: it was taken in, and it is done.
const steps = 1

// progress tells a client that asked for it, where the answer's form has room for it.
func (h *Handler) progress(ctx context.Context, j *job, token json.RawMessage, step int) {
	if token == nil || !j.progress || ctx.Err() != nil {
		return
	}
	j.st.add(encode(wireNotification{Version: rpcVersion, Method: "notifications/progress", Params: map[string]any{
		"progressToken": token, "progress": h.Rules.Progress(step, steps), "total": steps,
	}}))
}

// key is the business key of a call, nil if it has none.
func (t *tool) key(meta map[string]json.RawMessage) (key *string, why string) {
	if t.Key == nil || t.Key.Meta == "" {
		return nil, ""
	}
	raw, there := meta[t.Key.Meta]
	if !there {
		return nil, ""
	}
	s, ok := text(raw)
	if !ok {
		return nil, "The member " + t.Key.Meta + " of _meta must be a string."
	}
	return &s, ""
}

// invoke judges scope and rate, makes the request, and hands it to the domain.
func (h *Handler) invoke(ctx context.Context, x *exchange, t *tool, arguments json.RawMessage, key *string) (core.Answer, *core.Problem) {
	if p := h.Domain.Permit(ctx, x.principal, t.op); p != nil {
		return core.Answer{}, p
	}
	r := core.Request{ID: x.id, Op: t.op, Principal: x.principal, Path: map[string]string{}, Query: url.Values{}}
	fill := h.indirect
	if t.call == nil {
		fill = h.direct
	}
	headers := map[string]string{}
	if p := fill(ctx, t, arguments, &r, headers); p != nil {
		return core.Answer{}, p
	}
	if i := t.op.Idempotency; i != nil {
		place := strings.ToLower(i.Key.Name)
		_, given := headers[place] // an empty one is the domain's to refuse
		switch {
		case key != nil:
			setKey(&r, i.Key, headers, *key)
		case i.Required && !given && i.Key.Part == "header":
			headers[place] = rand.Text() // without a key every call is one of its own
		}
	}
	r.Header = func(name string) string { return headers[strings.ToLower(name)] }
	return h.Domain.Do(ctx, r)
}

// setKey puts the business key where the operation reads it.
func setKey(r *core.Request, at spec.Expr, headers map[string]string, key string) {
	switch at.Part {
	case "header":
		headers[strings.ToLower(at.Name)] = key
	case "query":
		r.Query.Set(at.Name, key)
	}
}

// indirect makes a request of an operation that invokes tools by name. The arguments go in as they were
// written: how numbers are spelled, and whether they are JSON at all by the contract's rules, is judged
// where a REST body is. The path is the tool's own, since a key of one tool says nothing of another's.
func (h *Handler) indirect(ctx context.Context, t *tool, arguments json.RawMessage, r *core.Request, _ map[string]string) *core.Problem {
	body := map[string]json.RawMessage{t.call.Input.Tokens()[0]: arguments, t.call.Tool.Tokens()[0]: encode(t.Domain)}
	if len(t.call.Connection) > 0 {
		answer, p := h.Domain.Do(ctx, core.Request{ID: r.ID, Op: t.call.Operation, Principal: r.Principal, Path: r.Path, Query: r.Query, EscapedPath: t.call.Operation.Path})
		if p != nil {
			return p
		}
		for member, from := range t.call.Connection {
			if v, there := at(answer.Body, from); there {
				body[member] = encode(v)
			}
		}
	}
	r.Body, r.EscapedPath = encode(body), Path+"/"+url.PathEscape(t.Name)
	return nil
}

// direct makes a request whose parameters and body are the arguments.
func (h *Handler) direct(_ context.Context, t *tool, arguments json.RawMessage, r *core.Request, headers map[string]string) *core.Problem {
	if missing := access.Missing(r.Principal, t.Scopes); missing != "" {
		p := h.Domain.Refuse(core.Forbidden, "The credential lacks a scope of the tool.")
		p.Required = missing
		return p
	}
	v, err := h.Core.Decode(arguments)
	if err != nil {
		return h.Domain.Refuse(core.InvalidJSON, "The arguments are not acceptable JSON: "+err.Error()+".")
	}
	rest, _ := v.(map[string]any) // call has seen its first byte
	if vs := h.Core.ValidateInput(t.Tool, v); len(vs) > 0 {
		kind := core.InvalidParameter
		for _, violation := range vs {
			if !t.parameter(violation.Pointer) {
				kind = core.InvalidRequest
			}
		}
		p := h.Domain.Refuse(kind, "The arguments break the schema of the tool.")
		p.Violations = vs
		return p
	}
	r.EscapedPath = t.op.Path
	if t.Key != nil && t.Key.Argument != "" {
		if key, ok := rest[t.Key.Argument].(string); ok {
			setKey(r, t.op.Idempotency.Key, headers, key)
		}
		delete(rest, t.Key.Argument)
	}
	for _, p := range t.op.Params {
		v, there := rest[p.Name]
		if !there {
			continue
		}
		delete(rest, p.Name)
		switch s := spelled(v); p.In {
		case "path":
			r.Path[p.Name] = s
			r.EscapedPath = strings.ReplaceAll(r.EscapedPath, "{"+p.Name+"}", url.PathEscape(s))
		case "query":
			r.Query.Set(p.Name, s)
		case "header":
			headers[strings.ToLower(p.Name)] = s
		}
	}
	if t.op.Body != nil || len(rest) > 0 {
		r.Body = encode(rest)
	}
	return nil
}

// parameter reports whether a pointer into the arguments is in one that the operation takes as a
// parameter: REST refuses such a value as one.
func (t *tool) parameter(pointer string) bool {
	tokens := tree.Pointer(pointer).Tokens()
	if len(tokens) == 0 {
		return false
	}
	for _, p := range t.op.Params {
		if p.Name == tokens[0] {
			return true
		}
	}
	return false
}

// spelled is a JSON value as a parameter's text.
func spelled(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(encode(v))
}

// ResultOf is a domain answer as a tool's result: the value, and the same as text.
func ResultOf(_ *spec.Tool, a core.Answer) Reply {
	r := &Result{Content: []Content{}}
	if len(a.Body) > 0 {
		var b bytes.Buffer
		if json.Compact(&b, a.Body) != nil {
			return Reply{Error: &Error{Code: codeInternal, Message: "The server failed."}}
		}
		r.Content = []Content{{Type: "text", Text: b.String()}}
		if b.Bytes()[0] == '{' {
			r.Structured = json.RawMessage(b.Bytes())
		}
	}
	return Reply{Result: r}
}

// refusal is the error member of a refused call.
type refusal struct {
	Code       string           `json:"code"`
	Message    string           `json:"message"`
	Status     int              `json:"status"`
	Required   string           `json:"required,omitempty"`
	Violations []core.Violation `json:"errors,omitempty"`
	RetryAfter int              `json:"retry_after_seconds,omitempty"`
}

// RefusalOf is a refusal of the domain as a tool's result: an error with the code of REST. Only a fault
// of the server is none of the tool's and becomes one of the protocol.
func RefusalOf(_ *spec.Tool, p *core.Problem) Reply {
	if p.Kind == core.Internal || p.Status == http.StatusInternalServerError {
		return Reply{Error: &Error{Code: codeInternal, Message: p.Detail, Data: map[string]any{"code": p.Code, "status": p.Status}}}
	}
	e := refusal{Code: p.Code, Message: p.Detail, Status: p.Status, Required: p.Required, Violations: p.Violations}
	if p.RetryAfter > 0 {
		e.RetryAfter = core.RetryAfter(p.RetryAfter)
	}
	body := encode(map[string]any{"error": e})
	return Reply{Result: &Result{Content: []Content{{Type: "text", Text: string(body)}}, Structured: json.RawMessage(body), IsError: true}}
}
