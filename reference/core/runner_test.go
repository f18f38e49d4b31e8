package core_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
)

// work is a Behaviour's Work that the test scripts: each attempt takes the next step.
type work struct {
	mu    sync.Mutex
	steps []func() (core.Result, error)
}

func (w *work) next(context.Context, core.System, core.Task) (core.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	step := w.steps[0]
	w.steps = w.steps[1:]
	return step()
}

func TestWorkWaitsFailsAndIsRepeated(t *testing.T) {
	ok := func() (core.Result, error) { return core.Result{Body: map[string]any{"total": 9}}, nil }
	wait := func() (core.Result, error) { return core.Result{Wait: time.Hour}, nil }
	broken := func() (core.Result, error) { return core.Result{}, errors.New("no connection") }
	panics := func() (core.Result, error) { panic("in work") }
	refuse := func() (core.Result, error) { return core.Result{ErrorCode: "NO_DATA"}, nil }
	for _, c := range []struct {
		name          string
		steps         []func() (core.Result, error)
		state, events string
		code          string
	}{
		{"waits once", []func() (core.Result, error){wait, ok}, "completed", "run.accepted run.running run.waiting run.running run.completed", ""},
		{"refuses", []func() (core.Result, error){refuse}, "failed", "run.accepted run.running run.failed", "NO_DATA"},
		{"is repeated", []func() (core.Result, error){broken, panics, ok}, "completed", "run.accepted run.running run.completed", ""},
		{"gives up", slices.Repeat([]func() (core.Result, error){broken}, 5), "failed", "run.accepted run.running run.failed", "INTERNAL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &work{steps: c.steps}
			b := newBench(t, func(cfg *core.Config) { cfg.Behaviours = map[string]core.Behaviour{"createRun": {Work: w.next}} })
			id := b.run(access.Primary, `{}`)
			if c.name == "waits once" {
				b.await(id, "waiting")
				if err := b.clock.Advance(t.Context(), time.Hour); err != nil {
					t.Fatal(err)
				}
			}
			got := b.await(id, c.state)
			if str(got, "error_code") != c.code {
				t.Errorf("error_code %q, want %q", str(got, "error_code"), c.code)
			}
			var types []string
			for _, e := range strings.Fields(b.events(id)) {
				types = append(types, e[:strings.IndexByte(e, '<')])
			}
			if events := strings.Join(types, " "); events != c.events {
				t.Errorf("events %s, want %s", events, c.events)
			}
			if c.state == "completed" {
				if r := b.ok(access.Primary, "getResult", str(got, "result_ref"), "", ""); r["total"] != 9.0 {
					t.Errorf("result: %v", r)
				}
			}
		})
	}
}

func TestCancellationFencesWork(t *testing.T) {
	begun, finish, published := make(chan struct{}), make(chan struct{}), make(chan struct{})
	b := newBench(t, func(cfg *core.Config) {
		cfg.Behaviours = map[string]core.Behaviour{"createRun": {Work: func(context.Context, core.System, core.Task) (core.Result, error) {
			close(begun)
			<-finish
			return core.Result{Body: map[string]any{"total": 9}}, nil
		}}}
		cfg.Rules.Publish = func(ctx context.Context, s core.Store, p core.Publication) error {
			defer close(published)
			return core.Publish(ctx, s, p)
		}
	})
	id := b.run(access.Primary, `{}`)
	<-begun
	b.ok(access.Primary, "cancelRun", id, "", "")
	close(finish)
	<-published
	if got := b.ok(access.Primary, "getRun", id, "", ""); str(got, "state") != "cancelled" || str(got, "result_ref") != "" {
		t.Errorf("after the cancellation: %v", got)
	}
	err := b.store.View(t.Context(), func(r core.Reader) error {
		rows, err := r.Scan(core.Query{Kind: "result", AnyWorkspace: true, AnyParent: true, Limit: 9})
		if len(rows) > 0 {
			t.Errorf("a cancelled job left %d results", len(rows))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
