package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// mcpServerRules judge what a server sends unasked, to a client that has declared no capability.
func mcpServerRules() []mcpRule {
	return []mcpRule{
		{"mcp.server-request-id", "A request of the server has an id of its own that is a string or an integer.", rpcServerIDs},
		{"mcp.notification-id", "A notification has no id.", rpcNotificationID},
		{"mcp.notification-shape", "A notification of the server has the params of the revision's schema.", rpcNotified},
		{"mcp.client-capability", "The server asks a client for nothing that it did not declare.", rpcClientCapability},
		{"mcp.early-request", "With its answer to initialize the server sends no request but ping, and no notification but logging.", rpcEarly},
		{"mcp.cancel-own", "The server cancels only requests of its own.", rpcCancelOwn},
		{"mcp.progress-token", "Progress names the token that the request gave, in value and type.", rpcProgressToken},
		{"mcp.progress-rising", "The progress of a request rises with each notification.", rpcProgressRising},
		{"mcp.progress-over", "After the response there is no progress.", rpcProgressOver},
		{"mcp.progress-message", "The message of a progress notification says something.", rpcProgressMessage},
		{"mcp.progress-rate", "Progress comes no more than fifty times a second.", rpcProgressRate},
		{"mcp.get-response", "A stream that was opened to listen carries no response.", rpcGetResponse},
		{"mcp.get-unrelated", "A stream that was opened to listen carries no progress of a request.", rpcGetUnrelated},
	}
}

func isMessage(m Message) bool { return m.Err == nil }

func rpcServerIDs(v *View) verdict {
	var seen []string
	return v.eachMessage(isMessage, func(m Message, out *verdict) {
		if m.Method == nil || m.ID == nil {
			return
		}
		if !isKind(m.ID, "token") {
			out.add("an id that is a string or an integer", shortRaw(m.ID))
		}
		if slices.Contains(seen, string(m.ID)) {
			out.add("an id for each request", "the id "+shortRaw(m.ID)+" twice on one stream")
		}
		seen = append(seen, string(m.ID))
	})
}

func rpcNotificationID(v *View) verdict {
	return v.eachMessage(isMessage, func(m Message, out *verdict) {
		if m.ID != nil && strings.HasPrefix(m.Name(), "notifications/") {
			out.add("no id in "+m.Name(), shortRaw(m.ID))
		}
	})
}

func rpcClientCapability(v *View) verdict {
	return v.eachMessage(isMessage, func(m Message, out *verdict) {
		if m.ID != nil && m.Method != nil && m.Name() != "ping" && !strings.HasPrefix(m.Name(), "notifications/") {
			out.add("no request but ping, since the client has declared nothing else", m.Name())
		}
	})
}

func rpcEarly(v *View) verdict {
	if v.sent.Name() != "initialize" {
		return silent()
	}
	return v.eachMessage(isMessage, func(m Message, out *verdict) {
		if m.Method != nil && m.Name() != "ping" && m.Name() != "notifications/message" {
			out.add("nothing but ping and logging before notifications/initialized", m.Name())
		}
	})
}

func rpcCancelOwn(v *View) verdict {
	if !v.asks() {
		return silent()
	}
	return v.eachMessage(isMessage, func(m Message, out *verdict) {
		var p struct{ RequestID json.RawMessage }
		if m.Name() == "notifications/cancelled" && json.Unmarshal(m.Params, &p) == nil && bytes.Equal(p.RequestID, v.sent.ID) {
			out.add("a cancellation of a request that the server made", "one of the client's request "+string(v.sent.ID))
		}
	})
}

// progressed is one progress notification.
type progressed struct {
	token   json.RawMessage
	value   float64
	message *string
	over    bool // the response had come before
}

func (v *View) progress() []progressed {
	var out []progressed
	over := false
	for _, m := range v.messages {
		over = over || m.Err == nil && m.IsResponse()
		if m.Name() != "notifications/progress" {
			continue
		}
		var p struct {
			ProgressToken json.RawMessage
			Progress      float64
			Message       *string
		}
		if json.Unmarshal(m.Params, &p) == nil {
			out = append(out, progressed{p.ProgressToken, p.Progress, p.Message, over})
		}
	}
	return out
}

// eachProgress judges what progress came on the stream of a request.
func eachProgress(v *View, judge func(all []progressed, out *verdict)) verdict {
	all := v.progress()
	if !v.asks() || len(all) == 0 {
		return silent()
	}
	out := good()
	judge(all, &out)
	return out
}

// givenToken is the progress token of the request, nil if it gave none.
func (v *View) givenToken() json.RawMessage {
	var p struct {
		Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
	_ = json.Unmarshal(v.sent.Params, &p)
	return p.Meta.ProgressToken
}

func rpcProgressToken(v *View) verdict {
	return eachProgress(v, func(all []progressed, out *verdict) {
		given := v.givenToken()
		for _, p := range all {
			if given == nil {
				out.add("no progress, since the request gave no token", "progress for "+orAbsent(p.token))
				return
			}
			if !bytes.Equal(p.token, given) && !sameNumber(p.token, given) && !sameText(p.token, given) {
				out.add("the token "+shortRaw(given), orAbsent(p.token))
				return
			}
		}
	})
}

// sameText lets a string be spelled with other escapes.
func sameText(a, b json.RawMessage) bool {
	var s, t string
	return kindOf(a) == "string" && kindOf(b) == "string" && json.Unmarshal(a, &s) == nil && json.Unmarshal(b, &t) == nil && s == t
}

func rpcProgressRising(v *View) verdict {
	return eachProgress(v, func(all []progressed, out *verdict) {
		last := map[string]float64{}
		for _, p := range all {
			if before, there := last[string(p.token)]; there && p.value <= before {
				out.add(fmt.Sprintf("more than %v", before), fmt.Sprint(p.value))
				return
			}
			last[string(p.token)] = p.value
		}
	})
}

func rpcProgressOver(v *View) verdict {
	return eachProgress(v, func(all []progressed, out *verdict) {
		if slices.ContainsFunc(all, func(p progressed) bool { return p.over }) {
			out.add("the response as the last message", "progress after it")
		}
	})
}

func rpcProgressMessage(v *View) verdict {
	return eachProgress(v, func(all []progressed, out *verdict) {
		if slices.ContainsFunc(all, func(p progressed) bool { return p.message != nil && strings.TrimSpace(*p.message) == "" }) {
			out.add("a message that people can read, or none", "an empty one")
		}
	})
}

// mostProgress is how many notifications a second are taken for limited.
const mostProgress = 50

func rpcProgressRate(v *View) verdict {
	return eachProgress(v, func(_ []progressed, out *verdict) {
		var at []time.Duration
		for _, e := range v.Events {
			if bytes.Contains(e.Data, []byte("notifications/progress")) {
				at = append(at, e.At)
			}
		}
		for i := mostProgress; i < len(at); i++ {
			if took := at[i] - at[i-mostProgress]; took < time.Second {
				out.add(fmt.Sprintf("%d in a second at most", mostProgress), fmt.Sprintf("%d in %s", mostProgress+1, took.Round(time.Millisecond)))
				return
			}
		}
	})
}

// listens reports a stream that answers no request and goes on with none.
func (v *View) listens() bool {
	return v.Req.Method == "GET" && v.Head.Status == 200 && v.MediaType() == "text/event-stream" && Lookup(v.Req.Fields, "Last-Event-ID") == ""
}

func rpcGetResponse(v *View) verdict {
	if !v.listens() {
		return silent()
	}
	for _, m := range v.messages {
		if m.Err == nil && m.IsResponse() {
			return bad("requests and notifications only", shortRaw(m.Raw))
		}
	}
	return good()
}

func rpcGetUnrelated(v *View) verdict {
	if !v.listens() {
		return silent()
	}
	if all := v.progress(); len(all) > 0 {
		return bad("nothing of a request in flight", "progress for "+orAbsent(all[0].token))
	}
	return good()
}
