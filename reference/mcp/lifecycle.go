package mcp

import (
	"context"
	"encoding/json"
	"net/http"

	"assay.kit/reference/core"
)

// Methods that are answered.
const (
	methodInitialize = "initialize"
	methodPing       = "ping"
	methodList       = "tools/list"
	methodCall       = "tools/call"
)

func success(result any) Response { return Response{Result: result} }

func failure(code int, message string) Response {
	return Response{Error: &Error{Code: code, Message: message}}
}

// initialize begins a session with the version that both sides will speak.
func (h *Handler) initialize(x *exchange, m frame, json, sse bool) *fault {
	proposed, why := offered(m.params)
	if why != "" {
		return &fault{status: http.StatusOK, code: codeParams, message: why, id: m.id}
	}
	s := h.open(x.principal)
	answer := success(map[string]any{
		"protocolVersion": h.Rules.Negotiate(proposed, h.supported), "capabilities": h.Rules.Declare(),
		"serverInfo": map[string]any{"name": h.Contract.Name, "title": h.title(), "version": h.edition()},
	})
	answer.ID = m.id
	st := h.stream(s)
	st.finish(h.Rules.Respond(m.method, answer).encode())
	x.w.Header().Set(headerSession, s.id)
	if !h.events(s, m, st, json, sse) {
		return h.whole(x, s, st, sse)
	}
	if !h.NoStream {
		h.resumable(st)
		h.retire(st)
	}
	h.pump(x, st, 0)
	return nil
}

func (h *Handler) title() string {
	if h.Contract.Title != "" {
		return h.Contract.Title
	}
	return h.Contract.Name
}

func (h *Handler) edition() string {
	if h.Contract.Version != "" {
		return h.Contract.Version
	}
	return "0"
}

// offered is the version that a client proposes; why says what is wrong with its params.
func offered(params json.RawMessage) (version, why string) {
	p, err := members(params)
	if err != nil {
		return "", "initialize needs params: an object."
	}
	version, ok := text(p["protocolVersion"])
	if !ok {
		return "", "The protocolVersion must be a string."
	}
	if _, err := members(p["capabilities"]); err != nil {
		return "", "The capabilities must be an object."
	}
	info, err := members(p["clientInfo"])
	if err != nil {
		return "", "The clientInfo must be an object."
	}
	for _, name := range []string{"name", "version"} {
		if _, ok := text(info[name]); !ok {
			return "", "The clientInfo must have a name and a version."
		}
	}
	return version, ""
}

// dispatch answers a request of a live session.
func (h *Handler) dispatch(ctx context.Context, j *job) Response {
	params, why := paramsOf(j.m.params)
	switch j.m.method {
	case methodInitialize:
		return failure(codeRequest, "The session is initialized already.")
	case methodPing, methodList, methodCall:
		if why != "" {
			return failure(codeParams, why)
		}
	default:
		return failure(codeMethod, "There is no such method.")
	}
	switch j.m.method {
	case methodList:
		return h.list(j.x.principal, params)
	case methodCall:
		return h.call(ctx, j, params)
	default:
		return success(struct{}{}) // of a ping
	}
}

// paramsOf reads the params of a request, which may be absent; why says what is wrong with them.
func paramsOf(raw json.RawMessage) (params map[string]json.RawMessage, why string) {
	if raw == nil {
		return nil, ""
	}
	params, err := members(raw)
	if err != nil {
		return nil, "The params are no object with each member once."
	}
	if meta, there := params["_meta"]; there {
		return params, badMeta(meta)
	}
	return params, ""
}

func badMeta(raw json.RawMessage) string {
	meta, err := members(raw)
	if err != nil {
		return "The _meta must be an object with each member once."
	}
	if token, there := meta["progressToken"]; there {
		if _, ok := idKey(token); !ok {
			return "The progressToken must be a string or an integer."
		}
	}
	return ""
}

// list answers a page of the tools that the caller may see.
func (h *Handler) list(p core.Principal, params map[string]json.RawMessage) Response {
	all := h.listed(p)
	from := 0
	if raw, there := params["cursor"]; there {
		at, ok := h.openCursor(p, raw)
		if !h.Rules.Cursor(ok && at > 0 && at < len(all)) {
			return failure(codeParams, "The cursor is not one of this list.")
		}
		from = min(max(at, 0), len(all))
	}
	to, more := h.Rules.Page(from, h.PageSize, len(all))
	page := []map[string]any{}
	for _, t := range all[from:to] {
		page = append(page, h.Rules.Manifest(t.Tool))
	}
	result := map[string]any{"tools": page}
	if more {
		next, err := h.sealCursor(p, to)
		if err != nil {
			h.Log.Error("list cursor", "error", err)
			return failure(codeInternal, "The server failed.")
		}
		result["nextCursor"] = next
	}
	return success(result)
}

func (h *Handler) listed(p core.Principal) []*tool {
	var out []*tool
	for _, t := range h.Rules.Listed(p, h.catalog()) {
		for _, b := range h.tools {
			if b.Tool == t {
				out = append(out, b)
			}
		}
	}
	return out
}
