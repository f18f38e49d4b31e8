package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"assay.kit/spec/diff"
)

// tool builds a manifest: its revisions, an argument's longest length, the unit of what it tells.
func tool(t *testing.T, schema, method, length, unit string) *diff.Version {
	t.Helper()
	v := versionOf(t, fmt.Sprintf(`{"tools": [{"name": "t", "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "maxLength": %s}}},
 "outputSchema": {"type": "object", "properties": {"n": {"type": "number", "x-assay": {"unit": %q}}}},
 "_meta": {"assay": {"domain": "t", "operation": "o", "effect": "compute", "revision": {"schema": %q, "method": %q}}}}]}`, length, unit, schema, method))
	v.Tools, v.Doc = v.Doc, nil
	return v
}

// TestBoundaries: each breaking change asks for a bump of its own version, and another one is no excuse.
func TestBoundaries(t *testing.T) {
	old := tool(t, "1.0", "m1", "10", "percent")
	for _, c := range []struct {
		name    string
		new     *diff.Version
		missing []string
	}{
		{"shape, no bump", tool(t, "1.0", "m1", "5", "percent"), []string{"schema revision"}},
		{"shape, schema bump", tool(t, "1.1", "m1", "5", "percent"), nil},
		{"shape, method bump", tool(t, "1.0", "m2", "5", "percent"), []string{"its method revision was raised, which is another boundary"}},
		{"unit, no bump", tool(t, "1.0", "m1", "10", "fraction"), []string{"numerical-method revision"}},
		{"unit, schema bump", tool(t, "1.1", "m1", "10", "fraction"), []string{"its schema revision was raised, which is another boundary"}},
		{"unit, method bump", tool(t, "1.0", "m2", "10", "fraction"), nil},
		{"both, one bump", tool(t, "1.1", "m1", "5", "fraction"), []string{"numerical-method revision"}},
		{"only bumps", tool(t, "1.1", "m2", "10", "percent"), nil},
	} {
		r := compare(t, old, c.new)
		if len(r.Missing) != len(c.missing) || len(c.missing) > 0 && !strings.Contains(r.Missing[0], c.missing[0]) || (r.Count(diff.Breaking) > 0) != (len(c.missing) > 0) {
			t.Errorf("%s: missing %q, %d breaking\n%s", c.name, r.Missing, r.Count(diff.Breaking), told(r))
		}
	}
}

func TestMajorVersions(t *testing.T) {
	for _, c := range []struct {
		from, to string
		excused  bool
	}{
		{"1.0.0", "2.0.0", true}, {"1.0.0", "1.1.0", false}, {"1.9", "2", true}, {"v1", "v2", true}, {"0.3.0", "0.4.0", true},
		{"0.3.0", "0.3.1", false}, {"2.0.0", "1.0.0", false}, {"1.0.0", "1.0.0", false}, {"", "", false}, {"0.9.0", "1.0.0", true},
		{"2026-01-01", "2026-06-01", false},
	} {
		r := run(t, gate(`"`+c.from+`"`, "10", "cents"), gate(`"`+c.to+`"`, "5", "cents"), "")
		if (r.Count(diff.Breaking) == 0) != c.excused || c.excused == (len(r.Missing) > 0) {
			t.Errorf("%q to %q: %d breaking, missing %q", c.from, c.to, r.Count(diff.Breaking), r.Missing)
		}
	}
}

func TestChangelog(t *testing.T) {
	r := run(t, gate("1.0.0", "10", "cents"), gate("1.0.0", "5", "dollars"), "")
	if len(r.Changelog) != 2 || !strings.HasPrefix(r.Changelog[0], "Breaking: a ") || !strings.Contains(strings.Join(r.Changelog, "\n"), `"cents" → "dollars"`) {
		t.Errorf("%q", r.Changelog)
	}
}
