package seer

import (
	"encoding/json"
	"fmt"
	"slices"

	"assay.kit/reference/seer/market"
	"assay.kit/reference/seer/model"
)

type objective struct {
	Kind     string   `json:"kind"` // minimum_variance or mean_variance
	Aversion *float64 `json:"risk_aversion,omitempty"`
}

type constraints struct {
	MaxWeight *float64 `json:"max_weight"`
	CashFloor *float64 `json:"cash_floor"`
	Excluded  []string `json:"excluded"`
}

type portfolioInput struct {
	Instruments []string     `json:"instrument_ids"`
	Objective   objective    `json:"objective"`
	Constraints *constraints `json:"constraints"`
	Lookback    *integer     `json:"lookback_sessions"`
	Notional    *money       `json:"notional"`
}

type proposalData struct {
	ID        string      `json:"proposal_id"`
	Origin    string      `json:"origin_at"`
	Objective objective   `json:"objective"`
	Unit      string      `json:"unit"`
	Weights   []weight    `json:"weights"`
	Cash      float64     `json:"cash_weight"`
	Expected  expectation `json:"expected"`
	Model     string      `json:"model_revision"`
	Snapshot  string      `json:"evidence_snapshot_id"`
}

type weight struct {
	Instrument string  `json:"instrument_id"`
	Weight     float64 `json:"weight"`
	Amount     *money  `json:"amount,omitempty"`
}

type expectation struct {
	Return     float64 `json:"return"`
	Volatility float64 `json:"volatility"`
}

// propose computes the artifact of portfolio.propose.
func (s *Seer) propose(t task) (any, error) {
	var in portfolioInput
	if err := json.Unmarshal(t.Input, &in); err != nil {
		return nil, err
	}
	lookback := 252
	if in.Lookback != nil {
		lookback = int(*in.Lookback)
	}
	ev, err := s.snapshot(in.Instruments, lookback+1, t)
	if err != nil {
		return nil, err
	}
	if n := len(ev.closes[0]); n <= lookback {
		return nil, fmt.Errorf("%w: %d closes for a lookback of %d sessions", model.ErrHistory, n, lookback)
	}
	p, err := model.Propose(ev.closes, in.mandate())
	if err != nil {
		return nil, err
	}
	out := proposalData{
		Origin: ev.origin, Objective: in.Objective, Unit: market.Fraction, Cash: float64(p.Cash) / model.Unit,
		Expected: expectation{p.Return, p.Volatility}, Model: t.Method, Snapshot: ev.id,
	}
	for i, n := range p.Weights {
		w := weight{Instrument: in.Instruments[i], Weight: float64(n) / model.Unit}
		if in.Notional != nil {
			if w.Amount, err = in.Notional.part(n, model.Unit); err != nil {
				return nil, err
			}
		}
		out.Weights = append(out.Weights, w)
	}
	out.ID, err = identity("pp", t, in, ev)
	return out, err
}

func (in portfolioInput) mandate() model.Mandate {
	m := model.Mandate{MaxWeight: 1}
	if in.Objective.Aversion != nil {
		m.Aversion = *in.Objective.Aversion
	}
	c := in.Constraints
	if c == nil {
		return m
	}
	if c.MaxWeight != nil {
		m.MaxWeight = *c.MaxWeight
	}
	if c.CashFloor != nil {
		m.CashFloor = *c.CashFloor
	}
	for _, id := range in.Instruments {
		m.Excluded = append(m.Excluded, slices.Contains(c.Excluded, id))
	}
	return m
}
