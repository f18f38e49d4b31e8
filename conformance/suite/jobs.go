package suite

import (
	"context"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// jobs judges background work from its admission to its artifact.
func jobs() []check.Check {
	rows := []check.Check{
		{
			ID:   "jobs.accepted",
			Does: "Admits a job and reads it at once, by its id and by its status URL.",
			Claims: []check.Claim{
				{ID: "jobs.accepted", Says: "An admission has the promised status, names the job, and shows no other than the initial state."},
				{ID: "jobs.status-url", Says: "The status URL leads, from the service's base, to that job.", For: hasStatusURL},
				{ID: "jobs.known-at-once", Says: "An admitted job can be read from the first moment on."},
			},
			Cost: check.Cost{Requests: 20, Jobs: 1},
			Run:  onJobs(jobsAccepted),
		},
		{
			ID:   "jobs.states",
			Does: "Polls a job closely from its admission to its end.",
			Claims: []check.Claim{
				{ID: "jobs.states", Says: "A job shows only states of its machine."},
				{ID: "jobs.transitions", Says: "Each state that a job shows can be reached from the one before."},
				{ID: "jobs.result", Says: "A job that ended well names its result, and one that failed says why."},
				{ID: "jobs.result-absent", Says: "A result is shown in success only, and an error in failure only."},
				{ID: "jobs.poll-delay", Says: pollDelaySays},
			},
			Cost: check.Cost{Requests: 400, Jobs: 1},
			Run:  onJobs(jobsStates),
		},
		{
			ID:   "jobs.terminal",
			Does: "Reads an ended job again and again: after a pause, after cancelling it, after a replay of its creation.",
			Claims: []check.Claim{
				{ID: "jobs.final", Says: "A job that has ended is the same at every later read."},
				{ID: "jobs.cancel-ended", Says: "Cancelling a job that has ended changes nothing.", For: hasCancel},
			},
			Cost: check.Cost{Requests: 400, Jobs: 1},
			Run:  onJobs(jobsTerminal),
		},
		{
			ID:   "jobs.artifact",
			Does: "Reads a job's result the moment that success shows, and again.",
			Claims: []check.Claim{
				{ID: "jobs.artifact", Says: "A result can be read from the first moment that success shows, under the id that the job names."},
				{ID: "jobs.artifact-schema", Says: "A result fits the schema of its kind."},
				{ID: "jobs.artifact-immutable", Says: "A result is the same at every read."},
				{ID: "jobs.artifact-listed", Says: "A collection of results lists each once."},
				{ID: "jobs.artifact-unknown", Says: "A result that never was is not found."},
			},
			Cost: check.Cost{Requests: 1200, Jobs: 1},
			Run:  onJobs(jobsArtifact),
		},
		{
			ID:   "jobs.cancel",
			Does: "Cancels jobs that have just begun, twice, and waits until a later one has ended.",
			Claims: []check.Claim{
				{ID: "jobs.cancel", Says: "An active job that is cancelled ends as cancelled, with neither result nor another end."},
				{ID: "jobs.cancel-twice", Says: "Cancelling twice is as good as once."},
				{ID: "jobs.result-absent", Says: "A result is shown in success only, and an error in failure only."},
				{ID: "jobs.cancel-quiet", Says: "A cancelled job stays as it ended, and no result of it turns up."},
			},
			Cost: check.Cost{Requests: 800, Jobs: 1},
			Run:  onJobs(jobsCancel),
		},
		{
			ID:   "jobs.failed",
			Does: "Makes a job fail.",
			Claims: []check.Claim{
				{ID: "jobs.failed", Says: "A job whose work fails ends as failed."},
				{ID: "jobs.result", Says: "A job that ended well names its result, and one that failed says why."},
				{ID: "jobs.result-absent", Says: "A result is shown in success only, and an error in failure only."},
				{ID: "jobs.final", Says: "A job that has ended is the same at every later read."},
			},
			Needs: []target.Capability{target.FailJob},
			Lock:  check.Target,
			Cost:  check.Cost{Requests: 400, Jobs: 1},
			Run:   onJobs(jobsFailed),
		},
		{
			ID:   "jobs.held",
			Does: "Keeps a job from running, repeats its creation, releases it; cancels another that is kept.",
			Claims: []check.Claim{
				{ID: "jobs.held", Says: "A job that cannot run yet stays active, and ends when it can."},
				{ID: "jobs.poll-delay", Says: pollDelaySays},
				{ID: "jobs.held-replay", Says: "While a job is active, a repetition of its creation leads to it and admits no other.", For: hasKey},
				{ID: "jobs.cancel", Says: "An active job that is cancelled ends as cancelled, with neither result nor another end.", For: hasCancel},
				{ID: "jobs.cancel-quiet", Says: "A cancelled job stays as it ended, and no result of it turns up.", For: hasCancel},
			},
			Needs: []target.Capability{target.HoldJob, target.ReleaseJob},
			Lock:  check.Target,
			Cost:  check.Cost{Requests: 800, Jobs: 2},
			Run:   onJobs(jobsHeld),
		},
		{
			ID:     "jobs.abandoned",
			Does:   "Breaks the connection behind a creation, then repeats it under its key and follows the job.",
			Claims: []check.Claim{{ID: "jobs.abandoned", Says: "A client that goes away cancels nothing: the job that it began comes to an end of its own."}},
			Cost:   check.Cost{Requests: 800, Jobs: 1},
			Run:    onJobs(jobsAbandoned),
		},
		{
			ID:   "jobs.many",
			Does: "Admits several jobs at once and follows all of them.",
			Claims: []check.Claim{
				{ID: "jobs.all-end", Says: "Every admitted job comes to an end, however many run at once."},
				{ID: "jobs.distinct", Says: "Each admission is a job of its own, with a result of its own."},
				{ID: "jobs.listed", Says: "The collection of jobs lists each once.", For: hasJobList},
			},
			Cost: check.Cost{Requests: 2000, Jobs: 6},
			Run:  onJobs(jobsMany),
		},
	}
	for i := range rows {
		rows[i].Select = selectJobs(rows[i].ID)
	}
	return rows
}

// selectJobs gives one subject an operation that admits jobs, with what its case calls besides.
func selectJobs(id string) func(*spec.Contract) []check.Subject {
	return func(c *spec.Contract) []check.Subject {
		var out []check.Subject
		for _, op := range c.Ops {
			if op.Job == nil || c.Op(op.Job.Read) == nil {
				continue
			}
			s := check.Subject{Name: op.ID, Op: op, Other: c.Op(op.Job.Read)}
			switch id {
			case "jobs.artifact":
				if op.Job.Artifact == "" {
					continue
				}
				s.Calls = append(s.Calls, c.Op(op.Job.Artifact))
			case "jobs.cancel":
				if op.Job.Cancel == "" {
					continue
				}
				s.Calls = append(s.Calls, c.Op(op.Job.Cancel))
			case "jobs.abandoned":
				if op.Idempotency == nil {
					continue // nothing else leads back to a job whose admission was not seen
				}
			}
			out = append(out, s)
		}
		return out
	}
}

func hasStatusURL(s check.Subject) bool { return !s.Op.Job.StatusURL.IsZero() }
func hasCancel(s check.Subject) bool    { return s.Op.Job.Cancel != "" }
func hasJobList(s check.Subject) bool   { return s.Op.Creates != nil && s.Op.Creates.List != "" }

// onJobs runs a flow on an operation that answers with a job. One that answers some requests at
// once and others in the background does so for one of the contract's examples, or has nothing to judge.
func onJobs(run func(*check.T, check.Subject, example)) func(context.Context, *check.T, check.Subject) {
	return func(_ context.Context, t *check.T, s check.Subject) {
		ex := background(t, s.Op, "primary")
		if ex < 0 {
			t.NoneApply(s.Op.ID + " answers none of the contract's examples with a job")
			return
		}
		run(t, s, ex)
	}
}

// example is the index of a body that is answered with a job.
type example int

// background finds it once a run; -1: every example that was accepted was answered at once.
func background(t *check.T, op *spec.Operation, role string) example {
	v, err := t.Once("suite background "+role+" "+op.ID, func() (any, error) {
		ways := waysOf(t, op, role, map[string]string{})
		accepted := false
		for i, in := range ways {
			free := t.JobSlot()
			ex := t.Call(role, in.keyed(t.Key()).request())
			accepted = accepted || admitted(ex)
			if ex.Status() == op.Job.Accepted {
				if settle(t, in, jobID(op, ex)) {
					free()
				}
				return example(i), nil
			}
			free()
		}
		if !accepted {
			t.Inconclusive("%s accepted none of the contract's examples", op.ID)
		}
		return example(-1), nil
	})
	if err != nil {
		t.Inconclusive("no job can be begun with %s: %v", op.ID, err)
	}
	return v.(example)
}

// job is one that the case admitted.
type job struct {
	in    intent // its creation
	ex    wire.Exchange
	id    string
	shown []string // states as its reads showed them
	free  func()   // gives the slot back
}

// prepared is a creation that will be answered with a job.
func prepared(t *check.T, op *spec.Operation, role string, e example) intent {
	in := waysOf(t, op, role, map[string]string{})[e]
	if op.Idempotency != nil {
		in = in.keyed(t.Key())
	}
	return in
}

// admit begins a job.
func admit(t *check.T, op *spec.Operation, role string, e example) *job {
	return begin(t, prepared(t, op, role, e))
}

func begin(t *check.T, in intent) *job {
	free := t.JobSlot()
	ex := t.Call(in.role, in.request())
	j := &job{in: in, ex: ex, id: jobID(in.op, ex), free: free}
	if ex.Status() != in.op.Job.Accepted || j.id == "" {
		t.Inconclusive("%s did not begin a job this time: %s", in.op.ID, describe(ex))
	}
	return j
}

// jobID is the id in an admission, "" if it is none.
func jobID(op *spec.Operation, ex wire.Exchange) string {
	if ex.Status() != op.Job.Accepted {
		return ""
	}
	if op.Job.ID.Part == "header" {
		return ex.Header(op.Job.ID.Name)
	}
	return member(ex, op.Job.ID.Pointer)
}

// sighting is a job as one read showed it.
type sighting struct {
	ex    wire.Exchange
	body  any
	state string
}

// look reads a job. One that cannot be read at first is tried again, since jobs.accepted alone
// judges that; one that stays away ends the flow.
func look(t *check.T, made intent, id string) sighting {
	for n := 0; ; n++ {
		ex := t.Call(made.role, about(t, made.op.Job.Read, made, id).request())
		body, err := bodyOf(ex)
		if ex.Status() == 200 && err == nil {
			return sighting{ex: ex, body: body, state: member(ex, made.op.Job.State)}
		}
		if n == 3 {
			t.Inconclusive("the job of %s could not be read: %s", made.op.ID, describe(ex))
		}
		t.Pause(longestPause / 20)
	}
}

// look reads the job and notes its state.
func (j *job) look(t *check.T) sighting {
	s := look(t, j.in, j.id)
	j.shown = append(j.shown, s.state)
	return s
}

// end polls until the job has ended, and gives the slot back.
func (j *job) end(t *check.T) sighting {
	m := machineOf(t.Contract(), j.in.op)
	for p := newPacer(t).of(j.in.op); ; {
		s := j.look(t)
		if m.IsTerminal(s.state) {
			p.ended(t)
			j.free()
			return s
		}
		p.wait(t, s.ex)
	}
}

// awaited polls a job to its end for a case that does not judge it.
func awaited(t *check.T, made intent, id string) sighting {
	m := machineOf(t.Contract(), made.op)
	for p := newPacer(t).of(made.op); ; {
		s := look(t, made, id)
		if m.IsTerminal(s.state) {
			p.ended(t)
			return s
		}
		p.wait(t, s.ex)
	}
}

// settle ends a job that is there to fill a collection only: it is cancelled where that can be
// done, to cost the target little, and waited for. false: it is still active.
func settle(t *check.T, made intent, id string) bool {
	if c := made.op.Job.Cancel; c != "" && !t.Profile().IsAbsent(c) {
		t.Call(made.role, about(t, c, made, id).request())
	}
	m := machineOf(t.Contract(), made.op)
	for p := newPacer(t); t.Now()-p.begun < 10*time.Second; {
		s := look(t, made, id)
		if m.IsTerminal(s.state) {
			return true
		}
		p.wait(t, s.ex)
	}
	return false
}

// pacer waits between two polls: at first not at all, then a twentieth of the time so far, so that
// the end of a short job is met closely and a long one costs few requests; never less than the target asks for.
type pacer struct {
	header string
	job    string // the operation that admitted the job; "": it is no job's end that is waited for
	begun  time.Duration
	n      int
	close  int // this many waits are short
}

// closely makes the next waits so short that a state that shows for a few of them is seen.
func (p *pacer) closely() *pacer {
	p.close = closePolls
	return p
}

const (
	closePause = 5 * time.Millisecond
	closePolls = 200 // of the requests that a case may take
)

func newPacer(t *check.T) *pacer {
	return &pacer{header: delayHeader(t.Contract()), begun: t.Now()}
}

// of says whose jobs' end is waited for.
func (p *pacer) of(op *spec.Operation) *pacer {
	p.job = op.ID
	return p
}

const (
	freePolls    = 10 // a short job is met closely
	leastPause   = 2 * time.Millisecond
	longestPause = 500 * time.Millisecond
	lastPolls    = 5 * time.Second  // before a case runs out of time
	patience     = 10 * time.Second // with jobs of a kind of which one used up a whole case
)

func (p *pacer) wait(t *check.T, ex wire.Exchange) {
	p.n++
	d, asked := wire.ParseRetryAfter(ex.Header(p.header), time.Now())
	if !asked && p.n > freePolls {
		d = min(longestPause, max(leastPause, (t.Now()-p.begun)/20))
		if p.n < p.close {
			d = min(d, closePause)
		}
	}
	p.giveUp(t, ex, d)
	if d > 0 {
		t.Pause(d)
	}
}

// giveUp ends the flow when a job cannot end any more in the time that there is. Where one has used
// up a whole case, the others of its kind are not waited for as long: that would cost two minutes each.
func (p *pacer) giveUp(t *check.T, ex wire.Exchange, next time.Duration) {
	waited := t.Now() - p.begun
	switch {
	case p.job == "":
	case t.Left() < lastPolls && waited > 6*lastPolls:
		t.Learn(p.fact(), true)
	case waited > patience && t.Learnt(p.fact()):
		t.Inconclusive("the job of %s did not end within %s, and an earlier one never ended", p.job, waited.Round(time.Second))
	}
	if p.job != "" && t.Left() <= max(next, longestPause/10) {
		t.Inconclusive("the job of %s did not end within the %s that were left for it; its last answer: %s", p.job, waited.Round(100*time.Millisecond), describe(ex))
	}
}

// ended notes that jobs of this kind do end.
func (p *pacer) ended(t *check.T) { t.Learn(p.fact(), false) }

func (p *pacer) fact() string { return "never ends: " + p.job }

// machineOf is the state machine of the jobs that an operation admits.
func machineOf(c *spec.Contract, op *spec.Operation) oracle.Machine {
	var m *spec.States
	for _, ref := range c.Op(op.Job.Read).Refs {
		if ref.In == "path" && m == nil {
			m = c.Machine(ref.Resource)
		}
	}
	if m == nil && op.Creates != nil {
		m = c.Machine(op.Creates.Resource)
	}
	if m == nil { // no machine is promised; what ends it is
		return oracle.Machine{Terminal: []string{op.Job.Success, op.Job.Failure, op.Job.Cancelled}, Open: true}
	}
	return oracle.Machine{Initial: m.Initial, Transitions: m.Transitions, Terminal: m.Terminal, Open: m.Open}
}

// shows reports whether a job shows a member with a value.
func shows(body any, p tree.Pointer) bool {
	v, ok := tree.Get(body, p)
	return ok && v != nil && v != ""
}

// differences compares two representations of one thing, as far as they may not differ.
func differences(t *check.T, op *spec.Operation, a, b any) []string {
	var ignore []string
	for _, p := range append(append([]tree.Pointer{}, t.Contract().Doc.Volatile...), op.Volatile...) {
		ignore = append(ignore, string(p))
	}
	return oracle.Diff(a, b, ignore)
}
