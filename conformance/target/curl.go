package target

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"assay.kit/conformance/wire"
)

// Curl writes an exchange's request as a line for a POSIX shell. The token is $ASSAY_TOKEN, or that
// of another role $ASSAY_TOKEN_ROLE, bodies
// that no shell argument can carry come from printf, and curl's own habits (its default content
// type, path tidying, HTTP/2) are turned off, so that the same bytes are sent.
func Curl(ex wire.Exchange, baseURL string) string {
	var args []string
	add := func(parts ...string) { args = append(args, strings.Join(parts, " ")) }
	rq := ex.Req
	if rq.Method == "HEAD" {
		add("--head")
	} else {
		add("-X", quote(rq.Method))
	}
	fields := slices.Clone(rq.Fields)
	slices.SortStableFunc(fields, func(a, b wire.Field) int {
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	for _, f := range fields {
		add("-H", header(f, ex.Role))
	}
	pipe := ""
	if rq.Body != nil {
		if !hasField(fields, "Content-Type") {
			add("-H", "'Content-Type:'") // curl would send a form's
		}
		if s := string(rq.Body); utf8.ValidString(s) && !strings.ContainsFunc(s, control) && len(s) < 64<<10 {
			add("--data-raw", quote(s))
		} else {
			pipe = "printf '" + octal(rq.Body) + "' | "
			add("--data-binary", "@-")
		}
	}
	return pipe + "curl -sS -i --http1.1 --path-as-is --globoff " + strings.Join(args, " ") + " " +
		quote(strings.TrimRight(baseURL, "/")+rq.Target)
}

// control names what some shells and terminals change on its way.
func control(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }

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
		return quote(f.Name + ";") // curl's way to send an empty header; "Name:" removes one
	}
	return quote(f.Name + ": " + f.Value)
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
