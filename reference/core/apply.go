package core

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay.kit/spec"
)

// apply is the default Apply: it admits, creates, cancels or moves by traits. An operation without
// any of these has no effect and answers what its schema describes.
func (c *Core) apply(_ System, w Writer, r *Request, _ any) (Answer, *Problem) {
	switch op := r.Op; {
	case op.Job != nil:
		return c.AdmitJob(w, r, c.echoed(c.model.known(c.model.jobKind(op.Job)).shape, r), r.Value)
	case op.Creates != nil:
		if op.Moves != nil {
			if _, p := c.move(w, r); p != nil {
				return Answer{}, p
			}
		}
		return c.create(w, r)
	case c.model.cancels[op.ID] != nil:
		return c.cancel(w, r, c.model.cancels[op.ID])
	case op.Moves != nil:
		res, p := c.move(w, r)
		if p != nil {
			return Answer{}, p
		}
		return c.shown(op, res), nil
	default:
		return c.synthesised(r)
	}
}

// echoed are the members of the request, body and path, that a representation has too.
func (c *Core) echoed(s shape, r *Request) map[string]any {
	out := map[string]any{}
	for name, v := range r.Path {
		if s.has(name) {
			out[name] = v
		}
	}
	members, _ := r.Value.(map[string]any)
	for name, v := range members {
		if s.has(name) {
			out[name] = v
		}
	}
	return out
}

// create makes the resource: what was sent, the path it was sent to, an id, and whatever its schema
// asks for besides.
func (c *Core) create(w Writer, r *Request) (Answer, *Problem) {
	k := c.model.known(r.Op.Creates.Resource)
	status := c.model.success[r.Op.ID]
	s := k.shape
	if s.in == nil {
		s = answerShape(r.Op, status)
	}
	res := Resource{Kind: k.name, ID: newID(k.name), Parent: parentOf(c.contract.Op(r.Op.Creates.List), r.Path)}
	body := c.echoed(s, r)
	set(body, k.id, res.ID)
	s.fill(body)
	var err error
	if res.Body, err = encode(body); err != nil {
		return Answer{}, c.storeProblem(err)
	}
	if res, err = c.Create(w, r.Principal, res); err != nil {
		return Answer{}, c.storeProblem(err)
	}
	a := c.shown(r.Op, res)
	if read := c.contract.Op(r.Op.Creates.Read); read != nil && status == http.StatusCreated {
		a.Header = map[string]string{"Location": pathTo(read.Path, res.ID)}
	}
	return a, nil
}

// shown answers with a resource, or with nothing where the contract says 204.
func (c *Core) shown(op *spec.Operation, res Resource) Answer {
	status := c.model.success[op.ID]
	if status == http.StatusNoContent {
		return Answer{Status: status}
	}
	return Answer{Status: status, Body: c.rules.Represent(op, res)}
}

// target is the resource of a type that a path parameter of the request names.
func (c *Core) target(w Writer, r *Request, kind string) (Resource, *Problem) {
	for _, name := range slices.Backward(pathParams(r.Op.Path)) {
		if ref := refOf(r.Op, "path", name); ref != nil && ref.Resource == kind {
			return c.Find(w, r.Principal, kind, r.Path[name])
		}
	}
	return c.Find(w, r.Principal, kind, r.Path[lastPathParam(r.Op.Path)])
}

// move carries out the moves trait. A resource that is where the move leads already stays; one that
// is elsewhere is a conflict where the contract documents one, else it stays too.
func (c *Core) move(w Writer, r *Request) (Resource, *Problem) {
	t := r.Op.Moves
	res, p := c.target(w, r, t.Resource)
	if p != nil {
		return Resource{}, p
	}
	conflict := c.Refuse(StateConflict, "The "+t.Resource+" is "+res.State+", from where it cannot become "+t.To+".")
	documented := r.Op.Answers[conflict.Status] != nil
	switch {
	case len(t.From) == 0 || slices.Contains(t.From, res.State):
		return c.Step(w, res, t.To, nil)
	case documented && res.State != t.To || r.Op.Creates != nil:
		return Resource{}, conflict
	default:
		return res, nil
	}
}

// cancel ends an active job and its work; one that has ended stays as it ended.
func (c *Core) cancel(w Writer, r *Request, j *spec.Job) (Answer, *Problem) {
	kind := c.model.jobKind(j)
	res, p := c.target(w, r, kind)
	if p != nil {
		return Answer{}, p
	}
	to, moves := c.rules.CancelTo(c.model.known(kind).machine, j.Cancelled, res.State)
	if !moves {
		return c.shown(r.Op, res), nil
	}
	if res, p = c.Step(w, res, to, nil); p != nil {
		return Answer{}, p
	}
	if err := c.rules.Stop(w, res.ID); err != nil {
		return Answer{}, c.storeProblem(err)
	}
	return c.shown(r.Op, res), nil
}

// synthesised answers what the schema of the operation's success describes.
func (c *Core) synthesised(r *Request) (Answer, *Problem) {
	status := c.model.success[r.Op.ID]
	a := r.Op.Answers[status]
	if a == nil || a.Schema == nil {
		return Answer{Status: status}, nil
	}
	v := synthesise(a.Schema, a.Schema.Raw(), 0)
	if len(a.Examples) > 0 {
		v = clone(a.Examples[0].Value)
	}
	if body, ok := v.(map[string]any); ok {
		maps.Copy(body, c.echoed(shapeOf(a.Schema), r))
	}
	raw, err := encode(v)
	if err != nil {
		return Answer{}, c.broken(r.Op, err)
	}
	return Answer{Status: status, Body: raw}, nil
}

// readOne is the default Read of what is no collection: the connection, one resource, or else what
// the schema describes.
func (c *Core) readOne(ctx context.Context, r *Request) (Answer, *Problem) {
	if t := c.contract.Doc.Connection; t != nil && t.Operation == r.Op.ID {
		return c.connection(r)
	}
	kind := c.model.read[r.Op.ID]
	if kind == "" {
		return c.synthesised(r)
	}
	var res Resource
	var p *Problem
	delay, held := c.pollDelay(r.Op), false
	err := c.store.View(ctx, func(rd Reader) error {
		res, p = c.Find(rd, r.Principal, kind, r.Path[lastPathParam(r.Op.Path)])
		if p == nil && delay != "" {
			t, err := rd.Task(res.ID)
			held = err == nil && t.Held
		}
		return nil
	})
	switch {
	case err != nil:
		return Answer{}, c.failed(r.Op, err)
	case p != nil:
		return Answer{}, p
	}
	ans := c.shown(r.Op, res)
	if held {
		ans.Header = with(ans.Header, delay, strconv.Itoa(RetryAfter(heldDelay)))
	}
	return ans, nil
}

// heldDelay is how long a client is asked to wait before it reads a job again that cannot run yet.
const heldDelay = time.Second

// pollDelay is the header in which an answer may ask for a delay before the next read, "" if the
// contract documents none there.
func (c *Core) pollDelay(op *spec.Operation) string {
	b, a := c.contract.Doc.Backpressure, op.Answers[http.StatusOK]
	if b == nil || b.Delay.Part != "header" || a == nil {
		return ""
	}
	for _, h := range a.Headers {
		if strings.EqualFold(h.Name, b.Delay.Name) {
			return h.Name
		}
	}
	return ""
}

// connection answers the caller's own context and limits.
func (c *Core) connection(r *Request) (Answer, *Problem) {
	p, l := r.Principal, r.Principal.Limits
	s := answerShape(r.Op, c.model.success[r.Op.ID])
	body := map[string]any{}
	known := map[string]any{
		"client_id": p.Client, "client": p.Client, "workspace_id": p.Workspace, "workspace": p.Workspace,
		"audience": nonNil(p.Audience), "scopes": nonNil(p.Scopes), "grants": nonNil(p.Grants), "entitlements": nonNil(p.Entitlements),
		"service_budget": p.Budget, "issued_at": Timestamp(p.Issued), "expires_at": Timestamp(p.Expires),
	}
	for name, v := range known {
		if s.has(name) {
			body[name] = v
		}
	}
	limits := map[string]int{
		"requestsPerMinute": l.RequestsPerMinute, "concurrentJobs": l.ConcurrentJobs, "requestBytes": l.RequestBytes,
		"idempotencyRetention": int(l.IdempotencyRetention.Seconds()), "cursorTtl": int(l.CursorTTL.Seconds()), "eventRetention": int(l.EventRetention.Seconds()),
	}
	for name, at := range c.contract.Doc.Connection.Limits {
		set(body, at, limits[name])
	}
	s.fill(body)
	raw, err := encode(body)
	if err != nil {
		return Answer{}, c.broken(r.Op, err)
	}
	return Answer{Status: c.model.success[r.Op.ID], Body: raw}, nil
}

func nonNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
