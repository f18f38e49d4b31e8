package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The pages under docs/man are those of this command line; make docs writes them again.
func TestManPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "man1")
	if r := assay(t.Context(), []string{"man", dir}); r.code != 0 || r.out+r.err != "" {
		t.Fatalf("%+v", r)
	}
	fresh, kept := folder(t, dir), folder(t, "../../docs/man")
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		if kept[name] != fresh[name] {
			t.Errorf("docs/man/%s is not what assay man writes; run make docs", name)
		}
		checkRoff(t, name, fresh[name])
	}
	for name := range kept {
		if _, ok := fresh[name]; !ok {
			t.Errorf("docs/man/%s is of no subcommand; remove it", name)
		}
	}
	if !strings.Contains(fresh["assay-check.1"], `\fB\-\-target\fR`) || !strings.Contains(fresh["assay.1"], ".BR assay\\-check (1)") {
		t.Errorf("%s\n%s", fresh["assay-check.1"], fresh["assay.1"])
	}
}

func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}

var request = regexp.MustCompile(`^\.(TH|SH|TP|B|BR|br|nf|fi)( |$)`)

// checkRoff finds texts that the language would take for its own.
func checkRoff(t *testing.T, name, page string) {
	t.Helper()
	for l := range strings.Lines(page) {
		l = strings.TrimSuffix(l, "\n")
		if strings.HasPrefix(l, ".") && !request.MatchString(l) || strings.HasPrefix(l, "'") || l == "" {
			t.Errorf("%s: the line %q is no text and no request", name, l)
		}
	}
}

func TestRoff(t *testing.T) {
	for in, want := range map[string]string{".x": `\&.x`, "'x": `\&'x`, `a\b`: `a\eb`, "--a": `\-\-a`, "a\n.b": "a .b", "a.b": "a.b"} {
		if got := roff(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// No manual without a place for it.
func TestManRefuses(t *testing.T) {
	file := write(t, t.TempDir(), "file", "")
	for _, tc := range []struct {
		args []string
		says string
	}{{[]string{"man"}, "man takes one folder, but got 0"}, {[]string{"man", file}, "cannot be made: not a directory"}} {
		if r := assay(t.Context(), tc.args); r.code != exitUsage || !strings.Contains(r.err, tc.says) {
			t.Errorf("%v: %+v", tc.args, r)
		}
	}
}
