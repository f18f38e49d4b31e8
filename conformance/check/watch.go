package check

import (
	"sort"
	"sync"

	"assay.kit/conformance/report"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// memo computes values once a run.
type memo struct {
	mu sync.Mutex
	m  map[string]func() (any, error)
}

func (m *memo) get(key string, f func() (any, error)) (any, error) {
	m.mu.Lock()
	if m.m == nil {
		m.m = map[string]func() (any, error){}
	}
	g, ok := m.m[key]
	if !ok {
		g = sync.OnceValues(f)
		m.m[key] = g
	}
	m.mu.Unlock()
	return g()
}

// watcher judges passive claims on every exchange. They report under their own claim, once a claim,
// operation and status, and never fail the case that happened to send the request.
type watcher struct {
	contract *spec.Contract
	rules    []wire.Rule
	broken   func(claim string)
	record   func(wire.Exchange) wire.Exchange // makes a copy that may be kept
	mu       sync.Mutex
	looked   map[[2]string]int // claim, operation -> exchanges judged
	found    map[spot]*seen
	spots    map[[2]string]int // claim, operation -> entries of found
	ids      map[string]string // request id -> the exchange that carried it first
}

// maxSpots bounds the statuses for which one claim of one operation is reported; no server has so many.
const maxSpots = 12

// maxIDs bounds the request ids that are remembered; a run sends fewer, a hostile one does not matter.
const maxIDs = 200_000

// maxID is the longest of them that is remembered, in bytes.
const maxID = 256

// spot is where a passive claim was broken; each is reported once.
type spot struct {
	Claim, Operation string
	Status           int
}

type seen struct {
	finding wire.Finding
	first   wire.Exchange
	count   int
}

func newWatcher(c *spec.Contract, rules []wire.Rule) *watcher {
	return &watcher{contract: c, rules: rules, looked: map[[2]string]int{}, found: map[spot]*seen{}, spots: map[[2]string]int{}, ids: map[string]string{}}
}

func (w *watcher) look(ex wire.Exchange) {
	if ex.End != wire.EndComplete && ex.End != wire.EndOpen {
		return
	}
	v := wire.NewView(w.contract, ex)
	op := v.Subject()
	for _, rule := range w.rules {
		if findings, judged := rule.Look(v); judged {
			w.note(rule.Claim, op, ex, findings)
		}
	}
	if findings, judged := w.unique(ex); judged {
		w.note(wire.RequestIDUnique, op, ex, findings)
	}
}

func (w *watcher) note(claim, op string, ex wire.Exchange, findings []wire.Finding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked[[2]string{claim, op}]++
	for _, f := range findings {
		p := spot{claim, op, ex.Head.Status}
		if s := w.found[p]; s != nil {
			s.count++
		} else if at := [2]string{claim, op}; w.spots[at] < maxSpots {
			w.spots[at]++
			f.Expected, f.Actual = brief(f.Expected, mostValue), brief(f.Actual, mostValue)
			w.found[p] = &seen{finding: f, first: w.record(ex), count: 1}
			w.broken(claim)
		}
	}
}

// unique judges the one passive claim that needs a memory: no request id comes twice.
func (w *watcher) unique(ex wire.Exchange) ([]wire.Finding, bool) {
	e := w.contract.Doc.Correlation
	if e == nil || len(w.rules) == 0 || ex.Req.Face != wire.FaceREST {
		return nil, false
	}
	id := ex.Header(e.Name)
	if id == "" || len(id) > maxID { // a longer one is not remembered; wire.request-id sees it
		return nil, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if first, dup := w.ids[id]; dup {
		return []wire.Finding{{Expected: "a " + e.Name + " of its own for every request", Actual: "the same as of " + first}}, true
	}
	if len(w.ids) < maxIDs {
		w.ids[id] = ex.Req.Method + " " + brief(ex.Req.Target, 200) + " in " + ex.Case
	}
	return nil, true
}

// outcomes gives one case for every passive claim and operation that was looked at.
func (w *watcher) outcomes(r *runner) []Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	says := map[string]string{wire.RequestIDUnique: "No two answers carry the same request id."}
	for _, rule := range w.rules {
		says[rule.Claim] = rule.Says
	}
	var keys [][2]string
	for k := range w.looked {
		if r.Profile != nil && r.Profile.IsAbsent(k[1]) {
			continue // what the target is said to lack promises nothing
		}
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i][0]+"@"+keys[i][1] < keys[j][0]+"@"+keys[j][1] })
	var out []Outcome
	for _, k := range keys {
		out = append(out, w.outcome(r, k[0], k[1], says[k[0]]))
	}
	return out
}

// didWatch is what a passive claim does, as a finding tells it.
const didWatch = "Look at every answer that the other checks get."

func (w *watcher) outcome(r *runner, claim, op, says string) Outcome {
	o := Outcome{Case: report.Case{ID: claim + "@" + op, Check: claim, Subject: op, Origin: spec.Stated, Verdict: report.Pass}}
	if def := w.contract.Op(op); def != nil {
		o.Case.Operations, o.Case.Origin = []string{op}, def.Origin
	}
	var places []spot
	for p := range w.found {
		if p.Claim == claim && p.Operation == op {
			places = append(places, p)
		}
	}
	sort.Slice(places, func(i, j int) bool { return places[i].Status < places[j].Status })
	for _, p := range places {
		s := w.found[p]
		if s.finding.Ours { // our own bad request proves nothing about the target
			o.Case.Verdict, o.Case.Note = report.Error, "the kit sent something wrong: "+s.finding.Actual
			continue
		}
		o.Case.Verdict = report.Fail
		o.Findings = append(o.Findings, report.Finding{Claim: claim, Case: o.Case.ID, Message: says, Did: didWatch,
			Expected: s.finding.Expected, Actual: s.finding.Actual, Seed: r.Seed, Draws: []report.Draw{},
			Reproduced: s.count > 1, Exchanges: []wire.Exchange{s.first}, Curl: []string{r.Curl(s.first)}})
	}
	o.Case.Claims = []report.Claim{{ID: claim, Verdict: o.Case.Verdict, Note: o.Case.Note}}
	return o
}
