package suite

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/target"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// events judges the log of changes, where the contract has a collection of resource type "event".
func events() []check.Check {
	return []check.Check{
		{
			ID:   "events.history",
			Does: "Moves a resource along its machine, once to each end that can be had, and reads what the log has of it.",
			Claims: []check.Claim{
				{ID: "events.complete", Says: "The log has every change of state, from the first state to the last that was shown."},
				{ID: "events.legal", Says: "The log's states follow the machine: each one transition after the one before."},
				{ID: "events.once", Says: "The log has each change once, and each event under an id of its own."},
				{ID: "events.steady", Says: "What the log has of the past does not change."},
			},
			Select: selectLogged,
			Cost:   check.Cost{Requests: 600, Jobs: 1},
			Run:    runHistory,
		},
		{
			ID:   "events.kept",
			Does: "Reads the log of a resource close to the end of the retention, and long after it.",
			Claims: []check.Claim{
				{ID: "events.kept", Says: "Events are kept for their whole retention."},
				{ID: "events.purged", Says: "Events that are long past their retention are gone."},
			},
			Needs:  []target.Capability{target.AdvanceClock},
			Lock:   check.Target,
			Select: selectKept,
			Cost:   check.Cost{Requests: 200, Jobs: 1},
			Run:    runKept,
		},
	}
}

// logOf is the collection of events; nil if there is none.
func logOf(c *spec.Contract) *spec.Operation {
	i := slices.IndexFunc(c.Ops, func(op *spec.Operation) bool { return op.Collection != nil && op.Collection.Resource == "event" })
	if i < 0 {
		return nil
	}
	return c.Ops[i]
}

// selectLogged gives the creations of resources that have a machine which the log follows; Other is the log.
func selectLogged(c *spec.Contract) []check.Subject {
	list := logOf(c)
	if list == nil {
		return nil
	}
	var out []check.Subject
	for _, op := range c.Ops {
		if m := machineIn(c, op); m == nil || !follows(list, m) {
			continue
		}
		s := check.Subject{Name: op.ID, Op: op, Other: list}
		for _, step := range c.Ops { // what its case may call
			if op.Job == nil && step.Moves != nil && step.Moves.Resource == op.Creates.Resource {
				s.Calls = append(s.Calls, step)
			}
		}
		out = append(out, s)
	}
	return out
}

func selectKept(c *spec.Contract) []check.Subject {
	if cn := c.Doc.Connection; cn == nil || cn.Limits["eventRetention"] == "" {
		return nil
	}
	all := selectLogged(c)
	return all[:min(1, len(all))]
}

// machineIn is the machine of what an operation creates, be it a resource or a job.
func machineIn(c *spec.Contract, op *spec.Operation) *spec.States {
	if op.Job != nil {
		if read := c.Op(op.Job.Read); read != nil && pathRef(read) != nil {
			return c.Machine(pathRef(read).Resource)
		}
		return nil
	}
	if op.Creates == nil || op.Moves != nil {
		return nil
	}
	return c.Machine(op.Creates.Resource)
}

// follows reports whether a log says that it has a machine's states: one of its filters lists a value
// that names both.
func follows(list *spec.Operation, m *spec.States) bool {
	for _, p := range list.Params {
		if p.In != "query" || p.Schema == nil {
			continue
		}
		values, _ := keyword(p.Schema, "", "enum").([]any)
		if slices.ContainsFunc(values, func(v any) bool {
			return strings.Contains(text(v), m.Resource) && strings.Contains(text(v), m.Initial)
		}) {
			return true
		}
	}
	return false
}

// entry is what the log has of one change.
type entry struct {
	id, state string
	item      any
}

// entries are those of one resource, oldest first; ok is false if the log is too long to be read.
func entries(t *check.T, m *spec.States, id string, view any) (found []entry, ok bool) {
	list := logOf(t.Contract())
	c := list.Collection
	l := listing{op: list, role: primary, query: url.Values{}}
	for _, f := range c.Filters {
		if f.Match == "equal" && lastToken(f.Member) != lastToken(m.Schema) && !enumerated(list, f.Param) {
			l = l.at(f.Param, id)
			break
		}
	}
	tr, over := whole(t, l, []any{view})
	for _, p := range tr.pages {
		for i, it := range p.items {
			state, _ := tree.Get(it, tree.PointerTo(lastToken(m.Schema)))
			if holdsText(it, id) {
				found = append(found, entry{p.ids[i], text(state), it})
			}
		}
	}
	if by := promised(c, nil); by != nil && by.Desc {
		slices.Reverse(found)
	}
	return found, over
}

func enumerated(op *spec.Operation, param string) bool {
	return slices.ContainsFunc(op.Params, func(p spec.Param) bool {
		return p.In == "query" && p.Name == param && p.Schema != nil && keyword(p.Schema, "", "enum") != nil
	})
}

// course is a resource that was moved, with the states that its reads showed.
type course struct {
	id    string
	view  any
	shown []string
}

func runHistory(_ context.Context, t *check.T, s check.Subject) {
	m := machineIn(t.Contract(), s.Op)
	for _, c := range courses(t, s, m) {
		judgeHistory(t, m, c)
	}
}

// courses bring resources to what ends there are: a job to its own and to a cancelled one, a resource
// to every state that operations lead to.
func courses(t *check.T, s check.Subject, m *spec.States) []course {
	if s.Op.Job == nil {
		return moved(t, s, m)
	}
	e := background(t, s.Op, primary)
	if e < 0 {
		t.NoneApply(s.Op.ID + " answers none of the contract's examples with a job")
		return nil
	}
	j := admit(t, s.Op, primary, e)
	j.end(t)
	out := []course{{id: j.id, view: j.look(t).body, shown: j.shown}}
	if c := s.Op.Job.Cancel; c != "" && !t.Profile().IsAbsent(c) {
		j := admit(t, s.Op, primary, e)
		t.Call(primary, about(t, c, j.in, j.id).request())
		j.end(t)
		out = append(out, course{id: j.id, view: j.look(t).body, shown: j.shown})
	}
	return out
}

// moved drives one resource along operations as far as they lead, and waits a moment for what follows
// by itself.
func moved(t *check.T, s check.Subject, m *spec.States) []course {
	read := readerOf(t.Contract(), m.Resource)
	if read == nil || t.Profile().IsAbsent(read.ID) {
		t.NoneApply("nothing reads a " + m.Resource)
		return nil
	}
	made := map[string]string{}
	id := make1(t, s.Op, primary, made, 0)
	made[m.Resource] = id
	c := course{id: id}
	at := tree.PointerTo(lastToken(m.Schema))
	look := func() string {
		ex := t.Call(primary, reading(t, read, primary, id))
		c.view = decoded(ex)
		c.shown = append(c.shown, member(ex, at))
		return c.shown[len(c.shown)-1]
	}
	state := look()
	for range len(m.Transitions) {
		i := slices.IndexFunc(s.Calls, func(op *spec.Operation) bool {
			return contains(op.Moves.From, state) && op.Method != "DELETE" && !t.Profile().IsAbsent(op.ID)
		})
		if i < 0 {
			break
		}
		step := s.Calls[i]
		ex := t.Call(primary, buildIntent(t, step, primary, made, 0).request())
		if step.Creates != nil && admitted(ex) {
			made[step.Creates.Resource] = createdID(step, ex)
		}
		state = look()
	}
	for n := 0; n < 40 && !slices.Contains(m.Terminal, state) && len(m.Transitions[state]) > 0 && !waits(t, m, state); n++ {
		t.Pause(25 * time.Millisecond)
		state = look()
	}
	return []course{c}
}

// waits reports whether a state is left by an operation only.
func waits(t *check.T, m *spec.States, state string) bool {
	return slices.ContainsFunc(t.Contract().Ops, func(op *spec.Operation) bool {
		return op.Moves != nil && op.Moves.Resource == m.Resource && contains(op.Moves.From, state)
	})
}

func judgeHistory(t *check.T, m *spec.States, c course) {
	log, ok := entries(t, m, c.id, c.view)
	if !ok {
		t.NoneApply(tooLong)
		return
	}
	var states, ids []string
	for _, e := range log {
		states, ids = append(states, e.state), append(ids, e.id)
	}
	what := m.Resource + " " + c.id
	machine := oracle.Machine{Initial: m.Initial, Transitions: m.Transitions, Terminal: m.Terminal, Open: m.Open}
	shown := compact(c.shown)
	last := shown[len(shown)-1]
	left := missing(shown, states)
	t.Judge("events.complete", len(states) > 0 && states[0] == m.Initial && len(left) == 0 && contains(states, last),
		fmt.Sprintf("an event for each state of %s, from %s on: reads showed %q", what, m.Initial, shown), fmt.Sprintf("%q", states))
	err := machine.History(compact(states)) // a repetition is events.once's
	t.Judge("events.legal", err == nil, "states of "+what+" that follow each other", fmt.Sprintf("%q: %v", states, err))
	t.Judge("events.once", len(compact(states)) == len(states) && len(unique(ids)) == len(ids), "each change of "+what+" once", fmt.Sprintf("%q with ids %q", states, ids))
	again, _ := entries(t, m, c.id, c.view)
	same := len(again) >= len(log)
	for i := range min(len(log), len(again)) {
		same = same && oracle.Equal(log[i].item, again[i].item)
	}
	t.Judge("events.steady", same, fmt.Sprintf("the %d events that were there before", len(log)), fmt.Sprintf("%d others", len(again)))
}

func runKept(_ context.Context, t *check.T, s check.Subject) {
	m := machineIn(t.Contract(), s.Op)
	all := courses(t, s, m)
	if len(all) == 0 {
		return
	}
	keep, ok := seconds(t, spec.Period{Limit: "eventRetention"}, primary)
	if !ok || keep < 60 {
		t.Inconclusive("the retention of events cannot be read, or is too short to be tried")
	}
	c := all[0]
	before, ok := entries(t, m, c.id, c.view)
	if !ok || len(before) == 0 {
		t.Inconclusive("the log has nothing of %s %s", m.Resource, c.id)
	}
	margin := max(20, keep/50)
	advance(t, keep-margin)
	now, _ := entries(t, m, c.id, c.view)
	t.Judge("events.kept", len(now) == len(before), fmt.Sprintf("%d events, %d seconds before the end of their retention", len(before), margin), fmt.Sprintf("%d", len(now)))
	advance(t, 2*keep)
	now, _ = entries(t, m, c.id, c.view)
	t.Judge("events.purged", len(now) == 0, "no events after three times their retention", fmt.Sprintf("%d", len(now)))
}
