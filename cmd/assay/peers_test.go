//go:build peers

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	yaml "go.yaml.in/yaml/v4"

	"assay.kit/conformance/target"
	"assay.kit/reference/mcp"
)

// These tests meet what others wrote, in the folder that make peers installs it into: the official
// TypeScript client, the official conformance suite and a server. A build tag keeps them from
// make test, which needs nothing but Go.

// answerForms are the values of --mcp-answers.
func answerForms() []mcp.Form { return []mcp.Form{mcp.JSON, mcp.SSE, mcp.Mixed} }

// peer is the command of a peer: the Node.js of the folder runs one of its files.
func peer(ctx context.Context, t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	dir := os.Getenv("ASSAY_PEERS")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".bin", "node")); dir == "" || err != nil {
		t.Fatalf("ASSAY_PEERS=%q is no folder that make peers has installed the peers into; run make peers", dir)
	}
	c := exec.CommandContext(ctx, filepath.Join(dir, "node_modules", ".bin", "node"), args...)
	c.Dir, c.Env, c.WaitDelay = dir, append(os.Environ(), env...), 5*time.Second
	return c
}

// serveReference serves a contract of ours as the command does, and gives its ready line and token.
func serveReference(t *testing.T, form mcp.Form) (line map[string]string, token string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "profile.yaml")
	raw, _ := ready(t, "--contract", "seer", "--store", "memory", "--mcp-answers", string(form), "--write-profile", file)
	line = map[string]string{}
	for _, name := range []string{"mcp_url", "control_url"} {
		line[name], _ = raw[name].(string)
	}
	p, err := target.Load(file, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return line, p.Credentials[string(target.Primary)].Bearer.Reveal()
}

// TestPeerClient: the official TypeScript client lists by pages, calls, and reads a job to its artifact,
// whether it proposes the revision or a newer one that the server has to talk down.
func TestPeerClient(t *testing.T) {
	for _, form := range answerForms() {
		for _, propose := range []string{mcp.Revision, ""} {
			t.Run(fmt.Sprintf("%s/proposes %s", form, orElse(propose, "its newest")), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				line, token := serveReference(t, form)
				out, err := peer(ctx, t, []string{"PEER_URL=" + line["mcp_url"], "PEER_TOKEN=" + token,
					"PEER_ADVANCE=" + line["control_url"] + "/_assay/advance", "PEER_PROPOSE=" + propose}, "client.mjs").CombinedOutput()
				steps := strings.Count("\n"+string(out), "\nok ")
				if err != nil || steps != clientSteps {
					t.Fatalf("%d steps of %d held: %v\n%s", steps, clientSteps, err, out)
				}
				t.Logf("%d steps checked", steps)
			})
		}
	}
}

// clientSteps is how many steps client.mjs takes; one that is skipped must not pass.
const clientSteps = 11

// officialCheck is what the official suite writes of one check.
type officialCheck struct {
	ID, Status, ErrorMessage string
}

// allowance is what a server of our contract may fail, and with which words.
type allowance struct {
	Because string   `yaml:"because"`
	Says    string   `yaml:"says"`
	Checks  []string `yaml:"checks"`
}

// TestPeerSuite: the official conformance suite finds nothing in the reference but what the reference
// has no fixture for, which official.yaml lists.
func TestPeerSuite(t *testing.T) {
	allowed := allowances(t)
	for _, form := range answerForms() {
		t.Run(string(form), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			line, token := serveReference(t, form)
			began := time.Now()
			checks := official(ctx, t, withToken(t, line["mcp_url"], token))
			took := time.Since(began)
			passed, failed, used := 0, 0, map[string]bool{}
			for _, c := range checks {
				switch c.Status {
				case "SUCCESS":
					passed++
					continue
				case "INFO":
					continue
				}
				failed++
				a, ok := allowed[c.ID]
				if !ok || a.Says != strings.TrimPrefix(c.ErrorMessage, "Failed: ") {
					t.Errorf("%s: %s %q; if a server of our contract cannot do better, official.yaml is the place to say why", c.ID, c.Status, c.ErrorMessage)
				}
				used[c.ID] = true
			}
			for _, id := range slices.Sorted(maps.Keys(allowed)) {
				if !used[id] {
					t.Errorf("official.yaml allows %s to fail, and it does not fail: take it out", id)
				}
			}
			if passed == 0 {
				t.Error("nothing was checked")
			}
			t.Logf("%d checks ran, %d passed, %d failed, %d of them allowed by name; %.1f s", passed+failed, passed, failed, len(used), took.Seconds())
		})
	}
}

func allowances(t *testing.T) map[string]allowance {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "peers", "official.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []allowance
	if err := yaml.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	out := map[string]allowance{}
	for _, a := range rows {
		for _, id := range a.Checks {
			if _, twice := out[id]; twice || a.Because == "" || a.Says == "" {
				t.Fatalf("official.yaml: %s needs one entry with because and says", id)
			}
			out[id] = a
		}
	}
	return out
}

// official runs the official suite and reads every check that it wrote, whichever way it exits: it exits
// with 1 for every failure, the allowed ones too.
func official(ctx context.Context, t *testing.T, endpoint string) []officialCheck {
	t.Helper()
	dir := t.TempDir()
	c := peer(ctx, t, []string{"NO_COLOR=1"}, filepath.Join("node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"),
		"server", "--url", endpoint, "--spec-version", mcp.Revision, "--timeout", "20000", "--output-dir", dir)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil && c.ProcessState.ExitCode() != 1 {
		t.Fatalf("the official suite: %v\n%s", err, out.String())
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the official suite wrote no checks: %v\n%s", err, out.String())
	}
	if ran := strings.Count(out.String(), "=== Running scenario: "); ran != len(files) {
		t.Errorf("%d scenarios ran and %d wrote checks:\n%s", ran, len(files), out.String())
	}
	var all []officialCheck
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var checks []officialCheck
		if err := json.Unmarshal(raw, &checks); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		all = append(all, checks...)
	}
	return all
}

// withToken is an endpoint in front of another that adds the token, for a peer that sends none.
func withToken(t *testing.T, endpoint, token string) string {
	t.Helper()
	to, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: to.Scheme, Host: to.Host}) // which also sets Host, as the server insists
			r.Out.Header.Set("Authorization", "Bearer "+token)
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	t.Cleanup(func() { proxy.CloseClientConnections(); proxy.Close() })
	return proxy.URL + to.Path
}
