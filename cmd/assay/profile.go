package main

import (
	"fmt"
	"net/http"

	"assay.kit/conformance/target"
	"assay.kit/mockserver/control"
	"assay.kit/reference"
	"assay.kit/reference/core/access"
	"assay.kit/reference/mcp"
	"assay.kit/spec"
)

// jobsAtOnce stays under what the reference lets a connection run, so that a check never starves.
const jobsAtOnce = 64

// profileOf says everything about a reference that a check may want to know.
func profileOf(c *spec.Contract, issued []access.Issued, baseURL, controlURL string) *target.Profile {
	p := &target.Profile{Contract: c.Name, BaseURL: baseURL, Sandbox: true,
		MCPURL: mcpURL(c, baseURL), Credentials: map[string]target.Credential{}, Values: map[string]any{}, Hooks: map[target.Capability]target.Hook{},
		Budget: target.Budget{Jobs: jobsAtOnce}}
	for _, i := range issued {
		p.Credentials[i.Name] = target.Credential{Bearer: target.NewSecret(i.Token)}
	}
	if controlURL != "" {
		for capability, h := range hooks() {
			p.Hooks[capability] = target.Hook{HTTP: &target.HTTPHook{Method: http.MethodPost,
				URL: controlURL + control.Prefix + h.command, Body: h.body()}}
		}
	}
	return p
}

// mcpURL is where a reference serves the contract's tools, "" if it has none.
func mcpURL(c *spec.Contract, baseURL string) string {
	if len(c.Tools) == 0 {
		return ""
	}
	return baseURL + mcp.Path
}

// hook is a command of the control API, with the arguments that a check gives.
type hook struct {
	command   string
	arguments []string // in the body
}

func hooks() map[target.Capability]hook {
	return map[target.Capability]hook{
		target.AdvanceClock: {"advance", []string{"seconds"}},
		target.RevokeGrant:  {"revoke_grant", nil},
		target.RestoreGrant: {"restore_grant", nil},
		target.RetireToken:  {"retire_token", nil},
		target.RestoreToken: {"restore_token", nil},
		target.HoldJob:      {"hold_job", nil},
		target.ReleaseJob:   {"release_job", nil},
		target.FailJob:      {"fail_job", nil},
		target.HideItem:     {"hide_item", []string{"kind", "id"}},
		target.Unavailable:  {"unavailable", []string{"seconds"}},
		target.AddItem:      {"add_item", []string{"kind"}},
	}
}

func (h hook) body() any {
	if len(h.arguments) == 0 {
		return nil
	}
	body := map[string]any{}
	for _, a := range h.arguments {
		body[a] = "{" + a + "}"
	}
	return body
}

// controlOf serves the control API of a reference; host may be nil.
func controlOf(ref *reference.Server, host control.Host) (http.Handler, error) {
	sys, clock := ref.Control()
	movable, ok := clock.(control.Clock)
	if !ok {
		return nil, fmt.Errorf("the clock of this server cannot be moved")
	}
	return control.New(sys, movable, host), nil
}
