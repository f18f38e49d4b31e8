package gen

import (
	"math/big"

	"pgregory.net/rapid"
)

// maxExact is the largest integer up to which a double names every integer (RFC 8259 §6).
const maxExact = 1<<53 - 1

// number draws within the bounds, edges first. fraction allows up to four decimals.
func (sh *shape) number(t *rapid.T, fraction bool) any {
	step := big.NewRat(1, 1)
	if fraction && rapid.Bool().Draw(t, "fraction") {
		step = big.NewRat(1, int64(rapid.SampledFrom([]int{10, 100, 10_000}).Draw(t, "decimals")))
	}
	if len(sh.multiples) > 0 {
		step = sh.multiples[0] // the caller filters by the others
	}
	if !fraction && !step.IsInt() {
		step = new(big.Rat).SetInt(step.Num()) // the integers among multiples of p/q in lowest terms
	}
	low, high := sh.steps(step)
	if low > high {
		return sh.between(t)
	}
	edges := []int64{low, high}
	if low <= 0 && high >= 0 {
		edges = append(edges, 0)
	}
	k := rapid.OneOf(rapid.Int64Range(low, high), rapid.SampledFrom(edges)).Draw(t, "number")
	return decimal(new(big.Rat).Mul(step, new(big.Rat).SetInt64(k)))
}

// steps gives the least and greatest multiple of step within the bounds, or within a window where
// there is no bound, and always where doubles are exact.
func (sh *shape) steps(step *big.Rat) (low, high int64) {
	window, limit := big.NewRat(1000, 1), big.NewRat(maxExact, 1)
	window.Mul(window, big.NewRat(1, 1).Add(step, big.NewRat(1, 1)))
	lo, hi := new(big.Rat).Neg(window), new(big.Rat).Set(window)
	switch {
	case sh.lo != nil && sh.hi != nil:
		lo, hi = sh.lo.at, sh.hi.at
	case sh.lo != nil:
		lo, hi = sh.lo.at, new(big.Rat).Add(sh.lo.at, window)
	case sh.hi != nil:
		lo, hi = new(big.Rat).Sub(sh.hi.at, window), sh.hi.at
	}
	if neg := new(big.Rat).Neg(limit); lo.Cmp(neg) < 0 {
		lo = neg
	}
	if hi.Cmp(limit) > 0 {
		hi = limit
	}
	a, exactA := floor(new(big.Rat).Quo(lo, step))
	if !exactA || sh.lo != nil && sh.lo.open && lo == sh.lo.at {
		a.Add(a, big.NewInt(1))
	}
	b, exactB := floor(new(big.Rat).Quo(hi, step))
	if exactB && sh.hi != nil && sh.hi.open && hi == sh.hi.at {
		b.Sub(b, big.NewInt(1))
	}
	if !a.IsInt64() || !b.IsInt64() {
		return 1, 0
	}
	return a.Int64(), b.Int64()
}

func floor(r *big.Rat) (n *big.Int, exact bool) {
	q, rest := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	return q, rest.Sign() == 0
}

// between is the middle of bounds that are closer than any step.
func (sh *shape) between(t *rapid.T) any {
	if sh.lo == nil || sh.hi == nil || sh.kinds&kFraction == 0 || len(sh.multiples) > 0 {
		t.Skip("no number fits")
	}
	sum := new(big.Rat).Add(sh.lo.at, sh.hi.at)
	return rapid.Just[any](decimal(sum.Quo(sum, big.NewRat(2, 1)))).Draw(t, "number")
}
