package market

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func date(t testing.TB, s string) Date {
	t.Helper()
	d, err := ParseDate(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func instant(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func newMarket(t testing.TB) *Market {
	t.Helper()
	m, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Days as the exchange announced them; 2026 by rule.
func TestTradingDays(t *testing.T) {
	c := newMarket(t).Calendar
	for day, open := range map[string]bool{
		"2010-12-31": true,  // New Year's Day 2011 was a Saturday: no Friday off
		"2021-12-31": true,  // likewise
		"2012-01-02": false, // New Year's Day 2012 was a Sunday
		"2023-01-02": false,
		"2012-10-29": false, // hurricane
		"2012-10-31": true,
		"2018-12-05": false, // day of mourning
		"2025-01-09": false,
		"2021-06-18": true,  // Juneteenth not yet kept
		"2022-06-20": false, // first one kept, on Monday
		"2026-06-19": false,
		"2026-07-03": false, // the fourth is a Saturday
		"2026-07-02": true,
		"2021-07-05": false, // the fourth was a Sunday
		"2026-11-26": false, // Thanksgiving
		"2026-11-27": true,  // closes early, but trades
		"2026-04-03": false, // Good Friday
		"2024-03-29": false,
		"2019-04-19": false,
		"2026-01-19": false, // Martin Luther King Jr.
		"2026-02-16": false, // Presidents
		"2026-05-25": false, // Memorial
		"2026-09-07": false, // Labor
		"2026-10-12": true,  // Columbus Day is no exchange holiday
		"2026-11-11": true,  // nor is Veterans Day
		"2020-12-25": false,
		"2021-12-24": false, // Christmas on a Saturday
		"2022-12-26": false,
		"2026-10-03": false, // Saturday
		"2026-10-01": true,
		"2026-10-02": true,
	} {
		d := date(t, day)
		if got := slices.Contains(c.Through(d), d); got != open {
			t.Errorf("%s: a trading session: %v, want %v", day, got, open)
		}
	}
}

func TestSessionsPerYear(t *testing.T) {
	c := newMarket(t).Calendar
	for year, want := range map[int]int{2010: 252, 2012: 250, 2018: 251, 2021: 252, 2022: 251, 2023: 250, 2024: 252, 2025: 250} {
		first := DateOf(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC))
		last := DateOf(time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC))
		if got := len(Between(c.Through(last), first, last)); got != want {
			t.Errorf("%d: %d sessions, want %d", year, got, want)
		}
	}
}

func TestCompleteFollowsDaylightSaving(t *testing.T) {
	c := newMarket(t).Calendar
	for day, want := range map[string]string{
		"2026-10-01": "2026-10-01T20:05:00Z",
		"2026-10-30": "2026-10-30T20:05:00Z",
		"2026-11-02": "2026-11-02T21:05:00Z",
		"2026-03-06": "2026-03-06T21:05:00Z",
		"2026-03-09": "2026-03-09T20:05:00Z",
	} {
		if got := c.Complete(date(t, day)).Format(time.RFC3339); got != want {
			t.Errorf("%s is complete at %s, want %s", day, got, want)
		}
	}
}

func TestCompletedNeverHoldsARunningSession(t *testing.T) {
	c := newMarket(t).Calendar
	for asOf, want := range map[string]string{
		"2026-10-02T20:04:59Z":      "2026-10-01",
		"2026-10-02T20:05:00Z":      "2026-10-02",
		"2026-10-03T00:00:00Z":      "2026-10-02",
		"2026-10-05T03:00:00Z":      "2026-10-02",
		"2026-10-02T16:05:00-04:00": "2026-10-02",
		"2026-07-05T12:00:00Z":      "2026-07-02",
	} {
		days := c.Completed(instant(t, asOf))
		if got := days[len(days)-1].String(); got != want {
			t.Errorf("latest session at %s is %s, want %s", asOf, got, want)
		}
	}
	if got := c.Completed(instant(t, "2009-12-31T23:00:00Z")); len(got) != 0 {
		t.Errorf("%d sessions before the history", len(got))
	}
}

func TestCompletedIsMonotone(t *testing.T) {
	c := newMarket(t).Calendar
	base := instant(t, "2010-01-01T00:00:00Z")
	rapid.Check(t, func(t *rapid.T) {
		at := base.Add(time.Duration(rapid.Int64Range(0, 20*365*86400).Draw(t, "second")) * time.Second)
		days := c.Completed(at)
		if n := len(days); n > 0 && c.Complete(days[n-1]).After(at) {
			t.Fatalf("at %s the session %s counts but is complete only at %s", at, days[n-1], c.Complete(days[n-1]))
		}
		later := c.Through(DateOf(at) + 10)
		if next := later[len(days)]; !c.Complete(next).After(at) {
			t.Fatalf("at %s the session %s is complete but does not count", at, next)
		}
	})
}

func FuzzParseDate(f *testing.F) {
	for _, s := range []string{"2026-10-01", "2026-02-30", "", "0000-01-01", "9999-12-31", "2026-1-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDate(s)
		if err == nil && d.String() != s {
			t.Fatalf("%q reads as %s", s, d)
		}
	})
}
