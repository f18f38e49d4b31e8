package seer

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
	"assay.kit/reference/seer/market"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// call is one use of a tool that authority and schema allow.
type call struct {
	tool      *spec.Tool
	revision  revision
	principal core.Principal
	input     json.RawMessage
	at        string // pointer of the input in the body
	now       time.Time
}

// invocation is what prepareInvocation hands on: a result, or work for the background.
type invocation struct {
	result *result
	task   *task
}

// prepareInvocation resolves the agent revision, judges input and authority, and computes what is
// synchronous.
func (s *Seer) prepareInvocation(ctx context.Context, sys core.System, r *core.Request) (any, *core.Problem) {
	var body struct {
		Revision string          `json:"agent_revision_id"`
		Tool     string          `json:"tool"`
		Input    json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return nil, failed(sys)
	}
	c := call{principal: r.Principal, input: body.Input, at: "/input", now: r.Now}
	var p *core.Problem
	if c.revision, p = s.revision(ctx, sys, r.Principal, body.Revision); p != nil {
		return nil, p
	}
	if c.tool, p = s.pinned(sys, c.revision, body.Tool); p != nil {
		return nil, p
	}
	input, _ := tree.Get(r.Value, tree.PointerTo("input"))
	if p := validate(sys, c.tool, input, c.at); p != nil {
		return nil, p
	}
	return s.plan(sys, c)
}

// plan judges authority and computes, or prepares the work of, a call whose input is valid.
func (s *Seer) plan(sys core.System, c call) (any, *core.Problem) {
	if missing := access.Missing(c.principal, c.tool.Scopes); missing != "" {
		return nil, forbidden(sys, missing, "The credential lacks a scope of the tool.")
	}
	if p := s.permit(sys, c); p != nil {
		return nil, p
	}
	var out result
	var p *core.Problem
	switch c.tool.Domain {
	case "market.bars":
		out, p = s.bars(sys, c)
	case "market.indicators":
		out, p = s.indicators(sys, c)
	default:
		t, p := s.newTask(sys, c)
		return invocation{task: t}, p
	}
	return invocation{result: &out}, p
}

// validate judges an input against one revision of its tool.
func validate(sys core.System, t *spec.Tool, input any, at string) *core.Problem {
	vs := t.Input.Validate(input)
	if len(vs) == 0 {
		return nil
	}
	p := sys.Refuse(core.InvalidRequest, "The input breaks the schema that the agent revision pins for the tool.")
	for _, v := range vs {
		p.Violations = append(p.Violations, core.Violation{Pointer: at + string(v.Instance), Keyword: v.Keyword, Message: v.Message})
	}
	return p
}

// permit judges what may be done now: a grant counts only while the principal holds it, whatever the
// agent revision says, and only if the agent revision says so, whatever the principal holds.
func (s *Seer) permit(sys core.System, c call) *core.Problem {
	family, _, _ := strings.Cut(c.tool.Domain, ".")
	grant := s.grants[family]
	switch {
	case !slices.Contains(c.revision.Grants, grant):
		return forbidden(sys, grant, "The agent revision does not carry a grant.")
	case !slices.Contains(c.principal.Grants, grant):
		return forbidden(sys, grant, "The principal does not hold a grant.")
	case !slices.Contains(c.principal.Entitlements, source):
		return forbidden(sys, source, "The principal is not entitled to a data source.")
	case c.principal.Exhausted:
		return sys.Refuse(core.BudgetExhausted, "The service budget is exhausted.")
	}
	return nil
}

// invoke admits the invocation, which keeps the answer that it gave.
func (s *Seer) invoke(sys core.System, w core.Writer, r *core.Request, plan any) (core.Answer, *core.Problem) {
	inv, _ := plan.(invocation)
	id := sys.NewID("inv")
	var ans core.Answer
	var p *core.Problem
	if inv.task != nil {
		t := *inv.task
		t.Invocation = id
		ans, p = s.admitTask(sys, w, r, t)
	} else {
		out := *inv.result
		out.Invocation = id
		ans, p = answer(sys, 200, out)
	}
	if p != nil {
		return core.Answer{}, p
	}
	_, err := w.Insert(core.Resource{
		Kind: kindInvocation, ID: id, Workspace: r.Principal.Workspace, Client: r.Principal.Client, Created: r.Now, Body: ans.Body,
	})
	if err != nil {
		return core.Answer{}, failed(sys)
	}
	return ans, nil
}

// listing resolves an instrument.
func (s *Seer) listing(sys core.System, id string) (*market.Listing, *core.Problem) {
	if l, ok := s.market.Listing(id); ok {
		return l, nil
	}
	return nil, unknown(sys)
}
