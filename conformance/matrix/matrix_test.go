package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"assay.kit/conformance/check"
	"assay.kit/conformance/report"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// checks asks /a and /b, each a family of its own; a server is correct if both answer 200.
func checks(ran *atomic.Int64) []check.Check {
	row := func(family, path string) check.Check {
		claim := family + ".answers"
		return check.Check{ID: family + ".get", Does: "Asks.", Claims: []check.Claim{{ID: claim, Says: "It answers 200."}},
			Select: func(*spec.Contract) []check.Subject { return []check.Subject{{Name: family}} },
			Run: func(_ context.Context, t *check.T, _ check.Subject) {
				ran.Add(1)
				ex := t.Call("primary", wire.Request{Method: "GET", Target: path})
				if ex.Status() == http.StatusTeapot {
					panic("the kit does not know tea")
				}
				if ex.Status() == http.StatusNoContent {
					t.Inconclusive("nothing to look at")
				}
				t.Judge(claim, ex.Status() == http.StatusOK, "200", fmt.Sprint(ex.Status()))
			}}
	}
	return []check.Check{row("alpha", "/a"), row("beta", "/b")}
}

// server answers each path with a status.
func server(id string, a, b int, breaks, may []string, stopped *atomic.Int64) Target {
	return Target{ID: id, Breaks: breaks, May: may, Start: func(context.Context) (string, *target.Profile, func(), error) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(map[string]int{"/a": a, "/b": b}[r.URL.Path])
		}))
		p := &target.Profile{Credentials: map[string]target.Credential{"primary": {Bearer: target.NewSecret("secret-token")}}}
		return s.URL, p, func() { stopped.Add(1); s.Close() }, nil
	}}
}

func options(ran *atomic.Int64) Options {
	return Options{Contract: &spec.Contract{Name: "tiny"}, Checks: checks(ran), Seed: 1}
}

func TestVerdicts(t *testing.T) {
	alpha, beta := []string{"alpha.answers"}, []string{"beta.answers"}
	for _, tc := range []struct {
		name        string
		a, b        int
		breaks, may []string
		want        Verdict
		killedBy    []string
		unexpected  []string
		note        string
		ran         int64 // cases: only the affected families run
	}{
		{"killed", 404, 200, alpha, nil, Killed, alpha, nil, "", 1},
		{"survived", 200, 404, alpha, nil, Survived, nil, nil, "", 1},
		{"collateral", 404, 404, alpha, beta, Killed, alpha, nil, "", 2},
		{"only collateral", 200, 404, alpha, beta, Survived, nil, nil, "", 2},
		{"two", 404, 404, slices.Concat(beta, alpha), nil, Killed, slices.Concat(alpha, beta), nil, "", 2},
		{"the kit fails", 418, 200, alpha, nil, Misattributed, nil, nil, "the kit failed", 1},
		{"nothing could be judged", 204, 200, alpha, nil, Survived, nil, nil, "nothing to look at", 1},
		{"a passive claim runs all", 500, 200, []string{"wire.server-error"}, alpha, Killed, []string{"wire.server-error"}, nil, "", 1},
		{"outside", 404, 200, []string{"wire.server-error"}, nil, Misattributed, nil, alpha, "alpha.get@alpha: expected 200, got 404", 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var ran, stopped atomic.Int64
			r, err := Run(t.Context(), options(&ran), []Target{server("m", tc.a, tc.b, tc.breaks, tc.may, &stopped)})
			if err != nil {
				t.Fatal(err)
			}
			m := r.Mutants[0]
			if m.Verdict != tc.want || !slices.Equal(m.KilledBy, tc.killedBy) || !slices.Equal(m.Unexpected, tc.unexpected) {
				t.Errorf("got %+v", m)
			}
			if !strings.Contains(m.Note, tc.note) || tc.note == "" && m.Note != "" {
				t.Errorf("note %q, want %q", m.Note, tc.note)
			}
			if ran.Load() != tc.ran || stopped.Load() != 1 || m.Requests == 0 {
				t.Errorf("ran %d cases, stopped %d servers, sent %d", ran.Load(), stopped.Load(), m.Requests)
			}
			if r.Clean() != (tc.want == Killed) {
				t.Errorf("Clean() = %v", r.Clean())
			}
		})
	}
}

func TestReference(t *testing.T) {
	for _, tc := range []struct {
		name   string
		a, b   int
		alarms []string
	}{
		{"correct", 200, 200, nil},
		{"blamed", 200, 404, []string{"beta.answers fail"}},
		{"unjudged", 204, 200, []string{"alpha.answers inconclusive"}},
		{"kit failed", 418, 200, []string{"alpha.answers error"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var ran, stopped atomic.Int64
			r, err := Run(t.Context(), options(&ran), []Target{server("reference", tc.a, tc.b, nil, nil, &stopped)})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, al := range r.Reference.FalseAlarms {
				got = append(got, al.Claim+" "+string(al.Verdict))
				if al.Contract != "tiny" {
					t.Errorf("contract %q", al.Contract)
				}
			}
			if !slices.Equal(got, tc.alarms) || r.Clean() != (tc.alarms == nil) || ran.Load() != 2 {
				t.Errorf("got %q in %d cases", got, ran.Load())
			}
		})
	}
}

func TestOrderAndJSON(t *testing.T) {
	var ran, stopped atomic.Int64
	var targets []Target
	targets = append(targets, server("reference", 200, 200, nil, nil, &stopped))
	for i := range 12 {
		targets = append(targets, server(fmt.Sprintf("m%02d", i), 404, 200, []string{"alpha.answers"}, nil, &stopped))
	}
	o := options(&ran)
	var told []int
	o.Progress = func(done, total int, _ string) { told = append(told, done*100+total) }
	r, err := Run(t.Context(), o, targets)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range r.Mutants {
		if m.ID != fmt.Sprintf("m%02d", i) {
			t.Fatalf("row %d is %s", i, m.ID)
		}
	}
	if stopped.Load() != 13 || len(told) != 13 || told[12] != 1313 {
		t.Errorf("stopped %d, told %v", stopped.Load(), told)
	}
	r.Mutants = r.Mutants[:1]
	r.Mutants[0].Requests = 1
	b, err := json.Marshal(r)
	want := `{"reference":{"false_alarms":[]},"mutants":[{"id":"m00","breaks":["alpha.answers"],"verdict":"killed","killed_by":["alpha.answers"],"requests":1,"first_kill":1}]}`
	if err != nil || string(b) != want {
		t.Errorf("got %s, %v", b, err)
	}
}

func TestErrors(t *testing.T) {
	var ran, stopped atomic.Int64
	boom := errors.New("no port is free")
	dead := Target{ID: "dead", Breaks: []string{"alpha.answers"},
		Start: func(context.Context) (string, *target.Profile, func(), error) { return "", nil, nil, boom }}
	if _, err := Run(t.Context(), options(&ran), []Target{dead, server("m", 404, 200, dead.Breaks, nil, &stopped)}); !errors.Is(err, boom) {
		t.Errorf("a target that does not start: %v", err)
	}
	slip := server("slip", 404, 200, []string{"alpha.answer"}, nil, &stopped)
	before := ran.Load()
	_, err := Run(t.Context(), options(&ran), []Target{slip})
	if err == nil || !strings.Contains(err.Error(), `did you mean "alpha.answers"?`) || ran.Load() != before {
		t.Errorf("an unknown claim: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, options(&ran), []Target{server("m", 200, 200, dead.Breaks, nil, &stopped)}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// What the suite finds must not depend on the grade that a catalog would give it.
func TestFindingsAreNotGraded(t *testing.T) {
	o := check.Outcome{Case: report.Case{ID: "c", Origin: spec.Inferred, Verdict: report.Fail}, Findings: []report.Finding{{Claim: "x"}}}
	if m := verdict(Target{Breaks: []string{"x"}}, []check.Outcome{o}); m.Verdict != Killed {
		t.Errorf("%+v", m)
	}
}
