package oracle

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func order() Register {
	return Register{Initial: "proposed", Own: map[string][]string{"submitted": {"executed", "rejected"}}}
}

var (
	authorize = &Move{Name: "authorize", From: []string{"proposed"}, To: "authorized"}
	submit    = &Move{Name: "submit", From: []string{"authorized"}, To: "submitted"}
	withdraw  = &Move{Name: "withdraw", From: []string{"proposed"}, To: "withdrawn", Tolerant: true}
)

// seen is one operation from a start to an end, by a client of its own.
func seen(from, to int, m *Move, what string) StateOp {
	o := StateOp{Client: from, Call: time.Duration(from), Return: time.Duration(to), Move: m}
	if m == nil {
		o.State = what
	} else {
		o.Result = MoveResult(what)
	}
	return o
}

func TestRegister(t *testing.T) {
	const yes, no, lost = string(Accepted), string(Refused), string(Lost)
	for _, c := range []struct {
		name    string
		history []StateOp
		want    Verdict
	}{
		{"nothing happened", nil, OK},
		{"in turn", []StateOp{seen(0, 1, nil, "proposed"), seen(2, 3, authorize, yes), seen(4, 5, nil, "authorized"), seen(6, 7, submit, yes), seen(8, 9, nil, "executed")}, OK},
		{"a step of its own is not seen yet", []StateOp{seen(0, 1, authorize, yes), seen(2, 3, submit, yes), seen(4, 5, nil, "submitted"), seen(6, 7, nil, "rejected")}, OK},
		{"and back", []StateOp{seen(0, 1, authorize, yes), seen(2, 3, submit, yes), seen(4, 5, nil, "rejected"), seen(6, 7, nil, "submitted")}, Illegal},
		{"one of two at once", []StateOp{seen(0, 9, authorize, yes), seen(1, 8, authorize, no)}, OK},
		{"two of two at once", []StateOp{seen(0, 9, authorize, yes), seen(1, 8, authorize, yes)}, Illegal},
		{"none of two at once", []StateOp{seen(0, 9, authorize, no), seen(1, 8, authorize, no)}, Illegal},
		{"refused before anybody won", []StateOp{seen(0, 1, authorize, no), seen(2, 3, authorize, yes)}, Illegal},
		{"read too early", []StateOp{seen(0, 1, nil, "authorized"), seen(2, 3, authorize, yes)}, Illegal},
		{"read while it moves", []StateOp{seen(0, 9, authorize, yes), seen(1, 2, nil, "authorized"), seen(3, 4, nil, "authorized")}, OK},
		{"read back while it moves", []StateOp{seen(0, 9, authorize, yes), seen(1, 2, nil, "authorized"), seen(3, 4, nil, "proposed")}, Illegal},
		{"a lost move came through", []StateOp{seen(0, 1, authorize, lost), seen(2, 3, nil, "authorized")}, OK},
		{"a lost move came through late", []StateOp{seen(0, 1, authorize, lost), seen(2, 3, nil, "proposed"), seen(4, 5, nil, "authorized")}, OK},
		{"a lost move did not", []StateOp{seen(0, 1, authorize, lost), seen(2, 3, authorize, yes)}, OK},
		{"tolerated twice", []StateOp{seen(0, 1, withdraw, yes), seen(2, 3, withdraw, yes), seen(4, 5, nil, "withdrawn")}, OK},
		{"tolerated elsewhere, and harmless", []StateOp{seen(0, 1, authorize, yes), seen(2, 3, withdraw, yes), seen(4, 5, nil, "authorized")}, OK},
		{"tolerated elsewhere, and harmful", []StateOp{seen(0, 1, authorize, yes), seen(2, 3, withdraw, yes), seen(4, 5, nil, "withdrawn")}, Illegal},
	} {
		if got := order().Linearizable(c.history, time.Minute); got != c.want {
			t.Errorf("%s: %s, not %s", c.name, got, c.want)
		}
	}
}

func TestConsecutive(t *testing.T) {
	take := func(from, to, n int) TakeOp {
		return TakeOp{Client: from, Call: time.Duration(from), Return: time.Duration(to), Number: n}
	}
	lost := TakeOp{Client: 99, Return: 1, Lost: true}
	for _, c := range []struct {
		name    string
		history []TakeOp
		want    Verdict
	}{
		{"in turn", []TakeOp{take(0, 1, 1), take(2, 3, 2), take(4, 5, 3)}, OK},
		{"at once, in any order", []TakeOp{take(0, 9, 3), take(1, 8, 1), take(2, 7, 2)}, OK},
		{"twice", []TakeOp{take(0, 9, 1), take(1, 8, 1)}, Illegal},
		{"a gap", []TakeOp{take(0, 9, 1), take(1, 8, 3)}, Illegal},
		{"not from the first", []TakeOp{take(0, 1, 2)}, Illegal},
		{"against time", []TakeOp{take(0, 1, 2), take(2, 3, 1)}, Illegal},
		{"a gap of a lost one", []TakeOp{lost, take(2, 3, 2)}, OK},
		{"a lost one that took none", []TakeOp{lost, take(2, 3, 1)}, OK},
	} {
		if got := Consecutive(0, c.history, time.Minute); got != c.want {
			t.Errorf("%s: %s, not %s", c.name, got, c.want)
		}
	}
}

// Any sequence of moves that the register itself carries out one after the other is explained by it;
// with one result turned round it is not.
func TestRegisterOfAnySequence(t *testing.T) {
	moves := []*Move{authorize, submit, {Name: "revoke", From: []string{"authorized"}, To: "proposed"}}
	rapid.Check(t, func(t *rapid.T) {
		state := "proposed"
		var history []StateOp
		for i, k := range rapid.SliceOfN(rapid.IntRange(0, len(moves)-1), 1, 8).Draw(t, "moves") {
			what := string(Refused)
			if moves[k].enabled(state) {
				what, state = string(Accepted), moves[k].To
			}
			history = append(history, seen(4*i, 4*i+1, moves[k], what))
			if state != "submitted" { // from there it goes on by itself
				history = append(history, seen(4*i+2, 4*i+3, nil, state))
			}
		}
		if got := order().Linearizable(history, time.Minute); got != OK {
			t.Fatalf("%s: %v", got, history)
		}
		wrong := rapid.IntRange(0, len(history)-1).Draw(t, "turned")
		switch history[wrong].Result {
		case Accepted:
			history[wrong].Result = Refused
		case Refused:
			history[wrong].Result = Accepted
		default:
			return
		}
		if order().Linearizable(history, time.Minute) == OK {
			t.Fatalf("turned at %d: %v", wrong, history)
		}
	})
}
