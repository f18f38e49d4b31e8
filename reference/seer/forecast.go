package seer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay.kit/reference/core"
	"assay.kit/reference/seer/market"
	"assay.kit/reference/seer/model"
)

// evidenceSessions is how much history a forecast looks at: about five years.
const evidenceSessions = 1260

type horizon struct {
	Value integer `json:"value"`
	Unit  string  `json:"unit"`
}

type forecastInput struct {
	Instrument string    `json:"instrument_id"`
	Target     string    `json:"target"`
	Horizon    horizon   `json:"horizon"`
	Levels     []float64 `json:"quantile_levels"`
}

type forecastData struct {
	ID         string   `json:"forecast_id"`
	Instrument string   `json:"instrument_id"`
	Origin     string   `json:"origin_at"`
	Target     string   `json:"target"`
	Horizon    horizon  `json:"horizon"`
	Unit       string   `json:"unit"`
	Model      string   `json:"model_revision"`
	Snapshot   string   `json:"evidence_snapshot_id"`
	Estimate   estimate `json:"estimate"`
	State      string   `json:"evaluation_state"`
}

type estimate struct {
	Mean      float64            `json:"mean"`
	Quantiles map[string]float64 `json:"quantiles"` // by level with two decimals
}

// forecast computes the artifact of forecast.create.
func (s *Seer) forecast(t task) (any, error) {
	var in forecastInput
	if err := json.Unmarshal(t.Input, &in); err != nil {
		return nil, err
	}
	if in.Levels == nil {
		in.Levels = []float64{0.05, 0.5, 0.95}
	}
	slices.Sort(in.Levels)
	ev, err := s.snapshot([]string{in.Instrument}, evidenceSessions, t)
	if err != nil {
		return nil, err
	}
	e, err := model.Forecast(ev.closes[0], int(in.Horizon.Value), in.Levels)
	if err != nil {
		return nil, err
	}
	quantiles := map[string]float64{}
	for i, p := range in.Levels {
		quantiles[fmt.Sprintf("%.2f", p)] = e.Quantiles[i]
	}
	id, err := identity("fc", t, in, ev)
	return forecastData{
		ID: id, Instrument: in.Instrument, Origin: ev.origin, Target: in.Target, Horizon: in.Horizon, Unit: market.Fraction,
		Model: strings.TrimPrefix(t.Model, "model:"), Snapshot: ev.id,
		Estimate: estimate{Mean: e.Mean, Quantiles: quantiles},
		// A forecast is kept as it was made; whether its time has come is not a property of it.
		State: "pending_outcome",
	}, err
}

// evidenceSet is what a computation rests on.
type evidenceSet struct {
	id     string
	origin string      // when the last session of it was complete
	closes [][]float64 // by instrument, ascending
}

// snapshot takes the last n closes of each instrument that are complete at the task's moment. Its id
// is a hash of all that it holds: the same evidence has the same id, and nothing else has.
func (s *Seer) snapshot(ids []string, n int, t task) (evidenceSet, error) {
	r, ok := s.market.Latest(n, t.AsOf)
	if !ok {
		return evidenceSet{}, fmt.Errorf("%w: no session is complete", model.ErrHistory)
	}
	ev := evidenceSet{origin: core.Timestamp(s.market.Calendar.Complete(r.Last))}
	h := sha256.New()
	for _, id := range ids {
		l, ok := s.market.Listing(id)
		if !ok {
			return ev, fmt.Errorf("no listing %s", id)
		}
		bars := s.market.Series(l, r.First, r.Last, market.SplitOnly, t.AsOf)
		closes := make([]float64, len(bars))
		fmt.Fprintf(h, "%s %s\n", id, market.SplitOnly)
		for i, b := range bars {
			closes[i] = float64(b.Cents) / 100
			fmt.Fprintf(h, "%s %d\n", b.Session, b.Cents)
		}
		ev.closes = append(ev.closes, closes)
	}
	ev.id = "snap_" + hex.EncodeToString(h.Sum(nil)[:16])
	return ev, nil
}

// identity names a computed thing by what determined it: workspace, configuration, question and
// evidence. A repetition has the same identity, because it is the same thing.
func identity(prefix string, t task, question any, ev evidenceSet) (string, error) {
	raw, err := json.Marshal([]any{t.Workspace, t.Revision, t.Method, question, ev.id})
	if err != nil {
		return "", fmt.Errorf("identity of a result: %w", err)
	}
	sum := sha256.Sum256(raw)
	return prefix + "_" + hex.EncodeToString(sum[:16]), nil
}
