package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"

	"assay.kit/reference/core"
)

// defaultBody bounds a body where the connection has no limit of its own.
const defaultBody = 1 << 20

// post takes one message: 413, 415, 406, then what it says.
func (h *Handler) post(x *exchange) *fault {
	body, f := h.body(x)
	if f != nil {
		return f
	}
	json, sse := h.Rules.Accepts(x.r.Header.Values("Accept"))
	if !json && !sse {
		return &fault{status: http.StatusNotAcceptable, code: codeRequest, message: "Accept must allow " + mediaJSON + " or " + mediaSSE + "."}
	}
	m, f := readFrame(body)
	if f != nil {
		return f
	}
	if m.request() && m.method == methodInitialize && x.r.Header.Get(headerSession) == "" {
		return h.initialize(x, m, json, sse)
	}
	s, f := h.session(x)
	if f != nil {
		if m.request() {
			f.id = m.id
		}
		return f
	}
	if !m.request() {
		if m.notification() {
			h.notified(s, m)
		} // a response answers nothing: this server asks its clients for nothing
		x.w.WriteHeader(http.StatusAccepted)
		return nil
	}
	return h.request(x, s, m, json, sse)
}

// body reads the body within the connection's limit and judges its media type.
func (h *Handler) body(x *exchange) ([]byte, *fault) {
	limit := int64(h.Core.BodyLimit(x.principal.Limits))
	if limit <= 0 {
		limit = defaultBody
	}
	body, err := io.ReadAll(io.LimitReader(x.r.Body, limit+1))
	switch {
	case x.r.ContentLength > limit || int64(len(body)) > limit:
		x.w.Header().Set("Connection", "close") // the rest of the body will not be read
		return nil, refused(h.Domain.Refuse(core.TooLarge, fmt.Sprintf("The body exceeds %d bytes.", limit)))
	case err != nil:
		return nil, &fault{status: http.StatusBadRequest, code: codeParse, message: "The body ends before its announced length."}
	case !h.Rules.MediaType(x.r.Header.Values("Content-Type")):
		return nil, refused(h.Domain.Refuse(core.UnsupportedMedia, "The body must be "+mediaJSON+"."))
	}
	if enc := x.r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return nil, refused(h.Domain.Refuse(core.UnsupportedMedia, "The body must not be compressed."))
	}
	return body, nil
}

// notified takes a notification; what it does not know, or cannot read, it ignores.
func (h *Handler) notified(s *session, m frame) {
	if m.method != "notifications/cancelled" {
		return
	}
	params, err := members(m.params)
	if err != nil {
		return
	}
	key, ok := idKey(params["requestId"])
	if !ok {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if stop := s.calls[key]; stop != nil {
		stop()
	}
}

// request answers a request of a live session. A call goes on when its client is gone: a dropped
// connection is no cancellation.
func (h *Handler) request(x *exchange, s *session, m frame, json, sse bool) *fault {
	ctx, f := h.begin(s, m)
	if f != nil {
		return f
	}
	st := h.stream(s)
	events := h.events(s, m, st, json, sse)
	j := &job{x: x, s: s, m: m, st: st, progress: events, kept: events && !h.NoStream}
	if j.kept {
		h.resumable(st)
	}
	if m.method != methodCall {
		h.run(ctx, j)
	} else if !h.spawn(func() { h.run(ctx, j) }) {
		h.finish(s, m)
		return &fault{status: http.StatusServiceUnavailable, code: codeRefused, message: "The server ends.", id: m.id}
	}
	if events {
		h.pump(x, st, 0)
		return nil
	}
	return h.whole(x, s, st, sse)
}

// job is one request on its way to its answer.
type job struct {
	x        *exchange
	s        *session
	m        frame
	st       *stream
	progress bool // the client can see it
	kept     bool // who is cut off may read on later
}

// begin notes a request in flight. Its context ends by cancellation, and with the session or server.
func (h *Handler) begin(s *session, m frame) (context.Context, *fault) {
	ctx, stop := context.WithTimeout(h.base, callTimeout)
	key, _ := idKey(m.id)
	h.mu.Lock()
	defer h.mu.Unlock()
	var f *fault
	switch {
	case s.calls[key] != nil:
		f = &fault{status: http.StatusBadRequest, code: codeRequest, message: "A request with this id is in flight.", id: m.id}
	case len(s.calls) >= maxInFlight:
		f = &fault{status: http.StatusTooManyRequests, code: codeRefused, message: "The session has too many requests in flight.", id: m.id}
	default:
		s.calls[key] = stop
		return ctx, nil
	}
	stop()
	return nil, f
}

// finish forgets a request in flight.
func (h *Handler) finish(s *session, m frame) {
	key, _ := idKey(m.id)
	h.mu.Lock()
	defer h.mu.Unlock()
	if stop := s.calls[key]; stop != nil {
		stop()
		delete(s.calls, key)
	}
}

// run carries a request out and ends its stream. A cancelled one ends without an answer, at once.
func (h *Handler) run(ctx context.Context, j *job) {
	defer func() {
		h.finish(j.s, j.m)
		if j.kept {
			h.retire(j.st)
		}
	}()
	unanswered := func() bool { return errors.Is(ctx.Err(), context.Canceled) && h.Rules.Cancels() }
	over := context.AfterFunc(ctx, func() { // the work may take its time to stop
		if unanswered() {
			j.st.finish(nil)
		}
	})
	defer over()
	answer := h.answer(ctx, j)
	if unanswered() {
		j.st.finish(nil)
		return
	}
	answer.ID = j.m.id
	j.st.finish(h.Rules.Respond(j.m.method, answer).encode())
}

// answer carries a request out. A panic below is this request's alone, as in a server's own goroutines.
func (h *Handler) answer(ctx context.Context, j *job) (a Response) {
	defer func() {
		if rec := recover(); rec != nil {
			h.Log.Error("panic", "request", j.x.id, "panic", rec, "stack", string(debug.Stack()))
			a = failure(codeInternal, "The server failed.")
		}
	}()
	return h.dispatch(ctx, j)
}

// events chooses the form of an answer: what the client takes, and of both what the server is set to.
func (h *Handler) events(s *session, m frame, st *stream, json, sse bool) bool {
	switch {
	case !json || !sse:
		return sse
	case h.Form == Mixed:
		return m.progressToken() != nil || st.number%2 == 0
	default:
		return h.Form == SSE
	}
}

// progressToken is what a client wants to be told of the progress by, nil if it does not.
func (f frame) progressToken() json.RawMessage {
	params, err := members(f.params)
	if err != nil {
		return nil
	}
	meta, err := members(params["_meta"])
	if err != nil {
		return nil
	}
	return meta["progressToken"]
}

// whole waits for the answer and sends it in one piece.
func (h *Handler) whole(x *exchange, s *session, st *stream, sse bool) *fault {
	reader := st.take()
	for {
		v := st.since(reader, 0)
		if v.done && len(v.events) > 0 {
			h.write(x, http.StatusOK, v.events[len(v.events)-1])
			return nil
		}
		if v.done {
			h.unanswered(x, sse)
			return nil
		}
		select {
		case <-v.changed:
		case <-x.r.Context().Done():
			return nil
		case <-s.ended:
			h.unanswered(x, sse)
			return nil
		}
	}
}

// unanswered ends an exchange whose request was cancelled: it gets no response. A stream may end
// without one; who takes no streams gets an empty answer.
func (h *Handler) unanswered(x *exchange, sse bool) {
	if sse {
		x.w.Header().Set("Content-Type", mediaSSE)
		x.w.WriteHeader(http.StatusOK)
		return
	}
	x.w.WriteHeader(http.StatusAccepted)
}
