package lint_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"assay.kit/spec"
	"assay.kit/spec/lint"
)

// findings loads the good contract with one edit per pair and runs all rules.
func findings(t *testing.T, file string, edits ...string) []lint.Finding {
	t.Helper()
	fsys := fstest.MapFS{}
	for _, name := range []string{"openapi.yaml", "tool-catalog.json", "requirements.yaml"} {
		b, err := os.ReadFile("../testdata/good/" + name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		for i := 0; name == file && i+1 < len(edits); i += 2 {
			if !strings.Contains(text, edits[i]) {
				t.Fatalf("%q is not in %s", edits[i], name)
			}
			text = strings.Replace(text, edits[i], edits[i+1], 1)
		}
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	c, err := spec.Load(fsys, "things")
	if err != nil {
		t.Fatal(err)
	}
	return lint.Run(c)
}

// known are the findings of the good contract itself, which is there to be loaded, not to be complete.
func known(t *testing.T) map[string]bool {
	out := map[string]bool{}
	for _, f := range findings(t, "") {
		out[f.Rule+f.Message] = true
	}
	return out
}

func TestRules(t *testing.T) {
	base := known(t)
	for _, c := range []struct {
		rule, file string
		edits      []string
		want       string
	}{
		{"idempotency-missing", "openapi.yaml", []string{"idempotency: {conflict: {status: 422}}", "immutable: true"}, "createThing creates a thing without idempotency"},
		{"collection-missing", "openapi.yaml", []string{
			"list: listThings}", "list: ''}",
			`        collection:
          resource: thing
          id: /id
          order: {param: order, default: -created_at, values: {created_at: {by: /created_at}, -created_at: {by: /created_at, desc: true}}}
          filters: {state: {member: /state, mutable: true}, since: {member: /created_at, match: after}}
          isolate: {path: group_id}
`, "",
			"read: getThing, list: ''", "read: getThing",
		}, `listThings answers a list and takes "cursor" without collection`},
		{"job-missing", "openapi.yaml", []string{"        job: {read: getRun, cancel: cancelRun, artifact: getThing}\n", ""}, "createRun answers 202 without job"},
		{"money-missing", "openapi.yaml", []string{"                  x-assay: {money: {amount: /amount, asset: /asset, scale: /scale}}\n", ""}, `an object with "amount" and "asset" is an amount without money`},
		{"states-missing", "openapi.yaml", []string{"result_ref: {type: string}", "result_ref: {type: string}\n        trade_status: {enum: [a, b]}"}, `the enum "trade_status" is a state without states`},
		{"meaning-missing", "openapi.yaml", []string{"meaning: {new: just made, done: nothing more happens}", "meaning: {new: just made}"}, `the state "done" of thing has no meaning`},
		{"example-missing", "openapi.yaml", []string{"            example: {name: a, parent: t0, friends: [t1, t2]}\n", ""}, "createThing has no example of its body"},
		{"tool-hints", "tool-catalog.json", []string{`"readOnlyHint": false`, `"readOnlyHint": true`}, `the tool "t_thing_make" has the effect compute and readOnlyHint true`},
		{"state-unreachable", "openapi.yaml", []string{"transitions: {new: [done]}", "transitions: {new: [new]}", "        moves: {resource: thing, from: [new], to: done}\n", ""}, `nothing leads from "new" to the state "done" of thing`},
		{"nullable-ignored", "openapi.yaml", []string{"result_ref: {type: string}", "result_ref: {type: string, nullable: true}"}, "nullable means nothing"},
		{"authority-missing", "openapi.yaml", []string{"      operationId: finishThing\n", "      operationId: finishThing\n      security: []\n"}, "finishThing has a financial effect and asks for neither"},
		{"requirement-unlinked", "requirements.yaml", []string{`, claims: [idempotency.replay, {id: idempotency.null-is-change, origin: inferred}]`, ""}, "T-IDEM-01 has neither claims nor a note"},
	} {
		var fresh []lint.Finding
		for _, f := range findings(t, c.file, c.edits...) {
			if !base[f.Rule+f.Message] {
				fresh = append(fresh, f)
			}
		}
		if len(fresh) != 1 || fresh[0].Rule != c.rule || !strings.Contains(fresh[0].Message, c.want) || fresh[0].Line == 0 || fresh[0].File != c.file || fresh[0].Severity == "" {
			t.Errorf("%s: findings are %+v, want one with %q", c.rule, fresh, c.want)
		}
	}
}

func TestRulesAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range lint.Rules() {
		if seen[r.ID] || r.Purpose == "" || r.Example == "" || r.Check == nil || r.Severity != lint.Error && r.Severity != lint.Warning {
			t.Errorf("rule %q is incomplete or there twice", r.ID)
		}
		seen[r.ID] = true
	}
}

// TestGoodContractFindings pins what the rules say of a contract with known gaps, so that a rule
// that starts to cry wolf is seen.
func TestGoodContractFindings(t *testing.T) {
	var got []string
	for _, f := range findings(t, "") {
		got = append(got, fmt.Sprintf("%s %s", f.Rule, f.Message))
	}
	want := []string{
		"example-missing createRun has no example of its body",
		`meaning-missing the state "accepted" of run has no meaning`,
		`meaning-missing the state "cancelled" of run has no meaning`,
		`meaning-missing the state "completed" of run has no meaning`,
		`meaning-missing the state "failed" of run has no meaning`,
		`meaning-missing the state "running" of run has no meaning`,
		`tool-arguments the tool "t_thing_make" has no argument "group_id", which createThing needs`,
		`tool-arguments the tool "t_thing_make" has no argument "group_id", which createThing needs`,
		`tool-hints the tool "t_thing_make" only computes, and does not say that it is not destructive`,
		`tool-output-missing the tool "t_thing_make" has no outputSchema`,
		`tool-arguments the tool "t_jobs" has no argument "run_id", which getRun needs`,
		`tool-hints the tool "t_jobs" has the effect read and readOnlyHint false`,
		`tool-output-missing the tool "t_jobs" has no outputSchema`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
