package mcp

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/spec"
)

// Checks returns every check of the face. Adding one is adding a row to its file's table.
func Checks() []check.Check {
	return slices.Concat(lifecycle(), messages(), requests(), transport(), streams(), sessions(), principals(), listing(), arguments(),
		pings(), cancelling(), authorization(), tokens())
}

// endpoint is the subject of checks on the protocol itself: there is one endpoint a target.
func endpoint(c *spec.Contract) []check.Subject {
	if len(c.Tools) == 0 {
		return nil
	}
	return []check.Subject{{Name: "endpoint"}}
}

func needs(more ...target.Capability) []target.Capability {
	return append([]target.Capability{target.MCP}, more...)
}

func lifecycle() []check.Check {
	return []check.Check{
		{
			ID:   "mcp.initialize",
			Does: "Initializes sessions with the pinned version and with versions that no server knows.",
			Claims: []check.Claim{
				{ID: "mcp.initialize-result", Says: "initialize is answered with protocolVersion, capabilities and serverInfo with name and version."},
				{ID: "mcp.version-kept", Says: "A proposed version that the server supports is the one it answers with."},
				{ID: "mcp.version-answer", Says: "A proposed version that nobody knows is answered: with another version, or with an error that says so."},
				{ID: "mcp.version-counter", Says: "A proposed version that nobody knows is answered with one that the server supports."},
				{ID: "mcp.version-newest", Says: "The version that a server offers instead is its newest."},
				{ID: "mcp.capabilities", Says: "A server that has tools declares the capability."},
			},
			Needs:  needs(),
			Cost:   check.Cost{Requests: 10},
			Select: endpoint,
			Run:    initialize,
		},
		{
			ID:   "mcp.undeclared",
			Does: "Calls methods of every capability that the server did not declare.",
			Claims: []check.Claim{
				{ID: "mcp.undeclared", Says: "A method of a capability that was not declared is not served."},
				aliveSays(),
			},
			Needs:  needs(),
			Cost:   check.Cost{Requests: 20},
			Select: endpoint,
			Run:    undeclared,
		},
	}
}

func initialize(_ context.Context, t *check.T, _ check.Subject) {
	s := New(t, "primary")
	ex, m := s.Initialize(Revision)
	var r struct {
		ProtocolVersion *string
		Capabilities    map[string]json.RawMessage
		ServerInfo      *struct{ Name, Version *string }
	}
	err := json.Unmarshal(m.Result, &r)
	t.Must("mcp.initialize-result", m.Result != nil && err == nil && r.ProtocolVersion != nil && r.Capabilities != nil &&
		r.ServerInfo != nil && r.ServerInfo.Name != nil && r.ServerInfo.Version != nil,
		"a result with protocolVersion, capabilities and serverInfo {name, version}", told(ex))
	t.Judge("mcp.version-kept", *r.ProtocolVersion == Revision, Revision, *r.ProtocolVersion)
	_, declared := r.Capabilities["tools"]
	t.Judge("mcp.capabilities", declared, "capabilities.tools, since the contract has tools", string(m.Result))
	s.Initialized()
	for _, version := range []string{"1999-01-01", "2199-12-31", "assay"} {
		counter(t, version)
	}
}

var dated = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// counter judges the answer to a version that nobody knows. The text wants another version, and its
// example shows an error: both are taken, the second with a warning.
func counter(t *check.T, version string) {
	ex, m := New(t, "primary").Initialize(version)
	var r struct{ ProtocolVersion *string }
	_ = json.Unmarshal(m.Result, &r)
	offered := r.ProtocolVersion != nil && *r.ProtocolVersion != version && dated.MatchString(*r.ProtocolVersion)
	t.Judge("mcp.version-answer", offered || refusedAs(m, codeParams), "a version of the server's own, or -32602, to "+version, told(ex))
	t.Judge("mcp.version-counter", offered, "a version of the server's own to "+version, told(ex))
	if offered {
		t.Judge("mcp.version-newest", *r.ProtocolVersion >= Revision, "a version not older than "+Revision+", which the server supports", *r.ProtocolVersion)
	}
}

// optional are methods of capabilities that a server may have beside tools, each with params that are
// right.
func optional() []struct {
	capability, method string
	params             any
} {
	return []struct {
		capability, method string
		params             any
	}{
		{"logging", "logging/setLevel", map[string]any{"level": "info"}},
		{"resources", "resources/list", map[string]any{}},
		{"resources", "resources/templates/list", map[string]any{}},
		{"prompts", "prompts/list", map[string]any{}},
		{"completions", "completion/complete", map[string]any{"ref": map[string]any{"type": "ref/prompt", "name": "assay"},
			"argument": map[string]any{"name": "assay", "value": "a"}}},
	}
}

func undeclared(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	var r struct{ Capabilities map[string]json.RawMessage }
	_ = json.Unmarshal(s.Result, &r)
	s.works()
	any := false
	for _, o := range optional() {
		if _, declared := r.Capabilities[o.capability]; declared {
			continue
		}
		any = true
		ex, m := s.Call(o.method, o.params)
		t.Judge("mcp.undeclared", m.Result == nil && ex.Status() != 0, "an error, since "+o.capability+" is not declared", told(ex))
	}
	if !any {
		t.NotApplicable("mcp.undeclared", "the server declares every capability")
	}
	s.alive("methods of other capabilities")
}
