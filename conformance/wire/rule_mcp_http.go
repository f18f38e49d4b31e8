package wire

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// mcpHTTPRules judge how messages travel: Streamable HTTP, Sending Messages and Session Management.
func mcpHTTPRules() []mcpRule {
	return []mcpRule{
		{"mcp.media-type", "A request that is served is answered with application/json or text/event-stream.", rpcMediaType},
		{"mcp.accepted", "A notification that is taken is answered with 202.", rpcAccepted},
		{"mcp.accepted-empty", "An answer 202 has no body.", rpcAcceptedEmpty},
		{"mcp.utf8", "Every message is UTF-8.", rpcUTF8},
		{"mcp.sse-frame", "Every event of a stream is whole, and its data is one message.", rpcFrames},
		{"mcp.session-id-ascii", "A session id is one header of visible ASCII characters.", rpcSessionID},
		{"mcp.leak", "No answer shows internals of the server or the caller's token.", leak},
	}
}

// asks reports whether a request was sent, and tells whether a notification was.
func (v *View) asks() bool     { return v.sent.ID != nil && v.sent.Method != nil }
func (v *View) notifies() bool { return v.sent.ID == nil && v.sent.Method != nil }

func rpcMediaType(v *View) verdict {
	if !v.asks() || v.Head.Status != 200 {
		return silent()
	}
	switch got := v.MediaType(); got {
	case "application/json", "text/event-stream":
		return good()
	default:
		return bad("application/json or text/event-stream", fmt.Sprintf("%q", got))
	}
}

func rpcAccepted(v *View) verdict {
	if !v.notifies() || v.Head.Status >= 300 {
		return silent()
	}
	if v.Head.Status != 202 {
		return bad("202 for "+v.sent.Name(), fmt.Sprint(v.Head.Status))
	}
	return good()
}

func rpcAcceptedEmpty(v *View) verdict {
	switch {
	case v.Head.Status != 202 || v.Req.Method != "POST":
		return silent()
	case len(v.body) > 0:
		return bad("202 without a byte of body", shortRaw(v.body))
	}
	return good()
}

// carriesMessages reports whether the answer's media type is one that messages travel in.
func (v *View) carriesMessages() bool {
	mt := v.MediaType()
	return len(v.body) > 0 && (mt == "application/json" || mt == "text/event-stream")
}

func rpcUTF8(v *View) verdict {
	switch {
	case !v.carriesMessages():
		return silent()
	case !utf8.Valid(v.body):
		return bad("UTF-8", "a byte sequence that is none")
	case bytes.HasPrefix(v.body, []byte("\xEF\xBB\xBF")) && v.MediaType() == "application/json":
		return bad("UTF-8 without a byte order mark (RFC 8259 §8.1)", "a byte order mark")
	}
	return good()
}

func rpcFrames(v *View) verdict {
	if v.MediaType() != "text/event-stream" || v.Head.Status != 200 {
		return silent()
	}
	_, whole := ParseStream(v.body)
	if !whole && v.End == EndComplete {
		return bad("a blank line after the last event", "a stream that ends inside an event")
	}
	out := good()
	for _, m := range v.messages {
		if m.Err != nil {
			out.add("one message as the data of an event", m.Err.Error()+": "+shortRaw(m.Raw))
		}
	}
	return out
}

func rpcSessionID(v *View) verdict {
	ids := v.HeaderValues("Mcp-Session-Id")
	switch len(ids) {
	case 0:
		return silent()
	case 1:
	default:
		return bad("one Mcp-Session-Id", fmt.Sprintf("%d of them", len(ids)))
	}
	for i := range len(ids[0]) {
		if c := ids[0][i]; c < 0x21 || c > 0x7e {
			return bad("characters 0x21 to 0x7E", fmt.Sprintf("0x%02X at position %d", c, i+1))
		}
	}
	if ids[0] == "" {
		return bad("a session id", "an empty one")
	}
	return good()
}
