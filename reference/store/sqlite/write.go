package sqlite

import (
	"encoding/json"
	"fmt"
	"time"

	"assay.kit/reference/core"
)

// writer implements core.Writer inside one savepoint.
type writer struct{ reader }

func (w *writer) exec(text string, args ...any) (changed int64, err error) {
	res, err := w.db.ExecContext(w.ctx, text, args...)
	if err != nil {
		return 0, fmt.Errorf("sqlite: %w", err)
	}
	if changed, err = res.RowsAffected(); err != nil {
		return 0, fmt.Errorf("sqlite: %w", err)
	}
	return changed, nil
}

func (w *writer) Insert(r core.Resource) (int64, error) {
	res, err := w.db.ExecContext(w.ctx,
		"INSERT INTO resources (kind, id, workspace, client, parent, created, state, body, private) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		r.Kind, r.ID, r.Workspace, r.Client, r.Parent, toMicro(r.Created), r.State, []byte(r.Body), []byte(r.Private))
	if err != nil {
		return 0, fmt.Errorf("sqlite: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return 0, fmt.Errorf("sqlite: a %s with this id exists already", r.Kind)
	}
	return res.LastInsertId()
}

func (w *writer) Replace(r core.Resource) error {
	n, err := w.exec("UPDATE resources SET state = ?, body = ?, private = ? WHERE kind = ? AND id = ?",
		r.State, []byte(r.Body), []byte(r.Private), r.Kind, r.ID)
	if err == nil && n == 0 {
		return core.ErrNotFound
	}
	return err
}

func (w *writer) Bind(b core.Binding) error {
	header, err := json.Marshal(b.Answer.Header)
	if err != nil {
		return fmt.Errorf("sqlite: header of an answer: %w", err)
	}
	_, err = w.exec("INSERT OR REPLACE INTO bindings (identity, fingerprint, expires, status, header, body) VALUES (?, ?, ?, ?, ?, ?)",
		b.Identity, nonNil(b.Fingerprint), toMicro(b.Expires), b.Answer.Status, header, []byte(b.Answer.Body))
	return err
}

func (w *writer) SetTask(t core.Task) error {
	_, err := w.exec("INSERT OR REPLACE INTO tasks (job, operation, workspace, client, credential, due, attempt, running, held, fail, input) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		t.Job, t.Operation, t.Workspace, t.Client, t.Credential, toMicro(t.Due), t.Attempt, t.Running, t.Held, t.Fail, []byte(t.Input))
	return err
}

func (w *writer) DropTask(job string) error {
	_, err := w.exec("DELETE FROM tasks WHERE job = ?", job)
	return err
}

func (w *writer) SetValue(bucket, key string, v []byte) error {
	if v == nil {
		_, err := w.exec("DELETE FROM vals WHERE bucket = ? AND name = ?", bucket, key)
		return err
	}
	_, err := w.exec("INSERT OR REPLACE INTO vals (bucket, name, value) VALUES (?, ?, ?)", bucket, key, nonNil(v))
	return err
}

func (w *writer) PurgeBindings(t time.Time) error {
	_, err := w.exec("DELETE FROM bindings WHERE expires <= ?", toMicro(t))
	return err
}

func (w *writer) PurgeResources(kind string, t time.Time) error {
	_, err := w.exec("DELETE FROM resources WHERE kind = ? AND created < ?", kind, toMicro(t))
	return err
}

// nonNil keeps an empty value from becoming NULL.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
