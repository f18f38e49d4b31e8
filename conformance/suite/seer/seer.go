// Package seer judges what only Seer promises: the values of its documents' examples, the kinds of
// its artifacts, the form of a forecast. It may name Seer's operations; everything that a trait
// can say is judged in package suite.
package seer

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/fixtures"
	"assay.kit/spec"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// Checks returns the checks that are Seer's own, family by family.
func Checks() []check.Check {
	return slices.Concat(documents(), tools(), bars(), agents(), actions(), calculations())
}

// documents judges what the documents' examples show.
func documents() []check.Check {
	return []check.Check{
		{
			ID:     "seer.bars",
			Does:   "Asks for the two sessions that the documents show.",
			Claims: []check.Claim{{ID: "seer.bars-example", Says: "The documents' request for market bars is answered as they show, value for value but for the invocation's id."}},
			Select: on("invokeTool"),
			Cost:   check.Cost{Requests: 3},
			Run:    barsExample,
		},
		{
			ID:   "seer.artifacts",
			Does: "Lets a job of each kind end and looks at what it made.",
			Claims: []check.Claim{
				{ID: "seer.artifact-kind", Says: "A forecast's artifact has kind forecast and a schema revision.", For: isForecast},
				{ID: "seer.artifact-kind-ours", Says: "An artifact has the kind and a schema revision that belong to the work it is of.", For: isOther},
				{ID: "seer.artifact-data", Says: "An artifact's data fits the contract of its kind."},
				{ID: "seer.forecast-values", Says: "A forecast has finite numbers, quantiles that do not fall from level to level, and a declared unit and horizon.", For: isForecast},
				{ID: "seer.forecast-identity", Says: "A forecast is of the listing, target and horizon that were asked for, and keeps its id.", For: isForecast},
				{ID: "seer.job-history", Says: "The event log shows every state of a job, each one transition after the one before."},
			},
			Select: on("createForecast", "createPortfolioProposal", "invokeTool"),
			Cost:   check.Cost{Requests: 1500, Jobs: 1},
			Run:    artifacts,
		},
		{
			ID:     "seer.proposal",
			Does:   "Lets a portfolio proposal complete and looks whether it led to an action.",
			Claims: []check.Claim{{ID: "seer.proposal-only", Says: "A portfolio artifact is a proposal: its job creates no action."}},
			Lock:   check.Target, // or another case's action would be taken for the job's
			Select: on("createPortfolioProposal"),
			Cost:   check.Cost{Requests: 600, Jobs: 1},
			Run:    proposalOnly,
		},
		{
			ID:     "seer.pinning",
			Does:   "Admits a job under a revision of an agent and then adds another revision to the agent.",
			Claims: []check.Claim{{ID: "seer.job-pinned", Says: "A job runs under the agent revision that it was admitted with, whatever revisions follow."}},
			Select: on("createForecast"),
			Cost:   check.Cost{Requests: 400, Jobs: 1},
			Run:    jobPinned,
		},
	}
}

// on selects operations by id.
func on(ids ...string) func(*spec.Contract) []check.Subject {
	return func(c *spec.Contract) []check.Subject {
		var out []check.Subject
		for _, id := range ids {
			if op := c.Op(id); op != nil {
				out = append(out, check.Subject{Name: id, Op: op})
			}
		}
		return out
	}
}

func isForecast(s check.Subject) bool { return s.Op.ID == "createForecast" }
func isOther(s check.Subject) bool    { return !isForecast(s) }

// exampleSource is where the documents' figures come from; a server with other data is not asked for them.
const exampleSource = "source_market_example"

func barsExample(_ context.Context, t *check.T, s check.Subject) {
	want, err := fixture("tool-result-market-bars.json")
	if err != nil {
		t.Inconclusive("%v", err)
	}
	body := bodyNamed(t, s.Op, "two_sessions")
	if body == nil {
		t.Inconclusive("the contract lacks the example two_sessions")
	}
	ex := send(t, s.Op, nil, nil, body)
	got, err := schema.DecodeJSON(ex.Body())
	if ex.Status() != 200 || err != nil {
		t.Judge("seer.bars-example", false, "200 with a tool result", short(ex))
		return
	}
	sources, _ := tree.Get(got, "/coverage/source_refs")
	if list, _ := sources.([]any); !slices.Contains(list, any(exampleSource)) {
		t.NotApplicable("seer.bars-example", "the target does not serve the documents' example data")
		return
	}
	diff := oracle.Diff(want, got, []string{"/invocation_id"})
	t.Judge("seer.bars-example", len(diff) == 0, "the documents' answer", fmt.Sprintf("different at %v: %s", diff, short(ex)))
}

func fixture(name string) (any, error) {
	b, err := fixtures.FS.ReadFile("seer/" + name)
	if err != nil {
		return nil, err
	}
	return schema.DecodeJSON(b)
}

// kindOf is the kind of artifact that an operation's jobs make.
func kindOf(op string) string {
	return map[string]string{"createForecast": "forecast", "createPortfolioProposal": "portfolio_proposal", "invokeTool": "tool_result"}[op]
}

func artifacts(_ context.Context, t *check.T, s check.Subject) {
	made, begun := 0, 0
	for _, example := range s.Op.Body.Examples {
		body := resolved(t, example.Value)
		r, ok := run(t, s.Op, body)
		if !ok {
			continue
		}
		begun++
		judgeHistory(t, r.id)
		if r.artifact == nil {
			continue // it failed, for a reason of its own
		}
		made++
		if s.Op.ID == "invokeTool" {
			judgeKind(t, s, r, toolKind(body))
		} else {
			judgeKind(t, s, r, kindOf(s.Op.ID))
		}
		if isForecast(s) {
			judgeForecast(t, body, r)
		}
	}
	switch {
	case begun == 0:
		t.NoneApply(s.Op.ID + " answers none of the contract's examples with a job")
	case made == 0:
		t.Inconclusive("no job of %s completed", s.Op.ID)
	}
}

// toolKind: a tool that is another face of an operation makes that operation's kind.
func toolKind(body any) string {
	switch tool, _ := tree.Get(body, "/tool"); tool {
	case "forecast.create":
		return kindOf("createForecast")
	case "portfolio.propose":
		return kindOf("createPortfolioProposal")
	default:
		return kindOf("invokeTool")
	}
}

func judgeKind(t *check.T, s check.Subject, r result, kind string) {
	got, _ := tree.Get(r.artifact, "/kind")
	revision, _ := tree.Get(r.artifact, "/schema_revision")
	claim := "seer.artifact-kind"
	if isOther(s) {
		claim = "seer.artifact-kind-ours"
	}
	t.Judge(claim, got == kind && revision != nil && revision != "", "kind "+kind+" with a schema_revision", fmt.Sprintf("kind %v, schema_revision %v", got, revision))
	if a := t.Contract().Op("getArtifact").Answers[200]; a != nil && a.Schema != nil {
		vs := a.Schema.Validate(r.artifact)
		first := ""
		if len(vs) > 0 {
			first = string(vs[0].Instance) + ": " + vs[0].Message
		}
		t.Judge("seer.artifact-data", len(vs) == 0, "data that fits the contract of kind "+kind, first)
	}
}

func judgeForecast(t *check.T, request any, r result) {
	for _, p := range []tree.Pointer{"/instrument_id", "/target", "/horizon"} {
		want, _ := tree.Get(request, p)
		got, _ := tree.Get(r.artifact, "/data"+p)
		t.Judge("seer.forecast-identity", oracle.Equal(want, got), fmt.Sprintf("%s as asked for: %v", p, want), fmt.Sprint(got))
	}
	again, _ := tree.Get(read(t, "getArtifact", "artifact_id", r.ref), "/data/forecast_id")
	id, _ := tree.Get(r.artifact, "/data/forecast_id")
	t.Judge("seer.forecast-identity", id != nil && id == again, fmt.Sprintf("forecast_id %v again", id), fmt.Sprint(again))

	unit, _ := tree.Get(r.artifact, "/data/unit")
	t.Judge("seer.forecast-values", unit != nil && unit != "", "a unit", fmt.Sprint(unit))
	horizon, _ := tree.Get(r.artifact, "/data/horizon/unit")
	t.Judge("seer.forecast-values", horizon != nil && horizon != "", "a unit of the horizon", fmt.Sprint(horizon))
	mean, _ := tree.Get(r.artifact, "/data/estimate/mean")
	_, finite := number(mean)
	t.Judge("seer.forecast-values", finite, "a finite mean", fmt.Sprint(mean))
	quantiles, _ := tree.Get(r.artifact, "/data/estimate/quantiles")
	err := rising(quantiles)
	t.Judge("seer.forecast-values", err == nil, "finite quantiles that do not fall from level to level", fmt.Sprintf("%v: %v", err, quantiles))
}

// rising reports whether quantiles by level are finite and do not fall; the levels are numbers
// written as names.
func rising(quantiles any) error {
	m, ok := quantiles.(map[string]any)
	if !ok || len(m) == 0 {
		return fmt.Errorf("there are none")
	}
	levels := make([]float64, 0, len(m))
	byLevel := map[float64]any{}
	for name, v := range m {
		level, err := strconv.ParseFloat(name, 64)
		if err != nil || level <= 0 || level >= 1 {
			return fmt.Errorf("%q is no probability", name)
		}
		levels = append(levels, level)
		byLevel[level] = v
	}
	slices.Sort(levels)
	previous := math.Inf(-1)
	for _, level := range levels {
		q, ok := number(byLevel[level])
		if !ok {
			return fmt.Errorf("the quantile at %v is no finite number", level)
		}
		if q < previous {
			return fmt.Errorf("the quantile at %v is below the one before", level)
		}
		previous = q
	}
	return nil
}

// judgeHistory reads all events of a job, oldest first.
func judgeHistory(t *check.T, job string) {
	m := t.Contract().Machine("job")
	states, ok := history(t, job)
	if m == nil || !ok {
		t.NotApplicable("seer.job-history", "listEvents is declared absent in the profile, or is not in the contract")
		return
	}
	machine := oracle.Machine{Initial: m.Initial, Transitions: m.Transitions, Terminal: m.Terminal, Open: m.Open}
	err := machine.History(states)
	ended := len(states) > 0 && machine.IsTerminal(states[len(states)-1])
	t.Judge("seer.job-history", err == nil && ended, "the states of job "+job+" from "+m.Initial+" to its end", fmt.Sprintf("%v: %v", states, err))
}
