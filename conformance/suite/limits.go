package suite

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// limits judges what happens beyond a limit. Requests are counted, so a credential with small limits
// is used that nobody else has, and nothing else runs meanwhile. Limits are kept on the target's
// clock: where it can be moved, nothing is waited for.
func limits() []check.Check {
	return []check.Check{
		{
			ID:   "limits.rate",
			Does: "Sends as many requests in a minute as the connection allows, then more, and creations among them; waits as long as it is told to, and repeats one.",
			Claims: []check.Claim{
				{ID: "limits.within", Says: "Within the advertised rate no request is refused for it."},
				{ID: "limits.beyond", Says: "Beyond the advertised rate requests are refused with 429."},
				{ID: "limits.rate-code", Says: "A request beyond the rate is refused with the contract's status and code for it."},
				{ID: "limits.retry-after", Says: "A 429 says when to try again: in whole seconds or as an HTTP date (RFC 9110 §10.2.3)."},
				{ID: "limits.after-delay", Says: "After the delay that a refusal names a request is admitted, if nothing else was sent."},
				{ID: "limits.key-free", Says: "A request that was refused for a limit consumes no key: it is admitted under it later."},
				{ID: "limits.nothing-admitted", Says: "A request that was refused for a limit admits nothing."},
			},
			Needs:  []target.Capability{target.Limited},
			Lock:   check.Target,
			Select: func(c *spec.Contract) []check.Subject { return limiting(c, selectOneCreation(c)) },
			Cost:   check.Cost{Requests: 2 * maxRate, Jobs: 1},
			Run:    runRate,
		},
		{
			ID:   "limits.jobs",
			Does: "Keeps as many jobs active as the connection allows, asks for one more, lets them end, and asks again.",
			Claims: []check.Claim{
				{ID: "limits.jobs-within", Says: "As many jobs as the connection allows are admitted at once."},
				{ID: "limits.jobs-beyond", Says: "A job beyond the limit is refused with 429."},
				{ID: "limits.jobs-code", Says: "A job beyond the limit is refused with the contract's status and code for it."},
				{ID: "limits.retry-after", Says: "A 429 says when to try again: in whole seconds or as an HTTP date (RFC 9110 §10.2.3)."},
				{ID: "limits.jobs-apart", Says: "The jobs of one connection take no room from another."},
				{ID: "idempotency.replay", Says: "The same key and payload lead to the original resource, however often they are sent."},
				{ID: "limits.jobs-later", Says: "A job that was refused for the limit is admitted under its key when there is room again."},
				{ID: "limits.nothing-admitted", Says: "A request that was refused for a limit admits nothing."},
			},
			Needs:  []target.Capability{target.Limited, target.HoldJob, target.ReleaseJob},
			Lock:   check.Target,
			Select: func(c *spec.Contract) []check.Subject { return limiting(c, only(keyed(c), beginsJobs)) },
			Cost:   check.Cost{Requests: 480, Jobs: maxHeld + 2},
			Run:    runJobLimit,
		},
		{
			ID:   "limits.unavailable",
			Does: "Makes the target unavailable for a few seconds, sends creations, and repeats one when it is back.",
			Claims: []check.Claim{
				{ID: "limits.unavailable-delay", Says: "A 503 says when to try again: in whole seconds or as an HTTP date (RFC 9110 §10.2.3)."},
				{ID: "limits.after-delay", Says: "After the delay that a refusal names a request is admitted, if nothing else was sent."},
				{ID: "limits.key-free", Says: "A request that was refused for a limit consumes no key: it is admitted under it later."},
				{ID: "limits.nothing-admitted", Says: "A request that was refused for a limit admits nothing."},
			},
			Needs:  []target.Capability{target.Unavailable},
			Lock:   check.Target,
			Select: func(c *spec.Contract) []check.Subject { return limiting(c, keyed(c)) },
			Cost:   check.Cost{Requests: 60, Jobs: 1},
			Run:    runUnavailable,
		},
	}
}

// limiting keeps subjects where the contract says which statuses mean "later" and where the delay is.
func limiting(c *spec.Contract, subjects []check.Subject) []check.Subject {
	if b := c.Doc.Backpressure; b == nil || b.Delay.Part != "header" {
		return nil
	}
	return subjects
}

func beginsJobs(s check.Subject) bool {
	return s.Op.Job != nil && s.Op.Moves == nil && s.Op.Effect != spec.EffectFinancial
}

const (
	small    = string(target.Limited)
	maxRate  = 2000 // requests a minute; a greater limit is not tried out
	maxHeld  = 16   // jobs at once, likewise
	longest  = 5 * time.Second
	perRate  = time.Minute
	untold   = 600 // requests that are tried where the rate is not told
	outage   = 3   // seconds
	batching = 8   // requests at once, beyond the limit
)

// rested waits until the small credential may use its whole rate again; without a clock that can be
// moved nobody knows when that is.
func rested(t *check.T) {
	if t.Profile().Has(target.AdvanceClock) {
		advance(t, int(perRate.Seconds())+1)
	}
}

// waitOut lets a delay pass on the target's clock.
func waitOut(t *check.T, d time.Duration) {
	switch {
	case t.Profile().Has(target.AdvanceClock):
		if s := int(math.Ceil(d.Seconds())); s > 0 {
			advance(t, s)
		}
	case d > longest:
		t.Inconclusive("the target asks to wait %s, and its clock cannot be moved", d)
	default:
		t.Pause(d)
	}
}

// told reads a limit of the small credential's connection; 0: the contract does not tell it.
func told(t *check.T, limit string) int {
	cn := t.Contract().Doc.Connection
	if cn == nil || cn.Limits[limit] == "" {
		return 0
	}
	n, ok := seconds(t, spec.Period{Limit: limit}, small)
	if !ok {
		t.Inconclusive("the connection tells no %s", limit)
	}
	return n
}

// tooFast is how a request beyond the rate is refused.
func tooFast(c *spec.Contract) spec.Refusal {
	return coded(c, "rate_limited", http.StatusTooManyRequests)
}

func coded(c *spec.Contract, kind string, status int) spec.Refusal {
	if r, ok := c.Doc.Codes[kind]; ok {
		return r
	}
	return spec.Refusal{Status: status}
}

// delayIn judges and reads the delay of a refusal; told is false if it names none.
func delayIn(t *check.T, claim string, ex wire.Exchange) (d time.Duration, told bool) {
	name := t.Contract().Doc.Backpressure.Delay.Name
	values := ex.HeaderValues(name)
	raw := ""
	if len(values) == 1 {
		raw = values[0]
	}
	d, told = wire.ParseRetryAfter(raw, time.Now())
	t.Judge(claim, told, fmt.Sprintf("one %s in seconds or as an HTTP date with a %d", name, ex.Status()), fmt.Sprintf("%q", values))
	if !told {
		return time.Second, false
	}
	return d, true
}

// afterDelay lets the delay of a refusal pass and sends a request: the refusal must be over.
func afterDelay(t *check.T, role string, in intent, delayed string, refusal wire.Exchange) wire.Exchange {
	d, told := delayIn(t, delayed, refusal)
	waitOut(t, d)
	ex := t.SendOnce(role, in.request(), target.Call{})
	if told {
		t.Judge("limits.after-delay", ex.Status() != refusal.Status(), fmt.Sprintf("another answer than %d after the delay of %s that it named", refusal.Status(), d), describe(ex))
	} else {
		t.NotApplicable("limits.after-delay", "the refusal names no delay")
	}
	return later(t, role, in, ex)
}

// later sends a request until it is not refused for a limit any more, a few times at most: t.Call
// would give up without a verdict.
func later(t *check.T, role string, in intent, ex wire.Exchange) wire.Exchange {
	for range 4 {
		if !slices.Contains(t.Contract().Doc.Backpressure.Statuses, ex.Status()) {
			return ex
		}
		d, ok := wire.ParseRetryAfter(ex.Header(t.Contract().Doc.Backpressure.Delay.Name), time.Now())
		if !ok {
			d = time.Second
		}
		waitOut(t, max(d, time.Second))
		ex = t.SendOnce(role, in.request(), target.Call{})
	}
	return ex
}

// meter counts what the small credential has sent since it was rested.
type meter struct {
	t     *check.T
	rq    wire.Request // what costs least
	from  int          // exchanges before
	began time.Duration
	most  int      // requests that are allowed in a minute, 0: nobody tells
	let   []string // what was created beyond the limit, as time let a request pass
}

func newMeter(t *check.T) *meter {
	op := plainRead(t)
	if op == nil {
		t.Inconclusive("no operation without parameters could be asked often")
	}
	rested(t)
	return &meter{t: t, rq: intent{op: op, role: small}.request(), from: len(t.Exchanges()), began: t.Now()}
}

// plainRead is an operation without effect that needs no parameter; that of the connection if there is one.
func plainRead(t *check.T) *spec.Operation {
	var found *spec.Operation
	for _, op := range t.Contract().Ops {
		if op.Public || op.Method != http.MethodGet || len(op.Params) != len(optional(op)) || t.Profile().IsAbsent(op.ID) {
			continue
		}
		if cn := t.Contract().Doc.Connection; cn != nil && cn.Operation == op.ID {
			return op
		}
		if found == nil {
			found = op
		}
	}
	return found
}

func (m *meter) spent() int {
	n := 0
	for _, ex := range m.t.Exchanges()[m.from:] {
		if ex.Role == small {
			n++
		}
	}
	return n
}

func (m *meter) once() wire.Exchange { return m.t.SendOnce(small, m.rq, target.Call{}) }

// exceed sends until a request is refused for the rate, many at once so that a slow network can; ok
// is false if none was.
func (m *meter) exceed(most int) (refusal wire.Exchange, ok bool) {
	limit := tooFast(m.t.Contract()).Status
	for m.spent() < most {
		if m.t.Now()-m.began > perRate {
			m.t.Inconclusive("%d requests took %s: the rate could not be exceeded", m.spent(), m.t.Now()-m.began)
		}
		var mu sync.Mutex
		m.t.Lanes(batching, func(lane *check.T, _ int) {
			ex := lane.SendOnce(small, m.rq, target.Call{})
			mu.Lock()
			defer mu.Unlock()
			if ex.Status() == limit {
				refusal, ok = ex, true
			}
		})
		if ok {
			return refusal, true
		}
	}
	return refusal, false
}

func runRate(_ context.Context, t *check.T, s check.Subject) {
	sm := specimens(t, s.Op)[0]
	shown := newCreation(t, s.Op, sm).shownBy()
	most := told(t, "requestsPerMinute")
	if most > maxRate {
		t.Inconclusive("a rate of %d a minute is too great to be tried out", most)
	}
	in, list, counted := isolatedIn(t, s.Op, shown, small, sm.example)
	m := newMeter(t)
	m.most = most
	judgeWithin(t, m, most)
	bound := 2*most + 20 // a fixed window may let twice the rate pass at its edge
	if most == 0 {
		bound = untold
	}
	refusal, beyond := m.exceed(bound)
	if most == 0 && !beyond {
		t.Inconclusive("%d requests were not enough to reach a limit that the contract does not tell", m.spent())
	}
	t.Must("limits.beyond", beyond, fmt.Sprintf("a %d among %d requests in a minute, at %d allowed", tooFast(t.Contract()).Status, m.spent(), most), "none")
	judgeCoded(t, "limits.rate-code", refusal, tooFast(t.Contract()))
	delayIn(t, "limits.retry-after", refusal)
	// Two creations are refused; only one is repeated, so that the other can be missed in the list.
	lost, last := m.refusedCreation(in), m.refusedCreation(in)
	ex := afterDelay(t, small, last.in, "limits.retry-after", last.ex)
	t.Judge("limits.key-free", admitted(ex), "a 2xx under the key of a request that was refused for the rate", describe(ex))
	judgeOnly(t, s.Op, list, counted, append(m.let, createdID(s.Op, ex)), lost)
}

// judgeWithin sends what is allowed.
func judgeWithin(t *check.T, m *meter, most int) {
	const claim = "limits.within"
	if most == 0 {
		t.NotApplicable(claim, "the contract does not tell the rate")
		return
	}
	for m.spent() < most {
		ex := m.once()
		if ex.Status() == tooFast(t.Contract()).Status && !t.Profile().Has(target.AdvanceClock) {
			// The credential may have been used a moment ago, if only by this run, and there is no way to
			// let the minute pass: an early refusal proves nothing, and the rest can still be judged.
			t.NotApplicable(claim, fmt.Sprintf("request %d of %d was refused, and without advance_clock earlier ones cannot be told from these", m.spent(), most))
			return
		}
		t.Must(claim, ex.Status() != tooFast(t.Contract()).Status, fmt.Sprintf("no refusal of request %d in a minute, at %d allowed", m.spent(), most), describe(ex))
	}
}

func judgeCoded(t *check.T, claim string, ex wire.Exchange, want spec.Refusal) {
	if want.Code == "" {
		t.NotApplicable(claim, "the contract pins no code for it")
		return
	}
	t.Judge(claim, refused(t, ex, want), wanted(want), describe(ex))
}

// turnedAway is a creation that was refused, with its answer.
type turnedAway struct {
	in intent
	ex wire.Exchange
}

// refusedCreation sends the creation under keys of their own until one is refused for the rate: a
// request is let through now and then as time goes by.
func (m *meter) refusedCreation(in intent) turnedAway {
	limit := tooFast(m.t.Contract()).Status
	for range 10 {
		try := in.keyed(m.t.Key())
		ex := m.t.SendOnce(small, try.request(), target.Call{})
		if ex.Status() == limit {
			return turnedAway{try, ex}
		}
		if id := createdID(in.op, ex); id != "" {
			m.let = append(m.let, id)
		}
		m.exceed(m.spent() + 4*batching)
	}
	m.judgeCreations(in)
	m.t.Inconclusive("no creation met the limit")
	return turnedAway{}
}

// judgeOnly counts what exists besides some that may be there: exactly these, and so nothing of what
// was refused.
func judgeOnly(t *check.T, op *spec.Operation, list listing, counted bool, want []string, lost turnedAway, besides ...string) {
	const claim = "limits.nothing-admitted"
	switch {
	case !counted:
		t.NotApplicable(claim, "the contract gives no way to count what "+op.ID+" creates")
		return
	case slices.Contains(want, ""):
		return // what should have been admitted was not, which another claim is about
	}
	rested(t)
	got := missing(list.count(t), besides)
	slices.Sort(got)
	slices.Sort(want)
	t.Judge(claim, slices.Equal(got, want), fmt.Sprintf("%q in %s, and nothing under key %s, which was refused: %s", want, list.op.ID, lost.in.key, describe(lost.ex)),
		fmt.Sprintf("%q", got))
}

func runJobLimit(_ context.Context, t *check.T, s check.Subject) {
	i := slices.IndexFunc(specimens(t, s.Op), func(sm specimen) bool { return sm.job })
	if i < 0 {
		t.NoneApply(s.Op.ID + " answers none of the contract's examples with a job")
		return
	}
	sm := specimens(t, s.Op)[i]
	rested(t)
	most := told(t, "concurrentJobs")
	in, list, counted := isolatedIn(t, s.Op, newCreation(t, s.Op, sm).shownBy(), small, sm.example)
	by := bystandersOf(t, s.Op, sm.example)
	rested(t)
	defer t.Undo(target.ReleaseJob, nil)
	held, as, refusal := fill(t, in, most)
	by.judgeFull(t, held, as)
	lost := turnedAway{in.keyed(t.Key()), wire.Exchange{}}
	lost.ex = t.SendOnce(small, lost.in.request(), target.Call{})
	t.Hook(target.ReleaseJob, nil)
	by.end(t)
	want := []string{}
	for _, id := range held {
		rested(t)
		awaited(t, in, id)
		want = append(want, id)
	}
	if admitted(lost.ex) { // judged when the first was admitted beyond the limit
		awaited(t, in, jobID(s.Op, lost.ex))
	}
	rested(t)
	ex := later(t, small, refusal.in, t.SendOnce(small, refusal.in.request(), target.Call{}))
	t.Judge("limits.jobs-later", admitted(ex), "a 2xx under the key of the refused job when the others have ended", describe(ex))
	if id := jobID(s.Op, ex); id != "" {
		awaited(t, in, id)
		want = append(want, id)
	}
	judgeOnly(t, s.Op, list, counted, want, lost, by.ids()...)
}

// pastRate sends a request as often as it is refused for the rate, a few times at most: that says
// nothing about jobs. Where the contract gives both refusals one code they cannot be told apart.
func pastRate(t *check.T, in intent, jobs spec.Refusal) wire.Exchange {
	for n := 0; ; n++ {
		ex := t.SendOnce(small, in.request(), target.Call{})
		rate := tooFast(t.Contract())
		if n == 4 || rate == jobs || rate.Code == "" || !refused(t, ex, rate) {
			return ex
		}
		d, ok := wire.ParseRetryAfter(ex.Header(t.Contract().Doc.Backpressure.Delay.Name), time.Now())
		if !ok {
			d = time.Second
		}
		waitOut(t, max(d, time.Second))
	}
}

// fill admits held jobs up to the limit and returns them, as what they were sent, with the refusal of
// the next.
func fill(t *check.T, in intent, most int) (held []string, as []intent, refusal turnedAway) {
	limit := coded(t.Contract(), "too_many_jobs", http.StatusTooManyRequests)
	if most > maxHeld {
		t.Inconclusive("%d jobs at once are too many to be tried out", most)
	}
	for n := 0; n <= maxHeld; n++ {
		refusal.in = in.keyed(t.Key())
		if most == 0 || n < most {
			t.Hook(target.HoldJob, nil) // one beyond the limit may run: it should not be there
		}
		refusal.ex = pastRate(t, refusal.in, limit)
		id := jobID(in.op, refusal.ex)
		switch {
		case most > 0 && n < most:
			t.Must("limits.jobs-within", id != "", fmt.Sprintf("job %d to be admitted, at %d allowed", n+1, most), describe(refusal.ex))
		case most == 0 && id != "":
		case most == 0 && n > 0:
			t.NotApplicable("limits.jobs-within", "the contract does not tell how many")
		}
		if id != "" && (most == 0 || n < most) {
			held, as = append(held, id), append(as, refusal.in)
			continue
		}
		break
	}
	if most == 0 && len(held) > maxHeld {
		t.Inconclusive("%d jobs were not enough to reach a limit that the contract does not tell", len(held))
	}
	if id := jobID(in.op, refusal.ex); id != "" {
		t.Undo(target.ReleaseJob, nil)
	}
	t.Must("limits.jobs-beyond", refusal.ex.Status() == limit.Status, fmt.Sprintf("status %d for a job beside %d active ones", limit.Status, len(held)), describe(refusal.ex))
	judgeCoded(t, "limits.jobs-code", refusal.ex, limit)
	delayIn(t, "limits.retry-after", refusal.ex)
	return held, as, refusal
}

func runUnavailable(_ context.Context, t *check.T, s check.Subject) {
	c := newCreation(t, s.Op, specimens(t, s.Op)[0])
	want := coded(t.Contract(), "unavailable", http.StatusServiceUnavailable)
	t.Hook(target.Unavailable, map[string]string{"seconds": strconv.Itoa(outage)})
	lost := turnedAway{in: c.in.keyed(t.Key())}
	for range 10 { // a hook may take effect a moment later, under another key each time
		if lost.ex = t.SendOnce(primary, lost.in.request(), target.Call{}); lost.ex.Status() == want.Status {
			break
		}
		if admitted(lost.ex) {
			t.Inconclusive("the hook did not make the target unavailable: %s", describe(lost.ex))
		}
		t.Pause(50 * time.Millisecond)
	}
	if lost.ex.Status() != want.Status {
		t.Inconclusive("the hook did not make the target unavailable: %s", describe(lost.ex))
	}
	delayIn(t, "limits.unavailable-delay", lost.ex)
	ex := t.SendOnce(primary, c.in.request(), target.Call{})
	if ex.Status() != want.Status {
		t.Inconclusive("the target was back too soon: %s", describe(ex))
	}
	free := jobSlotFor(t, s.Op)
	ex = afterDelay(t, primary, c.in, "limits.unavailable-delay", ex)
	c.follow(primary, ex)
	free()
	t.Judge("limits.key-free", admitted(ex), "a 2xx under the key of a request that met a 503", describe(ex))
	judgeOnly(t, s.Op, c.list, c.counted, []string{createdID(s.Op, ex)}, lost)
}
