package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"assay.kit/conformance/suite/mcp"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// MCPOnly names the contract of a target that is known by its MCP endpoint alone: the server's own list
// of tools, and what the protocol promises.
const MCPOnly = "mcp"

// Bounds of a list of tools that is taken for a manifest.
const (
	discoverTime  = 30 * time.Second // in all
	discoverCall  = 10 * time.Second
	discoverPages = 100
	discoverBytes = 4 << 20
)

// Discover reads the list of tools of the endpoint at the profile's mcp_url and makes a contract of it.
// What is wrong with one tool leaves out that tool, and left tells so. Nothing is called.
// The error is ErrUnreachable, or says what is no list of tools.
func Discover(ctx context.Context, p *target.Profile) (c *spec.Contract, left []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, discoverTime)
	defer cancel()
	caller, err := target.New(p, target.Options{})
	if err != nil {
		return nil, nil, err
	}
	defer caller.Close()
	d := discovery{ctx: ctx, caller: caller, url: p.MCPURL}
	tools, err := d.tools()
	if err != nil {
		return nil, nil, err
	}
	if tools, left = readable(tools); len(tools) == 0 {
		return nil, nil, fmt.Errorf("the list at %s has no tools that can be read %s", p.MCPURL, strings.Join(left, "; "))
	}
	list, err := json.Marshal(tools)
	if err != nil {
		return nil, nil, fmt.Errorf("the tools of %s: %w", p.MCPURL, err)
	}
	c, err = spec.FromTools(list, MCPOnly)
	return c, left, err
}

// discovery is a session that only lists.
type discovery struct {
	ctx     context.Context
	caller  *target.REST
	url     string
	session []wire.Field
	n       int
}

func (d *discovery) send(method string, body []byte) wire.Exchange {
	rq := wire.Request{Face: wire.FaceMCP, Method: method, Body: body}
	rq.Fields = append(rq.Fields, wire.Field{Name: "Accept", Value: "application/json, text/event-stream"})
	if body != nil {
		rq.Fields = append(rq.Fields, wire.Field{Name: "Content-Type", Value: "application/json"})
	}
	rq.Fields = append(rq.Fields, d.session...)
	return d.caller.Do(d.ctx, string(target.Primary), rq, target.Call{Timeout: discoverCall, Until: func(e wire.Event) bool {
		return bytes.Contains(e.Data, []byte(`"result"`)) || bytes.Contains(e.Data, []byte(`"error"`))
	}})
}

// ask sends a request and decodes its result.
func (d *discovery) ask(method string, params, result any) (wire.Exchange, error) {
	d.n++
	id := json.RawMessage(fmt.Sprint(d.n))
	ex := d.send(http.MethodPost, mcp.Encode(id, method, params))
	if ex.Status() == 0 {
		return ex, fmt.Errorf("%w: %s at %s: %s (%s)", ErrUnreachable, method, d.url, ex.Err, ex.End)
	}
	m := mcp.Response(ex, id)
	if m.Result == nil {
		const most = 200
		body := ex.Body()
		return ex, fmt.Errorf("%s at %s was answered %d %s: is this an MCP endpoint over Streamable HTTP?", method, d.url, ex.Status(), body[:min(len(body), most)])
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		return ex, fmt.Errorf("the result of %s at %s cannot be read: %w", method, d.url, err)
	}
	return ex, nil
}

// tools opens a session, walks the list, and ends the session.
func (d *discovery) tools() ([]json.RawMessage, error) {
	var opened struct{ ProtocolVersion string }
	ex, err := d.ask("initialize", map[string]any{"protocolVersion": mcp.Revision, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "assay", "version": "1"}}, &opened)
	if err != nil {
		return nil, err
	}
	if opened.ProtocolVersion != mcp.Revision {
		return nil, fmt.Errorf("%s speaks revision %q of the protocol; this kit judges %s", d.url, opened.ProtocolVersion, mcp.Revision)
	}
	d.session = []wire.Field{{Name: "MCP-Protocol-Version", Value: opened.ProtocolVersion}}
	if id := ex.Header("Mcp-Session-Id"); id != "" {
		d.session = append(d.session, wire.Field{Name: "Mcp-Session-Id", Value: id})
		defer d.send(http.MethodDelete, nil)
	}
	d.send(http.MethodPost, mcp.Encode(nil, "notifications/initialized", nil))
	var all []json.RawMessage
	size := 0
	var params any
	for range discoverPages {
		var page struct {
			Tools      []json.RawMessage
			NextCursor *string
		}
		if _, err := d.ask("tools/list", params, &page); err != nil {
			return nil, err
		}
		for _, tool := range page.Tools {
			size += len(tool)
		}
		if size > discoverBytes {
			return nil, fmt.Errorf("the list of tools at %s is larger than %d bytes", d.url, discoverBytes)
		}
		all = append(all, page.Tools...)
		if page.NextCursor == nil || len(page.Tools) == 0 {
			return all, nil
		}
		params = map[string]any{"cursor": *page.NextCursor}
	}
	return all, nil // that it does not end is judged by a check
}

// readable leaves out the tools that make no contract by themselves, and second ones of a name.
func readable(tools []json.RawMessage) (good []json.RawMessage, left []string) {
	seen := map[string]bool{}
	for i, raw := range tools {
		list, err := json.Marshal([]json.RawMessage{raw})
		if err != nil {
			left = append(left, fmt.Sprintf("tool %d of the list is left out: %v", i+1, err))
			continue
		}
		c, err := spec.FromTools(list, MCPOnly)
		switch {
		case err != nil:
			left = append(left, fmt.Sprintf("tool %d of the list is left out: %v", i+1, err))
		case len(c.Tools) == 1 && !seen[c.Tools[0].Name]:
			seen[c.Tools[0].Name] = true
			good = append(good, raw)
		}
	}
	return good, left
}
