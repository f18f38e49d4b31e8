package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"assay.kit/reference/core"
)

// errClosed is what an Update gets after Close.
var errClosed = errors.New("sqlite: the store is closed")

// update is one Update on its way to the writer; done has room for the one answer.
type update struct {
	ctx  context.Context
	f    func(core.Writer) error
	done chan error
}

// Update implements core.Store. It returns when the commit is on the disk. Once the writer has
// taken it, it waits for the outcome even if ctx ends: only so does the caller know it.
func (s *Store) Update(ctx context.Context, f func(core.Writer) error) error {
	select {
	case <-s.closed:
		return errClosed
	default:
	}
	u := &update{ctx: ctx, f: f, done: make(chan error, 1)}
	select {
	case s.queue <- u:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closed:
		return errClosed
	}
	select {
	case err := <-u.done:
		return err
	case <-s.closed: // queued in the moment of closing: the writer answers what it takes, and then ends
		s.ended.Wait()
		select {
		case err := <-u.done:
			return err
		default:
			return errClosed
		}
	}
}

// writer is the goroutine that all writing goes through. It adds no delay: what waits while one
// commit is on its way makes the next batch.
func (s *Store) writer() {
	defer s.ended.Done()
	w := &connection{conn: s.conn, prepared: map[string]*sql.Stmt{}}
	defer w.close()
	for {
		select {
		case u := <-s.queue:
			s.commit(w, s.drain(u))
		case <-s.closed:
			return
		}
	}
}

func (s *Store) drain(first *update) []*update {
	us := []*update{first}
	for len(us) < batch {
		select {
		case u := <-s.queue:
			us = append(us, u)
		default:
			return us
		}
	}
	return us
}

// commit runs a batch in one transaction, each in its own savepoint, so that one that fails leaves
// the others whole. A commit that fails is the failure of all that would have been in it.
func (s *Store) commit(w *connection, us []*update) {
	ctx := context.Background() // a batch belongs to many callers; none may end it for the others
	errs := make([]error, len(us))
	if err := w.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		answer(us, errs, fmt.Errorf("sqlite: begin: %w", err))
		return
	}
	for i, u := range us {
		if errs[i] = u.ctx.Err(); errs[i] == nil {
			errs[i] = savepoint(ctx, w, u.f)
		}
		var broken *transactionError
		if errors.As(errs[i], &broken) {
			_ = w.exec(ctx, "ROLLBACK") // the first error says more
			answer(us, make([]error, len(us)), broken.err)
			return
		}
	}
	if err := w.exec(ctx, "COMMIT"); err != nil {
		_ = w.exec(ctx, "ROLLBACK")
		answer(us, errs, fmt.Errorf("sqlite: commit: %w", err))
		return
	}
	answer(us, errs, nil)
}

// answer tells each caller its own error, else the batch's.
func answer(us []*update, errs []error, all error) {
	for i, u := range us {
		if errs[i] == nil {
			errs[i] = all
		}
		u.done <- errs[i]
	}
}

// transactionError is a failure of the transaction itself, not of one update in it.
type transactionError struct{ err error }

func (e *transactionError) Error() string { return e.err.Error() }

func savepoint(ctx context.Context, w *connection, f func(core.Writer) error) error {
	if err := w.exec(ctx, "SAVEPOINT one"); err != nil {
		return &transactionError{fmt.Errorf("sqlite: savepoint: %w", err)}
	}
	err := guarded(f, &writer{reader{ctx: ctx, db: w}})
	if err != nil {
		if undo := w.exec(ctx, "ROLLBACK TO one"); undo != nil {
			return &transactionError{fmt.Errorf("sqlite: rollback: %w", errors.Join(undo, err))}
		}
	}
	if rel := w.exec(ctx, "RELEASE one"); rel != nil {
		return &transactionError{fmt.Errorf("sqlite: release: %w", rel)}
	}
	return err
}

// guarded turns a panic of f into its error: it must not take the other callers' writer down.
func guarded(f func(core.Writer) error, w core.Writer) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("sqlite: panic in an update: %v", r)
		}
	}()
	return f(w)
}

// connection runs statements on the writer's connection and prepares each text once.
type connection struct {
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
}

func (c *connection) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if st, ok := c.prepared[text]; ok {
		return st, nil
	}
	st, err := c.conn.PrepareContext(ctx, text)
	if err == nil {
		c.prepared[text] = st
	}
	return st, err
}

func (c *connection) exec(ctx context.Context, text string) error {
	_, err := c.conn.ExecContext(ctx, text)
	return err
}

func (c *connection) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	st, err := c.stmt(ctx, text)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(ctx, args...)
}

func (c *connection) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	st, err := c.stmt(ctx, text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

func (c *connection) close() {
	for _, st := range c.prepared {
		st.Close() //nolint:errcheck // the connection closes next
	}
}
