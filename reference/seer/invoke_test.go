package seer

import (
	"maps"
	"slices"
	"testing"
	"time"

	"assay.kit/spec"
)

func exampleOf(t *testing.T, op *spec.Operation, status int, name string) map[string]any {
	t.Helper()
	for _, e := range op.Answers[status].Examples {
		if e.Name == name {
			v, _ := e.Value.(map[string]any)
			return maps.Clone(v)
		}
	}
	t.Fatalf("%s %d has no example %s", op.ID, status, name)
	return nil
}

func TestDocumentedBars(t *testing.T) {
	w := newWorld(t)
	got := w.do(request{op: "invokeTool", body: invocationOf("market.bars", map[string]any{
		"instrumentId": apple, "start": "2026-10-01", "end": "2026-10-02", "interval": "1d", "adjustment": "split_only", "as_of": october,
	})})
	again := w.do(request{op: "getToolInvocation", path: map[string]string{"invocation_id": got["invocation_id"].(string)}})
	same(t, again, got)
	want := exampleOf(t, w.contract.Op("invokeTool"), 200, "market_bars")
	delete(got, "invocation_id")
	delete(want, "invocation_id")
	same(t, got, want)
}

func TestDefaultBars(t *testing.T) {
	w := newWorld(t)
	got := w.do(request{op: "invokeTool", body: invocationOf("market.bars", map[string]any{"instrumentId": apple})})
	data := got["data"].(map[string]any)
	observations := data["observations"].([]any)
	last := observations[len(observations)-1].(map[string]any)
	coverage := got["coverage"].(map[string]any)
	if len(observations) != 252 || last["session"] != "2026-11-27" || data["adjustment"] != "split_only" || got["next_cursor"] != nil {
		t.Errorf("%d observations to %v, %v, next %v", len(observations), last["session"], data["adjustment"], got["next_cursor"])
	}
	if coverage["as_of"] != "2026-11-30T12:00:00Z" || coverage["requested_end"] != "2026-11-27T23:59:59Z" {
		t.Errorf("coverage %v", coverage)
	}
	if first := observations[0].(map[string]any)["session"].(string) + "T00:00:00Z"; coverage["requested_start"] != first {
		t.Errorf("coverage starts %v, the observations %s", coverage["requested_start"], first)
	}
}

// A running session has no bar, to the minute.
func TestBarsFollowTheClock(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct{ now, last string }{
		{"2026-11-30T21:04:59Z", "2026-11-27"},
		{"2026-11-30T21:05:00Z", "2026-11-30"},
		{"2027-07-02T20:05:00Z", "2027-07-02"},
		{"2027-07-05T23:00:00Z", "2027-07-02"},
	} {
		w.clock.now, _ = time.Parse(time.RFC3339, c.now)
		got := w.do(request{op: "invokeTool", body: invocationOf("market.bars", map[string]any{"instrumentId": apple})})
		observations := got["data"].(map[string]any)["observations"].([]any)
		if last := observations[len(observations)-1].(map[string]any)["session"]; last != c.last {
			t.Errorf("at %s the last session is %v, want %s", c.now, last, c.last)
		}
	}
}

func TestBarsWalk(t *testing.T) {
	w := newWorld(t)
	query := map[string]any{"instrumentId": amazon, "start": "2015-01-01", "end": "2026-09-30", "adjustment": "none", "as_of": october}
	input := query
	var sessions []string
	var coverages []any
	for pages := 0; ; pages++ {
		if pages > 10 {
			t.Fatal("the walk does not end")
		}
		got := w.do(request{op: "invokeTool", body: invocationOf("market.bars", input)})
		observations := got["data"].(map[string]any)["observations"].([]any)
		for _, o := range observations {
			sessions = append(sessions, o.(map[string]any)["session"].(string))
		}
		coverages = append(coverages, got["coverage"])
		if got["next_cursor"] == nil {
			break
		}
		if len(observations) != 1000 {
			t.Fatalf("a page of %d with more to come", len(observations))
		}
		if pages%2 == 0 { // the rest may be left out or repeated
			input = map[string]any{"instrumentId": amazon, "cursor": got["next_cursor"]}
		} else {
			input = maps.Clone(query)
			input["cursor"] = got["next_cursor"]
		}
	}
	if !slices.IsSorted(sessions) || len(slices.Compact(slices.Clone(sessions))) != len(sessions) || len(coverages) != 3 {
		t.Errorf("%d sessions over %d pages, not each once and in order", len(sessions), len(coverages))
	}
	if sessions[0] != "2015-01-02" || sessions[len(sessions)-1] != "2026-09-30" {
		t.Errorf("from %s to %s", sessions[0], sessions[len(sessions)-1])
	}
	for _, c := range coverages[1:] {
		same(t, c, coverages[0])
	}
}

func TestCursorIsBoundToItsQuery(t *testing.T) {
	w := newWorld(t)
	query := map[string]any{"instrumentId": apple, "start": "2015-01-01", "end": "2026-09-30"}
	first := w.do(request{op: "invokeTool", body: invocationOf("market.bars", query)})
	cursor := first["next_cursor"]
	with := func(name string, v any) map[string]any {
		return map[string]any{"instrumentId": apple, "cursor": cursor, name: v}
	}
	for name, input := range map[string]map[string]any{
		"another instrument":  with("instrumentId", amazon),
		"another adjustment":  with("adjustment", "none"),
		"another as_of":       with("as_of", october),
		"another range":       {"instrumentId": apple, "cursor": cursor, "start": "2015-01-02", "end": "2026-09-30"},
		"no cursor of ours":   with("cursor", "k1.AAAA"),
		"an empty cursor":     with("cursor", ""),
		"the page after that": with("cursor", cursor.(string)+"A"),
	} {
		t.Run(name, func(t *testing.T) {
			w.refused(request{op: "invokeTool", body: invocationOf("market.bars", input)}, 400, "CURSOR_INVALID")
		})
	}
	good := with("instrumentId", apple)
	w.refused(request{op: "invokeTool", who: "second_client", body: invocationOf("market.bars", good)}, 400, "CURSOR_INVALID")
	w.refused(request{op: "invokeTool", body: map[string]any{"agent_revision_id": "agr_example_4", "tool": "market.bars", "input": good}}, 400, "CURSOR_INVALID")
	w.do(request{op: "invokeTool", body: invocationOf("market.bars", with("as_of", "2026-11-30T13:00:00+01:00"))})
	w.clock.now = w.clock.now.Add(901 * time.Second)
	w.refused(request{op: "invokeTool", body: invocationOf("market.bars", good)}, 410, "CURSOR_EXPIRED")
}

func TestPinnedSchemaRevision(t *testing.T) {
	w := newWorld(t)
	input := map[string]any{"instrumentId": apple, "start": "2026-10-01", "end": "2026-10-02", "include_volume": true}
	p := w.refused(request{op: "invokeTool", body: invocationOf("market.bars", input)}, 400, "INVALID_REQUEST")
	if len(p.Violations) != 1 || p.Violations[0].Pointer != "/input/include_volume" {
		t.Errorf("violations %v", p.Violations)
	}
	body := map[string]any{"agent_revision_id": "agr_example_4", "tool": "market.bars", "input": input}
	got := w.do(request{op: "invokeTool", body: body})
	for _, o := range got["data"].(map[string]any)["observations"].([]any) {
		if o.(map[string]any)["volume"] == nil {
			t.Errorf("no volume in %v", o)
		}
	}
	body["input"] = map[string]any{"instrumentId": apple, "start": "2026-10-01", "end": "2026-10-02", "include_volume": false}
	got = w.do(request{op: "invokeTool", body: body})
	if o := got["data"].(map[string]any)["observations"].([]any)[0].(map[string]any); o["volume"] != nil {
		t.Errorf("a volume that was not asked for: %v", o)
	}
}

func TestRefusedInvocations(t *testing.T) {
	w := newWorld(t)
	bars := func(name string, v any) map[string]any {
		in := map[string]any{"instrumentId": apple}
		in[name] = v
		return invocationOf("market.bars", in)
	}
	ranged := func(start, end string) map[string]any {
		return invocationOf("market.bars", map[string]any{"instrumentId": apple, "start": start, "end": end})
	}
	good := bars("instrumentId", apple)
	other := maps.Clone(good)
	other["agent_revision_id"] = "agr_unknown"
	for _, c := range []struct {
		name, who string
		body      map[string]any
		status    int
		code      string
	}{
		{"as_of in the future", "", bars("as_of", "2026-11-30T12:00:01Z"), 400, "INVALID_REQUEST"},
		{"inverted range", "", ranged("2026-10-02", "2026-10-01"), 400, "INVALID_REQUEST"},
		{"start alone", "", bars("start", "2026-10-01"), 400, "INVALID_REQUEST"},
		{"no date", "", ranged("2026-02-30", "2026-10-01"), 400, "INVALID_REQUEST"},
		{"agent identity in the input", "", bars("agent_id", "agent_example"), 400, "INVALID_REQUEST"},
		{"unknown instrument", "", bars("instrumentId", "equity:listing:nobody-xnas"), 404, "NOT_FOUND"},
		{"unknown revision", "", other, 404, "NOT_FOUND"},
		{"foreign revision", "second_workspace", good, 404, "NOT_FOUND"},
		{"tool not pinned", "", map[string]any{"agent_revision_id": "agr_example_1", "tool": "market.indicators",
			"input": map[string]any{"instrumentId": apple, "indicators": []any{map[string]any{"name": "sma", "window": 2}}}}, 403, "FORBIDDEN"},
		{"scope of the tool", "without_scope", good, 403, "FORBIDDEN"},
		{"entitlement", "without_entitlement", good, 403, "FORBIDDEN"},
		{"budget", "exhausted_budget", good, 403, "BUDGET_EXHAUSTED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.refused(request{op: "invokeTool", who: c.who, body: c.body}, c.status, c.code)
		})
	}
}

func TestGrantsAreJudgedNow(t *testing.T) {
	w := newWorld(t)
	call := request{op: "invokeTool", body: invocationOf("market.bars", map[string]any{"instrumentId": apple})}
	p := w.principals["primary"]
	p.Grants = []string{grantForecast, grantPortfolio}
	w.principals["primary"] = p
	if refusal := w.refused(call, 403, "FORBIDDEN"); refusal.Required != grantMarket {
		t.Errorf("required %q", refusal.Required)
	}
	p.Grants = Holdings().Grants
	w.principals["primary"] = p
	w.do(call)
	narrow := w.do(request{op: "createAgentRevision", path: map[string]string{"agent_id": "narrow"}, body: map[string]any{
		"model_binding": "model:m", "instructions": "i", "tool_versions": map[string]string{"market.bars": "1.0"},
		"grant_refs": []string{grantForecast}, "service_budget_ref": budget,
	}})
	call.body = map[string]any{"agent_revision_id": narrow["id"], "tool": "market.bars", "input": map[string]any{"instrumentId": apple}}
	if refusal := w.refused(call, 403, "FORBIDDEN"); refusal.Required != grantMarket {
		t.Errorf("required %q", refusal.Required)
	}
}

func TestIncompleteCoverageIsSaid(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		start, end, asOf, status string
		reasons                  []any
		observations             int
	}{
		{"2026-10-01", "2026-10-30", october, "partial", []any{"session_not_complete"}, 2},
		{"2009-12-01", "2010-01-05", october, "partial", []any{"before_history"}, 2},
		{"2026-10-03", "2026-10-04", october, "complete", []any{}, 0},
		{"0000-01-01", "9999-12-31", "2010-01-05T00:00:00Z", "partial", []any{"before_history", "session_not_complete"}, 1},
		{"2009-01-01", "2009-01-05", "2009-06-30T23:59:60Z", "partial", []any{"before_history"}, 0},
	} {
		got := w.do(request{op: "invokeTool", body: invocationOf("market.bars", map[string]any{
			"instrumentId": apple, "start": c.start, "end": c.end, "as_of": c.asOf})})
		reasons := got["coverage"].(map[string]any)["missing_reasons"]
		n := len(got["data"].(map[string]any)["observations"].([]any))
		if got["status"] != c.status || n != c.observations {
			t.Errorf("%s..%s: %v with %d observations, want %s with %d", c.start, c.end, got["status"], n, c.status, c.observations)
		}
		same(t, reasons, c.reasons)
	}
}

func TestIndicatorsWarnOfShortHistory(t *testing.T) {
	w := newWorld(t)
	got := w.do(request{op: "invokeTool", body: `{"agent_revision_id": "agr_example_3", "tool": "market.indicators", "input": {
		"instrumentId": "` + apple + `", "as_of": "2010-01-09T00:00:00Z",
		"indicators": [{"name": "sma", "window": 2.0}, {"name": "volatility", "window": 1e2}]}}`})
	readings := got["data"].(map[string]any)["indicators"].([]any)
	if first := readings[0].(map[string]any); first["value"] == nil || first["unit"] != "USD" {
		t.Errorf("%v", first)
	}
	if second := readings[1].(map[string]any); second["value"] != nil || second["unit"] != "fraction" {
		t.Errorf("%v", second)
	}
	if warnings := got["warnings"].([]any); len(warnings) != 1 || got["status"] != "partial" {
		t.Errorf("status %v, warnings %v", got["status"], warnings)
	}
}

func TestInstants(t *testing.T) {
	for text, want := range map[string]string{
		"2026-10-03T00:00:00Z":           "2026-10-03T00:00:00Z",
		"2026-10-02t20:00:00-04:00":      "2026-10-03T00:00:00Z",
		"2016-12-31T23:59:60z":           "2017-01-01T00:00:00Z",
		"2016-12-31T23:59:60.5Z":         "2017-01-01T00:00:00Z",
		"2026-10-03T00:00:00.123456789Z": "2026-10-03T00:00:00.123456789Z",
		"0000-01-01T00:00:00+23:59":      "",
		"2026-10-03":                     "",
		"2026-13-03T00:00:00Z":           "",
	} {
		got, ok := parseInstant(text)
		if ok != (want != "") || ok && got.Format(time.RFC3339Nano) != want {
			t.Errorf("%s reads as %v, %v; want %q", text, got, ok, want)
		}
	}
}

func FuzzParseInstant(f *testing.F) {
	for _, s := range []string{october, "2016-12-31T23:59:60Z", "", "2026-10-02T20:00:00.5-04:00", "x0000-01-01T00:60:00Z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, ok := parseInstant(s)
		if !ok {
			return
		}
		if again, ok := parseInstant(at.Format(time.RFC3339Nano)); !ok || !again.Equal(at) {
			t.Fatalf("%q reads as %v, and that as %v", s, at, again)
		}
	})
}
