// Package route matches request paths against OpenAPI path templates.
package route

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Table matches paths against templates. It is immutable and safe for concurrent use. It changes
// nothing about a path: dot segments, doubled or trailing slashes and escapes are its caller's.
type Table struct{ root *level }

// level is what may come next after a number of segments. A literal segment goes before a pattern,
// a pattern with more literal text before one with less (OpenAPI 3.1 §4.8.8.1).
type level struct {
	literal  map[string]*level
	patterns []*pattern
	end      *template // nil: no template ends here
}

type template struct {
	text  string
	names []string // of the parameters, in order
}

// pattern is a segment with parameters: texts[0] {} texts[1] {} … texts[n], each {} not empty.
type pattern struct {
	texts []string
	next  *level
}

// New builds a table. Errors: a template that does not start with "/", has bad braces, one
// parameter twice or two in touch, and two templates that differ at most in parameter names.
func New(templates []string) (*Table, error) {
	t := &Table{root: &level{}}
	for _, text := range templates {
		if err := t.add(text); err != nil {
			return nil, err
		}
	}
	t.root.sort()
	return t, nil
}

func (t *Table) add(text string) error {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return fmt.Errorf("path %q must start with /", text)
	}
	at := t.root
	var names []string
	for seg := range strings.SplitSeq(rest, "/") {
		texts, params, err := parseSegment(seg)
		if err != nil {
			return fmt.Errorf("path %q: %w", text, err)
		}
		names = append(names, params...)
		at = at.child(texts)
	}
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			return fmt.Errorf("path %q has the parameter {%s} twice", text, n)
		}
	}
	if at.end != nil {
		return fmt.Errorf("paths %q and %q match the same requests", at.end.text, text)
	}
	at.end = &template{text: text, names: names}
	return nil
}

// parseSegment splits a{x}b{y}c into the texts a, b, c (escaped as they arrive) and the names x, y.
func parseSegment(seg string) (texts, names []string, err error) {
	rest := seg
	for {
		text, after, open := strings.Cut(rest, "{")
		if strings.Contains(text, "}") {
			return nil, nil, fmt.Errorf("the segment %q has a } without a {", seg)
		}
		if len(texts) > 0 && open && text == "" {
			return nil, nil, fmt.Errorf("the segment %q has two parameters in touch", seg)
		}
		texts = append(texts, escapeLiteral(text))
		if !open {
			return texts, names, nil
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed || name == "" || strings.Contains(name, "{") {
			return nil, nil, fmt.Errorf("the segment %q needs {name}", seg)
		}
		names, rest = append(names, name), tail
	}
}

// escapeLiteral writes a template's text as it stands in a request; what is escaped already stays.
func escapeLiteral(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		u := url.URL{Path: plain, RawPath: text}
		return u.EscapedPath()
	}
	return url.PathEscape(text)
}

func (l *level) child(texts []string) *level {
	if len(texts) == 1 {
		if l.literal == nil {
			l.literal = map[string]*level{}
		}
		if l.literal[texts[0]] == nil {
			l.literal[texts[0]] = &level{}
		}
		return l.literal[texts[0]]
	}
	for _, p := range l.patterns {
		if slices.Equal(p.texts, texts) {
			return p.next
		}
	}
	p := &pattern{texts: texts, next: &level{}}
	l.patterns = append(l.patterns, p)
	return p.next
}

func (l *level) sort() {
	slices.SortStableFunc(l.patterns, func(a, b *pattern) int {
		at, bt := strings.Join(a.texts, ""), strings.Join(b.texts, "")
		return cmp.Or(len(bt)-len(at), len(b.texts)-len(a.texts), slices.Compare(a.texts, b.texts))
	})
	for _, p := range l.patterns {
		p.next.sort()
	}
	for _, next := range l.literal {
		next.sort()
	}
}

// Match finds the template of an escaped path (no query) and the decoded values of its parameters,
// which are never empty. A segment with a broken escape matches no parameter.
func (t *Table) Match(escapedPath string) (template string, params map[string]string, ok bool) {
	rest, ok := strings.CutPrefix(escapedPath, "/")
	if !ok {
		return "", nil, false
	}
	end, values := t.root.match(rest, nil)
	if end == nil {
		return "", nil, false
	}
	params = make(map[string]string, len(values))
	for i, name := range end.names {
		params[name] = values[i]
	}
	return end.text, params, true
}

// match visits every level at most once, so the time is bounded by the size of the table.
func (l *level) match(path string, values []string) (*template, []string) {
	seg, rest, more := strings.Cut(path, "/")
	step := func(next *level, values []string) (*template, []string) {
		if !more {
			return next.end, values
		}
		return next.match(rest, values)
	}
	if next := l.literal[seg]; next != nil {
		if end, vs := step(next, values); end != nil {
			return end, vs
		}
	}
	for _, p := range l.patterns {
		if vs, ok := p.match(seg, slices.Clip(values)); ok {
			if end, vs := step(p.next, vs); end != nil {
				return end, vs
			}
		}
	}
	return nil, nil
}

// match takes for each parameter as little as possible, and for the last one what is left.
func (p *pattern) match(seg string, values []string) ([]string, bool) {
	last := len(p.texts) - 1
	rest, ok := strings.CutPrefix(seg, p.texts[0])
	if !ok {
		return nil, false
	}
	rest, ok = strings.CutSuffix(rest, p.texts[last])
	if !ok {
		return nil, false
	}
	for i := 1; i <= last; i++ {
		raw := rest
		if i < last {
			if rest == "" {
				return nil, false
			}
			at := strings.Index(rest[1:], p.texts[i])
			if at < 0 {
				return nil, false
			}
			raw, rest = rest[:at+1], rest[at+1+len(p.texts[i]):]
		}
		v, err := url.PathUnescape(raw)
		if err != nil || v == "" {
			return nil, false
		}
		values = append(values, v)
	}
	return values, true
}
