package target

import (
	"maps"
	"slices"
	"strings"
)

// isToken reports whether s is a header name or method (RFC 9110 §5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !isAlnum(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// isFieldValue refuses only what would end the header line or be dropped on the way; odd bytes are
// a prober's right.
func isFieldValue(s string) bool { return !strings.ContainsAny(s, "\r\n\x00") }

func isVariable(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isAlnum(c) && c != '_' {
			return false
		}
	}
	return s != ""
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
