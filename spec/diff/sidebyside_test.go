//go:build oasdiff

package diff_test

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay.kit/spec/diff"
	"assay.kit/spec/tree"
)

// TestSideBySide runs another tool on every pair that is OpenAPI and writes the table of both verdicts:
//
//	OASDIFF=$(which oasdiff) TABLE=docs/gate.md go test -tags oasdiff -run TestSideBySide ./spec/diff
func TestSideBySide(t *testing.T) {
	binary, table := os.Getenv("OASDIFF"), os.Getenv("TABLE")
	if binary == "" || table == "" {
		t.Fatal("set OASDIFF to the binary and TABLE to the file to write")
	}
	built, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	ours, theirs, calm, pairs := 0, 0, 0, 0
	harmful, alarms := 0, 0
	for _, c := range pairCases(t) {
		if c.in == "tool" || c.in == "tools" || c.in == "rows" {
			continue
		}
		pairs++
		v := verdict(t, binary, wrap(t, c.in, c.old).Doc, wrap(t, c.in, c.new).Doc)
		r := compare(t, wrap(t, c.in, c.old), wrap(t, c.in, c.new))
		says := "passes"
		if r.Count(diff.Breaking) > 0 {
			says = "breaking"
		} else if r.Count(diff.Review) > 0 {
			says = "review"
		}
		switch {
		case c.want == diff.Breaking:
			harmful++
			if v == "breaking" {
				theirs++
			}
			if says == "breaking" {
				ours++
			}
		case v == "breaking":
			alarms++
		default:
			calm++
		}
		fmt.Fprintf(&rows, "| %s: %s | %s | %s | %s |\n", c.in, c.name, orNothing(c.want), says, v)
	}
	text := fmt.Sprintf("%s\nOf %d pairs %d are breaking: assay says so of %d, %s of %d. Of the other %d it calls %d breaking, assay none.\n\n| edit | grade | assay | oasdiff |\n|---|---|---|---|\n%s",
		intro, pairs, harmful, ours, "oasdiff "+built.Main.Version, theirs, pairs-harmful, alarms, rows.String())
	if err := os.WriteFile(filepath.Join("../..", table), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const intro = `# The gate beside another tool

Written by TestSideBySide (build tag oasdiff), which runs both on the pairs under spec/diff/testdata that are
OpenAPI. The grade is what the edit does to somebody who kept to the old version; oasdiff runs with
--fail-on WARN, and does not claim to know x-assay.
`

func orNothing(g diff.Grade) string {
	if g == "" {
		return "no change"
	}
	return string(g)
}

func verdict(t *testing.T, binary string, a, b *tree.Node) string {
	t.Helper()
	dir := t.TempDir()
	file := func(name string, n *tree.Node) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, n.JSON(), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	out, err := exec.CommandContext(t.Context(), binary, "breaking", file("old.json", a), file("new.json", b), "--fail-on", "WARN").CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "passes"
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return "breaking"
	}
	t.Logf("%s", out)
	return "cannot load"
}
