package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestExamples holds the reports under docs/examples to what the writers make of them today; make
// docs writes them again, from a new run.
func TestExamples(t *testing.T) {
	t.Chdir("../..") // the text names the report as it was given
	const dir = "docs/examples"
	for _, ex := range []struct{ format, file string }{
		{"text", "report.txt"}, {"junit", "junit.xml"}, {"markdown", "summary.md"}, {"html", "report.html"}, {"json", "report.json"},
	} {
		t.Run(ex.format, func(t *testing.T) {
			fresh := filepath.Join(t.TempDir(), ex.file)
			if r := assay(t.Context(), []string{"report", dir + "/report.json", "--format", ex.format, "--out", fresh}); r.code != 0 {
				t.Fatalf("%+v", r)
			}
			want, err := os.ReadFile(fresh)
			if err != nil {
				t.Fatal(err)
			}
			kept, err := os.ReadFile(filepath.Join(dir, ex.file))
			if err != nil {
				t.Fatal(err)
			}
			if string(kept) != string(want) {
				t.Errorf("docs/examples/%s is not what assay report writes today; run make docs", ex.file)
			}
		})
	}
}
