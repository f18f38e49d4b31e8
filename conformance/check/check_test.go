package check

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"pgregory.net/rapid"

	"assay.kit/conformance/report"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// answers is a Caller that gives these statuses in turn, the last for ever.
type answers struct {
	statuses []int
	calls    atomic.Int64
}

func (a *answers) Do(_ context.Context, role string, rq wire.Request, _ target.Call) wire.Exchange {
	n := int(a.calls.Add(1)) - 1
	st := a.statuses[min(n, len(a.statuses)-1)]
	ex := wire.Exchange{Role: role, Req: rq, Head: wire.Head{Status: st}, End: wire.EndComplete}
	if st == 429 {
		ex.Head.Fields = []wire.Field{{Name: "Retry-After", Value: "0"}}
	}
	return ex
}

func testEnv(c Caller) Env {
	return Env{Contract: testContract(), Profile: &target.Profile{}, Caller: c, Seed: 7, Epoch: time.Now(),
		Redact: func(ex wire.Exchange) wire.Exchange { return ex },
		Curl:   func(wire.Exchange) string { return "curl" }}
}

func testContract() *spec.Contract {
	return &spec.Contract{Name: "test",
		Doc:  spec.DocTraits{Backpressure: &spec.Backpressure{Statuses: []int{429}, Delay: spec.Expr{Side: "response", Part: "header", Name: "Retry-After"}}},
		Ops:  []*spec.Operation{{ID: "readThing", Method: "GET", Path: "/things", Origin: spec.Stated}, {ID: "payOut", Method: "POST", Path: "/out", Origin: spec.Inferred, Traits: spec.Traits{Effect: spec.EffectFinancial}}},
		Reqs: []*spec.Requirement{{ID: "T-1", Claims: []spec.ClaimRef{{ID: "things.good"}}}, {ID: "T-2"}}}
}

// oneCheck is a check with claims a and b on one subject.
func oneCheck(run func(*T)) Check {
	return Check{ID: "things.flow", Does: "Tries things.",
		Claims: []Claim{{ID: "things.a", Says: "A holds."}, {ID: "things.b", Says: "B holds."}},
		Select: func(c *spec.Contract) []Subject { return []Subject{{Name: "readThing", Op: c.Op("readThing")}} },
		Run:    func(_ context.Context, t *T, _ Subject) { run(t) }}
}

func runOne(t *testing.T, env Env, run func(*T)) Outcome {
	t.Helper()
	ck := oneCheck(run)
	cases, _, err := Plan(env.Contract, env.Profile, []Check{ck}, Options{})
	if err != nil || len(cases) != 1 {
		t.Fatalf("plan: %v, %v", cases, err)
	}
	return Run(context.Background(), cases, env, nil)[0]
}

func get() wire.Request {
	return wire.Request{Operation: "readThing", Method: "GET", Target: "/things"}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name   string
		run    func(*T)
		a, b   report.Verdict
		noteB  string
		whole  report.Verdict
		status []int
	}{
		{name: "both judged", run: func(t *T) { t.Judge("things.a", true, "", ""); t.Judge("things.b", true, "", "") }, a: report.Pass, b: report.Pass, whole: report.Pass},
		{name: "one broken, flow goes on", run: func(t *T) { t.Judge("things.a", false, "x", "y"); t.Judge("things.b", true, "", "") }, a: report.Fail, b: report.Pass, whole: report.Fail},
		{name: "one broken, flow ends", run: func(t *T) { t.Must("things.a", false, "x", "y"); t.Judge("things.b", true, "", "") }, a: report.Fail, b: report.Inconclusive, noteB: "not reached", whole: report.Fail},
		{name: "never judged", run: func(t *T) { t.Judge("things.a", true, "", "") }, a: report.Pass, b: report.Inconclusive, noteB: "met nothing", whole: report.Inconclusive},
		{name: "inconclusive", run: func(t *T) { t.Judge("things.a", true, "", ""); t.Inconclusive("no %s", "luck") }, a: report.Pass, b: report.Inconclusive, noteB: "no luck", whole: report.Inconclusive},
		{name: "not applicable", run: func(t *T) { t.Judge("things.a", true, "", ""); t.NotApplicable("things.b", "none here") }, a: report.Pass, b: report.NotApplicable, noteB: "none here", whole: report.Pass},
		{name: "matcher", run: func(t *T) { t.That("things.a", 1, gomega.Equal(1)); t.That("things.b", 1, gomega.Equal(2)) }, a: report.Pass, b: report.Fail, whole: report.Fail},
		{name: "the kit's own fault", run: func(t *T) { var m map[string]int; m["x"] = 1 }, a: report.Error, b: report.Error, noteB: "check_test.go", whole: report.Error},
		{name: "a claim that the check does not list", run: func(t *T) { t.Judge("things.c", true, "", "") }, a: report.Error, b: report.Error, noteB: "things.c", whole: report.Error},
		{name: "a financial effect by the way", run: func(t *T) {
			t.Judge("things.a", true, "", "")
			t.Call("", wire.Request{Operation: "payOut", Method: "POST", Target: "/out"})
		}, a: report.Pass, b: report.NotExercised, noteB: "payOut has a financial effect", whole: report.Pass},
		{name: "no answer", run: func(t *T) { t.Call("", get()) }, status: []int{0}, a: report.Inconclusive, b: report.Inconclusive, noteB: "no whole answer", whole: report.Inconclusive},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.status == nil {
				c.status = []int{200}
			}
			o := runOne(t, testEnv(&answers{statuses: c.status}), c.run)
			if got := o.Case.Claims[0].Verdict; got != c.a {
				t.Errorf("a is %s, want %s", got, c.a)
			}
			if got := o.Case.Claims[1]; got.Verdict != c.b || !strings.Contains(got.Note, c.noteB) {
				t.Errorf("b is %s (%s), want %s (%s)", got.Verdict, got.Note, c.b, c.noteB)
			}
			if o.Case.Verdict != c.whole {
				t.Errorf("case is %s, want %s", o.Case.Verdict, c.whole)
			}
		})
	}
}

// TestPropertyShrinks: the smallest failing draw is kept, with its own exchanges, and counts as reproduced.
func TestPropertyShrinks(t *testing.T) {
	env := testEnv(&answers{statuses: []int{200}})
	env.Effort, env.Shrink = Deep, 300
	o := runOne(t, env, func(t *T) {
		t.Property(func(t *T) {
			n := Draw(t, rapid.IntRange(0, 1000), "n")
			t.Call("", get())
			t.Must("things.a", n < 17, "less than 17", fmt.Sprint(n))
		})
	})
	if len(o.Findings) != 1 {
		t.Fatalf("%d findings, want 1", len(o.Findings))
	}
	f := o.Findings[0]
	if f.Actual != "17" || len(f.Draws) != 1 || f.Draws[0].Value != 17 || !f.Reproduced || len(f.Exchanges) != 1 {
		t.Errorf("finding is not the minimal one: actual %s, draws %v, reproduced %v, %d exchanges", f.Actual, f.Draws, f.Reproduced, len(f.Exchanges))
	}
}

// TestShrinkBudget: shrinking stops at its budget of requests, and off means off.
func TestShrinkBudget(t *testing.T) {
	for _, c := range []struct{ budget, most int }{{0, 60}, {20, 60 + 20 + 60 + 20}} {
		caller := &answers{statuses: []int{200}}
		env := testEnv(caller)
		env.Effort, env.Shrink = Deep, c.budget
		o := runOne(t, env, func(t *T) {
			t.Property(func(t *T) {
				n := Draw(t, rapid.IntRange(0, 1_000_000), "n")
				t.Call("", get())
				t.Must("things.a", n < 5, "less than 5", fmt.Sprint(n))
			})
		})
		if len(o.Findings) != 1 {
			t.Errorf("budget %d: %d findings, want 1", c.budget, len(o.Findings))
		}
		if n := int(caller.calls.Load()); n > c.most {
			t.Errorf("budget %d: %d requests, want at most %d", c.budget, n, c.most)
		}
	}
}

func TestSameSeedSameDraws(t *testing.T) {
	draws := func(seed uint64) string {
		env := testEnv(&answers{statuses: []int{200}})
		env.Seed = seed
		var got []string
		runOne(t, env, func(t *T) {
			got = append(got, fmt.Sprint(Draw(t, rapid.IntRange(0, 1<<30), "outside")))
			t.Property(func(t *T) { got = append(got, fmt.Sprint(Draw(t, rapid.IntRange(0, 1<<30), "n"))) })
		})
		return strings.Join(got, " ")
	}
	if a, b := draws(3), draws(3); a != b {
		t.Errorf("seed 3 drew %s and then %s", a, b)
	}
	if a, b := draws(3), draws(4); a == b {
		t.Errorf("seeds 3 and 4 both drew %s", a)
	}
}

func TestLaterIsHonoured(t *testing.T) {
	caller := &answers{statuses: []int{429, 429, 200}}
	o := runOne(t, testEnv(caller), func(t *T) { t.Judge("things.a", t.Call("", get()).Status() == 200, "200", "") })
	if o.Case.Claims[0].Verdict != report.Pass || caller.calls.Load() != 3 {
		t.Errorf("%s after %d calls, want pass after 3", o.Case.Claims[0].Verdict, caller.calls.Load())
	}
	o = runOne(t, testEnv(&answers{statuses: []int{429}}), func(t *T) { t.Judge("things.a", t.Call("", get()).Status() == 200, "200", "") })
	if v := o.Case.Claims[0]; v.Verdict != report.Inconclusive {
		t.Errorf("a target that never lets us in is %s, want inconclusive", v.Verdict)
	}
}

func TestBudgetOfRequests(t *testing.T) {
	caller := &answers{statuses: []int{200}}
	env := testEnv(caller)
	env.Budget = 5
	o := runOne(t, env, func(t *T) {
		for {
			t.Call("", get())
		}
	})
	if o.Case.Verdict != report.Inconclusive || caller.calls.Load() != 5 {
		t.Errorf("%s after %d requests, want inconclusive after 5", o.Case.Verdict, caller.calls.Load())
	}
}

func TestOnceIsSharedAndSurvivesAHalt(t *testing.T) {
	env := testEnv(&answers{statuses: []int{200}})
	o := runOne(t, env, func(t *T) {
		for range 2 {
			_, err := t.Once("x", func() (any, error) { t.Inconclusive("nobody home"); return nil, nil })
			if err == nil || !strings.Contains(err.Error(), "nobody home") {
				panic(fmt.Sprint("Once gave ", err))
			}
		}
		t.Judge("things.a", true, "", "")
	})
	if o.Case.Claims[0].Verdict != report.Pass {
		t.Errorf("a is %s (%s), want pass", o.Case.Claims[0].Verdict, o.Case.Claims[0].Note)
	}
}

// TestLanes: lanes run at once, are numbered, share the evidence, and one that ends the flow ends all.
func TestLanes(t *testing.T) {
	env := testEnv(&answers{statuses: []int{200}})
	o := runOne(t, env, func(t *T) {
		t.Lanes(8, func(lane *T, i int) {
			ex := lane.Call("", get())
			lane.Judge("things.a", ex.Lane == i+1, fmt.Sprint(i+1), fmt.Sprint(ex.Lane))
		})
		if n := len(t.Exchanges()); n != 8 {
			panic(fmt.Sprint(n, " exchanges"))
		}
		t.Lanes(4, func(lane *T, i int) {
			if i == 2 {
				lane.Inconclusive("lane 3 fell over")
			}
		})
		t.Judge("things.b", true, "", "")
	})
	if o.Case.Claims[0].Verdict != report.Pass || o.Case.Claims[1].Verdict != report.Inconclusive {
		t.Errorf("claims are %v, want pass and inconclusive", o.Case.Claims)
	}
}

func TestInterrupted(t *testing.T) {
	env := testEnv(&answers{statuses: []int{200}})
	cases, _, err := Plan(env.Contract, env.Profile, []Check{oneCheck(func(t *T) { t.Judge("things.a", true, "", "") })}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if o := Run(ctx, cases, env, nil)[0]; o.Case.Verdict != report.Inconclusive {
		t.Errorf("a case that never ran is %s, want inconclusive", o.Case.Verdict)
	}
}

// TestPassiveClaims: they are judged on every exchange, reported once a place, and fail no active check.
func TestPassiveClaims(t *testing.T) {
	env := testEnv(&answers{statuses: []int{500}})
	env.Passive = []wire.Rule{{Claim: "wire.sound", Says: "No 500.", Look: func(v *wire.View) ([]wire.Finding, bool) {
		return []wire.Finding{{Expected: "none", Actual: fmt.Sprint(v.Status())}}, true
	}}}
	cases, _, err := Plan(env.Contract, env.Profile, []Check{oneCheck(func(t *T) {
		for range 3 {
			t.Call("", get())
		}
		t.Judge("things.a", true, "", "")
		t.Judge("things.b", true, "", "")
	})}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	out := Run(context.Background(), cases, env, nil)
	if len(out) != 2 || out[0].Case.Verdict != report.Pass {
		t.Fatalf("%d outcomes, first %v; want the active case to pass and one passive case", len(out), out[0].Case.Verdict)
	}
	p := out[1]
	if p.Case.Verdict != report.Fail || len(p.Findings) != 1 || !p.Findings[0].Reproduced {
		t.Errorf("passive case is %s with %d findings, want fail with 1, reproduced", p.Case.Verdict, len(p.Findings))
	}
}

func TestPlanFilters(t *testing.T) {
	pay := oneCheck(func(*T) {})
	pay.ID, pay.Claims = "money.flow", []Claim{{ID: "things.good", Says: "Good."}}
	pay.Select = func(c *spec.Contract) []Subject { return []Subject{{Name: "payOut", Op: c.Op("payOut")}} }
	checks := []Check{oneCheck(func(*T) {}), pay}
	profile := &target.Profile{Sandbox: true}
	for _, c := range []struct {
		name       string
		profile    *target.Profile
		o          Options
		run, other int
		err        string
	}{
		{name: "financial needs to be allowed", profile: profile, run: 1, other: 1},
		{name: "allowed", profile: profile, o: Options{Financial: true}, run: 2},
		{name: "allowed, but no sandbox", profile: &target.Profile{}, o: Options{Financial: true}, run: 1, other: 1},
		{name: "absent", profile: &target.Profile{Absent: []string{"readThing"}}, run: 0, other: 2},
		{name: "by family", profile: profile, o: Options{Only: []string{"things"}}, run: 1},
		{name: "by requirement", profile: profile, o: Options{Only: []string{"T-1"}, Financial: true}, run: 1},
		{name: "by prefix", profile: profile, o: Options{Only: []string{"readThing*"}}, run: 1},
		{name: "skip", profile: profile, o: Options{Skip: []string{"readThing"}, Financial: true}, run: 1},
		{name: "typo", profile: profile, o: Options{Only: []string{"thing"}}, err: `did you mean "things"?`},
		{name: "no check yet", profile: profile, o: Options{Only: []string{"T-2"}}, err: "has no check yet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cases, other, err := Plan(testContract(), c.profile, checks, c.o)
			switch {
			case c.err != "":
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error is %v, want %q", err, c.err)
				}
			case err != nil:
				t.Error(err)
			case len(cases) != c.run || len(other) != c.other:
				t.Errorf("%d run and %d do not, want %d and %d", len(cases), len(other), c.run, c.other)
			}
		})
	}
}
