package report

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay.kit/conformance/wire"
)

// same holds two reports to the same output in every format, and the same evidence.
func same(t interface {
	Helper()
	Fatalf(string, ...any)
}, a, b *Report) {
	t.Helper()
	write := func(f func(io.Writer) error) string {
		var out bytes.Buffer
		if err := f(&out); err != nil {
			t.Fatalf("%v", err)
		}
		return out.String()
	}
	for _, f := range Formats(Console{}) {
		was, is := write(func(w io.Writer) error { return f.Write(w, a) }), write(func(w io.Writer) error { return f.Write(w, b) })
		if was != is {
			t.Fatalf("%s differs after reading back:\n%s\n---\n%s", f.Name, was, is)
		}
	}
	one, two := a.Evidence(), b.Evidence()
	if len(one) != len(two) {
		t.Fatalf("%d files of evidence became %d", len(one), len(two))
	}
	for i := range one {
		if was, is := write(one[i].Write), write(two[i].Write); one[i].Name != two[i].Name || was != is {
			t.Fatalf("%s differs after reading back:\n%s\n---\n%s", one[i].Name, was, is)
		}
	}
}

func readBack(t interface {
	Helper()
	Fatalf(string, ...any)
}, r *Report) *Report {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatalf("%v", err)
	}
	back, err := Read(&b)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	return back
}

func TestReadGivesTheSameReport(t *testing.T) {
	type odd struct{ B, A int } // not in the order of names
	r := sample()
	f := &r.Findings[0]
	f.Draws = []Draw{{"struct", odd{1, 2}}, {"big", uint64(math.MaxUint64)}, {"float", 1e21}, {"nan", math.NaN()}, {"html", "<&>\u2028"}, {"bytes", []byte{255}}, {"nil", nil},
		{"odd \xff", map[string]any{"z": "\xff", "a": []any{1.5}}}}
	f.Pictures = []Picture{{"history", "text/html", []byte("<p>\xff</p>")}}
	f.Exchanges[0].Req.Body, f.Exchanges[1].Req.Body = []byte{}, []byte("\xff\x00")
	f.Exchanges[0].Head.Fields = []wire.Field{{Name: "X-\xfe", Value: "\xff"}}
	f.Actual, f.Curl[0] = "\xff", "\xff"
	r.legible()
	same(t, r, readBack(t, r))
}

func TestReadGivesTheSameReportWhateverWasSaid(t *testing.T) {
	texts := rapid.OneOf(rapid.SampledFrom(hostileTexts), rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	for seed := range 25 {
		s := texts.Example(seed)
		r := evil(s)
		r.legible()
		for i := range r.Findings { // what no exchange or answer can choose
			f := &r.Findings[i]
			f.Claim, f.Case, f.Did, f.Requirements, f.Pictures[0].Name = valid(s), valid(s)+"@x", valid(s), []string{valid(s)}, valid(s)
			f.Draws = []Draw{{valid(s), map[string]any{valid(s): s}}}
			for j := range f.Exchanges {
				f.Exchanges[j].Role, f.Exchanges[j].End, f.Exchanges[j].Req.Operation = valid(s), wire.End(valid(s)), valid(s)
			}
		}
		s = valid(s)
		r.Target, r.Contract.Name, r.Contract.Version, r.Kit.Version, r.Note, r.Warnings = s, s, s, s, s, []string{s}
		r.Summary.Created = map[string]int{s: 1}
		for i := range r.Cases {
			c := &r.Cases[i]
			c.ID, c.Check, c.Subject, c.Needs = s, s, s, []string{s}
		}
		for i := range r.Requirements {
			q := &r.Requirements[i]
			q.ID, q.Statement, q.Source, q.Partial = s, s, s, []string{s}
		}
		same(t, r, readBack(t, r))
	}
}

func TestReadRefuses(t *testing.T) {
	head := `{"schema": "assay.report/1", "verdict": "violations"`
	for in, want := range map[string]string{
		"":                             "1:1: unexpected end of JSON input",
		"{\n  \"schema\": x}":          "2:13: invalid character 'x'",
		"[]":                           "not a report of assay",
		`{"verdict": "conformant"}`:    "no member schema",
		`{"schema": "assay.report/2"}`: "use the version that wrote it",
		`{"schema": "other/1"}`:        `its schema is "other/1"`,
		`{"schema": 1}`:                "not a report of assay",
		head + `} {}`:                  "after top-level value",
		head + `, "cases": {}}`:        "cases must be",
		head + ",\n\"cases\": [{\"requests\": \"x\"}]}":                                                      "2:",
		`{"schema": "assay.report/1", "verdict": "fine"}`:                                                    `verdict "fine" is none`,
		head + `, "cases": [{"id": "a.b@c", "verdict": "fine"}]}`:                                            `cases[0] (a.b@c): verdict "fine"`,
		head + `, "requirements": [{"id": "X", "verdict": "pass", "claims": [{"verdict": "?"}]}]}`:           "requirements[0] (X)",
		head + `, "findings": [{"claim": "a.b", "verdict": "pass"}]}`:                                        "findings[0] (a.b): verdict is \"pass\", not fail or warn",
		head + `, "findings": [{"verdict": "fail", "exchanges": [{"request": {"body": {"base64": "?"}}}]}]}`: "base64",
		"\xff":                     "no UTF-8",
		strings.Repeat("[", 20000): "exceeded max depth",
	} {
		_, err := Read(strings.NewReader(in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, not %q", in, err, want)
		}
	}
	if _, err := read(strings.NewReader(head+"}"), 10); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("%v", err)
	}
	if _, err := Read(io.MultiReader(strings.NewReader("{"), brokenReader{})); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("%v", err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrNoProgress }

// A later kit of the same schema may add members; they are no reason to refuse its report.
func TestReadTakesAdditions(t *testing.T) {
	r, err := Read(strings.NewReader(`{"schema": "assay.report/1", "verdict": "conformant", "later": {"x": [1]}, "seed": 18446744073709551615}`))
	if err != nil || r.Seed != math.MaxUint64 {
		t.Errorf("%+v, %v", r, err)
	}
}

// What is read is either refused, or can be written in every format and read again as the same.
func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := sample().WriteJSON(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"schema": "assay.report/1", "verdict": "violations", "findings": [{"verdict": "fail", "telling": 9, "exchanges": [{"lane": -1}, {"lane": 2}], "draws": [{"value": 1}]}]}`))
	f.Add([]byte(`{"schema": "assay.report/1", "verdict": "conformant", "summary": {"requirements": {"?": 1}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		same(t, r, readBack(t, r))
	})
}
