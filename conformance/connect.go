package conformance

import (
	"context"
	"fmt"
	"time"

	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// findMCP asks the target's connection where its MCP endpoint is. lost says why nothing on that face
// can be judged, "" if it was found.
func findMCP(ctx context.Context, c *spec.Contract, caller *target.REST) (lost string) {
	const advice = "; write mcp_url in the profile to judge that face too"
	if c.Doc.MCP == nil || c.Doc.MCP.Endpoint == "" || c.Doc.Connection == nil {
		return "the contract does not say where a target names its MCP endpoint" + advice
	}
	op := c.Op(c.Doc.Connection.Operation)
	ex := caller.Do(ctx, string(target.Primary), wire.Request{Operation: op.ID, Method: op.Method, Target: op.Path},
		target.Call{Timeout: 10 * time.Second})
	body, err := schema.DecodeJSON(ex.Body())
	if ex.Status() != 200 || err != nil {
		return fmt.Sprintf("%s %s, which names the MCP endpoint, was answered %d%s", op.Method, op.Path, ex.Status(), advice)
	}
	v, _ := tree.Get(body, c.Doc.MCP.Endpoint)
	endpoint, _ := v.(string)
	if err := caller.UseMCPFromTarget(endpoint); err != nil {
		return fmt.Sprintf("the MCP endpoint at %s of the connection: %v%s", c.Doc.MCP.Endpoint, err, advice)
	}
	return ""
}
