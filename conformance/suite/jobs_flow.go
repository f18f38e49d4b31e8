package suite

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

func jobsAccepted(t *check.T, s check.Subject, e example) {
	for _, byURL := range []bool{true, false} { // whichever way is taken first, finds the job
		if !byURL || hasStatusURL(s) {
			judgeAdmission(t, s.Op, prepared(t, s.Op, "primary", e), byURL)
		}
	}
}

func judgeAdmission(t *check.T, op *spec.Operation, in intent, byURL bool) {
	free := t.JobSlot()
	ex := t.Call("primary", in.request())
	if !admitted(ex) {
		t.Inconclusive("%s was refused: %s", op.ID, describe(ex))
	}
	id := jobID(op, ex)
	t.Must("jobs.accepted", id != "", fmt.Sprintf("status %d with an id at %s", op.Job.Accepted, op.Job.ID), describe(ex))
	m := machineOf(t.Contract(), op)
	if state := member(ex, op.Job.State); state != "" && m.Initial != "" {
		t.Judge("jobs.accepted", state == m.Initial, "state "+m.Initial, "state "+state)
	}
	if byURL {
		at := ex.Header(op.Job.StatusURL.Name)
		if op.Job.StatusURL.Part == "body" {
			at = member(ex, op.Job.StatusURL.Pointer)
		}
		judgeStatusURL(t, op, at, id)
	} else {
		first := t.Call("primary", about(t, op.Job.Read, in, id).request())
		t.Judge("jobs.known-at-once", first.Status() == 200, "200 for the job that was admitted a moment ago", describe(first))
	}
	awaited(t, in, id)
	free()
}

// judgeStatusURL follows the URL that an admission gave.
func judgeStatusURL(t *check.T, op *spec.Operation, at, id string) {
	const claim = "jobs.status-url"
	path, ok := within(t.Profile().BaseURL, at)
	if !t.Judge(claim, ok, "a URL at "+op.Job.StatusURL.String()+" below the service's base", fmt.Sprintf("%q", at)) {
		return
	}
	read := t.Contract().Op(op.Job.Read)
	ex := t.Call("primary", wire.Request{Operation: read.ID, Method: read.Method, Target: path})
	if !t.Judge(claim, ex.Status() == 200, "200 at "+at, describe(ex)) {
		return
	}
	if op.Job.ID.Part == "body" {
		if shown := member(ex, op.Job.ID.Pointer); shown != "" {
			t.Judge(claim, shown == id, "job "+id, "job "+shown)
		}
	}
}

// within turns a reference from an answer into a request target: relative to the service's base
// (its path is kept before it), or absolute below it.
func within(base, ref string) (target string, ok bool) {
	if rest, cut := strings.CutPrefix(ref, base); cut && strings.HasPrefix(rest, "/") {
		return rest, true
	}
	u, err := url.Parse(ref)
	if err != nil || u.Scheme != "" || u.Host != "" || ref == "" || strings.HasPrefix(ref, "#") {
		return "", false
	}
	if !strings.HasPrefix(ref, "/") {
		ref = "/" + ref
	}
	return ref, !strings.ContainsAny(ref, " \r\n")
}

func jobsStates(t *check.T, s check.Subject, e example) {
	j := admit(t, s.Op, "primary", e)
	m := machineOf(t.Contract(), s.Op)
	for p := newPacer(t).of(s.Op).closely(); ; {
		seen := j.look(t)
		judgeOutcome(t, s.Op, m, seen)
		if m.IsTerminal(seen.state) {
			p.ended(t)
			break
		}
		p.wait(t, seen.ex)
	}
	j.free()
	for ended := t.Now(); t.Now()-ended < endingFor; t.Pause(closePause) {
		judgeOutcome(t, s.Op, m, j.look(t))
	}
	judgePollDelay(t, s.Op)
	for _, state := range j.shown {
		t.Judge("jobs.states", m.Open || m.Knows(state), "a state of the machine", fmt.Sprintf("%q", state))
	}
	if m.Initial == "" {
		t.NotApplicable("jobs.transitions", "the contract has no machine for this job")
		return
	}
	m.Open = true // states of no machine are judged above
	err := m.Observed(j.shown)
	t.Judge("jobs.transitions", err == nil, "states that can follow each other", fmt.Sprintf("%v: %v", err, compact(j.shown)))
}

// endingFor is how long a job is read closely after its end first showed: two servers that do not
// agree yet, or a worker that is late, show in that time what was before.
const endingFor = 80 * time.Millisecond

// compact leaves repetitions out.
func compact(states []string) []string {
	var out []string
	for _, s := range states {
		if len(out) == 0 || out[len(out)-1] != s {
			out = append(out, s)
		}
	}
	return out
}

// judgeOutcome judges which of result and error one read may and must show.
func judgeOutcome(t *check.T, op *spec.Operation, m oracle.Machine, seen sighting) {
	for _, member := range []struct {
		at    tree.Pointer
		state string
	}{{op.Job.Result, op.Job.Success}, {op.Job.Error, op.Job.Failure}} {
		switch has := shows(seen.body, member.at); {
		case member.at == "":
		case seen.state == member.state:
			t.Judge("jobs.result", has, fmt.Sprintf("a value at %s in state %s", member.at, seen.state), describe(seen.ex))
		case m.Knows(seen.state):
			t.Judge("jobs.result-absent", !has, fmt.Sprintf("nothing at %s in state %s", member.at, seen.state), describe(seen.ex))
		}
	}
}

// endedFor is how long an ended job is watched: a sweep or a cache that changes it comes by once a second.
const endedFor = 1200 * time.Millisecond

func jobsTerminal(t *check.T, s check.Subject, e example) {
	c := s.Op.Job.Cancel
	var stopped *job
	var stoppedEnd sighting
	switch {
	case c == "":
	case t.Profile().IsAbsent(c):
		t.NotApplicable("jobs.cancel-ended", c+" is declared absent in the profile")
		c = ""
	default:
		stopped = admit(t, s.Op, "primary", e)
		t.Call("primary", about(t, c, stopped.in, stopped.id).request())
		stoppedEnd = stopped.end(t)
	}
	j := admit(t, s.Op, "primary", e)
	end := j.end(t)
	seen := t.Now()
	j.same(t, "jobs.final", end, "at a second read")
	if c != "" {
		ex := t.Call("primary", about(t, c, j.in, j.id).request())
		t.Judge("jobs.cancel-ended", taken(t, s.Op, ex), "a 2xx, or a conflict if the contract has one, for a cancellation that comes too late", describe(ex))
		j.same(t, "jobs.cancel-ended", end, "after a cancellation that came too late")
	}
	if s.Op.Idempotency != nil {
		free := t.JobSlot()
		ex := t.Call("primary", j.in.request())
		if again := jobID(s.Op, ex); again != "" && again != j.id {
			awaited(t, j.in, again) // another family judges that
		}
		free()
		j.same(t, "jobs.final", end, "after a replay of its creation")
	}
	for range 3 {
		t.Pause(longestPause / 10)
		j.same(t, "jobs.final", end, "a while later")
	}
	t.Pause(max(0, endedFor-(t.Now()-seen)))
	j.same(t, "jobs.final", end, "more than a second later")
	if stopped != nil {
		stopped.same(t, "jobs.final", stoppedEnd, "more than a second after its cancellation")
	}
}

// same judges that an ended job still is what it was.
func (j *job) same(t *check.T, claim string, end sighting, when string) {
	now := j.look(t)
	diff := differences(t, t.Contract().Op(j.in.op.Job.Read), end.body, now.body)
	t.Judge(claim, len(diff) == 0, "the job as it ended, "+when+": "+describe(end.ex), fmt.Sprintf("%s, different at %v", describe(now.ex), diff))
}

func jobsCancel(t *check.T, s check.Subject, e example) {
	j := cancelled(t, s, e)
	if j == nil {
		for _, c := range []string{"jobs.cancel", "jobs.cancel-quiet", "jobs.result-absent"} {
			t.NotApplicable(c, "every job had ended before it could be cancelled")
		}
		return
	}
	end := j.end(t)
	judgeCancelled(t, s.Op, j, end)
	if at := s.Op.Job.Error; at == "" || end.state != s.Op.Job.Cancelled {
		t.NotApplicable("jobs.result-absent", "the contract names no error, or the job did not end as cancelled")
	} else {
		t.Judge("jobs.result-absent", !shows(end.body, at), "nothing at "+string(at)+" of a cancelled job", describe(end.ex))
	}
	ex := t.Call("primary", about(t, s.Op.Job.Cancel, j.in, j.id).request())
	t.Judge("jobs.cancel-twice", taken(t, s.Op, ex), "a 2xx, or a conflict if the contract has one, for a second cancellation", describe(ex))
	j.same(t, "jobs.cancel-twice", end, "after a second cancellation")
	judgeQuiet(t, s, e, j, end)
}

// judgeQuiet: what would still turn up of a cancelled job has had its time when a job that began
// later has ended.
func judgeQuiet(t *check.T, s check.Subject, e example, j *job, end sighting) {
	later := admit(t, s.Op, "primary", e)
	later.end(t)
	j.same(t, "jobs.cancel-quiet", end, "when a later job had ended")
	if tr, ok := results(t, j.in, end.body); ok {
		for _, p := range tr.pages {
			for i, it := range p.items {
				t.Judge("jobs.cancel-quiet", !holdsText(it, j.id), "no result of cancelled job "+j.id, "result "+p.ids[i])
			}
		}
	}
}

// holdsText reports whether a value holds a text.
func holdsText(v any, s string) bool {
	switch x := v.(type) {
	case string:
		return x == s
	case map[string]any:
		for _, e := range x {
			if holdsText(e, s) {
				return true
			}
		}
	case []any:
		for _, e := range x {
			if holdsText(e, s) {
				return true
			}
		}
	}
	return false
}

// taken reports whether a cancellation was taken: with a 2xx, or as a conflict that the contract documents.
func taken(t *check.T, op *spec.Operation, ex wire.Exchange) bool {
	return admitted(ex) || ex.Status() == 409 && t.Contract().Op(op.Job.Cancel).Answers[409] != nil
}

// cancelled begins a job and cancels it at once, until one is still active when the cancellation
// comes; nil if none was.
func cancelled(t *check.T, s check.Subject, e example) *job {
	m := machineOf(t.Contract(), s.Op)
	for range 4 {
		j := admit(t, s.Op, "primary", e)
		ex := t.Call("primary", about(t, s.Op.Job.Cancel, j.in, j.id).request())
		t.Judge("jobs.cancel-twice", taken(t, s.Op, ex), "a 2xx, or a conflict if the contract has one, for a cancellation", describe(ex))
		state := member(ex, s.Op.Job.State)
		if admitted(ex) && state == "" { // it does not tell; only a job that did not end otherwise does
			state = s.Op.Job.Cancelled
		}
		if admitted(ex) && (state == s.Op.Job.Cancelled || !m.IsTerminal(state)) {
			return j
		}
		end := j.end(t)
		j.same(t, "jobs.cancel-twice", end, "after a cancellation that came too late")
	}
	return nil
}

func judgeCancelled(t *check.T, op *spec.Operation, j *job, end sighting) {
	t.Judge("jobs.cancel", end.state == op.Job.Cancelled, "state "+op.Job.Cancelled+" for a job that was active when it was cancelled", describe(end.ex))
	if op.Job.Result != "" {
		t.Judge("jobs.cancel", !shows(end.body, op.Job.Result), "no result of a cancelled job", describe(end.ex))
	}
}

func jobsAbandoned(t *check.T, s check.Subject, e example) {
	for _, cut := range cuts() {
		in := prepared(t, s.Op, "primary", e)
		free := t.JobSlot()
		t.SendOnce("primary", in.request(), cut.call)
		free() // to take two at a time could leave every case waiting for its second
		// The repetition under the same key begins the job or finds it begun.
		j := begin(t, in)
		end := j.end(t)
		t.Judge("jobs.abandoned", end.state != s.Op.Job.Cancelled, "an end of its own for a job whose client went away "+cut.when, describe(end.ex))
		j.same(t, "jobs.abandoned", end, "later")
	}
}
