package model

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Mandate says what a portfolio is to be good at, and within which bounds. It is long-only.
type Mandate struct {
	Aversion  float64 // to variance; 0 asks for the least variance and leaves no more in cash than it must
	MaxWeight float64 // of one instrument
	CashFloor float64
	Excluded  []bool // by instrument; nil excludes none
}

// Unit is the number of parts that a whole portfolio is divided into.
const Unit = 1_000_000

// Proposal is a portfolio in parts of Unit, which add up exactly with the cash.
type Proposal struct {
	Weights    []int64
	Cash       int64
	Return     float64 // expected over one session, as a fraction
	Volatility float64 // of one session
}

// Propose maximises return - aversion/2 * variance over the weights that the mandate allows, with
// the rest in cash. Each row of closes is one instrument's, ascending, all of the same sessions.
// The error is ErrHistory.
func Propose(closes [][]float64, m Mandate) (Proposal, error) {
	mean, cov, err := moments(closes)
	if err != nil {
		return Proposal{}, err
	}
	f := m.feasible(len(closes))
	w := f.whole(optimise(mean, cov, m.Aversion, f))
	p := Proposal{Weights: w, Cash: Unit}
	part := mat.NewVecDense(len(w), nil)
	for i, n := range w {
		p.Cash -= n
		part.SetVec(i, float64(n)/Unit)
	}
	p.Return = round(floats.Dot(mean, part.RawVector().Data))
	p.Volatility = round(math.Sqrt(max(0, mat.Inner(part, cov, part))))
	return p, nil
}

// moments are the means and covariances of the returns of single sessions.
func moments(closes [][]float64) ([]float64, *mat.SymDense, error) {
	n := len(closes)
	if n == 0 || len(closes[0]) <= minReturns {
		return nil, nil, fmt.Errorf("%w: covariances need at least %d closes", ErrHistory, minReturns+1)
	}
	rows := len(closes[0]) - 1
	returns := mat.NewDense(rows, n, nil)
	mean := make([]float64, n)
	for j, c := range closes {
		if len(c) != rows+1 {
			return nil, nil, fmt.Errorf("%w: instruments have closes of different sessions", ErrHistory)
		}
		r := Returns(c, 1)
		returns.SetCol(j, r)
		mean[j] = stat.Mean(r, nil)
	}
	cov := mat.NewSymDense(n, nil)
	stat.CovarianceMatrix(cov, returns, nil)
	return mean, cov, nil
}

// feasible are the weights between zero and a cap each, whose sum is the budget or, if spare cash is
// allowed, at most that.
type feasible struct {
	caps   []float64
	budget float64
	spare  bool
}

func (m Mandate) feasible(n int) feasible {
	f := feasible{caps: make([]float64, n), spare: m.Aversion > 0}
	for i := range f.caps {
		if i >= len(m.Excluded) || !m.Excluded[i] {
			f.caps[i] = m.MaxWeight
		}
	}
	f.budget = min(1-m.CashFloor, floats.Sum(f.caps))
	return f
}

// optimise is projected gradient ascent. The objective is concave and its gradient changes by no
// more than aversion times the largest row sum of the covariances, so the step size converges.
func optimise(mean []float64, cov *mat.SymDense, aversion float64, f feasible) []float64 {
	const rounds, enough, largest = 5000, 1e-10, 1e6
	n := len(mean)
	pull := mean
	if aversion == 0 {
		aversion, pull = 1, make([]float64, n)
	}
	w, next := f.nearest(make([]float64, n)), make([]float64, n)
	step := min(1/(aversion*mat.Norm(cov, math.Inf(1))), largest)
	risk := mat.NewVecDense(n, nil)
	for range rounds {
		risk.MulVec(cov, mat.NewVecDense(n, w))
		for i := range next {
			next[i] = w[i] + step*(pull[i]-aversion*risk.AtVec(i))
		}
		to := f.nearest(next)
		moved := floats.Distance(to, w, math.Inf(1))
		w = to
		if moved < enough {
			break
		}
	}
	return w
}

// nearest projects v: all members shifted by one amount and clamped. The amount is found by
// bisection, since the clamped sum falls as it grows.
func (f feasible) nearest(v []float64) []float64 {
	w := make([]float64, len(v))
	shifted := func(by float64) float64 {
		for i := range v {
			w[i] = min(max(v[i]-by, 0), f.caps[i])
		}
		return floats.Sum(w)
	}
	if sum := shifted(0); f.spare && sum <= f.budget {
		return w
	}
	lo, hi := floats.Min(v)-1, floats.Max(v)
	for range 100 {
		by := lo + (hi-lo)/2
		if shifted(by) > f.budget {
			lo = by
		} else {
			hi = by
		}
	}
	shifted(hi)
	return w
}

// whole rounds the weights to parts of Unit and takes what rounding added from those that have it,
// so that neither a cap nor the budget is exceeded.
func (f feasible) whole(w []float64) []int64 {
	const slack = 1e-6 // of a part: what floating point loses on a bound that is a whole number of parts
	parts := make([]int64, len(w))
	left := int64(math.Floor(f.budget*Unit + slack))
	for i, x := range w {
		parts[i] = min(int64(math.Round(x*Unit)), int64(math.Floor(f.caps[i]*Unit+slack)))
		left -= parts[i]
	}
	for i := range parts {
		if left < 0 {
			take := min(-left, parts[i])
			parts[i] -= take
			left += take
		}
	}
	return parts
}
