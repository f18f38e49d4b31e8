// Package sqlite is a Store in one SQLite file: WAL, synchronous=FULL, one writer that groups
// Updates which wait at the same time into one commit, and a pool of readers. What an Update
// acknowledged survives a kill of the process and a loss of power.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"assay.kit/reference/core"
)

//go:embed migrations/*.sql
var migrations embed.FS

// ErrLocked means that another process has the file open.
var ErrLocked = errors.New("another process uses this database")

const (
	batch       = 64 // Updates in one commit, at most
	readers     = 4
	busyTimeout = 5 * time.Second
)

// Store is a core.Store over one file. Close it, or the lock stays until the process ends.
type Store struct {
	lock   *flock.Flock
	write  *sql.DB
	conn   *sql.Conn // the writer's one connection, used by its goroutine alone
	read   *sql.DB
	queue  chan *update
	closed chan struct{}  // closed by Close: no new Update
	ended  sync.WaitGroup // the writer goroutine
	once   sync.Once
}

var _ core.Store = (*Store)(nil)

// Open opens or creates the database at path and brings its schema up to date. A second process
// gets ErrLocked: two runners over one database would carry out each job twice.
func Open(ctx context.Context, path string) (_ *Store, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	s := &Store{lock: flock.New(abs + ".lock"), queue: make(chan *update, batch), closed: make(chan struct{})}
	locked, err := s.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("sqlite: lock %s: %w", s.lock.Path(), err)
	}
	if !locked {
		return nil, fmt.Errorf("sqlite: %s: %w", abs, ErrLocked)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("sqlite: open %s: %w", abs, err), s.release())
		}
	}()
	if err = private(abs); err != nil {
		return nil, err
	}
	if s.write, err = sql.Open("sqlite", dsn(abs, "")); err != nil {
		return nil, err
	}
	s.write.SetMaxOpenConns(1)
	if err = migrate(ctx, s.write); err != nil {
		return nil, err
	}
	if s.conn, err = s.write.Conn(ctx); err != nil {
		return nil, err
	}
	if s.read, err = sql.Open("sqlite", dsn(abs, "query_only(1)")); err != nil {
		return nil, err
	}
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	s.ended.Add(1)
	go s.writer()
	return s, nil
}

// private makes the file readable by its owner alone: it holds the keys of cursors. SQLite gives its
// other files the same mode.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func dsn(path, extra string) string {
	q := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
	}}
	if extra != "" {
		q.Add("_pragma", extra)
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}

func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	return nil
}

// Close waits for the Updates that have begun, refuses later ones, and gives the file free.
func (s *Store) Close() error {
	var err error
	s.once.Do(func() {
		close(s.closed)
		s.ended.Wait()
		err = s.release()
	})
	return err
}

func (s *Store) release() error {
	var errs []error
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(append(errs, s.lock.Unlock())...)
}

// View implements core.Store: f reads in one read transaction, whose snapshot its first read takes.
func (s *Store) View(ctx context.Context, f func(core.Reader) error) error {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	return f(&reader{ctx: ctx, db: tx})
}
