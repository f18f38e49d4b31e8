package conformance_test

import (
	"strings"
	"testing"

	"assay.kit/conformance"
	"assay.kit/spec"
	"assay.kit/spec/contracts"
)

// TestCaseClaimsOfTools: a baseline may name what passive claims find on the MCP face, where they are
// about a tool, a method or the endpoint, and not about an operation.
func TestCaseClaimsOfTools(t *testing.T) {
	for name, tools := range map[string]bool{"seer": true, "starter": false} {
		files, err := contracts.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := spec.Load(files, name)
		if err != nil {
			t.Fatal(err)
		}
		claims := conformance.CaseClaims(c)
		for _, id := range []string{"mcp.error-text@mcp/tools/list", "mcp.message@mcp/other", "mcp.session-id-ascii@mcp/initialize", "mcp.message@seer_market_bars"} {
			claim, _, _ := strings.Cut(id, "@")
			if got := claims[id]; (len(got) == 1 && got[0] == claim) != tools {
				t.Errorf("%s: the case %s judges %v", name, id, got)
			}
		}
	}
}
