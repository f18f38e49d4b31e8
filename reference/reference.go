// Package reference is a complete server for any contract with traits: core over a store, served
// over REST, and its tools over MCP. What a system computes comes in as Behaviours.
package reference

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
	"assay.kit/reference/mcp"
	"assay.kit/reference/rest"
	"assay.kit/spec"
)

// Wrap changes a transport: it sees every request before the server and every answer after it.
type Wrap func(http.Handler) http.Handler

// Options are what a Server is made of; Contract and Store are required.
type Options struct {
	Contract   *spec.Contract
	Store      core.Store // stays the caller's to close, after Run has returned
	Behaviours map[string]core.Behaviour
	Rules      core.Rules
	Clock      core.Clock                                         // nil: a core.OffsetClock kept in the store
	Seed       int64                                              // of the credentials
	Holdings   access.Holdings                                    // what the credentials hold beyond scopes
	Limits     func(credential string, l core.Limits) core.Limits // changes a policy; nil: none is changed
	// Init puts in place what exists from the start, in one Update at each start. The workspaces are
	// those of the credentials, the primary's first.
	Init  func(w core.Writer, sys core.System, workspaces []string) error
	Wraps []Wrap       // of REST; the first is the outermost
	MCP   MCP          // where the contract has tools
	Log   *slog.Logger // nil: nothing is logged
}

// MCP says how the tools are served. What is replaced or wrapped here leaves REST as it is.
type MCP struct {
	mcp.Options
	Domain func(core.Domain) core.Domain // what the transport sees instead of the core; nil: the core
	Wraps  []Wrap                        // the first is the outermost
}

// Server is one running system. Handler may serve as soon as New returns; jobs move while Run does.
type Server struct {
	core    *core.Core
	clock   core.Clock
	issued  []access.Issued
	handler http.Handler
	mcp     *mcp.Handler // nil: the contract has no tools
}

// New makes a Server over a store that may hold the state of an earlier one.
func New(ctx context.Context, o Options) (*Server, error) {
	if o.Contract == nil || o.Store == nil {
		return nil, errors.New("reference: a contract and a store are needed")
	}
	s := &Server{clock: o.Clock, issued: access.Derive(o.Seed, o.Contract, o.Holdings)}
	var credentials []access.Credential
	for i := range s.issued {
		if o.Limits != nil {
			p := &s.issued[i].Principal
			p.Limits = o.Limits(p.Credential, p.Limits)
		}
		credentials = append(credentials, s.issued[i].Credential)
	}
	var err error
	if s.clock == nil {
		if s.clock, err = core.NewClock(ctx, o.Store); err != nil {
			return nil, fmt.Errorf("reference: %w", err)
		}
	}
	s.core, err = core.New(ctx, core.Config{
		Contract: o.Contract, Store: o.Store, Clock: s.clock, Rules: o.Rules, Behaviours: o.Behaviours, Credentials: credentials, Log: o.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	if o.Init != nil {
		err := o.Store.Update(ctx, func(w core.Writer) error { return o.Init(w, s.core, s.workspaces()) })
		if err != nil {
			return nil, fmt.Errorf("reference: %w", err)
		}
	}
	s.handler = dated(s.clock, rest.New(rest.Config{Contract: o.Contract, Domain: s.core, Rules: s.core.Rules(), Log: o.Log}))
	s.handler = wrapped(s.handler, o.Wraps)
	if len(o.Contract.Tools) > 0 {
		if err := s.addTools(o); err != nil {
			return nil, fmt.Errorf("reference: %w", err)
		}
	}
	return s, nil
}

func wrapped(h http.Handler, wraps []Wrap) http.Handler {
	for _, w := range slices.Backward(wraps) {
		h = w(h)
	}
	return h
}

// addTools serves the tools beside the operations, over the same core.
func (s *Server) addTools(o Options) error {
	cfg := mcp.Config{Contract: o.Contract, Domain: s.core, Core: s.core.Rules(), Clock: s.clock, Log: o.Log, Options: o.MCP.Options}
	if o.MCP.Domain != nil {
		cfg.Domain = o.MCP.Domain(s.core)
	}
	var err error
	if s.mcp, err = mcp.New(cfg); err != nil {
		return err
	}
	rest, tools := s.handler, wrapped(dated(s.clock, s.mcp), o.MCP.Wraps)
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if mcp.Serves(r.URL.Path) {
			tools.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
	return nil
}

func (s *Server) workspaces() []string {
	var out []string
	for _, c := range s.issued {
		if !slices.Contains(out, c.Principal.Workspace) {
			out = append(out, c.Principal.Workspace)
		}
	}
	return out
}

// Handler serves the contract's operations, and its tools at mcp.Path.
func (s *Server) Handler() http.Handler { return s.handler }

// Run moves jobs on until ctx ends; it returns nil then, when every open stream has ended too.
func (s *Server) Run(ctx context.Context) error {
	if s.mcp == nil {
		return s.core.Run(ctx)
	}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { // at once: the streams must not wait for a job's work
		defer close(closed)
		if errors.Is(context.Cause(ctx), ErrCrash) {
			s.mcp.Abort()
			return
		}
		s.mcp.Close()
	})
	err := s.core.Run(ctx)
	if stop() {
		s.mcp.Close()
		return err
	}
	<-closed
	return err
}

// Credentials are all that were derived from the seed, with their secrets.
func (s *Server) Credentials() []access.Issued { return s.issued }

// Token is the secret of a credential by its name, "" if there is none.
func (s *Server) Token(name string) string {
	for _, c := range s.issued {
		if c.Name == name {
			return c.Token
		}
	}
	return ""
}

// Control is what the control API drives.
func (s *Server) Control() (*core.Core, core.Clock) { return s.core, s.clock }

// Bounds of an HTTP server that faces clients which may be broken on purpose.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 60 * time.Second
	idleTimeout   = 2 * time.Minute
	headerBytes   = 64 << 10
	graceful      = 5 * time.Second
)

// ErrCrash, as the cause of the end of Serve's context, has every connection broken at once.
var ErrCrash = errors.New("the server is to end as in a crash")

// Serve answers on a listener until ctx ends, then lets requests in hand finish for a few seconds,
// unless the cause is ErrCrash. It returns nil after a shutdown that ctx asked for.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: headerBytes, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	if errors.Is(context.Cause(ctx), ErrCrash) {
		err := srv.Close()
		<-ended
		return err
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceful)
	defer cancel()
	err := srv.Shutdown(closing)
	if err != nil {
		err = errors.Join(fmt.Errorf("serve %s: shutdown: %w", l.Addr(), err), srv.Close())
	}
	<-ended
	return err
}
