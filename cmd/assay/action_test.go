package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"assay.kit/conformance/report"
	"assay.kit/reference/mutant"
)

// action is what action.yml says, as far as GitHub runs it.
type action struct {
	Name, Description string
	Inputs            map[string]struct{ Description, Default string }
	Outputs           map[string]struct{ Description, Value string }
	Runs              struct {
		Using string
		Steps []actionStep
	}
}

type actionStep struct {
	Name, If, Uses, Shell, Run, ID string
	Env, With                      map[string]string
}

func readAction(t *testing.T) action {
	t.Helper()
	f, err := os.Open("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	d := yaml.NewDecoder(f)
	var a action
	if err := d.Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a action) step(t *testing.T, name string) actionStep {
	t.Helper()
	i := slices.IndexFunc(a.Runs.Steps, func(s actionStep) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("action.yml has no step %q", name)
	}
	return a.Runs.Steps[i]
}

var expression = regexp.MustCompile(`\$\{\{ *([^}]*?) *\}\}`)

// What GitHub asks of a composite action, and what keeps strangers' texts out of a shell: a script
// takes inputs from its environment, and no input holds a token.
func TestActionForm(t *testing.T) {
	a := readAction(t)
	if a.Name == "" || a.Description == "" || a.Runs.Using != "composite" {
		t.Errorf("%+v", a)
	}
	for _, name := range []string{"target", "contract", "profile", "version", "args"} {
		if a.Inputs[name].Description == "" {
			t.Errorf("input %s is missing or says nothing", name)
		}
	}
	for name := range a.Inputs {
		if strings.Contains(name, "token") || strings.Contains(name, "secret") {
			t.Errorf("input %s: a token comes through the environment", name)
		}
	}
	for _, s := range a.Runs.Steps {
		switch {
		case (s.Uses == "") == (s.Run == ""):
			t.Errorf("step %q must either use or run", s.Name)
		case s.Run != "" && s.Shell != "bash":
			t.Errorf("step %q: a composite action names the shell", s.Name)
		case expression.MatchString(s.Run):
			t.Errorf("step %q puts an expression into a script", s.Name)
		case s.Uses != "" && !strings.Contains(s.Uses, "@"):
			t.Errorf("step %q: %s has no version", s.Name, s.Uses)
		}
	}
}

// sandbox is a runner's machine: a folder for its files, and the values of the expressions.
type sandbox struct {
	dir  string
	vars map[string]string
}

func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return &sandbox{dir: t.TempDir(), vars: map[string]string{"github.action_path": root, "runner.os": "Linux", "runner.arch": "X64",
		"inputs.version": "", "inputs.target": "", "inputs.contract": "", "inputs.profile": "", "inputs.args": ""}}
}

func (b *sandbox) path(name string) string { return filepath.Join(b.dir, name) }

func (b *sandbox) read(name string) string {
	text, _ := os.ReadFile(b.path(name))
	return string(text)
}

// run runs the script of a step as a runner does and gives its exit code and what it prints.
func (b *sandbox) run(t *testing.T, s actionStep, env ...string) (int, string) {
	t.Helper()
	b.vars["runner.temp"] = b.dir
	script := write(t, b.dir, "script.sh", s.Run)
	c := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", script)
	c.Dir = b.dir
	c.Env = append(os.Environ(), "GITHUB_STEP_SUMMARY="+b.path("summary.md"), "GITHUB_OUTPUT="+b.path("output"))
	for name, value := range s.Env {
		c.Env = append(c.Env, name+"="+expression.ReplaceAllStringFunc(value, func(e string) string {
			v, ok := b.vars[expression.FindStringSubmatch(e)[1]]
			if !ok {
				t.Errorf("step %q: nobody knows what %s is", s.Name, e)
			}
			return v
		}))
	}
	c.Env = append(c.Env, env...)
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(out)
}

// binary puts this test's command where the action keeps its own, behind a script that notes the
// arguments: what stands there, every process of the machine can read.
func (b *sandbox) binary(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, b.dir, "assay-kit/assay.exe", fmt.Sprintf("#!/bin/sh\nprintf '%%s\\n' \"$@\" >>'%s'\nexec '%s' \"$@\"\n", b.path("argv"), self))
	if err := os.Chmod(file, 0o755); err != nil {
		t.Fatal(err)
	}
}

// The judging step, run for real against a server: the exit code, the outputs, the summary and the
// annotations are those of the verdict, and the token is nowhere.
func TestActionJudges(t *testing.T) {
	step := readAction(t).step(t, "Judge")
	good, bad := serveFor(t, mutant.Mutant{ID: "reference"}), serveFor(t, theMutant(t, "idempotency-ignores-body"))
	token := good.Credentials["primary"].Bearer.Reveal()
	if bad.Credentials["primary"].Bearer.Reveal() != token {
		t.Fatal("two servers of one seed have two tokens")
	}
	dead := httptest.NewServer(nil)
	dead.Close()
	converts := slices.ContainsFunc((&app{}).root().Commands(), hasName("report"))
	for _, tc := range []struct {
		name, target, args string
		code               int
		verdict            report.Overall
		says               string
	}{
		{"kept", good.BaseURL, "--only\nidempotency.sequential\n--seed\n1\n", exitOK, report.Conformant, "conformant: "},
		{"broken", bad.BaseURL, "--only\nidempotency.sequential\n--seed\n1\n", exitViolations, report.Violations, "FAIL  idempotency.conflict"},
		{"dead", dead.URL, "", exitNotJudged, "", "target is unreachable"},
		{"a slip", good.BaseURL, "--sed\n1", exitUsage, "", "did you mean --seed?"},
		{"no shell", good.BaseURL, "--only\n$(touch hacked); `touch hacked`", exitUsage, "", "matches no requirement"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newSandbox(t)
			b.binary(t)
			b.vars["inputs.target"], b.vars["inputs.contract"], b.vars["inputs.args"] = tc.target, "notes", tc.args
			code, out := b.run(t, step, "NOTES_ACCESS_TOKEN="+token)
			if code != tc.code || !strings.Contains(out, tc.says) {
				t.Errorf("exit %d, want %d:\n%s", code, tc.code, out)
			}
			if want := "verdict=" + string(tc.verdict) + "\n"; strings.Contains(b.read("output"), want) == (tc.verdict == "") {
				t.Errorf("outputs: %q, want %q", b.read("output"), want)
			}
			for name, text := range map[string]string{"the log": out, "argv": b.read("argv"), "the summary": b.read("summary.md"), "the report": b.read("assay-report/report.json")} {
				if strings.Contains(text, token) {
					t.Errorf("the token is in %s", name)
				}
			}
			if _, err := os.Stat(b.path("hacked")); err == nil {
				t.Error("an input was run as a command")
			}
			if tc.verdict == "" && !strings.Contains(b.read("summary.md"), fmt.Sprint("exit code ", tc.code)) {
				t.Errorf("summary: %q", b.read("summary.md"))
			}
			if tc.verdict != "" && converts {
				b.shows(t, out, tc.verdict)
			}
		})
	}
}

// shows looks for the pictures of a report: summary, annotations, and the folder of all formats.
func (b *sandbox) shows(t *testing.T, out string, v report.Overall) {
	t.Helper()
	if strings.Contains(out, "::warning::assay wrote") {
		t.Errorf("a picture of the report could not be made:\n%s", out)
	}
	if s := b.read("summary.md"); !strings.Contains(s, string(v)) || v == report.Violations && !strings.Contains(s, "idempotency.conflict") {
		t.Errorf("summary: %s", s)
	}
	if v == report.Violations && !strings.Contains(out, "::error") {
		t.Errorf("no annotation:\n%s", out)
	}
	if entries, _ := os.ReadDir(b.path("assay-report")); len(entries) < 3 {
		t.Errorf("the folder holds %v", entries)
	}
}

// The building step makes a binary that runs.
func TestActionBuilds(t *testing.T) {
	b := newSandbox(t)
	if code, out := b.run(t, readAction(t).step(t, "Build assay")); code != 0 {
		t.Fatalf("exit %d:\n%s", code, out)
	}
	out, err := exec.CommandContext(t.Context(), b.path("assay-kit/assay.exe"), "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "assay ") {
		t.Errorf("%v: %s", err, out)
	}
}

// The downloading step takes the file that make cross builds for the runner's system.
func TestActionDownloads(t *testing.T) {
	step := readAction(t).step(t, "Download assay")
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.Path)
		_, _ = w.Write([]byte("#!/bin/sh\necho downloaded\n"))
	}))
	defer server.Close()
	for _, system := range []string{"Linux-X64", "Linux-ARM64", "macOS-X64", "macOS-ARM64", "Windows-X64", "Windows-ARM64", "Linux-S390X"} {
		b := newSandbox(t)
		b.vars["inputs.version"], b.vars["github.server_url"], b.vars["github.action_repository"] = "v1.2.3", server.URL, "owner/assay"
		b.vars["runner.os"], b.vars["runner.arch"], _ = strings.Cut(system, "-")
		code, out := b.run(t, step)
		if system == "Linux-S390X" {
			if code != exitUsage || !strings.Contains(out, "there is no release of assay for Linux-S390X") {
				t.Errorf("%s: exit %d: %s", system, code, out)
			}
			continue
		}
		path, _ := asked.Load().(string)
		platform, ok := strings.CutPrefix(path, "/owner/assay/releases/download/v1.2.3/assay-")
		platform = strings.Replace(strings.TrimSuffix(platform, ".exe"), "-", "/", 1)
		if code != 0 || !ok || !strings.Contains(string(makefile), platform) {
			t.Errorf("%s: exit %d, asked for %s: %s", system, code, path, out)
		}
		if got, err := exec.CommandContext(t.Context(), b.path("assay-kit/assay.exe")).Output(); err != nil || string(got) != "downloaded\n" {
			t.Errorf("%s: %v: %s", system, err, got)
		}
	}
}

func hasName(name string) func(*cobra.Command) bool {
	return func(c *cobra.Command) bool { return c.Name() == name }
}
