//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"assay.kit/conformance/report"
)

// The binary itself, interrupted in the middle of a run on a target that has stopped answering, ends
// at once with 130, and every output says so.
func TestInterruptGivesEveryOutput(t *testing.T) {
	var n atomic.Int64
	stuck := make(chan struct{}, 1000)
	url := failing(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server would not notice that the client has gone
		if n.Add(1) <= 3 {
			http.NotFound(w, r)
			return
		}
		stuck <- struct{}{}
		<-r.Context().Done()
	})
	dir := t.TempDir()
	file, baseline := filepath.Join(dir, "r.json"), filepath.Join(dir, "known.yaml")
	cmd := process(t, "check", "--target", url, "--contract", "notes", "--report", file, "--write-baseline", baseline)
	cmd.Env = append(cmd.Env, tokenVariable(t, "notes")+"=t")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-stuck:
	case <-time.After(30 * time.Second):
		_ = cmd.Process.Kill()
		t.Fatalf("it never got that far: %s", errs.String())
	}
	began := time.Now()
	_ = cmd.Process.Signal(syscall.SIGINT)
	err := cmd.Wait()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != exitInterrupted {
		t.Errorf("%v\n%s", err, errs.String())
	}
	if took := time.Since(began); took > 5*time.Second { // far below the time-out of a request
		t.Errorf("it took %s", took)
	}
	if !strings.Contains(out.String(), "interrupted before the end") {
		t.Errorf("stdout does not say so: %.2000s", out.String())
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if rep := readReport(t, b); !rep.Interrupted || rep.Summary.Cases[report.Inconclusive] == 0 {
		t.Errorf("%+v", rep.Summary)
	}
	if _, err := os.Stat(baseline); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
