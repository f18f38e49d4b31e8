package html_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"assay.kit/conformance/report"
	"assay.kit/conformance/report/html"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

func render(t testing.TB, r *report.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := html.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sample has one of everything: each verdict, JSON on both sides, drawn values, concurrent lanes, an
// answer that broke off, a finding that was seen only once, and two alike.
func sample() *report.Report {
	return &report.Report{Schema: report.Schema, Verdict: report.Violations, Target: "http://127.0.0.1:1", Seed: 7, Seconds: 12.5,
		Contract: report.Contract{Name: "notes", Version: "1.0.0", Digest: "sha256:00ff"}, Kit: report.Kit{Version: "v1.2.3"},
		Started: time.Date(2026, 10, 3, 0, 0, 0, 0, time.UTC), Warnings: []string{"nine of ten answers were 401: is the token right?"},
		Summary: report.Summary{Requests: 99, Created: map[string]int{"note": 3, "draft": 1},
			Requirements: map[report.Verdict]int{report.Fail: 2, report.Warn: 1, report.Pass: 1, report.Inconclusive: 1, report.NotExercised: 2, report.NotApplicable: 1},
			Cases:        map[report.Verdict]int{report.Fail: 2, report.Pass: 1, report.NotExercised: 1}},
		Requirements: []report.Requirement{
			row("NOTES-IDEM-01", report.Fail, "idempotency.once"), row("NOTES-IDEM-02", report.Fail, "idempotency.conflict"),
			row("NOTES-IDEM-03", report.Warn, "idempotency.null"), row("NOTES-WALK-01", report.Inconclusive, "collections.end"),
			row("NOTES-WALK-02", report.Pass, "collections.order"), row("NOTES-AUTH-01", report.NotExercised, "access.foreign"),
			row("NOTES-AUTH-02", report.NotExercised, ""), row("NOTES-CLI-01", report.NotApplicable, ""),
		},
		Cases: []report.Case{
			{ID: "idempotency.twins@createNote", Check: "idempotency.twins", Subject: "createNote", Verdict: report.Fail, Requests: 12, Seconds: 0.5},
			{ID: "idempotency.twins@createDraft", Check: "idempotency.twins", Subject: "createDraft", Verdict: report.Fail, Requests: 12, Seconds: 0.5},
			{ID: "access.foreign@getNote", Check: "access.foreign", Subject: "getNote", Verdict: report.NotExercised, Needs: []string{"second_workspace"}, Note: "needs second_workspace"},
			{ID: "collections.walk@listNotes", Check: "collections.walk", Subject: "listNotes", Verdict: report.Pass, Requests: 3},
		},
		Findings: []report.Finding{
			{Claim: "idempotency.conflict", Case: "idempotency.sequential@createNote", Verdict: report.Fail, Requirements: []string{"NOTES-IDEM-02"},
				Message: "A second payload under a used key is refused.", Expected: `409 {"code":"CONFLICT","retry":false}`, Actual: `201 {"retry":false,"id":"n1"}`,
				Seed: 7, Reproduced: true, Draws: []report.Draw{{Label: "payload", Value: map[string]any{"text": "a"}}, {Label: "lanes", Value: 2}},
				Exchanges: []wire.Exchange{exchange(1, 0, 0, 5), exchange(2, 0, 6, 9)}, Curl: []string{"curl one", "curl -X POST \\\n  --data-raw 'two' http://127.0.0.1:1/v1/notes"}},
			twins("createNote"), twins("createDraft"),
			{Claim: "idempotency.null", Case: "idempotency.null@createNote", Verdict: report.Warn, Requirements: []string{"NOTES-IDEM-03"},
				Message: "A null member differs from an absent one.", Expected: "409", Actual: "201", Seed: 7},
		},
	}
}

func row(id string, v report.Verdict, claim string) report.Requirement {
	q := report.Requirement{ID: id, Role: spec.RoleServer, Origin: spec.Stated, Verdict: v, Statement: "What " + id + " promises.", Source: "notes §2"}
	if claim == "" {
		q.Note = "no check yet"
		return q
	}
	q.Claims = []report.Claim{{ID: claim, Verdict: v, Note: "a note"}}
	if v == report.NotExercised {
		q.Partial = []string{"second_workspace"}
	}
	return q
}

// exchange is one that took from one millisecond of the run to another.
func exchange(seq, lane, from, to int) wire.Exchange {
	return wire.Exchange{Case: "idempotency.twins@createNote", Seq: seq, Lane: lane, Role: "primary", End: wire.EndComplete,
		Sent: time.Duration(from) * time.Millisecond, Last: time.Duration(to) * time.Millisecond,
		Req: wire.Request{Operation: "createNote", Method: "POST", Target: "/v1/notes", Body: []byte(`{"text":"a"}`),
			Fields: []wire.Field{{Name: "Authorization", Value: "Bearer ***"}}},
		Head:   wire.Head{Status: 201, Proto: "HTTP/1.1", Fields: []wire.Field{{Name: "Content-Type", Value: "application/json"}}},
		Events: []wire.Event{{Data: []byte(fmt.Sprintf(`{"id":"n%d"}`, seq))}}}
}

func twins(operation string) report.Finding {
	cut := exchange(4, 3, 2, 30)
	cut.Head, cut.Events, cut.End, cut.Err, cut.Role = wire.Head{}, nil, wire.EndReset, "connection reset by peer", ""
	return report.Finding{Claim: "idempotency.once", Case: "idempotency.twins@" + operation, Verdict: report.Fail, Requirements: []string{"NOTES-IDEM-01"},
		Message: "Concurrent requests with one key create one resource.", Expected: "1 in listNotes", Actual: "2: n2, n3 of " + operation, Seed: 7,
		Exchanges: []wire.Exchange{exchange(1, 0, 0, 1), exchange(2, 1, 2, 14), exchange(3, 2, 2, 9), cut}, Telling: 3,
		Curl: []string{"curl 1", "curl 2", "curl 3", "curl 4"}}
}

// none is the report of a target that broke nothing.
func none() *report.Report {
	r := sample()
	r.Verdict, r.Findings, r.Warnings = report.Conformant, nil, nil
	r.Requirements = r.Requirements[4:]
	r.Summary.Requirements = map[report.Verdict]int{report.Pass: 1, report.NotExercised: 2, report.NotApplicable: 1}
	return r
}

// many repeats the findings and the cases.
func many(findings, cases int) *report.Report {
	r := sample()
	all, few := r.Findings, r.Cases
	r.Findings, r.Cases = nil, nil
	for i := range findings {
		f := all[i%len(all)]
		f.Claim, f.Case = fmt.Sprintf("%s-%d", f.Claim, i/9), fmt.Sprintf("%s-%d", f.Case, i)
		r.Findings = append(r.Findings, f)
	}
	for i := range cases {
		c := few[i%len(few)]
		c.Check, c.Subject = fmt.Sprintf("%s-%d", c.Check, i/80), fmt.Sprintf("%s-%d", c.Subject, i)
		r.Cases = append(r.Cases, c)
	}
	return r
}
