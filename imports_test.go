package assay_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
)

const module = "assay.kit/"

// arrows says which of our packages a package may import, by path prefix; the longest prefix that
// fits a package is its row. A row without targets imports nothing of ours. What is not listed is
// forbidden: the test fails and names the file, so that an arrow is drawn here on purpose or not at all.
var arrows = map[string][]string{
	"cmd": {""},

	"spec":           {"spec/"},
	"spec/tree":      {},
	"spec/schema":    {"spec/tree"},
	"spec/route":     {},
	"spec/typo":      {},
	"spec/lint":      {"spec"},
	"spec/diff":      {"spec"},
	"spec/contracts": {"spec/typo"},
	"fixtures":       {},

	"conformance":           {"conformance/check", "conformance/matrix", "conformance/report", "conformance/suite", "conformance/target", "conformance/wire", "spec"},
	"conformance/wire":      {"spec"},
	"conformance/report":    {"conformance/wire", "spec"},
	"conformance/target":    {"conformance/wire", "spec"},
	"conformance/check":     {"conformance/target", "conformance/report", "conformance/wire", "spec"},
	"conformance/gen":       {"spec"},
	"conformance/oracle":    {},
	"conformance/suite":     {"conformance/check", "conformance/gen", "conformance/oracle", "conformance/suite/", "conformance/target", "conformance/wire", "fixtures", "spec"},
	"conformance/matrix":    {"conformance", "conformance/check", "conformance/report", "conformance/target", "spec"},
	"conformance/ginkgorun": {"conformance"},
	"conformance/hostile":   {"conformance", "spec"},

	"conformance/report/html": {"conformance/report", "conformance/wire", "spec"},

	"reference":              {"reference/rest", "reference/mcp", "reference/core", "spec"},
	"reference/core":         {"reference/core/", "spec"},
	"reference/core/idem":    {},
	"reference/core/cursor":  {},
	"reference/core/job":     {"spec"},
	"reference/core/access":  {"spec"},
	"reference/core/limit":   {"spec"},
	"reference/rest":         {"reference/core", "spec"},
	"reference/mcp":          {"reference/core", "spec"},
	"reference/seer":         {"reference/seer/", "reference/core", "spec"},
	"reference/builtin":      {"reference/seer", "reference/core", "spec"},
	"reference/store":        {"reference/core"},
	"reference/store/memory": {"reference/core"},
	"reference/store/sqlite": {"reference/core"},
	"reference/mutant":       {"reference", "reference/core", "reference/rest", "reference/mcp", "spec"},

	"mockserver/control": {"reference/core"},
}

// TestArrows holds the picture of the architecture: who may import whom. Test files may import one
// level more (testOnly), since a store's test needs the suite of stores and a fixture's test the loader.
func TestArrows(t *testing.T) {
	for file, imports := range ourImports(t) {
		pkg := filepath.ToSlash(filepath.Dir(file))
		row, ok := rowOf(pkg)
		if !ok {
			t.Errorf("%s: package %s has no row in arrows; say what it may import", file, pkg)
			continue
		}
		for _, imp := range imports {
			if imp == pkg || allowed(arrows[row], imp) || strings.HasSuffix(file, "_test.go") && testOnly(pkg, imp) {
				continue
			}
			t.Errorf("%s imports %s; %s may import only %v", file, imp, row, arrows[row])
		}
	}
}

// TestNeverAcross names the one rule that keeps the judge honest in plain words: what judges a
// server shares no code with the server, tests included.
func TestNeverAcross(t *testing.T) {
	for file, imports := range ourImports(t) {
		for _, imp := range imports {
			judge, judged := "conformance/", []string{"reference", "mockserver"}
			if strings.HasPrefix(file, judge) && (strings.HasPrefix(imp, judged[0]) || strings.HasPrefix(imp, judged[1])) {
				t.Errorf("%s imports %s: the suite and what it judges would agree on one mistake", file, imp)
			}
			if strings.HasPrefix(file, "reference/") && strings.HasPrefix(imp, judge) {
				t.Errorf("%s imports %s: the reference would know its judge", file, imp)
			}
		}
	}
}

func testOnly(pkg, imp string) bool {
	return strings.HasPrefix(imp, "spec") || imp == "reference/store/storetest" ||
		strings.HasPrefix(pkg, "reference") && strings.HasPrefix(imp, "reference") ||
		strings.HasPrefix(pkg, "mockserver") && (strings.HasPrefix(imp, "mockserver") || strings.HasPrefix(imp, "reference")) ||
		imp == "fixtures"
}

// allowed matches an import with a row's targets: a target names a package and all below it.
func allowed(targets []string, imp string) bool {
	for _, to := range targets {
		if to == "" || imp == to || strings.HasPrefix(imp, strings.TrimSuffix(to, "/")+"/") {
			return true
		}
	}
	return false
}

func rowOf(pkg string) (string, bool) {
	best, found := "", false
	for row := range arrows {
		if (pkg == row || strings.HasPrefix(pkg, row+"/")) && len(row) >= len(best) {
			best, found = row, true
		}
	}
	return best, found
}

// ourImports lists the imports of our own packages by file, relative to the module.
func ourImports(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || filepath.Dir(path) == "." {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		var own []string
		for _, spec := range f.Imports {
			p, _ := strconv.Unquote(spec.Path.Value)
			if rel, ok := strings.CutPrefix(p, module); ok {
				own = append(own, rel)
			}
		}
		sort.Strings(own)
		out[filepath.ToSlash(path)] = own
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
