//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
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
	if err != nil || before.PID == first.Process.Pid || !before.Kept {
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
	stop := sync.OnceFunc(func() { _ = first.Process.Signal(syscall.SIGTERM) })
	defer stop()
	if syscall.Kill(before.PID, 0) == nil {
		t.Error("the first one was not killed")
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
	// What came after the first one ends with the command that began it all.
	stop()
	if err := <-ended; err != nil {
		t.Errorf("serve ended with %v", err)
	}
	if up, err := alive(pidFile); up || err != nil {
		t.Errorf("the restarted server outlives it: %v", err)
	}
	if _, err := os.Stat(pidFile); err == nil {
		t.Error("the pid file is left behind")
	}
}

// A keeper that is killed itself takes its server along.
func TestServerEndsWithItsKeeper(t *testing.T) {
	dir := t.TempDir()
	pidFile := filepath.Join(dir, "n.pid")
	keeper := process(t, "serve", "--contract", "notes", "--pid-file", pidFile, "--format", "json")
	out, err := keeper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := keeper.Start(); err != nil {
		t.Fatal(err)
	}
	l, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(l, `"pid":`+strconv.Itoa(keeper.Process.Pid)) {
		t.Errorf("%q, %v", l, err)
	}
	_ = keeper.Process.Kill()
	_ = keeper.Wait()
	if err := waitFor(func() (bool, error) { up, err := alive(pidFile); return !up, err }, "the server did not end"); err != nil {
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
	if r, was, err := kill(path); err != nil || was || r.PID != os.Getpid() {
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
