package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// shape is what a JSON object of the revision's schema must look like, as far as a type can say it.
// Members that are not named are free: the schema leaves every object open.
type shape []member

// member is one of an object.
type member struct {
	name     string
	kind     string // string, number, integer, boolean, object, array, token (a string or an integer), any
	required bool
	of       shape    // of an object, or of each item of an array that holds objects
	items    string   // kind of an array's items; "" is any
	each     judge    // of each item of an array, or of an object, beyond its shape
	among    []string // values of a string; nil: any
}

// judge says what is wrong with a value, nothing if nothing is.
type judge func(raw json.RawMessage) []string

// mostSaid bounds what is said of one message.
const mostSaid = 5

// broken lists what in a raw object does not fit, each with its place.
func (s shape) broken(at string, raw json.RawMessage) []string {
	if kindOf(raw) != "object" {
		return []string{fmt.Sprintf("%s is no object but %s", orRoot(at), shortRaw(raw))}
	}
	var of map[string]json.RawMessage
	if json.Unmarshal(raw, &of) != nil {
		return []string{orRoot(at) + " cannot be read"}
	}
	var out []string
	for _, m := range s {
		v, there := of[m.name]
		switch {
		case !there && m.required:
			out = append(out, fmt.Sprintf("%s lacks %s", orRoot(at), m.name))
		case there:
			out = append(out, m.broken(at+"/"+m.name, v)...)
		}
		if len(out) >= mostSaid {
			return out[:mostSaid]
		}
	}
	return out
}

func (m member) broken(at string, raw json.RawMessage) []string {
	if !isKind(raw, m.kind) {
		return []string{fmt.Sprintf("%s is no %s but %s", at, m.kind, shortRaw(raw))}
	}
	switch m.kind {
	case "string":
		var s string
		_ = json.Unmarshal(raw, &s)
		if m.among != nil && !slices.Contains(m.among, s) {
			return []string{fmt.Sprintf("%s is %q, not one of %s", at, s, strings.Join(m.among, ", "))}
		}
	case "object":
		return m.inside(at, raw)
	case "array":
		return m.eachItem(at, raw)
	}
	return nil
}

func (m member) eachItem(at string, raw json.RawMessage) []string {
	var items []json.RawMessage
	_ = json.Unmarshal(raw, &items)
	var out []string
	for i, it := range items {
		place := fmt.Sprintf("%s/%d", at, i)
		switch {
		case m.items != "" && !isKind(it, m.items):
			out = append(out, fmt.Sprintf("%s is no %s but %s", place, m.items, shortRaw(it)))
		case m.items == "object":
			out = append(out, m.inside(place, it)...)
		}
		if len(out) >= mostSaid {
			return out[:mostSaid]
		}
	}
	return out
}

func (m member) inside(at string, raw json.RawMessage) []string {
	out := m.of.broken(at, raw)
	if m.each != nil {
		for _, why := range m.each(raw) {
			out = append(out, at+" "+why)
		}
	}
	return out
}

func orRoot(at string) string {
	if at == "" {
		return "it"
	}
	return at
}

// kindOf is the JSON type of a raw value, "" if there is none.
func kindOf(raw json.RawMessage) string {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	default:
		return "number"
	}
}

func isKind(raw json.RawMessage, kind string) bool {
	got := kindOf(raw)
	switch kind {
	case "any":
		return true
	case "integer":
		return got == "number" && isInteger(raw)
	case "token":
		return got == "string" || got == "number" && isInteger(raw)
	default:
		return got == kind
	}
}

// isInteger reports a number without a fraction; 1.0 is one, since JSON has one kind of number.
func isInteger(raw json.RawMessage) bool {
	var n json.Number
	if json.Unmarshal(raw, &n) != nil {
		return false
	}
	f, err := n.Float64()
	return err == nil && f == math.Trunc(f)
}
