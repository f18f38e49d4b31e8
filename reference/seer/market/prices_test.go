package market

import (
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const apple = "equity:listing:apple-common-xnas"

func listing(t testing.TB, m *Market, id string) *Listing {
	t.Helper()
	l, ok := m.Listing(id)
	if !ok {
		t.Fatalf("no listing %s", id)
	}
	return l
}

func TestPinnedCloses(t *testing.T) {
	m := newMarket(t)
	for _, asOf := range []string{"2026-10-03T00:00:00Z", "2026-11-30T12:00:00Z", "2031-01-02T00:00:00Z"} {
		bars := m.Series(listing(t, m, apple), date(t, "2026-10-01"), date(t, "2026-10-02"), SplitOnly, instant(t, asOf))
		if len(bars) != 2 || bars[0].Cents != 10000 || bars[1].Cents != 10200 {
			t.Errorf("as of %s: %+v, want closes 10000 and 10200", asOf, bars)
		}
	}
}

func TestSplitIsAppliedOnceKnown(t *testing.T) {
	m := newMarket(t)
	l := listing(t, m, apple)
	first, last := date(t, "2020-08-28"), date(t, "2020-08-31") // 4 for 1 on the 31st
	closes := func(adj Adjustment, asOf string) []int64 {
		var cs []int64
		for _, b := range m.Series(l, first, last, adj, instant(t, asOf)) {
			cs = append(cs, b.Cents)
		}
		return cs
	}
	before, traded, after := closes(SplitOnly, "2020-08-29T00:00:00Z"), closes(None, "2020-09-01T00:00:00Z"), closes(SplitOnly, "2020-09-01T00:00:00Z")
	if before[0] != traded[0] {
		t.Errorf("before the split is known the close is %d, want it as traded, %d", before[0], traded[0])
	}
	if want := (traded[0] + 2) / 4; after[0] != want {
		t.Errorf("after a 4 for 1 split %d is restated as %d, want %d", traded[0], after[0], want)
	}
	if after[1] != traded[1] {
		t.Errorf("the ex-date itself is restated from %d to %d", traded[1], after[1])
	}
	if jump := float64(after[1]) / float64(after[0]); jump < 0.8 || jump > 1.2 {
		t.Errorf("restated closes jump by %f over the split", jump)
	}
}

func TestTotalReturnTakesOutDividends(t *testing.T) {
	m := newMarket(t)
	asOf := instant(t, "2026-08-11T00:00:00Z") // ex-date 2026-08-10
	l := listing(t, m, apple)
	first, last := date(t, "2026-08-07"), date(t, "2026-08-10")
	split, total := m.Series(l, first, last, SplitOnly, asOf), m.Series(l, first, last, TotalReturn, asOf)
	want := split[0].Cents - l.dividend(split[0].Cents)
	if l.dividend(split[0].Cents) == 0 || total[0].Cents != want {
		t.Errorf("the close before the ex-date is %d, want %d less a dividend = %d", total[0].Cents, split[0].Cents, want)
	}
	if total[1] != split[1] {
		t.Errorf("the ex-date differs: %+v and %+v", total[1], split[1])
	}
	none := listing(t, m, "equity:listing:amazon-common-xnas")
	year := date(t, "2026-01-01")
	if !slices.Equal(m.Series(none, year, last, SplitOnly, asOf), m.Series(none, year, last, TotalReturn, asOf)) {
		t.Error("a listing that pays nothing has a total return of its own")
	}
}

// A close must not depend on what was asked before, by whom, or how long the range is.
func TestSeriesIsAPureFunction(t *testing.T) {
	whole := newMarket(t)
	end := instant(t, "2026-11-30T12:00:00Z")
	all := map[string][]Bar{}
	for _, id := range whole.IDs() {
		all[id] = whole.Series(listing(t, whole, id), date(t, "2010-01-01"), date(t, "2026-12-31"), TotalReturn, end)
	}
	fresh := newMarket(t)
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom(fresh.IDs()).Draw(t, "listing")
		bars := all[id]
		i := rapid.IntRange(0, len(bars)-1).Draw(t, "from")
		j := rapid.IntRange(i, len(bars)-1).Draw(t, "to")
		got := fresh.Series(fresh.listings[id], bars[i].Session, bars[j].Session, TotalReturn, end)
		if !slices.Equal(got, bars[i:j+1]) {
			t.Fatalf("%s %s..%s differs from the same part of the whole", id, bars[i].Session, bars[j].Session)
		}
	})
}

func TestPricesAreUsable(t *testing.T) {
	m := newMarket(t)
	if n := len(m.IDs()); n != 6 {
		t.Fatalf("%d listings, want 6", n)
	}
	asOf := instant(t, "2060-01-01T00:00:00Z")
	for _, id := range m.IDs() {
		bars := m.Series(listing(t, m, id), date(t, "2010-01-01"), date(t, "2060-01-01"), SplitOnly, asOf)
		if len(bars) < 12000 {
			t.Fatalf("%s: %d sessions in fifty years", id, len(bars))
		}
		var sum, squares float64
		for i, b := range bars[1:] {
			r := math.Log(float64(b.Cents) / float64(bars[i].Cents))
			if math.Abs(r) > 0.25 {
				t.Errorf("%s: a return of %f on %s", id, r, b.Session)
			}
			sum, squares = sum+r, squares+r*r
		}
		n := float64(len(bars) - 1)
		volatility := math.Sqrt(squares/n-sum/n*sum/n) * math.Sqrt(252)
		if volatility < 0.1 || volatility > 0.5 {
			t.Errorf("%s: annual volatility %f", id, volatility)
		}
		low, high := bars[0].Cents, bars[0].Cents
		for _, b := range bars {
			low, high = min(low, b.Cents), max(high, b.Cents)
		}
		if low < 300 || high > 1_000_000 {
			t.Errorf("%s: closes from %d to %d cents", id, low, high)
		}
	}
}

func TestListingsDiffer(t *testing.T) {
	m := newMarket(t)
	asOf := instant(t, "2026-11-30T12:00:00Z")
	a := m.Series(listing(t, m, apple), date(t, "2026-01-01"), date(t, "2026-06-30"), None, asOf)
	for _, id := range m.IDs()[1:] {
		b := m.Series(listing(t, m, id), date(t, "2026-01-01"), date(t, "2026-06-30"), None, asOf)
		same := 0
		for i := 1; i < len(a); i++ {
			if (a[i].Cents > a[i-1].Cents) == (b[i].Cents > b[i-1].Cents) {
				same++
			}
		}
		if share := float64(same) / float64(len(a)-1); share > 0.75 {
			t.Errorf("%s goes the way of the first listing on %.0f%% of days", id, 100*share)
		}
	}
}

func TestConcurrentReadersSeeOneMarket(t *testing.T) {
	m := newMarket(t)
	l := listing(t, m, apple)
	results := make([][]Bar, 8)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			asOf := time.Date(2027+i, 1, 5, 0, 0, 0, 0, time.UTC) // each makes the walk longer
			results[i] = m.Series(l, date(t, "2026-01-01"), date(t, "2026-12-31"), SplitOnly, asOf)
		})
	}
	wg.Wait()
	for i, r := range results {
		if !slices.Equal(r, results[0]) {
			t.Errorf("reader %d sees another 2026", i)
		}
	}
}
