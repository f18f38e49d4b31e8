package oracle

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Outcome is what a keyed creation came to, as the client saw it.
type Outcome struct {
	Kind OutcomeKind
	ID   string // of Created and Replayed
}

// OutcomeKind classifies an Outcome.
type OutcomeKind string

// Kinds of outcome.
const (
	// IsCreated: the answer that a first admission gives. A server that answers a replay with the
	// original status cannot be told from one that creates, so Created twice with one id is a replay.
	IsCreated  OutcomeKind = "created"
	IsReplayed OutcomeKind = "replayed" // the answer says that it is one
	IsConflict OutcomeKind = "conflict" // same key, other payload
	IsNone     OutcomeKind = "none"     // refused, or never sent: no effect
	IsUnknown  OutcomeKind = "unknown"  // reset, time-out or 5xx: applied or not, and maybe later
)

// Created is the outcome of an answer with a new or original resource.
func Created(id string) Outcome { return Outcome{Kind: IsCreated, ID: id} }

// Replayed is the outcome of an answer that declares itself a replay.
func Replayed(id string) Outcome { return Outcome{Kind: IsReplayed, ID: id} }

// Conflict is the outcome of a refusal because the key is bound to another payload.
func Conflict() Outcome { return Outcome{Kind: IsConflict} }

// None is the outcome of a request without effect.
func None() Outcome { return Outcome{Kind: IsNone} }

// Unknown is the outcome of a request whose answer was lost.
func Unknown() Outcome { return Outcome{Kind: IsUnknown} }

func (o Outcome) String() string {
	if o.ID == "" {
		return string(o.Kind)
	}
	return string(o.Kind) + " " + o.ID
}

// binding is what one key holds: a payload and a resource. The id is "?" while nobody has seen it.
type binding struct{ payload, id string }

const unseen = "?"

func (b binding) String() string {
	if b == unbound {
		return "no resource"
	}
	return b.payload + ", resource " + b.id
}

// unbound is the state of a key that was never admitted.
var unbound = binding{}

// step gives the states that a key may be in after one operation, none if the outcome is impossible.
func (b binding) step(payload string, o Outcome) []binding {
	admitted := binding{payload, o.ID}
	switch {
	case o.Kind == IsNone:
		return []binding{b}
	case o.Kind == IsUnknown && b == unbound:
		return []binding{unbound, {payload, unseen}}
	case o.Kind == IsUnknown:
		return []binding{b}
	case b == unbound:
		if o.Kind == IsCreated {
			return []binding{admitted}
		}
		return nil
	case b.payload != payload:
		if o.Kind == IsConflict {
			return []binding{b}
		}
		return nil
	case o.Kind != IsConflict && (b.id == o.ID || b.id == unseen):
		return []binding{admitted}
	default:
		return nil
	}
}

// Ledger is the model of many keys used one after the other. The zero value is empty.
type Ledger struct{ keys map[string][]binding }

// Apply takes one finished operation and says why it is impossible, nil if it is not. After an
// impossible one the key keeps its states.
func (l *Ledger) Apply(key, payload string, o Outcome) error {
	if l.keys == nil {
		l.keys = map[string][]binding{}
	}
	states, ok := l.keys[key]
	if !ok {
		states = []binding{unbound}
	}
	var next []binding
	for _, s := range states {
		for _, n := range s.step(payload, o) {
			if !slices.Contains(next, n) {
				next = append(next, n)
			}
		}
	}
	if len(next) == 0 {
		return fmt.Errorf("%s is impossible: expected %s", o, l.Expect(key, payload))
	}
	l.keys[key] = next
	return nil
}

// Expect says in words what a request with this key and payload must be answered with now.
func (l *Ledger) Expect(key, payload string) string {
	states, ok := l.keys[key]
	if !ok {
		states = []binding{unbound}
	}
	var out string
	for i, s := range states {
		if i > 0 {
			out += ", or "
		}
		switch {
		case s == unbound:
			out += "a new resource"
		case s.payload != payload:
			out += "a conflict"
		case s.id == unseen:
			out += "the resource of the lost answer"
		default:
			out += "resource " + s.id + " again"
		}
	}
	return out
}

// Bound returns the id that a key is bound to; ok is false while that is open.
func (l *Ledger) Bound(key string) (id string, ok bool) {
	states := l.keys[key]
	if len(states) != 1 || states[0] == unbound || states[0].id == unseen {
		return "", false
	}
	return states[0].id, true
}

// IdemOp is one operation with one key, as a client saw it. Times are from one monotonic clock; an
// Unknown one has no end, because the server may still apply it later.
type IdemOp struct {
	Client       int
	Call, Return time.Duration
	Payload      string // its fingerprint: equal for equal payloads
	Outcome      Outcome
}

// Verdict is the result of a search for a legal order.
type Verdict string

// Verdicts. TimedOut is no pass: nothing is known.
const (
	OK       Verdict = "ok"
	Illegal  Verdict = "illegal"
	TimedOut Verdict = "timed_out"
)

// Linearizable asks whether some order of the operations with one key, within their times, is one
// that a correct ledger gives. With timeout 0 the search has no bound.
func Linearizable(history []IdemOp, timeout time.Duration) Verdict {
	model := ledgerModel()
	switch porcupine.CheckOperationsTimeout(model, operations(history), timeout) {
	case porcupine.Ok:
		return OK
	case porcupine.Illegal:
		return Illegal
	default:
		return TimedOut
	}
}

func operations(history []IdemOp) []porcupine.Operation {
	ops := make([]porcupine.Operation, 0, len(history))
	for _, h := range history {
		op := porcupine.Operation{ClientId: h.Client, Input: h.Payload, Output: h.Outcome, Call: int64(h.Call), Return: int64(h.Return)}
		switch h.Outcome.Kind {
		case IsUnknown:
			op.Return = math.MaxInt64
		case IsNone:
			continue // no effect, no constraint
		}
		ops = append(ops, op)
	}
	return ops
}

func ledgerModel() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{unbound} },
		Step: func(state, input, output any) []any {
			s, _ := state.(binding)
			payload, _ := input.(string)
			outcome, _ := output.(Outcome)
			var next []any
			for _, n := range s.step(payload, outcome) {
				next = append(next, n)
			}
			return next
		},
		Hash: func(state any) uint64 {
			s, _ := state.(binding)
			return fnv(s.payload + "\x00" + s.id)
		},
		DescribeOperation: func(input, output any) string { return label(fmt.Sprintf("%v -> %v", input, output)) },
		DescribeState:     markup,
	}
	return model.ToModel()
}

// fnv is the 64-bit FNV-1a hash.
func fnv(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// Explain draws the search over an illegal history as a self-contained HTML page.
func Explain(history []IdemOp, timeout time.Duration) ([]byte, error) {
	return draw(ledgerModel(), operations(history), timeout)
}
