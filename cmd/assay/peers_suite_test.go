//go:build peers

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	yaml "go.yaml.in/yaml/v4"

	"assay.kit/reference/mcp"
)

// officialCheck is what the official suite writes of one check of one scenario.
type officialCheck struct {
	Scenario                 string `json:"-"`
	ID, Status, ErrorMessage string
}

func (c officialCheck) passed() bool { return c.Status == "SUCCESS" || c.Status == "INFO" }

// allowance is what a server of our contract may fail, and with which words.
type allowance struct {
	Because string   `yaml:"because"`
	Says    string   `yaml:"says"`
	Checks  []string `yaml:"checks"`
}

// TestPeersSuite: the official conformance suite finds nothing in the reference but what the reference
// has no fixture for, which official.yaml lists.
func TestPeersSuite(t *testing.T) {
	allowed := allowances(t)
	for _, form := range answerForms() {
		t.Run(string(form), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			server := serveForm(t, form)
			began := time.Now()
			checks := official(ctx, t, server)
			took := time.Since(began)
			passed, failed, used := 0, 0, map[string]bool{}
			for _, c := range checks {
				if c.passed() {
					passed++
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
	var rows []allowance
	readRows(t, "official.yaml", &rows)
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

// readRows reads a data file of these tests.
func readRows(t *testing.T, name string, rows any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "peers", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, rows); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// TestPeersDefects measures what the official suite says of the defects that it was first measured with,
// each planted into the reference: it catches a defect where a check that passes on the correct reference
// does not pass, or is not there.
func TestPeersDefects(t *testing.T) {
	var rows []struct {
		Mutant   string `yaml:"mutant"`
		Clause   string `yaml:"clause"`
		Official string `yaml:"official"`
	}
	readRows(t, "defects.yaml", &rows)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	caught, correct := 0, official(ctx, t, serveForm(t, mcp.Mixed))
	for _, row := range rows {
		broken := map[officialCheck]bool{}
		for _, c := range official(ctx, t, serveOurs(t, "--mutant", row.Mutant)) {
			broken[officialCheck{Scenario: c.Scenario, ID: c.ID}] = !c.passed()
		}
		verdict := "misses"
		for _, c := range correct {
			if failed, there := broken[officialCheck{Scenario: c.Scenario, ID: c.ID}]; c.passed() && (failed || !there) {
				verdict = "catches"
			}
		}
		if verdict == "catches" {
			caught++
		}
		if verdict != row.Official || row.Clause == "" {
			t.Errorf("the official suite %s %s (%s), and defects.yaml says that it %s it", verdict, row.Mutant, row.Clause, row.Official)
		}
	}
	t.Logf("of %d planted defects the official suite catches %d", len(rows), caught)
}

// official runs the official suite and reads every check that it wrote, whichever way it exits: it exits
// with 1 for every failure, the allowed ones too.
func official(ctx context.Context, t *testing.T, server ours) []officialCheck {
	t.Helper()
	endpoint, scenario := withToken(t, server), regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT`)
	dir := t.TempDir()
	c := peer(ctx, t, []string{"NO_COLOR=1"}, filepath.Join("node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"),
		"server", "--url", endpoint, "--spec-version", mcp.Revision, "--timeout", "5000", "--output-dir", dir)
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
		name := scenario.FindStringSubmatch(filepath.Base(filepath.Dir(f)))
		if name == nil {
			t.Fatalf("%s names no scenario", f)
		}
		for _, c := range checks {
			c.Scenario = name[1]
			all = append(all, c)
		}
	}
	return all
}

// withToken is an endpoint in front of a server that adds the token, for a peer that sends none.
func withToken(t *testing.T, server ours) string {
	t.Helper()
	to, err := url.Parse(server.mcp)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: to.Scheme, Host: to.Host}) // which also sets Host, as the server insists
			r.Out.Header.Set("Authorization", "Bearer "+server.token)
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	t.Cleanup(func() { proxy.CloseClientConnections(); proxy.Close() })
	return proxy.URL + to.Path
}
