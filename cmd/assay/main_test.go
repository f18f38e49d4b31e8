package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestMain lets the test binary be the command, for tests that need a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("ASSAY_TEST_MAIN") == "1" {
		main()
		return
	}
	if err := os.Setenv("ASSAY_TEST_MAIN", "1"); err != nil { // for the processes that the command starts
		panic(err)
	}
	os.Exit(m.Run())
}

// result is what one command line gave.
type result struct {
	code     int
	out, err string
}

// assay runs a command line in this process, with the variables given as NAME=VALUE.
func assay(ctx context.Context, args []string, env ...string) result {
	var out, err bytes.Buffer
	code := Main(ctx, args, &out, &err, lookup(env))
	return result{code, out.String(), err.String()}
}

func lookup(env []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, e := range env {
			if n, v, _ := strings.Cut(e, "="); n == name {
				return v, true
			}
		}
		return "", false
	}
}

// write puts a file into a folder of the test and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every mistake of the user gives one clear sentence a problem, the exit code for it, and no request.
func TestBadInput(t *testing.T) {
	var requests atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer target.Close()
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	dir := t.TempDir()
	broken := filepath.Dir(write(t, dir, "broken/openapi.yaml", "openapi: 3.1.0\ninfo: {title: t, version: '1'}\npaths:\n  /a:\n    get: 7\n"))
	empty := filepath.Dir(write(t, dir, "empty/openapi.yaml", "openapi: 3.1.0\ninfo: {title: t, version: '1'}\npaths: {}\n"))
	noYAML := filepath.Dir(write(t, dir, "noyaml/openapi.yaml", "openapi: [3.1.0\n"))
	unset := write(t, dir, "unset.yaml", "base_url: "+target.URL+"\ncredentials:\n  primary: {bearer: \"${ASSAY_NOT_SET}\"}\n")
	two := write(t, dir, "two.yaml", "base_url: "+target.URL+"\nsandbx: true\nbudget: {rate: fast}\n")
	absent := write(t, dir, "absent.yaml", "base_url: "+target.URL+"\nabsent: [listEvnts]\ncredentials: {primary: {bearer: t}}\n")
	slip := write(t, dir, "slip.yaml", "known:\n  - {claim: idempotency.repaly, case: x}\n")
	check := []string{"check", "--target", target.URL}
	token := "SEER_ACCESS_TOKEN=t"
	for _, tc := range []struct {
		name string
		args []string
		code int
		says []string // one a line, in order
	}{
		{"no such subcommand", []string{"chekc"}, 2, []string{`there is no subcommand "chekc"; did you mean "check"?`}},
		{"nothing near", []string{"frobnicate"}, 2, []string{`there is no subcommand "frobnicate"; assay --help lists them`}},
		{"unknown flag", append(check, "--sed", "1"), 2, []string{"assay check has no flag --sed; did you mean --seed?"}},
		{"unknown short flag", append(check, "-x"), 2, []string{"assay check has no flag -x"}},
		{"flag without value", append(check, "--seed"), 2, []string{"flag --seed needs a value"}},
		{"no number", append(check, "--seed", "x"), 2, []string{`flag --seed: "x" is not a whole number from 0`}},
		{"none of a list", append(check, "--format", "jsn"), 2, []string{`flag --format: "jsn" is none of text, json, junit, markdown, github, html; did you mean "json"?`}},
		{"extra argument", append(check, "extra"), 2, []string{`assay check takes no argument, but got "extra"; see assay check --help`}},
		{"no such effect", append(check, "--allow", "write"), 2, []string{`flag --allow: "write" is no effect`}},
		{"no jobs", append(check, "--jobs", "0"), 2, []string{"flag --jobs: 0 is too few"}},
		{"unknown contract", append(check, "--contract", "seeer"), 2, []string{`no contract is called "seeer"`}},
		{"no such folder", append(check, "--contract", dir+"/nowhere"), 2, []string{"cannot be read: no such file or directory"}},
		{"a file for a folder", append(check, "--contract", unset), 2, []string{"is a file; give the folder"}},
		{"broken OpenAPI", append(check, "--contract", broken), 2, []string{filepath.Join(broken, "openapi.yaml") + ":5 (/paths/~1a/get): this is a number"}},
		{"no YAML", append(check, "--contract", noYAML), 2, []string{filepath.Join(noYAML, "openapi.yaml") + ":2: not YAML"}},
		{"neither operations nor tools", append(check, "--contract", empty), 2, []string{"the contract has neither operations nor tools"}},
		{"unknown requirement", append(check, "--only", "SEER-IDME-01"), 2, []string{`did you mean "SEER-IDEM-01"?`}},
		{"unknown in skip", append(check, "--skip", "getConection"), 2, []string{`did you mean "getConnection"?`}},
		{"unreadable profile", []string{"check", "--profile", dir + "/none.yaml"}, 2, []string{"none.yaml cannot be read"}},
		{"unset variable", []string{"check", "--profile", unset}, 2, []string{unset + ":3: variable ASSAY_NOT_SET is not set"}},
		{"two mistakes", []string{"check", "--profile", two}, 2, []string{two + `:2: unknown member`, two + ":3: budget.rate"}},
		{"absent is unknown", []string{"check", "--profile", absent}, 2, []string{`has no operation "listEvnts"; did you mean "listEvents"?`}},
		{"no URL", []string{"check"}, 2, []string{"variable SEER_API_BASE_URL is not set"}},
		{"no HTTP", []string{"check", "--target", "ftp://example.com"}, 2, []string{`scheme "ftp" is neither http nor https`}},
		{"a password in the URL", []string{"check", "--target", "http://u:hunter2@example.com"}, 2, []string{"it carries credentials"}},
		{"report in no folder", append(check, "--report", dir+"/no/r.json"), 2, []string{"r.json cannot be written: no such file or directory"}},
		{"report is a folder", append(check, "--report", dir), 2, []string{"is a folder; give a file"}},
		{"dead target", []string{"check", "--target", dead.URL}, 3, []string{"target is unreachable"}},
		{"a bad rate before a missing target", []string{"check", "--rate", "x"}, 2, []string{`flag --rate: "x" is no rate`}},
		{"a bad filter before a missing target", []string{"check", "--only", "SEER-IDME-01"}, 2, []string{`did you mean "SEER-IDEM-01"?`}},
		{"no such baseline", append(check, "--baseline", dir+"/none.yaml"), 2, []string{"flag --baseline: " + dir + "/none.yaml cannot be read: no such file"}},
		{"a slip in a baseline", []string{"check", "--baseline", slip}, 2, []string{slip + `:2: nothing judges a claim "idempotency.repaly"; did you mean "idempotency.replay"?`}},
		{"baseline in no folder", append(check, "--write-baseline", dir+"/no/b.yaml"), 2, []string{"b.yaml cannot be written: no such file"}},
		{"baseline over another", append(check, "--write-baseline", slip), 2, []string{"exists; give --baseline " + slip + " too"}},
		{"no such report to run again", []string{"check", "--rerun", dir + "/none.json"}, 2, []string{"--rerun: " + dir + "/none.json cannot be read"}},
		{"no report to run again", []string{"check", "--rerun", slip}, 2, []string{"no JSON report"}},
		{"mutant of another contract", []string{"serve", "--mutant", "wire-latin1-label", "--contract", "seer"}, 2, []string{"mutant wire-latin1-label serves the contract notes, not seer"}},
		{"profile in no place", []string{"init", "--out", dir + "/no/p.yaml"}, 2, []string{"p.yaml cannot be written: no such file"}},
		{"no such list", []string{"list", "chekcs"}, 2, []string{`there is no list of "chekcs"; did you mean "checks"?`}},
		{"two lists", []string{"list", "checks", "tools"}, 2, []string{"list takes one word, but got 2"}},
		{"nothing to explain", []string{"explain"}, 2, []string{"explain takes one id, but got 0"}},
		{"unknown id", []string{"explain", "SEER-IDEM-3"}, 2, []string{`did you mean "SEER-IDEM-03"?`}},
		{"no such mutant", []string{"mutants", "--only", "zzz"}, 2, []string{`flag --only: no mutant is called "zzz"`}},
		{"negative parallel", []string{"mutants", "--parallel", "-1"}, 2, []string{"flag --parallel: -1 is too few"}},
		{"mutants of a stranger", []string{"mutants", "--contract", "sear"}, 2, []string{`did you mean "seer"?`}},
		{"public address", []string{"serve", "--addr", "0.0.0.0:0"}, 2, []string{"can be reached from other machines"}},
		{"public by name", []string{"serve", "--addr", "example.com:0"}, 2, []string{"can be reached from other machines"}},
		{"no address", []string{"serve", "--addr", "8080"}, 2, []string{`"8080" is not HOST:PORT`}},
		{"port in use", []string{"serve", "--addr", target.Listener.Addr().String()}, 2, []string{"cannot be bound: bind: address already in use"}},
		{"public control", []string{"serve", "--control", ":0"}, 2, []string{"can be reached from other machines"}},
		{"sqlite without a file", []string{"serve", "--store", "sqlite"}, 2, []string{"--store sqlite needs --db FILE"}},
		{"memory with a file", []string{"serve", "--store", "memory", "--db", "x"}, 2, []string{"--db goes with --store sqlite"}},
		{"database in no folder", []string{"serve", "--db", dir + "/no/x.db"}, 2, []string{"x.db cannot be opened"}},
		{"profile in no folder", []string{"serve", "--write-profile", dir + "/no/p.yaml"}, 2, []string{"p.yaml cannot be written"}},
		{"restart and more", []string{"serve", "--restart-of", "x", "--db", "y"}, 2, []string{"--restart-of stands alone"}},
		{"demo of nothing", []string{"demo", "--contract", "note"}, 2, []string{`did you mean "notes"?`}},
		{"lint of nothing", []string{"lint", "--contract", dir + "/nowhere"}, 2, []string{"cannot be read"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := assay(t.Context(), tc.args, token)
			if r.code != tc.code || r.out != "" {
				t.Errorf("exit %d, want %d; stdout %q", r.code, tc.code, r.out)
			}
			lines := strings.Split(strings.TrimSuffix(r.err, "\n"), "\n")
			if len(lines) != len(tc.says) {
				t.Fatalf("%d lines, want %d:\n%s", len(lines), len(tc.says), r.err)
			}
			for i, l := range lines {
				if !strings.HasPrefix(l, "assay: ") || !strings.Contains(l, tc.says[i]) {
					t.Errorf("line %q does not say %q", l, tc.says[i])
				}
			}
			if strings.Contains(r.err, "hunter2") || strings.Contains(r.err, "goroutine") || strings.Contains(r.err, "Usage") {
				t.Errorf("stderr: %s", r.err)
			}
		})
	}
	if requests.Load() != 0 {
		t.Errorf("%d requests were sent", requests.Load())
	}
}

// Every help opens with one sentence and shows two examples that the command takes.
func TestHelp(t *testing.T) {
	for _, name := range []string{"", "demo", "check", "serve", "lint", "list", "explain", "mutants", "replay", "init", "version", "completion", "man"} {
		r := assay(t.Context(), append(strings.Fields(name), "--help"))
		lines := strings.Split(r.out, "\n")
		if r.code != 0 || r.err != "" || len(lines) < 6 {
			t.Errorf("%q: exit %d, %s", name, r.code, r.err)
			continue
		}
		if !strings.HasSuffix(lines[0], ".") || lines[1] != "" || lines[4] != "" {
			t.Errorf("%q does not open with a sentence and two examples:\n%s", name, r.out)
		}
		for _, l := range lines[2:4] {
			words := strings.Fields(l)
			if words[0] != "assay" {
				t.Errorf("%q: example %q", name, l)
				continue
			}
			c, args, err := (&app{env: lookup(nil)}).root().Find(words[1:])
			if err == nil {
				err = c.ParseFlags(args)
			}
			if err != nil || name != "" && c.Name() != name {
				t.Errorf("%q: example %q is refused: %v", name, l, err)
			}
		}
	}
}

func TestVersion(t *testing.T) {
	var v map[string]string
	r := assay(t.Context(), []string{"version", "--format", "json"})
	if err := json.Unmarshal([]byte(r.out), &v); err != nil || r.code != 0 || v["version"] == "" || !strings.HasPrefix(v["go"], "go1.") {
		t.Errorf("%+v: %v", r, err)
	}
	if r := assay(t.Context(), []string{"version"}); !strings.HasPrefix(r.out, "assay "+v["version"]+" (go1.") || strings.Count(r.out, "\n") != 1 {
		t.Errorf("%q", r.out)
	}
}

func TestLint(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "openapi.yaml", "openapi: 3.1.0\ninfo: {title: t, version: '1'}\npaths:\n  /a:\n    get: 7\n")
	r := assay(t.Context(), []string{"lint", "--contract", dir})
	if r.code != exitUsage || !strings.Contains(r.out, filepath.ToSlash(dir)+"/openapi.yaml:5: error: ") || r.err != "" {
		t.Errorf("broken: %+v", r)
	}
	var out struct{ Problems []lintLine }
	r = assay(t.Context(), []string{"lint", "--contract", dir, "--format", "json"})
	if err := json.Unmarshal([]byte(r.out), &out); err != nil || r.code != exitUsage || len(out.Problems) == 0 || out.Problems[0].Line != 5 {
		t.Errorf("broken, as JSON: %+v: %v", r, err)
	}
	for _, name := range []string{"seer", "notes"} {
		if r := assay(t.Context(), []string{"lint", "--contract", name}); r.code != 0 {
			t.Errorf("%s: exit %d\n%s", name, r.code, r.out)
		}
	}
	write(t, dir, "openapi.yaml", `openapi: 3.1.0
info: {title: t, version: '1'}
paths:
  /things:
    post:
      operationId: createThing
      x-assay: {effect: compute, creates: {resource: thing, id: $response.body#/id}}
      responses:
        "201":
          description: made
          content: {application/json: {schema: {type: object, properties: {id: {type: string}}}}}
`)
	r = assay(t.Context(), []string{"lint", "--contract", dir})
	if r.code != exitViolations || !strings.Contains(r.out, "/openapi.yaml:") || !strings.Contains(r.out, "[idempotency-missing]") {
		t.Errorf("incomplete: %+v", r)
	}
}

func TestListAndExplain(t *testing.T) {
	for _, tc := range []struct {
		args string
		has  []string
	}{
		{"list", []string{"ID ", "SEER-IDEM-03", "STATEMENT"}},
		{"list operations --contract notes", []string{"createNote", "POST", "idempotency"}},
		{"list checks", []string{"idempotency.", "wire.schema"}},
		{"list tools", []string{"seer_market_bars", "market.bars"}},
		{"list mutants", []string{"CONTRACT"}},
		{"explain SEER-IDEM-09", []string{"requirement SEER-IDEM-09", "second_client: another client's credential", "source "}},
		{"explain wire.schema", []string{"claim wire.schema", "every exchange"}},
		{"explain createForecast", []string{"operation createForecast", "POST /v1/forecasts", "openapi.yaml:", "idempotency."}},
		{"explain market.bars", []string{"tool seer_market_bars", "schema revision 1.0", "schema revision 1.1"}},
		{"explain createNote", []string{"operation createNote"}},
		{"list mutants --contract notes", []string{"wire-latin1-label"}},
		{"explain createNote --contract notes", []string{"operation createNote"}},
	} {
		r := assay(t.Context(), strings.Fields(tc.args))
		if r.code != 0 || r.err != "" {
			t.Errorf("%s: %+v", tc.args, r)
		}
		for _, h := range tc.has {
			if !strings.Contains(r.out, h) {
				t.Errorf("%s does not say %q:\n%.2000s", tc.args, h, r.out)
			}
		}
		if r := assay(t.Context(), append(strings.Fields(tc.args), "--format", "json")); r.code != 0 || !json.Valid([]byte(r.out)) {
			t.Errorf("%s is no JSON: %+v", tc.args, r)
		}
	}
}

// A list of mutants is of one contract where one is named, and of all otherwise.
func TestListMutantsOfOneContract(t *testing.T) {
	all := assay(t.Context(), []string{"list", "mutants"}).out
	notes := assay(t.Context(), []string{"list", "mutants", "--contract", "notes"}).out
	if !strings.Contains(all, "  seer  ") || !strings.Contains(all, "  notes  ") || strings.Contains(notes, "  seer  ") || !strings.Contains(notes, "  notes ") {
		t.Errorf("%.2000s", notes)
	}
}

// A choice that stands for the flag's absence is nothing to write.
func TestHelpShowsNoEmptyChoice(t *testing.T) {
	r := assay(t.Context(), []string{"serve", "--help"})
	if !strings.Contains(r.out, "--store sqlite|memory") {
		t.Errorf("%s", r.out)
	}
}

// Everything that a check judges can be explained: its id, its claims, and what it is run on.
func TestEveryIDIsExplained(t *testing.T) {
	c, err := loadContract("seer")
	if err != nil {
		t.Fatal(err)
	}
	k := newCatalog(c)
	for _, id := range k.names() {
		if len(k.explain(id)) == 0 {
			t.Errorf("%s is listed and cannot be explained", id)
		}
	}
}
