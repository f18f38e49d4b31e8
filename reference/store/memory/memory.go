// Package memory is a Store in the process's memory: for tests, mutants and mocks. A View holds a
// read lock, so it is one snapshot; an Update holds the write lock and undoes itself on an error.
package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"assay.kit/reference/core"
)

// Store is a core.Store. A View or Update inside another of the same Store blocks for ever.
type Store struct {
	mu    sync.RWMutex
	state state
}

var _ core.Store = (*Store)(nil)

var errClosed = errors.New("memory: the store is closed")

// New returns an empty store.
func New() *Store {
	return &Store{state: state{
		byID: map[idKey]*entry{}, lists: map[listKey][]*entry{}, bindings: map[string]core.Binding{},
		tasks: map[string]core.Task{}, values: map[string]map[string][]byte{},
	}}
}

// View implements core.Store.
func (s *Store) View(ctx context.Context, f func(core.Reader) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.state.closed {
		return errClosed
	}
	return f(&s.state)
}

// Update implements core.Store.
func (s *Store) Update(ctx context.Context, f func(core.Writer) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.closed {
		return errClosed
	}
	w := &writer{state: &s.state}
	done := false
	defer func() { // also when f panics: a half-done update must not stay
		if !done {
			w.rollback()
		}
	}()
	if err := f(w); err != nil {
		return err
	}
	done = true
	return nil
}

// Close implements core.Store; what was stored is gone.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.closed = true
	return nil
}

type idKey struct{ kind, id string }

// listKey is one of the four scopes that a Query can have.
type listKey struct {
	kind, workspace, parent string
	anyWorkspace, anyParent bool
}

// entry is shared by the lists, so that a Replace touches none of them.
type entry struct{ res core.Resource }

type state struct {
	closed   bool
	seq      int64
	byID     map[idKey]*entry
	lists    map[listKey][]*entry // in order of Seq
	bindings map[string]core.Binding
	tasks    map[string]core.Task
	values   map[string]map[string][]byte
}

func listKeys(r core.Resource) [4]listKey {
	return [4]listKey{
		{kind: r.Kind, workspace: r.Workspace, parent: r.Parent},
		{kind: r.Kind, workspace: r.Workspace, anyParent: true},
		{kind: r.Kind, parent: r.Parent, anyWorkspace: true},
		{kind: r.Kind, anyWorkspace: true, anyParent: true},
	}
}

func (s *state) Resource(kind, id string) (core.Resource, error) {
	e, ok := s.byID[idKey{kind, id}]
	if !ok {
		return core.Resource{}, core.ErrNotFound
	}
	return e.res, nil
}

func (s *state) Scan(q core.Query) ([]core.Resource, error) {
	key := listKey{kind: q.Kind, anyWorkspace: q.AnyWorkspace, anyParent: q.AnyParent}
	if !q.AnyWorkspace {
		key.workspace = q.Workspace
	}
	if !q.AnyParent {
		key.parent = q.Parent
	}
	list := s.lists[key]
	low, high := int64(0), s.seq // seq in (low, high]
	if q.UpTo > 0 {
		high = min(high, q.UpTo)
	}
	switch {
	case q.After > 0 && q.Desc:
		high = min(high, q.After-1)
	case q.After > 0:
		low = q.After
	}
	from, to := upper(list, low), upper(list, high)
	var out []core.Resource
	for n := range to - from {
		if len(out) >= q.Limit {
			break
		}
		e := list[from+n]
		if q.Desc {
			e = list[to-1-n]
		}
		if q.CreatedAfter.IsZero() || e.res.Created.After(q.CreatedAfter) {
			out = append(out, e.res)
		}
	}
	return out, nil
}

// upper is the index of the first entry whose Seq is above seq.
func upper(list []*entry, seq int64) int {
	i, _ := slices.BinarySearchFunc(list, seq+1, func(e *entry, s int64) int { return cmp.Compare(e.res.Seq, s) })
	return max(0, i)
}

func (s *state) Watermark() (int64, error) { return s.seq, nil }

func (s *state) Binding(identity string) (core.Binding, error) {
	b, ok := s.bindings[identity]
	if !ok {
		return core.Binding{}, core.ErrNotFound
	}
	return b, nil
}

func (s *state) Task(job string) (core.Task, error) {
	t, ok := s.tasks[job]
	if !ok {
		return core.Task{}, core.ErrNotFound
	}
	return t, nil
}

func (s *state) Due(now time.Time, n int) ([]core.Task, error) {
	return s.pick(n, func(t core.Task) bool { return !t.Running && !t.Held && !t.Due.After(now) }, byDue), nil
}

func (s *state) Stuck(n int) ([]core.Task, error) {
	return s.pick(n, func(t core.Task) bool { return t.Running || t.Held }, byJob), nil
}

func byDue(a, b core.Task) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Job, b.Job)) }
func byJob(a, b core.Task) int { return cmp.Compare(a.Job, b.Job) }

func (s *state) pick(n int, want func(core.Task) bool, order func(a, b core.Task) int) []core.Task {
	var out []core.Task
	for _, t := range s.tasks {
		if want(t) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, order)
	return out[:min(n, len(out))]
}

func (s *state) Active(credential string) (int, error) {
	n := 0
	for _, t := range s.tasks {
		if t.Credential == credential {
			n++
		}
	}
	return n, nil
}

func (s *state) Value(bucket, key string) ([]byte, error) {
	v, ok := s.values[bucket][key]
	if !ok {
		return nil, core.ErrNotFound
	}
	return v, nil
}

func (s *state) Values(bucket string) (map[string][]byte, error) {
	return maps.Clone(s.values[bucket]), nil
}

// writer changes the state in place and remembers how to take each change back.
type writer struct {
	*state
	undo []func()
}

func (w *writer) rollback() {
	for i := len(w.undo) - 1; i >= 0; i-- {
		w.undo[i]()
	}
}

func (w *writer) onRollback(f func()) { w.undo = append(w.undo, f) }

func (w *writer) Insert(r core.Resource) (int64, error) {
	id := idKey{r.Kind, r.ID}
	if _, exists := w.byID[id]; exists {
		return 0, fmt.Errorf("memory: a %s with this id exists already", r.Kind)
	}
	w.seq++
	r.Seq = w.seq
	r.Body, r.Private = slices.Clone(r.Body), slices.Clone(r.Private)
	e := &entry{r}
	w.byID[id] = e
	keys := listKeys(r)
	for _, k := range keys {
		w.lists[k] = append(w.lists[k], e)
	}
	w.onRollback(func() {
		w.seq--
		delete(w.byID, id)
		for _, k := range keys {
			w.lists[k] = w.lists[k][:len(w.lists[k])-1]
		}
	})
	return r.Seq, nil
}

func (w *writer) Replace(r core.Resource) error {
	e, ok := w.byID[idKey{r.Kind, r.ID}]
	if !ok {
		return core.ErrNotFound
	}
	old := e.res
	e.res.State, e.res.Body, e.res.Private = r.State, slices.Clone(r.Body), slices.Clone(r.Private)
	w.onRollback(func() { e.res = old })
	return nil
}

func (w *writer) Bind(b core.Binding) error {
	b.Fingerprint = slices.Clone(b.Fingerprint)
	b.Answer.Body, b.Answer.Header = slices.Clone(b.Answer.Body), maps.Clone(b.Answer.Header)
	set(w, w.bindings, b.Identity, b)
	return nil
}

func (w *writer) SetTask(t core.Task) error {
	t.Input = slices.Clone(t.Input)
	set(w, w.tasks, t.Job, t)
	return nil
}

func (w *writer) DropTask(job string) error {
	unset(w, w.tasks, job)
	return nil
}

func (w *writer) SetValue(bucket, key string, v []byte) error {
	if v == nil {
		unset(w, w.values[bucket], key)
		return nil
	}
	if w.values[bucket] == nil {
		w.values[bucket] = map[string][]byte{}
	}
	set(w, w.values[bucket], key, append([]byte{}, v...))
	return nil
}

func set[V any](w *writer, m map[string]V, key string, v V) {
	old, had := m[key]
	m[key] = v
	w.onRollback(func() {
		if had {
			m[key] = old
		} else {
			delete(m, key)
		}
	})
}

func unset[V any](w *writer, m map[string]V, key string) {
	if old, had := m[key]; had {
		delete(m, key)
		w.onRollback(func() { m[key] = old })
	}
}

func (w *writer) PurgeBindings(t time.Time) error {
	for identity, b := range w.bindings {
		if !b.Expires.After(t) {
			unset(w, w.bindings, identity)
		}
	}
	return nil
}

func (w *writer) PurgeResources(kind string, t time.Time) error {
	old := func(e *entry) bool { return e.res.Created.Before(t) }
	for key, list := range w.lists {
		if key.kind != kind || !slices.ContainsFunc(list, old) {
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(list), old) // a new array: the old one is for the rollback
		w.lists[key] = kept
		w.onRollback(func() { w.lists[key] = list })
		if key.anyWorkspace && key.anyParent { // the one list that holds each entry once
			w.forget(list, old)
		}
	}
	return nil
}

func (w *writer) forget(list []*entry, old func(*entry) bool) {
	for _, e := range list {
		if old(e) {
			id := idKey{e.res.Kind, e.res.ID}
			delete(w.byID, id)
			w.onRollback(func() { w.byID[id] = e })
		}
	}
}
