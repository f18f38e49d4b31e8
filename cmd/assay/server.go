package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"assay.kit/conformance/target"
	"assay.kit/mockserver/control"
	"assay.kit/reference"
	"assay.kit/reference/builtin"
	"assay.kit/reference/core"
	"assay.kit/reference/mcp"
	"assay.kit/reference/store/memory"
	"assay.kit/reference/store/sqlite"
	"assay.kit/spec"
)

const (
	storeSQLite = "sqlite"
	storeMemory = "memory"
	loopback    = "127.0.0.1:0"
)

// serving says what to serve and where.
type serving struct {
	contract    *spec.Contract
	store       core.Store // closed by stop, also when the start fails
	credentials int64      // seed that they are derived from
	addr        string
	control     string // address of the control API; "" serves none
	replace     func(*core.Rules)
	wrap        func(http.Handler) http.Handler
	behave      func(map[string]core.Behaviour)
	mcp         func(*reference.MCP)
	answers     mcp.Form // of the MCP face
	anywhere    bool     // addresses other than loopback are allowed
	restarts    bool     // the control API may restart the server within this process
}

// served is a reference that runs in this process.
type served struct {
	baseURL, controlURL string
	addr, control       string // as bound
	profile             *target.Profile
	failed              <-chan error // at most one: what ended it before stop
	stop                func()       // ends everything that start began, and waits; may be called again
}

func openStore(ctx context.Context, kind, path string) (core.Store, error) {
	if kind == storeMemory {
		return memory.New(), nil
	}
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("database %s cannot be opened: %w", path, err)
	}
	return s, nil
}

// start serves the reference until stop is called. The end of ctx ends the start, not the server:
// what is being judged must outlive an interrupted judgement.
func start(ctx context.Context, s serving) (*served, error) {
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	h := &host{serving: s, run: run}
	stop := sync.OnceFunc(func() {
		h.stop()
		cancel()
		running.Wait()
		_ = s.store.Close()
	})
	out := &served{stop: stop}
	if err := s.begin(ctx, h, &running, out); err != nil {
		stop()
		return nil, err
	}
	return out, nil
}

// begin binds the ports, starts the first life and the control API beside it. ctx is of the start.
func (s serving) begin(ctx context.Context, h *host, running *sync.WaitGroup, out *served) error {
	api, err := s.listen(ctx, s.addr)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	h.api, h.failed, h.baseURL = lasting{api}, failed, urlOf(api)
	out.addr, out.baseURL, out.failed = api.Addr().String(), h.baseURL, failed
	if err := h.begin(ctx); err != nil {
		return err
	}
	if s.control != "" {
		ctl, err := s.listen(ctx, s.control)
		if err != nil {
			return err
		}
		out.control, out.controlURL = ctl.Addr().String(), urlOf(ctl)
		running.Go(func() {
			if err := reference.Serve(h.run, ctl, h); err != nil {
				tell(failed, fmt.Errorf("the control API: %w", err))
			}
		})
	}
	out.profile = profileOf(s.contract, h.now.ref.Credentials(), out.baseURL, out.controlURL)
	if s.restarts && out.controlURL != "" {
		out.profile.Hooks[target.Restart] = target.Hook{HTTP: &target.HTTPHook{Method: http.MethodPost, URL: out.controlURL + control.Prefix + "restart"}}
	}
	return nil
}

func (s serving) build(ctx context.Context, baseURL string) (*reference.Server, error) {
	system, err := builtin.For(s.contract, builtin.Options{BaseURL: baseURL})
	if err != nil {
		return nil, err
	}
	if s.behave != nil {
		s.behave(system.Behaviours)
	}
	o := reference.Options{Contract: s.contract, Store: s.store, Behaviours: system.Behaviours, Rules: s.rulesOf(),
		Seed: s.credentials, Holdings: system.Holdings, Init: system.Seed,
		MCP: reference.MCP{Options: mcp.Options{BaseURL: baseURL, AnyHost: s.anywhere, Form: s.answers}}}
	if s.mcp != nil {
		s.mcp(&o.MCP)
	}
	if s.wrap != nil {
		o.Wraps = []reference.Wrap{s.wrap}
	}
	return reference.New(ctx, o)
}

// listen binds an address. A reference has made-up credentials, so it is kept to this machine
// unless the user says otherwise.
func (s serving) listen(ctx context.Context, addr string) (*net.TCPListener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %q is not HOST:PORT; port 0 takes a free one", addr)
	}
	if ip := net.ParseIP(host); !s.anywhere && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("address %s can be reached from other machines; use 127.0.0.1, or allow it with --listen-anywhere", addr)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("address %s cannot be bound: %w", addr, bindReason(err))
	}
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return nil, errors.Join(fmt.Errorf("address %s is no TCP address", addr), l.Close())
	}
	return tcp, nil
}

func bindReason(err error) error {
	var oe *net.OpError
	if errors.As(err, &oe) {
		return oe.Err
	}
	return err
}

// urlOf is where a listener is reached from this machine.
func urlOf(l net.Listener) string {
	a, ok := l.Addr().(*net.TCPAddr)
	if ok && a.IP.IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", a.Port)
	}
	return "http://" + l.Addr().String()
}
