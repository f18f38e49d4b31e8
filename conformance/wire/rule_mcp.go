package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay.kit/spec"
)

// mcpRule is one passive claim of the face.
type mcpRule struct {
	claim, says string
	look        func(*View) verdict
}

// mcpRules are the passive claims of the MCP face (revision 2025-06-18): what every message and every
// answer of the endpoint must keep. Adding one is adding a row to its file's table.
func mcpRules() []Rule {
	var out []Rule
	for _, r := range slices.Concat(rpcRules(), mcpHTTPRules(), mcpServerRules(), mcpBodyRules()) {
		out = append(out, Rule{Claim: r.claim, Says: r.says, Look: func(v *View) ([]Finding, bool) {
			if v.Req.Face != FaceMCP || v.End != EndComplete && v.End != EndOpen {
				return nil, false
			}
			return v.named(r.claim, r.look(v))
		}})
	}
	return out
}

// rpcRules judge the JSON-RPC base (JSON-RPC 2.0 as the revision narrows it).
func rpcRules() []mcpRule {
	return []mcpRule{
		{"mcp.message", "Every message is one JSON object with jsonrpc 2.0.", rpcMessage},
		{"mcp.response-id", "A response repeats the id of its request, in value and type.", rpcID},
		{"mcp.one-response", "A request is answered by exactly one response on its own stream.", rpcOnce},
		{"mcp.result-or-error", "A response holds either a result or an error.", rpcEither},
		{"mcp.result-object", "A result is a JSON object.", rpcResult},
		{"mcp.error-object", "An error holds an integer code and a message.", rpcError},
		{"mcp.notification-unanswered", "A notification gets no response.", rpcNotification},
	}
}

// mcp reads the messages of both sides.
func (v *View) mcp() {
	v.sent, _ = v.SentMessage()
	v.messages = v.Messages()
}

// MCPSubjects are the names of what passive claims of the MCP face are about, besides operations: the
// contract's tools, the methods of the protocol, and the endpoint's streams, sessions and documents.
func MCPSubjects(c *spec.Contract) []string {
	if len(c.Tools) == 0 {
		return nil
	}
	out := []string{mcpMetadata, mcpStream, mcpSession, mcpOther}
	for _, method := range mcpMethods() {
		out = append(out, mcpPrefix+method)
	}
	for _, tool := range c.Tools {
		if !slices.Contains(out, tool.Name) { // a tool has a row for each revision
			out = append(out, tool.Name)
		}
	}
	return out
}

const (
	mcpPrefix   = "mcp/"
	mcpMetadata = mcpPrefix + "metadata"
	mcpStream   = mcpPrefix + "stream"
	mcpSession  = mcpPrefix + "session"
	mcpOther    = mcpPrefix + "other" // what no contract names must not make a case of its own
)

func mcpMethods() []string {
	return []string{"initialize", "ping", "tools/list", "tools/call", "notifications/initialized", "notifications/cancelled"}
}

// mcpSubject is the tool that was called, else the method, else what the endpoint was asked for.
func (v *View) mcpSubject() string {
	switch {
	case v.Req.Face == FaceMCPHost:
		return mcpMetadata
	case v.Req.Method == "GET":
		return mcpStream
	case v.Req.Method == "DELETE":
		return mcpSession
	}
	method := v.sent.Name()
	if method == "tools/call" {
		var p struct{ Name string }
		_ = json.Unmarshal(v.sent.Params, &p)
		for _, tool := range v.c.Tools {
			if tool.Name == p.Name {
				return p.Name
			}
		}
	}
	if slices.Contains(mcpMethods(), method) {
		return mcpPrefix + method
	}
	return mcpOther
}

// eachMessage judges every message of an answer.
func (v *View) eachMessage(about func(Message) bool, judge func(Message, *verdict)) verdict {
	var out verdict
	for _, m := range v.messages {
		if about(m) {
			out.judged = true
			judge(m, &out)
		}
	}
	return out
}

func anyMessage(Message) bool { return true }

func response(m Message) bool { return m.Err == nil && m.Method == nil }

func rpcMessage(v *View) verdict {
	if v.Head.Status >= 400 {
		return silent() // whatever stands in front may refuse in words of its own
	}
	return v.eachMessage(anyMessage, func(m Message, out *verdict) {
		switch {
		case m.Err != nil:
			out.add("one JSON object", m.Err.Error())
		case string(m.Version) != `"2.0"`:
			out.add(`jsonrpc "2.0"`, orAbsent(m.Version))
		}
	})
}

func rpcID(v *View) verdict {
	if !v.asks() || !isKind(v.sent.ID, "token") {
		return silent()
	}
	// What is refused with a status of HTTP may have been refused before it was read.
	named := func(m Message) bool { return response(m) && (v.Head.Status < 400 || m.ID != nil && !isNull(m.ID)) }
	return v.eachMessage(named, func(m Message, out *verdict) {
		if !bytes.Equal(m.ID, v.sent.ID) && !sameNumber(m.ID, v.sent.ID) && !sameText(m.ID, v.sent.ID) {
			out.add("id "+string(v.sent.ID), orAbsent(m.ID))
		}
	})
}

// sameNumber lets 1 and 1.0 be one id: JSON has one kind of number.
func sameNumber(a, b json.RawMessage) bool {
	var x, y json.Number
	if len(a) == 0 || len(b) == 0 || a[0] == '"' || b[0] == '"' || json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	f, errF := x.Float64()
	g, errG := y.Float64()
	return errF == nil && errG == nil && f == g
}

func rpcOnce(v *View) verdict {
	if v.sent.ID == nil || v.sent.Method == nil || v.Head.Status != 200 {
		return silent()
	}
	n := 0
	for _, m := range v.messages {
		if response(m) {
			n++
		}
	}
	if n > 1 {
		return bad("one response", fmt.Sprintf("%d on one stream", n))
	}
	return good()
}

func rpcEither(v *View) verdict {
	return v.eachMessage(func(m Message) bool { return response(m) && v.Head.Status < 400 }, func(m Message, out *verdict) {
		switch {
		case m.Result != nil && m.Error != nil:
			out.add("a result or an error", "both")
		case m.Result == nil && m.Error == nil:
			out.add("a result or an error", "neither; members "+strings.Join(m.Members, ", "))
		}
	})
}

func rpcResult(v *View) verdict {
	return v.eachMessage(func(m Message) bool { return response(m) && m.Result != nil }, func(m Message, out *verdict) {
		if m.Result[0] != '{' {
			out.add("an object as result", shortRaw(m.Result))
		}
	})
}

func rpcError(v *View) verdict {
	return v.eachMessage(func(m Message) bool { return response(m) && m.Error != nil && m.Result == nil }, func(m Message, out *verdict) {
		var e struct {
			Message *string
		}
		_, ok := m.Code()
		if err := json.Unmarshal(m.Error, &e); err != nil || e.Message == nil || !ok {
			out.add("an integer code and a message", shortRaw(m.Error))
		}
	})
}

func rpcNotification(v *View) verdict {
	if v.sent.Method == nil || v.sent.ID != nil || v.Head.Status >= 400 {
		return silent()
	}
	for _, m := range v.messages {
		if response(m) {
			return bad("no response to a notification", shortRaw(m.Raw))
		}
	}
	return good()
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

func orAbsent(raw json.RawMessage) string {
	if raw == nil {
		return "absent"
	}
	return shortRaw(raw)
}

func shortRaw(raw json.RawMessage) string {
	const most = 300
	if len(raw) > most {
		return strings.ToValidUTF8(string(raw[:most]), "") + "…"
	}
	return string(raw)
}
