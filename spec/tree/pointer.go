// Package tree reads JSON and YAML into one ordered tree that remembers file, line and column of
// every value, and lays OpenAPI Overlays over it.
package tree

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Pointer is a JSON pointer (RFC 6901) in its string form; "" is the whole document.
type Pointer string

// escapeToken writes one reference token (RFC 6901 §3).
func escapeToken(token string) string {
	if !strings.ContainsAny(token, "~/") {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}

func unescapeToken(token string) string {
	if !strings.Contains(token, "~") {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// PointerTo builds a pointer from unescaped tokens.
func PointerTo(tokens ...string) Pointer { return Pointer("").Append(tokens...) }

// ParsePointer checks the string form: empty, or tokens each led by "/", in which "~" stands only
// before 0 or 1.
func ParsePointer(s string) (Pointer, error) {
	if s != "" && s[0] != '/' {
		return "", fmt.Errorf("%q is no JSON pointer: it must be empty or start with /", s)
	}
	for i := 0; i < len(s); i++ {
		if s[i] == '~' && (i+1 == len(s) || s[i+1] != '0' && s[i+1] != '1') {
			return "", fmt.Errorf("%q is no JSON pointer: ~ must be written ~0", s)
		}
	}
	return Pointer(s), nil
}

// ParseFragment reads the URI fragment form (RFC 6901 §6), "#" or "#/…", as a local $ref has it.
func ParseFragment(s string) (Pointer, error) {
	rest, ok := strings.CutPrefix(s, "#")
	if !ok {
		return "", fmt.Errorf("%q is no local reference: it must start with #", s)
	}
	p, err := url.PathUnescape(rest)
	if err != nil {
		return "", fmt.Errorf("%q: %w", s, err)
	}
	return ParsePointer(p)
}

// Fragment is the URI fragment form: "#" and the pointer, percent-encoded (RFC 3986 §3.5).
func (p Pointer) Fragment() string {
	var b strings.Builder
	b.WriteByte('#')
	for i := 0; i < len(p); i++ {
		if c := p[i]; isFragmentByte(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func isFragmentByte(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return strings.IndexByte("/~-._!$&'()*+,;=:@?", c) >= 0
}

// Append adds unescaped tokens.
func (p Pointer) Append(tokens ...string) Pointer {
	var b strings.Builder
	b.WriteString(string(p))
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(escapeToken(t))
	}
	return Pointer(b.String())
}

// Index adds an array index.
func (p Pointer) Index(i int) Pointer { return p + "/" + Pointer(strconv.Itoa(i)) }

// Join adds another pointer, which is relative to p.
func (p Pointer) Join(q Pointer) Pointer { return p + q }

// Tokens are the unescaped reference tokens, none for the whole document.
func (p Pointer) Tokens() []string {
	if p == "" {
		return nil
	}
	tokens := strings.Split(strings.TrimPrefix(string(p), "/"), "/")
	for i, t := range tokens {
		tokens[i] = unescapeToken(t)
	}
	return tokens
}

// Parent is the pointer without its last token, and that token unescaped. The parent of "" is "".
func (p Pointer) Parent() (Pointer, string) {
	i := strings.LastIndexByte(string(p), '/')
	if i < 0 {
		return "", ""
	}
	return p[:i], unescapeToken(string(p[i+1:]))
}

// Within reports whether p is q or lies below it.
func (p Pointer) Within(q Pointer) bool {
	return p == q || strings.HasPrefix(string(p), string(q)+"/")
}

// Compare orders pointers token by token, array indexes by number; what holds others goes first.
func (p Pointer) Compare(q Pointer) int {
	return slices.CompareFunc(p.Tokens(), q.Tokens(), func(a, b string) int {
		i, iok := arrayIndex(a, math.MaxInt)
		j, jok := arrayIndex(b, math.MaxInt)
		if iok && jok {
			return cmp.Compare(i, j)
		}
		return strings.Compare(a, b)
	})
}

func (p Pointer) String() string { return string(p) }

// arrayIndex reads a token as an index below n (RFC 6901 §4: no leading zeros, no sign).
func arrayIndex(token string, n int) (int, bool) {
	if token == "" || len(token) > 1 && token[0] == '0' || token[0] < '0' || token[0] > '9' {
		return 0, false
	}
	i, err := strconv.Atoi(token)
	return i, err == nil && i < n
}

// Get follows p into a decoded JSON value (map[string]any, []any, …).
func Get(v any, p Pointer) (any, bool) {
	for _, token := range p.Tokens() {
		switch c := v.(type) {
		case map[string]any:
			next, ok := c[token]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, ok := arrayIndex(token, len(c))
			if !ok {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}
