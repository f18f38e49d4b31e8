package market

import "time"

// Range is a span of session dates, both inclusive. They need not be sessions themselves.
type Range struct{ First, Last Date }

// Latest is the range of the last n sessions that are complete at asOf, fewer if there are fewer;
// false if there is none.
func (m *Market) Latest(n int, asOf time.Time) (Range, bool) {
	known := m.Calendar.Completed(asOf)
	if len(known) == 0 {
		return Range{}, false
	}
	return Range{First: known[max(0, len(known)-n)], Last: known[len(known)-1]}, true
}

// Page gives at most n bars of the range, from the first on, and where the rest begins if there is more.
func (m *Market) Page(l *Listing, r Range, adj Adjustment, asOf time.Time, n int) (bars []Bar, rest *Range) {
	wanted := Between(m.Calendar.Completed(asOf), r.First, r.Last)
	if len(wanted) > n {
		rest = &Range{First: wanted[n], Last: r.Last}
		r.Last = wanted[n-1]
	}
	return m.Series(l, r.First, r.Last, adj, asOf), rest
}

// Gap is a reason why sessions of a range have no bar.
type Gap string

// Gaps.
const (
	BeforeHistory Gap = "before_history"       // the source begins later
	NotComplete   Gap = "session_not_complete" // the session was not over at the moment of knowledge
)

// Gaps lists why the range is not covered whole at asOf; never nil.
func (m *Market) Gaps(r Range, asOf time.Time) []Gap {
	gaps := []Gap{}
	first := DateOf(time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC))
	if r.First < first && r.First <= r.Last {
		gaps = append(gaps, BeforeHistory)
	}
	// The next session is at most a long weekend away, so the calendar is not asked for the whole range.
	const soon = 14
	known := m.Calendar.Completed(asOf)
	from := max(r.First, first)
	if n := len(known); n > 0 {
		from = max(from, known[n-1]+1)
	}
	if from <= r.Last && len(Between(m.Calendar.Through(min(r.Last, from+soon)), from, r.Last)) > 0 {
		gaps = append(gaps, NotComplete)
	}
	return gaps
}
