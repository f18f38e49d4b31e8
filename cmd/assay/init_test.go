package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay.kit/conformance"
	"assay.kit/conformance/report"
	"assay.kit/conformance/target"
	"assay.kit/spec/contracts"
)

// The file that init writes is enough for a check once its variables are set.
func TestInit(t *testing.T) {
	dir := t.TempDir()
	served := filepath.Join(dir, "served.yaml")
	line, _ := ready(t, "--contract", "notes", "--write-profile", served)
	base, _ := line["base_url"].(string)
	p, err := target.Load(served, lookup(nil))
	if err != nil {
		t.Fatal(err)
	}
	token := p.Credentials["primary"].Bearer.Reveal()
	variable := tokenVariable(t, "notes")
	file := filepath.Join(dir, "n.yaml")
	args := []string{"init", "--contract", "notes", "--target", base, "--out", file}
	r := assay(t.Context(), args, variable+"="+token)
	if r.code != 0 || !strings.Contains(r.out, "wrote    "+file+"\n") || !strings.Contains(r.out, variable+" (is set)") || !strings.Contains(r.out, "assay check --profile "+file) {
		t.Errorf("%+v", r)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text)+r.out, token) {
		t.Errorf("%v: the token was written", err)
	}
	if r := assay(t.Context(), args); r.code != exitUsage || !strings.Contains(r.err, file+" exists and is left as it is") {
		t.Errorf("%+v", r)
	}
	r = assay(t.Context(), []string{"check", "--profile", file, "--only", "transport.routes", "--format", "json"}, variable+"="+token)
	if rep := readReport(t, []byte(r.out)); r.code != exitOK || rep.Verdict != report.Conformant {
		t.Errorf("exit %d, %s: %s", r.code, rep.Verdict, r.err)
	}
	r = assay(t.Context(), []string{"check", "--profile", file})
	if r.code != exitUsage || !strings.Contains(r.err, file+":7: variable "+variable+" is not set") {
		t.Errorf("%+v", r)
	}
	bad := filepath.Join(dir, "bad.yaml")
	for url, says := range map[string]string{"http://u:hunter2@h.example": "it carries credentials", "ftp://h.example": "neither http nor https"} {
		r := assay(t.Context(), []string{"init", "--target", url, "--out", bad})
		if _, err := os.Stat(bad); r.code != exitUsage || !strings.Contains(r.err, says) || strings.Contains(r.err, "hunter2") || err == nil {
			t.Errorf("%s: %+v", url, r)
		}
	}
}

// With every comment taken away the file loads, and offers all that any check asks for.
func TestInitNamesEveryCapability(t *testing.T) {
	for _, name := range contracts.Names() {
		c, err := loadContract(name)
		if err != nil {
			t.Fatal(err)
		}
		text, _, err := firstProfile(c, name, "")
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for l := range strings.Lines(text) {
			if indent, rest, ok := strings.Cut(l, "# "); ok && strings.TrimSpace(indent) == "" {
				l = indent + rest
			}
			lines = append(lines, l)
		}
		p, err := target.Parse("p.yaml", []byte(strings.Join(lines, "")), func(string) (string, bool) { return "http://h.example", true })
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, strings.Join(lines, ""))
		}
		for _, ck := range conformance.Checks(c) {
			if len(ck.Select(c)) == 0 {
				continue
			}
			for _, n := range ck.Needs {
				if !p.Has(n) {
					t.Errorf("%s: %s needs %s, which the file does not name", name, ck.ID, n)
				}
			}
		}
	}
}
