package idem

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds nesting, so that a small body cannot cost a deep stack.
const maxDepth = 256

// SyntaxError says where a body stops being the JSON that we accept.
type SyntaxError struct {
	Offset int // in bytes
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Reason)
}

// Decode reads one JSON value (RFC 8259) into map[string]any, []any, json.Number, string, bool or
// nil. It is stricter than encoding/json, because a lenient reader lets two different payloads pass
// for one: duplicate member names, invalid UTF-8, lone surrogates, a number that a double cannot
// carry to its decimal value, and nesting beyond 256 are errors of type *SyntaxError.
func Decode(body []byte) (any, error) {
	p := &parser{s: body}
	p.space()
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	p.space()
	if p.i < len(p.s) {
		return nil, p.fail("something follows the value")
	}
	return v, nil
}

type parser struct {
	s []byte
	i int
}

func (p *parser) fail(reason string) error { return &SyntaxError{Offset: p.i, Reason: reason} }

func (p *parser) space() {
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\t' || p.s[p.i] == '\n' || p.s[p.i] == '\r') {
		p.i++
	}
}

func (p *parser) next(c byte) bool {
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *parser) value(depth int) (any, error) {
	if p.i >= len(p.s) {
		return nil, p.fail("a value is missing")
	}
	if depth > maxDepth {
		return nil, p.fail("nested too deeply")
	}
	switch c := p.s[p.i]; {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		return p.string()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	switch {
	case p.word("true"):
		return true, nil
	case p.word("false"):
		return false, nil
	case p.word("null"):
		return nil, nil
	}
	return nil, p.fail("no value begins here")
}

func (p *parser) word(w string) bool {
	if !bytes.HasPrefix(p.s[p.i:], []byte(w)) {
		return false
	}
	p.i += len(w)
	return true
}

func (p *parser) object(depth int) (any, error) {
	m := map[string]any{}
	p.i++
	p.space()
	if p.next('}') {
		return m, nil
	}
	for {
		p.space()
		if p.i >= len(p.s) || p.s[p.i] != '"' {
			return nil, p.fail("a member name is missing")
		}
		at := p.i
		name, err := p.string()
		if err != nil {
			return nil, err
		}
		if _, twice := m[name]; twice {
			return nil, &SyntaxError{Offset: at, Reason: "a member name occurs twice in one object"}
		}
		p.space()
		if !p.next(':') {
			return nil, p.fail("a colon is missing")
		}
		p.space()
		if m[name], err = p.value(depth + 1); err != nil {
			return nil, err
		}
		p.space()
		if p.next('}') {
			return m, nil
		}
		if !p.next(',') {
			return nil, p.fail("a comma or closing brace is missing")
		}
	}
}

func (p *parser) array(depth int) (any, error) {
	a := []any{}
	p.i++
	p.space()
	if p.next(']') {
		return a, nil
	}
	for {
		p.space()
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		a = append(a, v)
		p.space()
		if p.next(']') {
			return a, nil
		}
		if !p.next(',') {
			return nil, p.fail("a comma or closing bracket is missing")
		}
	}
}

func (p *parser) string() (string, error) {
	p.i++
	var b strings.Builder
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c == '"':
			p.i++
			return b.String(), nil
		case c < 0x20:
			return "", p.fail("a control character in a string must be escaped")
		case c == '\\':
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
		case c < utf8.RuneSelf:
			b.WriteByte(c)
			p.i++
		default:
			r, n := utf8.DecodeRune(p.s[p.i:])
			if r == utf8.RuneError && n == 1 {
				return "", p.fail("invalid UTF-8")
			}
			b.WriteRune(r)
			p.i += n
		}
	}
	return "", p.fail("a string is not closed")
}

func (p *parser) escape() (rune, error) {
	if p.i+1 >= len(p.s) {
		return 0, p.fail("a string is not closed")
	}
	if i := strings.IndexByte(`"\/bfnrt`, p.s[p.i+1]); i >= 0 {
		p.i += 2
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	r, ok := p.unicodeEscape()
	switch {
	case !ok:
		return 0, p.fail("an unknown escape")
	case !utf16.IsSurrogate(r):
		p.i += 6
		return r, nil
	}
	at := p.i
	p.i += 6
	low, ok := p.unicodeEscape()
	full := utf16.DecodeRune(r, low)
	if !ok || full == utf8.RuneError {
		return 0, &SyntaxError{Offset: at, Reason: "a lone surrogate is no character"}
	}
	p.i += 6
	return full, nil
}

// unicodeEscape reads \uXXXX at the position without moving it.
func (p *parser) unicodeEscape() (rune, bool) {
	if p.i+6 > len(p.s) || p.s[p.i] != '\\' || p.s[p.i+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(p.s[p.i+2:p.i+6]), 16, 32)
	return rune(n), err == nil
}

func (p *parser) number() (any, error) {
	start := p.i
	p.next('-')
	switch {
	case p.next('0'):
	case p.digits():
	default:
		return nil, p.fail("a digit is missing")
	}
	if p.next('.') && !p.digits() {
		return nil, p.fail("a digit is missing after the point")
	}
	if p.next('e') || p.next('E') {
		if !p.next('+') {
			p.next('-')
		}
		if !p.digits() {
			return nil, p.fail("a digit is missing in the exponent")
		}
	}
	lit := string(p.s[start:p.i])
	if !Exact(lit) {
		return nil, &SyntaxError{Offset: start, Reason: "a number has more digits or range than a double carries; send it as a string"}
	}
	return json.Number(lit), nil
}

func (p *parser) digits() bool {
	start := p.i
	for p.i < len(p.s) && p.s[p.i] >= '0' && p.s[p.i] <= '9' {
		p.i++
	}
	return p.i > start
}

// Exact reports whether the shortest decimal form of the double nearest to a JSON number has the
// value that the literal spells. RFC 8785 writes every number in that form, so without this check
// 9007199254740993 and 9007199254740992 would have one canonical form, and one fingerprint.
func Exact(literal string) bool {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return false
	}
	d1, e1, ok1 := decimal(literal)
	d2, e2, ok2 := decimal(strconv.FormatFloat(f, 'e', -1, 64))
	return ok1 && ok2 && d1 == d2 && e1 == e2
}

// decimal splits a literal into its significant digits (with sign, without zeros around) and the
// power of ten of their last digit. Zero is "" and 0, whatever its sign. An exponent that does not
// fit an int is not ok, unless the value is zero; nor is an infinity.
func decimal(lit string) (digits string, exp int, ok bool) {
	mantissa, power := lit, ""
	if i := strings.IndexAny(lit, "eE"); i >= 0 {
		mantissa, power = lit[:i], lit[i+1:]
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	all := whole + frac
	if strings.Trim(all, "0123456789") != "" {
		return "", 0, false
	}
	trimmed := strings.TrimRight(all, "0")
	exp = len(all) - len(trimmed) - len(frac)
	if trimmed = strings.TrimLeft(trimmed, "0"); trimmed == "" {
		return "", 0, true
	}
	if power != "" {
		n, err := strconv.ParseInt(power, 10, 32)
		if err != nil {
			return "", 0, false
		}
		exp += int(n)
	}
	return sign + trimmed, exp, true
}
