// Package job holds the pure rules of state machines and background work: which moves are legal,
// which way a job goes, and what its representation shows in which state. It knows no store.
package job

import (
	"hash/fnv"
	"slices"
	"time"

	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// Legal reports whether the machine has the move. Nothing leaves a terminal state, whatever the
// transitions say.
func Legal(m *spec.States, from, to string) bool {
	return m != nil && !Terminal(m, from) && slices.Contains(m.Transitions[from], to)
}

// Terminal reports whether a state is final.
func Terminal(m *spec.States, state string) bool {
	return m != nil && slices.Contains(m.Terminal, state)
}

// Path is the shortest way from one state to another as the states to enter, empty if they are the
// same; nil with ok false if there is none. It passes no terminal state.
func Path(m *spec.States, from, to string) (way []string, ok bool) {
	if from == to {
		return nil, true
	}
	type node struct {
		state string
		way   []string
	}
	seen := map[string]bool{from: true}
	for queue := []node{{state: from}}; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		for _, next := range m.Transitions[n.state] {
			if seen[next] || Terminal(m, n.state) {
				continue
			}
			seen[next] = true
			way := append(slices.Clone(n.way), next)
			if next == to {
				return way, true
			}
			queue = append(queue, node{next, way})
		}
	}
	return nil, false
}

// Phases are the states of a job that the runner puts it in.
type Phases struct {
	Initial string
	Running string // from which it ends well; Initial if the machine has no state between
	Waiting string // from which it returns to Running; "" if the machine has none
}

// PhasesOf reads them off the machine: Running is the state just before success on the shortest way
// there, Waiting a state that Running leads to and that leads back.
func PhasesOf(m *spec.States, success string) Phases {
	p := Phases{Initial: m.Initial, Running: m.Initial}
	if way, ok := Path(m, m.Initial, success); ok && len(way) > 1 {
		p.Running = way[len(way)-2]
	}
	for _, s := range m.Transitions[p.Running] {
		if s != p.Initial && Legal(m, s, p.Running) {
			p.Waiting = s
			break
		}
	}
	return p
}

// Delay is how long a job stays in a state before the runner moves it on, 15 to 40 ms: long enough
// that a fast poller sees the state, and spread by its id so that jobs do not move in step.
func Delay(id string) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(id))
	return 15*time.Millisecond + time.Duration(h.Sum32()%26)*time.Millisecond
}

// CancelTo says where a cancellation takes a job: to the cancelled state, or nowhere if it has ended.
func CancelTo(m *spec.States, cancelled, state string) (to string, move bool) {
	if Terminal(m, state) {
		return state, false
	}
	return cancelled, true
}

// View edits a job's members to what its state shows: the result only after success, the error code
// only after failure. A member that does not show is left out.
func View(j *spec.Job, state string, body map[string]any) map[string]any {
	if state != j.Success {
		drop(body, j.Result)
	}
	if state != j.Failure {
		drop(body, j.Error)
	}
	return body
}

func drop(body map[string]any, p tree.Pointer) {
	tokens := p.Tokens()
	for len(tokens) > 1 {
		next, ok := body[tokens[0]].(map[string]any)
		if !ok {
			return
		}
		body, tokens = next, tokens[1:]
	}
	if len(tokens) == 1 {
		delete(body, tokens[0])
	}
}
