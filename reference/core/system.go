package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"assay.kit/reference/core/cursor"
	"assay.kit/spec"
)

// Create implements System. Workspace and client are the principal's unless set, the time of
// creation is the commit's. The body gets its id, state and created_at where the schema of its kind
// has them.
func (c *Core) Create(w Writer, p Principal, res Resource) (Resource, error) {
	k := c.model.known(res.Kind)
	if res.Workspace == "" {
		res.Workspace = p.Workspace
	}
	if res.Client == "" {
		res.Client = p.Client
	}
	if res.State == "" && k.machine != nil {
		res.State = k.machine.Initial
	}
	res.Created = c.stamp()
	body := map[string]any{}
	if len(res.Body) > 0 {
		if err := decode(res.Body, &body); err != nil {
			return Resource{}, fmt.Errorf("body of a %s: %w", res.Kind, err)
		}
	}
	if stringAt(body, k.id) == "" {
		set(body, k.id, res.ID)
	}
	if k.state != "" && res.State != "" {
		set(body, k.state, res.State)
	}
	if k.shape.has("created_at") {
		body["created_at"] = Timestamp(res.Created)
	}
	var err error
	if res.Body, err = encode(c.view(res.Kind, res.State, body)); err != nil {
		return Resource{}, err
	}
	if res.Seq, err = w.Insert(res); err != nil {
		return Resource{}, err
	}
	return res, c.event(w, res, "")
}

// view is the representation of a job in its state; anything else shows what it has.
func (c *Core) view(kind, state string, body map[string]any) map[string]any {
	if j := c.model.jobs[kind]; j != nil {
		return c.rules.JobView(j, state, body)
	}
	return body
}

// Step implements System. The state that counts is the stored one, not that of res.
func (c *Core) Step(w Writer, res Resource, to string, change func(body map[string]any)) (Resource, *Problem) {
	now, err := w.Resource(res.Kind, res.ID)
	if err != nil {
		return Resource{}, c.storeProblem(err)
	}
	k := c.model.known(res.Kind)
	if k.machine == nil || !c.rules.Legal(k.machine, now.State, to) {
		return Resource{}, c.Refuse(StateConflict, fmt.Sprintf("A %s that is %s cannot become %s.", res.Kind, now.State, to))
	}
	body := map[string]any{}
	if err := decode(now.Body, &body); err != nil {
		return Resource{}, c.storeProblem(err)
	}
	if change != nil {
		change(body)
	}
	set(body, k.state, to)
	if _, has := body["updated_at"]; has {
		body["updated_at"] = Timestamp(c.clock.Now())
	}
	from := now.State
	now.State = to
	if res.Private != nil {
		now.Private = res.Private
	}
	if now.Body, err = encode(c.view(now.Kind, to, body)); err != nil {
		return Resource{}, c.storeProblem(err)
	}
	if err := w.Replace(now); err != nil {
		return Resource{}, c.storeProblem(err)
	}
	if err := c.event(w, now, from); err != nil {
		return Resource{}, c.storeProblem(err)
	}
	return now, nil
}

// storeProblem is the Problem of an error inside an Update, which the Problem then rolls back.
func (c *Core) storeProblem(err error) *Problem {
	c.log.Error("internal error", "error", err)
	return c.Refuse(Internal, "The server failed; the request id identifies this answer.")
}

// event records that a resource entered a state, if the contract lists events of this type.
func (c *Core) event(w Writer, res Resource, from string) error {
	m := c.model.known(res.Kind).machine
	if m == nil || !c.model.recordsEvent(res.Kind+"."+res.State) || !c.rules.Records(m, from, res.State) {
		return nil
	}
	k := c.model.known(kindEvent)
	e := Resource{Kind: kindEvent, ID: newID(kindEvent), Workspace: res.Workspace, Client: res.Client, Created: c.stamp()}
	body := map[string]any{
		"type": res.Kind + "." + res.State, "resource": res.Kind, "resource_id": res.ID,
		"state": res.State, "previous_state": nil, "created_at": Timestamp(e.Created),
	}
	if from != "" {
		body["previous_state"] = from
	}
	set(body, k.id, e.ID)
	k.shape.fill(body)
	var err error
	if e.Body, err = encode(body); err != nil {
		return err
	}
	_, err = w.Insert(e)
	return err
}

// AdmitJob implements System. extra are members of the job beyond id, state and time of creation.
func (c *Core) AdmitJob(w Writer, r *Request, extra map[string]any, input any) (Answer, *Problem) {
	j := c.jobTrait(r.Op)
	if j == nil {
		return Answer{}, c.broken(r.Op, errors.New("the contract has no operation with the job trait"))
	}
	active, err := w.Active(r.Principal.Credential)
	if err != nil {
		return Answer{}, c.storeProblem(err)
	}
	if !c.rules.JobRoom(active, r.Principal.Limits) {
		return Answer{}, c.Refuse(TooManyJobs, "The connection has as many active jobs as it may have.")
	}
	job, err := c.createJob(w, r, j, extra)
	if err != nil {
		return Answer{}, c.storeProblem(err)
	}
	raw, err := encode(input)
	if err != nil {
		return Answer{}, c.storeProblem(err)
	}
	t := Task{
		Job: job.ID, Operation: r.Op.ID, Workspace: job.Workspace, Client: job.Client, Credential: r.Principal.Credential,
		Due: job.Created.Add(c.rules.Delay(job.ID, job.State)), Input: raw,
	}
	if err := c.interfere(w, &t); err != nil {
		return Answer{}, c.storeProblem(err)
	}
	if err := w.SetTask(t); err != nil {
		return Answer{}, c.storeProblem(err)
	}
	return c.accepted(r.Op, j, job)
}

// jobTrait is the operation's own, else that of any operation: all jobs of a contract are alike.
func (c *Core) jobTrait(op *spec.Operation) *spec.Job {
	if op != nil && op.Job != nil {
		return op.Job
	}
	i := slices.IndexFunc(c.contract.Ops, func(o *spec.Operation) bool { return o.Job != nil })
	if i < 0 {
		return nil
	}
	return c.contract.Ops[i].Job
}

func (c *Core) createJob(w Writer, r *Request, j *spec.Job, extra map[string]any) (Resource, error) {
	k := c.model.known(c.model.jobKind(j))
	res := Resource{Kind: k.name, ID: newID(k.name), Parent: parentOf(k.list, r.Path)}
	body := map[string]any{}
	for name, v := range extra {
		body[name] = v
	}
	set(body, k.id, res.ID)
	k.shape.fill(body)
	var err error
	if res.Body, err = encode(body); err != nil {
		return Resource{}, err
	}
	return c.Create(w, r.Principal, res)
}

// accepted is the answer to an admission: where the job is, in which state it began, and what else
// of the job the answer's schema shows.
func (c *Core) accepted(op *spec.Operation, j *spec.Job, job Resource) (Answer, *Problem) {
	s := answerShape(op, j.Accepted)
	var members map[string]any
	if err := decode(job.Body, &members); err != nil {
		return Answer{}, c.storeProblem(err)
	}
	body := map[string]any{}
	for name, v := range members {
		if s.has(name) {
			body[name] = v
		}
	}
	set(body, j.ID.Pointer, job.ID)
	set(body, j.State, job.State)
	a := Answer{Status: j.Accepted}
	if read := c.contract.Op(j.Read); read != nil {
		switch url := pathTo(read.Path, job.ID); j.StatusURL.Part {
		case "body":
			set(body, j.StatusURL.Pointer, url)
		case "header":
			a.Header = map[string]string{j.StatusURL.Name: url}
		}
	}
	s.fill(body)
	raw, err := encode(c.rules.Accepted(j, body))
	if err != nil {
		return Answer{}, c.storeProblem(err)
	}
	a.Body = raw
	return a, nil
}

// sealed is what a cursor of Seal holds.
type sealed struct {
	Expires time.Time       `json:"e"`
	Value   json.RawMessage `json:"v"`
}

// Seal implements System.
func (c *Core) Seal(p Principal, scope string, ttl time.Duration, v any) (string, error) {
	value, err := encode(v)
	if err != nil {
		return "", err
	}
	plain, err := encode(sealed{c.clock.Now().Add(ttl), value})
	if err != nil {
		return "", err
	}
	return c.rules.Seal(c.keys, c.rules.CursorScope("value:"+scope, p), plain)
}

// Open implements System.
func (c *Core) Open(p Principal, scope, s string, v any) *Problem {
	plain, err := c.rules.Open(c.keys, c.rules.CursorScope("value:"+scope, p), s)
	var got sealed
	if err != nil || json.Unmarshal(plain, &got) != nil {
		return c.Refuse(CursorInvalid, "The cursor is not valid for this request.")
	}
	if c.rules.CursorExpired(cursor.Content{Expires: got.Expires}, c.clock.Now()) {
		return c.Refuse(CursorExpired, "The cursor has expired; begin the traversal again.")
	}
	if decode(got.Value, v) != nil {
		return c.Refuse(CursorInvalid, "The cursor is not valid for this request.")
	}
	return nil
}
