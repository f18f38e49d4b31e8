package check

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"assay.kit/conformance/report"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// Caller sends one request and tells what came of it; target.REST is one.
type Caller interface {
	Do(ctx context.Context, role string, rq wire.Request, o target.Call) wire.Exchange
}

// Env is everything a run shares.
type Env struct {
	Contract  *spec.Contract
	Profile   *target.Profile
	Caller    Caller
	Passive   []wire.Rule                                                       // looked at on every exchange
	Hook      func(context.Context, target.Capability, map[string]string) error // nil: no hooks
	Redact    func(wire.Exchange) wire.Exchange
	Text      func(string) string // hides secrets in what a check says; nil: nothing is hidden
	Curl      func(wire.Exchange) string
	Epoch     time.Time // of the exchanges' times
	Seed      uint64    // draws are a function of it; two runs with one seed draw the same
	Effort    Effort
	Financial bool                             // operations with a financial effect may be called
	Compute   bool                             // of a target that is known by its own list of tools, those may be called that do not declare themselves read-only
	Shrink    int                              // requests that may be spent on shrinking one failure; 0: off
	Parallel  int                              // cases at once; 0: 8
	Budget    int                              // requests in all; 0: 30000, at deep effort 100000
	JobSlots  int                              // jobs at once; 0: 16
	Rate      float64                          // requests a second; 0: no limit
	Spent     *Spent                           // where the time of the cases went; may be nil
	Broken    func(claim string, requests int) // told at once, from many goroutines, with the requests sent so far; may be nil
	CaseTime  time.Duration                    // longest a case may take; 0: 2 minutes
}

// Spent adds up, over all lanes, what cases spent their time on.
type Spent struct {
	Calling  atomic.Int64 // nanoseconds: requests under way
	Waiting  atomic.Int64 // between two polls, or because the target asked for it
	Watching atomic.Int64 // passive claims
}

// Outcome is what one case gave.
type Outcome struct {
	Case     report.Case
	Findings []report.Finding
}

// Event tells a progress display what happens. It is delivered from many goroutines, one at a time.
type Event struct {
	Case        string
	Finished    *Outcome // nil: the case has just started
	Done, Total int
	Requests    int
}

// runner is the state of one run.
type runner struct {
	Env
	nonce   string // unique to this run, so that a dirty target does not matter
	limiter *rate.Limiter
	jobs    *semaphore.Weighted
	sent    atomic.Int64
	caseNo  atomic.Int64
	memo    memo
	facts   facts
	silence silence
	kept    atomic.Int64 // bytes of all findings
	watch   *watcher
	guard   toolGuard
	onEvent func(Event)
	eventMu sync.Mutex
	done    int
	total   int
	lonely  sync.Mutex // Lock Principal
}

// Run executes cases and returns one outcome each, in order, then one for every passive claim and
// operation that was looked at. It ends early, but in order, when ctx ends: cases that did not run
// are inconclusive. on may be nil.
func Run(ctx context.Context, cases []Case, env Env, on func(Event)) []Outcome {
	release := seedRapid(env.Seed)
	defer release()
	r := newRunner(env, len(cases), on)
	out := make([]Outcome, len(cases))
	var shared, alone []int
	for i, cs := range cases {
		if cs.Check.Lock == Target {
			alone = append(alone, i)
		} else {
			shared = append(shared, i)
		}
	}
	r.pool(ctx, cases, shared, out)
	for _, i := range alone {
		out[i] = r.one(ctx, cases[i])
	}
	for _, o := range r.watch.outcomes(r) {
		out = append(out, r.hidden(o))
	}
	return out
}

func newRunner(env Env, total int, on func(Event)) *runner {
	if env.Parallel <= 0 {
		env.Parallel = 8
	}
	if env.Budget <= 0 {
		env.Budget = map[Effort]int{Deep: 100_000}[env.Effort]
	}
	if env.Budget <= 0 {
		env.Budget = 30_000
	}
	if env.JobSlots <= 0 {
		env.JobSlots = 16
	}
	if env.CaseTime <= 0 {
		env.CaseTime = 2 * time.Minute
	}
	limit := rate.Inf
	if env.Rate > 0 {
		limit = rate.Limit(env.Rate)
	}
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	if env.Spent == nil {
		env.Spent = new(Spent)
	}
	r := &runner{Env: env, nonce: hex.EncodeToString(b[:]), limiter: rate.NewLimiter(limit, 1),
		jobs: semaphore.NewWeighted(int64(env.JobSlots)), watch: newWatcher(env.Contract, env.Passive),
		onEvent: on, total: total}
	r.watch.broken, r.watch.record = r.broken, func(ex wire.Exchange) wire.Exchange {
		ex = r.Redact(slim(ex, r.room(1)))
		r.kept.Add(int64(weight(ex)))
		return ex
	}
	r.guard = toolGuard{contract: env.Contract, financial: env.Financial, compute: env.Compute}
	return r
}

// pool runs the cases at these indexes, at most Parallel at once.
func (r *runner) pool(ctx context.Context, cases []Case, idx []int, out []Outcome) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(r.Parallel, len(idx)) {
		wg.Go(func() {
			for i := range next {
				if cases[i].Check.Lock == Principal {
					r.lonely.Lock()
				}
				out[i] = r.one(ctx, cases[i])
				if cases[i].Check.Lock == Principal {
					r.lonely.Unlock()
				}
			}
		})
	}
	for _, i := range idx {
		next <- i
	}
	close(next)
	wg.Wait()
}

// one runs a case; a failure that was seen once is tried again, to tell whether it reproduces.
func (r *runner) one(ctx context.Context, cs Case) Outcome {
	if ctx.Err() != nil {
		o := Outcome{Case: unjudged(cs, report.Inconclusive, "not begun: "+context.Cause(ctx).Error(), nil)}
		r.tell(Event{Case: cs.ID, Finished: &o})
		return o
	}
	r.tell(Event{Case: cs.ID})
	o := r.execute(ctx, cs)
	if r.Shrink > 0 && needsSecondLook(o) {
		again := r.execute(ctx, cs)
		o.Case.Requests += again.Case.Requests
		o.Case.Seconds += again.Case.Seconds
		for i := range o.Findings {
			for _, f := range again.Findings {
				o.Findings[i].Reproduced = o.Findings[i].Reproduced || f.Claim == o.Findings[i].Claim
			}
		}
	}
	o = r.hidden(o)
	r.tell(Event{Case: cs.ID, Finished: &o})
	return o
}

func needsSecondLook(o Outcome) bool {
	for _, f := range o.Findings {
		if !f.Reproduced {
			return true
		}
	}
	return false
}

func (r *runner) execute(ctx context.Context, cs Case) Outcome {
	ctx, cancel := context.WithTimeout(ctx, r.timeFor(cs))
	defer cancel()
	st := newCaseState(r, cs)
	began := time.Now()
	t := &T{st: st, ctx: ctx, at: st.newAttempt()}
	t.guard(func() { cs.Check.Run(ctx, t, cs.Subject) })
	st.keepUnlessKept(t.at)
	st.releaseJobs()
	if err := context.Cause(ctx); err != nil && st.stop == "" {
		st.stop = fmt.Sprintf("ended after %s: %v", time.Since(began).Round(time.Millisecond), err)
	}
	return st.outcome(time.Since(began))
}

// timeFor gives a case longer where the rate of the whole run holds it up.
func (r *runner) timeFor(cs Case) time.Duration {
	d := r.CaseTime
	if r.Rate > 0 {
		d += time.Duration(float64(cs.Check.Cost.Requests*r.Parallel) / r.Rate * float64(time.Second))
	}
	return d
}

func (r *runner) broken(claim string) {
	if r.Broken != nil {
		r.Broken(claim, int(r.sent.Load()))
	}
}

func (r *runner) tell(e Event) {
	r.eventMu.Lock()
	defer r.eventMu.Unlock()
	if e.Finished != nil {
		r.done++
	}
	if r.onEvent != nil {
		e.Done, e.Total, e.Requests = r.done, r.total, int(r.sent.Load())
		r.onEvent(e)
	}
}
