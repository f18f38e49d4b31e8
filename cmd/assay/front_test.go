package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay.kit/conformance"
	"assay.kit/conformance/report"
	"assay.kit/conformance/target"
	"assay.kit/reference/mutant"
)

// verdicts are those of the cases, "case", and of their claims, "case claim".
type verdicts map[string]report.Verdict

func verdictsOf(cases []report.Case) verdicts {
	out := verdicts{}
	for _, cs := range cases {
		if cs.Subject == "" {
			continue // no case: nothing in the contract has the trait
		}
		out[cs.ID] = cs.Verdict
		for _, cl := range cs.Claims {
			out[cs.ID+" "+cl.ID] = cl.Verdict
		}
	}
	return out
}

// The library, the binary, Ginkgo and go test give every case and every claim the same verdict, on the
// correct server and on a broken one. Each judges a server of its own, so that none meets what another
// has left behind.
func TestFrontEndsAgree(t *testing.T) {
	suites := buildSuites(t)
	for _, m := range []mutant.Mutant{{ID: "reference"}, theMutant(t, "idempotency-ignores-body")} {
		t.Run(m.ID, func(t *testing.T) {
			clean := m.ID == "reference"
			want := byLibrary(t, serveFor(t, m))
			if len(want) < 100 || clean == slices.Contains(slices.Collect(maps.Values(want)), report.Fail) {
				t.Errorf("%d verdicts: %v", len(want), want)
			}
			same(t, "the binary", want, byBinary(t, serveFor(t, m), clean))
			same(t, "Ginkgo", want, byGinkgo(t, suites["ginkgorun"], serveFor(t, m), clean))
			sameResults(t, want, byGoTest(t, suites["conformance"], serveFor(t, m), clean))
		})
	}
}

// frontOnly keeps the comparison short, and to what does not hang on how requests happen to meet.
func frontOnly() []string {
	return []string{"idempotency.sequential", "idempotency.change", "idempotency.key", "collections.limits", "collections.walk", "validation.body", "access.token", "transport.routes"}
}

func theMutant(t *testing.T, id string) mutant.Mutant {
	t.Helper()
	all := mutant.All()
	i := slices.IndexFunc(all, func(m mutant.Mutant) bool { return m.ID == id })
	if i < 0 {
		t.Fatalf("no mutant is called %s", id)
	}
	return all[i]
}

func serveFor(t *testing.T, m mutant.Mutant) *target.Profile {
	t.Helper()
	c, err := loadContract("notes")
	if err != nil {
		t.Fatal(err)
	}
	_, profile, stop, err := broken(c, m).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return profile
}

// buildSuites compiles the two go test front ends once.
func buildSuites(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, pkg := range map[string]string{"ginkgorun": "../../conformance/ginkgorun", "conformance": "../../conformance"} {
		out[name] = filepath.Join(t.TempDir(), name+".test")
		c := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", out[name], pkg)
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", pkg, err, text)
		}
	}
	return out
}

func byLibrary(t *testing.T, p *target.Profile) verdicts {
	t.Helper()
	c, err := loadContract("notes")
	if err != nil {
		t.Fatal(err)
	}
	rep, err := conformance.Run(t.Context(), conformance.Options{Contract: c, Profile: p, Seed: 1, Only: frontOnly(), Financial: true})
	if err != nil {
		t.Fatal(err)
	}
	return verdictsOf(rep.Cases)
}

func byBinary(t *testing.T, p *target.Profile, clean bool) verdicts {
	t.Helper()
	r := assay(t.Context(), []string{"check", "--profile", profileFile(t, p), "--seed", "1", "--only", strings.Join(frontOnly(), ","),
		"--allow", "financial", "--format", "json"})
	if clean != (r.code == exitOK) {
		t.Errorf("the binary: exit %d\n%s", r.code, r.err)
	}
	return verdictsOf(readReport(t, []byte(r.out)).Cases)
}

func profileFile(t *testing.T, p *target.Profile) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return write(t, t.TempDir(), "profile.yaml", b.String())
}

// suite runs a compiled go test front end as go test does.
func suite(t *testing.T, binary string, p *target.Profile, clean bool, more ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), binary, append([]string{"-test.run", "^TestTarget$", "-profile", profileFile(t, p),
		"-seed", "1", "-only", strings.Join(frontOnly(), ","), "-allow", "financial"}, more...)...)
	c.Dir = t.TempDir()
	out, err := c.CombinedOutput()
	if clean != (err == nil) {
		t.Errorf("%s: %v\n%.3000s", filepath.Base(binary), err, out)
	}
	return string(out)
}

func byGinkgo(t *testing.T, binary string, p *target.Profile, clean bool) verdicts {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ginkgo.json")
	suite(t, binary, p, clean, "-ginkgo.json-report", file)
	var suites []struct {
		SpecReports []struct {
			State         string
			LeafNodeText  string
			ReportEntries []struct {
				Name  string
				Value struct{ AsJSON string }
			}
		}
	}
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &suites)
	}
	if err != nil || len(suites) != 1 {
		t.Fatalf("Ginkgo's report: %v", err)
	}
	var cases []report.Case
	for _, s := range suites[0].SpecReports {
		for _, e := range s.ReportEntries {
			if e.Name != "case" {
				continue
			}
			var cs report.Case
			if err := json.Unmarshal([]byte(e.Value.AsJSON), &cs); err != nil {
				t.Fatalf("%s: %v", s.LeafNodeText, err)
			}
			cases = append(cases, cs)
			if !strings.Contains(cs.ID, ".") || (cs.Verdict == report.Fail) != (s.State == "failed") && !strings.HasPrefix(cs.ID, "wire.") {
				t.Errorf("%s is %s and its It %s", cs.ID, cs.Verdict, s.State)
			}
		}
	}
	return verdictsOf(cases)
}

// byGoTest gives what go test says of each case: PASS, FAIL or SKIP.
func byGoTest(t *testing.T, binary string, p *target.Profile, clean bool) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^ +--- (\w+): TestTarget/(\S+) `).FindAllStringSubmatch(suite(t, binary, p, clean, "-test.v"), -1) {
		out[m[2]] = m[1]
	}
	return out
}

func same(t *testing.T, who string, want, got verdicts) {
	t.Helper()
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if got[id] != want[id] {
			t.Errorf("%s says %q of %s, the library %q", who, got[id], id, want[id])
		}
	}
	for id := range got {
		if _, ok := want[id]; !ok {
			t.Errorf("%s judges %s, which the library does not", who, id)
		}
	}
}

func sameResults(t *testing.T, want verdicts, got map[string]string) {
	t.Helper()
	words := map[report.Verdict]string{report.Pass: "PASS", report.Fail: "FAIL", report.Inconclusive: "FAIL", report.Error: "FAIL",
		report.NotExercised: "SKIP", report.NotApplicable: "SKIP"}
	cases := 0
	for id, v := range want {
		if strings.Contains(id, " ") {
			continue
		}
		cases++
		if got[id] != words[v] {
			t.Errorf("go test says %q of %s, the library %q", got[id], id, v)
		}
	}
	if len(got) != cases {
		t.Errorf("go test reports %d cases, the library %d: %s", len(got), cases, fmt.Sprint(slices.Sorted(maps.Keys(got))))
	}
}
