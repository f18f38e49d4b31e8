package model

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"
)

func TestReturns(t *testing.T) {
	for _, c := range []struct {
		name    string
		closes  []float64
		horizon int
		want    []float64
	}{
		{"daily", []float64{100, 110, 99}, 1, []float64{0.1, -0.1}},
		{"overlapping", []float64{100, 110, 120, 132}, 2, []float64{0.2, 0.2}},
		{"one too few", []float64{100, 110}, 2, nil},
		{"no horizon", []float64{100, 110}, 0, nil},
	} {
		if got := Returns(c.closes, c.horizon); !floats.EqualApprox(got, c.want, 1e-12) || len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestForecastOfAKnownDistribution(t *testing.T) {
	closes := []float64{100}
	for range 100 {
		closes = append(closes, closes[len(closes)-1]*1.01)
	}
	got, err := Forecast(closes, 5, []float64{0.05, 0.5, 0.95})
	if err != nil {
		t.Fatal(err)
	}
	want := round(math.Pow(1.01, 5) - 1)
	if got.Mean != want || !slices.Equal(got.Quantiles, []float64{want, want, want}) {
		t.Errorf("%+v, want %f everywhere", got, want)
	}
}

func TestForecastNeedsHistory(t *testing.T) {
	if _, err := Forecast(make([]float64, 24), 5, []float64{0.5}); !errors.Is(err, ErrHistory) {
		t.Errorf("error %v, want %v", err, ErrHistory)
	}
}

func closesOf(t *rapid.T, n int, label string) []float64 {
	steps := rapid.SliceOfN(rapid.Float64Range(-0.1, 0.1), n, n).Draw(t, label)
	closes := []float64{100}
	for _, s := range steps {
		closes = append(closes, closes[len(closes)-1]*(1+s))
	}
	return closes
}

func TestForecastIsOrderedAndFinite(t *testing.T) {
	levels := []float64{0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99}
	rapid.Check(t, func(t *rapid.T) {
		closes := closesOf(t, rapid.IntRange(40, 120).Draw(t, "sessions"), "returns")
		horizon := rapid.IntRange(1, 20).Draw(t, "horizon")
		got, err := Forecast(closes, horizon, levels)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSorted(got.Quantiles) {
			t.Fatalf("quantiles fall: %v", got.Quantiles)
		}
		if math.IsNaN(got.Mean) || math.IsInf(got.Mean, 0) {
			t.Fatalf("mean %v", got.Mean)
		}
		returns := Returns(closes, horizon)
		below := 0
		for _, r := range returns {
			if r <= got.Quantiles[3]+1e-6 {
				below++
			}
		}
		if 2*below < len(returns)-1 {
			t.Fatalf("%d of %d returns are at or below the median", below, len(returns))
		}
	})
}

func TestProposalKeepsItsMandate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "instruments")
		closes := make([][]float64, n)
		for i := range closes {
			closes[i] = closesOf(t, 40, "returns")
		}
		m := Mandate{
			Aversion:  rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1e-6, 100)).Draw(t, "aversion"),
			MaxWeight: rapid.Float64Range(0.001, 1).Draw(t, "max weight"),
			CashFloor: rapid.Float64Range(0, 0.999).Draw(t, "cash floor"),
			Excluded:  rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "excluded"),
		}
		p, err := Propose(closes, m)
		if err != nil {
			t.Fatal(err)
		}
		sum, room := p.Cash, 0.0
		for i, w := range p.Weights {
			sum += w
			if w < 0 || float64(w) > m.MaxWeight*Unit+1e-6 || m.Excluded[i] && w != 0 {
				t.Fatalf("weight %d of %d parts breaks %+v", i, w, m)
			}
			if !m.Excluded[i] {
				room += m.MaxWeight
			}
		}
		if sum != Unit {
			t.Fatalf("weights and cash are %d parts", sum)
		}
		if float64(p.Cash) < m.CashFloor*Unit-1e-6 {
			t.Fatalf("%d parts of cash, want at least %f", p.Cash, m.CashFloor*Unit)
		}
		if most := 1 - min(1-m.CashFloor, room); m.Aversion == 0 && float64(p.Cash) > most*Unit+float64(n)+1 {
			t.Fatalf("least variance leaves %d parts in cash, want %f", p.Cash, most*Unit)
		}
		if p.Volatility < 0 || math.IsNaN(p.Return) {
			t.Fatalf("%+v", p)
		}
	})
}

// No small shift of weight between two instruments, or to and from cash, is worth more.
func TestProposalIsOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		closes := [][]float64{closesOf(t, 60, "a"), closesOf(t, 60, "b"), closesOf(t, 60, "c")}
		m := Mandate{Aversion: rapid.Float64Range(0.1, 20).Draw(t, "aversion"), MaxWeight: 0.5, CashFloor: 0.1}
		if rapid.Bool().Draw(t, "least variance") {
			m.Aversion = 0
		}
		mean, cov, err := moments(closes)
		if err != nil {
			t.Fatal(err)
		}
		value := func(w []float64) float64 {
			v, aversion := 0.0, 1.0
			if m.Aversion > 0 {
				v, aversion = floats.Dot(mean, w), m.Aversion
			}
			for i := range w {
				for j := range w {
					v -= aversion / 2 * w[i] * w[j] * cov.At(i, j)
				}
			}
			return v
		}
		f := m.feasible(3)
		w := optimise(mean, cov, m.Aversion, f)
		best := value(w)
		for i := range 4 {
			for j := range 4 { // the fourth is cash
				moved := slices.Clone(w)
				if i < 3 {
					moved[i] += 1e-3
				}
				if j < 3 {
					moved[j] -= 1e-3
				}
				sum := floats.Sum(moved)
				legal := sum <= f.budget+1e-12 && (f.spare || sum >= f.budget-1e-12)
				for k := range moved {
					legal = legal && moved[k] >= 0 && moved[k] <= f.caps[k]
				}
				if legal && value(moved) > best+1e-8 {
					t.Fatalf("%v is worth %v, but %v is worth %v", w, best, moved, value(moved))
				}
			}
		}
	})
}

func TestLeastVarianceOfTwo(t *testing.T) {
	wide, narrow := []float64{100}, []float64{100} // uncorrelated, one with twice the deviation
	for i := range 40 {
		a, b := 0.02, 0.01
		if i%2 == 1 {
			a = -a
		}
		if i%4 > 1 {
			b = -b
		}
		wide, narrow = append(wide, wide[i]*(1+a)), append(narrow, narrow[i]*(1+b))
	}
	p, err := Propose([][]float64{wide, narrow}, Mandate{MaxWeight: 1})
	if err != nil {
		t.Fatal(err)
	}
	// Weights go as the inverse variances: 1 to 4.
	if math.Abs(float64(p.Weights[0])-200_000) > 5 || p.Weights[0]+p.Weights[1] != Unit {
		t.Errorf("weights %v, want 200000 and 800000", p.Weights)
	}
}

func TestProposalNeedsHistory(t *testing.T) {
	long := make([]float64, 60)
	for i := range long {
		long[i] = 100 + float64(i%7)
	}
	for name, closes := range map[string][][]float64{
		"nothing to hold": nil,
		"short":           {long[:20], long[:20]},
		"ragged":          {long, long[:40]},
	} {
		if _, err := Propose(closes, Mandate{MaxWeight: 1}); !errors.Is(err, ErrHistory) {
			t.Errorf("%s: error %v, want %v", name, err, ErrHistory)
		}
	}
	if _, err := Propose([][]float64{long[:21]}, Mandate{MaxWeight: 1}); err != nil {
		t.Errorf("just enough: %v", err)
	}
}
