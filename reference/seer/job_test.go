package seer

import (
	"encoding/json"
	"math"
	"slices"
	"sort"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func data[T any](t testing.TB, body map[string]any) T {
	t.Helper()
	raw, err := json.Marshal(body["data"])
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func forecastBody(extra map[string]any) map[string]any {
	body := map[string]any{
		"agent_revision_id": "agr_example_3", "instrument_id": apple, "target": "simple_price_return",
		"horizon": map[string]any{"value": 5, "unit": "trading_sessions"},
	}
	for name, v := range extra {
		body[name] = v
	}
	return body
}

func TestForecastJob(t *testing.T) {
	w := newWorld(t)
	accepted := w.do(request{op: "createForecast", body: forecastBody(map[string]any{"as_of": october})})
	job := w.do(request{op: "getJob", path: map[string]string{"job_id": accepted["job_id"].(string)}})
	if job["kind"] != "forecast" || job["agent_revision_id"] != "agr_example_3" || job["calculation_revision"] != "forecast-r1" {
		t.Errorf("job %v", job)
	}
	res := w.artifact(accepted)
	f := data[forecastData](t, res.Body)
	if f.Origin != "2026-10-02T20:05:00Z" || f.Model != "aura-example-r1" || f.Unit != "fraction" || f.State != "pending_outcome" || f.Horizon != (horizon{5, "trading_sessions"}) {
		t.Errorf("%+v", f)
	}
	q := f.Estimate.Quantiles
	if len(q) != 3 || q["0.05"] >= q["0.50"] || q["0.50"] >= q["0.95"] || q["0.05"] < -0.5 || q["0.95"] > 0.5 || f.Estimate.Mean == 0 {
		t.Errorf("estimate %+v", f.Estimate)
	}
	same(t, w.artifact(accepted).Body, res.Body) // a second attempt
}

// The same configuration and evidence give the same result, whenever and by whichever way it is asked.
func TestForecastRecoversFromItsSnapshot(t *testing.T) {
	w := newWorld(t)
	first := w.artifact(w.do(request{op: "createForecast", body: forecastBody(nil)}))
	w.clock.now = w.clock.now.Add(time.Hour) // no session ends
	input := forecastBody(map[string]any{"annotations": map[string]any{"desk": "rates"}})
	delete(input, "agent_revision_id")
	second := w.artifact(w.do(request{op: "invokeTool", body: invocationOf("forecast.create", input)}))
	same(t, second.Body["data"], first.Body["data"])
	w.clock.now = w.clock.now.Add(24 * time.Hour)
	third := w.artifact(w.do(request{op: "createForecast", body: forecastBody(nil)}))
	a, b := data[forecastData](t, first.Body), data[forecastData](t, third.Body)
	if a.Snapshot == b.Snapshot || a.ID == b.ID {
		t.Error("a session later the evidence is the same")
	}
}

func TestForecastQuantiles(t *testing.T) {
	w := newWorld(t)
	accepted := w.do(request{op: "createForecast", body: forecastBody(nil)})
	task := w.task(accepted)
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.SliceOfNDistinct(rapid.IntRange(1, 99), 1, 19, rapid.ID).Draw(t, "levels")
		in := forecastInput{Instrument: rapid.SampledFrom(w.seer.market.IDs()).Draw(t, "listing"), Horizon: horizon{Value: integer(rapid.IntRange(1, 252).Draw(t, "horizon"))}}
		for _, p := range levels {
			in.Levels = append(in.Levels, float64(p)/100)
		}
		task.Input, _ = json.Marshal(in)
		out, err := w.seer.forecast(task)
		if err != nil {
			t.Fatal(err)
		}
		q := out.(forecastData).Estimate.Quantiles
		names := make([]string, 0, len(q))
		for name := range q {
			names = append(names, name)
		}
		sort.Strings(names)
		if len(names) != len(levels) {
			t.Fatalf("%d quantiles for %d levels", len(names), len(levels))
		}
		for i, name := range names {
			v := q[name]
			if math.IsNaN(v) || math.IsInf(v, 0) || i > 0 && v < q[names[i-1]] {
				t.Fatalf("quantiles %v", q)
			}
		}
	})
}

func TestShortHistoryFailsTheJob(t *testing.T) {
	w := newWorld(t)
	for _, r := range []request{
		{op: "createForecast", body: forecastBody(map[string]any{"as_of": "2010-01-20T00:00:00Z"})},
		{op: "createForecast", body: forecastBody(map[string]any{"as_of": "1999-01-01T00:00:00Z"})},
		{op: "createPortfolioProposal", body: proposalBody(map[string]any{"as_of": "2010-06-01T00:00:00Z"})},
	} {
		if res := w.artifact(w.do(r)); res.ErrorCode != "INSUFFICIENT_HISTORY" {
			t.Errorf("%s: %+v", r.op, res)
		}
	}
}

func proposalBody(extra map[string]any) map[string]any {
	body := map[string]any{
		"agent_revision_id": "agr_example_3", "instrument_ids": []string{apple, amazon},
		"objective": map[string]any{"kind": "mean_variance", "risk_aversion": 3},
	}
	for name, v := range extra {
		body[name] = v
	}
	return body
}

func TestProposalJob(t *testing.T) {
	w := newWorld(t)
	accepted := w.do(request{op: "createPortfolioProposal", body: proposalBody(map[string]any{
		"constraints":       map[string]any{"max_weight": 0.4, "cash_floor": 0.25, "excluded": []string{amazon, "equity:listing:elsewhere"}},
		"lookback_sessions": 504, "as_of": october, "notional": map[string]any{"amount": "25000001", "asset": "EUR", "scale": 2},
	})})
	p := data[proposalData](t, w.artifact(accepted).Body)
	if len(p.Weights) != 2 || p.Weights[0].Instrument != apple || p.Weights[1].Weight != 0 || p.Weights[0].Weight > 0.4 {
		t.Errorf("weights %+v", p.Weights)
	}
	if math.Abs(p.Weights[0].Weight+p.Cash-1) > 1e-9 || p.Cash < 0.25 {
		t.Errorf("weight %v and cash %v", p.Weights[0].Weight, p.Cash)
	}
	if a := p.Weights[1].Amount; a == nil || *a != (money{"0", "EUR", 2}) {
		t.Errorf("amount %+v", a)
	}
	if p.Origin != "2026-10-02T20:05:00Z" || p.Model != "portfolio-r1" || p.Objective.Kind != "mean_variance" || *p.Objective.Aversion != 3 {
		t.Errorf("%+v", p)
	}
	least := data[proposalData](t, w.artifact(w.do(request{op: "createPortfolioProposal", body: proposalBody(map[string]any{
		"objective": map[string]any{"kind": "minimum_variance"}, "constraints": nil, "notional": nil,
	})})).Body)
	if least.Cash != 0 || least.Weights[0].Amount != nil || least.Expected.Volatility <= 0 {
		t.Errorf("least variance: %+v", least)
	}
	// A proposal is advice.
	for _, list := range []string{"listActions"} {
		if items := w.do(request{op: list})["items"].([]any); len(items) != 0 {
			t.Errorf("%s shows %v", list, items)
		}
	}
}

func TestScanJob(t *testing.T) {
	w := newWorld(t)
	ask := func(input map[string]any) (result, scanData) {
		accepted := w.do(request{op: "invokeTool", body: invocationOf("market.scan", input)})
		inv := w.do(request{op: "getToolInvocation", path: map[string]string{"invocation_id": accepted["invocation_id"].(string)}})
		same(t, inv, accepted)
		out := data[result](t, w.artifact(accepted).Body)
		if out.Invocation != accepted["invocation_id"] || out.Tool != "market.scan" {
			t.Errorf("%+v", out)
		}
		return out, data[scanData](t, map[string]any{"data": out.Data})
	}
	momentum := func(operator string) map[string]any {
		return map[string]any{"indicator": map[string]any{"name": "momentum", "window": 20}, "operator": operator, "threshold": 0}
	}
	_, up := ask(map[string]any{"condition": momentum("above"), "as_of": october})
	_, down := ask(map[string]any{"condition": momentum("below"), "as_of": october, "limit": 1})
	if up.Scanned != 6 || down.Scanned != 6 || len(down.Matches) > 1 {
		t.Errorf("%+v, %+v", up, down)
	}
	out, none := ask(map[string]any{"condition": momentum("above"), "as_of": "2010-01-09T00:00:00Z", "universe": []string{apple}})
	if none.Scanned != 0 || len(out.Warnings) != 1 || out.Status != "partial" || !slices.Equal(out.Coverage.Missing, []string{shortHistory}) {
		t.Errorf("%+v", out)
	}
	w.refused(request{op: "invokeTool", body: invocationOf("market.scan", map[string]any{"condition": momentum("above"), "universe": []string{"nobody"}})}, 404, "NOT_FOUND")
}

func TestRefusedJobs(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		name, who string
		extra     map[string]any
		status    int
		code      string
	}{
		{"future", "", map[string]any{"as_of": "2027-01-01T00:00:00Z"}, 400, "INVALID_REQUEST"},
		{"unknown instrument", "", map[string]any{"instrument_id": "nobody"}, 404, "NOT_FOUND"},
		{"revision without the tool", "", map[string]any{"agent_revision_id": "agr_example_1"}, 403, "FORBIDDEN"},
		{"foreign revision", "second_workspace", nil, 404, "NOT_FOUND"},
		{"entitlement", "without_entitlement", nil, 403, "FORBIDDEN"},
		{"budget", "exhausted_budget", nil, 403, "BUDGET_EXHAUSTED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.refused(request{op: "createForecast", who: c.who, body: forecastBody(c.extra)}, c.status, c.code)
		})
	}
	if items := w.do(request{op: "listJobs"})["items"].([]any); len(items) != 0 {
		t.Errorf("refusals left %v", items)
	}
}
