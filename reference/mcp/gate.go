package mcp

import (
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	mediaJSON = "application/json"
	mediaSSE  = "text/event-stream"
)

// OwnHost reports whether a Host header names the server. The port is not looked at: a page that had
// its own name resolved to this machine shows that name here, whatever the port.
func OwnHost(host string, own []string) bool {
	return len(own) == 0 || slices.Contains(own, hostname(host))
}

// hostname is the name of a host header, in lower case and without port and brackets.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// loopbackNames are what a server that listens on this machine only is called.
func loopbackNames() []string { return []string{"localhost", "127.0.0.1", "::1"} }

func loopback(name string) bool { return slices.Contains(loopbackNames(), name) }

// names are those that a Host header may have, and origins those that a page may have that calls the
// server: its own, under every name of loopback if it is one of them.
func names(base *url.URL) (hosts, origins []string) {
	hosts = []string{strings.ToLower(base.Hostname())}
	if loopback(hosts[0]) {
		hosts = loopbackNames()
	}
	for _, h := range hosts {
		authority := h
		if strings.Contains(h, ":") {
			authority = "[" + h + "]"
		}
		if p := base.Port(); p != "" {
			authority += ":" + p
		}
		origins = append(origins, base.Scheme+"://"+authority)
	}
	return hosts, origins
}

// Accepts reports which of the two answer forms the Accept header allows, by the quality of the most
// specific range that covers each (RFC 9110 §12.5.1). Without the header both are.
func Accepts(values []string) (json, sse bool) {
	if len(values) == 0 {
		return true, true
	}
	ranges := strings.Split(strings.Join(values, ","), ",")
	return quality(ranges, mediaJSON) > 0, quality(ranges, mediaSSE) > 0
}

func quality(ranges []string, media string) float64 {
	kind, _, _ := strings.Cut(media, "/")
	best, q := 0, 0.0
	for _, r := range ranges {
		got, params, err := mime.ParseMediaType(r)
		if err != nil {
			continue
		}
		specific := map[string]int{media: 3, kind + "/*": 2, "*/*": 1}[got]
		if specific <= best {
			continue
		}
		best, q = specific, 1
		if v, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(v, 64); err != nil {
				q = 0
			}
		}
	}
	return q
}

// MediaType reports whether one content type is given and is JSON; another charset than UTF-8 is
// another encoding than JSON has.
func MediaType(values []string) bool {
	if len(values) != 1 {
		return false
	}
	got, params, err := mime.ParseMediaType(values[0])
	charset, has := params["charset"]
	return err == nil && got == mediaJSON && (!has || strings.EqualFold(charset, "utf-8"))
}

// admit judges what can be judged of a request before it is known who sent it.
func (h *Handler) admit(r *http.Request) *fault {
	hosts, origins := h.hosts, h.origins
	if h.BaseURL == "" { // reached under whatever name the request has, as long as it is of this machine
		_, origins = names(&url.URL{Scheme: "http", Host: r.Host})
		hosts = loopbackNames()
	}
	if h.AnyHost {
		hosts = nil
	}
	if !h.Rules.Host(r.Host, hosts) {
		return &fault{status: http.StatusForbidden, code: codeRefused, message: "The Host header names another server."}
	}
	for _, o := range r.Header.Values("Origin") {
		if !h.Rules.Origin(strings.ToLower(o), append(slices.Clone(origins), h.Origins...)) {
			return &fault{status: http.StatusForbidden, code: codeRefused, message: "Pages of this origin may not call the server."}
		}
	}
	switch r.Method {
	case http.MethodPost, http.MethodGet, http.MethodDelete:
		return nil
	}
	return methodNotAllowed("GET, POST, DELETE")
}

func methodNotAllowed(allow string) *fault {
	return &fault{status: http.StatusMethodNotAllowed, code: codeRefused, message: "The endpoint has no such method.", header: map[string]string{"Allow": allow}}
}

// Header names of the revision (Streamable HTTP).
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerLast    = "Last-Event-Id"
)

// version judges the header that every request after initialize carries. Without it the session tells
// what was negotiated.
func (h *Handler) version(r *http.Request) *fault {
	values := r.Header.Values(headerVersion)
	if len(values) == 0 || len(values) == 1 && h.Rules.Version(values[0], h.supported) {
		return nil
	}
	return &fault{status: http.StatusBadRequest, code: codeRequest, message: "This protocol version is not supported.",
		data: map[string]any{"supported": h.supported}}
}

// oneValue is the value of a header that comes once; ok is false if it comes more often.
func oneValue(r *http.Request, name string) (v string, there, ok bool) {
	values := r.Header.Values(name)
	if len(values) == 0 {
		return "", false, true
	}
	return values[0], true, len(values) == 1
}
