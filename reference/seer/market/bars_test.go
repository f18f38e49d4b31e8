package market

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestLatest(t *testing.T) {
	m := newMarket(t)
	asOf := instant(t, "2026-10-03T00:00:00Z")
	r, ok := m.Latest(252, asOf)
	if !ok || r.Last != date(t, "2026-10-02") {
		t.Fatalf("%v %v", r, ok)
	}
	if n := len(Between(m.Calendar.Completed(asOf), r.First, r.Last)); n != 252 {
		t.Errorf("%d sessions", n)
	}
	if r, _ := m.Latest(1_000_000, asOf); r.First != date(t, "2010-01-04") {
		t.Errorf("the history begins on %s", r.First)
	}
	if _, ok := m.Latest(1, instant(t, "2010-01-04T12:00:00Z")); ok {
		t.Error("a session before the first one is complete")
	}
}

func TestPagesEqualTheWhole(t *testing.T) {
	m := newMarket(t)
	asOf := instant(t, "2026-10-03T00:00:00Z")
	all := m.Calendar.Completed(asOf)
	rapid.Check(t, func(t *rapid.T) {
		l := m.listings[rapid.SampledFrom(m.IDs()).Draw(t, "listing")]
		adj := rapid.SampledFrom([]Adjustment{None, SplitOnly, TotalReturn}).Draw(t, "adjustment")
		i := rapid.IntRange(0, len(all)-1).Draw(t, "from")
		r := Range{all[i] - 1, all[rapid.IntRange(i, len(all)-1).Draw(t, "to")] + 1}
		size := rapid.IntRange(200, 1500).Draw(t, "page")
		var got []Bar
		for rest := &r; rest != nil; {
			var page []Bar
			page, rest = m.Page(l, *rest, adj, asOf, size)
			if len(page) > size || rest != nil && len(page) < size {
				t.Fatalf("a page of %d bars, rest %v", len(page), rest)
			}
			got = append(got, page...)
		}
		if !slices.Equal(got, m.Series(l, r.First, r.Last, adj, asOf)) {
			t.Fatal("the pages together differ from one long slice")
		}
		for k := 1; k < len(got); k++ {
			if got[k].Session <= got[k-1].Session {
				t.Fatalf("%s follows %s", got[k].Session, got[k-1].Session)
			}
		}
	})
}

func TestGaps(t *testing.T) {
	m := newMarket(t)
	for _, c := range []struct {
		name, first, last string
		want              []Gap
	}{
		{"the documents' example", "2026-10-01", "2026-10-02", []Gap{}},
		{"ends on the weekend after", "2026-10-01", "2026-10-04", []Gap{}},
		{"a session too far", "2026-10-01", "2026-10-05", []Gap{NotComplete}},
		{"only later sessions", "2026-10-06", "2026-10-07", []Gap{NotComplete}},
		{"only a weekend", "2026-10-03", "2026-10-04", []Gap{}},
		{"far ahead", "9999-01-01", "9999-12-31", []Gap{NotComplete}},
		{"before the history", "2009-12-31", "2010-01-08", []Gap{BeforeHistory}},
		{"from the holiday that opens the first year", "2010-01-01", "2010-01-08", []Gap{}},
		{"everything", "0000-01-01", "9999-12-31", []Gap{BeforeHistory, NotComplete}},
	} {
		got := m.Gaps(Range{date(t, c.first), date(t, c.last)}, instant(t, "2026-10-03T00:00:00Z"))
		if !slices.Equal(got, c.want) || got == nil {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestIndicatorsOfKnownCloses(t *testing.T) {
	for _, c := range []struct {
		name   string
		window int
		closes []float64
		want   float64
	}{
		{"sma", 3, []float64{1, 2, 6}, 3},
		{"ema", 2, []float64{1, 3, 5}, 2 + 2.0/3*3},
		{"momentum", 2, []float64{100, 50, 110}, 0.1},
		{"volatility", 2, []float64{100, 110, 99}, math.Sqrt(0.02)},
	} {
		got := Indicator{c.name, c.window}.of(c.closes)
		if math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s of %v is %v, want %v", c.name, c.closes, got, c.want)
		}
	}
}

func TestReadWithTooLittleHistory(t *testing.T) {
	m := newMarket(t)
	l := m.listings[apple]
	asOf := instant(t, "2010-01-09T00:00:00Z") // five sessions
	for _, c := range []struct {
		indicator Indicator
		sessions  int // 0: no value
	}{
		{Indicator{"sma", 5}, 5},
		{Indicator{"sma", 6}, 0},
		{Indicator{"ema", 5}, 5},
		{Indicator{"ema", 2}, 5},
		{Indicator{"momentum", 4}, 5},
		{Indicator{"momentum", 5}, 0},
		{Indicator{"volatility", 2}, 3},
	} {
		r := m.Read(l, c.indicator, SplitOnly, asOf)
		if (r.Value != nil) != (c.sessions > 0) || r.Sessions != c.sessions {
			t.Errorf("%+v: %+v, want %d sessions", c.indicator, r, c.sessions)
		}
	}
}

func TestScan(t *testing.T) {
	m := newMarket(t)
	var all []*Listing
	for _, id := range m.IDs() {
		all = append(all, m.listings[id])
	}
	asOf := instant(t, "2026-10-03T00:00:00Z")
	rapid.Check(t, func(t *rapid.T) {
		c := Condition{
			Indicator: Indicator{rapid.SampledFrom([]string{"sma", "ema", "momentum", "volatility"}).Draw(t, "name"), rapid.IntRange(2, 300).Draw(t, "window")},
			Operator:  rapid.SampledFrom([]string{"above", "below"}).Draw(t, "operator"),
			Threshold: rapid.Float64Range(-0.1, 0.1).Draw(t, "threshold"),
		}
		matches, unread := m.Scan(all, c, SplitOnly, asOf)
		other := c
		other.Operator = map[string]string{"above": "below", "below": "above"}[c.Operator]
		rest, _ := m.Scan(all, other, SplitOnly, asOf)
		if len(unread) != 0 || len(matches)+len(rest) != len(all) {
			t.Fatalf("%d match, %d match the opposite, %d unread, of %d", len(matches), len(rest), len(unread), len(all))
		}
		for k, match := range matches {
			r := m.Read(m.listings[match.InstrumentID], c.Indicator, SplitOnly, asOf)
			if *r.Value != match.Value || (match.Value > c.Threshold) != (c.Operator == "above") {
				t.Fatalf("%+v does not meet %+v", match, c)
			}
			if k > 0 && (match.Value > matches[k-1].Value) == (c.Operator == "above") && match.Value != matches[k-1].Value {
				t.Fatalf("%+v is out of order after %+v", match, matches[k-1])
			}
		}
	})
}
