package seer

import (
	"context"
	"fmt"

	"pgregory.net/rapid"

	"assay.kit/conformance/check"
	"assay.kit/conformance/wire"
)

// stage is the model of some actions and of all authorisations that they were ever given.
type stage struct {
	orders []order
	states []string // of the actions, as far as the venue is not asked
	active []int    // index of the active authorisation of each action, -1: none
	auths  []right
}

// right is one authorisation.
type right struct {
	id    string
	order int
	state string
}

// move is one drawn step. Auth counts from the latest authorisation back, over all actions.
type move struct {
	What  string
	Order int
	Auth  int
}

func actionsWalk(_ context.Context, t *check.T, _ check.Subject) {
	t.Property(func(t *check.T) {
		moves := check.Draw(t, rapid.SliceOfN(rapid.Custom(func(t *rapid.T) move {
			return move{
				What:  rapid.SampledFrom([]string{"authorize", "submit", "revoke", "submit", "authorize"}).Draw(t, "what"),
				Order: rapid.IntRange(0, 1).Draw(t, "action"),
				Auth:  rapid.IntRange(0, 2).Draw(t, "authorisation"),
			}
		}), 1, 7), "moves")
		s := &stage{orders: []order{propose(t, role), propose(t, role)}, states: []string{"proposed", "proposed"}, active: []int{-1, -1}}
		for i, m := range moves {
			s.make(t, m, fmt.Sprintf("step %d, %s", i+1, m.What))
		}
		s.judgeStates(t)
	})
}

// make carries out one step and judges its answer.
func (s *stage) make(t *check.T, m move, step string) {
	if m.What == "authorize" {
		s.authorize(t, m.Order, step)
		return
	}
	if len(s.auths) == 0 {
		return // nothing to use
	}
	k := len(s.auths) - 1 - m.Auth%len(s.auths)
	if m.What == "revoke" {
		s.revoke(t, k, step)
	} else {
		s.submit(t, m.Order, k, step)
	}
}

func (s *stage) authorize(t *check.T, i int, step string) {
	ex := s.orders[i].authorize()
	if s.states[i] != "proposed" {
		t.Must("actions.model", refusedAs(t, ex, "state_conflict"), step+": "+refusal(t, "state_conflict")+" for an action that is "+s.states[i], short(ex))
		return
	}
	t.Must("actions.model", admitted(ex) && field(ex, "/state") == "active", step+": an active authorisation", short(ex))
	s.auths = append(s.auths, right{id: field(ex, "/authorization_id"), order: i, state: "active"})
	s.states[i], s.active[i] = "authorized", len(s.auths)-1
}

func (s *stage) revoke(t *check.T, k int, step string) {
	a := &s.auths[k]
	ex := revoke(t, role, a.id)
	if a.state == "active" {
		a.state = "revoked"
		s.states[a.order], s.active[a.order] = "proposed", -1
	}
	t.Must("actions.model", admitted(ex) && field(ex, "/state") == a.state, step+": an authorisation that is "+a.state, short(ex))
}

func (s *stage) submit(t *check.T, i, k int, step string) {
	a := &s.auths[k]
	ex := s.orders[i].submit(a.id)
	if a.order != i || a.state != "active" {
		t.Must("actions.model", s.refused(t, ex), fmt.Sprintf("%s: a refusal of an authorisation of action %d that is %s, for action %d", step, a.order, a.state, i), short(ex))
		return
	}
	t.Must("actions.model", admitted(ex), step+": a 2xx for the active authorisation of the action", short(ex))
	a.state = "used"
	s.states[i], s.active[i] = "submitted", -1
}

func (s *stage) refused(t *check.T, ex wire.Exchange) bool {
	return refusedAs(t, ex, "forbidden") || refusedAs(t, ex, "state_conflict")
}

// judgeStates compares every action and authorisation with the model. A submitted action may have been decided.
func (s *stage) judgeStates(t *check.T) {
	for i, o := range s.orders {
		shown := o.look()
		state := textAt(shown, "/state")
		ok := state == s.states[i] || s.states[i] == "submitted" && (state == "executed" || state == "rejected")
		t.Must("actions.model", ok, fmt.Sprintf("action %d to be %s", i, s.states[i]), fmt.Sprintf("%.300s", encode(shown)))
		if s.states[i] != "submitted" {
			t.Must("actions.model", execution(shown) == "", "no external identity of an action that was not submitted", execution(shown))
		}
	}
}
