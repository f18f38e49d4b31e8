package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of a number's spelling. Validators compute with exact rationals, where 1e999999999 costs
// gigabytes; a double ends at 1.8e308.
const (
	maxNumberLen = 512
	maxExponent  = 400
)

// ParseJSON reads one JSON value (RFC 8259) strictly: UTF-8, no duplicate member names, no lone
// surrogates, nothing after it, within the package's bounds. The error is an *Error with line.
func ParseJSON(file string, data []byte) (*Node, error) {
	r := newReader(file, data)
	var n *Node
	err := r.document(func() (err error) {
		n, err = r.node("", 1)
		return err
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

// reader gives the tokens of one document with their places.
type reader struct {
	file  string
	data  []byte
	dec   *json.Decoder
	line  int // of byte off
	bol   int // offset of the first byte of that line
	off   int
	nodes int
	most  int // values
}

func newReader(file string, data []byte) *reader {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return &reader{file: file, data: data, dec: dec, line: 1, most: MaxNodes}
}

// document reads exactly one value with read.
func (r *reader) document(read func() error) error {
	if len(r.data) > MaxBytes {
		return r.fail("the document has %d bytes; at most %d are read", len(r.data), MaxBytes)
	}
	if !utf8.Valid(r.data) {
		r.seek(invalidUTF8(r.data))
		return r.fail("the document is not UTF-8")
	}
	if err := read(); err != nil {
		return err
	}
	_, err := r.dec.Token()
	if errors.Is(err, io.EOF) {
		return nil
	}
	r.seek(r.skipSpace(int(r.dec.InputOffset())))
	return r.fail("something follows the JSON value")
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		c, n := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(data)
}

func (r *reader) fail(format string, args ...any) error {
	return &Error{File: r.file, Line: r.line, Column: r.off - r.bol + 1, Message: fmt.Sprintf(format, args...)}
}

// seek moves the place to a later offset; lines end at LF, as editors count them.
func (r *reader) seek(off int) {
	off = min(off, len(r.data))
	for r.off < off {
		i := bytes.IndexByte(r.data[r.off:off], '\n')
		if i < 0 {
			break
		}
		r.off += i + 1
		r.line++
		r.bol = r.off
	}
	r.off = max(r.off, off)
}

// skipSpace finds where the token after offset begins.
func (r *reader) skipSpace(off int) int {
	for off < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[off]) >= 0 {
		off++
	}
	return off
}

// token reads the next token and moves the place to its first byte.
func (r *reader) token() (json.Token, error) {
	start := r.skipSpace(int(r.dec.InputOffset()))
	t, err := r.dec.Token()
	if err != nil {
		return nil, r.syntax(start, err)
	}
	r.seek(start)
	end := int(r.dec.InputOffset())
	switch t := t.(type) {
	case json.Number:
		return t, r.checkNumber(string(t))
	case string:
		if strings.ContainsRune(t, utf8.RuneError) && loneSurrogate(r.data[start:end]) {
			return nil, r.fail("a \\u escape is half of a surrogate pair")
		}
	}
	return t, nil
}

func (r *reader) syntax(start int, err error) error {
	var se *json.SyntaxError
	if errors.As(err, &se) {
		r.seek(max(start, int(se.Offset)-1))
		return r.fail("not JSON: %s", se)
	}
	r.seek(len(r.data))
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.fail("not JSON: the document ends too early")
	}
	return r.fail("not JSON: %s", err)
}

func (r *reader) checkNumber(s string) error {
	if why := numberFault(s); why != "" {
		return r.fail("%s", why)
	}
	return nil
}

// numberFault says why a JSON number is out of bounds, "" if it is not.
func numberFault(s string) string {
	if len(s) > maxNumberLen {
		return fmt.Sprintf("a number has %d characters; at most %d are read", len(s), maxNumberLen)
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if e, err := strconv.Atoi(s[i+1:]); err != nil || e > maxExponent || e < -maxExponent {
			return fmt.Sprintf("a number has the exponent %s; at most %d is read", s[i+1:], maxExponent)
		}
	}
	return ""
}

// loneSurrogate looks for a \uD800-\uDFFF escape without its other half in a raw string.
// encoding/json silently puts U+FFFD there, so that two different texts would read the same.
func loneSurrogate(raw []byte) bool {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if raw[i] != 'u' {
			continue
		}
		switch u := hex4(raw, i+1); {
		case u >= 0xDC00 && u <= 0xDFFF:
			return true
		case u >= 0xD800 && u <= 0xDBFF:
			if i+6 >= len(raw) || raw[i+5] != '\\' || raw[i+6] != 'u' {
				return true
			}
			if low := hex4(raw, i+7); low < 0xDC00 || low > 0xDFFF {
				return true
			}
			i += 6
		}
		i += 4
	}
	return false
}

func hex4(raw []byte, i int) int {
	if i+4 > len(raw) {
		return -1
	}
	u, err := strconv.ParseUint(string(raw[i:i+4]), 16, 16)
	if err != nil {
		return -1
	}
	return int(u)
}

// enter counts a value against the bounds.
func (r *reader) enter(depth int) error {
	if r.nodes++; r.nodes > r.most {
		return r.fail("the document has more than %d values", r.most)
	}
	if depth > MaxDepth {
		return r.fail("the document is nested deeper than %d", MaxDepth)
	}
	return nil
}

// each reads the members or items after an opening delimiter, up to and with the closing one.
func (r *reader) each(object bool, item func(key string, line int) error) error {
	seen := map[string]int{}
	for r.dec.More() {
		key, line := "", 0
		if object {
			t, err := r.token()
			if err != nil {
				return err
			}
			key, line = t.(string), r.line // the decoder lets nothing else be a key
			if first, dup := seen[key]; dup {
				return r.fail("the member %q is there twice; the first is in line %d", key, first)
			}
			seen[key] = line
		}
		if err := item(key, line); err != nil {
			return err
		}
	}
	_, err := r.token()
	return err
}

func (r *reader) node(p Pointer, depth int) (*Node, error) {
	t, err := r.token()
	if err != nil {
		return nil, err
	}
	if err := r.enter(depth); err != nil {
		return nil, err
	}
	n := &Node{File: r.file, Line: r.line, Column: r.off - r.bol + 1, Pointer: p}
	switch t := t.(type) {
	case nil:
	case bool:
		n.Kind, n.Text = Bool, strconv.FormatBool(t)
	case json.Number:
		n.Kind, n.Text = Number, string(t)
	case string:
		n.Kind, n.Text = String, t
	case json.Delim:
		if t == '{' {
			n.Kind = Object
			return n, r.each(true, func(key string, line int) error {
				v, err := r.node(p.Append(key), depth+1)
				if err != nil {
					return err
				}
				v.KeyLine = line
				n.Members = append(n.Members, Member{Key: key, File: r.file, Line: line, Value: v})
				return nil
			})
		}
		n.Kind = Array
		return n, r.each(false, func(string, int) error {
			v, err := r.node(p.Index(len(n.Items)), depth+1)
			n.Items = append(n.Items, v)
			return err
		})
	}
	return n, nil
}

func (r *reader) value(depth int) (any, error) {
	t, err := r.token()
	if err != nil {
		return nil, err
	}
	if err := r.enter(depth); err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		m := map[string]any{}
		return m, r.each(true, func(key string, _ int) error {
			v, err := r.value(depth + 1)
			m[key] = v
			return err
		})
	case json.Delim('['):
		vs := []any{}
		err := r.each(false, func(string, int) error {
			v, err := r.value(depth + 1)
			vs = append(vs, v)
			return err
		})
		return vs, err
	default:
		return t, nil
	}
}
