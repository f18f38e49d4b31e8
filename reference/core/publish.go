package core

import (
	"context"
	"fmt"

	"assay.kit/spec"
)

// Publication is how a job's result becomes visible, in its two parts. Each reports whether there
// was still something to do; there is not if the job was cancelled meanwhile.
type Publication struct {
	Job      string
	Artifact func(Writer) (bool, error) // stores the artifact
	Complete func(Writer) (bool, error) // completes the job, which then names the artifact
}

// Publish does both in one Update, so that nobody sees a completed job whose result does not resolve.
func Publish(ctx context.Context, s Store, p Publication) error {
	return s.Update(ctx, func(w Writer) error {
		ok, err := p.Artifact(w)
		if err != nil || !ok {
			return err
		}
		_, err = p.Complete(w)
		return err
	})
}

func (c *Core) publication(t Task, j *spec.Job, kind string, result Result) Publication {
	k := c.model.known(c.model.artifactKind(j))
	id := newID(k.name)
	p := Publication{Job: t.Job}
	p.Artifact = func(w Writer) (bool, error) {
		if _, ok, err := c.mine(w, t); err != nil || !ok {
			return false, err
		}
		body, _ := clone(result.Body).(map[string]any)
		if body == nil {
			body = map[string]any{}
		}
		set(body, k.id, id)
		k.shape.fill(body)
		raw, err := encode(body)
		if err != nil {
			return false, fmt.Errorf("artifact: %w", err)
		}
		owner := Principal{Workspace: t.Workspace, Client: t.Client}
		_, err = c.Create(w, owner, Resource{Kind: k.name, ID: id, Parent: t.Job, Body: raw})
		return err == nil, err
	}
	p.Complete = func(w Writer) (bool, error) {
		if _, ok, err := c.mine(w, t); err != nil || !ok {
			return false, err
		}
		return true, c.end(w, t, kind, j.Success, func(body map[string]any) { set(body, j.Result, id) })
	}
	return p
}

// exampleResult is the default Work: the artifact as the contract's example or schema describes it,
// with those members of the request that it has too.
func (c *Core) exampleResult(j *spec.Job, t Task) (Result, error) {
	body := map[string]any{}
	if op := c.contract.Op(j.Artifact); op != nil {
		a := op.Answers[c.model.success[op.ID]]
		if a != nil && len(a.Examples) > 0 {
			if example, ok := clone(a.Examples[0].Value).(map[string]any); ok {
				body = example
			}
		}
	}
	k := c.model.known(c.model.artifactKind(j))
	var input map[string]any
	if err := decode(t.Input, &input); err != nil {
		return Result{}, err
	}
	for name, v := range input {
		if k.shape.has(name) {
			body[name] = v
		}
	}
	if k.shape.has("job_id") {
		body["job_id"] = t.Job
	}
	return Result{Body: body}, nil
}
