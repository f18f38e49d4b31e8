package market

import (
	"math"
	"slices"
	"sync"
	"time"
)

// Adjustment says which corporate actions a close is corrected for, as known at a moment.
type Adjustment string

// Adjustments: none gives the price as it was traded; split_only restates it in the shares of the
// latest session; total_return also takes out the drop that each dividend made.
const (
	None        Adjustment = "none"
	SplitOnly   Adjustment = "split_only"
	TotalReturn Adjustment = "total_return"
)

// Bar is one completed session.
type Bar struct {
	Session Date
	Cents   int64 // close
	Volume  int64 // shares traded, in the shares of that day
}

// Market answers every question about listings. It is safe for concurrent use.
type Market struct {
	Calendar *Calendar
	order    []string
	listings map[string]*Listing

	mu    sync.RWMutex
	walks map[string][]int64 // by listing: micro-dollars, all splits applied; index = session number
}

// New builds the exchange.
func New() (*Market, error) {
	c, err := NewCalendar()
	if err != nil {
		return nil, err
	}
	m := &Market{Calendar: c, listings: map[string]*Listing{}, walks: map[string][]int64{}}
	for _, l := range listings() {
		m.order = append(m.order, l.ID)
		m.listings[l.ID] = l
	}
	return m, nil
}

// IDs lists all listings in a fixed order.
func (m *Market) IDs() []string { return slices.Clone(m.order) }

// Listing returns the listing with this id.
func (m *Market) Listing(id string) (*Listing, bool) {
	l, ok := m.listings[id]
	return l, ok
}

// Series gives the bars of a listing for the sessions first..last that are complete at asOf,
// ascending, with the corporate actions known at asOf applied.
func (m *Market) Series(l *Listing, first, last Date, adj Adjustment, asOf time.Time) []Bar {
	known := m.Calendar.Completed(asOf)
	wanted := Between(known, first, last)
	if len(wanted) == 0 {
		return nil
	}
	from, _ := slices.BinarySearch(known, wanted[0])
	latest := known[len(known)-1]
	walk := m.walk(l, len(known))
	bars := make([]Bar, len(wanted))
	factor := 1.0 // what the dividends after the session take off its close
	for i := len(known) - 1; i >= from; i-- {
		s := known[i]
		cents := l.traded(walk[i], s)
		if k := i - from; k < len(bars) {
			bars[k] = Bar{Session: s, Cents: l.adjust(cents, s, latest, adj, factor), Volume: l.volume(s)}
		}
		if adj == TotalReturn && i > 0 && l.pays(known[i-1], s) {
			before := l.traded(walk[i-1], known[i-1])
			factor *= 1 - float64(l.dividend(before))/float64(before)
		}
	}
	return bars
}

// traded is the close in cents as it was traded, before any later split.
func (l *Listing) traded(micro int64, session Date) int64 {
	const centMicros = 10_000
	shares := l.splitAfter(session, math.MaxInt32)
	return max(1, (micro*shares+centMicros/2)/centMicros)
}

func (l *Listing) adjust(cents int64, session, latest Date, adj Adjustment, factor float64) int64 {
	if adj == None {
		return cents
	}
	shares := l.splitAfter(session, latest)
	return max(1, int64(math.Round(float64(cents)/float64(shares)*factor)))
}

// dividend is the payout in cents a share after a close of so many cents.
func (l *Listing) dividend(before int64) int64 {
	return (before*l.payout.yieldPPM + 500_000) / 1_000_000
}

// volume is between one and nine million shares.
func (l *Listing) volume(session Date) int64 {
	return 1_000_000 + int64(mix(l.seed^mix(uint64(uint32(session))))%8_000_000)
}

// walk returns the listing's prices of at least the first n sessions, by session number.
func (m *Market) walk(l *Listing, n int) []int64 {
	m.mu.RLock()
	w := m.walks[l.ID]
	m.mu.RUnlock()
	if len(w) >= n {
		return w
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	w = m.walks[l.ID]
	if len(w) == 0 {
		w = l.history(m.Calendar.Through(anchorSession()))
	}
	if len(w) < n {
		w = l.onward(w, m.sessions(n))
	}
	m.walks[l.ID] = w
	return w
}

// sessions are the first n sessions; the caller has seen n of them, so they are known.
func (m *Market) sessions(n int) []Date {
	year := firstYear
	for {
		if s := m.Calendar.Through(DateOf(time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC))); len(s) >= n {
			return s[:n]
		}
		year++
	}
}

// history walks forward from the first session to the anchor and then scales the whole, so that the
// anchor has exactly its price and the shape does not depend on it.
func (l *Listing) history(sessions []Date) []int64 {
	w := l.onward([]int64{l.anchor}, sessions)
	last := w[len(w)-1]
	for i := range w {
		w[i] = scale(w[i], l.anchor, last)
	}
	return w
}

// onward appends the prices of the sessions that w does not reach. A weak pull to the anchor price,
// with a half-life of about two years, keeps a walk of any length between a fraction and a small
// multiple of it.
func (l *Listing) onward(w []int64, sessions []Date) []int64 {
	const pullPPM = 2_800
	w = slices.Grow(w, len(sessions)-len(w))
	for _, s := range sessions[len(w):] {
		p := w[len(w)-1]
		r := l.step(s)
		if _, fixed := l.pinned[s]; !fixed {
			r += pullPPM * (l.anchor - p) / (l.anchor + p)
		}
		w = append(w, p+scale(p, r, 1_000_000))
	}
	return w
}

// scale is v*by/of, rounded toward zero. With prices below 3000 dollars no product overflows.
func scale(v, by, of int64) int64 { return v/of*by + v%of*by/of }
