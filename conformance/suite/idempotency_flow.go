package suite

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

const primary = string(target.Primary)

// creation is one operation with a key in the hands of a case: an intent that the target admits,
// the listing that counts its effects where the contract gives one, and what its jobs came to.
type creation struct {
	specimen
	t     *check.T
	op    *spec.Operation
	in    intent
	list  listing
	ended map[string]string // jobs that were followed, with the last state seen
}

// specimen is an example of a body that the target admits.
type specimen struct {
	example int          // of the operation's; 0 also if it takes no body
	counted bool         // the effects of an isolated intent with it can be counted ...
	mark    tree.Pointer // ... by a unique value here, where the contract isolates it by time only
	job     bool         // it admits a job
}

// specimens finds, once a run, the examples that the target admits, those without a job first. It
// takes and returns a job slot for each, so the caller must not hold one.
func specimens(t *check.T, op *spec.Operation) []specimen {
	v, err := t.Once("specimens "+op.ID, func() (any, error) { return trySpecimens(t, op) })
	if err != nil {
		t.Inconclusive("no request to %s is known to be admitted: %v", op.ID, err)
	}
	found, _ := v.([]specimen)
	return found
}

const maxSpecimens = 6

func trySpecimens(t *check.T, op *spec.Operation) ([]specimen, error) {
	var found []specimen
	last := "none"
	for example := range max(1, min(len(bodies(op)), maxSpecimens)) {
		c := newCreation(t, op, specimen{example: example})
		ex := c.send(c.in)
		if !admitted(ex) {
			last = describe(ex)
			continue
		}
		found = append(found, countable(t, op, specimen{example: example, job: c.startsJob(ex)}))
	}
	if len(found) == 0 {
		return nil, errors.New("the examples of its body are refused: " + last)
	}
	slices.SortStableFunc(found, func(a, b specimen) int { return cmp.Compare(weight(a), weight(b)) })
	return found, nil
}

// countable tries how what a creation makes is found in a list. How often it is there is for the checks.
func countable(t *check.T, op *spec.Operation, s specimen) specimen {
	plain := s
	s.counted = true
	ways := append([]tree.Pointer{""}, newCreation(t, op, plain).echoes()...)
	for _, s.mark = range ways {
		c := newCreation(t, op, s)
		if !c.counted {
			continue
		}
		if ex := c.send(c.in); admitted(ex) && slices.Contains(c.list.count(t), createdID(op, ex)) {
			return s
		}
	}
	return plain
}

// weight puts specimens without a job, whose effects can be counted, first.
func weight(s specimen) int {
	w := 0
	if s.job {
		w += 2
	}
	if !s.counted {
		w++
	}
	return w
}

// kinds keeps one specimen that is answered at once and one that admits a job, of those there are.
func kinds(all []specimen) []specimen {
	out := all[:1:1]
	for _, s := range all[1:] {
		if s.job != all[0].job {
			return append(out, s)
		}
	}
	return out
}

// newCreation builds the intent of a specimen, on resources of its own.
func newCreation(t *check.T, op *spec.Operation, s specimen) *creation {
	c := &creation{specimen: s, t: t, op: op, ended: map[string]string{}}
	if !s.counted {
		c.in = exampleIntent(t, op, primary, map[string]string{}, s.example)
		return c
	}
	c.in, c.list, c.counted = isolatedIn(t, op, c.shownBy(), primary, s.example)
	if s.mark != "" {
		c.counted = c.countByMark(s.mark)
	}
	return c
}

// shownBy is the collection that counts what the creation makes; nil if there is none.
func (c *creation) shownBy() *spec.Operation {
	list := listOf(c.t.Contract(), c.op)
	if list == nil && c.job {
		list = jobListOf(c.t.Contract(), c.op)
	}
	if list == nil || c.t.Profile().IsAbsent(list.ID) {
		return nil
	}
	return list
}

// jobListOf is the collection that shows the jobs of an operation whose own resource has no list.
func jobListOf(c *spec.Contract, op *spec.Operation) *spec.Operation {
	for _, other := range c.Ops {
		if other.Job != nil && op.Job != nil && other.Job.Read == op.Job.Read && listOf(c, other) != nil {
			return listOf(c, other)
		}
	}
	return nil
}

// payload is an example of the body, about the same resources and in the same isolation.
func (c *creation) payload(i int) any {
	return c.adopt(resolveBody(c.t, c.op, clone(bodies(c.op)[i].Value), c.in.role, c.in.made, 0))
}

// adopt puts what tells the case's items from others' into a copy of a body.
func (c *creation) adopt(body any) any {
	p := c.isolation()
	own, ok := tree.Get(c.in.body, p)
	if p == "" || !ok {
		return body
	}
	body = clone(body)
	put(body, p, own)
	return body
}

// isolation is the member of the body that tells the case's items from others', "" if none does.
func (c *creation) isolation() tree.Pointer {
	switch {
	case !c.counted:
		return ""
	case c.list.member != "":
		return c.list.member
	default:
		return c.list.op.Collection.Isolate.Member
	}
}

// send sends a request of this operation and follows the job that it started to its end. A case
// so holds one slot at a time, and never waits for a second while it holds one.
func (c *creation) send(in intent) wire.Exchange {
	done := jobSlotFor(c.t, c.op)
	defer done()
	ex := c.t.Call(in.role, in.request())
	c.follow(in.role, ex)
	return ex
}

// open sends the creation for the first time.
func (c *creation) open() wire.Exchange {
	ex := c.send(c.in)
	if !admitted(ex) {
		c.t.Inconclusive("a request that was admitted before was answered %s", describe(ex))
	}
	return ex
}

// fresh is the same payload under an unused key, on resources that it may be sent to.
func (c *creation) fresh(body any) intent {
	in := c.in.with(body).keyed(c.t.Key())
	if c.op.Moves == nil {
		return in
	}
	other := newIntent(c.t, c.op, c.in.role)
	moved := clone(body)
	for _, ref := range c.op.Refs {
		was, ok := tree.Get(body, ref.Pointer)
		old, _ := tree.Get(c.in.body, ref.Pointer)
		if ref.In != "body" || !ok || !oracle.Equal(was, old) {
			continue
		}
		if id, ok := tree.Get(other.body, ref.Pointer); ok {
			set(moved, ref.Pointer, id)
		}
	}
	return other.with(moved)
}

func (c *creation) startsJob(ex wire.Exchange) bool {
	return c.op.Job != nil && ex.Status() == c.op.Job.Accepted
}

const jobPatience = 90 * time.Second

// follow polls the job that an answer names until it ends, no faster than the target asks.
func (c *creation) follow(role string, ex wire.Exchange) {
	id := createdID(c.op, ex)
	if !c.startsJob(ex) || id == "" || c.over(c.ended[id]) {
		return
	}
	if !c.await(role, id, jobPatience) {
		c.t.Inconclusive("job %s did not end within %s", id, jobPatience)
	}
}

// await polls a job until it ends or patience does.
func (c *creation) await(role, id string, patience time.Duration) bool {
	read := c.t.Contract().Op(c.op.Job.Read)
	if read == nil || c.t.Profile().IsAbsent(read.ID) {
		return true // nobody can tell; the slot is given back as if it had ended
	}
	rq := reading(c.t, read, role, id)
	pace := 20 * time.Millisecond
	for began := c.t.Now(); c.t.Now()-began < patience; {
		ex := c.t.Call(role, rq)
		if ex.Status() != http.StatusOK {
			c.t.Inconclusive("job %s, which was admitted, was read back as %s", id, describe(ex))
		}
		c.ended[id] = member(ex, c.op.Job.State)
		if c.over(c.ended[id]) {
			return true
		}
		wait := pace
		if later := c.t.Contract().Doc.Backpressure; later != nil {
			if asked, ok := wire.ParseRetryAfter(ex.Header(later.Delay.Name), time.Now()); ok {
				wait = max(wait, asked)
			}
		}
		c.t.Pause(wait)
		pace = min(2*pace, time.Second)
	}
	return false
}

// over reports whether a job's state is final.
func (c *creation) over(state string) bool {
	j := c.op.Job
	if j == nil || state == "" {
		return false
	}
	if state == j.Success || state == j.Failure || state == j.Cancelled {
		return true
	}
	for _, m := range c.t.Contract().States {
		if slices.Contains(m.Terminal, j.Success) && slices.Contains(m.Terminal, state) {
			return true
		}
	}
	return false
}

// reading is a request that reads one resource by its id.
func reading(t *check.T, read *spec.Operation, role, id string) wire.Request {
	in := intent{op: read, role: role, path: map[string]string{}}
	last := ""
	for _, p := range read.Params {
		if p.In == "path" {
			if last != "" {
				in.path[last] = parameter(t, read, pathParam(read, last), role, map[string]string{}, 0)
			}
			last = p.Name
		}
	}
	in.path[last] = id
	return in.request()
}

func pathParam(op *spec.Operation, name string) spec.Param {
	i := slices.IndexFunc(op.Params, func(p spec.Param) bool { return p.In == "path" && p.Name == name })
	return op.Params[i]
}

// readBack reads the created resource; ok is false where the contract offers no way.
func (c *creation) readBack(id string) (ex wire.Exchange, ok bool) {
	read := c.t.Contract().Op(c.op.Creates.Read)
	if read == nil || id == "" || c.t.Profile().IsAbsent(read.ID) {
		return ex, false
	}
	return c.t.Call(c.in.role, reading(c.t, read, c.in.role, id)), true
}

// judgeCount counts what exists, where it can be counted.
func (c *creation) judgeCount(claim string, want int) {
	if !c.counted {
		c.uncounted(claim)
		return
	}
	ids := c.exist()
	c.t.Judge(claim, len(ids) == want, fmt.Sprintf("%d in %s", want, c.list.op.ID),
		fmt.Sprintf("%d: %s", len(ids), strings.Join(ids, ", ")))
}

// judgeUnchanged compares what exists with what existed.
func (c *creation) judgeUnchanged(claim string, before []string) {
	if !c.counted {
		c.uncounted(claim)
		return
	}
	ids := c.exist()
	c.t.Judge(claim, slices.Equal(ids, before), "the same in "+c.list.op.ID+" as before: "+strings.Join(before, ", "),
		strings.Join(ids, ", "))
}

func (c *creation) uncounted(claim string) {
	c.t.NotApplicable(claim, "the contract gives no way to count what "+c.op.ID+" creates")
}

// exist lists what there is of the case's own, sorted; nil where it cannot be counted.
func (c *creation) exist() []string {
	if !c.counted {
		return nil
	}
	return slices.Sorted(slices.Values(c.list.count(c.t)))
}

// same reports whether an answer names the resource that another does.
func (c *creation) same(a, b wire.Exchange) bool {
	return admitted(a) && admitted(b) && createdID(c.op, a) == createdID(c.op, b)
}

// replayOf says in words what a replay of an answer must be.
func (c *creation) replayOf(first wire.Exchange) string {
	return "the original again, " + c.op.Creates.Resource + " " + createdID(c.op, first)
}

// difference names what two answers to one request differ in, but for volatile members; "" is nothing.
func (c *creation) difference(a, b wire.Exchange) string {
	if a.Status() != b.Status() {
		return fmt.Sprintf("status %d, not %d", b.Status(), a.Status())
	}
	return differentBodies(a, b, append(slices.Clone(c.t.Contract().Doc.Volatile), c.op.Volatile...))
}

func differentBodies(a, b wire.Exchange, volatile []tree.Pointer) string {
	x, errA := bodyOf(a)
	y, errB := bodyOf(b)
	if errA != nil || errB != nil {
		if bytes.Equal(a.Body(), b.Body()) {
			return ""
		}
		return "another body"
	}
	ignore := make([]string, len(volatile))
	for i, p := range volatile {
		ignore[i] = strings.ReplaceAll(string(p)+"/", "/*/", "/-/") // the oracle's sign for every item
		ignore[i] = strings.TrimSuffix(ignore[i], "/")
	}
	var parts []string
	for _, at := range oracle.Diff(x, y, ignore) {
		was, _ := tree.Get(x, tree.Pointer(at))
		now, _ := tree.Get(y, tree.Pointer(at))
		parts = append(parts, fmt.Sprintf("%s is %.80s, not %.80s", orRoot(tree.Pointer(at)), encode(now), encode(was)))
	}
	return strings.Join(parts, "; ")
}

// expiry is where an answer says until when its key is bound; "" if it does not.
func (c *creation) expiry(ex wire.Exchange) string {
	e := c.op.Idempotency.Expires
	if e.Part == "body" {
		return member(ex, e.Pointer)
	}
	return ex.Header(e.Name)
}

// instant reads a point in time as headers and members carry it, and whether it is in UTC: RFC 3339
// with offset zero, an HTTP-date (always GMT), or seconds since 1970.
func instant(s string) (at time.Time, utc bool, err error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.Unix(n, 0), true, nil
	}
	if at, err := http.ParseTime(s); err == nil {
		return at, true, nil
	}
	at, err = time.Parse(time.RFC3339, s)
	_, offset := at.Zone()
	return at, err == nil && offset == 0, err
}

// retention is how long a key stays bound; 0 if the contract does not say.
func (c *creation) retention() time.Duration {
	r := c.op.Idempotency.Retention
	switch {
	case r.Seconds > 0:
		return time.Duration(r.Seconds) * time.Second
	case r.Limit != "" && c.t.Contract().Doc.Connection != nil:
		return time.Duration(limitOf(c.t, r.Limit)) * time.Second
	default:
		return 0
	}
}

// scaled is a number of repetitions by effort.
func scaled(t *check.T, quick, standard, deep int) int {
	switch t.Effort() {
	case check.Quick:
		return quick
	case check.Deep:
		return deep
	default:
		return standard
	}
}
