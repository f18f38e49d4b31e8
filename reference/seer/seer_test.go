package seer

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
	"assay.kit/reference/store/memory"
	"assay.kit/spec"
	"assay.kit/spec/contracts"
	"assay.kit/spec/schema"
)

const (
	apple   = "equity:listing:apple-common-xnas"
	amazon  = "equity:listing:amazon-common-xnas"
	october = "2026-10-03T00:00:00Z"
)

// clock stands still until a test moves it.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) Wait(ctx context.Context, _ time.Time) error {
	<-ctx.Done()
	return ctx.Err()
}

// world is a server without a transport.
type world struct {
	t          testing.TB
	seer       *Seer
	core       *core.Core
	contract   *spec.Contract
	store      core.Store
	clock      *clock
	principals map[string]core.Principal
	calls      int
}

func newWorld(t testing.TB) *world {
	t.Helper()
	fsys, err := contracts.Named("seer")
	if err != nil {
		t.Fatal(err)
	}
	c, err := spec.Load(fsys, "seer")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(c, "https://seer.test/")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, seer: s, contract: c, store: memory.New(), principals: map[string]core.Principal{},
		clock: &clock{time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)},
	}
	t.Cleanup(func() { _ = w.store.Close() })
	var credentials []access.Credential
	for _, issued := range access.Derive(1, c, Holdings()) {
		credentials = append(credentials, issued.Credential)
		w.principals[issued.Name] = issued.Principal
	}
	w.core, err = core.New(t.Context(), core.Config{
		Contract: c, Store: w.store, Clock: w.clock, Behaviours: s.Behaviours(), Credentials: credentials,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.seed()
	return w
}

func (w *world) seed() {
	w.t.Helper()
	workspaces := []string{w.principals["primary"].Workspace, w.principals["second_workspace"].Workspace}
	if err := w.store.Update(w.t.Context(), func(wr core.Writer) error { return w.seer.Seed(wr, w.core, workspaces) }); err != nil {
		w.t.Fatal(err)
	}
}

// request is one call; the zero principal is primary.
type request struct {
	op    string
	who   string
	path  map[string]string
	query url.Values
	body  any // a string is sent as it is
	key   string
}

// try sends a request; what succeeds must follow the contract's schema.
func (w *world) try(r request) (map[string]any, core.Answer, *core.Problem) {
	w.t.Helper()
	op := w.contract.Op(r.op)
	if op == nil {
		w.t.Fatalf("no operation %s", r.op)
	}
	if r.who == "" {
		r.who = "primary"
	}
	w.calls++
	if r.key == "" {
		r.key = "key-" + strings.Repeat("i", w.calls)
	}
	path := op.Path
	for name, v := range r.path {
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(v))
	}
	body, isText := r.body.(string)
	if !isText && r.body != nil {
		raw, err := json.Marshal(r.body)
		if err != nil {
			w.t.Fatal(err)
		}
		body = string(raw)
	}
	ans, p := w.core.Do(w.t.Context(), core.Request{
		ID: "req", Op: op, Principal: w.principals[r.who], Path: r.path, EscapedPath: path, Query: r.query,
		Header: func(name string) string { return map[string]string{"Idempotency-Key": r.key}[name] },
		Body:   []byte(body),
	})
	if p != nil {
		return nil, ans, p
	}
	documented := op.Answers[ans.Status]
	if documented == nil {
		w.t.Fatalf("%s answers %d, which the contract does not document", r.op, ans.Status)
	}
	v, err := schema.DecodeJSON(ans.Body)
	if err != nil {
		w.t.Fatalf("%s: %v", r.op, err)
	}
	for _, broken := range documented.Schema.Validate(v) {
		w.t.Errorf("%s %d: %s %s: %s", r.op, ans.Status, broken.Instance, broken.Keyword, broken.Message)
	}
	m, _ := v.(map[string]any)
	return m, ans, nil
}

// do is try for what must succeed.
func (w *world) do(r request) map[string]any {
	w.t.Helper()
	v, _, p := w.try(r)
	if p != nil {
		w.t.Fatalf("%s: %d %s: %s %v", r.op, p.Status, p.Code, p.Detail, p.Violations)
	}
	return v
}

// refused is try for what must not succeed.
func (w *world) refused(r request, status int, code string) *core.Problem {
	w.t.Helper()
	_, ans, p := w.try(r)
	switch {
	case p == nil:
		w.t.Fatalf("%s: answered %d, want the refusal %d %s", r.op, ans.Status, status, code)
	case p.Status != status || p.Code != code:
		w.t.Fatalf("%s: refused with %d %s (%s), want %d %s", r.op, p.Status, p.Code, p.Detail, status, code)
	}
	return p
}

func invocationOf(tool string, input any) map[string]any {
	return map[string]any{"agent_revision_id": "agr_example_3", "tool": tool, "input": input}
}

// admitted is the task of the job that an answer admitted.
func (w *world) admitted(accepted map[string]any) (t core.Task) {
	w.t.Helper()
	id, _ := accepted["job_id"].(string)
	err := w.store.View(w.t.Context(), func(r core.Reader) (err error) {
		t, err = r.Task(id)
		return err
	})
	if err != nil {
		w.t.Fatalf("task of job %q: %v", id, err)
	}
	return t
}

// task is its input.
func (w *world) task(accepted map[string]any) (t task) {
	w.t.Helper()
	if err := json.Unmarshal(w.admitted(accepted).Input, &t); err != nil {
		w.t.Fatal(err)
	}
	return t
}

// artifact runs the work of the job that an answer admitted and gives what came of it.
func (w *world) artifact(accepted map[string]any) core.Result {
	w.t.Helper()
	admitted := w.admitted(accepted)
	res, err := w.seer.Behaviours()[admitted.Operation].Work(w.t.Context(), w.core, admitted)
	if err != nil {
		w.t.Fatal(err)
	}
	if res.ErrorCode == "" {
		w.conforms(res.Body)
	}
	return res
}

func (w *world) conforms(body map[string]any) {
	w.t.Helper()
	whole := map[string]any{"artifact_id": "artifact_1"}
	for name, v := range body {
		whole[name] = v
	}
	raw, err := json.Marshal(whole)
	if err != nil {
		w.t.Fatal(err)
	}
	v, err := schema.DecodeJSON(raw)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, broken := range w.contract.Op("getArtifact").Answers[200].Schema.Validate(v) {
		w.t.Errorf("artifact: %s %s: %s", broken.Instance, broken.Keyword, broken.Message)
	}
}

// same compares by JSON value, numbers by their spelling.
func same(t testing.TB, got, want any) {
	t.Helper()
	a, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.MarshalIndent(want, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
}
