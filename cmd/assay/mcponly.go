package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"assay.kit/conformance"
	"assay.kit/conformance/target"
)

// mcpTokenVariable gives the token for a target that is known by its MCP endpoint alone; unset, it gets none.
const mcpTokenVariable = "MCP_ACCESS_TOKEN"

// mcpOnlyTime is how long such a run may take if nobody says otherwise: nothing is known of how long the
// server's tools take.
const mcpOnlyTime = 5 * time.Minute

// mcpOnly is the profile of a target that is known by its MCP endpoint alone: --target, or the profile's
// mcp_url or base_url, is the endpoint.
func (a *app) mcpOnly(f checkFlags, p *target.Profile) (*target.Profile, error) {
	if p == nil {
		p = &target.Profile{Contract: conformance.MCPOnly, Credentials: map[string]target.Credential{}}
		if token, ok := a.env(mcpTokenVariable); ok && token != "" {
			p.Credentials[string(target.Primary)] = target.Credential{Bearer: target.NewSecret(token)}
		} else {
			p.Anonymous = true
		}
	}
	endpoint := p.MCPURL
	if endpoint == "" || endpoint == "auto" {
		endpoint = p.BaseURL
	}
	if f.target != "" {
		endpoint = f.target
	}
	if endpoint == "" {
		return nil, errors.New("the contract mcp needs the URL of an MCP endpoint: pass --target URL, or a profile with mcp_url")
	}
	p.MCPURL = endpoint
	p.BaseURL = strings.TrimRight(endpoint, "/")
	if p.Budget.Time == 0 {
		p.Budget.Time = mcpOnlyTime
	}
	return p, f.bound(p)
}

// discovered reads the contract of a target that is known by its MCP endpoint alone.
func (a *app) discovered(ctx context.Context, f checkFlags, o conformance.Options) (conformance.Options, error) {
	if f.plan {
		return o, errors.New("flag --plan: the contract mcp is the server's own list of tools, which has to be asked for; give a contract folder with tool-catalog.json to plan without sending")
	}
	c, left, err := conformance.Discover(ctx, o.Profile)
	if err != nil {
		return o, notJudged{err}
	}
	o.Contract, o.Warnings = c, left
	return o, nil
}
