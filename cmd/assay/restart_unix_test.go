//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process starts this test binary as the command.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), "ASSAY_TEST_MAIN=1")
	return cmd
}

// restart kills a server that runs in a process of its own, and the same server comes back on the
// same ports with all that it had stored.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	pidFile := filepath.Join(dir, "n.pid")
	first := process(t, "serve", "--contract", "notes", "--db", filepath.Join(dir, "n.db"), "--pid-file", pidFile,
		"--control", loopback, "--format", "json")
	out, err := first.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- first.Wait() }()
	l, err := bufio.NewReader(out).ReadString('\n')
	var line struct {
		BaseURL    string `json:"base_url"`
		ControlURL string `json:"control_url"`
	}
	if err != nil || json.Unmarshal([]byte(l), &line) != nil {
		t.Fatalf("no ready line: %q, %v", l, err)
	}
	before, err := readPIDFile(pidFile)
	if err != nil || before.PID != first.Process.Pid {
		t.Fatalf("%+v, %v", before, err)
	}
	resp, err := http.Post(line.ControlURL+"/_assay/advance", "application/json", strings.NewReader(`{"seconds": 1000000}`))
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("advance: %v", err)
	}
	_ = resp.Body.Close()

	if b, err := process(t, "serve", "--restart-of", pidFile).CombinedOutput(); err != nil || len(b) > 0 {
		t.Fatalf("restart: %v\n%s", err, b)
	}
	after, err := readPIDFile(pidFile)
	if err != nil || after.PID == before.PID {
		t.Fatalf("%+v, %v", after, err)
	}
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			_ = syscall.Kill(after.PID, syscall.SIGTERM)
		}
	}
	defer stop()
	if err := <-ended; err == nil || first.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the first one was not killed: %v", err)
	}
	if resp, err = http.Get(line.BaseURL + "/notebooks"); err != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Fatalf("the new one does not answer on the old port: %v, %v", resp, err)
	}
	_ = resp.Body.Close()
	if resp, err = http.Get(line.ControlURL + "/_assay/ready"); err != nil {
		t.Fatal(err)
	}
	var clock struct{ Now time.Time }
	if err := json.NewDecoder(resp.Body).Decode(&clock); err != nil || time.Until(clock.Now) < 999_000*time.Second {
		t.Errorf("the clock's advance is lost: %s, %v", clock.Now, err)
	}
	_ = resp.Body.Close()
	stop()
	if err := waitFor(func() (bool, error) { up, err := alive(pidFile); return !up, err }, "the restarted server"); err != nil {
		t.Error(err)
	}
}

// A number in a stale file may be another process by now: only the lock says that it is the server's.
func TestKillSparesStrangers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pid")
	b, err := json.Marshal(pidRecord{PID: os.Getpid(), Argv: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := kill(path); err != nil || r.PID != os.Getpid() {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestRestartOfNothing(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"no.pid": "", "bad.pid": "17", "zero.pid": `{"pid":0,"argv":["x"]}`} {
		path := filepath.Join(dir, name)
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if r := assay(t.Context(), []string{"serve", "--restart-of", path}); r.code != exitNotJudged || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
