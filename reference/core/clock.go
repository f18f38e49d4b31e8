package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// OffsetClock is the contract clock: real time plus an offset, or a frozen moment; it never
// goes back. Both are kept in the store, so that a restart neither loses an advance nor turns time back.
type OffsetClock struct {
	store Store
	start time.Time // with the monotonic reading: an adjustment of the wall clock moves nothing

	changing sync.Mutex // one change at a time

	mu      sync.Mutex
	state   clockState
	changed chan struct{} // closed at each change, then made anew
}

type clockState struct {
	Offset time.Duration `json:"offset"`
	Frozen *time.Time    `json:"frozen,omitempty"`
}

const bucketClock = "clock"

// NewClock reads the clock's state from the store; a fresh store gives real time.
func NewClock(ctx context.Context, s Store) (*OffsetClock, error) {
	c := &OffsetClock{store: s, start: time.Now(), changed: make(chan struct{})}
	err := s.View(ctx, func(r Reader) error {
		b, err := r.Value(bucketClock, "state")
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return json.Unmarshal(b, &c.state)
	})
	if err != nil {
		return nil, fmt.Errorf("contract clock: %w", err)
	}
	return c, nil
}

// Now implements Clock; it is UTC.
func (c *OffsetClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *OffsetClock) now() time.Time {
	if c.state.Frozen != nil {
		return *c.state.Frozen
	}
	return c.start.Round(0).Add(time.Since(c.start) + c.state.Offset).UTC()
}

// Wait implements Clock. An advance wakes it; while the clock is frozen only that or ctx does.
func (c *OffsetClock) Wait(ctx context.Context, until time.Time) error {
	for {
		c.mu.Lock()
		left, frozen, changed := until.Sub(c.now()), c.state.Frozen != nil, c.changed
		c.mu.Unlock()
		if left <= 0 {
			return ctx.Err()
		}
		var due <-chan time.Time
		if !frozen {
			timer := time.NewTimer(left)
			defer timer.Stop()
			due = timer.C
		}
		select {
		case <-due:
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Advance moves the clock forward by d > 0, also while it is frozen.
func (c *OffsetClock) Advance(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("the contract clock only moves forward, not by %s", d)
	}
	return c.change(ctx, func(s *clockState) {
		if s.Frozen != nil {
			t := s.Frozen.Add(d)
			s.Frozen = &t
			return
		}
		s.Offset += d
	})
}

// Freeze stops the clock at its present reading; a frozen clock stays as it is.
func (c *OffsetClock) Freeze(ctx context.Context) error {
	return c.change(ctx, func(s *clockState) {
		if s.Frozen == nil {
			t := c.now()
			s.Frozen = &t
		}
	})
}

// Resume lets a frozen clock run on from where it stands.
func (c *OffsetClock) Resume(ctx context.Context) error {
	return c.change(ctx, func(s *clockState) {
		if s.Frozen == nil {
			return
		}
		at := *s.Frozen
		s.Frozen = nil
		real := c.start.Round(0).Add(time.Since(c.start))
		s.Offset = at.Sub(real)
	})
}

// change stores the new state before it holds. It must not keep mu meanwhile: an Update that waits in
// front of it in the store may ask for the time.
func (c *OffsetClock) change(ctx context.Context, f func(*clockState)) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	c.mu.Lock()
	next := c.state
	f(&next)
	c.mu.Unlock()
	b, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("contract clock: %w", err)
	}
	if err := c.store.Update(ctx, func(w Writer) error { return w.SetValue(bucketClock, "state", b) }); err != nil {
		return fmt.Errorf("contract clock: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = next
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}
