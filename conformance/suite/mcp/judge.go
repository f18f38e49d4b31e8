package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"assay.kit/conformance/check"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// Codes of JSON-RPC 2.0 §5.1.
const (
	codeParse   = -32700
	codeRequest = -32600
	codeMethod  = -32601
	codeParams  = -32602
)

// aliveClaim is judged after whatever a server must survive.
const aliveClaim = "mcp.alive"

func aliveSays() check.Claim {
	return check.Claim{ID: aliveClaim, Says: "After a message that is wrong, or a cancellation, the session still answers ping."}
}

// alive judges that a session still answers.
func (s *Session) alive(after string) {
	ex, m := s.Call("ping", nil)
	s.T.Judge(aliveClaim, m.Result != nil, "a result of ping after "+after, told(ex))
}

// told is an answer in a few words.
func told(ex wire.Exchange) string {
	if ex.Status() == 0 {
		return "no answer: " + brief(ex)
	}
	if ex.End == wire.EndTimeout {
		return fmt.Sprintf("%d, and then nothing until the time was up: %s", ex.Status(), brief(ex))
	}
	return fmt.Sprintf("%d %s", ex.Status(), brief(ex))
}

// refusedAs reports a JSON-RPC error with one of the codes, whatever the HTTP status.
func refusedAs(m wire.Message, codes ...int) bool {
	got, ok := m.Code()
	for _, c := range codes {
		if ok && got == c && m.Result == nil {
			return true
		}
	}
	return false
}

// refused reports that a request was not served: a 4xx, or a JSON-RPC error.
func refused(ex wire.Exchange, m wire.Message) bool {
	return ex.Status() >= 400 && ex.Status() < 500 || ex.Status() == http.StatusOK && m.Error != nil && m.Result == nil
}

// served2xx reports an answer that did what was asked: a 2xx that is no JSON-RPC error.
func served(ex wire.Exchange, m wire.Message) bool {
	return ex.Status()/100 == 2 && (m.Error == nil || m.Result != nil)
}

// anyResult reports a result anywhere in an answer, also in an array of messages.
func anyResult(ex wire.Exchange) bool {
	for _, m := range ex.Messages() {
		if m.Err == nil && m.Result != nil {
			return true
		}
		var batch []map[string]json.RawMessage
		if m.Err != nil && json.Unmarshal(bytes.TrimSpace(m.Raw), &batch) == nil {
			for _, one := range batch {
				if one["result"] != nil {
					return true
				}
			}
		}
	}
	return false
}

// sample is a tool of the contract with arguments that it takes: one that answers at once and changes
// nothing where there is one.
func sample(c *spec.Contract) (*spec.Tool, any) {
	var best *spec.Tool
	for _, tool := range c.Tools {
		if len(tool.Examples) > 0 && (best == nil || rank(tool) < rank(best)) {
			best = tool
		}
	}
	if best == nil {
		return nil, nil
	}
	return best, best.Examples[0].Value
}

func rank(tool *spec.Tool) int {
	switch {
	case tool.Async:
		return 2
	case tool.Effect != spec.EffectRead:
		return 1
	default:
		return 0
	}
}

// works shows that a call of a tool is served, so that a refusal of a wrong one means something. A
// contract without examples has its list of tools for that.
func (s *Session) works() {
	tool, arguments := sample(s.T.Contract())
	var ex wire.Exchange
	var m wire.Message
	if tool == nil {
		ex, m = s.Call("tools/list", nil)
	} else {
		ex, m = s.Tool(tool.Name, arguments)
	}
	if m.Result == nil {
		s.T.Inconclusive("a request that is right was answered %s, so refusing a wrong one would prove nothing", told(ex))
	}
}
