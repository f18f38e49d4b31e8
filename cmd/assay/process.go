package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay.kit/conformance/target"
)

// startProcess serves a reference in another process of this program, with its profile and pid file
// where the flags say. It stays the same process when a check restarts the server.
func (a *app) startProcess(ctx context.Context, f serveFlags) (*served, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the server cannot be started: %w", err)
	}
	cmd := exec.Command(exe, "serve", "--contract", f.contract, "--store", f.store, "--db", f.db, "--write-profile", f.profile, //nolint:noctx // it ends by stop
		"--seed-credentials", strconv.FormatInt(f.credentials, 10), "--format", "json")
	if f.answers != "" {
		cmd.Args = append(cmd.Args, "--mcp-answers", f.answers)
	}
	detach(cmd)
	words := &tail{}
	cmd.Stderr = words
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("the server cannot be started: %w", err)
	}
	ended := make(chan error, 1)
	ready := make(chan readyLine, 1)
	go func() { // ends with the process
		ready <- firstLine(out)
		_, _ = io.Copy(io.Discard, out)
		ended <- cmd.Wait()
	}()
	s := &served{stop: sync.OnceFunc(func() { endProcess(cmd.Process, ended) })}
	select {
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-time.After(restartTime):
		err = fmt.Errorf("it was not ready within %s", restartTime)
	case r := <-ready:
		s.baseURL, err = r.BaseURL, r.err
	}
	if err == nil {
		s.profile, err = target.Load(f.profile, a.env)
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("the server did not start: %w%s", err, words.last())
	}
	return s, nil
}

// readyLine is what a server prints once it serves.
type readyLine struct {
	BaseURL string `json:"base_url"`
	err     error
}

func firstLine(r io.Reader) (line readyLine) {
	text, err := bufio.NewReader(io.LimitReader(r, maxReady)).ReadBytes('\n')
	if err != nil {
		return readyLine{err: errors.New("it ended before it was ready")}
	}
	line.err = json.Unmarshal(text, &line)
	return line
}

// maxReady bounds the line that tells that a server is ready.
const maxReady = 64 << 10

// endProcess asks a server to end, and kills it if it does not. What it keeps ends with it.
func endProcess(p *os.Process, ended <-chan error) {
	_ = p.Signal(os.Interrupt)
	select {
	case <-ended:
	case <-time.After(2 * restartTime): // it gives the process that it keeps half of that
		_ = p.Kill()
		<-ended
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const maxTail = 2 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-maxTail):]
	return len(b), nil
}

// last is the last line, as the end of a sentence.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	if l := lines[len(lines)-1]; l != "" {
		return ": " + l
	}
	return ""
}
