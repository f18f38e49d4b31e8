package seer

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"assay.kit/reference/core"
)

// binding ties an action to its authorisation. It is kept with the action, out of sight.
type binding struct {
	Authorization string `json:"authorization,omitempty"`
	Submission    string `json:"submission,omitempty"`
}

// authorization is the right to submit one action once.
type authorization struct {
	ID      string          `json:"authorization_id"`
	Action  string          `json:"action_id"`
	State   string          `json:"state,omitempty"`
	Most    json.RawMessage `json:"max_notional"`
	Created string          `json:"created_at"`
	Expires string          `json:"expires_at"`
}

const defaultValidity = 900 * time.Second

// prepareAction resolves account and instrument; the action itself is what was sent.
func (s *Seer) prepareAction(ctx context.Context, sys core.System, r *core.Request) (any, *core.Problem) {
	var body struct {
		Account    string `json:"account_id"`
		Instrument string `json:"instrument_id"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return nil, failed(sys)
	}
	var p *core.Problem
	err := sys.Store().View(ctx, func(rd core.Reader) error {
		_, p = sys.Find(rd, r.Principal, kindAccount, body.Account)
		return nil
	})
	if err != nil {
		return nil, failed(sys)
	}
	if p == nil {
		_, p = s.listing(sys, body.Instrument)
	}
	return nil, p
}

// authorize binds a new authorisation to a proposed action. An authorisation that has run out holds
// its action no longer, so the action counts as proposed again.
func (s *Seer) authorize(sys core.System, w core.Writer, r *core.Request, _ any) (core.Answer, *core.Problem) {
	action, p := sys.Find(w, r.Principal, kindAction, r.Path["action_id"])
	if p != nil {
		return core.Answer{}, p
	}
	if action, p = s.lapse(sys, w, action, r.Now); p != nil {
		return core.Answer{}, p
	}
	var in struct {
		Most  json.RawMessage `json:"max_notional"`
		Valid *integer        `json:"valid_seconds"`
	}
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return core.Answer{}, failed(sys)
	}
	valid := defaultValidity
	if in.Valid != nil {
		valid = time.Duration(*in.Valid) * time.Second
	}
	auth := authorization{
		ID: sys.NewID("auth"), Action: action.ID, Most: in.Most,
		Created: core.Timestamp(r.Now), Expires: core.Timestamp(r.Now.Add(valid)),
	}
	if p := s.bind(sys, w, action, "authorized", binding{Authorization: auth.ID}); p != nil {
		return core.Answer{}, p
	}
	body, err := encode(auth)
	if err != nil {
		return core.Answer{}, failed(sys)
	}
	res, err := sys.Create(w, r.Principal, core.Resource{Kind: kindAuthorization, ID: auth.ID, Body: body})
	if err != nil {
		return core.Answer{}, failed(sys)
	}
	return core.Answer{Status: 201, Body: res.Body}, nil
}

// bind moves an action and notes what it is bound to.
func (s *Seer) bind(sys core.System, w core.Writer, action core.Resource, to string, b binding) *core.Problem {
	var err error
	if action.Private, err = json.Marshal(b); err != nil {
		return failed(sys)
	}
	_, p := sys.Step(w, action, to, nil)
	return p
}

// bound reads what an action is bound to.
func bound(action core.Resource) (b binding, err error) {
	if len(action.Private) > 0 {
		err = json.Unmarshal(action.Private, &b)
	}
	return b, err
}

// lapse expires the authorisation of an authorised action if its time is over, and gives the action back.
func (s *Seer) lapse(sys core.System, w core.Writer, action core.Resource, now time.Time) (core.Resource, *core.Problem) {
	b, err := bound(action)
	if err != nil {
		return action, failed(sys)
	}
	if action.State != "authorized" || b.Authorization == "" {
		return action, nil
	}
	res, auth, err := readAuthorization(w, b.Authorization)
	if err != nil {
		return action, failed(sys)
	}
	if !auth.over(now) || res.State != "active" {
		return action, nil
	}
	if _, p := sys.Step(w, res, "expired", nil); p != nil {
		return action, p
	}
	action.Private = json.RawMessage("{}")
	return sys.Step(w, action, "proposed", nil)
}

func readAuthorization(r core.Reader, id string) (core.Resource, authorization, error) {
	res, err := r.Resource(kindAuthorization, id)
	if err != nil {
		return res, authorization{}, err
	}
	var auth authorization
	err = json.Unmarshal(res.Body, &auth)
	return res, auth, err
}

// over reports whether the authorisation's time has passed. A time that cannot be read has.
func (a authorization) over(now time.Time) bool {
	until, err := time.Parse(time.RFC3339, a.Expires)
	return err != nil || !now.Before(until)
}

// revoke takes an authorisation back, and with it its action. One that is no longer active stays
// what it is.
func (s *Seer) revoke(sys core.System, w core.Writer, r *core.Request, _ any) (core.Answer, *core.Problem) {
	res, p := sys.Find(w, r.Principal, kindAuthorization, r.Path["authorization_id"])
	if p != nil {
		return core.Answer{}, p
	}
	var auth authorization
	if err := json.Unmarshal(res.Body, &auth); err != nil {
		return core.Answer{}, failed(sys)
	}
	if res.State != "active" {
		return core.Answer{Status: 200, Body: res.Body}, nil
	}
	to := "revoked"
	if auth.over(r.Now) {
		to = "expired"
	}
	if res, p = sys.Step(w, res, to, nil); p != nil {
		return core.Answer{}, p
	}
	action, err := w.Resource(kindAction, auth.Action)
	if err != nil {
		return core.Answer{}, failed(sys)
	}
	if p := s.bind(sys, w, action, "proposed", binding{}); p != nil {
		return core.Answer{}, p
	}
	return core.Answer{Status: 200, Body: res.Body}, nil
}

type submission struct {
	ID            string `json:"submission_id"`
	Action        string `json:"action_id"`
	Authorization string `json:"authorization_id"`
	URL           string `json:"action_url"`
	Created       string `json:"created_at"`
}

// submit uses an authorisation up and hands its action to the venue. All is judged in the admission
// transaction: of two submissions at the same time one finds the authorisation used.
func (s *Seer) submit(sys core.System, w core.Writer, r *core.Request, _ any) (core.Answer, *core.Problem) {
	var in struct {
		Authorization string `json:"authorization_id"`
	}
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return core.Answer{}, failed(sys)
	}
	action, p := sys.Find(w, r.Principal, kindAction, r.Path["action_id"])
	if p != nil {
		return core.Answer{}, p
	}
	if _, p := sys.Find(w, r.Principal, kindAuthorization, in.Authorization); p != nil {
		return core.Answer{}, p
	}
	res, auth, err := readAuthorization(w, in.Authorization)
	switch {
	case err != nil:
		return core.Answer{}, failed(sys)
	case auth.Action != action.ID:
		return core.Answer{}, forbidden(sys, "authorization", "The authorisation is bound to another action.")
	case res.State != "active" || auth.over(r.Now):
		return core.Answer{}, forbidden(sys, "authorization", "The authorisation is revoked, expired or used up.")
	}
	sub := submission{
		ID: sys.NewID("sub"), Action: action.ID, Authorization: auth.ID, Created: core.Timestamp(r.Now),
		URL: s.actionURL(action.ID),
	}
	if p := s.bind(sys, w, action, "submitted", binding{Authorization: auth.ID, Submission: sub.ID}); p != nil {
		return core.Answer{}, p
	}
	if _, p := sys.Step(w, res, "used", nil); p != nil {
		return core.Answer{}, p
	}
	ans, p := answer(sys, 202, sub)
	if p != nil {
		return core.Answer{}, p
	}
	_, err = w.Insert(core.Resource{
		Kind: kindSubmission, ID: sub.ID, Workspace: r.Principal.Workspace, Client: r.Principal.Client, Created: r.Now, Body: ans.Body,
	})
	if err != nil {
		return core.Answer{}, failed(sys)
	}
	return ans, s.execute(sys, w, action, auth, r.Now)
}

// actionURL is where an action is read, relative to the service base.
func (s *Seer) actionURL(id string) string {
	if op := s.contract.Op("getAction"); op != nil {
		return strings.ReplaceAll(op.Path, "{action_id}", id)
	}
	return ""
}
