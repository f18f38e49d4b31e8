package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"assay.kit/mockserver/control"
	"assay.kit/reference"
	"assay.kit/reference/core"
)

// life is one server from its start to its end. Several may follow each other on one store and port.
type life struct {
	ref     *reference.Server
	end     context.CancelCauseFunc
	running sync.WaitGroup
	gate    gate
}

// gate lets requests in until it is shut; shutting it waits for those that are in.
type gate struct {
	mu   sync.RWMutex
	shut bool
}

func (g *gate) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.RLock()
		defer g.mu.RUnlock()
		if g.shut {
			panic(http.ErrAbortHandler) // its connection is broken already
		}
		next.ServeHTTP(w, r)
	})
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
}

// lasting keeps its port when the server on it ends, so that nobody else gets it before the next
// server is there: what connects meanwhile waits.
type lasting struct{ *net.TCPListener }

// Close makes Accept return.
func (l lasting) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

// reopen makes Accept wait again.
func (l lasting) reopen() error { return l.SetDeadline(time.Time{}) }

// host runs one life after the other.
type host struct {
	serving
	run     context.Context // of all lives, from start to stop
	api     lasting
	baseURL string
	failed  chan<- error

	mu      sync.Mutex // of the present life, one change at a time
	now     *life
	command http.Handler // the control API of the present life
	over    bool
}

// begin starts a life on what the store holds.
func (h *host) begin(ctx context.Context) error {
	ref, err := h.build(ctx, h.baseURL)
	if err != nil {
		return err
	}
	var restarting control.Host
	if h.restarts {
		restarting = h
	}
	if h.command, err = controlOf(ref, restarting); err != nil {
		return err
	}
	if err := h.api.reopen(); err != nil {
		return fmt.Errorf("address %s: %w", h.api.Addr(), err)
	}
	l := &life{ref: ref}
	var run context.Context
	run, l.end = context.WithCancelCause(h.run)
	l.part(h.failed, "the server", func() error { return reference.Serve(run, h.api, l.gate.guard(ref.Handler())) })
	l.part(h.failed, "the jobs' runner", func() error { return ref.Run(run) })
	h.now = l
	return nil
}

func (l *life) part(failed chan<- error, name string, run func() error) {
	l.running.Go(func() {
		if err := run(); err != nil {
			tell(failed, fmt.Errorf("%s: %w", name, err))
		}
	})
}

// tell hands on the first error; the others follow from it.
func tell(failed chan<- error, err error) {
	select {
	case failed <- err:
	default:
	}
}

// Restart breaks every connection, forgets all that is not in the store, and begins anew. Requests
// in hand come to their end, but nobody hears of it: so a crash between commit and answer looks.
func (h *host) Restart(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return errors.New("the server has been stopped")
	}
	h.now.end(reference.ErrCrash)
	h.now.running.Wait()
	h.now.gate.close()
	h.down()
	if err := h.begin(context.WithoutCancel(ctx)); err != nil {
		h.over = true
		return err
	}
	return nil
}

// outage is how long nothing serves between two lives.
const outage = 25 * time.Millisecond

// down breaks whatever connects for a while. Errors end it early: the next life will tell.
func (h *host) down() {
	if h.api.SetDeadline(time.Now().Add(outage)) != nil {
		return
	}
	for {
		c, err := h.api.AcceptTCP()
		if err != nil {
			return
		}
		_ = c.SetLinger(0) // a reset, not an orderly end
		_ = c.Close()
	}
}

// stop ends the present life in order, and the port with it.
func (h *host) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	if h.now != nil {
		h.now.end(nil)
		h.now.running.Wait()
	}
	_ = h.api.TCPListener.Close()
}

// ServeHTTP is the control API of the present life.
func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	now := h.command
	h.mu.Unlock()
	now.ServeHTTP(w, r)
}

// rulesOf are the rules of one life: made anew for each, since a broken server may keep in memory
// what belongs into the store.
func (s serving) rulesOf() core.Rules {
	var rules core.Rules
	if s.replace != nil {
		s.replace(&rules)
	}
	return rules
}
