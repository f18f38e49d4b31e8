// Package model computes forecasts and portfolio proposals from past closes. Its functions are pure:
// the same closes give the same numbers to the last digit.
package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// ErrHistory says that there are too few closes for what is asked.
var ErrHistory = errors.New("too little history")

// Estimate describes the distribution of a simple return, as fractions.
type Estimate struct {
	Mean      float64
	Quantiles []float64 // one a level, in the order of the levels
}

// minReturns is the least number of past returns that an empirical distribution is built from.
const minReturns = 20

// Forecast gives the empirical distribution of the simple return over horizon sessions: closes are
// ascending, levels are probabilities in ascending order. Windows overlap.
func Forecast(closes []float64, horizon int, levels []float64) (Estimate, error) {
	returns := Returns(closes, horizon)
	if len(returns) < minReturns {
		return Estimate{}, fmt.Errorf("%w: %d closes give %d returns over %d sessions, %d are needed",
			ErrHistory, len(closes), len(returns), horizon, minReturns)
	}
	e := Estimate{Mean: round(stat.Mean(returns, nil))}
	slices.Sort(returns)
	for _, p := range levels {
		e.Quantiles = append(e.Quantiles, round(stat.Quantile(p, stat.LinInterp, returns, nil)))
	}
	return e, nil
}

// Returns are the simple returns over horizon sessions, one a start; nil if there is none.
func Returns(closes []float64, horizon int) []float64 {
	if horizon < 1 || len(closes) <= horizon {
		return nil
	}
	rs := make([]float64, len(closes)-horizon)
	for i := range rs {
		rs[i] = closes[i+horizon]/closes[i] - 1
	}
	return rs
}

// round keeps six decimals: more would be noise of the method.
func round(x float64) float64 { return math.Round(x*digits) / digits }

const digits = 1e6
