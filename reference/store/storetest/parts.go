package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"assay.kit/reference/core"
)

func ids(rows []core.Resource) string {
	var out []string
	for _, r := range rows {
		out = append(out, r.ID)
	}
	return fmt.Sprint(out)
}

func scanBounds(t *testing.T, s core.Store) {
	var rs []core.Resource
	for i, id := range []string{"a", "b", "c", "d", "e"} {
		r := resource(id)
		r.Created = at(i)
		rs = append(rs, r)
	}
	insert(t, s, rs...)
	for _, c := range []struct {
		name string
		q    core.Query
		want string
	}{
		{"all", core.Query{Limit: 9}, "[a b c d e]"},
		{"limit", core.Query{Limit: 2}, "[a b]"},
		{"no limit is none", core.Query{}, "[]"},
		{"after", core.Query{After: 2, Limit: 9}, "[c d e]"},
		{"up to", core.Query{UpTo: 2, Limit: 9}, "[a b]"},
		{"between", core.Query{After: 1, UpTo: 3, Limit: 9}, "[b c]"},
		{"descending", core.Query{Desc: true, Limit: 9}, "[e d c b a]"},
		{"descending after", core.Query{Desc: true, After: 3, Limit: 9}, "[b a]"},
		{"descending up to", core.Query{Desc: true, UpTo: 3, Limit: 2}, "[c b]"},
		{"descending between", core.Query{Desc: true, UpTo: 4, After: 4, Limit: 9}, "[c b a]"},
		{"beyond the end", core.Query{After: 5, Limit: 9}, "[]"},
		{"before the start", core.Query{Desc: true, After: 1, Limit: 9}, "[]"},
		{"a watermark beyond the end", core.Query{UpTo: 99, Limit: 9}, "[a b c d e]"},
		{"created after, exclusive", core.Query{CreatedAfter: at(2), Limit: 9}, "[d e]"},
		{"created after, descending, limit", core.Query{CreatedAfter: at(1), Desc: true, Limit: 2}, "[e d]"},
	} {
		c.q.Kind, c.q.Workspace, c.q.Parent = "note", "w", "p"
		view(t, s, func(r core.Reader) error {
			rows, err := r.Scan(c.q)
			if err != nil || ids(rows) != c.want {
				t.Errorf("%s: %s, %v; want %s", c.name, ids(rows), err, c.want)
			}
			return nil
		})
	}
}

func scanScopes(t *testing.T, s core.Store) {
	put := func(kind, workspace, parent, id string) core.Resource {
		return core.Resource{Kind: kind, Workspace: workspace, Parent: parent, ID: id, Created: at(0)}
	}
	insert(t, s, put("k", "w", "", "a"), put("k", "w", "p", "b"), put("k", "v", "p", "c"), put("l", "w", "p", "d"), put("k", "v", "", "e"))
	for want, q := range map[string]core.Query{
		"[a]":       {Workspace: "w"},
		"[b]":       {Workspace: "w", Parent: "p"},
		"[a b]":     {Workspace: "w", AnyParent: true},
		"[b c]":     {AnyWorkspace: true, Parent: "p"},
		"[a b c e]": {AnyWorkspace: true, AnyParent: true},
		"[]":        {Workspace: "nobody", AnyParent: true},
	} {
		q.Kind, q.Limit = "k", 9
		view(t, s, func(r core.Reader) error {
			rows, err := r.Scan(q)
			if err != nil || ids(rows) != want {
				t.Errorf("%+v: %s, %v; want %s", q, ids(rows), err, want)
			}
			return nil
		})
	}
}

func bindings(t *testing.T, s core.Store) {
	want := core.Binding{
		Identity: "i", Fingerprint: []byte{0, 1, 255}, Expires: at(10).Add(7 * time.Microsecond),
		Answer: core.Answer{Status: 202, Header: map[string]string{"Location": "/x"}, Body: json.RawMessage(`{"n": 1.0}`)},
	}
	check := func(want core.Binding) {
		t.Helper()
		view(t, s, func(r core.Reader) error {
			got, err := r.Binding(want.Identity)
			if err != nil || !bytes.Equal(got.Fingerprint, want.Fingerprint) || !got.Expires.Equal(want.Expires) ||
				got.Answer.Status != want.Answer.Status || fmt.Sprint(got.Answer.Header) != fmt.Sprint(want.Answer.Header) ||
				!bytes.Equal(got.Answer.Body, want.Answer.Body) || got.Identity != want.Identity {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
			return nil
		})
	}
	update(t, s, func(w core.Writer) error { return w.Bind(want) })
	check(want)
	want.Fingerprint, want.Answer = []byte{2}, core.Answer{Status: 204}
	update(t, s, func(w core.Writer) error { return w.Bind(want) })
	check(want)
}

var errTaken = errors.New("taken")

func bindingRace(t *testing.T, s core.Store) {
	const lanes = 16
	for round := range max(1, heavy/256) {
		identity := fmt.Sprint("race", round)
		var mu sync.Mutex
		won := 0
		var wg sync.WaitGroup
		for lane := range lanes {
			wg.Go(func() {
				err := s.Update(context.Background(), func(w core.Writer) error {
					if _, err := w.Binding(identity); !errors.Is(err, core.ErrNotFound) {
						return errTaken
					}
					return w.Bind(core.Binding{Identity: identity, Fingerprint: []byte{byte(lane)}, Expires: at(1)})
				})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won++
				} else if !errors.Is(err, errTaken) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won != 1 {
			t.Errorf("%s: %d writers won, want 1", identity, won)
		}
	}
}

func tasks(t *testing.T, s core.Store) {
	task := func(job string, due int, change func(*core.Task)) core.Task {
		tk := core.Task{Job: job, Operation: "op", Workspace: "w", Client: "c", Credential: "cred", Due: at(due), Attempt: 2, Fail: "CODE", Input: json.RawMessage(`{"a":1}`)}
		if change != nil {
			change(&tk)
		}
		return tk
	}
	update(t, s, func(w core.Writer) error {
		return errors.Join(
			w.SetTask(task("late", 30, nil)), w.SetTask(task("b", 10, nil)), w.SetTask(task("a", 10, nil)),
			w.SetTask(task("running", 5, func(t *core.Task) { t.Running = true })),
			w.SetTask(task("held", 5, func(t *core.Task) { t.Held = true })),
			w.SetTask(task("other", 20, func(t *core.Task) { t.Credential = "x" })),
		)
	})
	names := func(ts []core.Task, err error) string {
		var out []string
		for _, tk := range ts {
			out = append(out, tk.Job)
		}
		return fmt.Sprint(out, err)
	}
	view(t, s, func(r core.Reader) error {
		for want, got := range map[string]string{
			"[a b] <nil>":            names(r.Due(at(10), 9)),
			"[a b other] <nil>":      names(r.Due(at(29), 9)),
			"[a] <nil>":              names(r.Due(at(99), 1)),
			"[] <nil>":               names(r.Due(at(9), 9)),
			"[held running] <nil>":   names(r.Stuck(9)),
			"[a b other late] <nil>": names(r.Due(at(99), 9)),
		} {
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		got, err := r.Task("late")
		if want := task("late", 30, nil); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("Task = %+v, %v; want %+v", got, err, want)
		}
		if n, err := r.Active("cred"); err != nil || n != 5 {
			t.Errorf("Active = %d, %v; want 5", n, err)
		}
		return nil
	})
	update(t, s, func(w core.Writer) error {
		return errors.Join(w.DropTask("a"), w.DropTask("nobody"), w.SetTask(task("held", 1, nil)))
	})
	view(t, s, func(r core.Reader) error {
		if got := names(r.Due(at(10), 9)); got != "[held b] <nil>" {
			t.Errorf("after the change: %s", got)
		}
		return nil
	})
}

func values(t *testing.T, s core.Store) {
	update(t, s, func(w core.Writer) error {
		return errors.Join(w.SetValue("b", "k", []byte("v")), w.SetValue("b", "empty", []byte{}), w.SetValue("c", "k", []byte("other")))
	})
	update(t, s, func(w core.Writer) error {
		return errors.Join(w.SetValue("b", "k", []byte("v2")), w.SetValue("c", "k", nil), w.SetValue("c", "nobody", nil))
	})
	view(t, s, func(r core.Reader) error {
		if v, err := r.Value("b", "k"); err != nil || string(v) != "v2" {
			t.Errorf("Value = %q, %v", v, err)
		}
		if v, err := r.Value("b", "empty"); err != nil || len(v) != 0 {
			t.Errorf("empty value = %q, %v", v, err)
		}
		if _, err := r.Value("c", "k"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("deleted value: %v, want ErrNotFound", err)
		}
		if vs, err := r.Values("b"); err != nil || len(vs) != 2 || string(vs["k"]) != "v2" {
			t.Errorf("Values = %q, %v", vs, err)
		}
		if vs, err := r.Values("nobody"); err != nil || len(vs) != 0 {
			t.Errorf("Values of an unknown bucket = %q, %v", vs, err)
		}
		return nil
	})
}

func purge(t *testing.T, s core.Store) {
	for i, id := range []string{"a", "b", "c"} {
		r := resource(id)
		r.Created = at(i)
		insert(t, s, r)
	}
	other := resource("a")
	other.Kind, other.Created = "other", at(0)
	insert(t, s, other)
	update(t, s, func(w core.Writer) error {
		return errors.Join(w.Bind(core.Binding{Identity: "old", Expires: at(5)}), w.Bind(core.Binding{Identity: "new", Expires: at(6)}))
	})
	update(t, s, func(w core.Writer) error { return errors.Join(w.PurgeBindings(at(5)), w.PurgeResources("note", at(1))) })
	view(t, s, func(r core.Reader) error {
		rows, err := r.Scan(core.Query{Kind: "note", Workspace: "w", AnyParent: true, Limit: 9})
		if err != nil || ids(rows) != "[b c]" {
			t.Errorf("after the purge: %s, %v; want [b c]", ids(rows), err)
		}
		if _, err := r.Resource("note", "a"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("a purged resource: %v", err)
		}
		if _, err := r.Resource("other", "a"); err != nil {
			t.Errorf("a resource of another kind: %v", err)
		}
		if _, err := r.Binding("old"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("an expired binding: %v", err)
		}
		if _, err := r.Binding("new"); err != nil {
			t.Errorf("a binding that holds: %v", err)
		}
		return nil
	})
	insert(t, s, resource("a"))
}

func endedContext(t *testing.T, s core.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Update(ctx, func(w core.Writer) error { _, err := w.Insert(resource("a")); return err })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Update: %v, want context.Canceled", err)
	}
	view(t, s, func(r core.Reader) error {
		if _, err := r.Resource("note", "a"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("it wrote: %v", err)
		}
		return nil
	})
	if err := s.View(ctx, func(core.Reader) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("View: %v, want context.Canceled", err)
	}
}

func closed(t *testing.T, s core.Store) {
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if err := s.Update(t.Context(), func(core.Writer) error { return nil }); err == nil {
		t.Error("Update after Close succeeded")
	}
	if err := s.View(t.Context(), func(core.Reader) error { return nil }); err == nil {
		t.Error("View after Close succeeded")
	}
}
