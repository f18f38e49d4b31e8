package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"assay.kit/conformance/check"
	"assay.kit/conformance/wire"
	"assay.kit/spec/schema"
)

// listing judges tools/list. A server may page or not.
func listing() []check.Check {
	return []check.Check{
		{
			ID:   "mcp.paging",
			Does: "Walks the list of tools to its end, and takes a page a second time.",
			Claims: []check.Claim{
				{ID: "mcp.walk-ends", Says: "Following nextCursor leads to an end."},
				{ID: "mcp.tools-unique", Says: "No two tools have the same name, over all pages."},
				{ID: "mcp.cursor-stable", Says: "A cursor gives the same page each time."},
				{ID: "mcp.tool-schemas", Says: "Every input and output schema is a JSON Schema of an object."},
			},
			Needs: needs(), Cost: check.Cost{Requests: 3 * mostPages}, Select: endpoint, Run: paging,
		},
		{
			ID:   "mcp.cursor",
			Does: "Lists the tools from cursors that were never given.",
			Claims: []check.Claim{
				{ID: "mcp.cursor-invalid", Says: "A cursor that was never given is refused with -32602."},
				aliveSays(),
			},
			Needs: needs(), Cost: check.Cost{Requests: 15}, Select: endpoint, Run: cursors,
		},
	}
}

// mostPages bounds a walk: no server has more tools than make sense.
const mostPages = 200

// listPage is one answer of tools/list.
type listPage struct {
	ex    wire.Exchange
	Tools []struct {
		Name                      string
		InputSchema, OutputSchema json.RawMessage
	}
	NextCursor *string
}

// page asks for one page; cursor nil is the first.
func (s *Session) page(cursor *string) (p listPage, ok bool) {
	var params any
	if cursor != nil {
		params = map[string]any{"cursor": *cursor}
	}
	ex, m := s.Call("tools/list", params)
	p.ex = ex
	return p, m.Result != nil && json.Unmarshal(m.Result, &p) == nil
}

func paging(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	first, ok := s.page(nil)
	if !ok {
		t.Inconclusive("tools/list was answered %s", told(first.ex))
	}
	all, given := first.Tools, map[string]bool{}
	for p := first; p.NextCursor != nil; {
		cursor := *p.NextCursor
		if !t.Judge("mcp.walk-ends", !given[cursor], "a cursor that was not given before", fmt.Sprintf("%q again", cursor)) {
			break
		}
		given[cursor] = true
		next, ok := s.page(p.NextCursor)
		if !t.Judge("mcp.walk-ends", ok, fmt.Sprintf("the page of the nextCursor %q", cursor), told(next.ex)) {
			break
		}
		if len(given) == 1 {
			s.Call("ping", nil) // what is between does not matter
			again, _ := s.page(p.NextCursor)
			t.Judge("mcp.cursor-stable", names(again) == names(next), names(next), names(again)+" the second time")
		}
		all, p = append(all, next.Tools...), next
		if !t.Judge("mcp.walk-ends", len(given) < mostPages, fmt.Sprintf("an end within %d pages", mostPages), "more") {
			break
		}
	}
	t.Judge("mcp.walk-ends", true, "", "")
	if len(given) == 0 {
		t.NotApplicable("mcp.cursor-stable", "the server gives all tools on one page")
	}
	seen := map[string]bool{}
	for _, tool := range all {
		t.Judge("mcp.tools-unique", !seen[tool.Name], "each name once", fmt.Sprintf("%q twice", tool.Name))
		seen[tool.Name] = true
		for what, raw := range map[string]json.RawMessage{"inputSchema": tool.InputSchema, "outputSchema": tool.OutputSchema} {
			if why, known := noSchema(tool.Name, raw); known {
				t.Judge("mcp.tool-schemas", why == "", "a JSON Schema of an object as "+what+" of "+tool.Name, why)
			}
		}
	}
}

func names(p listPage) string {
	var all []string
	for _, tool := range p.Tools {
		all = append(all, tool.Name)
	}
	return strings.Join(all, ", ")
}

// noSchema says why a listed schema is none. One that is not there, refers to others or is of a
// dialect that cannot be read here is not judged.
func noSchema(name string, raw json.RawMessage) (why string, known bool) {
	if len(raw) == 0 || bytes.Contains(raw, []byte(`"$ref":"http`)) {
		return "", false
	}
	doc, err := schema.DecodeJSON(raw)
	if err != nil {
		return err.Error(), true
	}
	of, isObject := doc.(map[string]any)
	if !isObject {
		return "it is no object", true
	}
	if of["type"] != "object" {
		return fmt.Sprintf("its type is %v", of["type"]), true
	}
	dialect, _ := of["$schema"].(string)
	if dialect != "" && !strings.Contains(dialect, "2020-12") && !strings.Contains(dialect, "draft-07") {
		return "", false
	}
	if _, err := schema.Compile("assay:"+name, doc); err != nil {
		return err.Error(), true
	}
	return "", true
}

func cursors(_ context.Context, t *check.T, _ check.Subject) {
	s := Open(t, "primary")
	first, ok := s.page(nil)
	if !ok {
		t.Inconclusive("tools/list was answered %s", told(first.ex))
	}
	for _, cursor := range []string{"assay-" + t.Nonce(), "!!"} {
		ex, m := s.Call("tools/list", map[string]any{"cursor": cursor})
		t.Judge("mcp.cursor-invalid", refusedAs(m, codeParams), "-32602 to the cursor "+cursor, told(ex))
	}
	s.Call("tools/list", map[string]any{"cursor": ""}) // what an empty cursor means is not said
	if first.NextCursor != nil {
		s.Call("tools/list", map[string]any{"cursor": *first.NextCursor + "x"}) // nor what a changed one does
	}
	s.alive("cursors that were never given")
}
