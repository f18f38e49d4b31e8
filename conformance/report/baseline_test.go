package report

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"assay.kit/spec"
)

func TestBaselineErrors(t *testing.T) {
	cases := map[string][]string{"idempotency.sequential@createNote": {"idempotency.replay", "idempotency.conflict"},
		"wire.schema@listNotes": {"wire.schema"}}
	const ok = "known:\n  - {claim: idempotency.replay, case: idempotency.sequential@createNote, verdict: fail}\n"
	for _, tc := range []struct{ text, says string }{
		{ok, ""},
		{"contract: notes\nknown:\n", ""},
		{"known: []\n", ""},
		{"", "b.yaml:1: the baseline is empty"},
		{"- x\n", "b.yaml:1: a baseline must be a mapping"},
		{"a: [\n", "no YAML"},
		{"known: {}\n", "b.yaml:1: known must be a list"},
		{"contract: [x]\n", "b.yaml:1: contract must be a text"},
		{"konwn: []\n", `b.yaml:1: a baseline has no member "konwn"; it has contract, known`},
		{"known: []\nknown: []\n", `b.yaml:2: a baseline: "known" is given twice`},
		{"known:\n  - x\n", "b.yaml:2: a known failure must be a mapping"},
		{"known:\n  - {claim: wire.schema}\n", "b.yaml:2: a known failure needs claim and case"},
		{"known:\n  - {claim: wire.schema, case: wire.schema@listNotes, verdict: pass}\n", `b.yaml:2: verdict "pass" can be no known failure`},
		{ok + ok[len("known:\n"):], "b.yaml:3: idempotency.replay in idempotency.sequential@createNote is listed already, in line 2"},
		{"contract: seer\n" + ok, "was written for the contract seer, not for notes"},
		{strings.Replace(ok, "replay,", "repaly,", 1), `b.yaml:2: nothing judges a claim "idempotency.repaly"; did you mean "idempotency.replay"?`},
		{strings.Replace(ok, "createNote", "createNotes", 1), `b.yaml:2: there is no case "idempotency.sequential@createNotes"; did you mean "idempotency.sequential@createNote"?`},
		{strings.Replace(ok, "idempotency.replay", "wire.schema", 1), "b.yaml:2: case idempotency.sequential@createNote does not judge wire.schema"},
	} {
		b, err := ParseBaseline("b.yaml", []byte(tc.text))
		if err == nil {
			err = b.Resolve("notes", cases)
		}
		if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%q: %v, want %q", tc.text, err, tc.says)
		}
	}
}

// contractOf rebuilds a report that sample built: it has what the catalog said in its rows.
func contractOf(r *Report) *spec.Contract {
	c := &spec.Contract{Name: r.Contract.Name, Version: r.Contract.Version, Digest: r.Contract.Digest}
	for _, q := range r.Requirements {
		row := &spec.Requirement{ID: q.ID, Role: q.Role, Origin: q.Origin, Statement: q.Statement, Source: q.Source}
		for _, cl := range q.Claims {
			row.Claims = append(row.Claims, spec.ClaimRef{ID: cl.ID, Origin: q.Origin})
		}
		c.Reqs = append(c.Reqs, row)
	}
	return c
}

// against is the sample judged with a baseline of these entries.
func against(t *testing.T, change func(*Report), entries ...Entry) *Report {
	t.Helper()
	r := sample()
	c := contractOf(r)
	for i := range r.Cases { // what is left open would keep it from being conformant
		if r.Cases[i].Verdict == Inconclusive {
			r.Cases[i].Verdict, r.Cases[i].Claims[0].Verdict = Pass, Pass
		}
	}
	if change != nil {
		change(r)
	}
	r.Note = ""
	r.Baseline = &Baseline{File: "known.yaml", Entries: entries}
	r.Build(c)
	return r
}

func TestBaselineVerdicts(t *testing.T) {
	const sequential = "idempotency.sequential@createNote"
	conflict := Entry{Claim: "idempotency.conflict", Case: sequential, Verdict: Fail, Reason: "we know", Line: 3}
	null := Entry{Claim: "idempotency.null", Case: sequential, Verdict: Warn, Line: 4}
	held := Entry{Claim: "idempotency.replay", Case: sequential, Verdict: Fail, Line: 5}
	unjudged := Entry{Claim: "access.foreign", Case: "access.foreign@getNote", Verdict: Fail, Line: 6}
	elsewhere := Entry{Claim: "wire.schema", Case: "wire.schema@listNotes", Verdict: Fail, Line: 7}
	passiveHeld := func(r *Report) {
		r.Cases = append(r.Cases, Case{ID: elsewhere.Case, Check: "wire.schema", Subject: "listNotes", Origin: spec.Stated, Verdict: Pass,
			Claims: []Claim{{ID: "wire.schema", Verdict: Pass}}})
	}
	for _, tc := range []struct {
		name    string
		change  func(*Report)
		entries []Entry
		want    Overall
		known   int
		stale   []int
	}{
		{"nothing is known", nil, nil, Violations, 0, nil},
		{"all failures are known", nil, []Entry{conflict}, Conformant, 1, nil},
		{"warnings too", nil, []Entry{conflict, null}, Conformant, 2, nil},
		{"only a warning is known", nil, []Entry{null}, Violations, 1, nil},
		{"a known failure that is only a warning now", nil, []Entry{conflict, {Claim: null.Claim, Case: null.Case, Verdict: Fail}}, Conformant, 2, nil},
		{"a known warning that fails now", func(r *Report) { r.Strict = true }, []Entry{conflict, null}, Violations, 1, nil},
		{"it holds again", nil, []Entry{conflict, held}, Violations, 1, []int{5}},
		{"not exercised is not stale", nil, []Entry{conflict, unjudged}, Conformant, 1, nil},
		{"not in this run is not stale", nil, []Entry{conflict, elsewhere}, Conformant, 1, nil},
		{"a passive claim that holds", passiveHeld, []Entry{conflict, elsewhere}, Violations, 1, []int{7}},
		{"a passive claim that holds on a selection", func(r *Report) { passiveHeld(r); r.Filtered = true }, []Entry{conflict, elsewhere}, Conformant, 1, nil},
	} {
		r := against(t, tc.change, tc.entries...)
		var stale []int
		for _, e := range r.Baseline.Stale {
			stale = append(stale, e.Line)
		}
		if r.Verdict != tc.want || r.Baseline.Known != tc.known || !slices.Equal(stale, tc.stale) {
			t.Errorf("%s: %s (%s), %d known, stale lines %v", tc.name, r.Verdict, r.Note, r.Baseline.Known, stale)
		}
	}
}

func TestBaselineOnTheConsole(t *testing.T) {
	const sequential = "idempotency.sequential@createNote"
	r := against(t, nil, Entry{Claim: "idempotency.conflict", Case: sequential, Verdict: Fail, Reason: "until\x1b[2J May", Line: 3},
		Entry{Claim: "idempotency.replay", Case: sequential, Verdict: Fail, Line: 5})
	var b bytes.Buffer
	if err := (Console{}).Write(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"Known failures, which do not count (known.yaml):\nknown FAIL  idempotency.conflict  " + sequential + "  until\\x1b[2J May\n",
		"STALE  idempotency.replay in idempotency.sequential@createNote holds again; remove this line: known.yaml:5", "violations (the baseline lists what holds again)"} {
		if !strings.Contains(b.String(), s) {
			t.Errorf("the console does not say %q:\n%s", s, b.String())
		}
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Error("an escape came through")
	}
}

// What is written is read back, is the same whatever the order and seed of a run, keeps reasons, and
// keeps entries that the run did not judge.
func TestBaselineRoundTrip(t *testing.T) {
	const sequential = "idempotency.sequential@createNote"
	reason := `because "x": y # no comment`
	r := against(t, nil, Entry{Claim: "idempotency.conflict", Case: sequential, Verdict: Fail, Reason: reason},
		Entry{Claim: "access.foreign", Case: "access.foreign@getNote", Verdict: Fail, Reason: "later"},
		Entry{Claim: "idempotency.replay", Case: sequential, Verdict: Fail, Reason: "gone"})
	var first, second bytes.Buffer
	if err := r.WriteBaseline(&first); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(r.Findings)
	r.Seed = 99
	if err := r.WriteBaseline(&second); err != nil || first.String() != second.String() {
		t.Errorf("%v\n%s\n%s", err, first.String(), second.String())
	}
	b, err := ParseBaseline("b.yaml", first.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, first.String())
	}
	want := []Entry{{"access.foreign", "access.foreign@getNote", Fail, "later", 5}, {"idempotency.conflict", sequential, Fail, reason, 6},
		{"idempotency.null", sequential, Warn, "", 7}}
	if !slices.Equal(b.Entries, want) || b.Contract != "notes" {
		t.Errorf("%+v\n%s", b, first.String())
	}
	var none bytes.Buffer
	if err := (&Report{}).WriteBaseline(&none); err != nil {
		t.Fatal(err)
	}
	if b, err := ParseBaseline("b.yaml", none.Bytes()); err != nil || len(b.Entries) > 0 {
		t.Errorf("%v %v", b, err)
	}
}

func FuzzParseBaseline(f *testing.F) {
	f.Add([]byte("contract: notes\nknown:\n  - {claim: a.b, case: c.d@e, verdict: fail, reason: \"x\"}\n"))
	f.Add([]byte("known: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := ParseBaseline("b.yaml", data)
		if err != nil {
			return
		}
		for _, e := range b.Entries {
			if e.Claim == "" || e.Case == "" || e.Line < 1 {
				t.Errorf("accepted %+v", e)
			}
		}
	})
}

func TestLoadNamesTheFile(t *testing.T) {
	missing := t.TempDir() + "/none.json"
	if _, err := Load(missing); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(missing, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(missing); err == nil || !strings.HasPrefix(err.Error(), missing+": not a report") {
		t.Errorf("a file that is no report: %v", err)
	}
}
