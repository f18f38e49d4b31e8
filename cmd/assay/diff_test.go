package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const gateAPI = `openapi: 3.1.0
info: {title: T, version: 1.0.0}
paths:
  /a:
    post:
      operationId: makeA
      requestBody: {content: {application/json: {schema: {type: string, maxLength: 10}}}}
      responses: {"200": {description: d, content: {application/json: {schema: {type: integer, x-assay: {unit: cents}}}}}}
`

// TestDiffExits: 0 clean, 1 breaking or, under --strict, to review, 2 where nothing can be compared.
func TestDiffExits(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string { return write(t, dir, name, text) }
	edit := func(from, to string) string { return strings.Replace(gateAPI, from, to, 1) }
	old := file("old/openapi.yaml", gateAPI)
	same := file("same/openapi.yaml", gateAPI)
	wider := file("wider/openapi.yaml", edit("maxLength: 10", "maxLength: 11"))
	tighter := file("tighter/openapi.yaml", edit("maxLength: 10", "maxLength: 9"))
	unknown := file("unknown/openapi.yaml", edit("type: string,", "type: string, x-colour: red,"))
	tools := file("tools.json", `{"tools": [{"name": "a", "inputSchema": {}}]}`)
	conflict := file("conflict.yaml", "<<<<<<< HEAD\n"+gateAPI)
	empty := file("empty.yaml", "{}\n")
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"the same", []string{old, same}, 0, "0 breaking"},
		{"two folders", []string{filepath.Dir(old), filepath.Dir(tighter)}, 1, "1 breaking"},
		{"wider", []string{old, wider}, 0, "1 compatible"},
		{"tighter", []string{old, tighter}, 1, "witness"},
		{"to review", []string{old, unknown}, 0, "extension.unknown"},
		{"to review, strictly", []string{old, unknown, "--strict"}, 1, "extension.unknown"},
		{"all", []string{old, wider, "--all"}, 0, "request.maxLength.widened"},
		{"built in", []string{"notes", "notes"}, 0, "0 breaking"},
		{"no file", []string{old, dir + "/none.yaml"}, 2, "cannot be read: no such file"},
		{"another kind", []string{old, tools}, 2, "of different kinds"},
		{"a conflict", []string{old, conflict}, 2, "conflict.yaml:1: a merge conflict is not resolved"},
		{"empty", []string{old, empty}, 2, "is no OpenAPI document"},
		{"one argument", []string{old}, 2, "diff takes an old and a new version"},
		{"no such rule", []string{"--explain", "request.enum.narowed"}, 2, `did you mean "request.enum.narrowed"?`},
		{"a rule", []string{"--explain", "property.unit.changed"}, 0, "takes no override"},
		{"the map", []string{"--coverage"}, 0, "operation.idempotency.scope.changed"},
		{"no form", []string{"git:main", same}, 2, "is not of the form git:REV:PATH"},
		{"no overrides", []string{old, same, "--overrides", dir + "/none.yaml"}, 2, "the overrides"},
		{"an idle override", []string{old, same, "--overrides", file("gate.yaml", "overrides: [{rule: a, pointer: /a, fingerprint: f, reason: r, by: b, expires: 2099-01-01}]\n")}, 1, "fits no finding"},
	} {
		r := assay(t.Context(), append([]string{"diff"}, c.args...))
		if r.code != c.code || !strings.Contains(r.out+r.err, c.says) || c.code == 2 && strings.Count(r.err, "\n") != 1 {
			t.Errorf("%s: exit %d, want %d with %q\n%s%s", c.name, r.code, c.code, c.says, r.out, r.err)
		}
	}
}

// TestDiffFormats: every format is what its readers parse, and says the same.
func TestDiffFormats(t *testing.T) {
	dir := t.TempDir()
	old := write(t, dir, "old.yaml", gateAPI)
	fresh := write(t, dir, "new.yaml", strings.NewReplacer("cents", "dollars", "maxLength: 10", "maxLength: 9").Replace(gateAPI))
	out := map[string]string{}
	for _, format := range diffFormatNames() {
		r := assay(t.Context(), []string{"diff", old, fresh, "--format", format})
		if r.code != 1 || r.err != "" || !strings.Contains(r.out, "property.unit.changed") {
			t.Errorf("%s: exit %d\n%s%s", format, r.code, r.out, r.err)
		}
		out[format] = r.out
	}
	var js struct {
		Findings []struct{ Grade string }
		Missing  []string
	}
	if err := json.Unmarshal([]byte(out["json"]), &js); err != nil || len(js.Findings) != 2 || len(js.Missing) != 1 {
		t.Errorf("json: %v %+v", err, js)
	}
	var suite diffSuite
	if err := xml.Unmarshal([]byte(out["junit"]), &suite); err != nil || suite.Failures != 2 || suite.Tests != 2 {
		t.Errorf("junit: %v %+v", err, suite)
	}
	if strings.Count(out["github"], "::error file=") != 2 || !strings.Contains(out["github"], ",line=7,") {
		t.Errorf("github:\n%s", out["github"])
	}
}

// TestDiffGit reads what a repository has at a revision, relative to the current folder.
func TestDiffGit(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, dir, "api/openapi.yaml", gateAPI)
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "a"}} {
		if b, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, b)
		}
	}
	write(t, dir, "api/openapi.yaml", strings.Replace(gateAPI, "cents", "dollars", 1))
	for _, c := range []struct {
		old, fresh string
		code       int
		says       string
	}{
		{"git:main:api", "api", 1, "git:main:api/openapi.yaml:8"},
		{"git:main:api/openapi.yaml", "api/openapi.yaml", 1, "1 breaking"},
		{"git:main:api", "git:main:api", 0, "0 breaking"},
		{"git:main:later", "api", 0, "a first version"},
		{"git:gone:api", "api", 2, `git has no revision "gone" here`},
		{"git:--all:api", "api", 2, "is not of the form"},
	} {
		r := assay(t.Context(), []string{"diff", c.old, c.fresh})
		if r.code != c.code || !strings.Contains(r.out+r.err, c.says) {
			t.Errorf("%s %s: exit %d, want %d with %q\n%s%s", c.old, c.fresh, r.code, c.code, c.says, r.out, r.err)
		}
	}
	if err := os.Chdir("api"); err != nil {
		t.Fatal(err)
	}
	if r := assay(t.Context(), []string{"diff", "git:main:.", "."}); r.code != 1 {
		t.Errorf("from within: %+v", r)
	}
}
