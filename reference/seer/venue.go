package seer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/seer/market"
)

// The venue keeps records of its own, numbered in its own order, which no key of a client enters.
const (
	kindExecution = "venue_execution"
	bucketVenue   = "seer venue"
	lastExecution = "last execution"
)

// order is an action as the venue sees it.
type order struct {
	Account    string `json:"account_id"`
	Instrument string `json:"instrument_id"`
	Side       string `json:"side"`
	Notional   money  `json:"notional"`
	Limit      *money `json:"limit_price"`
}

// execution is the venue's record of what it did with an order.
type execution struct {
	ID     string `json:"external_execution_id"`
	Action string `json:"action_id"`
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"` // of a rejection
	Price  string `json:"price,omitempty"`  // last close, of an execution
	At     string `json:"created_at"`
}

// execute lets the venue decide a submitted action and records the outcome on it. The venue is part
// of this process, so its record and the action change together, and neither a crash nor a replay
// can execute twice.
func (s *Seer) execute(sys core.System, w core.Writer, action core.Resource, auth authorization, now time.Time) *core.Problem {
	ex, err := s.decide(w, action, auth, now)
	if err != nil {
		return failed(sys)
	}
	body, err := encode(ex)
	if err != nil {
		return failed(sys)
	}
	_, err = w.Insert(core.Resource{
		Kind: kindExecution, ID: ex.ID, Workspace: action.Workspace, Client: action.Client, Created: now, State: ex.State, Body: body,
	})
	if err != nil {
		return failed(sys)
	}
	_, p := sys.Step(w, core.Resource{Kind: kindAction, ID: action.ID}, ex.State, func(body map[string]any) {
		body["external_execution_id"] = ex.ID
	})
	return p
}

func (s *Seer) decide(w core.Writer, action core.Resource, auth authorization, now time.Time) (execution, error) {
	var o order
	if err := json.Unmarshal(action.Body, &o); err != nil {
		return execution{}, err
	}
	ex := execution{Action: action.ID, State: "executed", At: core.Timestamp(now)}
	var err error
	if ex.ID, err = nextExecution(w); err != nil {
		return ex, err
	}
	last, traded := s.lastClose(o.Instrument, now)
	ex.Reason, err = refusal(w, o, auth, last, traded)
	switch {
	case err != nil:
		return ex, err
	case ex.Reason != "":
		ex.State = "rejected"
	default:
		ex.Price = decimal(last)
	}
	return ex, nil
}

// nextExecution numbers the venue's records.
func nextExecution(w core.Writer) (string, error) {
	last := 0
	v, err := w.Value(bucketVenue, lastExecution)
	switch {
	case errors.Is(err, core.ErrNotFound):
	case err != nil:
		return "", err
	default:
		if last, err = strconv.Atoi(string(v)); err != nil {
			return "", fmt.Errorf("number of the venue's last execution: %w", err)
		}
	}
	last++
	return fmt.Sprintf("venue-%08d", last), w.SetValue(bucketVenue, lastExecution, []byte(strconv.Itoa(last)))
}

// lastClose is the latest price in cents; false if the instrument was not traded yet.
func (s *Seer) lastClose(instrument string, now time.Time) (int64, bool) {
	l, listed := s.market.Listing(instrument)
	r, ok := s.market.Latest(1, now)
	if !listed || !ok {
		return 0, false
	}
	bars := s.market.Series(l, r.First, r.Last, market.None, now)
	return bars[0].Cents, true
}

// refusal is why the venue rejects an order, "" if it executes. The authorised maximum travels with
// the order: more than that is never executed.
func refusal(r core.Reader, o order, auth authorization, last int64, traded bool) (string, error) {
	most, err := readMoney(auth.Most)
	if err != nil {
		return "", err
	}
	within, err := most.covers(o.Notional)
	switch {
	case err != nil:
		return "", err
	case !within:
		return "over_authorized_notional", nil
	case !traded:
		return "no_market", nil
	}
	if o.Side == "buy" {
		// Balances are settled cash; that settlement changes them is not simulated.
		funded, err := funds(r, o)
		if err != nil || !funded {
			return "insufficient_funds", err
		}
	}
	if o.Limit == nil {
		return "", nil
	}
	price := money{Amount: strconv.FormatInt(last, 10), Asset: "USD", Scale: 2}
	better, worse := *o.Limit, price // a buyer's limit must be at least the price
	if o.Side == "sell" {
		better, worse = price, *o.Limit
	}
	met, err := better.covers(worse)
	if err != nil || met {
		return "", err
	}
	return "limit_not_met", nil
}

func funds(r core.Reader, o order) (bool, error) {
	res, err := r.Resource(kindAccount, o.Account)
	if err != nil {
		return false, err
	}
	var account struct {
		Balance money `json:"balance"`
	}
	if err := json.Unmarshal(res.Body, &account); err != nil {
		return false, err
	}
	return account.Balance.covers(o.Notional)
}
