package mcp

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"assay.kit/reference/core"
	"assay.kit/reference/core/cursor"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// tool is one revision of a tool with the operation that it is the other face of.
type tool struct {
	*spec.Tool
	op   *spec.Operation
	call *spec.Invocation // nil: the arguments are the operation's own parameters and body
}

// bind finds the operation of every tool.
func bind(c *spec.Contract) ([]*tool, error) {
	var out []*tool
	for _, t := range c.Tools {
		op := c.Op(t.Operation)
		if op == nil {
			return nil, fmt.Errorf("mcp: the tool %q has no operation to call", t.Name)
		}
		out = append(out, &tool{Tool: t, op: op, call: c.Invocation(t)})
	}
	return out, nil
}

// catalog is every tool in every revision.
func (h *Handler) catalog() []*spec.Tool {
	var all []*spec.Tool
	for _, t := range h.tools {
		all = append(all, t.Tool)
	}
	return all
}

// Listed is the first revision of every tool: what a connection's default configuration pins.
func Listed(_ core.Principal, all []*spec.Tool) []*spec.Tool {
	var out []*spec.Tool
	for _, t := range all {
		if !slices.ContainsFunc(out, func(o *spec.Tool) bool { return o.Name == t.Name }) {
			out = append(out, t)
		}
	}
	return out
}

// Manifest is a tool as tools/list shows it. The effect class, which the revision has no word for, is
// under _meta.assay with what else the contract says of the tool.
func Manifest(t *spec.Tool) map[string]any {
	m := map[string]any{"name": t.Name, "inputSchema": t.Input.Raw()}
	put := func(name, v string) {
		if v != "" {
			m[name] = v
		}
	}
	put("title", t.Title)
	put("description", t.Description)
	if t.Structured != nil {
		m["outputSchema"] = t.Structured.Raw()
	}
	if t.Annotations != nil {
		m["annotations"] = t.Annotations
	}
	meta := map[string]any{"operation": t.Operation, "effect": t.Effect, "async": t.Async}
	if t.Domain != "" {
		meta["domain"] = t.Domain
	}
	if len(t.Scopes) > 0 {
		meta["scopes"] = t.Scopes
	}
	if t.Revision.Schema != "" {
		revision := map[string]any{"schema": t.Revision.Schema}
		if t.Revision.Method != "" {
			revision["method"] = t.Revision.Method
		}
		meta["revision"] = revision
	}
	m["_meta"] = map[string]any{"assay": meta}
	return m
}

// A list cursor is a position, sealed for the client that got it.
func listScope(p core.Principal) []byte {
	return []byte("mcp tools/list\x00" + p.Workspace + "\x00" + p.Client)
}

func (h *Handler) sealCursor(p core.Principal, at int) (string, error) {
	return cursor.Seal(h.keys, listScope(p), binary.BigEndian.AppendUint32(nil, uint32(at)))
}

func (h *Handler) openCursor(p core.Principal, raw json.RawMessage) (at int, ok bool) {
	s, ok := text(raw)
	if !ok {
		return 0, false
	}
	plain, err := cursor.Open(h.keys, listScope(p), s)
	if err != nil || len(plain) != 4 {
		return 0, false
	}
	return int(binary.BigEndian.Uint32(plain)), true
}

// pointerOf moves a violation's pointer from the operation's body to the tool's arguments.
func (t *tool) pointerOf(p string) string {
	if t.call == nil {
		return p
	}
	at := string(t.call.Input)
	if rest, below := cutPointer(p, at); below {
		return rest
	}
	return p
}

// cutPointer is what of a pointer is below a base.
func cutPointer(p, base string) (rest string, below bool) {
	if len(p) < len(base) || p[:len(base)] != base || len(p) > len(base) && p[len(base)] != '/' {
		return "", false
	}
	return p[len(base):], true
}

// at is the value of a pointer in a raw answer.
func at(raw json.RawMessage, p tree.Pointer) (any, bool) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil, false
	}
	return tree.Get(v, p)
}
