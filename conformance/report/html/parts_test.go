package html

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"assay.kit/conformance/report"
	"assay.kit/conformance/wire"
)

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name, expected, actual string
		onlyE, onlyA           string // the changed lines
	}{
		{"the same", `{"a":1}`, `{"a":1}`, "", ""},
		{"another order is no difference", `{"a":1,"b":[1,2]}`, `{"b":[1,2],"a":1}`, "", ""},
		{"a value", `{"a":1}`, `{"a":2}`, `"a": 1`, `"a": 2`},
		{"a type", `{"a":1}`, `{"a":"1"}`, `"a": 1`, `"a": "1"`},
		{"a member more", `{}`, `{"a":null}`, `{}`, "{|\"a\": null|}"},
		{"twice", `{"a":1}`, `{"a":1,"a":1}`, "", `"a": 1`},
		{"items in another order", `[1,2]`, `[2,1]`, "1,|2", "2,|1"},
		{"the status", `409 {"a":1}`, `201 {"a":1}`, "409", "201"},
		{"exact numbers", `{"a":1e400}`, `{"a":1e401}`, `"a": 1e400`, `"a": 1e401`},
		{"text and JSON", "409 CONFLICT", `201 {"a":1}`, "", ""},
		{"no JSON", `{"a":`, `{"a":1}`, "", ""},
		{"a bracket too many", `{"a":1}}`, `{"a":2}`, "", ""},
		{"too deep", strings.Repeat("[", 100) + strings.Repeat("]", 100), "[1]", "", ""},
	} {
		e, a := compare(c.expected, c.actual)
		if got := changed(e); got != c.onlyE {
			t.Errorf("%s: expected side marks %q, want %q", c.name, got, c.onlyE)
		}
		if got := changed(a); got != c.onlyA {
			t.Errorf("%s: actual side marks %q, want %q", c.name, got, c.onlyA)
		}
	}
}

func changed(lines []line) string {
	var out []string
	for _, l := range lines {
		if l.Changed {
			out = append(out, strings.TrimSpace(l.Text))
		}
	}
	return strings.Join(out, "|")
}

func FuzzCompare(f *testing.F) {
	f.Add(`409 {"code":"X"}`, `201 {"id":[1,{"a":null}]}`)
	f.Add(strings.Repeat(`{"a":`, 70), "\x1b[2J\u202e\xff")
	f.Fuzz(func(t *testing.T, a, b string) {
		same, too := compare(a, a)
		if changed(same) != "" || changed(too) != "" {
			t.Errorf("%q differs from itself", a)
		}
		one, other := compare(a, b)
		for _, l := range append(one, other...) {
			if strings.ContainsFunc(l.Text, func(r rune) bool { return r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }) {
				t.Errorf("a line that a reader cannot see whole: %q", l.Text)
			}
		}
	})
}

func TestScaleStaysInside(t *testing.T) {
	ms := time.Millisecond
	for _, spans := range [][][2]time.Duration{
		{{0, 0}}, {{5 * ms, 5 * ms}, {5 * ms, 5 * ms}}, {{0, 10 * ms}, {9999 * ms, 10_000 * ms}}, {{3 * ms, 1 * ms}}, {{0, 1}, {time.Hour, time.Hour}},
	} {
		var exs []wire.Exchange
		for _, s := range spans {
			exs = append(exs, wire.Exchange{Sent: s[0], Last: s[1]})
		}
		sc := newScale(exs)
		for _, ex := range exs {
			xs, ws := sc.place(ex)
			x, errX := strconv.ParseFloat(xs, 64)
			w, errW := strconv.ParseFloat(ws, 64)
			if errX != nil || errW != nil || x < 0 || w < narrowest || x+w > 100.01 {
				t.Errorf("%v: x %s, width %s", spans, xs, ws)
			}
		}
	}
}

// What a baseline knows is marked, and a line of it that has to go is named.
func TestBaselineIsShown(t *testing.T) {
	r := &report.Report{Verdict: report.Violations, Baseline: &report.Baseline{File: "known.yaml", Known: 1,
		Stale: []report.Entry{{Claim: "a.b", Case: "a.c@d", Line: 7}}},
		Findings: []report.Finding{{Claim: "e.f", Case: "e.g@h", Verdict: report.Fail, Known: &report.Known{Reason: "until May", Line: 4}}}}
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{`<span class="tag">known</span>`, "Known: until May. It does not count.", "a.b in a.c@d holds again: remove line 7 of the baseline known.yaml."} {
		if !strings.Contains(b.String(), s) {
			t.Errorf("the page does not say %q", s)
		}
	}
}
