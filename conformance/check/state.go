package check

import (
	"fmt"
	"sync"
	"time"

	"assay.kit/conformance/report"
	"assay.kit/conformance/wire"
)

// failure is one broken claim as a check reported it.
type failure struct {
	claim, expected, actual string
	after                   int // exchanges of the attempt when it was judged: what came later is no evidence
	pictures                []report.Picture
}

// attempt is one try of a flow: all of it outside a property, one drawn try inside.
type attempt struct {
	mu        sync.Mutex
	nonce     string
	keys      int
	exchanges []wire.Exchange
	draws     []report.Draw
	failures  []failure
	kept      bool
	held      int // bytes of exchanges
}

// caseState is what one execution of a case gathers. Lanes share it.
type caseState struct {
	run       *runner
	cs        Case
	no        int64
	mu        sync.Mutex
	attempts  int
	requests  int
	seq       int
	held      int64 // job slots
	judged    map[string]int
	excused   map[string]string // claim -> why it does not apply here
	findings  map[string]*report.Finding
	order     []string // of findings
	stop      string   // why the flow ended before its end: inconclusive
	lacks     string   // the capability that it ended for want of
	skip      string   // the last reason why an attempt was given up
	kitFault  string   // panic of the kit itself
	exampleNo int
}

func newCaseState(r *runner, cs Case) *caseState {
	return &caseState{run: r, cs: cs, no: r.caseNo.Add(1), judged: map[string]int{},
		excused: map[string]string{}, findings: map[string]*report.Finding{}}
}

func (st *caseState) newAttempt() *attempt {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.attempts++
	return &attempt{nonce: fmt.Sprintf("%s-%d-%d", st.run.nonce, st.no, st.attempts)}
}

// keepUnlessKept turns the failures of a finished attempt into findings.
func (st *caseState) keepUnlessKept(a *attempt) {
	if a.kept {
		return
	}
	seen := map[string]bool{}
	for _, f := range a.failures {
		if !seen[f.claim] { // the first says most; the others are no proof that it reproduces
			seen[f.claim] = true
			st.keep(a, f)
		}
	}
}

// keep stores a failure with the attempt's evidence. A later attempt that fails the same claim is
// smaller (the shrinker only proposes smaller ones), so it replaces the evidence and proves that
// the failure reproduces.
func (st *caseState) keep(a *attempt, f failure) {
	a.mu.Lock()
	defer a.mu.Unlock()
	st.mu.Lock()
	defer st.mu.Unlock()
	a.kept = true
	old := st.findings[f.claim]
	fd := &report.Finding{Claim: f.claim, Case: st.cs.ID, Message: st.says(f.claim), Expected: f.expected,
		Actual: f.actual, Did: st.cs.Check.Does, Pictures: f.pictures, Seed: st.run.Seed, Draws: append([]report.Draw{}, a.draws...), Reproduced: old != nil}
	exs := evidence(a.exchanges[:f.after])
	for i, ex := range exs {
		if shows(ex, f.actual) {
			fd.Telling = i + 1
		}
		red := st.run.Redact(slim(ex, st.run.room(len(exs))))
		fd.Exchanges = append(fd.Exchanges, red)
		fd.Curl = append(fd.Curl, st.run.Curl(red))
	}
	if old == nil {
		st.order = append(st.order, f.claim)
	}
	st.findings[f.claim] = fd
}

func (st *caseState) says(claim string) string {
	if c := st.cs.Check.claim(claim); c != nil {
		return c.Says
	}
	return claim
}

// outcome turns what was gathered into verdicts, one a claim of the check.
func (st *caseState) outcome(took time.Duration) Outcome {
	st.mu.Lock()
	defer st.mu.Unlock()
	o := Outcome{Case: report.Case{ID: st.cs.ID, Check: st.cs.Check.ID, Subject: st.cs.Subject.Name,
		Operations: opIDs(st.cs.Subject), Origin: st.cs.Origin, Requests: st.requests, Seconds: took.Seconds()}}
	for _, cl := range st.cs.Check.Claims {
		v, note := st.verdict(cl)
		o.Case.Claims = append(o.Case.Claims, report.Claim{ID: cl.ID, Verdict: v, Note: note})
		if report.Worse(o.Case.Verdict, v) != o.Case.Verdict {
			o.Case.Note = note
		}
		o.Case.Verdict = report.Worse(o.Case.Verdict, v)
	}
	if st.lacks != "" {
		o.Case.Needs = []string{st.lacks}
	}
	for _, c := range st.order {
		st.run.kept.Add(int64(weigh(*st.findings[c])))
		o.Findings = append(o.Findings, *st.findings[c])
	}
	return o
}

func (st *caseState) verdict(cl Claim) (report.Verdict, string) {
	why := st.excused[cl.ID]
	switch {
	case st.findings[cl.ID] != nil:
		return report.Fail, ""
	case st.kitFault != "":
		return report.Error, st.kitFault
	case cl.For != nil && !cl.For(st.cs.Subject):
		return report.NotApplicable, "the contract does not promise it here"
	case st.judged[cl.ID] > 0:
		return report.Pass, ""
	case why != "":
		return report.NotApplicable, why
	case st.lacks != "":
		return report.NotExercised, st.stop
	case st.stop != "":
		return report.Inconclusive, st.stop
	case len(st.order) > 0:
		return report.Inconclusive, "not reached: " + st.order[0] + " failed first"
	case st.skip != "":
		return report.Inconclusive, "never reached: " + st.skip
	default:
		return report.Inconclusive, "the check met nothing at this target to judge it by"
	}
}

func (st *caseState) releaseJobs() {
	st.mu.Lock()
	n := st.held
	st.held = 0
	st.mu.Unlock()
	if n > 0 {
		st.run.jobs.Release(n)
	}
}
