package target

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"assay.kit/conformance/wire"
)

// Options are what the run decides about the caller; every zero value has a default.
type Options struct {
	Epoch     time.Time     // start of the run; times of exchanges count from it. Default: now
	Timeout   time.Duration // of a call that sets none; default 30 s
	MaxBody   int64         // bytes of an answer's body; default 8 MiB
	MaxHead   int           // bytes of an answer's head; default 64 KiB
	MaxIdle   int           // connections kept open between calls; default 32
	UserAgent string        // default "assay"
}

// Cut says at which moment a call breaks the connection on purpose.
type Cut int

// Cuts. After CutAfterWrite only the sending is sure; after CutAfterHead the server has begun to
// answer, so it has surely done its work.
const (
	CutNone Cut = iota
	CutAfterWrite
	CutAfterHead
)

// Call modifies one request.
type Call struct {
	Timeout   time.Duration // for the whole exchange; 0: the caller's default
	Cut       Cut
	FreshConn bool // do not reuse a connection
	// Until ends the reading of an event stream (text/event-stream): it is told each event as it
	// arrives. After true, the server has Grace to end the stream by itself; then it is left open
	// (wire.EndOpen), and the same at the time-out. nil: streams are read to their end.
	Until func(wire.Event) bool
	Grace time.Duration // 0: 250 ms
	// Listen bounds the reading of an event stream once it is open, where Until is set; it is then left
	// open too. Timeout still bounds the wait for its head: a server that is slow to refuse is no other
	// than one that is quick. 0: as long as the call may take.
	Listen time.Duration
}

// maxLarge bodies are read at a time.
const maxLarge = 8

// maxTarget bounds a request target: one that holds what an answer gave may be of any length.
const maxTarget = 256 << 10

// REST sends requests to the profile's base URL and its MCP endpoint, and to nowhere else. net/http is not used: it
// re-sends keyed POSTs and every GET by itself when a reused connection breaks, normalises targets
// and header names, and so hides what must be judged. Safe for concurrent use.
type REST struct {
	profile *Profile
	opt     Options
	*site         // of the base URL
	mcp     *site // of the MCP endpoint; nil: none
	redact  *Redactor
	tokens  *tokens
	large   chan struct{} // room to read a large body
}

// New prepares a caller; nothing is sent.
func New(p *Profile, o Options) (*REST, error) {
	r := &REST{profile: p, opt: o.withDefaults()}
	base, err := newSite(p.BaseURL, p, r.opt.MaxIdle)
	if err != nil {
		return nil, err
	}
	r.site = base
	if p.MCPURL != "" && p.MCPURL != "auto" {
		if err := r.UseMCP(p.MCPURL); err != nil {
			return nil, fmt.Errorf("mcp_url: %w", err)
		}
	}
	r.redact = NewRedactor(p)
	if p.runsCommands() {
		r.redact.Add(fromEnvironment(os.Environ())...)
	}
	r.tokens = newTokens(p, r.redact)
	r.large = make(chan struct{}, maxLarge)
	return r, nil
}

func (o Options) withDefaults() Options {
	if o.Epoch.IsZero() {
		o.Epoch = time.Now()
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.MaxBody <= 0 {
		o.MaxBody = 8 << 20
	}
	if o.MaxHead <= 0 {
		o.MaxHead = 64 << 10
	}
	if o.MaxIdle <= 0 {
		o.MaxIdle = 32
	}
	if o.UserAgent == "" {
		o.UserAgent = "assay"
	}
	return o
}

// Close drops idle connections.
func (r *REST) Close() {
	r.pool.drop()
	if r.mcp != nil {
		r.mcp.pool.drop()
	}
}

// Redactor hides the profile's secrets and every token that a command has printed so far.
func (r *REST) Redactor() *Redactor { return r.redact }

// Now is the time since the run began, on the monotonic clock of all exchanges.
func (r *REST) Now() time.Duration { return time.Since(r.opt.Epoch) }

// Token resolves the bearer token of a role, running its command if need be.
func (r *REST) Token(ctx context.Context, role string) (Secret, error) {
	return r.tokens.get(ctx, role)
}

// Target turns a reference from an answer (a path relative to the service base, or an absolute
// URL) into a request target. A reference to another origin is refused: a token goes only to its own.
func (r *REST) Target(ref string) (string, error) {
	u, err := url.Parse(ref)
	if err != nil {
		return "", errors.New("the reference is no URL")
	}
	if u.Scheme == "" && u.Host == "" {
		if !strings.HasPrefix(ref, "/") {
			return "", errors.New("a reference must be absolute, or begin with / relative to the service base")
		}
		return targetOf(u), nil
	}
	if originOf(u) != r.origin || u.User != nil {
		return "", fmt.Errorf("the reference leads to another origin than the target's %s", r.origin)
	}
	path := targetOf(u)
	rest, ok := strings.CutPrefix(path, r.prefix)
	if !ok || rest == "" || rest[0] != '/' && rest[0] != '?' {
		return "", fmt.Errorf("the reference lies outside the base path %q", r.prefix)
	}
	return rest, nil
}

// Do sends one request under a role ("" sends no credential) and reports what came of it. Exactly
// one request reaches the wire, or none: an End of EndRefused says that nothing was sent. Only where
// the token came from a command and has expired (a 401, which has no effect) is it sent once more,
// with a new token. Req in the answer holds the fields as they were sent, with the credential:
// redact before recording.
func (r *REST) Do(ctx context.Context, role string, rq wire.Request, c Call) wire.Exchange {
	ex := r.once(ctx, role, rq, c)
	if role == "" || hasField(rq.Fields, "Authorization") {
		return ex
	}
	if r.answered(ctx, ex) {
		ex = r.once(ctx, role, rq, c)
		r.answered(ctx, ex)
	}
	return ex
}

// answered reports whether the token of a refused exchange has expired and there is another to try.
func (r *REST) answered(ctx context.Context, ex wire.Exchange) bool {
	token := strings.TrimPrefix(wire.Lookup(ex.Req.Fields, "Authorization"), "Bearer ")
	return ex.End == wire.EndComplete && r.tokens.answered(ctx, ex.Role, token, ex.Head.Status)
}

func (r *REST) once(ctx context.Context, role string, rq wire.Request, c Call) wire.Exchange {
	ex := wire.Exchange{Role: role, Req: rq, Sent: r.Now()}
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = r.opt.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	refuse := func(err error) wire.Exchange {
		ex.End, ex.Err, ex.Last = wire.EndRefused, r.redact.Text(err.Error()), r.Now()
		return ex
	}
	fields, err := r.fields(ctx, role, rq)
	if err != nil {
		return refuse(err)
	}
	ex.Req.Fields = fields
	to, err := r.siteOf(ex.Req)
	if err != nil {
		return refuse(err)
	}
	if err := sendable(ex.Req); err != nil {
		return refuse(err)
	}
	cn, err := to.connect(ctx, c.FreshConn || c.Cut != CutNone, r.opt.MaxHead)
	if err != nil {
		return refuse(err)
	}
	ex.Sent = r.Now()
	r.exchange(ctx, to, cn, &ex, c)
	if ex.Err != "" {
		ex.Err = r.redact.Text(ex.Err)
	}
	return ex
}

// fields completes the request's header: credential and profile headers, unless the caller set them.
func (r *REST) fields(ctx context.Context, role string, rq wire.Request) ([]wire.Field, error) {
	var out []wire.Field
	add := func(name, value string) {
		if !hasField(rq.Fields, name) {
			out = append(out, wire.Field{Name: name, Value: value})
		}
	}
	nobody := role == "" || role == string(Primary) && r.profile.Anonymous
	if !nobody && !hasField(rq.Fields, "Authorization") {
		token, err := r.tokens.get(ctx, role)
		if err != nil {
			return nil, err
		}
		add("Authorization", "Bearer "+token.Reveal())
	}
	add("User-Agent", r.opt.UserAgent)
	for _, h := range r.profile.Headers {
		add(h.Name, h.Value+h.Secret.Reveal())
	}
	return append(out, rq.Fields...), nil
}

// sendable refuses what would break out of its place in the message.
func sendable(rq wire.Request) error {
	switch {
	case !isToken(rq.Method):
		return fmt.Errorf("not sent: %q is no method", rq.Method)
	case rq.Target == "" && rq.Face == wire.FaceMCP: // the endpoint itself
	case rq.Target == "" || !strings.ContainsRune("/?", rune(rq.Target[0])):
		return fmt.Errorf("not sent: target %q must begin with / or ?", rq.Target)
	case len(rq.Target) > maxTarget:
		return fmt.Errorf("not sent: a target of %d KiB; at most %d KiB are sent", len(rq.Target)>>10, maxTarget>>10)
	case strings.ContainsAny(rq.Target, " \r\n\x00"):
		return fmt.Errorf("not sent: target %q holds a blank or line break; escape it", rq.Target)
	}
	for _, f := range rq.Fields {
		if !isToken(f.Name) || !isFieldValue(f.Value) {
			return fmt.Errorf("not sent: header %q has an impossible name or a line break in its value", f.Name)
		}
	}
	return nil
}

func (s *site) connect(ctx context.Context, fresh bool, maxHead int) (*conn, error) {
	if !fresh {
		if cn := s.pool.take(); cn != nil {
			return cn, nil
		}
	}
	nc, err := s.dial(ctx, maxHead)
	if err != nil {
		return nil, err
	}
	if s.tls == nil {
		return newConn(nc, maxHead), nil
	}
	tc := tls.Client(nc, s.tls)
	if err := tc.HandshakeContext(ctx); err != nil {
		_ = nc.Close()
		return nil, fmt.Errorf("no TLS connection to %s: %w", s.addr, err)
	}
	return newConn(tc, maxHead), nil
}

func hasField(fs []wire.Field, name string) bool {
	for _, f := range fs {
		if strings.EqualFold(f.Name, name) {
			return true
		}
	}
	return false
}

func targetOf(u *url.URL) string {
	t := u.EscapedPath()
	if u.RawQuery != "" || u.ForceQuery {
		t += "?" + u.RawQuery
	}
	return t
}

// Redact returns a copy of an exchange that may be recorded.
func (r *REST) Redact(ex wire.Exchange) wire.Exchange { return r.redact.Redact(ex) }

// Curl writes an exchange's request as a shell line against the profile's base URL.
func (r *REST) Curl(ex wire.Exchange) string {
	base := r.profile.BaseURL
	if r.mcp != nil {
		switch ex.Req.Face {
		case wire.FaceMCP:
			base = r.mcp.origin + r.mcp.prefix
		case wire.FaceMCPHost:
			base = r.mcp.origin
		}
	}
	return Curl(r.redact.Redact(ex), base)
}
