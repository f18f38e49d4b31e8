package oracle

import (
	"fmt"
	"slices"
)

// Machine is a state machine: which state may follow which.
type Machine struct {
	Initial     string
	Transitions map[string][]string
	Terminal    []string
	Open        bool // states outside the list may come; nothing is said of them
}

// Knows reports whether a state is one of the machine's.
func (m Machine) Knows(state string) bool {
	if state == m.Initial || slices.Contains(m.Terminal, state) {
		return true
	}
	for from, next := range m.Transitions {
		if from == state || slices.Contains(next, state) {
			return true
		}
	}
	return false
}

// IsTerminal reports whether nothing may follow a state.
func (m Machine) IsTerminal(state string) bool { return slices.Contains(m.Terminal, state) }

// Step reports whether one transition leads from one state to the other.
func (m Machine) Step(from, to string) bool { return slices.Contains(m.Transitions[from], to) }

// Reachable reports whether any number of transitions, none included, leads from one to the other.
func (m Machine) Reachable(from, to string) bool {
	queue, seen := []string{from}, map[string]bool{from: true}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		if state == to {
			return true
		}
		for _, next := range m.Transitions[state] {
			if !seen[next] && !m.IsTerminal(state) {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return false
}

// Observed judges what polling saw: states may be missed, so each must be reachable from the one
// before, and the first from the initial state. nil: legal.
func (m Machine) Observed(states []string) error {
	return m.follow(m.Initial, states, 1, m.Reachable, "cannot follow")
}

// History judges a complete list of states, as an event log has it: the first is the initial state,
// and each other is one transition from the one before. nil: legal.
func (m Machine) History(states []string) error {
	if len(states) == 0 {
		return nil
	}
	first := states[0]
	switch {
	case first == m.Initial:
	case m.Knows(first):
		return fmt.Errorf("state 1 is %q, not %q", first, m.Initial)
	case m.Open:
		first = ""
	default:
		return fmt.Errorf("state 1, %q, is not of the machine", first)
	}
	return m.follow(first, states[1:], 2, m.Step, "is no transition")
}

// follow judges each step; previous "" is a state that the machine says nothing of. number is that
// of the first of the states, for the error.
func (m Machine) follow(previous string, states []string, number int, legal func(from, to string) bool, complaint string) error {
	for i, state := range states {
		switch {
		case !m.Knows(state) && !m.Open:
			return fmt.Errorf("state %d, %q, is not of the machine", i+number, state)
		case previous != "" && m.IsTerminal(previous) && state != previous:
			return fmt.Errorf("state %d: %q after %q, which is final", i+number, state, previous)
		case !m.Knows(state):
			state = ""
		case previous != "" && !legal(previous, state):
			return fmt.Errorf("state %d: %q after %q %s", i+number, state, previous, complaint)
		}
		previous = state
	}
	return nil
}
