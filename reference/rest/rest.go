// Package rest serves a contract's operations over HTTP. It judges what belongs to the transport
// (token form, route, method, size, media type) and leaves the rest to core.Domain.
package rest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
	"assay.kit/spec"
)

// Config is what a Handler is made of; Contract, Domain and Rules are required.
type Config struct {
	Contract *spec.Contract
	Domain   core.Domain
	Rules    core.Rules   // of the Domain: NormalizePath, Audience, BodyLimit and Render are used
	Log      *slog.Logger // nil: nothing is logged
}

// defaultBody bounds a body where the connection has no limit of its own.
const defaultBody = 1 << 20

// doTimeout bounds the carrying out of a request that has been read whole, also when its client has
// gone: a disconnect does not undo what was asked for.
const doTimeout = 30 * time.Second

type handler struct {
	Config
	requestID string // header name
	delay     string // header name
}

// New returns the handler of all operations.
func New(cfg Config) http.Handler {
	h := &handler{Config: cfg, requestID: "X-Request-Id", delay: "Retry-After"}
	if b := cfg.Contract.Doc.Backpressure; b != nil && b.Delay.Part == "header" {
		h.delay = b.Delay.Name
	}
	if e := cfg.Contract.Doc.Correlation; e != nil && e.Part == "header" {
		h.requestID = e.Name
	}
	if h.Log == nil {
		h.Log = slog.New(slog.DiscardHandler)
	}
	return h
}

// exchange is one request on its way through the handler.
type exchange struct {
	w    http.ResponseWriter
	r    *http.Request
	id   string
	path string // normalised, escaped
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{w: w, r: r, id: newRequestID(), path: h.Rules.NormalizePath(r.URL.EscapedPath())}
	w.Header().Set(h.requestID, x.id)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	defer func() {
		switch rec := recover(); rec {
		case nil:
		case http.ErrAbortHandler: // somebody below wants the connection cut
			panic(rec)
		default:
			h.Log.Error("panic", "request", x.id, "panic", rec, "stack", string(debug.Stack()))
			h.refuse(x, h.Domain.Refuse(core.Internal, "The server failed; the request id identifies this answer."))
		}
	}()
	answer, p := h.serve(x)
	if p != nil {
		h.refuse(x, p)
		return
	}
	h.answer(x, answer)
}

func newRequestID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails, by its documentation
	return "req_" + hex.EncodeToString(b[:])
}

// serve judges in the contract's order: 401, 404, 405, 403, 429, 413, 415, and then the domain's.
func (h *handler) serve(x *exchange) (core.Answer, *core.Problem) {
	method := x.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	op, params, allowed := h.Contract.Find(method, x.path)
	if x.r.Method == http.MethodOptions && len(allowed) > 0 && op == nil {
		return core.Answer{Status: http.StatusNoContent, Header: map[string]string{"Allow": allow(allowed)}}, nil
	}
	var principal core.Principal
	if op == nil || !op.Public {
		var p *core.Problem
		if principal, p = h.authenticate(x.r); p != nil {
			return core.Answer{}, p
		}
	}
	switch {
	case op == nil && len(allowed) == 0:
		return core.Answer{}, h.Domain.Refuse(core.NotFound, "There is no such path.")
	case op == nil:
		p := h.Domain.Refuse(core.MethodNotAllowed, "The path has no such method.")
		p.Header = map[string]string{"Allow": allow(allowed)}
		return core.Answer{}, p
	}
	if p := h.Domain.Permit(x.r.Context(), principal, op); p != nil {
		return core.Answer{}, p
	}
	body, p := h.body(x, op, principal)
	if p != nil {
		return core.Answer{}, p
	}
	query, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		return core.Answer{}, h.Domain.Refuse(core.InvalidParameter, "The query is not a form-encoded list of parameters.")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.r.Context()), doTimeout)
	defer cancel()
	return h.Domain.Do(ctx, core.Request{
		ID: x.id, Op: op, Principal: principal, Path: params, EscapedPath: x.r.URL.EscapedPath(),
		Query: query, Header: func(name string) string { return strings.Join(x.r.Header.Values(name), ", ") }, Body: body,
	})
}

// allow is the value of the Allow header: HEAD comes with GET, OPTIONS with everything.
func allow(methods []string) string {
	all := append(slices.Clone(methods), http.MethodOptions)
	if slices.Contains(methods, http.MethodGet) {
		all = append(all, http.MethodHead)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// authenticate reads the bearer token (RFC 6750 §2.1; the scheme's letter case is free, RFC 9110
// §11.1) and refuses one that was issued for another audience.
func (h *handler) authenticate(r *http.Request) (core.Principal, *core.Problem) {
	values := r.Header.Values("Authorization")
	token := ""
	if len(values) == 1 {
		scheme, rest, _ := strings.Cut(values[0], " ")
		if strings.EqualFold(scheme, "Bearer") {
			token = strings.TrimLeft(rest, " ")
		}
	}
	p, refused := h.Domain.Authenticate(r.Context(), token)
	if refused != nil {
		return core.Principal{}, refused
	}
	if !h.Rules.Audience(p, access.AudienceREST) {
		return core.Principal{}, h.Domain.Refuse(core.Unauthenticated, "The bearer token was issued for another audience.")
	}
	return p, nil
}

// body reads the body within the connection's limit and judges its media type.
func (h *handler) body(x *exchange, op *spec.Operation, p core.Principal) ([]byte, *core.Problem) {
	limit := int64(h.Rules.BodyLimit(p.Limits))
	if limit <= 0 {
		limit = defaultBody
	}
	tooLarge := func() *core.Problem {
		x.w.Header().Set("Connection", "close") // the rest of the body will not be read
		return h.Domain.Refuse(core.TooLarge, fmt.Sprintf("The body exceeds %d bytes.", limit))
	}
	if x.r.ContentLength > limit {
		return nil, tooLarge()
	}
	body, err := io.ReadAll(io.LimitReader(x.r.Body, limit+1))
	switch {
	case int64(len(body)) > limit:
		return nil, tooLarge()
	case err != nil:
		return nil, h.Domain.Refuse(core.InvalidJSON, "The body ends before its announced length.")
	case len(body) == 0 || op.Body == nil:
		return body, nil
	}
	if !acceptable(x.r.Header.Values("Content-Type"), op.Body.MediaType) {
		return nil, h.Domain.Refuse(core.UnsupportedMedia, "The body must be "+op.Body.MediaType+".")
	}
	if enc := x.r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return nil, h.Domain.Refuse(core.UnsupportedMedia, "The body must not be compressed.")
	}
	return body, nil
}

// acceptable reports whether one content type is given and is the one wanted. Letter case and
// parameters do not matter, but a charset other than UTF-8 is another encoding than JSON has.
func acceptable(values []string, want string) bool {
	if len(values) != 1 {
		return false
	}
	got, params, err := mime.ParseMediaType(values[0])
	if err != nil || !strings.EqualFold(got, want) {
		return false
	}
	charset, has := params["charset"]
	return !has || strings.EqualFold(charset, "utf-8")
}

func (h *handler) answer(x *exchange, a core.Answer) {
	header := x.w.Header()
	if a.Body != nil {
		header.Set("Content-Type", "application/json")
	}
	for name, v := range a.Header {
		header.Set(name, v)
	}
	h.write(x, a.Status, a.Body)
}

func (h *handler) refuse(x *exchange, p *core.Problem) {
	mediaType, body := h.Rules.Render(h.Contract.Doc.Error, p, x.id)
	header := x.w.Header()
	header.Set("Content-Type", mediaType)
	for name, v := range p.Header {
		header.Set(name, v)
	}
	if p.RetryAfter > 0 {
		header.Set(h.delay, strconv.Itoa(core.RetryAfter(p.RetryAfter)))
	}
	h.write(x, p.Status, body)
}

func (h *handler) write(x *exchange, status int, body []byte) {
	if len(body) > 0 {
		x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	x.w.WriteHeader(status)
	if x.r.Method == http.MethodHead {
		return
	}
	if _, err := x.w.Write(body); err != nil {
		h.Log.Debug("answer not delivered", "request", x.id, "error", err)
	}
}
