package seer

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

const role = "primary"

// send calls an operation; a creation gets a key of its own.
func send(t *check.T, op *spec.Operation, path map[string]string, query url.Values, body any) wire.Exchange {
	target := op.Path
	for name, v := range path {
		target = strings.ReplaceAll(target, "{"+name+"}", url.PathEscape(v))
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	rq := wire.Request{Operation: op.ID, Method: op.Method, Target: target,
		Fields: []wire.Field{{Name: "Accept", Value: "application/json, application/problem+json"}}}
	if body != nil {
		rq.Body, _ = json.Marshal(body) // decoded from JSON
		rq.Fields = append(rq.Fields, wire.Field{Name: "Content-Type", Value: "application/json"})
	}
	if op.Idempotency != nil {
		rq.Fields = append(rq.Fields, wire.Field{Name: op.Idempotency.Key.Name, Value: t.Key()})
	}
	return t.Call(role, rq)
}

// read reads one resource; nil if it is not there.
func read(t *check.T, opID, param, id string) any {
	ex := send(t, t.Contract().Op(opID), map[string]string{param: id}, nil, nil)
	v, err := schema.DecodeJSON(ex.Body())
	if ex.Status() != 200 || err != nil {
		return nil
	}
	return v
}

// resolved is an example with the agent revision and the data that exist at this target.
func resolved(t *check.T, example any) any {
	b, _ := json.Marshal(example)
	body, err := schema.DecodeJSON(b) // a copy
	if err != nil {
		t.Inconclusive("an example is no JSON: %v", err)
	}
	m, ok := body.(map[string]any)
	if !ok {
		return body
	}
	if _, ok := m["agent_revision_id"]; ok {
		m["agent_revision_id"] = agentRevision(t)
	}
	override(m, t.Profile().Values)
	return m
}

func override(v any, values map[string]any) {
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			if val, ok := values[k]; ok {
				x[k] = val
			} else {
				override(e, values)
			}
		}
	case []any:
		for _, e := range x {
			override(e, values)
		}
	}
}

func agentRevision(t *check.T) string {
	v, err := t.Once("seer default agent revision", func() (any, error) {
		ex := send(t, t.Contract().Op("getConnection"), nil, nil, nil)
		if id := field(ex, "/default_agent_revision"); id != "" {
			return id, nil
		}
		return nil, fmt.Errorf("the connection tells no default agent revision: %s", short(ex))
	})
	if err != nil {
		t.Inconclusive("%v", err)
	}
	return v.(string)
}

func bodyNamed(t *check.T, op *spec.Operation, name string) any {
	for _, e := range op.Body.Examples {
		if e.Name == name {
			return resolved(t, e.Value)
		}
	}
	return nil
}

// field is one text member of an answer, "" if it is absent.
func field(ex wire.Exchange, p tree.Pointer) string {
	v, err := schema.DecodeJSON(ex.Body())
	if err != nil {
		return ""
	}
	m, _ := tree.Get(v, p)
	s, _ := m.(string)
	return s
}

// short is an answer in a few words.
func short(ex wire.Exchange) string {
	b := ex.Body()
	return fmt.Sprintf("%d %s", ex.Status(), b[:min(len(b), 200)])
}

// number reads a finite JSON number.
func number(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}

// result is a job that has ended, with its artifact if it completed.
type result struct {
	id, ref  string
	job      any
	artifact any
}

// run admits a job and follows it to its end; ok is false if the request was answered without a
// job, or names a tool that may not be pinned.
func run(t *check.T, op *spec.Operation, body any) (r result, ok bool) {
	free := t.JobSlot()
	ex := send(t, op, nil, nil, body)
	if tool, _ := at(body, "/tool").(string); tool != "" && maybeUnpinned(t, tool, ex) {
		free()
		return r, false
	}
	if ex.Status() >= 300 {
		t.Inconclusive("%s was refused: %s", op.ID, short(ex))
	}
	if ex.Status() != op.Job.Accepted {
		free()
		return r, false
	}
	r = ended(t, field(ex, op.Job.ID.Pointer))
	free()
	if r.ref != "" {
		r.artifact = read(t, "getArtifact", "artifact_id", r.ref)
	}
	return r, true
}

// ended polls a job to its end, as slowly as the target asks for.
func ended(t *check.T, id string) result {
	get := t.Contract().Op("getJob")
	lost := 0
	for n := 0; ; n++ {
		ex := send(t, get, map[string]string{"job_id": id}, nil, nil)
		job, err := schema.DecodeJSON(ex.Body())
		if ex.Status() != 200 || err != nil {
			if lost++; lost > 3 { // whether a job can be read at once is judged elsewhere
				t.Inconclusive("job %s could not be read: %s", id, short(ex))
			}
		}
		if state := field(ex, "/state"); slices.Contains([]string{"completed", "failed", "cancelled"}, state) {
			return result{id: id, job: job, ref: field(ex, "/result_ref")}
		}
		wait, asked := wire.ParseRetryAfter(ex.Header("Retry-After"), time.Now())
		if !asked {
			wait = min(500*time.Millisecond, time.Duration(n)*2*time.Millisecond)
		}
		t.Pause(wait)
	}
}

// history lists the states that the event log has of a job, oldest first.
func history(t *check.T, job string) (states []string, ok bool) {
	op := t.Contract().Op("listEvents")
	if op == nil || t.Profile().IsAbsent(op.ID) {
		return nil, false
	}
	query := url.Values{"resource_id": {job}, "order": {"created_at"}, "limit": {"100"}}
	for range 20 {
		ex := send(t, op, nil, query, nil)
		items, _ := tree.Get(decoded(ex), "/items")
		list, isList := items.([]any)
		if ex.Status() != 200 || !isList {
			t.Inconclusive("the events of job %s could not be read: %s", job, short(ex))
		}
		for _, it := range list {
			s, _ := tree.Get(it, "/state")
			text, _ := s.(string)
			states = append(states, text)
		}
		next := field(ex, "/next_cursor")
		if next == "" {
			break
		}
		query.Set("cursor", next)
	}
	return states, true
}

func decoded(ex wire.Exchange) any {
	v, _ := schema.DecodeJSON(ex.Body())
	return v
}

// proposalOnly looks at the newest actions before and after. Another client of the workspace may
// create some meanwhile, so only what happens twice counts.
func proposalOnly(_ context.Context, t *check.T, s check.Subject) {
	list := t.Contract().Op("listActions")
	if list == nil || t.Profile().IsAbsent(list.ID) {
		t.NoneApply("the target lists no actions")
		return
	}
	var appeared []string
	for range 2 {
		before := newest(t, list)
		r, ok := run(t, s.Op, resolved(t, s.Op.Body.Examples[0].Value))
		if !ok || r.artifact == nil {
			t.Inconclusive("no proposal completed")
		}
		appeared = slices.DeleteFunc(newest(t, list), func(id string) bool { return slices.Contains(before, id) })
		if len(appeared) == 0 {
			break
		}
	}
	t.Judge("seer.proposal-only", len(appeared) == 0, "no action that was not there before the proposal", fmt.Sprint(appeared))
}

func newest(t *check.T, list *spec.Operation) []string {
	ex := send(t, list, nil, url.Values{"limit": {"100"}}, nil)
	items, _ := tree.Get(decoded(ex), "/items")
	all, ok := items.([]any)
	if ex.Status() != 200 || !ok {
		t.Inconclusive("the actions could not be listed: %s", short(ex))
	}
	var ids []string
	for _, it := range all {
		id, _ := tree.Get(it, "/action_id")
		ids = append(ids, fmt.Sprint(id))
	}
	return ids
}

func jobPinned(_ context.Context, t *check.T, s check.Subject) {
	revise := t.Contract().Op("createAgentRevision")
	if revise == nil || t.Profile().IsAbsent(revise.ID) {
		t.NoneApply("the target has no agent revisions to add")
		return
	}
	path := map[string]string{"agent_id": "assay-" + t.Nonce()}
	config := wholeToolkit(t, revise)
	first := send(t, revise, path, nil, config)
	id := field(first, "/id")
	if id == "" {
		t.Inconclusive("no agent revision could be made: %s", short(first))
	}
	body := resolved(t, s.Op.Body.Examples[0].Value)
	body.(map[string]any)["agent_revision_id"] = id
	free := t.JobSlot()
	ex := send(t, s.Op, nil, nil, body)
	job := field(ex, s.Op.Job.ID.Pointer)
	if ex.Status() != s.Op.Job.Accepted {
		t.Inconclusive("%s under a new revision was refused: %s", s.Op.ID, short(ex))
	}
	config["instructions"] = "Another brief, for later runs."
	second := send(t, revise, path, nil, config)
	if field(second, "/id") == "" {
		t.Inconclusive("no second revision could be made: %s", short(second))
	}
	r := ended(t, job)
	free()
	shown, ok := tree.Get(r.job, "/agent_revision_id")
	if !ok {
		t.NoneApply("the job does not show its agent revision")
		return
	}
	t.Judge("seer.job-pinned", shown == id, "agent revision "+id, fmt.Sprint(shown))
}

// wholeToolkit is the configuration that may use the most tools, with the connection's own references.
func wholeToolkit(t *check.T, revise *spec.Operation) map[string]any {
	best := map[string]any{}
	most := -1
	for _, e := range revise.Body.Examples {
		tools, _ := tree.Get(e.Value, "/tool_versions")
		if m, ok := tools.(map[string]any); ok && len(m) > most {
			best, _ = resolved(t, e.Value).(map[string]any)
			most = len(m)
		}
	}
	cn := decoded(send(t, t.Contract().Op("getConnection"), nil, nil, nil))
	if grants, ok := tree.Get(cn, "/grants"); ok {
		best["grant_refs"] = grants
	}
	if budget, ok := tree.Get(cn, "/service_budget"); ok {
		best["service_budget_ref"] = budget
	}
	return best
}
