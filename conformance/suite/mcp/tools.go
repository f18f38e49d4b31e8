package mcp

import (
	"encoding/json"
	"fmt"
)

// Listed is a tool as tools/list shows it.
type Listed struct {
	Name, Description         string
	InputSchema, OutputSchema json.RawMessage
	Annotations               struct{ ReadOnlyHint *bool }
	Meta                      map[string]json.RawMessage `json:"_meta"`
	Raw                       json.RawMessage            `json:"-"`
}

// Bounds of a list of tools that is read as a manifest.
const (
	mostListPages = 200
	mostListed    = 2000
	mostListBytes = 8 << 20
)

// Walk reads the list of tools to its end. why is not empty if it has none within the bounds, or a page
// could not be read.
func Walk(s *Session) (all []Listed, why string) {
	var params any
	given, size := map[string]bool{}, 0
	for range mostListPages {
		ex, m := s.Call("tools/list", params)
		var page struct {
			Tools      []json.RawMessage
			NextCursor *string
		}
		if m.Result == nil || json.Unmarshal(m.Result, &page) != nil {
			return nil, fmt.Sprintf("tools/list was answered %d %s", ex.Status(), brief(ex))
		}
		for _, raw := range page.Tools {
			tool := Listed{Raw: raw}
			if err := json.Unmarshal(raw, &tool); err != nil {
				return nil, fmt.Sprintf("a tool cannot be read: %v", err)
			}
			all, size = append(all, tool), size+len(raw)
		}
		switch {
		case page.NextCursor == nil:
			return all, ""
		case given[*page.NextCursor]:
			return all, fmt.Sprintf("the cursor %q comes a second time", *page.NextCursor)
		case len(all) > mostListed || size > mostListBytes:
			return all, fmt.Sprintf("there are more than %d tools, or %d bytes of them", mostListed, mostListBytes)
		}
		given[*page.NextCursor] = true
		params = map[string]any{"cursor": *page.NextCursor}
	}
	return all, fmt.Sprintf("the list does not end within %d pages", mostListPages)
}
