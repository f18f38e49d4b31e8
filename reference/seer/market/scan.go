package market

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Condition is what a scan looks for.
type Condition struct {
	Indicator Indicator `json:"indicator"`
	Operator  string    `json:"operator"` // above or below
	Threshold float64   `json:"threshold"`
}

// Match is a listing that meets a condition.
type Match struct {
	InstrumentID string  `json:"instrumentId"`
	Value        float64 `json:"value"`
	Unit         string  `json:"unit"`
}

// Scan looks at listings and returns those that meet the condition, the furthest beyond the
// threshold first and ties by id; unread are those whose history is too short to tell.
func (m *Market) Scan(universe []*Listing, c Condition, adj Adjustment, asOf time.Time) (matches []Match, unread []string) {
	matches = []Match{}
	for _, l := range universe {
		r := m.Read(l, c.Indicator, adj, asOf)
		switch {
		case r.Value == nil:
			unread = append(unread, l.ID)
		case c.Operator == "above" && *r.Value > c.Threshold, c.Operator == "below" && *r.Value < c.Threshold:
			matches = append(matches, Match{l.ID, *r.Value, r.Unit})
		}
	}
	slices.SortFunc(matches, func(a, b Match) int {
		strongest := cmp.Compare(b.Value, a.Value)
		if c.Operator == "below" {
			strongest = -strongest
		}
		return cmp.Or(strongest, strings.Compare(a.InstrumentID, b.InstrumentID))
	})
	return matches, unread
}
