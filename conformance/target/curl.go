package target

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"assay.kit/conformance/wire"
)

// maxArgument is what one argument of a command may hold on every system, with room to spare.
const maxArgument = 64 << 10

// Curl writes an exchange's request as a line for a POSIX shell. The token is $ASSAY_TOKEN, or that
// of another role $ASSAY_TOKEN_ROLE. Bytes that a terminal, an editor or a report would not carry come
// from printf, and curl's own habits (its default content type, path tidying, HTTP/2) are turned off,
// so that the same bytes are sent. What a line cannot do is said in a comment at its end.
func Curl(ex wire.Exchange, baseURL string) string {
	var args, remarks []string
	add := func(parts ...string) { args = append(args, strings.Join(parts, " ")) }
	rq := ex.Req
	if rq.Method == "HEAD" {
		add("--head")
	} else {
		add("-X", word(rq.Method))
	}
	fields := slices.Clone(rq.Fields)
	slices.SortStableFunc(fields, func(a, b wire.Field) int {
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	for _, f := range fields {
		add("-H", header(f, ex.Role))
		if strings.ContainsAny(f.Name+f.Value, "\x00\r\n") {
			remarks = append(remarks, "curl cannot send a header with NUL, CR or LF as it was")
		}
	}
	pipe := ""
	if rq.Body != nil {
		if !hasField(fields, "Content-Type") {
			add("-H", "'Content-Type:'") // curl would send a form's
		}
		if s := string(rq.Body); readable(s) && len(s) < maxArgument {
			add("--data-raw", quote(s))
		} else {
			pipe = "printf '" + octal(rq.Body) + "' | "
			add("--data-binary", "@-")
		}
	}
	if rq.Left > 0 {
		remarks = append(remarks, fmt.Sprintf("%d further bytes of the body are left out", rq.Left))
	}
	url := strings.TrimRight(baseURL, "/") + rq.Target
	if path := pathOfURL(url); strings.ContainsFunc(path, unfit) {
		add("--request-target", word(path))
		url = strings.TrimSuffix(url, path) + "/"
	}
	line := pipe + "curl -sS -i --http1.1 --path-as-is --globoff " + strings.Join(append(args, word(url)), " ")
	if len(remarks) > 0 {
		line += " # " + strings.Join(slices.Compact(remarks), "; ")
	}
	return line
}

// pathOfURL is what goes into the request line.
func pathOfURL(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		return rest[i:]
	}
	return ""
}

// unfit names what curl refuses in a URL, cuts off or changes; --request-target takes it as it is.
func unfit(r rune) bool { return r <= ' ' || r >= 0x7f || r == '#' || r == '\\' }

// readable reports whether a text may stand in a line as it is.
func readable(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, control) }

// control names what some shells and terminals change on its way.
func control(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }

func tokenVariable(role string) string {
	if role == "" || role == string(Primary) {
		return "ASSAY_TOKEN"
	}
	return "ASSAY_TOKEN_" + strings.ToUpper(role)
}

func header(f wire.Field, role string) string {
	if strings.EqualFold(f.Name, "Authorization") {
		if scheme, token, ok := strings.Cut(f.Value, " "); ok && token != "" && strings.EqualFold(scheme, "bearer") {
			return `"` + f.Name + ": " + scheme + " $" + tokenVariable(role) + `"`
		}
	}
	if f.Value == "" {
		return word(f.Name + ";") // curl's way to send an empty header; "Name:" removes one
	}
	return word(f.Name + ": " + f.Value)
}

// word is one word of a shell line with these bytes; but no argument holds a NUL, and no substitution
// the line feeds at its end.
func word(s string) string {
	if readable(s) {
		return quote(s)
	}
	return `"$(printf '` + octal([]byte(s)) + `')"`
}

// quote is a single-quoted shell word.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func octal(b []byte) string {
	var out strings.Builder
	for _, c := range b {
		fmt.Fprintf(&out, `\%03o`, c)
	}
	return out.String()
}
