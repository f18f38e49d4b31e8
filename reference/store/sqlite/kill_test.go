package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/store/sqlite"
)

// childEnv holds the database's path in the process that is to be killed.
const childEnv = "ASSAY_SQLITE_KILL_TEST"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		if err := writeForEver(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// writeForEver writes triples from several goroutines and prints each id after its commit.
func writeForEver(path string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	pid := os.Getpid()
	var mu sync.Mutex
	failed := make(chan error, 1)
	for lane := range 8 {
		go func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d-%d-%d", pid, lane, i)
				if err := s.Update(ctx, func(w core.Writer) error { return triple(w, id) }); err != nil {
					failed <- err
					return
				}
				mu.Lock()
				fmt.Println(id)
				mu.Unlock()
			}
		}()
	}
	return <-failed
}

func triple(w core.Writer, id string) error {
	_, err := w.Insert(core.Resource{Kind: "job", ID: id, Workspace: "w", Created: time.Now()})
	return errors.Join(err, w.Bind(core.Binding{Identity: id, Expires: time.Now()}), w.SetTask(core.Task{Job: id}))
}

// TestKillLosesNothing kills a writing process without warning, several times on one database, and
// checks that all it had acknowledged is there, whole, and nothing is there by half.
func TestKillLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "killed.db")
	var acknowledged []string
	for range 5 {
		acknowledged = append(acknowledged, killedWriter(t, path)...)
	}
	if len(acknowledged) < 1000-5 {
		t.Fatalf("only %d writes were acknowledged before the kills", len(acknowledged))
	}
	s := open(t, path)
	err := s.View(t.Context(), func(r core.Reader) error {
		for _, id := range acknowledged {
			if _, err := r.Resource("job", id); err != nil {
				t.Errorf("acknowledged %s: %v", id, err)
			}
		}
		rows, err := r.Scan(core.Query{Kind: "job", Workspace: "w", AnyParent: true, Limit: 1 << 20})
		if err != nil {
			return err
		}
		for _, row := range rows {
			_, noBinding := r.Binding(row.ID)
			_, noTask := r.Task(row.ID)
			if noBinding != nil || noTask != nil {
				t.Errorf("%s is there by half: binding %v, task %v", row.ID, noBinding, noTask)
			}
		}
		if n, err := r.Watermark(); err != nil || n != int64(len(rows)) {
			t.Errorf("%d rows below the watermark %d (%v)", len(rows), n, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// killedWriter runs a writer until it has acknowledged some writes, kills it, and returns them.
func killedWriter(t *testing.T, path string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+path)
	var complaint strings.Builder
	child.Stderr = &complaint
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if ids = append(ids, lines.Text()); len(ids) == 200 {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := child.Wait(); err == nil || complaint.Len() > 0 {
		t.Fatalf("the writer ended by itself: %v %s", err, complaint.String())
	}
	return whole(ids)
}

// whole drops a last line that the kill may have cut.
func whole(ids []string) []string {
	if n := len(ids); n > 0 && strings.Count(ids[n-1], "-") < 2 {
		return ids[:n-1]
	}
	return ids
}
