package suite

import (
	"fmt"
	"slices"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// bystanders are requests that are sent while a connection has as many jobs as it may have. They are
// prepared before, since what they need may be a job.
type bystanders struct {
	kind  intent // another kind of job of the same connection; its op is nil if the contract has none
	other intent // the same kind of job of another connection
	begun []begun
}

type begun struct {
	in intent
	id string
}

func bystandersOf(t *check.T, op *spec.Operation, example int) *bystanders {
	b := &bystanders{other: exampleIntent(t, op, primary, map[string]string{}, example).keyed(t.Key())}
	for _, s := range only(keyed(t.Contract()), beginsJobs) {
		if s.Op.ID == op.ID || t.Profile().IsAbsent(s.Op.ID) {
			continue
		}
		i := slices.IndexFunc(specimens(t, s.Op), func(sm specimen) bool { return sm.job })
		if i >= 0 {
			b.kind = exampleIntent(t, s.Op, small, map[string]string{}, specimens(t, s.Op)[i].example).keyed(t.Key())
			break
		}
	}
	return b
}

// judgeFull sends them beside the active jobs, and one of those again.
func (b *bystanders) judgeFull(t *check.T, held []string, as []intent) {
	limit := coded(t.Contract(), "too_many_jobs", 429)
	if len(held) > 0 {
		ex := pastRate(t, as[0], limit)
		t.Judge("idempotency.replay", jobID(as[0].op, ex) == held[0], "job "+held[0]+" again under its key, though there is no room for another", describe(ex))
	} else {
		t.NotApplicable("idempotency.replay", "no job was admitted")
	}
	if b.kind.op != nil {
		ex := pastRate(t, b.kind, limit)
		b.note(b.kind, ex)
		t.Judge("limits.jobs-beyond", ex.Status() == limit.Status, fmt.Sprintf("status %d for a job of %s beside %d active ones of another kind", limit.Status, b.kind.op.ID, len(held)), describe(ex))
	}
	if own, ok := seconds(t, spec.Period{Limit: "concurrentJobs"}, primary); !ok || own <= len(held)+len(b.begun) {
		// The two may be one client's: then they share what is told, and it could be used up.
		t.NotApplicable("limits.jobs-apart", "the other connection tells no limit that leaves room beside these jobs")
		return
	}
	ex := t.SendOnce(primary, b.other.request(), target.Call{})
	b.note(b.other, ex)
	t.Judge("limits.jobs-apart", !refused(t, ex, limit), "room for a job of another connection", describe(ex))
}

func (b *bystanders) note(in intent, ex wire.Exchange) {
	if id := jobID(in.op, ex); id != "" {
		b.begun = append(b.begun, begun{in, id})
	}
}

// end waits for those that were admitted.
func (b *bystanders) end(t *check.T) {
	for _, j := range b.begun {
		rested(t)
		awaited(t, j.in, j.id)
	}
}

func (b *bystanders) ids() []string {
	var out []string
	for _, j := range b.begun {
		out = append(out, j.id)
	}
	return out
}

// judgeCreations sends creations alone, where none of many met the limit that reads had met: together
// they may be no more than fit into two windows of a minute.
func (m *meter) judgeCreations(in intent) {
	const mostMade = 200 // resources that this may leave behind
	limit := tooFast(m.t.Contract()).Status
	bound := 2*m.most + 20
	if m.most == 0 || bound-m.passed(limit) > mostMade {
		return
	}
	for m.passed(limit) <= bound && m.t.Now()-m.began < perRate {
		try := in.keyed(m.t.Key())
		ex := m.t.SendOnce(small, try.request(), target.Call{})
		if ex.Status() == limit {
			return // it is kept after all, though not at once
		}
		m.let = append(m.let, createdID(in.op, ex))
	}
	n := m.passed(limit)
	m.t.Must("limits.beyond", n <= bound || m.t.Now()-m.began >= perRate,
		fmt.Sprintf("a %d for a creation among %d requests in a minute, at %d allowed", limit, m.spent(), m.most), fmt.Sprintf("%d that were not refused", n))
}

// passed counts what was not refused for the rate.
func (m *meter) passed(limit int) int {
	n := 0
	for _, ex := range m.t.Exchanges()[m.from:] {
		if ex.Role == small && ex.Status() != limit {
			n++
		}
	}
	return n
}
