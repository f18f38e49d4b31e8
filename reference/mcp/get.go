package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// get opens a stream: one to listen on, or what is left of one that was cut off.
func (h *Handler) get(x *exchange) *fault {
	if h.NoStream {
		return methodNotAllowed("POST, DELETE")
	}
	if _, sse := h.Rules.Accepts(x.r.Header.Values("Accept")); !sse {
		return &fault{status: http.StatusNotAcceptable, code: codeRequest, message: "Accept must allow " + mediaSSE + "."}
	}
	s, f := h.session(x)
	if f != nil {
		return f
	}
	last, resumes, ok := oneValue(x.r, headerLast)
	if !ok {
		return &fault{status: http.StatusBadRequest, code: codeRequest, message: "There is more than one " + headerLast + " header."}
	}
	if resumes && last != "" {
		st, from, found := h.resume(s, last)
		if !found { // its events are gone: nothing is left to be sent
			st, from = newStream(nil, 0), 0
			st.finish(nil)
		}
		h.pump(x, st, h.Rules.Resume(from))
		return nil
	}
	ctx, stop := context.WithCancel(x.r.Context())
	defer stop()
	if !h.spawn(func() { h.expire(ctx, s) }) {
		return &fault{status: http.StatusServiceUnavailable, code: codeRefused, message: "The server ends."}
	}
	st := h.listen(s)
	defer h.unlisten(s, st)
	h.pump(x, st, 0)
	return nil
}

// Bounds of an open stream, in real time.
const (
	callTimeout = 30 * time.Second // of one request
	keepAlive   = 15 * time.Second // between comments that show whether anybody listens
	writeLimit  = 10 * time.Second // of one write to a client that reads slowly
)

// pump sends a stream's events from a position on, until the stream ends, its session or the server
// does, the client is gone or somebody else reads on. The token is judged again from time to time: a
// stream must not outlive it.
func (h *Handler) pump(x *exchange, st *stream, from int) {
	out := http.NewResponseController(x.w)
	_ = out.SetReadDeadline(time.Time{}) // the server's own would end a stream; where it cannot be set there is none
	x.w.Header().Set("Content-Type", mediaSSE)
	x.w.WriteHeader(http.StatusOK)
	reader := st.take()
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	ended := endOf(st.session)
	closing := h.closing
	if !h.listening(st) {
		closing = nil // a request's answer is waited for; Close bounds it
	}
	for {
		v := st.since(reader, from)
		if v.taken || h.send(x, out, st, from, v.events) != nil {
			return
		}
		from += len(v.events)
		if v.done {
			return
		}
		select {
		case <-v.changed:
		case <-x.r.Context().Done():
			return
		case <-ended:
			return
		case <-closing:
			if h.aborted {
				panic(http.ErrAbortHandler)
			}
			return
		case <-alive.C:
			if h.authenticate(x) != nil || h.flush(x, out, []byte(": \n\n")) != nil {
				return
			}
		}
	}
}

// endOf is closed when a session ends; that of no session never is.
func endOf(s *session) <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.ended
}

// listening reports whether a stream answers no request.
func (h *Handler) listening(st *stream) bool {
	if st.session == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range st.session.standalone {
		if o == st {
			return true
		}
	}
	return false
}

// send writes events, each with the id by which the stream can be resumed after it.
func (h *Handler) send(x *exchange, out *http.ResponseController, st *stream, from int, events [][]byte) error {
	var b bytes.Buffer
	for i, e := range events {
		if st.session != nil && !h.NoStream {
			fmt.Fprintf(&b, "id: %s\n", h.Rules.EventID(st.number, from+i))
		}
		fmt.Fprintf(&b, "event: message\ndata: %s\n\n", e)
	}
	return h.flush(x, out, b.Bytes())
}

// flush writes to a stream and sees that it leaves at once. What wraps the connection may know neither
// deadlines nor flushing; then the bytes leave when they do.
func (h *Handler) flush(x *exchange, out *http.ResponseController, b []byte) error {
	_ = out.SetWriteDeadline(time.Now().Add(writeLimit))
	if _, err := x.w.Write(b); err != nil {
		return err
	}
	if err := out.Flush(); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
