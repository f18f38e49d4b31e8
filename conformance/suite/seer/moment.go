package seer

import (
	"context"
	"fmt"
	"slices"
	"time"
	_ "time/tzdata" // the machine may have no zone files, and sessions end at a New York time

	"pgregory.net/rapid"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/wire"
)

// exchangeZone is where the sessions of the examples' exchange end.
const exchangeZone = "America/New_York"

// mayEndAt is the earliest moment at which the session of a date may be over: four in the afternoon,
// or one o'clock on the days that the exchange is known to shorten.
func mayEndAt(date string, zone *time.Location) time.Time {
	d, err := time.ParseInLocation(time.DateOnly, date, zone)
	if err != nil {
		return time.Time{}
	}
	hour := 16
	month, dom := d.Month(), d.Day()
	shortened := month == time.July && dom <= 5 || month == time.December && dom >= 23 ||
		month == time.November && dom >= 22 && dom <= 30
	if shortened {
		hour = 13
	}
	return time.Date(d.Year(), month, dom, hour, 0, 0, 0, zone)
}

func barsPointInTime(_ context.Context, t *check.T, _ check.Subject) {
	zone, err := time.LoadLocation(exchangeZone)
	if err != nil {
		t.Inconclusive("the exchange's time zone is not known here: %v", err)
	}
	judgeNow(t, zone)
	query := longRange(t)
	query["start"] = before(fmt.Sprint(query["end"]), 60)
	all := mustBars(t, query)
	if len(all.sessions) < 10 {
		t.NoneApply("the target has too few sessions in the catalog's range")
		return
	}
	t.Property(func(t *check.T) {
		date := check.Draw(t, rapid.SampledFrom(all.sessions[5:]), "session")
		clock := check.Draw(t, rapid.SampledFrom([]string{"00:00:00", "09:00:00", "12:00:00", "15:59:59", "16:30:00", "23:59:59"}), "New York time")
		at, err := time.ParseInLocation("2006-01-02 15:04:05", date+" "+clock, zone)
		if err != nil {
			t.Inconclusive("%v", err)
		}
		judgeMoment(t, query, all.sessions, at, zone)
	})
	judgeFuture(t, query)
}

// judgeMoment asks for a range that goes beyond a moment, as of that moment.
func judgeMoment(t *check.T, query map[string]any, sessions []string, moment time.Time, zone *time.Location) {
	input := with(query, "as_of", moment.UTC().Format(time.RFC3339))
	s := mustBars(t, input)
	judgeCompleted(t, s, moment, zone)
	for _, d := range sessions {
		if mayEndAt(d, zone).Add(24 * time.Hour).Before(moment) {
			t.Must("tools.completed-all", slices.Contains(s.sessions, d), "session "+d+" as of "+moment.Format(time.RFC3339), fmt.Sprintf("%d sessions up to %s", len(s.sessions), lastOf(s.sessions)))
		}
	}
	again := mustBars(t, input)
	diff := oracle.Diff(s.body, again.body, []string{"/invocation_id"})
	t.Must("tools.reproducible", len(diff) == 0, "the same answer for the same as_of", fmt.Sprintf("different at %v", diff))
	if tokyo := time.FixedZone("", 9*3600); moment.Before(clock(t).Add(-24 * time.Hour)) { // the same instant, written elsewhere
		there := mustBars(t, with(input, "as_of", moment.In(tokyo).Format(time.RFC3339)))
		diff := oracle.Diff(s.body, there.body, []string{"/invocation_id", "/coverage/as_of", "/evidence"})
		t.Must("tools.reproducible", len(diff) == 0, "the same answer for the same instant with another offset", fmt.Sprintf("different at %v", diff))
	}
	def := mustBars(t, without(input, "start", "end"))
	judgeCompleted(t, def, moment, zone)
}

func judgeCompleted(t *check.T, s series, moment time.Time, zone *time.Location) {
	if last := lastOf(s.sessions); last != "" {
		t.Must("tools.completed-only", !mayEndAt(last, zone).After(moment), "no session that is not over at "+moment.In(zone).Format(time.RFC3339), "session "+last)
	}
}

func lastOf(sessions []string) string {
	if len(sessions) == 0 {
		return ""
	}
	return slices.Max(sessions)
}

// judgeNow judges the session of today.
func judgeNow(t *check.T, zone *time.Location) {
	s := mustBars(t, barsExampleInput(t, "default_history"))
	if asOf, err := time.Parse(time.RFC3339, textAt(s.body, "/coverage/as_of")); err == nil {
		judgeCompleted(t, s, asOf, zone)
	}
	today := clock(t).In(zone).Format(time.DateOnly)
	input := with(barsExampleInput(t, "default_history"), "start", before(today, 7))
	input["end"] = today
	s = mustBars(t, input)
	judgeCompleted(t, s, clock(t).Add(2*time.Second), zone)
}

// judgeFuture asks as of moments that have not come.
func judgeFuture(t *check.T, query map[string]any) {
	now := clock(t)
	for _, ahead := range []time.Duration{time.Hour, 24 * time.Hour, 2000 * 24 * time.Hour} {
		ex := askBars(t, with(query, "as_of", now.Add(ahead).UTC().Format(time.RFC3339)), "")
		t.Judge("tools.future-refused", ex.Status() == 400, "400 for an as_of that is "+ahead.String()+" ahead", short(ex))
	}
	ex := askBars(t, with(query, "as_of", now.Add(-time.Hour).UTC().Format(time.RFC3339)), "")
	t.Judge("tools.future-refused", admitted(ex), "a 2xx for an as_of an hour ago", short(ex))
}

const indicatorsTool = "market.indicators"

func indicators(_ context.Context, t *check.T, _ check.Subject) {
	_, by := catalog(t.Contract())
	if len(by[indicatorsTool]) == 0 {
		t.NoneApply("the contract has no tool " + indicatorsTool)
		return
	}
	input, _ := resolved(t, by[indicatorsTool][0].Examples[0].Value).(map[string]any)
	if plain := invokeIndicators(t, input); !admitted(plain) {
		if maybeUnpinned(t, indicatorsTool, plain) {
			t.NoneApply(notOpen(indicatorsTool))
			return
		}
		t.Inconclusive("the catalog's example of %s was answered %s", indicatorsTool, short(plain))
	}
	early := copyOf(input)
	early["as_of"] = "2010-03-01T00:00:00Z"
	early["indicators"] = []any{map[string]any{"name": "sma", "window": 1000}, map[string]any{"name": "momentum", "window": 1000}}
	ex := invokeIndicators(t, early)
	t.Must("tools.short-history", ex.Status() == 200, "200 for a window longer than the history", short(ex))
	r := decoded(ex)
	readings := listAt(r, "/data/indicators")
	t.Judge("tools.short-history", len(listAt(r, "/warnings")) > 0, "a warning", short(ex))
	for _, reading := range readings {
		t.Judge("tools.short-history", at(reading, "/value") == nil, "no value of an indicator that has too little history", string(encode(reading)))
	}
	t.Judge("tools.short-history", len(readings) == 2, "both indicators, in order", short(ex))
	usual := with(input, "as_of", "2026-10-03T00:00:00Z")
	one, two := invokeIndicators(t, usual), invokeIndicators(t, usual)
	diff := oracle.Diff(decoded(one), decoded(two), []string{"/invocation_id"})
	t.Judge("tools.reproducible", one.Status() == 200 && len(diff) == 0, "the same answer for the same as_of", fmt.Sprintf("%s, different at %v", short(two), diff))
	for _, reading := range listAt(decoded(one), "/data/indicators") {
		_, finite := number(at(reading, "/value"))
		t.Judge("tools.short-history", finite, "a value where the history is long enough", string(encode(reading)))
	}
}

func invokeIndicators(t *check.T, input map[string]any) wire.Exchange {
	return ask{op: "invokeTool", body: map[string]any{"agent_revision_id": agentRevision(t), "tool": indicatorsTool, "input": input}}.send(t)
}
