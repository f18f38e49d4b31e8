package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"assay.kit/reference/core"
)

// querier is a read transaction or the writer's connection.
type querier interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
}

// reader implements core.Reader for the length of one View or Update.
type reader struct {
	ctx context.Context
	db  querier
}

// rows runs a query and calls scan for each row.
func (r *reader) rows(scan func(*sql.Rows) error, text string, args ...any) error {
	rows, err := r.db.QueryContext(r.ctx, text, args...)
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	defer rows.Close() //nolint:errcheck // Err tells
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fmt.Errorf("sqlite: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	return nil
}

// one is the only row that a query gives, or core.ErrNotFound.
func one[T any](rows []T, err error) (T, error) {
	var zero T
	switch {
	case err != nil:
		return zero, err
	case len(rows) == 0:
		return zero, core.ErrNotFound
	}
	return rows[0], nil
}

const resourceColumns = "SELECT seq, kind, id, workspace, client, parent, created, state, body, private FROM resources"

func (r *reader) resources(where string, args ...any) (out []core.Resource, err error) {
	err = r.rows(func(rows *sql.Rows) error {
		var res core.Resource
		var created int64
		err := rows.Scan(&res.Seq, &res.Kind, &res.ID, &res.Workspace, &res.Client, &res.Parent, &created, &res.State, (*[]byte)(&res.Body), (*[]byte)(&res.Private))
		res.Created = fromMicro(created)
		out = append(out, res)
		return err
	}, resourceColumns+where, args...)
	return out, err
}

func (r *reader) Resource(kind, id string) (core.Resource, error) {
	return one(r.resources(" WHERE kind = ? AND id = ?", kind, id))
}

func (r *reader) Scan(q core.Query) ([]core.Resource, error) {
	where := []string{"kind = ?"}
	args := []any{q.Kind}
	add := func(cond string, arg any) { where, args = append(where, cond), append(args, arg) }
	if !q.AnyWorkspace {
		add("workspace = ?", q.Workspace)
	}
	if !q.AnyParent {
		add("parent = ?", q.Parent)
	}
	if !q.CreatedAfter.IsZero() {
		add("created > ?", toMicro(q.CreatedAfter))
	}
	if q.UpTo > 0 {
		add("seq <= ?", q.UpTo)
	}
	order := "ASC"
	if q.Desc {
		order = "DESC"
	}
	switch {
	case q.After > 0 && q.Desc:
		add("seq < ?", q.After)
	case q.After > 0:
		add("seq > ?", q.After)
	}
	args = append(args, max(0, q.Limit))
	return r.resources(" WHERE "+strings.Join(where, " AND ")+" ORDER BY seq "+order+" LIMIT ?", args...)
}

func (r *reader) Watermark() (n int64, err error) {
	err = r.rows(func(rows *sql.Rows) error { return rows.Scan(&n) }, "SELECT COALESCE(MAX(seq), 0) FROM resources")
	return n, err
}

func (r *reader) Binding(identity string) (core.Binding, error) {
	var out []core.Binding
	err := r.rows(func(rows *sql.Rows) error {
		b := core.Binding{Identity: identity}
		var expires int64
		var header []byte
		if err := rows.Scan(&b.Fingerprint, &expires, &b.Answer.Status, &header, (*[]byte)(&b.Answer.Body)); err != nil {
			return err
		}
		b.Expires = fromMicro(expires)
		out = append(out, b)
		return json.Unmarshal(header, &out[len(out)-1].Answer.Header)
	}, "SELECT fingerprint, expires, status, header, body FROM bindings WHERE identity = ?", identity)
	return one(out, err)
}

const taskColumns = "SELECT job, operation, workspace, client, credential, due, attempt, running, held, fail, input FROM tasks"

func (r *reader) tasks(where string, args ...any) (out []core.Task, err error) {
	err = r.rows(func(rows *sql.Rows) error {
		var t core.Task
		var due int64
		err := rows.Scan(&t.Job, &t.Operation, &t.Workspace, &t.Client, &t.Credential, &due, &t.Attempt, &t.Running, &t.Held, &t.Fail, (*[]byte)(&t.Input))
		t.Due = fromMicro(due)
		out = append(out, t)
		return err
	}, taskColumns+where, args...)
	return out, err
}

func (r *reader) Task(job string) (core.Task, error) {
	return one(r.tasks(" WHERE job = ?", job))
}

func (r *reader) Due(now time.Time, n int) ([]core.Task, error) {
	return r.tasks(" WHERE running = 0 AND held = 0 AND due <= ? ORDER BY due, job LIMIT ?", toMicro(now), n)
}

func (r *reader) Stuck(n int) ([]core.Task, error) {
	return r.tasks(" WHERE running = 1 OR held = 1 ORDER BY job LIMIT ?", n)
}

func (r *reader) Active(credential string) (n int, err error) {
	err = r.rows(func(rows *sql.Rows) error { return rows.Scan(&n) }, "SELECT COUNT(*) FROM tasks WHERE credential = ?", credential)
	return n, err
}

func (r *reader) Value(bucket, key string) ([]byte, error) {
	var out [][]byte
	err := r.rows(func(rows *sql.Rows) error {
		var v []byte
		err := rows.Scan(&v)
		out = append(out, v)
		return err
	}, "SELECT value FROM vals WHERE bucket = ? AND name = ?", bucket, key)
	return one(out, err)
}

func (r *reader) Values(bucket string) (map[string][]byte, error) {
	out := map[string][]byte{}
	err := r.rows(func(rows *sql.Rows) error {
		var name string
		var v []byte
		err := rows.Scan(&name, &v)
		out[name] = v
		return err
	}, "SELECT name, value FROM vals WHERE bucket = ?", bucket)
	return out, err
}

// toMicro keeps times as microseconds, the finest that the contract shows, rounded down.
func toMicro(t time.Time) int64       { return t.UnixMicro() }
func fromMicro(micro int64) time.Time { return time.UnixMicro(micro).UTC() }
