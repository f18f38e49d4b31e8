package report

import (
	"time"

	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// sample is a report with one of everything, as check.Run and Build would leave it.
func sample() *Report {
	c := &spec.Contract{Name: "notes", Version: "1.0.0", Digest: "sha256:00ff", Reqs: []*spec.Requirement{
		{ID: "NOTES-IDEM-01", Role: spec.RoleServer, Origin: spec.Stated, Source: "notes §2", Statement: "A key names one intent.",
			Claims: []spec.ClaimRef{{ID: "idempotency.replay", Origin: spec.Stated}}},
		{ID: "NOTES-IDEM-02", Role: spec.RoleServer, Origin: spec.Stated, Source: "notes §2",
			Statement: "The same key with a changed payload gets 409 and changes nothing; the original still replays afterwards, however often it is asked for.",
			Claims:    []spec.ClaimRef{{ID: "idempotency.conflict", Origin: spec.Stated}}},
		{ID: "NOTES-IDEM-03", Role: spec.RoleServer, Origin: spec.Inferred, Source: "notes §2", Statement: "null is a change.",
			Claims: []spec.ClaimRef{{ID: "idempotency.null", Origin: spec.Inferred}}},
		{ID: "NOTES-AUTH-01", Role: spec.RoleServer, Origin: spec.Stated, Source: "notes §1", Statement: "Workspaces see nothing of each other.",
			Claims: []spec.ClaimRef{{ID: "access.foreign", Origin: spec.Stated}}},
		{ID: "NOTES-AUTH-02", Role: spec.RoleServer, Origin: spec.Stated, Source: "notes §1", Statement: "Tokens rotate."},
		{ID: "NOTES-AUTH-03", Role: spec.RoleServer, Origin: spec.Stated, Source: "notes §1", Statement: "Tokens expire."},
		{ID: "NOTES-WALK-01", Role: spec.RoleServer, Origin: spec.Stated, Source: "notes §3", Statement: "A walk ends.",
			Claims: []spec.ClaimRef{{ID: "collections.end", Origin: spec.Stated}}},
		{ID: "NOTES-IDEM-04", Role: spec.RoleServer, Origin: spec.Stated, Source: "notes §2", Statement: "A key lives for a day.",
			Claims: []spec.ClaimRef{{ID: "idempotency.replay", Origin: spec.Stated}}},
		{ID: "NOTES-CLI-01", Role: spec.RoleClient, Origin: spec.Stated, Source: "notes §4", Statement: "A client waits."},
	}}
	ex := func(seq int, status int, role string, lane int) wire.Exchange {
		return wire.Exchange{Case: "idempotency.sequential@createNote", Seq: seq, Role: role, Lane: lane, End: wire.EndComplete,
			Req: wire.Request{Operation: "createNote", Method: "POST", Target: "/v1/notes", Body: []byte(`{"text":"a"}`),
				Fields: []wire.Field{{Name: "Authorization", Value: "Bearer ***"}}},
			Head: wire.Head{Status: status, Fields: []wire.Field{{Name: "Content-Type", Value: "application/json"}}}}
	}
	cut := ex(3, 0, "", 2)
	cut.End, cut.Err = wire.EndReset, "connection reset by peer"
	r := &Report{Target: "http://127.0.0.1:1", Kit: Kit{Version: "v1.2.3"}, Seed: 7, Seconds: 1.25,
		Started: time.Date(2026, 10, 3, 0, 0, 0, 0, time.UTC), Cases: []Case{
			{ID: "idempotency.sequential@createNote", Check: "idempotency.sequential", Subject: "createNote", Operations: []string{"createNote"},
				Origin: spec.Stated, Verdict: Fail, Requests: 12, Seconds: 0.5, Claims: []Claim{{ID: "idempotency.replay", Verdict: Pass},
					{ID: "idempotency.conflict", Verdict: Fail}, {ID: "idempotency.null", Verdict: Fail}}},
			{ID: "access.foreign@getNote", Check: "access.foreign", Subject: "getNote", Origin: spec.Stated, Verdict: NotExercised,
				Needs: []string{"second_workspace"}, Note: "needs second_workspace",
				Claims: []Claim{{ID: "access.foreign", Verdict: NotExercised, Note: "needs second_workspace"}}},
			{ID: "collections.walk@listNotes", Check: "collections.walk", Subject: "listNotes", Origin: spec.Stated, Verdict: Inconclusive, Requests: 1,
				Note:   "GET /v1/notes got no whole answer: timeout",
				Claims: []Claim{{ID: "collections.end", Verdict: Inconclusive, Note: "GET /v1/notes got no whole answer: timeout"}}},
		}, Findings: []Finding{
			{Claim: "idempotency.null", Case: "idempotency.sequential@createNote", Message: "A null member differs from an absent one.",
				Expected: "409 IDEMPOTENCY_CONFLICT", Actual: "201", Seed: 7, Exchanges: []wire.Exchange{ex(1, 201, "primary", 0)},
				Curl: []string{"curl -sS http://127.0.0.1:1/v1/notes"}},
			{Claim: "idempotency.conflict", Case: "idempotency.sequential@createNote", Reproduced: true, Seed: 7,
				Message:  "A second payload under a used key is refused.",
				Expected: "409 IDEMPOTENCY_CONFLICT", Actual: "201 with the title \x1b[2J\x1b[32mpass\x07 of the second payload",
				Draws:     []Draw{{Label: "payload", Value: map[string]any{"text": "a"}}, {Label: "lanes", Value: 2}},
				Exchanges: []wire.Exchange{ex(1, 201, "primary", 0), ex(2, 201, "second_client", 1), cut},
				Curl:      []string{"curl one", "curl two", "curl -sS -X POST --data-raw '{\n\"text\":\"b\"}' 'http://127.0.0.1:1/v1/notes'"}},
		}}
	r.Build(c)
	r.Summary.Created = map[string]int{"note": 3}
	return r
}
