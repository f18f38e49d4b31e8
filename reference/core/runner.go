package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"assay.kit/reference/core/job"
	"assay.kit/spec"
)

const (
	workers      = 8
	maxAttempts  = 5
	retryDelay   = 100 * time.Millisecond
	purgeEvery   = time.Minute
	resetBatch   = 256
	errorCodeOwn = "INTERNAL" // of a job whose work failed again and again
)

// endOfTime is later than any Due.
var endOfTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Run moves jobs on until ctx ends, and purges what has outlived its retention. It first makes
// runnable again what a process that was killed left running. Only one Run may be active on a store.
// It returns nil when ctx ends, after its workers have.
func (c *Core) Run(ctx context.Context) error {
	if err := c.recoverTasks(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("runner: %w", err)
	}
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return c.purge(running) })
	g.Go(func() error { return c.dispatch(running) })
	if err := g.Wait(); ctx.Err() == nil {
		return fmt.Errorf("runner: %w", err)
	}
	return nil
}

// signal wakes the runner; one waiting signal is enough.
func (c *Core) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Core) recoverTasks(ctx context.Context) error {
	for {
		again := false
		err := c.store.Update(ctx, func(w Writer) error {
			again = false
			stuck, err := w.Stuck(resetBatch)
			if err != nil {
				return err
			}
			for _, t := range stuck {
				if !t.Running {
					continue // held: that is meant to last
				}
				again = true
				t.Running = false
				if err := w.SetTask(t); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || !again {
			return err
		}
	}
}

func (c *Core) purge(ctx context.Context) error {
	for {
		now := c.clock.Now()
		keep := c.authority.longestRetention()
		err := c.store.Update(ctx, func(w Writer) error {
			if err := w.PurgeBindings(now); err != nil {
				return err
			}
			return w.PurgeResources(kindEvent, now.Add(-keep))
		})
		if err != nil {
			return err
		}
		if err := c.clock.Wait(ctx, now.Add(purgeEvery)); err != nil {
			return err
		}
	}
}

// flight is the set of jobs that a worker has in hand.
type flight struct {
	mu   sync.Mutex
	jobs map[string]bool
}

func (f *flight) size() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.jobs)
}

func (f *flight) has(job string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.jobs[job]
}

func (f *flight) put(job string, in bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if in {
		f.jobs[job] = true
	} else {
		delete(f.jobs, job)
	}
}

// dispatch hands due tasks to workers and sleeps until the next is due or something changes.
func (c *Core) dispatch(ctx context.Context) error {
	inHand := &flight{jobs: map[string]bool{}}
	g, ctx := errgroup.WithContext(ctx)
	for {
		next, err := c.start(ctx, g, inHand)
		if err == nil {
			err = c.sleep(ctx, next)
		}
		if err != nil {
			return errors.Join(err, g.Wait())
		}
	}
}

// start gives each due task to a worker while there are free ones, and says when to look again.
func (c *Core) start(ctx context.Context, g *errgroup.Group, inHand *flight) (next time.Time, err error) {
	var tasks []Task
	busy := inHand.size()
	err = c.store.View(ctx, func(r Reader) (err error) {
		tasks, err = r.Due(endOfTime, busy+workers+1)
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	now := c.clock.Now()
	for _, t := range tasks {
		switch {
		case inHand.has(t.Job):
		case t.Due.After(now):
			return t.Due, nil
		case inHand.size() >= workers:
			return endOfTime, nil // a worker that ends signals
		default:
			inHand.put(t.Job, true)
			g.Go(func() error {
				defer c.signal()
				defer inHand.put(t.Job, false)
				return c.settle(ctx, t, c.advance(ctx, t))
			})
		}
	}
	return endOfTime, nil
}

// sleep waits for the contract clock, a signal or the end.
func (c *Core) sleep(ctx context.Context, until time.Time) error {
	waiting, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.clock.Wait(waiting, until) // which of the two it was does not matter
	}()
	select {
	case <-c.wake:
	case <-done:
	}
	stop()
	<-done
	return ctx.Err()
}

// settle gives up a job that cannot be moved on, which is a fault of the contract's machine or of a
// Behaviour: it must not stop the others. What remains an error is the store's failure.
func (c *Core) settle(ctx context.Context, t Task, err error) error {
	var p *Problem
	if !errors.As(err, &p) {
		return err
	}
	c.log.Error("a job cannot be moved on", "job", t.Job, "error", p)
	return c.store.Update(ctx, func(w Writer) error { return w.DropTask(t.Job) })
}

// advance takes one job one phase further.
func (c *Core) advance(ctx context.Context, t Task) error {
	j := c.jobTrait(c.contract.Op(t.Operation))
	if j == nil {
		c.log.Error("a task without a job trait", "operation", t.Operation)
		return c.store.Update(ctx, func(w Writer) error { return w.DropTask(t.Job) })
	}
	kind := c.model.jobKind(j)
	phases := c.rules.Phases(c.model.known(kind).machine, j.Success)
	run := false
	err := c.store.Update(ctx, func(w Writer) error {
		run = false
		now, err := w.Task(t.Job)
		if errors.Is(err, ErrNotFound) || err == nil && (now.Running || now.Held) {
			return nil // cancelled or held meanwhile
		}
		if err != nil {
			return err
		}
		res, err := w.Resource(kind, t.Job)
		if err != nil {
			return err
		}
		if res.State != phases.Running {
			return c.enter(w, now, res, phases.Running)
		}
		now.Running, now.Attempt = true, now.Attempt+1
		t, run = now, true
		return w.SetTask(now)
	})
	if err != nil || !run {
		return err
	}
	return c.work(ctx, t, j, kind, phases)
}

// enter moves a job to the state in which it works, and sets when its work begins. A job that cannot
// get there has been ended by somebody else, and so has its task.
func (c *Core) enter(w Writer, t Task, res Resource, state string) error {
	if _, p := c.Step(w, res, state, nil); p != nil {
		if p.Kind == StateConflict {
			return w.DropTask(t.Job)
		}
		return p
	}
	t.Due = c.clock.Now().Add(c.rules.Delay(t.Job, state))
	return w.SetTask(t)
}

// work runs the Behaviour outside any transaction and stores what came of it.
func (c *Core) work(ctx context.Context, t Task, j *spec.Job, kind string, phases job.Phases) error {
	result := Result{ErrorCode: t.Fail}
	if t.Fail == "" {
		var err error
		if result, err = c.compute(ctx, t, j); err != nil {
			if ctx.Err() != nil {
				return ctx.Err() // stays running; the next start takes it up again
			}
			c.log.Error("work failed", "job", t.Job, "attempt", t.Attempt, "error", err)
			if t.Attempt < maxAttempts {
				return c.guarded(ctx, t, func(w Writer, now Task) error {
					now.Running, now.Due = false, c.clock.Now().Add(retryDelay)
					return w.SetTask(now)
				})
			}
			result = Result{ErrorCode: errorCodeOwn}
		}
	}
	switch {
	case result.ErrorCode != "":
		return c.guarded(ctx, t, func(w Writer, _ Task) error {
			return c.end(w, t, kind, j.Failure, func(body map[string]any) { set(body, j.Error, result.ErrorCode) })
		})
	case result.Wait > 0:
		return c.guarded(ctx, t, func(w Writer, now Task) error { return c.pause(w, now, kind, phases, result.Wait) })
	default:
		return c.rules.Publish(ctx, c.store, c.publication(t, j, kind, result))
	}
}

// guarded runs f unless the task has been ended or started again since.
func (c *Core) guarded(ctx context.Context, t Task, f func(Writer, Task) error) error {
	return c.store.Update(ctx, func(w Writer) error {
		now, ok, err := c.mine(w, t)
		if err != nil || !ok {
			return err
		}
		return f(w, now)
	})
}

func (c *Core) mine(r Reader, t Task) (now Task, ok bool, err error) {
	now, err = r.Task(t.Job)
	if errors.Is(err, ErrNotFound) {
		return Task{}, false, nil
	}
	return now, err == nil && !c.rules.Fenced(now, t), err
}

func (c *Core) pause(w Writer, t Task, kind string, phases job.Phases, wait time.Duration) error {
	if phases.Waiting != "" {
		if _, p := c.Step(w, Resource{Kind: kind, ID: t.Job}, phases.Waiting, nil); p != nil {
			return p
		}
	}
	t.Running, t.Due = false, c.clock.Now().Add(wait)
	return w.SetTask(t)
}

func (c *Core) end(w Writer, t Task, kind, state string, change func(map[string]any)) error {
	if _, p := c.Step(w, Resource{Kind: kind, ID: t.Job}, state, change); p != nil {
		return p
	}
	return w.DropTask(t.Job)
}

// compute calls the Behaviour, and takes its panic as an error of this one job.
func (c *Core) compute(ctx context.Context, t Task, j *spec.Job) (res Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic in work: %v", r)
		}
	}()
	if b := c.behaviours[t.Operation]; b.Work != nil {
		return b.Work(ctx, c, t)
	}
	return c.exampleResult(j, t)
}
