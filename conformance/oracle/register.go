package oracle

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Move is an operation that drives a transition of a resource: from some states to one.
type Move struct {
	Name string
	From []string // none: from any
	To   string
	// Tolerant: in a state outside From it may be accepted too, and then changes nothing.
	Tolerant bool
}

// enabled reports whether the move is legal in a state.
func (m Move) enabled(state string) bool { return len(m.From) == 0 || slices.Contains(m.From, state) }

// MoveResult is what became of a move, as the client saw it.
type MoveResult string

// Results of a move.
const (
	Accepted MoveResult = "accepted"
	Refused  MoveResult = "refused" // because of the state
	Lost     MoveResult = "lost"    // reset, time-out or 5xx: carried out or not, and maybe later
)

// StateOp is one operation on a resource that has a state: a move, or, with no move, a read. Times
// are from one monotonic clock.
type StateOp struct {
	Client       int
	Call, Return time.Duration
	Move         *Move
	Result       MoveResult // of a move
	State        string     // that a read saw
}

func (o StateOp) String() string {
	if o.Move == nil {
		return "read " + o.State
	}
	return o.Move.Name + " " + string(o.Result)
}

// Register is a state with guarded moves. Own are the steps that the resource takes by itself, at
// any moment: a read may find it before or after.
type Register struct {
	Initial string
	Own     map[string][]string
}

// reach lists a state and all that follow it without a move.
func (r Register) reach(state string) []string {
	found := []string{state}
	for i := 0; i < len(found); i++ {
		for _, next := range r.Own[found[i]] {
			if !slices.Contains(found, next) {
				found = append(found, next)
			}
		}
	}
	return found
}

// step gives the states that may hold after one operation, none if what it saw is impossible.
func (r Register) step(state string, o StateOp) []string {
	var out []string
	add := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, s := range r.reach(state) {
		switch {
		case o.Move == nil:
			if s == o.State {
				add(s)
			}
		case o.Result == Accepted && o.Move.enabled(s):
			add(o.Move.To)
		case o.Result == Accepted && o.Move.Tolerant, o.Result == Refused && !o.Move.enabled(s):
			add(s)
		case o.Result == Lost:
			add(s)
			if o.Move.enabled(s) {
				add(o.Move.To)
			}
		}
	}
	return out
}

// Linearizable asks whether some order of the operations, within their times, explains all that was
// seen. With timeout 0 the search has no bound.
func (r Register) Linearizable(history []StateOp, timeout time.Duration) Verdict {
	return search(r.model(), stateOps(history), timeout)
}

// Explain draws the search over an illegal history as a self-contained HTML page.
func (r Register) Explain(history []StateOp, timeout time.Duration) ([]byte, error) {
	return draw(r.model(), stateOps(history), timeout)
}

func (r Register) model() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{r.Initial} },
		Step: func(state, input, _ any) []any {
			s, _ := state.(string)
			op, _ := input.(StateOp)
			var next []any
			for _, n := range r.step(s, op) {
				next = append(next, n)
			}
			return next
		},
		Hash:              func(state any) uint64 { return fnv(fmt.Sprint(state)) },
		DescribeOperation: func(input, _ any) string { return label(fmt.Sprint(input)) },
		DescribeState:     markup,
	}
	return model.ToModel()
}

func stateOps(history []StateOp) []porcupine.Operation {
	ops := make([]porcupine.Operation, 0, len(history))
	for _, h := range history {
		op := porcupine.Operation{ClientId: h.Client, Input: h, Call: int64(h.Call), Return: int64(h.Return)}
		if h.Move != nil && h.Result == Lost {
			op.Return = math.MaxInt64
		}
		ops = append(ops, op)
	}
	return ops
}

// TakeOp is the taking of a number, as a client saw it; one without an answer is Lost.
type TakeOp struct {
	Client       int
	Call, Return time.Duration
	Number       int
	Lost         bool
}

// Consecutive asks whether numbers could have been given one after the other, each by one more than
// the one before and the first after last. With timeout 0 the search has no bound.
func Consecutive(last int, history []TakeOp, timeout time.Duration) Verdict {
	return search(takeModel(last), takeOps(history), timeout)
}

// ExplainConsecutive draws the search over an illegal history as a self-contained HTML page.
func ExplainConsecutive(last int, history []TakeOp, timeout time.Duration) ([]byte, error) {
	return draw(takeModel(last), takeOps(history), timeout)
}

func (o TakeOp) String() string {
	if o.Lost {
		return "take, lost"
	}
	return fmt.Sprint("take ", o.Number)
}

func takeModel(last int) porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{last} },
		Step: func(state, input, _ any) []any {
			n, _ := state.(int)
			op, _ := input.(TakeOp)
			switch {
			case op.Lost:
				return []any{n, n + 1}
			case op.Number == n+1:
				return []any{n + 1}
			default:
				return nil
			}
		},
		Hash:              func(state any) uint64 { return fnv(fmt.Sprint(state)) },
		DescribeOperation: func(input, _ any) string { return label(fmt.Sprint(input)) },
		DescribeState:     markup,
	}
	return model.ToModel()
}

func takeOps(history []TakeOp) []porcupine.Operation {
	ops := make([]porcupine.Operation, 0, len(history))
	for _, h := range history {
		op := porcupine.Operation{ClientId: h.Client, Input: h, Call: int64(h.Call), Return: int64(h.Return)}
		if h.Lost {
			op.Return = math.MaxInt64
		}
		ops = append(ops, op)
	}
	return ops
}

func search(m porcupine.Model, ops []porcupine.Operation, timeout time.Duration) Verdict {
	switch porcupine.CheckOperationsTimeout(m, ops, timeout) {
	case porcupine.Ok:
		return OK
	case porcupine.Illegal:
		return Illegal
	default:
		return TimedOut
	}
}
