package wire

import (
	"bytes"
	"regexp"
	"strings"
)

// internal is a form of text that only a server's inside produces. Forms are strict on purpose: a
// false alarm here is worse than a miss.
type internal struct {
	what string
	form *regexp.Regexp
}

var internals = []internal{
	{"a Go stack trace", regexp.MustCompile(`goroutine \d+ \[[a-z ]+(, \d+ minutes)?\]:|panic: runtime error: `)},
	{"a Python stack trace", regexp.MustCompile(`Traceback \(most recent call last\)|File \\?"[^"\\]+\.py\\?", line \d+`)},
	{"a Java stack trace", regexp.MustCompile(`\bat [\w$]+(\.[\w$<>]+)+\([\w$]+\.(java|kt|scala):\d+\)|Exception in thread \\?"`)},
	{"a JavaScript stack trace", regexp.MustCompile(`\bat [^\n"]{1,120}[( ](file:|node:|/)[^\s"]{1,200}\.[cm]?[jt]s:\d+:\d+\)?`)},
	{"a .NET stack trace", regexp.MustCompile(`\bat [\w.<>` + "`" + `]+\([^)\n]*\) in [^\n]{1,200}\.cs:line \d+`)},
	{"a Ruby or PHP stack trace", regexp.MustCompile(`\.rb:\d+:in [` + "`" + `']|Stack trace:(\\n|\s)#0 |PHP (Fatal|Parse) error: `)},
	{"a Rust panic", regexp.MustCompile(`thread '[^'\n]{1,60}' panicked at `)},
	{"a database error", regexp.MustCompile(`SQLSTATE\b|\bSQLITE_[A-Z]{3,}\b|\bORA-\d{5}\b|syntax error at or near \\?"|` +
		`error in your SQL syntax|violates (unique|foreign key|check|not-null) constraint|(UNIQUE|FOREIGN KEY|NOT NULL|CHECK) constraint failed: |` +
		`\bno such table: |relation \\?"\w+\\?" does not exist`)},
	{"an SQL statement", regexp.MustCompile(`\bSELECT [^"\n]{1,200} FROM \w+|\bINSERT INTO \w+ ?\([^)"\n]{1,200}\) VALUES\b|\bUPDATE \w+ SET \w+ ?=|\bDELETE FROM \w+ WHERE\b`)},
	{"a path of a source file", regexp.MustCompile(`(/[\w.@+-]+){2,}\.(go|py|rb|php|rs|java|kt|cs|[cm]?[jt]s)(:\d+|\\?", line \d+)|[A-Z]:\\\\?[\w\\ .-]+\.(go|py|cs|java|js|ts|php|rb|rs):\d+`)},
}

// maxLeak is how much of a refusal is searched for internals: ten forms over a mebibyte take many
// seconds, and what a server lets slip stands at the beginning.
const maxLeak = 16 << 10

// leak looks for internals in refusals, and for the caller's own token in every answer. What the
// request itself contained is no news.
func leak(v *View) verdict {
	if token := bearer(v.Req.Fields); len(token) >= 12 && !strings.Contains(v.Req.Target, token) {
		if bytes.Contains(v.body, []byte(token)) {
			return bad("an answer without the caller's token", "the token in the body")
		}
		for _, f := range v.Head.Fields {
			if strings.Contains(f.Value, token) {
				return bad("an answer without the caller's token", "the token in header "+f.Name)
			}
		}
	}
	if v.Head.Status < 400 || len(v.body) == 0 {
		return good()
	}
	out, body := good(), v.body[:min(len(v.body), maxLeak)]
	for _, in := range internals {
		m := in.form.Find(body)
		if m == nil || bytes.Contains(v.Req.Body, m) || strings.Contains(v.Req.Target, string(m)) {
			continue
		}
		out.add("a refusal without internals of the server", in.what)
	}
	return out
}

// bearer is the token that the request carried, "" if none or already hidden.
func bearer(fs []Field) string {
	scheme, token, ok := strings.Cut(Lookup(fs, "Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
