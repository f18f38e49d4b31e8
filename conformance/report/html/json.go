package html

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"assay.kit/conformance/report"
)

// line is one line of a text that is shown as it is.
type line struct {
	Text    string
	Changed bool // the other side has no such member or value
	path    string
}

const (
	maxDepth = 64       // of JSON that is laid out; deeper text is shown as it came
	maxJSON  = 16 << 10 // bytes, likewise
)

// compare lays both texts out and, where both are JSON (a status may stand before it), marks what
// differs. Members are compared by where they stand, so that another order of members is no difference.
func compare(expected, actual string) (e, a []line) {
	e, jsonE := layOut(expected)
	a, jsonA := layOut(actual)
	if jsonE && jsonA {
		unmatched(e, a)
		unmatched(a, e)
	}
	return e, a
}

func unmatched(lines, others []line) {
	have := map[string]int{}
	for _, l := range others {
		have[l.path]++
	}
	for i, l := range lines {
		have[l.path]--
		lines[i].Changed = have[l.path] < 0
	}
}

var withStatus = regexp.MustCompile(`(?s)^(\d{3}) ([{\[].*)$`)

// layOut gives a text as lines, JSON with one member on each. Nothing is reordered or dropped: a
// member that is there twice is shown twice.
func layOut(text string) (lines []line, isJSON bool) {
	var head []line
	rest := strings.TrimSpace(text)
	if m := withStatus.FindStringSubmatch(rest); m != nil {
		head, rest = []line{{Text: m[1], path: "status " + m[1]}}, m[2]
	}
	if len(rest) < maxJSON && (strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, "[")) {
		if laid, err := members(rest); err == nil {
			return append(head, laid...), true
		}
	}
	for l := range strings.Lines(text) {
		lines = append(lines, line{Text: visible(strings.TrimSuffix(l, "\n"))})
	}
	return lines, false
}

// visible makes one line harmless without losing its tabs.
func visible(s string) string {
	if !strings.Contains(s, "\t") {
		return report.Clean(s)
	}
	parts := strings.Split(s, "\t")
	for i := range parts {
		parts[i] = report.Clean(parts[i])
	}
	return strings.Join(parts, "\t")
}

// layout writes JSON token by token.
type layout struct {
	dec   *json.Decoder
	lines []line
}

func members(text string) ([]line, error) {
	l := &layout{dec: json.NewDecoder(strings.NewReader(text))}
	l.dec.UseNumber()
	if err := l.value("", "", "", 0); err != nil {
		return nil, err
	}
	if _, err := l.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return l.lines, nil
}

// value writes one value behind its name; path is where it stands, for comparing.
func (l *layout) value(path, name, indent string, depth int) error {
	tok, err := l.dec.Token()
	if err != nil {
		return err
	}
	open, nested := tok.(json.Delim)
	if !nested {
		text, err := encode(tok)
		if err != nil {
			return err
		}
		l.add(path+" = "+text, indent+name+text)
		return nil
	}
	if depth == maxDepth {
		return errors.New("too deep")
	}
	closing := map[json.Delim]string{'{': "}", '[': "]"}[open]
	if !l.dec.More() {
		l.add(path+" = "+open.String()+closing, indent+name+open.String()+closing)
		_, err = l.dec.Token()
		return err
	}
	l.add(path+open.String(), indent+name+open.String())
	for i := 0; l.dec.More(); i++ {
		if i > 0 {
			l.lines[len(l.lines)-1].Text += ","
		}
		if err := l.member(path, open, i, indent+"  ", depth+1); err != nil {
			return err
		}
	}
	l.add(path+closing, indent+closing)
	_, err = l.dec.Token()
	return err
}

func (l *layout) member(path string, open json.Delim, i int, indent string, depth int) error {
	if open == '[' {
		return l.value(fmt.Sprintf("%s/%d", path, i), "", indent, depth)
	}
	key, err := l.dec.Token()
	if err != nil {
		return err
	}
	name, err := encode(key)
	if err != nil {
		return err
	}
	return l.value(path+"/"+name, name+": ", indent, depth)
}

func (l *layout) add(path, text string) {
	l.lines = append(l.lines, line{Text: report.Clean(text), path: path})
}

func encode(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
