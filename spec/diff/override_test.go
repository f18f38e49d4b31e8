package diff_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"assay.kit/spec/diff"
	"assay.kit/spec/tree"
)

func versionOf(t *testing.T, doc string) *diff.Version {
	t.Helper()
	root, err := tree.ParseYAML("api.yaml", []byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return &diff.Version{Name: "api.yaml", Doc: root}
}

const gateDoc = `openapi: 3.1.0
info: {title: T, version: VERSION}
paths:
  /a:
    post:
      operationId: a
      requestBody: {content: {application/json: {schema: {type: string, maxLength: LENGTH}}}}
      responses: {"200": {description: d, content: {application/json: {schema: {type: integer, x-assay: {unit: UNIT}}}}}}
`

func gate(version, length, unit string) string {
	return strings.NewReplacer("VERSION", version, "LENGTH", length, "UNIT", unit).Replace(gateDoc)
}

func day(t *testing.T, s string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func run(t *testing.T, old, new, overrides string) *diff.Result {
	t.Helper()
	o := diff.Options{Today: day(t, "2026-11-30")}
	if overrides != "" {
		var err error
		if o.Overrides, err = diff.ParseOverrides("gate.yaml", []byte(overrides)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := diff.Compare(t.Context(), versionOf(t, old), versionOf(t, new), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// entry writes the override of a finding.
func entry(f diff.Finding, expires string) string {
	return fmt.Sprintf("overrides:\n- {rule: %s, pointer: %q, fingerprint: %q, reason: nobody sends more, by: Ann, expires: %s}\n", f.Rule, f.Pointer(), f.Fingerprint, expires)
}

func TestOverrides(t *testing.T) {
	old, shorter := gate("1.0.0", "10", "cents"), gate("1.0.0", "5", "cents")
	plain := run(t, old, shorter, "")
	if plain.Count(diff.Breaking) != 1 || len(plain.Missing) != 1 {
		t.Fatalf("%s %v", told(plain), plain.Missing)
	}
	f := plain.Findings[0]
	for _, c := range []struct {
		name, new, overrides, problem string
		breaking                      int
	}{
		{"it counts", shorter, entry(f, "2026-12-31"), "", 0},
		{"on its last day", shorter, entry(f, "2026-11-30"), "", 0},
		{"it has expired", shorter, entry(f, "2026-11-29"), "expired on 2026-11-29", 1},
		{"it is no longer needed", old, entry(f, "2026-12-31"), "fits no finding", 0},
		{"another edit is another finding", gate("1.0.0", "4", "cents"), entry(f, "2026-12-31"), "fits no finding", 1},
		{"the version was raised", gate("2.0.0", "5", "cents"), entry(f, "2026-12-31"), "fits no finding", 0},
	} {
		r := run(t, old, c.new, c.overrides)
		if r.Count(diff.Breaking) != c.breaking || len(r.Problems) > 0 != (c.problem != "") || !strings.Contains(strings.Join(r.Problems, "\n"), c.problem) {
			t.Errorf("%s: %d breaking, problems %q", c.name, r.Count(diff.Breaking), r.Problems)
		}
	}
	reformatted := strings.ReplaceAll(shorter, "{type: string, maxLength: 5}", "{maxLength: 5.0, description: moved, type: string}")
	if r := run(t, old, reformatted, entry(f, "2026-12-31")); r.Count(diff.Breaking) != 0 || len(r.Problems) > 0 {
		t.Errorf("a new layout made another finding of it: %v", r.Problems)
	}
}

// TestMoneyTakesNoOverride: a unit needs a version, whoever signs for it.
func TestMoneyTakesNoOverride(t *testing.T) {
	old, dollars := gate("1.0.0", "10", "cents"), gate("1.0.0", "10", "dollars")
	f := run(t, old, dollars, "").Findings[0]
	r := run(t, old, dollars, entry(f, "2026-12-31"))
	if r.Count(diff.Breaking) != 1 || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "not allowed") {
		t.Errorf("%s %q", told(r), r.Problems)
	}
	if r := run(t, old, gate("2.0.0", "10", "dollars"), ""); r.Count(diff.Breaking) != 0 || r.Findings[0].Grade != diff.Breaking {
		t.Errorf("a new major version does not excuse it: %s", told(r))
	}
}

func TestParseOverridesRefuses(t *testing.T) {
	whole := "overrides: [{rule: a, pointer: /a, fingerprint: f, reason: r, by: b, expires: 2026-01-01}]"
	if _, err := diff.ParseOverrides("g.yaml", []byte(whole)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{"overrides", "override", "a file of overrides is"},
		{"rule: a, ", "", "needs a rule"},
		{"pointer: /a, ", "", "needs a pointer"},
		{"fingerprint: f, ", "", "needs a fingerprint"},
		{"reason: r", "reason: ' '", "needs a reason"},
		{"by: b, ", "", "needs a by"},
		{"expires: 2026-01-01", "expires: soon", "needs expires"},
		{"by: b", "by: b, kind: whim", "kind is break"},
		{"reason", "reasn", `did you mean "reason"`},
		{"[{rule: a, pointer: /a, fingerprint: f, reason: r, by: b, expires: 2026-01-01}]", "[a]", "an override is {"},
	} {
		_, err := diff.ParseOverrides("g.yaml", []byte(strings.Replace(whole, c.from, c.to, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "g.yaml:1:") {
			t.Errorf("%s: %v, want %q", c.to, err, c.want)
		}
	}
}

func FuzzParseOverrides(f *testing.F) {
	f.Add([]byte("overrides: [{rule: a, pointer: /a, fingerprint: f, reason: r, by: b, expires: 2026-01-01}]"))
	f.Add([]byte("overrides:\n- {kind: correction}\n- null\n"))
	f.Add([]byte(`{"overrides": [{"rule": 1, "kind": {}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		os, err := diff.ParseOverrides("gate.yaml", data)
		for _, o := range os {
			if err != nil || o.Rule == "" || o.Fingerprint == "" || o.By == "" || o.Reason == "" || o.Expires.IsZero() && o.Line == 0 {
				t.Errorf("accepted %+v, %v", o, err)
			}
		}
	})
}
