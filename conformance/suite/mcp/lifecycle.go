package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/spec"
)

// Checks returns every check of the face. Adding one is adding a row to its file's table.
func Checks() []check.Check {
	return lifecycle()
}

// endpoint is the subject of checks on the protocol itself: there is one endpoint a target.
func endpoint(c *spec.Contract) []check.Subject {
	if len(c.Tools) == 0 {
		return nil
	}
	return []check.Subject{{Name: "endpoint"}}
}

func needs() []target.Capability { return []target.Capability{target.MCP} }

func lifecycle() []check.Check {
	return []check.Check{
		{
			ID:   "mcp.initialize",
			Does: "Initializes sessions with the pinned version and with versions that no server knows.",
			Claims: []check.Claim{
				{ID: "mcp.initialize-result", Says: "initialize is answered with protocolVersion, capabilities and serverInfo with name and version."},
				{ID: "mcp.version-kept", Says: "A proposed version that the server supports is the one it answers with."},
				{ID: "mcp.version-counter", Says: "A proposed version that nobody knows is answered with one that the server supports."},
				{ID: "mcp.capabilities", Says: "A server that has tools declares the capability."},
			},
			Needs:  needs(),
			Cost:   check.Cost{Requests: 10},
			Select: endpoint,
			Run:    initialize,
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
		"a result with protocolVersion, capabilities and serverInfo {name, version}", fmt.Sprintf("%d %s", ex.Status(), brief(ex)))
	t.Judge("mcp.version-kept", *r.ProtocolVersion == Revision, Revision, *r.ProtocolVersion)
	_, declared := r.Capabilities["tools"]
	t.Judge("mcp.capabilities", declared, "capabilities.tools, since the contract has tools", string(m.Result))
	s.Initialized()

	ex, m = New(t, "primary").Initialize("1999-01-01")
	r.ProtocolVersion = nil
	_ = json.Unmarshal(m.Result, &r)
	code, refused := m.Code()
	ok := r.ProtocolVersion != nil && *r.ProtocolVersion != "1999-01-01" || refused && code == -32602
	t.Judge("mcp.version-counter", ok, "a version of the server's own, or -32602 that names them", fmt.Sprintf("%d %s", ex.Status(), brief(ex)))
}
