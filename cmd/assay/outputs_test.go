package main

import (
	"encoding/xml"
	"net/http"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync/atomic"
	"testing"

	"assay.kit/conformance/report"
)

// leaky answers everything with 500 and the token it was sent, in several spellings.
func leaky(n *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		w.WriteHeader(500)
		_, _ = w.Write([]byte("\x1b[32m<script>alert(1)</script> ::error:: secret-token-1 c2VjcmV0LXRva2VuLTE="))
	}
}

func filesIn(t *testing.T, dir string) (names []string, texts map[string]string) {
	t.Helper()
	texts = map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		name, _ := filepath.Rel(dir, p)
		names, texts[filepath.ToSlash(name)] = append(names, filepath.ToSlash(name)), string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(names)
	return names, texts
}

// A failing check fills a folder with every format and the evidence, and no secret is in any of it;
// what is converted later from its JSON report is the same.
func TestCheckOut(t *testing.T) {
	var n atomic.Int64
	url := failing(t, leaky(&n))
	dir := filepath.Join(t.TempDir(), "new", "out")
	old := filepath.Join(dir, "har", "007-of.an.earlier@run.har")
	mine := filepath.Join(dir, "har", "notes.har")
	if err := os.MkdirAll(filepath.Dir(old), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{old, mine} {
		if err := os.WriteFile(f, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := assay(t.Context(), []string{"check", "--target", url, "--contract", "notes", "--only", "transport", "--effort", "quick", "--seed", "1",
		"--out", dir, "--format", "junit"}, tokenVariable(t, "notes")+"=secret-token-1")
	if r.code != exitViolations {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	if err := xml.Unmarshal([]byte(r.out), new(struct{})); err != nil {
		t.Errorf("stdout is not the JUnit report alone: %v", err)
	}
	names, texts := filesIn(t, dir)
	all := strings.Join(names, " ")
	for _, f := range formats(report.Console{}) {
		if texts[f.File] == "" {
			t.Errorf("no %s in %s", f.File, all)
		}
	}
	if strings.Contains(all, "007-of") || !strings.Contains(all, "har/notes.har") || !strings.Contains(all, "har/001-") || strings.Contains(all, ".assay-") {
		t.Errorf("files: %s", all)
	}
	texts["stdout"], texts["stderr"] = r.out, r.err
	for name, text := range texts {
		for _, secret := range []string{"secret-token-1", "c2VjcmV0LXRva2VuLTE"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s is in %s", secret, name)
			}
		}
		if !strings.HasSuffix(name, ".json") && !strings.HasSuffix(name, ".har") && strings.Contains(text, "\x1b") {
			t.Errorf("an escape is in %s", name)
		}
	}
	if texts["junit.xml"] != r.out {
		t.Error("stdout and the file differ")
	}
	again := filepath.Join(t.TempDir(), "again")
	if r := assay(t.Context(), []string{"report", filepath.Join(dir, "report.json"), "--out", again}); r.code != 0 || r.out != "" {
		t.Fatalf("%+v", r)
	}
	_, converted := filesIn(t, again)
	for name, text := range converted {
		if texts[name] != text {
			t.Errorf("%s differs after conversion", name)
		}
	}
}

// What cannot be written is refused before anything is sent.
func TestOutIsRefusedFirst(t *testing.T) {
	var n atomic.Int64
	url := failing(t, leaky(&n))
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "sub")} {
		r := assay(t.Context(), []string{"check", "--target", url, "--contract", "notes", "--out", dir}, tokenVariable(t, "notes")+"=t")
		if r.code != exitUsage || !strings.Contains(r.err, "flag --out: ") || n.Load() > 0 {
			t.Errorf("%s: exit %d after %d requests: %s", dir, r.code, n.Load(), r.err)
		}
	}
}

func TestReport(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.json")
	text := `{"schema": "assay.report/1", "verdict": "violations", "seed": 3, "contract": {"name": "notes"}, "findings": [{"claim": "a.b", "case": "a.c@d'e", "verdict": "fail", "seed": 3}]}`
	if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out.md")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{in}, 0, "FAIL  a.b on d'e"},
		{[]string{in}, 0, "assay replay " + in + ` 'a.c@d'\''e'`},
		{[]string{in, "--format", "github"}, 0, "::error title=a.b on d'e::"},
		{[]string{in, "--format", "markdown", "--out", out}, 0, ""},
		{[]string{in, "--format", "markdown", "--out", dir}, 2, "flag --out: "},
		{[]string{in, "--format", "pdf"}, 2, "is none of text, json"},
		{[]string{}, 2, "takes one JSON report"},
		{[]string{filepath.Join(dir, "none.json")}, 2, "cannot be read"},
		{[]string{out}, 2, out + ": no JSON report:1:1: invalid character"},
	} {
		r := assay(t.Context(), append([]string{"report"}, c.args...))
		if r.code != c.code || !strings.Contains(r.out+r.err, c.want) {
			t.Errorf("%q: exit %d\n%s%s", c.args, r.code, r.out, r.err)
		}
	}
	if b, err := os.ReadFile(out); err != nil || !strings.HasPrefix(string(b), "## assay: violations") {
		t.Errorf("%s, %v", b, err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".assay-*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
