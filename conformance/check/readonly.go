package check

import (
	"bytes"
	"encoding/json"

	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// AllowCompute is what a tool needs that does not declare itself read-only, on a target whose contract
// is nothing but its own list of tools: nobody else has said what a call of it does.
const AllowCompute = "--allow compute"

// toolGuard says what a call of a tool lacks before it may be made; "" if it may.
type toolGuard struct {
	contract           *spec.Contract
	financial, compute bool
}

// lacks is what a tool may not be called without.
func (g toolGuard) lacks(tool *spec.Tool) string {
	switch {
	case tool.Effect == spec.EffectFinancial && !g.financial:
		return AllowFinancial
	case len(g.contract.Ops) == 0 && !g.compute && !readOnly(tool):
		return AllowCompute
	default:
		return ""
	}
}

// readOnly reports a tool that says of itself that it changes nothing.
func readOnly(tool *spec.Tool) bool {
	return tool.Effect == spec.EffectRead && tool.Annotations != nil && tool.Annotations.ReadOnly != nil && *tool.Annotations.ReadOnly
}

// forbidden is the tool that a message calls, or may be taken to call, and must not; nil if there is
// none. It looks at the text, not at what a strict reader would make of it: a lenient server may carry
// out what we mean to be refused.
func (g toolGuard) forbidden(rq wire.Request) (tool *spec.Tool, lacks string) {
	if rq.Face != wire.FaceMCP || !bytes.Contains(rq.Body, []byte("tools/call")) {
		return nil, ""
	}
	for _, t := range g.contract.Tools {
		name, err := json.Marshal(t.Name)
		if err != nil || !bytes.Contains(rq.Body, name) {
			continue
		}
		if lacks := g.lacks(t); lacks != "" {
			return t, lacks
		}
	}
	return nil, ""
}

// MayCall reports whether this run may call a tool.
func (t *T) MayCall(tool *spec.Tool) bool { return t.st.run.guard.lacks(tool) == "" }
