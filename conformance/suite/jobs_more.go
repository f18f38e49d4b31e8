package suite

import (
	"fmt"
	"net/url"
	"sync"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// cut is a moment at which the client goes away.
type cut struct {
	when string
	call target.Call
}

func cuts() []cut {
	return []cut{
		{"when it had sent its request", target.Call{Cut: target.CutAfterWrite, FreshConn: true}},
		{"when the answer began", target.Call{Cut: target.CutAfterHead, FreshConn: true}},
	}
}

func jobsArtifact(t *check.T, s check.Subject, e example) {
	op := s.Op
	read := t.Contract().Op(op.Job.Artifact)
	var last *job
	var id string
	for range 3 { // the moment is short: three tries to meet it
		j := admit(t, op, "primary", e)
		end := j.end(t)
		if end.state != op.Job.Success {
			continue
		}
		id, last = member(end.ex, op.Job.Result), j
		ex := t.Call("primary", about(t, read.ID, j.in, id).request())
		if !t.Judge("jobs.artifact", ex.Status() == 200, "200 for result "+id+" at once", describe(ex)) {
			return
		}
		judgeArtifact(t, read, j, id, ex)
	}
	if last == nil {
		t.Inconclusive("no job of %s ended in %s", op.ID, op.Job.Success)
	}
	judgeListed(t, read, last, id)
	none := t.Call("primary", about(t, read.ID, last.in, "assay-"+t.Nonce()).request())
	want, ok := t.Contract().Doc.Codes["not_found"]
	if !ok {
		want = spec.Refusal{Status: 404}
	}
	t.Judge("jobs.artifact-unknown", refused(t, none, want), wanted(want)+" for a result that never was", describe(none))
}

// judgeArtifact judges a result that was read, and reads it again.
func judgeArtifact(t *check.T, read *spec.Operation, j *job, id string, ex wire.Exchange) {
	body, err := bodyOf(ex)
	if !t.Judge("jobs.artifact", err == nil, "a result in JSON", fmt.Sprint(err)) {
		return
	}
	if shown := member(ex, tree.PointerTo(lastParam(read))); shown != "" {
		t.Judge("jobs.artifact", shown == id, "result "+id, "result "+shown)
	}
	if a := read.Answers[200]; a != nil && a.Schema != nil {
		vs := a.Schema.Validate(body)
		first := ""
		if len(vs) > 0 {
			first = fmt.Sprintf("%s: %s (%s)", vs[0].Instance, vs[0].Message, vs[0].Keyword)
		}
		t.Judge("jobs.artifact-schema", len(vs) == 0, "a result that fits the schema of its kind", first)
	}
	for range 3 {
		again := t.Call("primary", about(t, read.ID, j.in, id).request())
		now, err := bodyOf(again)
		diff := differences(t, read, body, now)
		t.Judge("jobs.artifact-immutable", err == nil && again.Status() == 200 && len(diff) == 0,
			"the result as it was read first: "+describe(ex), fmt.Sprintf("%s, different at %v", describe(again), diff))
	}
}

// judgeListed looks for a result in the collection that shows results.
func judgeListed(t *check.T, read *spec.Operation, j *job, id string) {
	view, _ := bodyOf(t.Call("primary", about(t, read.ID, j.in, id).request()))
	tr, ok := results(t, j.in, view)
	if !ok {
		t.NotApplicable("jobs.artifact-listed", "no collection lists results, or it is too long to walk")
		return
	}
	times := 0
	for _, got := range tr.ids() {
		if got == id {
			times++
		}
	}
	t.Judge("jobs.artifact-listed", times == 1, "result "+id+" once", fmt.Sprintf("%d times (%s)", times, tr.shape()))
}

// results walks the collection that shows what jobs made, from the time of a given thing on where
// that can be said; ok is false if there is none or it has no end within reach.
func results(t *check.T, made intent, since any) (tr trail, ok bool) {
	read := t.Contract().Op(made.op.Job.Artifact)
	if read == nil {
		return trail{}, false
	}
	list := listShowing(t.Contract(), read)
	if list == nil || t.Profile().IsAbsent(list.ID) {
		return trail{}, false
	}
	in := newIntent(t, list, made.role)
	return whole(t, listing{op: list, role: made.role, path: in.path, query: in.query}, []any{since})
}

// whole walks a shared collection in the largest pages, from the oldest of some items on.
func whole(t *check.T, l listing, items []any) (tr trail, ok bool) {
	c := l.op.Collection
	if iso := c.Isolate; iso != nil && iso.Time {
		l = l.at(iso.Param, anchorOf(t, c, items))
	}
	n := 0
	if c.Limit != nil {
		n = c.Limit.Max
	}
	tr = l.follow(t, nil, constant(n), 60, nil)
	return tr, tr.over
}

// listShowing is the collection of what an operation reads, nil if there is none.
func listShowing(c *spec.Contract, read *spec.Operation) *spec.Operation {
	for _, ref := range read.Refs {
		if ref.In != "path" || ref.Name != lastParam(read) {
			continue
		}
		for _, op := range c.Ops {
			if op.Collection != nil && op.Collection.Resource == ref.Resource {
				return op
			}
		}
	}
	return nil
}

func jobsFailed(t *check.T, s check.Subject, e example) {
	in := prepared(t, s.Op, "primary", e)
	t.Hook(target.FailJob, nil)
	j := begin(t, in)
	end := j.end(t)
	t.Judge("jobs.failed", end.state == s.Op.Job.Failure, "state "+s.Op.Job.Failure, describe(end.ex))
	judgeOutcome(t, s.Op, machineOf(t.Contract(), s.Op), end)
	j.same(t, "jobs.final", end, "later")
}

func jobsHeld(t *check.T, s check.Subject, e example) {
	m := machineOf(t.Contract(), s.Op)
	in := prepared(t, s.Op, "primary", e)
	t.Hook(target.HoldJob, nil)
	defer t.Hook(target.ReleaseJob, nil) // however this ends: a job kept for ever would hold up others
	j := begin(t, in)
	for range 5 {
		t.Pause(longestPause / 25)
		seen := j.look(t)
		t.Judge("jobs.held", !m.IsTerminal(seen.state), "an active state while the job cannot run", describe(seen.ex))
	}
	judgePollDelay(t, s.Op)
	if s.Op.Idempotency != nil {
		ex := t.Call("primary", j.in.request())
		t.Judge("jobs.held-replay", jobID(s.Op, ex) == j.id, "the admission of job "+j.id, describe(ex))
	}
	t.Hook(target.ReleaseJob, nil)
	end := j.end(t)
	t.Judge("jobs.held", m.IsTerminal(end.state) && end.state != s.Op.Job.Cancelled, "an end of its own after the release", describe(end.ex))
	if c := s.Op.Job.Cancel; c != "" && !t.Profile().IsAbsent(c) {
		in := prepared(t, s.Op, "primary", e)
		t.Hook(target.HoldJob, nil)
		kept := begin(t, in)
		ex := t.Call("primary", about(t, c, kept.in, kept.id).request())
		t.Hook(target.ReleaseJob, nil)
		t.Judge("jobs.cancel", admitted(ex), "a 2xx for cancelling an active job", describe(ex))
		end := kept.end(t)
		judgeCancelled(t, s.Op, kept, end)
		judgeQuiet(t, s, e, kept, end)
	}
}

func jobsMany(t *check.T, s check.Subject, e example) {
	const n = 6
	ways := make([]intent, n)
	for i := range ways {
		ways[i] = prepared(t, s.Op, "primary", e)
	}
	var mu sync.Mutex
	var all []*job
	results := map[string]string{} // result -> job
	t.Lanes(n, func(t *check.T, i int) {
		j := begin(t, ways[i])
		end := j.end(t)
		t.Judge("jobs.all-end", end.state != s.Op.Job.Cancelled, "an end that nobody asked for", describe(end.ex))
		mu.Lock()
		defer mu.Unlock()
		all = append(all, j)
		if end.state == s.Op.Job.Success && s.Op.Job.Result != "" {
			id := member(end.ex, s.Op.Job.Result)
			t.Judge("jobs.distinct", id == "" || results[id] == "", "a result of its own for job "+j.id, "result "+id+" is job "+results[id]+"'s too")
			results[id] = j.id
		}
	})
	var ids []string
	for _, j := range all {
		ids = append(ids, j.id)
	}
	t.Judge("jobs.distinct", len(unique(ids)) == n, fmt.Sprintf("%d jobs", n), fmt.Sprintf("%d: %v", len(unique(ids)), ids))
	switch list := listOf(t.Contract(), s.Op); {
	case list == nil:
	case t.Profile().IsAbsent(list.ID):
		t.NotApplicable("jobs.listed", list.ID+" is declared absent in the profile")
	default:
		judgeJobsListed(t, list, all, ids)
	}
}

// judgeJobsListed walks the collection of jobs from the oldest of these on.
func judgeJobsListed(t *check.T, list *spec.Operation, all []*job, ids []string) {
	var views []any
	for _, j := range all {
		views = append(views, j.look(t).body)
	}
	tr, ok := whole(t, listing{op: list, role: "primary", path: all[0].in.path, query: url.Values{}}, views)
	if !ok {
		t.NotApplicable("jobs.listed", "the collection is too long to walk")
		return
	}
	w := tr.walk(list.Collection)
	w.Present = ids
	var bad []string
	for _, p := range w.Judge() {
		if p.Kind == oracle.Missing || p.Kind == oracle.Duplicate {
			bad = append(bad, p.String())
		}
	}
	t.Judge("jobs.listed", len(bad) == 0, fmt.Sprintf("each of %d jobs once", len(ids)), listed(bad)+" ("+tr.shape()+")")
}
