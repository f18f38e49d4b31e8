package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// maxValues bounds what DecodeJSON reads: a generic value takes some hundred bytes, and many bodies
// are decoded at once, while a document is read alone.
const maxValues = 200_000

// DecodeJSON reads like ParseJSON, but into generic Go values with json.Number and without
// positions, for bodies.
func DecodeJSON(data []byte) (any, error) {
	s := scanner{data: data}
	if v, ok := s.document(); ok {
		return v, nil
	}
	if s.nodes > maxValues { // to read it all again would say no more
		return nil, &Error{File: "JSON", Line: 1, Column: 1, Message: fmt.Sprintf("the document has more than %d values", maxValues)}
	}
	// Refused: the reader that knows lines says why. It also has the last word, so that there is
	// one definition of what is accepted.
	r := newReader("JSON", data)
	r.most = maxValues
	var v any
	err := r.document(func() (err error) {
		v, err = r.value(1)
		return err
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// scanner decodes what is plainly in order, three times as fast as the reader; at the first doubt
// it gives up.
type scanner struct {
	data  []byte
	at    int
	nodes int
}

func (s *scanner) document() (any, bool) {
	if len(s.data) > MaxBytes || !utf8.Valid(s.data) {
		return nil, false
	}
	v, ok := s.value(1)
	s.space()
	return v, ok && s.at == len(s.data)
}

func (s *scanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// next skips white space and takes c if it comes.
func (s *scanner) next(c byte) bool {
	s.space()
	if s.at < len(s.data) && s.data[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) literal(word string, v any) (any, bool) {
	if !bytes.HasPrefix(s.data[s.at:], []byte(word)) {
		return nil, false
	}
	s.at += len(word)
	return v, true
}

func (s *scanner) value(depth int) (any, bool) {
	if s.nodes++; s.nodes > maxValues || depth > MaxDepth {
		return nil, false
	}
	s.space()
	if s.at >= len(s.data) {
		return nil, false
	}
	switch s.data[s.at] {
	case '{':
		return s.object(depth)
	case '[':
		return s.array(depth)
	case '"':
		return s.text()
	case 't':
		return s.literal("true", true)
	case 'f':
		return s.literal("false", false)
	case 'n':
		return s.literal("null", nil)
	default:
		return s.number()
	}
}

func (s *scanner) object(depth int) (any, bool) {
	s.at++
	m := map[string]any{}
	if s.next('}') {
		return m, true
	}
	for {
		s.space()
		key, ok := s.text()
		if !ok || !s.next(':') {
			return nil, false
		}
		if _, dup := m[key]; dup {
			return nil, false
		}
		if m[key], ok = s.value(depth + 1); !ok {
			return nil, false
		}
		if s.next('}') {
			return m, true
		}
		if !s.next(',') {
			return nil, false
		}
	}
}

func (s *scanner) array(depth int) (any, bool) {
	s.at++
	vs := []any{}
	if s.next(']') {
		return vs, true
	}
	for {
		v, ok := s.value(depth + 1)
		if !ok {
			return nil, false
		}
		vs = append(vs, v)
		if s.next(']') {
			return vs, true
		}
		if !s.next(',') {
			return nil, false
		}
	}
}

// text reads a string; one with escapes goes through encoding/json.
func (s *scanner) text() (string, bool) {
	if s.at >= len(s.data) || s.data[s.at] != '"' {
		return "", false
	}
	start, escaped := s.at, false
	for i := start + 1; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '"':
			s.at = i + 1
			if !escaped {
				return string(s.data[start+1 : i]), true
			}
			var v string
			raw := s.data[start:s.at]
			if loneSurrogate(raw) || json.Unmarshal(raw, &v) != nil {
				return "", false
			}
			return v, true
		case c == '\\':
			escaped = true
			i++
		case c < 0x20:
			return "", false
		}
	}
	return "", false
}

// number takes the grammar of RFC 8259 §6 and keeps the spelling.
func (s *scanner) number() (any, bool) {
	start := s.at
	s.at = numberEnd(s.data, s.at)
	text := string(s.data[start:s.at])
	if s.at == start || numberFault(text) != "" {
		return nil, false
	}
	return json.Number(text), true
}

// numberEnd is the offset behind the JSON number at i, i if there is none.
func numberEnd(b []byte, i int) int {
	digits := func(j int) int {
		for j < len(b) && b[j] >= '0' && b[j] <= '9' {
			j++
		}
		return j
	}
	j := i
	if j < len(b) && b[j] == '-' {
		j++
	}
	whole := digits(j)
	if whole == j || b[j] == '0' && whole > j+1 {
		return i
	}
	end := whole
	if end < len(b) && b[end] == '.' {
		if f := digits(end + 1); f > end+1 {
			end = f
		} else {
			return i
		}
	}
	if end < len(b) && (b[end] == 'e' || b[end] == 'E') {
		j := end + 1
		if j < len(b) && (b[j] == '+' || b[j] == '-') {
			j++
		}
		if e := digits(j); e > j {
			return e
		}
		return i
	}
	return end
}
