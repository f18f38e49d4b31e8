package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Version of JSON-RPC that every message names.
const rpcVersion = "2.0"

// Codes of JSON-RPC 2.0 §5.1, and one of the range that it leaves to servers.
const (
	codeParse    = -32700
	codeRequest  = -32600
	codeMethod   = -32601
	codeParams   = -32602
	codeInternal = -32603
	codeRefused  = -32000
)

// frame is one JSON-RPC message as it arrived. A request has an id and a method, a notification a
// method only, a response an id only.
type frame struct {
	id     json.RawMessage // nil: absent
	method string
	params json.RawMessage // nil: absent
}

func (f frame) request() bool      { return f.id != nil && f.method != "" }
func (f frame) notification() bool { return f.id == nil && f.method != "" }

// readFrame reads the one message of a body. What is no JSON is a parse error; what is JSON and no
// message of the revision, a batch among them, is an invalid request. The fault names the id if the
// message has a usable one.
func readFrame(body []byte) (frame, *fault) {
	if !utf8.Valid(body) || !json.Valid(body) {
		return frame{}, &fault{status: 400, code: codeParse, message: "The body is not JSON."}
	}
	m, err := members(body)
	if err != nil {
		return frame{}, &fault{status: 400, code: codeRequest, message: "The body is not one JSON-RPC message: " + err.Error() + "."}
	}
	f := frame{id: m["id"], params: m["params"]}
	bad := func(why string) (frame, *fault) {
		p := &fault{status: 400, code: codeRequest, message: why}
		if _, ok := idKey(f.id); ok {
			p.id = f.id
		}
		return frame{}, p
	}
	if v, ok := text(m["jsonrpc"]); !ok || v != rpcVersion {
		return bad(`The member jsonrpc must be "2.0".`)
	}
	if f.id != nil {
		if _, ok := idKey(f.id); !ok {
			return bad("The id must be a string or an integer.")
		}
	}
	_, result := m["result"]
	_, failure := m["error"]
	name, named := m["method"]
	switch {
	case named && (result || failure):
		return bad("A message has a method, or a result or error, but not both.")
	case named:
		if f.method, named = text(name); !named || f.method == "" {
			return bad("The method must be a string.")
		}
		return f, nil
	case result && failure:
		return bad("A response has a result or an error, but not both.")
	case (result || failure) && f.id != nil:
		return f, nil
	default:
		return bad("A message has a method, or answers a request.")
	}
}

var (
	errNoObject = errors.New("it is no object")
	errTwice    = errors.New("a member name occurs twice")
)

// members splits a JSON object into its members as they were written. Names are compared exactly,
// letter case included, and one that occurs twice is an error: two readers would take two values.
func members(raw json.RawMessage) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errNoObject
	}
	out := map[string]json.RawMessage{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string) // within an object a name comes first
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		if _, twice := out[name]; twice {
			return nil, errTwice
		}
		out[name] = v
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errNoObject
	}
	return out, nil
}

// text is a raw JSON string's value.
func text(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	return s, json.Unmarshal(raw, &s) == nil
}

// maxID bounds an id or token, which is kept while its request is in flight.
const maxID = 4096

// idKey is what makes two ids, or progress tokens, the same: their type and value, however they are
// spelled. It is false for what is no string and no integer (RequestId of the revision's schema).
func idKey(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || len(raw) > maxID {
		return "", false
	}
	if s, ok := text(raw); ok {
		return strconv.Quote(s), true
	}
	whole, frac, _ := strings.Cut(string(raw), ".")
	digits := strings.TrimPrefix(whole, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" || strings.Trim(frac, "0") != "" {
		return "", false // a fraction, an exponent, or no number
	}
	if digits == "0" {
		return digits, true
	}
	return whole, true
}

// fault is a refusal of the protocol. On a request that could be read it becomes a JSON-RPC error
// with status 200; before that it has a status of its own.
type fault struct {
	status  int
	code    int
	message string
	id      json.RawMessage // nil: the answer carries none
	data    map[string]any
	header  map[string]string
}

// Response is one answer to a request before it is written: exactly one of Result and Error is set.
type Response struct {
	ID     json.RawMessage
	Result any
	Error  *Error
}

// Error is a JSON-RPC error object (§5.1).
type Error struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    map[string]any `json:"data,omitempty"`
}

// wireResponse is what a Response looks like on the wire.
type wireResponse struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

type wireNotification struct {
	Version string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params,omitempty"`
}

func (r Response) encode() []byte {
	return encode(wireResponse{Version: rpcVersion, ID: r.ID, Result: r.Result, Error: r.Error})
}

// encode writes JSON in one line, without HTML escapes. All that is written here can be encoded; what
// could not is answered as the defect that it is.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return []byte(`{"jsonrpc":"2.0","error":{"code":-32603,"message":"The answer has no JSON form."}}`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
