package core

import (
	"context"
	"errors"

	"assay.kit/reference/core/idem"
	"assay.kit/spec"
)

// Admission is the atomic step of a request in its parts: look the identity up, decide, carry out,
// bind. Without a key only Op, Request and Apply are set.
type Admission struct {
	Op       *spec.Operation
	Request  *Request
	Keyed    bool
	Identity string                         // what the key is looked up and bound under
	Lookup   func(Reader) (*Binding, error) // nil: unbound
	Decide   func(*Binding) idem.Decision
	Replay   func(Reader, Binding) (Answer, error)
	Conflict func(Binding) *Problem
	Apply    func(Writer) (Answer, *Problem)
	Bind     func(Writer, Answer) (Answer, error) // adds the expiry to the answer
}

// Bound answers from the binding, if there is one that holds: done with the first answer, or a
// conflict.
func (a Admission) Bound(r Reader) (ans Answer, done bool, p *Problem, err error) {
	if !a.Keyed {
		return Answer{}, false, nil, nil
	}
	b, err := a.Lookup(r)
	if err != nil {
		return Answer{}, false, nil, err
	}
	switch a.Decide(b) {
	case idem.Replay:
		ans, err = a.Replay(r, *b)
		return ans, err == nil, nil, err
	case idem.Conflict:
		return Answer{}, false, a.Conflict(*b), nil
	default:
		return Answer{}, false, nil, nil
	}
}

// Admit does all parts in one Update. That the lookup is inside is what makes of two simultaneous
// twins one creation and one replay: the second waits for the first, and then finds its binding.
// A refusal rolls everything back.
func Admit(ctx context.Context, s Store, a Admission) (Answer, *Problem, error) {
	var ans Answer
	err := s.Update(ctx, func(w Writer) error {
		found, done, p, err := a.Bound(w)
		switch {
		case err != nil:
			return err
		case p != nil:
			return p
		case done:
			ans = found
			return nil
		}
		if ans, p = a.Apply(w); p != nil {
			return p
		}
		if a.Keyed {
			ans, err = a.Bind(w, ans)
		}
		return err
	})
	var p *Problem
	if errors.As(err, &p) {
		return Answer{}, p, nil
	}
	return ans, nil, err
}
