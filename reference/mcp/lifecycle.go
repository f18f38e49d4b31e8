package mcp

import (
	"context"
	"encoding/json"
	"net/http"

	"assay.kit/reference/core"
)

// Methods that are answered.
const (
	methodPing = "ping"
	methodList = "tools/list"
	methodCall = "tools/call"
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
		return h.single(x, s, st, sse)
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
	known := map[string]func(context.Context, *job, map[string]json.RawMessage) Response{
		methodPing: h.ping, methodList: h.list, methodCall: h.call,
	}[j.m.method]
	switch {
	case j.m.method == "initialize":
		return failure(codeRequest, "The session is initialized already.")
	case known == nil:
		return failure(codeMethod, "There is no such method.")
	case j.m.params == nil:
		return known(ctx, j, nil)
	}
	params, err := members(j.m.params)
	if err != nil {
		return failure(codeParams, "The params are no object with each member once.")
	}
	if meta, there := params["_meta"]; there {
		if why := badMeta(meta); why != "" {
			return failure(codeParams, why)
		}
	}
	return known(ctx, j, params)
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

func (h *Handler) ping(context.Context, *job, map[string]json.RawMessage) Response {
	return success(struct{}{})
}

// list answers a page of the tools that the caller may see.
func (h *Handler) list(_ context.Context, j *job, params map[string]json.RawMessage) Response {
	all := h.listed(j.x.principal)
	from := 0
	if raw, there := params["cursor"]; there {
		at, ok := h.openCursor(j.x.principal, raw)
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
		next, err := h.sealCursor(j.x.principal, to)
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
