package seer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/seer/market"
	"assay.kit/reference/seer/model"
)

// task is work for the background, complete when it is admitted: what happens to the configuration
// or the clock afterwards changes nothing in it.
type task struct {
	Tool       string          `json:"tool"`
	Method     string          `json:"method"` // numerical method
	Schema     string          `json:"schema"` // of the payload
	Workspace  string          `json:"workspace"`
	Revision   string          `json:"agent_revision"`
	Model      string          `json:"model"`
	Invocation string          `json:"invocation,omitempty"`
	AsOf       time.Time       `json:"as_of"`
	Input      json.RawMessage `json:"input"`
}

// subjects are the members of the background tools' inputs that are judged at admission.
type subjects struct {
	AsOf        *string  `json:"as_of"`
	Instrument  string   `json:"instrument_id"`
	Instruments []string `json:"instrument_ids"`
	Universe    []string `json:"universe"`
}

// newTask resolves the input's references and its moment of knowledge.
func (s *Seer) newTask(sys core.System, c call) (*task, *core.Problem) {
	var in subjects
	if err := json.Unmarshal(c.input, &in); err != nil {
		return nil, failed(sys)
	}
	named := append(in.Instruments, in.Universe...)
	if in.Instrument != "" {
		named = append(named, in.Instrument)
	}
	for _, id := range named {
		if _, p := s.listing(sys, id); p != nil {
			return nil, p
		}
	}
	asOf, p := instant(sys, in.AsOf, c.now, c.at+"/as_of")
	if p != nil {
		return nil, p
	}
	return &task{
		Tool: c.tool.Domain, Method: c.tool.Revision.Method, Schema: c.tool.Revision.Schema, Workspace: c.principal.Workspace,
		Revision: c.revision.ID, Model: c.revision.Model, AsOf: asOf, Input: c.input,
	}, nil
}

// prepareJob is for the operations that are a tool of their own: the body is the tool's input beside
// the agent revision.
func (s *Seer) prepareJob(domain string) func(context.Context, core.System, *core.Request) (any, *core.Problem) {
	return func(ctx context.Context, sys core.System, r *core.Request) (any, *core.Problem) {
		var body struct {
			Revision string `json:"agent_revision_id"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return nil, failed(sys)
		}
		c := call{principal: r.Principal, input: r.Body, now: r.Now}
		var p *core.Problem
		if c.revision, p = s.revision(ctx, sys, r.Principal, body.Revision); p != nil {
			return nil, p
		}
		if c.tool, p = s.pinned(sys, c.revision, domain); p != nil {
			return nil, p
		}
		if p := s.permit(sys, c); p != nil {
			return nil, p
		}
		return s.newTask(sys, c)
	}
}

func (s *Seer) admit(sys core.System, w core.Writer, r *core.Request, plan any) (core.Answer, *core.Problem) {
	t, _ := plan.(*task)
	return s.admitTask(sys, w, r, *t)
}

// admitTask makes the job; of an invocation the answer names both.
func (s *Seer) admitTask(sys core.System, w core.Writer, r *core.Request, t task) (core.Answer, *core.Problem) {
	ans, p := sys.AdmitJob(w, r, map[string]any{
		"kind": kindOf(t.Tool), "agent_revision_id": t.Revision, "calculation_revision": t.Method,
	}, t)
	if p != nil || t.Invocation == "" {
		return ans, p
	}
	var body map[string]any
	if err := json.Unmarshal(ans.Body, &body); err != nil {
		return core.Answer{}, failed(sys)
	}
	body["invocation_id"] = t.Invocation
	raw, err := encode(body)
	if err != nil {
		return core.Answer{}, failed(sys)
	}
	ans.Body = raw
	return ans, nil
}

// kindOf is the kind of artifact that a tool makes.
func kindOf(tool string) string {
	switch tool {
	case "forecast.create":
		return "forecast"
	case "portfolio.propose":
		return "portfolio_proposal"
	default:
		return "tool_result"
	}
}

// work computes the artifact of a task. It depends on nothing but the task, so that a second attempt
// after a crash gives the same.
func (s *Seer) work(_ context.Context, _ core.System, t core.Task) (core.Result, error) {
	var in task
	if err := json.Unmarshal(t.Input, &in); err != nil {
		return core.Result{}, fmt.Errorf("seer: job %s: %w", t.Job, err)
	}
	var data any
	var err error
	switch in.Tool {
	case "forecast.create":
		data, err = s.forecast(in)
	case "portfolio.propose":
		data, err = s.propose(in)
	case "market.scan":
		data, err = s.scan(in)
	default:
		err = fmt.Errorf("no tool %s", in.Tool)
	}
	switch {
	case errors.Is(err, model.ErrHistory):
		return core.Result{ErrorCode: "INSUFFICIENT_HISTORY"}, nil
	case err != nil:
		return core.Result{}, fmt.Errorf("seer: job %s: %w", t.Job, err)
	}
	return core.Result{Body: map[string]any{
		"kind": kindOf(in.Tool), "schema_revision": in.Schema, "job_id": t.Job, "data": data,
	}}, nil
}

type scanInput struct {
	Universe   []string           `json:"universe"`
	Condition  condition          `json:"condition"`
	Adjustment *market.Adjustment `json:"adjustment"`
	Limit      *integer           `json:"limit"`
}

type condition struct {
	Indicator indicator `json:"indicator"`
	Operator  string    `json:"operator"`
	Threshold float64   `json:"threshold"`
}

type scanData struct {
	Scanned int            `json:"scanned"`
	Matches []market.Match `json:"matches"`
}

// scan computes market.scan.
func (s *Seer) scan(t task) (any, error) {
	var in scanInput
	if err := json.Unmarshal(t.Input, &in); err != nil {
		return nil, err
	}
	if in.Universe == nil {
		in.Universe = s.market.IDs()
	}
	universe := make([]*market.Listing, len(in.Universe))
	for i, id := range in.Universe {
		l, ok := s.market.Listing(id)
		if !ok {
			return nil, fmt.Errorf("no listing %s", id)
		}
		universe[i] = l
	}
	most := 20
	if in.Limit != nil {
		most = int(*in.Limit)
	}
	looked := market.Condition{Indicator: in.Condition.Indicator.of(), Operator: in.Condition.Operator, Threshold: in.Condition.Threshold}
	matches, unread := s.market.Scan(universe, looked, adjustment(in.Adjustment), t.AsOf)
	data := scanData{Scanned: len(universe) - len(unread), Matches: matches[:min(most, len(matches))]}
	_, need := looked.Indicator.Need()
	out := newResult(t.Tool, data, s.whole(need, t.AsOf), t.AsOf, short(len(unread)))
	out.Invocation = t.Invocation
	for _, id := range unread {
		out.Warnings = append(out.Warnings, warning{shortHistory, "The history is too short for " + id + "."})
	}
	return out, nil
}
