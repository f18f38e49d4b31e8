package mutant

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"assay.kit/reference"
	"assay.kit/reference/mcp"
)

// Header fields of the face.
const (
	sessionField = "Mcp-Session-Id"
	versionField = "Mcp-Protocol-Version"
	lastField    = "Last-Event-Id"
)

// rules changes one decision of the MCP transport.
func rules(change func(*mcp.Rules)) func(*reference.MCP) {
	return func(m *reference.MCP) { change(&m.Rules) }
}

// serving wraps the MCP transport alone.
func serving(serve func(next http.Handler, w http.ResponseWriter, r *http.Request)) func(*reference.MCP) {
	return func(m *reference.MCP) { m.Wraps = append(m.Wraps, wrap(serve)) }
}

// serveBy is serving for what needs a memory: start makes it.
func serveBy(start func() func(next http.Handler, w http.ResponseWriter, r *http.Request)) func(*reference.MCP) {
	return func(m *reference.MCP) { m.Wraps = append(m.Wraps, wrap(start())) }
}

// streaming has every answer that may be one be a stream.
func streaming(change func(*reference.MCP)) func(*reference.MCP) {
	return func(m *reference.MCP) {
		m.Form = mcp.SSE
		change(m)
	}
}

// posted is one POST with its message and its answer.
type posted struct {
	r    *http.Request
	raw  []byte           // as it was sent
	sent map[string]any   // the same, empty if it is no object
	late []map[string]any // messages to be added at the end of a stream
	*answer
}

func (a *posted) method() string { return text(a.sent, "method") }

// isRequest reports a message with a method and an id.
func (a *posted) isRequest() bool { return a.method() != "" && a.sent["id"] != nil }

// token is the progress token of the request, nil if it gave none.
func (a *posted) token() any {
	params, _ := a.sent["params"].(map[string]any)
	meta, _ := params["_meta"].(map[string]any)
	return meta["progressToken"]
}

// posting changes the answers to POST; streams that are opened by GET pass.
func posting(change func(a *posted)) func(*reference.MCP) {
	return serving(func(next http.Handler, w http.ResponseWriter, r *http.Request) { post(next, w, r, change) })
}

func post(next http.Handler, w http.ResponseWriter, r *http.Request, change func(a *posted)) {
	if r.Method != http.MethodPost {
		next.ServeHTTP(w, r)
		return
	}
	body := bodyOf(r)
	a := &posted{r: r, raw: body, sent: decoded(body), answer: ask(next, r)}
	if a.sent == nil {
		a.sent = map[string]any{}
	}
	change(a)
	for _, m := range a.late {
		a.behind(m)
	}
	a.send(w)
}

// withBody is a request with another body.
func withBody(r *http.Request, body []byte) *http.Request {
	own := r.Clone(r.Context())
	own.Body, own.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	own.Header.Del("Content-Length")
	return own
}

func (a *posted) isStream() bool {
	return strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream")
}

// each changes every message of an answer, in whatever form it is.
func (a *posted) each(change func(m map[string]any)) {
	if !a.isStream() {
		if m := a.object(); m != nil {
			change(m)
			a.set(m)
		}
		return
	}
	lines := strings.Split(string(a.body), "\n")
	for i, line := range lines {
		data, ok := strings.CutPrefix(line, "data: ")
		if m := decoded([]byte(data)); ok && m != nil {
			change(m)
			lines[i] = "data: " + string(encode(m))
		}
	}
	a.body = []byte(strings.Join(lines, "\n"))
}

// response changes the response in an answer to a request of this method, "" is any.
func (a *posted) response(method string, change func(m map[string]any)) {
	if !a.isRequest() || method != "" && a.method() != method {
		return
	}
	a.each(func(m map[string]any) {
		if m["method"] == nil {
			change(m)
		}
	})
}

// result changes the result of a request of this method.
func (a *posted) result(method string, change func(result map[string]any)) {
	a.response(method, func(m map[string]any) {
		if r, ok := m["result"].(map[string]any); ok {
			change(r)
		}
	})
}

// instead answers with one message of its own in a plain body, with the id of the request.
func (a *posted) instead(status int, m map[string]any) {
	m["jsonrpc"] = "2.0"
	if a.sent["id"] != nil {
		m["id"] = a.sent["id"]
	}
	a.plain(status, "application/json", string(encode(m)))
}

// plain answers with any body.
func (a *posted) plain(status int, mediaType, body string) {
	a.status, a.body = status, []byte(body)
	a.header.Set("Content-Type", mediaType)
	a.header.Del("Content-Length")
	if mediaType == "" {
		a.header.Del("Content-Type")
	}
}

func errorOf(code int, message string) map[string]any {
	return map[string]any{"error": map[string]any{"code": code, "message": message}}
}

// ahead puts a message before all others of a stream, and behind one after them. Such an event has no id.
func (a *posted) ahead(m map[string]any) {
	if a.isStream() {
		a.body = append(event(m), a.body...)
	}
}

func (a *posted) behind(m map[string]any) {
	if a.isStream() {
		a.body = append(a.body, event(m)...)
	}
}

func event(m map[string]any) []byte {
	m["jsonrpc"] = "2.0"
	return bytes.Join([][]byte{[]byte("data: "), encode(m), []byte("\n\n")}, nil)
}

// progressing is a progress notification.
func progressing(token any, value any) map[string]any {
	return map[string]any{"method": "notifications/progress", "params": map[string]any{"progressToken": token, "progress": value}}
}

// isCode reports a JSON-RPC error with this code.
func isCode(m map[string]any, code string) bool {
	e, _ := m["error"].(map[string]any)
	return e != nil && stringOf(e["code"]) == code
}

func stringOf(v any) string { return string(encode(v)) }
