//go:build peers

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay.kit/conformance/report"
)

// TestPeersServers: the suite judges servers that nobody here wrote, each by its own list of tools, and
// finds what was gone through by hand and is in the server's baseline; nothing more, and all of that.
func TestPeersServers(t *testing.T) {
	for _, tc := range []struct {
		name, findings string
		start          func(*testing.T) string
	}{
		{"server-everything", "server-everything.yaml", everything},
		{"go-sdk, streams", "go-sdk.yaml", func(t *testing.T) string { return onSDK(t, false) }},
		{"go-sdk, JSON", "go-sdk.yaml", func(t *testing.T) string { return onSDK(t, true) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join("testdata", "peers", tc.findings)
			baseline := readBaseline(t, file)
			endpoint := tc.start(t)
			for _, seed := range []string{"1", "2"} {
				r := assay(t.Context(), []string{"check", "--contract", "mcp", "--target", endpoint, "--baseline", file, "--seed", seed, "--format", "json"})
				rep := readReport(t, []byte(r.out))
				known := 0
				for _, f := range rep.Findings {
					if f.Known != nil {
						known++
						continue
					}
					t.Errorf("%s %s in %s: %s; expected %s, was %s", f.Verdict, f.Claim, f.Case, f.Message, f.Expected, f.Actual)
				}
				if rep.Baseline == nil || rep.Baseline.Known != len(baseline.Entries) || len(rep.Baseline.Stale) > 0 {
					t.Errorf("%s has %d lines, %d findings of the run are in it; a line that covers nothing has to go: %+v", file, len(baseline.Entries), known, rep.Baseline)
				}
				for _, bad := range []report.Verdict{report.Inconclusive, report.Error} {
					if n := rep.Summary.Cases[bad]; n > 0 {
						t.Errorf("%d cases are %s", n, bad)
					}
				}
				n := rep.Summary.Requirements
				t.Logf("seed %s: %d fail, %d warn, %d pass, %d not exercised, %d not applicable · %d requests · %.1f s; %d findings, all listed: %t",
					seed, n[report.Fail], n[report.Warn], n[report.Pass], n[report.NotExercised], n[report.NotApplicable], rep.Summary.Requests, rep.Seconds, len(rep.Findings), known == len(rep.Findings))
			}
		})
	}
}

// readBaseline reads a baseline in which every line says the clause and the reason.
func readBaseline(t *testing.T, file string) *report.Baseline {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b, err := report.ParseBaseline(file, raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range b.Entries {
		if clause, why, ok := strings.Cut(e.Reason, ": "); !ok || clause == "" || why == "" {
			t.Errorf("%s:%d: the reason is CLAUSE: WHY, and the clause is there for a reader who doubts it", file, e.Line)
		}
	}
	return b
}

// onSDK serves the server on the official Go SDK.
func onSDK(t *testing.T, jsonAnswers bool) string {
	t.Helper()
	s := httptest.NewServer(sdkHandler(jsonAnswers))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL + "/mcp"
}

// everything runs the server that shows everything of the TypeScript SDK, on a port of this machine only.
func everything(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := peer(ctx, t, nil, "--import", "./loopback.mjs",
		filepath.Join("node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js"), "streamableHttp")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	port := make(chan string, 1)
	done := make(chan struct{})
	go func() { // ends with the process, which closes its output
		defer close(done)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if p, ok := strings.CutPrefix(lines.Text(), "listening "); ok {
				port <- p
				break
			}
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = c.Wait() // it was killed
	})
	select {
	case p := <-port:
		return fmt.Sprintf("http://127.0.0.1:%s/mcp", p)
	case <-done:
		t.Fatal("server-everything ended before it listened")
	case <-time.After(30 * time.Second):
		t.Fatal("server-everything does not say where it listens")
	}
	return ""
}
