package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Clean makes text from elsewhere harmless on a terminal: control characters, escape sequences,
// invisible and direction-changing characters and invalid UTF-8 come out as visible escapes. Without
// it a target could move the cursor and overwrite its own verdict.
func Clean(s string) string { return clean(s, false) }

// cleanLines is Clean, but keeps line feeds and tabs: a shell line needs them.
func cleanLines(s string) string { return clean(s, true) }

func clean(s string, keepLines bool) string {
	if !strings.ContainsFunc(s, hostile) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case keepLines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case hostile(r) && r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case hostile(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// hostile names what a terminal obeys or hides: categories Cc (C0, DEL, C1), Cf (bidi, zero width),
// Zl, Zp.
func hostile(r rune) bool {
	if r >= ' ' && r < 0x7f { // nearly all text; the tables are slow
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// columns is how many cells of a terminal a text takes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += cells(r)
	}
	return n
}

func cells(r rune) int {
	if r < 0x7f {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// Cut shortens a text to at most n cells, ending in … where something is missing.
func Cut(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	used := 0
	for i, r := range s {
		if used+cells(r) > n-1 {
			return strings.TrimRight(s[:i], " ") + "…"
		}
		used += cells(r)
	}
	return s
}

// wrap breaks a text at blanks into lines of at most n cells. A word that no line can hold, such as a
// body, begins where it stands and is broken too, after a comma where there is one.
func wrap(s string, n int) []string {
	var lines []string
	line, used := "", 0
	for _, w := range strings.Fields(s) {
		if line != "" && used+1+columns(w) > n && (columns(w) <= n || n-used < n/3) {
			lines = append(lines, line)
			line, used = "", 0
		}
		if line != "" {
			line, used = line+" ", used+1
		}
		for used+columns(w) > n {
			head := piece(w, n-used)
			if head == w { // one character, wider than the line
				break
			}
			lines, w = append(lines, line+head), w[len(head):]
			line, used = "", 0
		}
		line, used = line+w, used+columns(w)
	}
	return append(lines, line)
}

// piece is as much of a long word as goes on a line of n cells.
func piece(w string, n int) string {
	head := prefix(w, n)
	if i := strings.LastIndexAny(head, ",;&"); i > len(head)/2 {
		return head[:i+1]
	}
	return head
}

// prefix is as much of a text as fits into n cells, at least one character.
func prefix(s string, n int) string {
	used := 0
	for i, r := range s {
		if used += cells(r); used > n && i > 0 {
			return s[:i]
		}
	}
	return s
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-columns(s))) }
