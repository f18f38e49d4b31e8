package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"assay.kit/spec/schema"
)

// Message is one JSON-RPC 2.0 message as it stood on the wire. Members that were not there are nil;
// a null is the four letters.
type Message struct {
	Raw     json.RawMessage
	Stream  *StreamEvent // the event that carried it; nil: a plain body
	Err     error        // Raw is no JSON object; nothing below is set
	Version json.RawMessage
	ID      json.RawMessage
	Method  json.RawMessage
	Params  json.RawMessage
	Result  json.RawMessage
	Error   json.RawMessage
	Members []string // all, in order
}

// IsResponse reports a result or an error.
func (m Message) IsResponse() bool { return m.Method == nil && (m.Result != nil || m.Error != nil) }

// Name is the method, "" if there is none or it is no text.
func (m Message) Name() string {
	var s string
	_ = json.Unmarshal(m.Method, &s)
	return s
}

// Answers reports whether the message is the response to an id, by value and JSON type.
func (m Message) Answers(id json.RawMessage) bool {
	return m.Method == nil && bytes.Equal(bytes.TrimSpace(m.ID), bytes.TrimSpace(id))
}

// Code is the error's code; ok is false if there is no error or its code is no integer.
func (m Message) Code() (code int, ok bool) {
	var e struct {
		Code json.RawMessage `json:"code"`
	}
	if m.Error == nil || json.Unmarshal(m.Error, &e) != nil || !isKind(e.Code, "integer") {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(e.Code), 64)
	return int(f), err == nil
}

// ParseMessage reads one message; a body that is no object gives Err.
func ParseMessage(raw []byte) Message {
	m := Message{Raw: json.RawMessage(raw)}
	if _, err := schema.DecodeJSON(raw); err != nil { // strict: one value, no duplicate members
		m.Err = err
		return m
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		m.Err = errNoObject
		return m
	}
	slots := map[string]*json.RawMessage{"jsonrpc": &m.Version, "id": &m.ID, "method": &m.Method, "params": &m.Params,
		"result": &m.Result, "error": &m.Error}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			m.Err = err
			return m
		}
		name, _ := t.(string)
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			m.Err = err
			return m
		}
		m.Members = append(m.Members, name)
		if slot := slots[name]; slot != nil {
			*slot = v
		}
	}
	return m
}

// Messages are those of an answer: of each event of a stream that carries data (one whose data is empty
// is not dispatched, HTML standard §9.2.6), or the one of a JSON body. Another media type has none.
func (e Exchange) Messages() []Message {
	switch e.MediaType() {
	case "text/event-stream":
		events, _ := ParseStream(e.Body())
		var out []Message
		for i := range events {
			if len(events[i].Data) > 0 && (events[i].Name == "" || events[i].Name == "message") {
				m := ParseMessage(events[i].Data)
				m.Stream = &events[i]
				out = append(out, m)
			}
		}
		return out
	case "application/json":
		if len(e.Body()) == 0 {
			return nil
		}
		return []Message{ParseMessage(e.Body())}
	default:
		return nil
	}
}

// MediaType is that of the answer, in lower case and without parameters.
func (e Exchange) MediaType() string {
	mediaType, _, _ := strings.Cut(e.Header("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(mediaType))
}

// SentMessage is the message of an MCP request, false if it has none that can be read.
func (e Exchange) SentMessage() (Message, bool) {
	if e.Req.Face != FaceMCP || len(e.Req.Body) == 0 {
		return Message{}, false
	}
	m := ParseMessage(e.Req.Body)
	return m, m.Err == nil
}
