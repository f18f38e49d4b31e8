package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"assay.kit/conformance/report"
)

func readReport(t *testing.T, b []byte) report.Report {
	t.Helper()
	var r report.Report
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		t.Fatalf("no report: %v\n%.500s", err, b)
	}
	if d.More() {
		t.Fatal("stdout holds more than the report")
	}
	return r
}

// The demo judges a server that it started, prints the report alone, and leaves nothing behind.
func TestDemo(t *testing.T) {
	for _, store := range []string{storeMemory, storeSQLite} {
		t.Run(store, func(t *testing.T) {
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp) // os.TempDir on unix
			r := assay(t.Context(), []string{"demo", "--contract", "notes", "--store", store, "--seed", "3", "--format", "json"})
			rep := readReport(t, []byte(r.out))
			want := map[report.Overall]int{report.Conformant: 0, report.Violations: 1, report.Undecided: 3, report.OverallError: 3}[rep.Verdict]
			if r.code != want || rep.Seed != 3 || rep.Schema != report.Schema || rep.Contract.Name != "notes" || rep.Summary.Requests < 100 {
				t.Errorf("exit %d, %s, seed %d, %+v", r.code, rep.Verdict, rep.Seed, rep.Summary)
			}
			if rep.Summary.Cases[report.Pass] < 20 || rep.Summary.Cases[report.Error] > 0 {
				t.Errorf("cases: %v", rep.Summary.Cases)
			}
			for _, f := range rep.Findings {
				if f.Verdict == report.Fail {
					t.Errorf("the reference is blamed for %s in %s: expected %s, got %s", f.Claim, f.Case, f.Expected, f.Actual)
				}
			}
			if left, _ := os.ReadDir(temp); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if !strings.Contains(r.err, "serves "+rep.Target) {
				t.Errorf("stderr does not say where it serves: %s", r.err)
			}
			if resp, err := http.Get(rep.Target); err == nil {
				_ = resp.Body.Close()
				t.Error("the server still answers")
			}
		})
	}
}

func failing(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// A server that fails at everything: exit 1, the failures told to people, and the report in a file.
func TestCheckViolations(t *testing.T) {
	url := failing(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html\x1b[2J")
		w.WriteHeader(500)
		_, _ = w.Write([]byte("\x1b[32m<h1>conformant</h1> secret-token-1"))
	})
	file := filepath.Join(t.TempDir(), "out.json")
	args := []string{"check", "--target", url + "/", "--contract", "notes", "--only", "transport", "--strict", "--effort", "quick", "--report", file}
	r := assay(t.Context(), args, tokenVariable(t, "notes")+"=secret-token-1")
	if r.code != exitViolations || !strings.Contains(r.out, "FAIL  wire.server-error on ") || !strings.Contains(r.out, "violations") {
		t.Errorf("exit %d\n%s\n%.3000s", r.code, r.err, r.out)
	}
	if strings.Contains(r.out+r.err, "\x1b") {
		t.Error("an escape of the target reached the output, or lines are coloured in a pipe")
	}
	if !strings.Contains(r.err, "broken ") && !strings.Contains(r.err, "inconclusive ") {
		t.Errorf("no line on what did not pass: %q", r.err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rep := readReport(t, b)
	if rep.Verdict != report.Violations || rep.Target != url || !rep.Strict {
		t.Errorf("report: %s at %s", rep.Verdict, rep.Target)
	}
	for name, text := range map[string]string{"stdout": r.out, "stderr": r.err, "the report": string(b)} {
		if i := strings.Index(text, "secret-token-1"); i >= 0 {
			t.Errorf("the token is in %s: %q", name, text[max(0, i-300):i+40])
		}
	}
}

func tokenVariable(t *testing.T, contract string) string {
	t.Helper()
	c, err := loadContract(contract)
	if err != nil {
		t.Fatal(err)
	}
	return c.Doc.TokenEnv
}

// An interrupted check ends soon, says so with 130, and still gives its report.
func TestCheckInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var n atomic.Int64
	url := failing(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server would not notice that the client has gone
		if n.Add(1) > 3 {
			cancel()
			<-r.Context().Done()
		}
	})
	file := filepath.Join(t.TempDir(), "out.json")
	args := []string{"check", "--target", url, "--contract", "notes", "--format", "json", "--report", file}
	r := assay(ctx, args, tokenVariable(t, "notes")+"=t")
	if r.code != exitInterrupted {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if rep := readReport(t, []byte(r.out)); !rep.Interrupted || rep.Summary.Cases[report.Inconclusive] == 0 {
		t.Errorf("%+v", rep.Summary)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// ready runs serve until the test ends and returns its ready line and its exit code, later.
func ready(t *testing.T, args ...string) (line map[string]any, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out := &lines{first: make(chan string, 1)}
	var errs bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- Main(ctx, append([]string{"serve", "--format", "json"}, args...), out, &errs, lookup(nil))
	}()
	stop = sync.OnceValue(func() int { cancel(); return <-code })
	t.Cleanup(func() { stop() })
	select {
	case l := <-out.first:
		if err := json.Unmarshal([]byte(l), &line); err != nil {
			t.Fatalf("no ready line: %q", l)
		}
	case c := <-code:
		code <- c
		t.Fatalf("exit %d: %s", c, errs.String())
	}
	return line, stop
}

// lines hands out the first line that is written to it.
type lines struct {
	once  sync.Once
	first chan string
}

func (l *lines) Write(p []byte) (int, error) {
	l.once.Do(func() { l.first <- string(p) })
	return len(p), nil
}

func TestServe(t *testing.T) {
	dir := t.TempDir()
	profile := filepath.Join(dir, "p.yaml")
	line, stop := ready(t, "--contract", "notes", "--db", filepath.Join(dir, "n.db"), "--write-profile", profile)
	if line["ready"] != true || line["pid"] != float64(os.Getpid()) {
		t.Errorf("%v", line)
	}
	base, _ := line["base_url"].(string)
	control, _ := line["control_url"].(string)
	for _, u := range []string{base, control} {
		if !strings.HasPrefix(u, "http://127.0.0.1:") {
			t.Errorf("url %q", u)
		}
	}
	if info, err := os.Stat(profile); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("profile: %v, %v", info, err)
	}
	// A second server may not take the same pid file.
	if r := assay(t.Context(), []string{"serve", "--pid-file", profile + ".pid"}); r.code != 2 || !strings.Contains(r.err, "belongs to a server that is running") {
		t.Errorf("%+v", r)
	}
	// The written profile is enough for a check, with every hook and no want.
	r := assay(t.Context(), []string{"check", "--profile", profile, "--only", "transport", "--format", "json"})
	rep := readReport(t, []byte(r.out))
	if rep.Contract.Name != "notes" || rep.Target != base || rep.Summary.Cases[report.Pass] == 0 || rep.Summary.Cases[report.NotExercised] > 0 {
		t.Errorf("exit %d, %+v\n%s", r.code, rep.Summary, r.err)
	}
	resp, err := http.Post(control+"/_assay/advance", "application/json", strings.NewReader(`{"seconds": 5}`))
	if err != nil || resp.StatusCode != 200 {
		t.Errorf("control: %v %v", resp, err)
	}
	if err == nil {
		_ = resp.Body.Close()
	}
	if code := stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if resp, err := http.Get(base); err == nil {
		_ = resp.Body.Close()
		t.Error("it still answers")
	}
	for _, f := range []string{profile + ".pid", profile + ".pid.lock"} {
		if _, err := os.Stat(f); err == nil {
			t.Errorf("%s is left behind", f)
		}
	}
}

func TestServeText(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &lines{first: make(chan string, 1)}
	code := make(chan int, 1)
	go func() {
		code <- Main(ctx, []string{"serve", "--contract", "seer"}, out, &bytes.Buffer{}, lookup(nil))
	}()
	if l := <-out.first; !strings.HasPrefix(l, "serving   seer at http://127.0.0.1:") || !strings.HasSuffix(l, "(memory)\n") {
		t.Errorf("%q", l)
	}
	cancel()
	if c := <-code; c != 0 {
		t.Errorf("exit %d", c)
	}
}
