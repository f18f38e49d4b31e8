// Package storetest is the behaviour that every core.Store must show, as one suite.
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

// Open returns an empty store, closed when the test ends.
type Open func(t *testing.T) core.Store

// Run runs the suite, each part on a store of its own.
func Run(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, s core.Store)
	}{
		{"insert and read back", insertAndRead},
		{"an id exists once in its kind", duplicateID},
		{"an error rolls everything back", rollback},
		{"a panic rolls back and harms nobody else", panics},
		{"replace keeps seq and created", replace},
		{"order of seq is order of commit", seqOrder},
		{"a view is one snapshot", snapshot},
		{"scan: bounds, direction, limit", scanBounds},
		{"scan: scopes", scanScopes},
		{"bindings", bindings},
		{"one identity, many writers: one wins", bindingRace},
		{"tasks", tasks},
		{"values", values},
		{"purge", purge},
		{"an ended context writes nothing", endedContext},
		{"a closed store refuses", closed},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func at(seconds int) time.Time {
	return time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second)
}

func resource(id string) core.Resource {
	return core.Resource{
		Kind: "note", ID: id, Workspace: "w", Client: "c", Parent: "p", Created: at(1), State: "new",
		Body: json.RawMessage(`{"id":"` + id + `"}`), Private: json.RawMessage(`[1]`),
	}
}

func update(t *testing.T, s core.Store, f func(w core.Writer) error) {
	t.Helper()
	if err := s.Update(t.Context(), f); err != nil {
		t.Fatalf("Update: %v", err)
	}
}

func view(t *testing.T, s core.Store, f func(r core.Reader) error) {
	t.Helper()
	if err := s.View(t.Context(), f); err != nil {
		t.Fatalf("View: %v", err)
	}
}

func insert(t *testing.T, s core.Store, rs ...core.Resource) []int64 {
	t.Helper()
	var seqs []int64
	update(t, s, func(w core.Writer) error {
		seqs = nil
		for _, r := range rs {
			seq, err := w.Insert(r)
			if err != nil {
				return err
			}
			seqs = append(seqs, seq)
		}
		return nil
	})
	return seqs
}

func same(a, b core.Resource) bool {
	return a.Kind == b.Kind && a.ID == b.ID && a.Workspace == b.Workspace && a.Client == b.Client && a.Parent == b.Parent &&
		a.Seq == b.Seq && a.Created.Equal(b.Created) && a.State == b.State && bytes.Equal(a.Body, b.Body) && bytes.Equal(a.Private, b.Private)
}

func insertAndRead(t *testing.T, s core.Store) {
	want := resource("a")
	want.Created = at(1).Add(123456 * time.Microsecond)
	update(t, s, func(w core.Writer) error {
		seq, err := w.Insert(want)
		if err != nil {
			return err
		}
		want.Seq = seq
		got, err := w.Resource("note", "a")
		if err != nil || !same(got, want) {
			t.Errorf("inside the Update: %+v, %v; want %+v", got, err, want)
		}
		return nil
	})
	view(t, s, func(r core.Reader) error {
		got, err := r.Resource("note", "a")
		if err != nil || !same(got, want) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		for _, k := range [][2]string{{"note", "b"}, {"other", "a"}} {
			if _, err := r.Resource(k[0], k[1]); !errors.Is(err, core.ErrNotFound) {
				t.Errorf("%v: error %v, want ErrNotFound", k, err)
			}
		}
		if n, err := r.Watermark(); err != nil || n != want.Seq {
			t.Errorf("Watermark = %d, %v; want %d", n, err, want.Seq)
		}
		return nil
	})
}

func duplicateID(t *testing.T, s core.Store) {
	insert(t, s, resource("a"))
	err := s.Update(t.Context(), func(w core.Writer) error { _, err := w.Insert(resource("a")); return err })
	if err == nil {
		t.Error("a second resource with the same kind and id was accepted")
	}
	other := resource("a")
	other.Kind = "other"
	insert(t, s, other)
}

var errWanted = errors.New("wanted")

func rollback(t *testing.T, s core.Store) {
	insert(t, s, resource("kept"))
	update(t, s, func(w core.Writer) error {
		return errors.Join(w.SetTask(core.Task{Job: "kept", Due: at(5)}), w.SetValue("b", "k", []byte("old")))
	})
	err := s.Update(t.Context(), func(w core.Writer) error {
		changed := resource("kept")
		changed.State = "changed"
		_, err := w.Insert(resource("gone"))
		return errors.Join(err, w.Replace(changed),
			w.Bind(core.Binding{Identity: "i", Expires: at(9)}), w.SetTask(core.Task{Job: "gone"}), w.DropTask("kept"),
			w.SetValue("b", "k", []byte("new")), w.SetValue("b", "k2", []byte("new")),
			w.PurgeResources("note", at(100)), errWanted)
	})
	if !errors.Is(err, errWanted) {
		t.Fatalf("Update returned %v, want the error of its function", err)
	}
	view(t, s, func(r core.Reader) error {
		if res, err := r.Resource("note", "kept"); err != nil || res.State != "new" {
			t.Errorf("kept: %+v, %v", res, err)
		}
		if _, err := r.Resource("note", "gone"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("gone: %v", err)
		}
		if _, err := r.Binding("i"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("binding: %v", err)
		}
		if _, err := r.Task("gone"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("task: %v", err)
		}
		if _, err := r.Task("kept"); err != nil {
			t.Errorf("dropped task did not come back: %v", err)
		}
		if vs, err := r.Values("b"); err != nil || len(vs) != 1 || string(vs["k"]) != "old" {
			t.Errorf("values: %q, %v", vs, err)
		}
		if rows, err := r.Scan(core.Query{Kind: "note", Workspace: "w", AnyParent: true, Limit: 9}); err != nil || len(rows) != 1 {
			t.Errorf("scan: %d rows, %v", len(rows), err)
		}
		return nil
	})
	if seqs := insert(t, s, resource("later")); seqs[0] != 2 {
		t.Errorf("the rolled back insert left a gap: seq %d", seqs[0])
	}
}

func panics(t *testing.T, s core.Store) {
	func() {
		defer func() { _ = recover() }() // an error or the panic itself, as the store likes
		err := s.Update(t.Context(), func(w core.Writer) error {
			if _, err := w.Insert(resource("gone")); err != nil {
				return err
			}
			panic("in an Update")
		})
		if err == nil {
			t.Error("an Update that panicked reported success")
		}
	}()
	insert(t, s, resource("kept"))
	view(t, s, func(r core.Reader) error {
		if _, err := r.Resource("note", "gone"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("what the panicking Update wrote: %v", err)
		}
		return nil
	})
}

func replace(t *testing.T, s core.Store) {
	seq := insert(t, s, resource("a"))[0]
	next := core.Resource{Kind: "note", ID: "a", State: "old", Body: json.RawMessage(`{}`), Created: at(50), Workspace: "elsewhere"}
	update(t, s, func(w core.Writer) error { return w.Replace(next) })
	view(t, s, func(r core.Reader) error {
		got, err := r.Resource("note", "a")
		want := resource("a")
		want.Seq, want.State, want.Body, want.Private = seq, "old", json.RawMessage(`{}`), nil
		if err != nil || !same(got, want) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		return nil
	})
	err := s.Update(t.Context(), func(w core.Writer) error { return w.Replace(resource("nobody")) })
	if !errors.Is(err, core.ErrNotFound) {
		t.Errorf("replacing what is not there: %v, want ErrNotFound", err)
	}
}

// seqOrder checks the watermark's promise: what a reader saw below one never changes.
func seqOrder(t *testing.T, s core.Store) {
	const lanes = 8
	perLane := heavy / lanes
	var writers sync.WaitGroup
	for lane := range lanes {
		writers.Go(func() {
			for i := range perLane {
				err := s.Update(context.Background(), func(w core.Writer) error {
					_, err := w.Insert(resource(fmt.Sprintf("%d-%d", lane, i)))
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				checkGapless(t, s)
			}
		}
	})
	writers.Wait()
	close(stop)
	reader.Wait()
	view(t, s, func(r core.Reader) error {
		if n, err := r.Watermark(); err != nil || n != int64(lanes*perLane) {
			t.Errorf("Watermark = %d, %v; want %d", n, err, lanes*perLane)
		}
		return nil
	})
}

func checkGapless(t *testing.T, s core.Store) {
	err := s.View(context.Background(), func(r core.Reader) error {
		n, err := r.Watermark()
		if err != nil {
			return err
		}
		rows, err := r.Scan(core.Query{Kind: "note", Workspace: "w", AnyParent: true, UpTo: n, Limit: heavy + 1})
		if err == nil && int64(len(rows)) != n {
			t.Errorf("below the watermark %d there are %d rows", n, len(rows))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func snapshot(t *testing.T, s core.Store) {
	insert(t, s, resource("a"))
	begun, written := make(chan struct{}), make(chan error, 1)
	go func() {
		<-begun
		written <- s.Update(context.Background(), func(w core.Writer) error { _, err := w.Insert(resource("b")); return err })
	}()
	view(t, s, func(r core.Reader) error {
		before, err := r.Watermark()
		if err != nil {
			return err
		}
		close(begun)
		select { // a store may let the writer pass or make it wait; the view must not change either way
		case err := <-written:
			written <- err
		case <-time.After(50 * time.Millisecond):
		}
		if after, err := r.Watermark(); err != nil || after != before {
			t.Errorf("within one view the watermark went from %d to %d (%v)", before, after, err)
		}
		if _, err := r.Resource("note", "b"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("a later write shows in the view: %v", err)
		}
		return nil
	})
	if err := <-written; err != nil {
		t.Error(err)
	}
}
