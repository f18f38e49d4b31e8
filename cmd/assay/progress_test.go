package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/matrix"
	"assay.kit/conformance/report"
	"assay.kit/reference/mutant"
)

func event(id string, v report.Verdict, note string, claims ...string) check.Event {
	o := &check.Outcome{Case: report.Case{ID: id, Verdict: v, Note: note}}
	for _, c := range claims {
		o.Findings = append(o.Findings, report.Finding{Claim: c})
	}
	return check.Event{Case: id, Finished: o, Done: 2, Total: 9, Requests: 40}
}

func TestProgressInAPipe(t *testing.T) {
	var b bytes.Buffer
	p := startProgress(&b, screen{fd: -1}, time.Hour)
	p.event(check.Event{Case: "a@x", Total: 9})
	p.event(event("a@x", report.Pass, ""))
	p.event(event("b@x", report.Fail, "", "b.one", "b.two"))
	p.event(event("c@x", report.Inconclusive, "no answer\x1b[2J"))
	p.beat()
	p.close()
	want := "broken        b@x  b.one, b.two\n" +
		`inconclusive  c@x  no answer\x1b[2J` + "\n" +
		"0s  2 of 9 cases, 40 requests, 1 broken, 1 inconclusive\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestProgressOnATerminal(t *testing.T) {
	var b bytes.Buffer
	p := startProgress(&b, screen{live: true, fd: -1}, time.Hour)
	p.event(check.Event{Case: "long." + strings.Repeat("name", 40), Total: 9})
	p.event(event("b@x", report.Fail, "", "b.one"))
	p.beat()
	p.close()
	if strings.ContainsAny(b.String(), "\n\x1b") {
		t.Errorf("the live line scrolls or escapes: %q", b.String())
	}
	// What remains to be seen after all the carriage returns is nothing.
	line := make([]rune, 200)
	at := 0
	for _, r := range b.String() {
		if r == '\r' {
			at = 0
			continue
		}
		line[at] = r
		at++
		if at > 79 {
			t.Fatal("the live line is wider than the terminal")
		}
	}
	if left := strings.Trim(string(line), "\x00 "); left != "" {
		t.Errorf("%q is left on the terminal", left)
	}
}

func TestChosen(t *testing.T) {
	all := []mutant.Mutant{{ID: "idem-a", Contract: "seer"}, {ID: "idem-b", Contract: "notes"}, {ID: "jobs-a", Contract: "notes"}}
	for _, tc := range []struct {
		f    mutantFlags
		want string
		bad  string
	}{
		{mutantFlags{}, "idem-a idem-b jobs-a", ""},
		{mutantFlags{contract: "notes"}, "idem-b jobs-a", ""},
		{mutantFlags{only: []string{"idem-*"}}, "idem-a idem-b", ""},
		{mutantFlags{only: []string{"idem-*", "jobs-a"}, contract: "notes"}, "idem-b jobs-a", ""},
		{mutantFlags{only: []string{"idem-a"}, contract: "notes"}, "", `did you mean "idem-b"?`},
		{mutantFlags{only: []string{"idem-a", "zzz", "yyy*"}}, "idem-a", "zzz"},
	} {
		got, err := chosen(all, tc.f)
		var ids []string
		for _, m := range got {
			ids = append(ids, m.ID)
		}
		if tc.bad == "" && err != nil || tc.bad != "" && (err == nil || !strings.Contains(err.Error(), tc.bad)) {
			t.Errorf("%+v: error %v", tc.f, err)
		}
		if tc.bad == "" && strings.Join(ids, " ") != tc.want {
			t.Errorf("%+v: got %v", tc.f, ids)
		}
	}
	if all[0].ID != "idem-a" || len(all) != 3 {
		t.Error("choosing changed the table")
	}
}

func TestMatrixTable(t *testing.T) {
	var b bytes.Buffer
	r := &matrix.Result{Mutants: []matrix.Mutant{
		{ID: "one", Breaks: []string{"a.x"}, Verdict: matrix.Killed, KilledBy: []string{"a.x"}, Requests: 12},
		{ID: "three", Breaks: []string{"a.x"}, Verdict: matrix.Misattributed, Unexpected: []string{"b.y"}, Requests: 340, Note: "b.c@s: expected 1, got \x1b"},
	}}
	r.Reference.FalseAlarms = []matrix.Alarm{{Contract: "notes", Case: "a.b@s", Claim: "a.x", Verdict: report.Fail, Note: "expected 1, got 2"}}
	(&app{out: &b, env: lookup(nil)}).printMatrix(r, 90*time.Second)
	want := `killed         one    12   a.x
MISATTRIBUTED  three  340  breaks a.x; found b.y; b.c@s: expected 1, got \x1b
FALSE ALARM  notes  a.b@s  a.x fail: expected 1, got 2
1 killed, 0 survived, 1 misattributed; 1 false alarms · median 0 requests to the first kill · 90.0 s
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}
