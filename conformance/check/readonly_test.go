package check

import (
	"encoding/json"
	"testing"

	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// TestToolGuard: on a target that is known by its own list alone, nothing goes out that calls a tool which
// does not say of itself that it only reads, in whatever form the call is written.
func TestToolGuard(t *testing.T) {
	list := `[{"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
		{"name": "act", "inputSchema": {"type": "object"}},
		{"name": "unsure", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": false}},
		{"name": "claims", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}, "_meta": {"assay": {"domain": "claims", "operation": "o", "effect": "compute"}}},
		{"name": "pay", "inputSchema": {"type": "object"}, "_meta": {"assay": {"domain": "pay", "operation": "o", "effect": "financial"}}}]`
	c, err := spec.FromTools(json.RawMessage(list), "mcp")
	if err != nil {
		t.Fatal(err)
	}
	call := func(body string) wire.Request {
		return wire.Request{Face: wire.FaceMCP, Method: "POST", Body: []byte(body)}
	}
	for _, row := range []struct {
		name           string
		rq             wire.Request
		lacks, compute string // without and with --allow compute
	}{
		{"a tool that reads", call(`{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "look"}}`), "", ""},
		{"a tool that does not say", call(`{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "act"}}`), AllowCompute, ""},
		{"a tool that says no", call(`{"method": "tools/call", "params": {"name": "unsure"}}`), AllowCompute, ""},
		{"a hint against its own effect", call(`{"method": "tools/call", "params": {"name": "claims"}}`), AllowCompute, ""},
		{"a financial tool", call(`{"method": "tools/call", "params": {"name": "pay"}}`), AllowFinancial, AllowFinancial},
		{"a batch", call(`[{"method": "tools/call", "params": {"name": "look"}}, {"method": "tools/call", "params": {"name": "act"}}]`), AllowCompute, ""},
		{"broken JSON", call(`{"method": "tools/call", "params": {"name": "act"}`), AllowCompute, ""},
		{"an unknown tool", call(`{"method": "tools/call", "params": {"name": "nobody"}}`), "", ""},
		{"the name in another method", call(`{"method": "ping", "params": {"name": "act"}}`), "", ""},
		{"REST", wire.Request{Method: "POST", Body: []byte(`"tools/call" "act"`)}, "", ""},
	} {
		for _, compute := range []bool{false, true} {
			want := row.lacks
			if compute {
				want = row.compute
			}
			_, got := toolGuard{contract: c, compute: compute}.forbidden(row.rq)
			if got != want {
				t.Errorf("%s, compute %t: lacks %q, want %q", row.name, compute, got, want)
			}
		}
	}
	if _, lacks := (toolGuard{contract: c, financial: true, compute: true}).forbidden(call(`{"method": "tools/call", "params": {"name": "pay"}}`)); lacks != "" {
		t.Errorf("what is allowed lacks %q", lacks)
	}
}
