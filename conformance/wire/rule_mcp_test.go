package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.kit/spec"
)

// spoken is an exchange of the face as a test writes it.
type spoken struct {
	name    string
	method  string // of HTTP; "" is POST
	sent    string
	status  int
	media   string
	fields  []Field
	request []Field
	body    string
	events  []string // of a stream; they take body's place
	end     End
	breaks  []string
	apart   time.Duration // between two events
}

const (
	askList  = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	askBegin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`
	pinged   = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	askNote  = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	askCall  = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":"p"}}}`
	answered = `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`
)

func stepTo(v string) string {
	return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":` + v + `}}`
}

func result(of string) string { return `{"jsonrpc":"2.0","id":1,"result":` + of + `}` }

// TestMCPRules: each row breaks exactly the claims that it names.
func TestMCPRules(t *testing.T) {
	hello := `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
	tool := func(more string) string {
		return result(`{"tools":[{"name":"t","inputSchema":{"type":"object"}` + more + `}]}`)
	}
	flood := make([]string, 0, 60)
	for i := range 59 {
		flood = append(flood, stepTo(fmt.Sprint(i)))
	}
	for _, tc := range []spoken{
		{name: "right", sent: askBegin, body: result(hello)},
		{name: "right in another spelling", sent: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, body: ` {"result":{},"id":1.0,"jsonrpc":"2.0"} `},
		{name: "right stream", sent: askCall, events: []string{stepTo("0"), stepTo("0.5"), answered}},
		{name: "priming event", sent: askList, media: "text/event-stream", body: "id: 1\ndata:\n\ndata: " + tool("") + "\n\n"},
		{name: "charset", sent: askList, media: "application/json; charset=utf-8", body: tool(`,"annotations":{"readOnlyHint":true},"_meta":{"assay":1,"a.b/c":2}`)},
		{name: "taken", sent: askNote, status: 202},
		{name: "refused as text", sent: askList, status: 400, media: "text/plain", body: "no"},
		{name: "refused before it was read", sent: askList, status: 400, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"No."}}`},
		{name: "cut by us", sent: askList, end: EndTimeout, body: "{"},
		{name: "another revision's form", sent: askList, body: `{"id":1,"result":{"tools":[]}}`, breaks: []string{"mcp.message"}},
		{name: "a askList of messages", sent: askList, body: "[" + tool("") + "]", breaks: []string{"mcp.message"}},
		{name: "twice a member", sent: pinged, body: `{"jsonrpc":"2.0","id":1,"result":{},"id":1}`, breaks: []string{"mcp.message"}},
		{name: "another id", sent: pinged, body: `{"jsonrpc":"2.0","id":"1","result":{}}`, breaks: []string{"mcp.response-id"}},
		{name: "two responses", sent: pinged, events: []string{result("{}"), result("{}")}, breaks: []string{"mcp.one-response"}},
		{name: "both", sent: pinged, body: `{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, breaks: []string{"mcp.result-or-error"}},
		{name: "null result", sent: pinged, body: result("null"), breaks: []string{"mcp.result-object"}},
		{name: "code as text", sent: pinged, body: `{"jsonrpc":"2.0","id":1,"error":{"code":"-32601","message":"No."}}`, breaks: []string{"mcp.error-object"}},
		{name: "long error", sent: pinged, body: `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"` + strings.Repeat("x", 201) + `"}}`, breaks: []string{"mcp.error-text"}},
		{name: "answered notification", sent: askNote, body: result("{}"), breaks: []string{"mcp.accepted", "mcp.notification-unanswered"}},
		{name: "202 with a body", sent: askNote, status: 202, media: "text/plain", body: "ok", breaks: []string{"mcp.accepted-empty"}},
		{name: "text", sent: askList, media: "text/plain", body: tool(""), breaks: []string{"mcp.media-type"}},
		{name: "latin1", sent: pinged, body: result("{\"a\":\"\xe9\"}"), breaks: []string{"mcp.message", "mcp.utf8"}},
		{name: "half an event", sent: pinged, media: "text/event-stream", body: "data: " + result("{}") + "\n\ndata: x", breaks: []string{"mcp.sse-frame"}},
		{name: "half an event, left open", sent: pinged, media: "text/event-stream", body: "data: " + result("{}") + "\n\ndata: x", end: EndOpen},
		{name: "session id", sent: askBegin, body: result(hello), fields: []Field{{"Mcp-Session-Id", "a b"}}, breaks: []string{"mcp.session-id-ascii"}},
		{name: "token", sent: pinged, body: result(`{"a":"token-of-the-test"}`), request: []Field{{"Authorization", "Bearer token-of-the-test"}}, breaks: []string{"mcp.leak"}},
		{name: "fraction as id", sent: pinged, events: []string{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, result("{}")}, breaks: []string{"mcp.server-request-id"}},
		{name: "notification with an id", sent: pinged, events: []string{`{"jsonrpc":"2.0","id":3,"method":"notifications/message","params":{"level":"info","data":1}}`, result("{}")}, breaks: []string{"mcp.notification-id"}},
		{name: "level", sent: pinged, events: []string{`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"trace","data":1}}`, result("{}")}, breaks: []string{"mcp.notification-shape"}},
		{name: "asks", sent: pinged, events: []string{`{"jsonrpc":"2.0","id":3,"method":"sampling/createMessage","params":{}}`, result("{}")}, breaks: []string{"mcp.client-capability"}},
		{name: "early", sent: askBegin, events: []string{`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, result(hello)}, breaks: []string{"mcp.early-request"}},
		{name: "cancels ours", sent: pinged, events: []string{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, result("{}")}, breaks: []string{"mcp.cancel-own"}},
		{name: "unasked progress", sent: pinged, events: []string{stepTo("0"), result("{}")}, breaks: []string{"mcp.progress-token"}},
		{name: "falling progress", sent: askCall, events: []string{stepTo("1"), stepTo("1"), answered}, breaks: []string{"mcp.progress-rising"}},
		{name: "late progress", sent: askCall, events: []string{answered, stepTo("1")}, breaks: []string{"mcp.progress-over"}},
		{name: "much progress", sent: askCall, events: append(slices.Clone(flood), answered), breaks: []string{"mcp.progress-rate"}},
		{name: "much progress, slowly", sent: askCall, events: append(slices.Clone(flood), answered), apart: 21 * time.Millisecond},
		{name: "response to nobody", method: "GET", events: []string{result("{}")}, breaks: []string{"mcp.get-response"}},
		{name: "resumed", method: "GET", events: []string{result("{}")}, request: []Field{{"Last-Event-ID", "1"}}},
		{name: "progress for nobody", method: "GET", events: []string{stepTo("1")}, breaks: []string{"mcp.get-unrelated"}},
		{name: "no server version", sent: askBegin, body: result(`{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s"}}`), breaks: []string{"mcp.initialize-shape"}},
		{name: "schema of an array", sent: askList, body: result(`{"tools":[{"name":"t","inputSchema":{"type":"array"}}]}`), breaks: []string{"mcp.tools-shape"}},
		{name: "null cursor", sent: askList, body: result(`{"tools":[],"nextCursor":null}`), breaks: []string{"mcp.tools-shape"}},
		{name: "hint as text", sent: askList, body: tool(`,"annotations":{"readOnlyHint":"true"}`), breaks: []string{"mcp.tools-shape"}},
		{name: "icons", sent: askList, body: tool(`,"icons":[]`), breaks: []string{"mcp.later-revision"}},
		{name: "bad prefix", sent: askList, body: tool(`,"_meta":{"1a/x":1}`), breaks: []string{"mcp.meta-prefix"}},
		{name: "bad name", sent: askList, body: tool(`,"_meta":{"a/_x":1}`), breaks: []string{"mcp.meta-name"}},
		{name: "reserved", sent: askList, body: tool(`,"_meta":{"tools.mcp.com/x":1}`), breaks: []string{"mcp.meta-reserved"}},
		{name: "not reserved", sent: askList, body: tool(`,"_meta":{"com.example.mcp/x":1,"mcp.com.example/x":2}`)},
		{name: "no content", sent: askCall, body: result(`{"structuredContent":{"a":1}}`), breaks: []string{"mcp.call-shape", "mcp.text-mirror"}},
		{name: "mirror in another spelling", sent: askCall, body: result(`{"structuredContent":{"a":1.0,"b":"é"},"content":[{"type":"text","text":"{\"b\":\"\\u00e9\",\"a\":1}"}]}`)},
		{name: "unknown block", sent: askCall, body: result(`{"content":[{"type":"video"}]}`), breaks: []string{"mcp.call-shape"}},
		{name: "no base64", sent: askCall, body: result(`{"content":[{"type":"audio","mimeType":"a/b","data":"%"}]}`), breaks: []string{"mcp.call-shape"}},
		{name: "neither text nor blob", sent: askCall, body: result(`{"content":[{"type":"resource","resource":{"uri":"a:b"}}]}`), breaks: []string{"mcp.call-shape"}},
		{name: "every block", sent: askCall, body: result(`{"isError":false,"content":[{"type":"text","text":""},{"type":"image","mimeType":"a/b","data":"eA=="},
			{"type":"resource_link","uri":"a:b","name":"n","size":1},{"type":"resource","resource":{"uri":"a:b","blob":"eA=="}}]}`)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := broken(tc); !slices.Equal(got, tc.breaks) {
				t.Errorf("broken: %v, not %v", got, tc.breaks)
			}
		})
	}
}

func broken(s spoken) []string {
	ex := Exchange{Req: Request{Face: FaceMCP, Method: "POST", Fields: s.request, Body: Bytes(s.sent)},
		Head: Head{Status: 200, Fields: s.fields}, End: EndComplete}
	media := "application/json"
	if s.method != "" {
		ex.Req.Method = s.method
	}
	if s.status != 0 {
		ex.Head.Status = s.status
	}
	if s.end != "" {
		ex.End = s.end
	}
	if s.body != "" {
		ex.Events = []Event{{Data: Bytes(s.body)}}
	}
	for i, e := range s.events {
		media = "text/event-stream"
		ex.Events = append(ex.Events, Event{At: time.Duration(i) * s.apart, Data: Bytes("data: " + e + "\n\n")})
	}
	if s.media != "" {
		media = s.media
	}
	ex.Head.Fields = append(ex.Head.Fields, Field{"Content-Type", media})
	v := NewView(&spec.Contract{}, ex)
	var out []string
	for _, r := range Passive() {
		if findings, _ := r.Look(v); len(findings) > 0 {
			out = append(out, r.Claim)
		}
	}
	slices.Sort(out)
	return out
}

// FuzzMCPRules: no answer makes a rule panic.
func FuzzMCPRules(f *testing.F) {
	f.Add([]byte(askCall), []byte("data: "+answered+"\n\n"), true)
	f.Add([]byte(askList), []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"_meta":{"a/b":1}}]}}`), false)
	f.Add([]byte(askBegin), []byte(`{"result":{"capabilities":[],"serverInfo":1}}`), false)
	f.Fuzz(func(_ *testing.T, sent, body []byte, stream bool) {
		media := "application/json"
		if stream {
			media = "text/event-stream"
		}
		broken(spoken{sent: string(sent), body: string(body), media: media})
	})
}
