package seer

import (
	"context"
	"encoding/json"
	"slices"

	"assay.kit/reference/core"
	"assay.kit/spec"
)

// revision is one immutable configuration of an agent.
type revision struct {
	ID           string            `json:"id"`
	Agent        string            `json:"agent_id"`
	Revision     int               `json:"revision"`
	Model        string            `json:"model_binding"`
	Instructions string            `json:"instructions"`
	Tools        map[string]string `json:"tool_versions"`
	Grants       []string          `json:"grant_refs"`
	Budget       string            `json:"service_budget_ref"`
	Mandate      *string           `json:"execution_mandate_ref"`
	Created      string            `json:"created_at,omitempty"`
}

// prepareRevision resolves what the configuration refers to. What the principal does not hold and
// what does not exist are answered alike.
func (s *Seer) prepareRevision(_ context.Context, sys core.System, r *core.Request) (any, *core.Problem) {
	var rev revision
	if err := json.Unmarshal(r.Body, &rev); err != nil {
		return nil, failed(sys)
	}
	for _, g := range rev.Grants {
		if !slices.Contains(r.Principal.Grants, g) {
			return nil, forbidden(sys, g, "The principal does not hold a grant.")
		}
	}
	if rev.Budget != r.Principal.Budget {
		return nil, forbidden(sys, rev.Budget, "The principal does not hold this service budget.")
	}
	rev.Agent = r.Path["agent_id"]
	return rev, nil
}

// createRevision numbers the revision in the admission transaction, so that numbers have no gap.
func (s *Seer) createRevision(sys core.System, w core.Writer, r *core.Request, plan any) (core.Answer, *core.Problem) {
	rev, _ := plan.(revision)
	n, err := s.nextRevision(w, r.Principal.Workspace, rev.Agent)
	if err != nil {
		return core.Answer{}, failed(sys)
	}
	rev.Revision, rev.ID = n, sys.NewID("agr")
	body, err := encode(rev)
	if err != nil {
		return core.Answer{}, failed(sys)
	}
	res, err := sys.Create(w, r.Principal, core.Resource{Kind: kindRevision, ID: rev.ID, Parent: rev.Agent, Body: body})
	if err != nil {
		return core.Answer{}, failed(sys)
	}
	return core.Answer{Status: 201, Body: res.Body}, nil
}

func (s *Seer) nextRevision(r core.Reader, workspace, agent string) (int, error) {
	newest, err := r.Scan(core.Query{Kind: kindRevision, Workspace: workspace, Parent: agent, Desc: true, Limit: 1})
	if err != nil || len(newest) == 0 {
		return 1, err
	}
	var rev revision
	err = json.Unmarshal(newest[0].Body, &rev)
	return rev.Revision + 1, err
}

// revision reads the agent revision that a request names.
func (s *Seer) revision(ctx context.Context, sys core.System, p core.Principal, id string) (rev revision, refused *core.Problem) {
	err := sys.Store().View(ctx, func(r core.Reader) error {
		res, problem := sys.Find(r, p, kindRevision, id)
		if refused = problem; problem != nil {
			return nil
		}
		return json.Unmarshal(res.Body, &rev)
	})
	if err != nil {
		return rev, failed(sys)
	}
	return rev, refused
}

// pinned is the tool in the schema revision that the agent revision pins.
func (s *Seer) pinned(sys core.System, rev revision, domain string) (*spec.Tool, *core.Problem) {
	v, ok := rev.Tools[domain]
	if !ok {
		return nil, forbidden(sys, domain, "The agent revision does not pin this tool.")
	}
	if t := s.lookup(domain, v); t != nil {
		return t, nil
	}
	return nil, forbidden(sys, domain, "The tool revision that the agent revision pins is no longer served.")
}
