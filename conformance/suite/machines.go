package suite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// machines judges the operations that move a resource along its state machine. Jobs move by
// themselves and have a family of their own.
func machines() []check.Check {
	return []check.Check{
		{
			ID:   "machines.moves",
			Does: "Tries a move in every state that operations can bring its resource to.",
			Claims: []check.Claim{
				{ID: "machines.accepted", Says: "A move is accepted in every state that the contract names for it."},
				{ID: "machines.shown", Says: "After a move the resource is in the state that the move leads to, or has gone on from there by itself."},
				{ID: "machines.refused", Says: "In any other state a move is refused as a conflict with the state; one that takes no key may be answered instead, and do nothing."},
				{ID: "machines.unchanged", Says: "A move that the state does not allow changes nothing."},
				{ID: "machines.final", Says: "A resource in a terminal state stays as it is, whatever is tried.", For: isRead},
				{ID: "machines.known", Says: "A resource shows only states of its machine, each of which can follow the one before."},
				{ID: "machines.repeat", Says: "A move that takes no key can be repeated: twice is as good as once.", For: keyless},
			},
			Select: selectMoves,
			Cost:   check.Cost{Requests: 120},
			Run:    machinesMoves,
		},
		{
			ID:   "machines.race",
			Does: "Sends moves of one resource at once that exclude each other, and reads it meanwhile.",
			Claims: []check.Claim{
				{ID: "machines.race", Says: "Of concurrent moves that exclude each other exactly one wins, and the others are refused; of moves that may be repeated none fails."},
				{ID: "machines.linearizable", Says: "What concurrent moves and reads were answered is what some order of them gives.", For: isRead},
			},
			Select: selectMoves,
			Cost:   check.Cost{Requests: 250},
			Run:    machinesRace,
		},
	}
}

// selectMoves gives one subject a moving operation; what it takes to bring a resource before it is
// part of it.
func selectMoves(c *spec.Contract) []check.Subject {
	var out []check.Subject
	for _, op := range c.Ops {
		if op.Moves == nil || c.Machine(op.Moves.Resource) == nil {
			continue
		}
		s := check.Subject{Name: op.ID, Op: op, Other: readOf(c, op.Moves.Resource)}
		if create := creationOf(c, op.Moves.Resource); create != nil {
			s.Calls = append(s.Calls, create)
		}
		out = append(out, s)
	}
	return out
}

// readOf is the operation that reads a resource type by its id, nil if there is none.
func readOf(c *spec.Contract, resource string) *spec.Operation {
	if create := creationOf(c, resource); create != nil && create.Creates.Read != "" {
		return c.Op(create.Creates.Read)
	}
	return nil
}

func keyless(s check.Subject) bool { return s.Op.Idempotency == nil }
func isRead(s check.Subject) bool  { return s.Other != nil }

// mover is a resource of the case in the hands of a check that moves it.
type mover struct {
	t     *check.T
	op    *spec.Operation
	read  *spec.Operation // nil: only the answers of moves show the state
	m     *spec.States
	made  map[string]string
	shown []string // states, as they were seen
}

// newMover makes a resource and brings it to a state.
func newMover(t *check.T, s check.Subject, state string) *mover {
	v := &mover{t: t, op: s.Op, read: s.Other, m: t.Contract().Machine(s.Op.Moves.Resource), made: map[string]string{}}
	if v.read != nil && t.Profile().IsAbsent(v.read.ID) {
		v.read = nil
	}
	create := creationOf(t.Contract(), v.m.Resource)
	first := bringTo(t, v.m, []string{state}, primary, v.made, 0)
	if shown := v.stateOf(create, first); shown != "" {
		v.shown = append(v.shown, shown)
	}
	return v
}

// stateOf is the state that the answer of an operation shows of the resource, "" if it shows another thing.
func (v *mover) stateOf(op *spec.Operation, ex wire.Exchange) string {
	if !admitted(ex) || op.Creates != nil && op.Creates.Resource != v.m.Resource {
		return ""
	}
	return member(ex, v.stateAt())
}

// stateAt is where a representation has its state.
func (v *mover) stateAt() tree.Pointer { return tree.PointerTo(lastToken(v.m.Schema)) }

// look reads the resource; ok is false if it cannot be read.
func (v *mover) look() (ex wire.Exchange, state string, ok bool) {
	if v.read == nil {
		return ex, "", false
	}
	ex = v.t.Call(primary, reading(v.t, v.read, primary, v.made[v.m.Resource]))
	state = v.stateOf(v.read, ex)
	if state == "" {
		v.t.Inconclusive("the %s that was made could not be read: %s", v.m.Resource, describe(ex))
	}
	v.shown = append(v.shown, state)
	return ex, state, true
}

// ours are the states from which some operation moves the resource.
func ours(c *spec.Contract, m *spec.States) map[string]bool {
	out := map[string]bool{}
	for _, op := range c.Ops {
		if op.Moves != nil && op.Moves.Resource == m.Resource {
			for _, s := range op.Moves.From {
				out[s] = true
			}
		}
	}
	return out
}

// own are the steps that a resource takes by itself: those from states from which nothing moves it.
func own(c *spec.Contract, m *spec.States) map[string][]string {
	moved := ours(c, m)
	out := map[string][]string{}
	for from, to := range m.Transitions {
		if !moved[from] {
			out[from] = to
		}
	}
	return out
}

const settleTime = 10 * time.Second

// settle waits until the resource takes no further step by itself, as far as that can be seen.
func (v *mover) settle(state string) string {
	steps := own(v.t.Contract(), v.m)
	for p := newPacer(v.t); len(steps[state]) > 0 && v.t.Now()-p.begun < settleTime; {
		ex, now, ok := v.look()
		if state = now; !ok {
			break
		}
		if len(steps[state]) > 0 {
			p.wait(v.t, ex)
		}
	}
	return state
}

// situations are the states that operations can bring a fresh resource to, the initial one first.
func situations(c *spec.Contract, m *spec.States) []string {
	out := []string{m.Initial}
	for _, op := range c.Ops {
		if op.Moves == nil || op.Moves.Resource != m.Resource || slices.Contains(out, op.Moves.To) {
			continue
		}
		if len(pathTo(c, m, []string{op.Moves.To})) > 0 {
			out = append(out, op.Moves.To)
		}
	}
	return out
}

// intent is the move of this very resource, whatever its state. What else the move refers to belongs
// to the resource if it was made on the way; if not, it comes from another resource that the move is
// legal for, because to make it here would move this one.
func (v *mover) intent() intent {
	made := maps.Clone(v.made)
	for _, ref := range v.op.Refs {
		from := v.t.Contract().Op(ref.From)
		if made[ref.Resource] != "" || from == nil || from.Moves == nil || from.Moves.Resource != v.m.Resource {
			continue
		}
		other := map[string]string{}
		buildIntent(v.t, v.op, primary, other, 0)
		made[ref.Resource] = other[ref.Resource]
	}
	return buildIntent(v.t, v.op, primary, made, 0)
}

func machinesMoves(_ context.Context, t *check.T, s check.Subject) {
	m := t.Contract().Machine(s.Op.Moves.Resource)
	for _, state := range situations(t.Contract(), m) {
		t.Attempt(func(t *check.T) { newMover(t, s, state).judgeMove(state) })
	}
	for _, claim := range []string{"machines.accepted", "machines.shown", "machines.refused", "machines.unchanged", "machines.final", "machines.known", "machines.repeat"} {
		t.NotApplicable(claim, "operations bring no "+m.Resource+" into a state where it could be seen")
	}
}

// judgeMove tries the move in the state that the resource is in.
func (v *mover) judgeMove(brought string) {
	state := brought
	if _, now, ok := v.look(); ok {
		state = v.settle(now)
	}
	in := v.intent()
	before, _, _ := v.look()
	ex := v.t.Call(primary, in.request())
	if from := v.op.Moves.From; len(from) == 0 || slices.Contains(from, state) {
		v.judgeLegal(state, in, ex)
	} else {
		v.judgeIllegal(state, before, ex)
	}
	v.judgeKnown()
}

func (v *mover) machine() oracle.Machine {
	return oracle.Machine{Initial: v.m.Initial, Transitions: v.m.Transitions, Terminal: v.m.Terminal, Open: v.m.Open}
}

func (v *mover) judgeLegal(state string, in intent, ex wire.Exchange) {
	v.t.Must("machines.accepted", admitted(ex), fmt.Sprintf("a 2xx for a %s that is %s", v.m.Resource, state), describe(ex))
	to := v.op.Moves.To
	steps := oracle.Machine{Transitions: own(v.t.Contract(), v.m), Terminal: v.m.Terminal}
	if shown := v.stateOf(v.op, ex); shown != "" {
		v.shown = append(v.shown, shown)
		v.t.Judge("machines.shown", steps.Reachable(to, shown), "state "+to+" in the answer to the move", describe(ex))
	}
	if read, now, ok := v.look(); ok {
		v.t.Judge("machines.shown", steps.Reachable(to, now), "state "+to+" after the move", describe(read))
	}
	if v.op.Idempotency == nil {
		v.judgeRepeat(in, ex)
	}
}

// judgeRepeat sends a move that takes no key again.
func (v *mover) judgeRepeat(in intent, first wire.Exchange) {
	before, _, readable := v.look()
	for range 2 {
		again := v.t.Call(primary, in.request())
		ok := admitted(again) || refused(v.t, again, v.t.Contract().Doc.Codes["state_conflict"])
		v.t.Judge("machines.repeat", ok, "an answer as to a first, or a conflict with the state", describe(again))
		if shown := v.stateOf(v.op, first); shown != "" && admitted(again) {
			diff := differences(v.t, v.op, decoded(first), decoded(again))
			v.t.Judge("machines.repeat", len(diff) == 0, "the answer to the first: "+describe(first), fmt.Sprintf("%s, different at %v", describe(again), diff))
		}
	}
	if readable {
		v.judgeSame("machines.repeat", before, "after the move was repeated")
	}
}

func (v *mover) judgeIllegal(state string, before, ex wire.Exchange) {
	want, pinned := v.t.Contract().Doc.Codes["state_conflict"]
	ok := rejected(ex) && !pinned || pinned && refused(v.t, ex, want) || v.op.Idempotency == nil && admitted(ex)
	expected := fmt.Sprintf("%s for a %s that is %s", wanted(want), v.m.Resource, state)
	if slices.Contains(v.op.Authority, "authorization") {
		// What authorised it may be spent or another's by then, which may be judged first.
		ok = ok || refused(v.t, ex, v.t.Contract().Doc.Codes["forbidden"])
		expected += ", or a refusal of the authority"
	}
	v.t.Judge("machines.refused", ok, expected, describe(ex))
	if v.read == nil {
		v.t.NotApplicable("machines.unchanged", "no operation reads a "+v.m.Resource)
		return
	}
	claims := []string{"machines.unchanged"}
	if slices.Contains(v.m.Terminal, state) {
		claims = append(claims, "machines.final")
	}
	for _, claim := range claims {
		v.judgeSame(claim, before, fmt.Sprintf("after %s was tried in state %s", v.op.ID, state))
	}
}

// judgeSame judges that the resource still is what it was.
func (v *mover) judgeSame(claim string, before wire.Exchange, when string) {
	now, _, _ := v.look()
	diff := differences(v.t, v.read, decoded(before), decoded(now))
	v.t.Judge(claim, len(diff) == 0, "the same "+v.m.Resource+" "+when+": "+describe(before), fmt.Sprintf("%s, different at %v", describe(now), diff))
}

func (v *mover) judgeKnown() {
	if len(v.shown) == 0 {
		return
	}
	err := v.machine().Observed(v.shown)
	v.t.Judge("machines.known", err == nil, "states of the machine that can follow each other", fmt.Sprintf("%v: %v", compact(v.shown), err))
}

// decoded is an answer's JSON, nil if it is none.
func decoded(ex wire.Exchange) any {
	v, _ := bodyOf(ex)
	return v
}

const (
	moveLanes = 6 // of a race
	readLanes = 2 // beside them
)

func machinesRace(_ context.Context, t *check.T, s check.Subject) {
	m := t.Contract().Machine(s.Op.Moves.Resource)
	reached := slices.DeleteFunc(situations(t.Contract(), m), func(state string) bool { return !slices.Contains(s.Op.Moves.From, state) })
	if len(reached) == 0 {
		t.NoneApply("operations bring no " + m.Resource + " into a state from which " + s.Op.ID + " moves it")
		return
	}
	for round := range scaled(t, 1, 4, 16) {
		if !t.Attempt(func(t *check.T) { raceMoves(t, s, reached[round%len(reached)]) }) {
			break
		}
	}
}

// contestants are the operations that move the resource out of a state.
func contestants(c *spec.Contract, m *spec.States, state string, first *spec.Operation) []*spec.Operation {
	out := []*spec.Operation{first}
	for _, op := range c.Ops {
		if op != first && op.Moves != nil && op.Moves.Resource == m.Resource && slices.Contains(op.Moves.From, state) {
			out = append(out, op)
		}
	}
	return out
}

// raceMoves sends every way out of one state at once.
func raceMoves(t *check.T, s check.Subject, state string) {
	v := newMover(t, s, state)
	rivals := contestants(t.Contract(), v.m, state, s.Op)
	ins := make([]intent, moveLanes)
	for i := range ins {
		ins[i] = buildIntent(t, rivals[i%len(rivals)], primary, maps.Clone(v.made), 0)
	}
	lanes := moveLanes
	if v.read != nil {
		lanes += readLanes
	}
	runs := make([][]race, lanes)
	t.Lanes(lanes, func(lane *check.T, i int) {
		if i < moveLanes {
			r := race{lane: i, payload: i % len(rivals), began: lane.Now()}
			r.ex = new(creation).keenly(lane, ins[i])
			r.ended = lane.Now()
			runs[i] = append(runs[i], r)
			return
		}
		for range 4 {
			r := race{lane: i, payload: -1, began: lane.Now()}
			r.ex = lane.Call(primary, reading(lane, v.read, primary, v.made[v.m.Resource]))
			r.ended = lane.Now()
			runs[i] = append(runs[i], r)
		}
	})
	all := slices.Concat(runs...)
	v.judgeWinners(state, rivals, all)
	if v.read != nil {
		ex := t.Call(primary, reading(t, v.read, primary, v.made[v.m.Resource]))
		v.judgeOrder(state, rivals, append(all, race{lane: lanes, payload: -1, began: ex.Sent, ended: ex.Last, ex: ex}))
	}
}

// judgeWinners counts who won. Moves exclude each other if none may follow another.
func (v *mover) judgeWinners(state string, rivals []*spec.Operation, all []race) {
	exclusive, tolerant := true, true
	for _, a := range rivals {
		tolerant = tolerant && a.Idempotency == nil
		for _, b := range rivals {
			exclusive = exclusive && a.Idempotency != nil && !slices.Contains(b.Moves.From, a.Moves.To)
		}
	}
	won, told := 0, []string{}
	for _, r := range all {
		if r.payload < 0 {
			continue
		}
		op := rivals[r.payload]
		if admitted(r.ex) {
			won++
		} else {
			v.t.Judge("machines.race", v.lostRace(op, r.ex), "a 2xx, or a refusal because of the state", op.ID+": "+describe(r.ex))
		}
		told = append(told, fmt.Sprintf("%s %d", op.ID, r.ex.Status()))
	}
	switch {
	case exclusive:
		v.t.Judge("machines.race", won == 1, "one winner from state "+state, fmt.Sprintf("%d: %s", won, strings.Join(told, ", ")))
	case tolerant:
		v.t.Judge("machines.race", won > 0, "at least one that is answered", strings.Join(told, ", "))
	}
}

// lostRace reports whether an answer is how a move that came too late may be refused.
func (v *mover) lostRace(op *spec.Operation, ex wire.Exchange) bool {
	codes := v.t.Contract().Doc.Codes
	want, pinned := codes["state_conflict"]
	return !pinned && rejected(ex) || pinned && refused(v.t, ex, want) ||
		slices.Contains(op.Authority, "authorization") && refused(v.t, ex, codes["forbidden"])
}

// judgeOrder asks the model of a register for an order that explains all answers.
func (v *mover) judgeOrder(state string, rivals []*spec.Operation, all []race) {
	reg := oracle.Register{Initial: state, Own: own(v.t.Contract(), v.m)}
	moves := make([]*oracle.Move, len(rivals))
	for i, op := range rivals {
		moves[i] = &oracle.Move{Name: op.ID, From: op.Moves.From, To: op.Moves.To, Tolerant: op.Idempotency == nil}
	}
	var history []oracle.StateOp
	var told []string
	for _, r := range all {
		o := oracle.StateOp{Client: r.lane, Call: r.began, Return: r.ended}
		switch {
		case r.payload < 0 && v.stateOf(v.read, r.ex) == "":
			continue // a read that failed is judged by nobody here
		case r.payload < 0:
			o.State = v.stateOf(v.read, r.ex)
		case admitted(r.ex):
			o.Move, o.Result = moves[r.payload], oracle.Accepted
		case v.lostRace(rivals[r.payload], r.ex):
			o.Move, o.Result = moves[r.payload], oracle.Refused
		case r.ex.Effect() == wire.None:
			continue
		default:
			o.Move, o.Result = moves[r.payload], oracle.Lost
		}
		history = append(history, o)
		told = append(told, o.String())
	}
	switch reg.Linearizable(history, searchTime) {
	case oracle.TimedOut:
		v.t.Inconclusive("no order of %d answers was found or excluded within %s", len(history), searchTime)
	case oracle.Illegal:
		v.t.Judge("machines.linearizable", false, "some order of moves and reads from state "+state+" that explains the answers", strings.Join(told, "; "))
		v.t.Illustrate("machines.linearizable", "history", func() ([]byte, error) { return reg.Explain(history, searchTime) })
	case oracle.OK:
		v.t.Judge("machines.linearizable", true, "", "")
	}
}
