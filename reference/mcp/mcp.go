// Package mcp serves a contract's tools over the Model Context Protocol, revision 2025-06-18, by
// Streamable HTTP: lifecycle, sessions, streams and tools. It judges what belongs to the transport and
// leaves the rest to core.Domain, like its sibling rest; a call of a tool is a request of an operation.
package mcp

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
	"assay.kit/reference/core/cursor"
	"assay.kit/spec"
)

// Path is where the endpoint is, below the base URL.
const Path = "/mcp"

// Revision is the protocol revision that this package speaks.
const Revision = "2025-06-18"

// Form is how requests are answered where the client takes both forms.
type Form string

// Forms.
const (
	JSON  Form = "json"
	SSE   Form = "sse"
	Mixed Form = "mixed" // by turns within a session, and as a stream where progress is asked for
)

// Options are what an operator chooses; the zero value is a good choice.
type Options struct {
	BaseURL    string        // where the server is reached; "": under the name of each request, which must be this machine's
	AnyHost    bool          // other names than those of BaseURL are served too
	Origins    []string      // of pages that may call it, besides its own
	Form       Form          // "": Mixed
	NoStream   bool          // GET is answered 405, and no answer can be resumed
	PageSize   int           // tools on a page; 0: 3
	SessionTTL time.Duration // of a silent session, on the contract clock; 0: an hour
	Rules      Rules
}

// Config is what a Handler is made of; Contract, Domain, Core and Clock are required.
type Config struct {
	Contract *spec.Contract
	Domain   core.Domain
	Core     core.Rules // of the Domain: Audience, BodyLimit and Decode are used
	Clock    core.Clock
	Log      *slog.Logger // nil: nothing is logged
	Options
}

// Handler serves the endpoint and, beside it, the metadata that leads a client to its tokens. It is
// safe for concurrent use.
type Handler struct {
	Config
	supported      []string
	hosts, origins []string
	tools          []*tool
	requestID      string // header name
	keys           cursor.Keys
	closing        chan struct{}
	base           context.Context // of all calls
	cancel         context.CancelFunc

	mu       sync.Mutex
	closed   bool
	aborted  bool           // set before closing is closed
	work     sync.WaitGroup // of goroutines; added to under mu while not closed
	sessions map[string]*session
	sweep    int
	journal  journal
}

// New makes the Handler of all tools of a contract. Close ends it.
func New(cfg Config) (*Handler, error) {
	if cfg.Contract == nil || cfg.Domain == nil || cfg.Clock == nil {
		return nil, errors.New("mcp: a contract, a domain and a clock are needed")
	}
	h := &Handler{
		Config: cfg, supported: []string{Revision}, requestID: "X-Request-Id", keys: cursor.NewKeys(),
		closing: make(chan struct{}), sessions: map[string]*session{}, sweep: minSweep,
	}
	if m := cfg.Contract.Doc.MCP; m != nil && m.Revision != "" && m.Revision != Revision {
		return nil, fmt.Errorf("mcp: contract %s asks for revision %s; %s is spoken", cfg.Contract.Name, m.Revision, Revision)
	}
	h.Rules = h.Rules.withDefaults()
	if h.Log == nil {
		h.Log = slog.New(slog.DiscardHandler)
	}
	if h.Form == "" {
		h.Form = Mixed
	}
	if h.PageSize <= 0 {
		h.PageSize = 3
	}
	if h.SessionTTL <= 0 {
		h.SessionTTL = time.Hour
	}
	if e := cfg.Contract.Doc.Correlation; e != nil && e.Part == "header" {
		h.requestID = e.Name
	}
	h.BaseURL = strings.TrimSuffix(h.BaseURL, "/")
	if h.BaseURL != "" {
		base, err := url.Parse(h.BaseURL)
		if err != nil || base.Host == "" {
			return nil, fmt.Errorf("mcp: base URL %q is not absolute", h.BaseURL)
		}
		h.hosts, h.origins = names(base)
	}
	var err error
	if h.tools, err = bind(cfg.Contract); err != nil {
		return nil, err
	}
	h.base, h.cancel = context.WithCancel(context.Background())
	return h, nil
}

// Close ends every open stream, lets calls in flight finish for a few seconds, stops those that have
// not, and waits. It may be called again.
func (h *Handler) Close() { h.close(false) }

// Abort is Close as a crash looks: the connections of open streams are broken.
func (h *Handler) Abort() { h.close(true) }

func (h *Handler) close(abort bool) {
	h.mu.Lock()
	if !h.closed {
		h.closed, h.aborted = true, abort
		close(h.closing)
	}
	h.mu.Unlock()
	late := time.AfterFunc(graceful, h.cancel)
	h.work.Wait()
	late.Stop()
	h.cancel()
}

// graceful is how long calls in flight may still take once the server ends.
const graceful = 3 * time.Second

// spawn runs f beside the caller, unless the handler is closed; Close waits for it.
func (h *Handler) spawn(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.work.Go(f)
	return true
}

// exchange is one HTTP request on its way through the handler.
type exchange struct {
	w         http.ResponseWriter
	r         *http.Request
	id        string
	principal core.Principal
}

// Serves reports whether a path is one of the handler's.
func Serves(path string) bool {
	return path == Path || path == resourceMetadata || path == resourceMetadata+Path || path == serverMetadata || path == tokenPath
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{w: w, r: r, id: newRequestID()}
	w.Header().Set(h.requestID, x.id)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	defer func() {
		switch rec := recover(); rec {
		case nil:
		case http.ErrAbortHandler:
			panic(rec)
		default:
			h.Log.Error("panic", "request", x.id, "panic", rec, "stack", string(debug.Stack()))
			h.fail(x, &fault{status: http.StatusInternalServerError, code: codeInternal, message: "The server failed."})
		}
	}()
	if r.URL.Path != Path {
		h.wellKnown(x)
		return
	}
	if f := h.endpoint(x); f != nil {
		h.fail(x, f)
	}
}

func newRequestID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails, by its documentation
	return "req_" + hex.EncodeToString(b[:])
}

// endpoint judges in this order: host and origin, method, token, version, and then what each method has
// of its own.
func (h *Handler) endpoint(x *exchange) *fault {
	if f := h.admit(x.r); f != nil {
		return f
	}
	if f := h.authenticate(x); f != nil {
		return f
	}
	if f := h.version(x.r); f != nil {
		return f
	}
	switch x.r.Method {
	case http.MethodPost:
		return h.post(x)
	case http.MethodGet:
		return h.get(x)
	default:
		return h.delete(x)
	}
}

// session finds the session that a request names.
func (h *Handler) session(x *exchange) (*session, *fault) {
	id, there, ok := oneValue(x.r, headerSession)
	if !there || !ok {
		return nil, &fault{status: http.StatusBadRequest, code: codeRequest, message: "The request needs one " + headerSession + " header."}
	}
	s := h.find(id, x.principal)
	if s == nil {
		return nil, &fault{status: h.Rules.Lost(), code: codeRefused, message: "There is no such session; initialize a new one."}
	}
	return s, nil
}

// delete ends a session.
func (h *Handler) delete(x *exchange) *fault {
	s, f := h.session(x)
	if f != nil {
		return f
	}
	h.mu.Lock()
	h.end(s)
	h.mu.Unlock()
	x.w.WriteHeader(http.StatusNoContent)
	return nil
}

// fail answers with a JSON-RPC error in one piece. Its data says the same in the words of HTTP and of
// the contract.
func (h *Handler) fail(x *exchange, f *fault) {
	data := map[string]any{"request_id": x.id}
	if f.status >= http.StatusBadRequest {
		data["status"] = f.status
	}
	for k, v := range f.data {
		data[k] = v
	}
	for name, v := range f.header {
		x.w.Header().Set(name, v)
	}
	h.write(x, f.status, Response{ID: f.id, Error: &Error{Code: f.code, Message: f.message, Data: data}}.encode())
}

// write sends a JSON body.
func (h *Handler) write(x *exchange, status int, body []byte) {
	x.w.Header().Set("Content-Type", mediaJSON)
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(status)
	if _, err := x.w.Write(body); err != nil {
		h.Log.Debug("answer not delivered", "request", x.id, "error", err)
	}
}

// refused is a refusal of the domain before there is a request that it could answer.
func refused(p *core.Problem) *fault {
	f := &fault{status: p.Status, code: codeRefused, message: p.Detail, data: map[string]any{"code": p.Code}, header: p.Header}
	return f
}

func (h *Handler) audience(p core.Principal) bool { return h.Core.Audience(p, access.AudienceMCP) }
