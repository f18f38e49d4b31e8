package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/onsi/gomega/types"
	"pgregory.net/rapid"

	"assay.kit/conformance/report"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// T is a check's only door to the target and to its verdict. One T belongs to one goroutine; Lanes
// hands out more.
type T struct {
	st   *caseState
	ctx  context.Context
	lane int
	at   *attempt
	rt   *rapid.T // nil outside a property
}

// halt ends a flow (or an attempt of a property) through the stack; only guard recovers it.
type halt struct{}

// Context ends when the case runs out of time or the run is interrupted.
func (t *T) Context() context.Context { return t.ctx }

// Contract is what the target promises.
func (t *T) Contract() *spec.Contract { return t.st.run.Contract }

// Profile is what the user said about the target.
func (t *T) Profile() *target.Profile { return t.st.run.Profile }

// Effort scales what a check repeats.
func (t *T) Effort() Effort { return t.st.run.Effort }

// Nonce is a short string that no other attempt of any run uses: names and keys start with it, so
// that a dirty target and a shrinking property do not meet their own past.
func (t *T) Nonce() string { return t.at.nonce }

// Key returns a fresh idempotency key.
func (t *T) Key() string {
	t.at.mu.Lock()
	defer t.at.mu.Unlock()
	t.at.keys++
	return "assay-" + t.at.nonce + "-" + strconv.Itoa(t.at.keys)
}

// Judge records that a claim was looked at and whether it holds. expected and actual may hold live
// values. It returns ok, so that a flow can go on where that makes sense.
func (t *T) Judge(claim string, ok bool, expected, actual string) bool {
	if t.st.cs.Check.claim(claim) == nil {
		panic("check " + t.st.cs.Check.ID + " judges " + claim + ", which it does not list")
	}
	t.st.mu.Lock()
	t.st.judged[claim]++
	t.st.mu.Unlock()
	if !ok {
		t.at.mu.Lock()
		t.at.failures = append(t.at.failures, failure{claim: claim, expected: brief(expected, mostValue), actual: brief(actual, mostValue),
			after: len(t.at.exchanges)})
		t.at.mu.Unlock()
		t.st.run.broken(claim)
	}
	return ok
}

// Illustrate adds a picture, an HTML page, to the newest failure of a claim in this attempt. draw is not
// called where nobody would look at it: the claim holds, or the run is one of many that only count
// (shrinking is off).
func (t *T) Illustrate(claim, name string, draw func() ([]byte, error)) {
	if t.st.run.Shrink == 0 {
		return
	}
	t.at.mu.Lock()
	last := -1
	for i, f := range t.at.failures {
		if f.claim == claim {
			last = i
		}
	}
	t.at.mu.Unlock()
	if last < 0 {
		return
	}
	page, err := draw()
	if err != nil || len(page) > report.MaxPicture {
		return // words say it too
	}
	t.at.mu.Lock()
	defer t.at.mu.Unlock()
	t.at.failures[last].pictures = append(t.at.failures[last].pictures,
		report.Picture{Name: name, MediaType: "text/html", Data: page})
}

// Must is Judge, and ends the flow when the claim is broken.
func (t *T) Must(claim string, ok bool, expected, actual string) {
	if !t.Judge(claim, ok, expected, actual) {
		panic(halt{})
	}
}

// That judges with a Gomega matcher, whose own words become expected and actual.
func (t *T) That(claim string, actual any, m types.GomegaMatcher) bool {
	ok, err := m.Match(actual)
	if err != nil {
		return t.Judge(claim, false, "a value that can be compared", err.Error())
	}
	if ok {
		return t.Judge(claim, true, "", "")
	}
	return t.Judge(claim, false, oneLine(m.FailureMessage(actual)), oneLine(fmt.Sprintf("%v", actual)))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Inconclusive ends the flow: it could not be judged, which is not the target's fault.
func (t *T) Inconclusive(format string, a ...any) {
	t.st.mu.Lock()
	if t.st.stop == "" {
		t.st.stop = brief(fmt.Sprintf(format, a...), mostValue)
	}
	t.st.mu.Unlock()
	panic(halt{})
}

// lack ends the flow: it would need a capability that the plan could not foresee.
func (t *T) lack(what, why string) {
	t.st.mu.Lock()
	t.st.lacks, t.st.stop = what, why
	t.st.mu.Unlock()
	panic(halt{})
}

// Skip gives up this attempt of a property (what was drawn does not lead anywhere); outside a
// property it ends the flow. Claims that no attempt reached are inconclusive for this reason.
func (t *T) Skip(format string, a ...any) {
	t.st.mu.Lock()
	t.st.skip = brief(fmt.Sprintf(format, a...), mostValue)
	t.st.mu.Unlock()
	panic(halt{})
}

// NotApplicable says that a claim has no meaning on this subject, and why. It does not end the flow.
func (t *T) NotApplicable(claim, why string) {
	t.st.mu.Lock()
	defer t.st.mu.Unlock()
	t.st.excused[claim] = brief(why, mostValue)
}

// NoneApply says so of every claim of the check: the subject turned out to lack what they are about.
func (t *T) NoneApply(why string) {
	for _, cl := range t.st.cs.Check.Claims {
		t.NotApplicable(cl.ID, why)
	}
}

// Attempt runs f as a try of its own, with its own nonce, draws and evidence, so that a flow of many
// tries reports no more than the one that failed. What ends f's flow ends only f, but for
// Inconclusive, which ends the case. ok: f came to its end and broke no claim. Not for use in a Property.
func (t *T) Attempt(f func(*T)) (ok bool) {
	own := &T{st: t.st, ctx: t.ctx, lane: t.lane, at: t.st.newAttempt()}
	halted := own.guard(func() { f(own) })
	t.st.keepUnlessKept(own.at)
	t.st.mu.Lock()
	over := t.st.stop != "" || t.st.kitFault != ""
	t.st.mu.Unlock()
	if over {
		panic(halt{})
	}
	return !halted && len(own.at.failures) == 0
}

// Once computes a value once a run, shared by all cases: a reference that many creations need. An
// error is remembered too.
func (t *T) Once(key string, f func() (any, error)) (any, error) {
	v, err := t.st.run.memo.get(key, func() (v any, err error) {
		// A flow that ends inside f must not leave through the memo: others wait for its value.
		if t.guard(func() { v, err = f() }) {
			err = &unavailable{why: cmp.Or(t.st.stop, t.st.skip, "what it takes is not here"), lacks: t.st.lacks}
		}
		return v, err
	})
	var u *unavailable
	if errors.As(err, &u) && u.lacks != "" {
		t.lack(u.lacks, u.why)
	}
	return v, err
}

// unavailable is why a value that all cases share could not be had.
type unavailable struct{ why, lacks string }

func (u *unavailable) Error() string { return "it could not be had: " + u.why }

// Hook carries out an action of the profile on the target. One that fails says nothing about the
// target's promises, so the flow ends.
func (t *T) Hook(c target.Capability, args map[string]string) {
	if t.st.run.Hook == nil {
		t.Inconclusive("there is nothing to carry out %s", c)
	}
	if err := t.st.run.Hook(t.ctx, c, args); err != nil {
		t.Inconclusive("%v", err)
	}
}

// undoTime bounds an action that takes an earlier one back.
const undoTime = 30 * time.Second

// Undo takes back what an earlier Hook did, also when the flow has ended or run out of time: what a
// case took from the target must not stay taken from those that follow. Without such a hook in the
// profile nothing happens; ok: it was carried out.
func (t *T) Undo(c target.Capability, args map[string]string) (ok bool) {
	if t.st.run.Hook == nil || !t.Profile().Has(c) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), undoTime)
	defer cancel()
	return t.st.run.Hook(ctx, c, args) == nil
}

// JobSlot waits for room to have one more job active; call done when it has ended.
func (t *T) JobSlot() (done func()) {
	if err := t.st.run.jobs.Acquire(t.ctx, 1); err != nil {
		t.Inconclusive("no job slot came free in time")
	}
	t.st.mu.Lock()
	t.st.held++
	t.st.mu.Unlock()
	var once sync.Once
	return func() {
		once.Do(func() {
			t.st.mu.Lock()
			held := t.st.held > 0
			if held {
				t.st.held--
			}
			t.st.mu.Unlock()
			if held {
				t.st.run.jobs.Release(1)
			}
		})
	}
}

// Pause waits d of real time: between two polls, never for something to expire.
func (t *T) Pause(d time.Duration) {
	if left := t.Left(); d > left && left > 0 {
		t.Inconclusive("ran out of time: %.0f s were to be waited, with %s left", d.Seconds(), left.Round(100*time.Millisecond))
	}
	defer func(began time.Time) { t.st.run.Spent.Waiting.Add(int64(time.Since(began))) }(time.Now())
	select {
	case <-time.After(d):
	case <-t.ctx.Done():
		t.Inconclusive("ran out of time: %v", context.Cause(t.ctx))
	}
}

// Now is the time since the run began, on the clock that exchanges carry.
func (t *T) Now() time.Duration { return time.Since(t.st.run.Epoch) }

// Lanes runs f n times at once, each with a T of its own, and waits. Draw before it, not in it.
func (t *T) Lanes(n int, f func(lane *T, i int)) {
	start := make(chan struct{})
	halted := make([]bool, n)
	var wg sync.WaitGroup
	for i := range n {
		lane := &T{st: t.st, ctx: t.ctx, at: t.at, lane: i + 1}
		wg.Go(func() {
			<-start // all leave together: a race that begins in order is none
			halted[i] = lane.guard(func() { f(lane, i) })
		})
	}
	close(start)
	wg.Wait()
	for _, h := range halted {
		if h {
			panic(halt{})
		}
	}
}

// guard runs f and reports whether it was ended early. A panic of the kit's own making becomes
// verdict error with its place; rapid's own panics pass through, since they steer its search.
func (t *T) guard(f func()) (halted bool) {
	defer func() {
		switch r := recover(); {
		case r == nil:
		case r == halt{}:
			halted = true
		case reflect.TypeOf(r).PkgPath() == "pgregory.net/rapid":
			panic(r)
		default:
			halted = true
			t.st.mu.Lock()
			t.st.kitFault = fmt.Sprintf("the kit failed: %v at %s", r, place(string(debug.Stack())))
			t.st.mu.Unlock()
		}
	}()
	f()
	return false
}

// place is file:line of the first of our frames below the panic.
func place(stack string) string {
	lines := strings.Split(stack, "\n")
	after := false
	for i, l := range lines {
		after = after || strings.HasPrefix(l, "panic(")
		if after && strings.HasPrefix(l, "assay.kit/") && i+1 < len(lines) {
			file, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
			return path.Base(file)
		}
	}
	return "an unknown place"
}

// Draw draws a value and logs it with the attempt, so that a finding shows it. Outside a property it
// gives one value fixed by the seed.
func Draw[V any](t *T, g *rapid.Generator[V], label string) V {
	var v V
	if t.rt != nil {
		v = g.Draw(t.rt, label)
	} else {
		t.st.mu.Lock()
		t.st.exampleNo++
		n := t.st.exampleNo
		t.st.mu.Unlock()
		v = g.Example(int(t.st.run.Seed) + n)
	}
	t.at.mu.Lock()
	t.at.draws = append(t.at.draws, report.Draw{Label: label, Value: v})
	t.at.mu.Unlock()
	return v
}

// Exchanges returns what this attempt has recorded so far, in order of sending.
func (t *T) Exchanges() []wire.Exchange {
	t.at.mu.Lock()
	defer t.at.mu.Unlock()
	return append([]wire.Exchange(nil), t.at.exchanges...)
}
