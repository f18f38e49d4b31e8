package seer

import (
	"context"

	"assay.kit/reference/core"
	"assay.kit/spec"
)

// manifest is a domain tool as HTTP discovery shows it.
type manifest struct {
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description"`
	Effect      string   `json:"effect"`
	Scopes      []string `json:"scopes"`
	Async       bool     `json:"async"`
	Revision    version  `json:"revision"`
	Input       any      `json:"inputSchema"`
	Output      any      `json:"outputSchema"`
}

type version struct {
	Schema string `json:"schema"`
	Method string `json:"method"`
}

func manifestOf(t *spec.Tool) manifest {
	return manifest{
		Name: t.Domain, Title: t.Title, Description: t.Description, Effect: string(t.Effect), Scopes: list(t.Scopes), Async: t.Async,
		Revision: version{t.Revision.Schema, t.Revision.Method}, Input: t.Input.Raw(), Output: t.Output.Raw(),
	}
}

// lookup finds one revision of a domain tool, or nil.
func (s *Seer) lookup(domain, revision string) *spec.Tool {
	for _, t := range s.contract.Tools {
		if !t.Utility && t.Domain == domain && t.Revision.Schema == revision {
			return t
		}
	}
	return nil
}

// earliest is the first revision of every domain tool, in the order of the catalog: what the default
// agent revision pins.
func (s *Seer) earliest() []*spec.Tool {
	seen := map[string]bool{}
	var all []*spec.Tool
	for _, t := range s.contract.Tools {
		if !t.Utility && !seen[t.Domain] {
			seen[t.Domain] = true
			all = append(all, t)
		}
	}
	return all
}

// tool answers with one manifest, in the revision that the default agent revision pins.
func (s *Seer) tool(_ context.Context, sys core.System, r *core.Request) (core.Answer, *core.Problem) {
	for _, t := range s.earliest() {
		if t.Domain == r.Path["tool"] {
			return answer(sys, 200, manifestOf(t))
		}
	}
	return core.Answer{}, unknown(sys)
}
