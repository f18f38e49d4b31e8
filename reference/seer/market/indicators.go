package market

import (
	"math"
	"time"

	"gonum.org/v1/gonum/stat"
)

// Indicator is a number computed from the closes up to a session.
type Indicator struct {
	Name   string `json:"name"` // sma, ema, momentum or volatility
	Window int    `json:"window"`
}

// Fraction is the unit of an indicator that is a ratio; others are in the listing's currency.
const Fraction = "fraction"

// Reading is what an indicator shows. Value is nil if the history is shorter than the indicator
// needs.
type Reading struct {
	Indicator
	Unit     string   `json:"unit"`
	Value    *float64 `json:"value"`
	Sessions int      `json:"sessions"` // observations that the value rests on
}

// Need is how many closes an indicator must have, and how many it uses if there are more.
func (i Indicator) Need() (least, most int) {
	switch i.Name {
	case "sma":
		return i.Window, i.Window
	case "ema":
		return i.Window, 4 * i.Window // older closes weigh less than a thousandth
	default:
		return i.Window + 1, i.Window + 1
	}
}

// Read computes the indicator for the last session that is complete at asOf.
func (m *Market) Read(l *Listing, i Indicator, adj Adjustment, asOf time.Time) Reading {
	out := Reading{Indicator: i, Unit: l.Currency}
	if i.Name == "momentum" || i.Name == "volatility" {
		out.Unit = Fraction
	}
	closes := m.Closes(l, i.most(), adj, asOf)
	if least, _ := i.Need(); len(closes) < least {
		return out
	}
	v := math.Round(i.of(closes)*1e6) / 1e6
	out.Value, out.Sessions = &v, len(closes)
	return out
}

func (i Indicator) most() int {
	_, most := i.Need()
	return most
}

// of computes the indicator of as many closes as it needs, ascending.
func (i Indicator) of(closes []float64) float64 {
	last := closes[len(closes)-1]
	switch i.Name {
	case "ema":
		ema := stat.Mean(closes[:i.Window], nil) // the usual seed
		weight := 2 / float64(i.Window+1)
		for _, c := range closes[i.Window:] {
			ema += weight * (c - ema)
		}
		return ema
	case "momentum":
		return last/closes[0] - 1
	case "volatility":
		returns := make([]float64, len(closes)-1)
		for k := range returns {
			returns[k] = closes[k+1]/closes[k] - 1
		}
		return stat.StdDev(returns, nil)
	default:
		return stat.Mean(closes, nil)
	}
}

// Closes are the last n closes that are complete at asOf, ascending and in currency; fewer if the
// history is shorter.
func (m *Market) Closes(l *Listing, n int, adj Adjustment, asOf time.Time) []float64 {
	r, ok := m.Latest(n, asOf)
	if !ok {
		return nil
	}
	bars := m.Series(l, r.First, r.Last, adj, asOf)
	closes := make([]float64, len(bars))
	for k, b := range bars {
		closes[k] = float64(b.Cents) / 100
	}
	return closes
}
