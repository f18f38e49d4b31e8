package check

import (
	"sync"
	"sync/atomic"
	"time"

	"assay.kit/conformance/wire"
)

// facts is what a run has learnt about its target, for the cases that come later.
type facts struct {
	mu sync.Mutex
	m  map[string]bool
}

// Learn notes for all cases of the run whether something holds of the target.
func (t *T) Learn(fact string, holds bool) {
	f := &t.st.run.facts
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.m == nil {
		f.m = map[string]bool{}
	}
	f.m[fact] = holds
}

// Learnt reports whether the run has learnt that something holds of the target.
func (t *T) Learnt(fact string) bool {
	f := &t.st.run.facts
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.m[fact]
}

// Left is how much time the flow has; it ends by itself when none is left.
func (t *T) Left() time.Duration {
	at, ok := t.ctx.Deadline()
	if !ok {
		return 1<<63 - 1
	}
	return time.Until(at)
}

const (
	manySilent   = 8 // requests in a row that nothing answered
	silentPeriod = 5 * time.Second
)

// silence counts requests in a row that nothing answered in time: with a target that has stopped to
// answer, every further case would take the full time-out to say the same.
type silence struct{ n atomic.Int32 }

// timeout is what a call may take that sets none; 0: the caller's default.
func (s *silence) timeout() time.Duration {
	if s.n.Load() < manySilent {
		return 0
	}
	return silentPeriod
}

func (s *silence) note(ex wire.Exchange) {
	switch {
	case ex.Head.Status != 0:
		s.n.Store(0)
	case ex.End == wire.EndTimeout:
		s.n.Add(1)
	}
}
