package seer

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/wire"
	"assay.kit/fixtures"
)

// calculations judges what jobs compute, as far as that can be told from outside: that it answers the
// question, and that it is the same for the same evidence.
func calculations() []check.Check {
	return []check.Check{
		{
			ID:   "calculations.repeat",
			Does: "Lets the same calculation run twice over the evidence of one past moment.",
			Claims: []check.Claim{
				{ID: "calculations.same", Says: "The same configuration and evidence snapshot give the same result."},
				{ID: "calculations.snapshot", Says: "The same past moment gives the same evidence, under the same snapshot id."},
			},
			Select: on("createForecast", "createPortfolioProposal", "invokeTool"),
			Cost:   check.Cost{Requests: 1500, Jobs: 1},
			Run:    calculationsRepeat,
		},
		{
			ID:     "calculations.forecast",
			Does:   "Asks for forecasts with different quantile levels, and with none.",
			Claims: []check.Claim{{ID: "calculations.levels", Says: "A forecast is of the listing, target and horizon that were asked for, with one quantile for each level, under the level with two decimals."}},
			Select: on("createForecast"),
			Cost:   check.Cost{Requests: 1500, Jobs: 1},
			Run:    forecastLevels,
		},
		{
			ID:     "calculations.proposal",
			Does:   "Asks for proposals under different constraints.",
			Claims: []check.Claim{{ID: "calculations.constraints", Says: "A proposal keeps its constraints: weights in the order asked for, none above the greatest or for an excluded listing, cash at least its floor, and one in all."}},
			Select: on("createPortfolioProposal"),
			Cost:   check.Cost{Requests: 1500, Jobs: 1},
			Run:    proposalConstraints,
		},
		{
			ID:     "tools.curl",
			Does:   "Sends the request of the documents' first example as curl would, with no other header.",
			Claims: []check.Claim{{ID: "tools.curl", Says: "The published command line works as printed: a bearer token, a JSON body and a key are all that it needs."}},
			Select: on("invokeTool"),
			Cost:   check.Cost{Requests: 6},
			Run:    curl,
		},
	}
}

// pastMoment is the documents' as_of; before it nothing changes any more.
const pastMoment = "2026-10-03T00:00:00Z"

func calculationsRepeat(_ context.Context, t *check.T, s check.Subject) {
	judged := false
	for _, e := range s.Op.Body.Examples {
		body := members(resolved(t, e.Value))
		if input := members(body["input"]); input != nil {
			input["as_of"] = pastMoment
		} else {
			body["as_of"] = pastMoment
		}
		one, ok := run(t, s.Op, body)
		if !ok || one.artifact == nil {
			continue // answered at once, or it failed for a reason of its own
		}
		two, _ := run(t, s.Op, body)
		judged = true
		if two.artifact == nil {
			continue
		}
		was, is := at(one.artifact, "/data/evidence_snapshot_id"), at(two.artifact, "/data/evidence_snapshot_id")
		t.Judge("calculations.snapshot", was == is, fmt.Sprintf("evidence snapshot %v again for the same moment", was), fmt.Sprint(is))
		if was != is {
			continue // other evidence may give another result
		}
		diff := oracle.Diff(at(one.artifact, "/data"), at(two.artifact, "/data"), []string{"/forecast_id", "/proposal_id", "/invocation_id"})
		t.Judge("calculations.same", len(diff) == 0, "the same result of "+e.Name+" for the same evidence", fmt.Sprintf("different at %v", diff))
	}
	if !judged {
		t.NoneApply("no job of " + s.Op.ID + " completed")
		return
	}
	t.NotApplicable("calculations.same", "no two calculations were over one evidence snapshot") // unless judged
}

func forecastLevels(_ context.Context, t *check.T, s check.Subject) {
	base := without(members(resolved(t, s.Op.Body.Examples[0].Value)), "quantile_levels")
	base["as_of"] = pastMoment
	for _, c := range []struct {
		levels []string
		want   []string
	}{
		{nil, []string{"0.05", "0.50", "0.95"}},
		{[]string{"0.5"}, []string{"0.50"}},
		{[]string{"0.9", "0.1", "0.29"}, []string{"0.10", "0.29", "0.90"}},
		{[]string{"0.01", "0.07", "0.57", "0.99"}, []string{"0.01", "0.07", "0.57", "0.99"}},
	} {
		body := with(base, "horizon", map[string]any{"value": 3 + len(c.levels), "unit": "trading_sessions"})
		if c.levels != nil {
			levels := make([]any, len(c.levels))
			for i, l := range c.levels {
				levels[i] = json.Number(l)
			}
			body["quantile_levels"] = levels
		}
		r, ok := run(t, s.Op, body)
		if !ok || r.artifact == nil {
			t.Inconclusive("a forecast did not complete: %.200s", encode(r.job))
		}
		var got []string
		for name := range members(at(r.artifact, "/data/estimate/quantiles")) {
			got = append(got, name)
		}
		slices.Sort(got)
		t.Judge("calculations.levels", slices.Equal(got, c.want), fmt.Sprintf("quantiles at %v", c.want), fmt.Sprint(got))
		for _, name := range []string{"instrument_id", "target", "horizon"} {
			sent := at(normal(body), pointer(name))
			shown := at(r.artifact, "/data"+pointer(name))
			t.Judge("calculations.levels", oracle.Equal(sent, shown), fmt.Sprintf("%s as asked for: %s", name, encode(sent)), string(encode(shown)))
		}
	}
}

// normal is a value as it comes back from JSON.
func normal(v map[string]any) any { return any(copyOf(v)) }

// proposals are requests with constraints that bind.
func proposals(base map[string]any) []map[string]any {
	listings, _ := base["instrument_ids"].([]any)
	objective := map[string]any{"kind": "mean_variance", "risk_aversion": json.Number("2.5")}
	c := func(max, floor string, excluded ...any) map[string]any {
		out := map[string]any{"max_weight": json.Number(max), "cash_floor": json.Number(floor)}
		if excluded != nil {
			out["excluded"] = excluded
		}
		return out
	}
	return []map[string]any{
		with(base, "constraints", c("0.2", "0.3")),
		with(with(base, "objective", objective), "constraints", c("0.5", "0", listings[0])),
		with(with(base, "instrument_ids", reversed(listings)), "constraints", c("1", "0.25")),
		with(with(base, "objective", objective), "constraints", nil),
	}
}

func proposalConstraints(_ context.Context, t *check.T, s check.Subject) {
	base := members(resolved(t, s.Op.Body.Examples[0].Value))
	base["as_of"] = pastMoment
	for _, body := range proposals(base) {
		r, ok := run(t, s.Op, body)
		if !ok || r.artifact == nil {
			t.Inconclusive("a proposal did not complete: %.200s", encode(r.job))
		}
		judgeProposal(t, body, at(r.artifact, "/data"))
	}
}

const weightTolerance = 1e-6

func judgeProposal(t *check.T, body map[string]any, data any) {
	const claim = "calculations.constraints"
	most, floor := 1.0, 0.0
	if v, ok := number(at(body, "/constraints/max_weight")); ok {
		most = v
	}
	if v, ok := number(at(body, "/constraints/cash_floor")); ok {
		floor = v
	}
	excluded := listAt(body, "/constraints/excluded")
	var names []any
	cash, finite := number(at(data, "/cash_weight"))
	t.Judge(claim, finite && cash >= floor-weightTolerance, fmt.Sprintf("cash of at least %v", floor), fmt.Sprint(at(data, "/cash_weight")))
	sum := cash
	for _, w := range listAt(data, "/weights") {
		name := at(w, "/instrument_id")
		names = append(names, name)
		x, ok := number(at(w, "/weight"))
		t.Judge(claim, ok && x >= 0 && x <= most+weightTolerance, fmt.Sprintf("a weight of %v from 0 to %v", name, most), fmt.Sprint(at(w, "/weight")))
		if slices.Contains(excluded, name) {
			t.Judge(claim, x == 0, fmt.Sprintf("no weight of %v, which is excluded", name), strconv.FormatFloat(x, 'g', -1, 64))
		}
		sum += x
	}
	t.Judge(claim, oracle.Equal(names, body["instrument_ids"]), fmt.Sprintf("weights in the order of the request: %s", encode(body["instrument_ids"])), string(encode(names)))
	t.Judge(claim, math.Abs(sum-1) <= weightTolerance, "weights and cash that are one together", strconv.FormatFloat(sum, 'g', -1, 64))
}

// curl sends the documents' command line. Where the target has other data than the examples, it is
// sent with what exists there.
func curl(_ context.Context, t *check.T, s check.Subject) {
	body, err := fixtures.FS.ReadFile("seer/invoke-market-bars.json")
	if err != nil {
		t.Inconclusive("%v", err)
	}
	key := "example-research-001"
	printed := decodedText(body)
	here := members(resolved(t, printed))
	if !oracle.Equal(printed, here) {
		body, key = encode(here), t.Key()
	}
	rq := wire.Request{Operation: s.Op.ID, Method: s.Op.Method, Target: s.Op.Path, Body: body, Fields: []wire.Field{
		{Name: "User-Agent", Value: "curl/8.5.0"},
		{Name: "Accept", Value: "*/*"},
		{Name: "Content-Type", Value: "application/json"},
		{Name: s.Op.Idempotency.Key.Name, Value: key},
	}}
	ex := t.Call(role, rq)
	t.Judge("tools.curl", ex.Status() == 200 && textAt(decoded(ex), "/tool") == textAt(here, "/tool"), "200 with a tool result", short(ex))
}
