package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"assay.kit/conformance/wire"
)

func formatNamed(t testing.TB, name string) Format {
	t.Helper()
	for _, f := range Formats(Console{}) {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("there is no format %s", name)
	return Format{}
}

func written(t testing.TB, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWritersAreStable(t *testing.T) {
	for _, name := range []string{"junit", "markdown", "github"} {
		f := formatNamed(t, name)
		golden(t, f.File, []byte(written(t, func(w io.Writer) error { return f.Write(w, sample()) })))
	}
	r := sample()
	golden(t, "finding.har", []byte(written(t, func(w io.Writer) error { return WriteHAR(w, r, r.Findings[0]) })))
}

func TestFormatsAreATable(t *testing.T) {
	names, files := map[string]bool{}, map[string]bool{}
	for _, f := range Formats(Console{}) {
		if f.Name == "" || f.File == "" || f.About == "" || names[f.Name] || files[f.File] {
			t.Errorf("row %+v", f)
		}
		names[f.Name], files[f.File] = true, true
		if err := f.Write(brokenWriter{}, sample()); err == nil {
			t.Errorf("%s: the writer's error is lost", f.Name)
		}
		written(t, func(w io.Writer) error { return f.Write(w, &Report{}) }) // an empty report is one
	}
	if err := WriteHAR(brokenWriter{}, sample(), Finding{}); err == nil {
		t.Error("har: the writer's error is lost")
	}
}

// hostileTexts try to be more than text somewhere.
var hostileTexts = []string{
	"\x1b[2J\x1b]0;title\x07", "\u009b31m", "a\rb", "\u202egnp", "\u200b", "nul\x00", "\xff\xfe", "\u2028line\u2029", "\ufffe",
	"]]>", "<![CDATA[x]]>", "<!--", "<script>alert(1)</script>", "&lt;b&gt;", "\"' onmouseover='x", "</details></summary>",
	"\n::error::injected", "\r\n::stop-commands::x\r\n", "%0A::error::x", "a,b::c", "##[error]x",
	"```\n# heading\n", "````", "`", "`` ` ``", " ` ", "| a | b |", "[a](javascript:x)", "![i](http://evil.example/p.png)", "https://evil.example/x www.evil.example", "@everyone #1", "<img src=x>",
	"\n- item", "\n\n    code", "~~~", "$x$", strings.Repeat("`", 40), strings.Repeat("long ", 2000), "日本語", "\\", "|\\|",
}

// evil is a report in which every text that a target or a stranger's contract can choose is s.
func evil(s string) *Report {
	r := sample()
	r.Target, r.Contract.Name, r.Contract.Version, r.Kit.Version = "http://"+s, s, s, s
	r.Warnings, r.Note = []string{s}, s
	for i := range r.Requirements {
		q := &r.Requirements[i]
		q.ID, q.Statement, q.Source, q.Note, q.Partial = s, s, s, s, []string{s}
	}
	for i := range r.Cases {
		c := &r.Cases[i]
		c.ID, c.Check, c.Subject, c.Note, c.Needs = s+c.ID, s+c.Check, s, s, []string{s}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Claim, f.Case, f.Message, f.Expected, f.Actual, f.Did = s, s+f.Case, s, s, s, s
		f.Requirements = []string{s}
		f.Draws = []Draw{{s, map[string]any{s: s}}}
		f.Curl = []string{s, s, s}
		f.Pictures = []Picture{{Name: s, MediaType: "text/html", Data: []byte("page")}}
		for j := range f.Exchanges {
			ex := &f.Exchanges[j]
			ex.Role, ex.Err, ex.Req.Target, ex.Req.Method, ex.Req.Operation, ex.End = s, s, "/"+s, s, s, wire.End(s)
			ex.Req.Fields, ex.Head.Fields = []wire.Field{{Name: s, Value: s}}, []wire.Field{{Name: "Location", Value: s}}
			ex.Req.Body, ex.Events = []byte(s), []wire.Event{{Data: []byte(s)}}
		}
	}
	r.Summary.Created = map[string]int{s: 1}
	return r
}

func TestNothingOfATargetIsMoreThanText(t *testing.T) {
	checks := map[string]func(testing.TB, string, string){"text": inertLines, "json": inertJSON, "junit": inertXML, "markdown": inertMarkdown, "github": inertCommands}
	for _, f := range Formats(Console{}) {
		for i, s := range hostileTexts {
			t.Run(fmt.Sprintf("%s/%d", f.Name, i), func(t *testing.T) {
				out := written(t, func(w io.Writer) error { return f.Write(w, evil(s)) })
				if !utf8.ValidString(out) {
					t.Error("the output is no UTF-8")
				}
				checks[f.Name](t, out, s)
			})
		}
	}
}

func inertLines(t testing.TB, out, s string) {
	for _, c := range out {
		if c != '\n' && c != '\t' && hostile(c) {
			t.Fatalf("%q of %q reached the output", c, s)
		}
	}
}

func inertJSON(t testing.TB, out, _ string) {
	if _, err := Read(strings.NewReader(out)); err != nil {
		t.Error(err)
	}
}

// inertXML reads the document and finds no element that the writer does not know.
func inertXML(t testing.TB, out, s string) {
	inertLines(t, out, s)
	validJUnit(t, out)
}

// validJUnit holds a document to what the schemas of Jenkins and Surefire agree on.
func validJUnit(t testing.TB, out string) {
	t.Helper()
	children := map[string]string{"": "testsuites", "testsuites": "testsuite", "testsuite": "properties testcase", "properties": "property",
		"testcase": "skipped error failure system-out", "property": "", "skipped": "", "error": "", "failure": "", "system-out": ""}
	required := map[string]string{"testsuite": "name tests failures errors skipped time timestamp", "testcase": "name classname time", "property": "name value",
		"failure": "message type", "testsuites": "name tests failures errors time"}
	var stack []string
	outcomes := 0
	d := xml.NewDecoder(strings.NewReader(out))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("no XML: %v", err)
		}
		switch e := tok.(type) {
		case xml.StartElement:
			parent := ""
			if len(stack) > 0 {
				parent = stack[len(stack)-1]
			}
			if !strings.Contains(" "+children[parent]+" ", " "+e.Name.Local+" ") {
				t.Fatalf("<%s> in <%s>", e.Name.Local, parent)
			}
			for _, want := range strings.Fields(required[e.Name.Local]) {
				has := false
				for _, a := range e.Attr {
					has = has || a.Name.Local == want
				}
				if !has {
					t.Fatalf("<%s> has no %s", e.Name.Local, want)
				}
			}
			switch e.Name.Local {
			case "testcase":
				outcomes = 0
			case "skipped", "error", "failure":
				if outcomes++; outcomes > 1 {
					t.Fatal("a testcase has two outcomes")
				}
			}
			stack = append(stack, e.Name.Local)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		}
	}
}

// inertMarkdown takes away all code, where nothing is markup; nothing of the text may be left but in
// statements, where punctuation is escaped.
func inertMarkdown(t testing.TB, out, s string) {
	inertLines(t, out, s)
	rest := escaped.ReplaceAllString(withoutCode(t, out), "")
	for _, bad := range []string{"<script", "<img", "](", "<!", "\n# ", "\n- item", "~~~", "@everyone"} {
		if strings.Contains(rest, bad) {
			t.Errorf("%q is markup in:\n%.3000s", bad, rest)
		}
	}
	if strings.Count(out, "<details>") != strings.Count(rest, "\n</details>") {
		t.Errorf("a block is closed by the text of %q", s)
	}
}

var escaped = regexp.MustCompile(`\\[[:punct:]]`)

// withoutCode removes fenced blocks, HTML code elements and code spans, as CommonMark finds them.
func withoutCode(t testing.TB, out string) string {
	var kept []string
	fence := ""
	for _, l := range strings.Split(out, "\n") {
		run := l[:len(l)-len(strings.TrimLeft(l, "`"))]
		switch {
		case fence == "" && len(run) >= 3 && !strings.Contains(l[len(run):], "`"):
			fence = run
		case fence != "" && len(run) >= len(fence) && strings.Trim(l, "`") == "":
			fence = ""
		case fence == "":
			kept = append(kept, withoutSpans(l))
		}
	}
	if fence != "" {
		t.Error("a fence is open at the end")
	}
	return strings.Join(kept, "\n")
}

var htmlCode = regexp.MustCompile(`<code>[^<]*</code>`)

func withoutSpans(l string) string {
	l = strings.ReplaceAll(htmlCode.ReplaceAllString(l, ""), "\\`", "")
	var b strings.Builder
	for l != "" {
		i := strings.IndexByte(l, '`')
		if i < 0 {
			break
		}
		b.WriteString(l[:i])
		run := l[i : i+len(l[i:])-len(strings.TrimLeft(l[i:], "`"))]
		l = l[i+len(run):]
		end := closing(l, len(run))
		if end < 0 {
			b.WriteString(run)
			continue
		}
		l = l[end+len(run):]
	}
	return b.String() + l
}

// closing finds a run of exactly n backticks.
func closing(l string, n int) int {
	for i := 0; i < len(l); {
		if l[i] != '`' {
			i++
			continue
		}
		run := len(l[i:]) - len(strings.TrimLeft(l[i:], "`"))
		if run == n {
			return i
		}
		i += run
	}
	return -1
}

// inertCommands finds only lines that are commands of ours.
func inertCommands(t testing.TB, out, s string) {
	inertLines(t, out, s)
	line := regexp.MustCompile(`^::(error|warning|notice) title=[^:,]*::.*$`)
	for _, l := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		if !line.MatchString(l) {
			t.Errorf("%.200q is no command of ours", l)
		}
	}
}

// many is a report with more of everything than any place shows.
func many() *Report {
	r := sample()
	f := r.Findings[0]
	for i := range 1200 {
		g := f
		g.Claim, g.Case = fmt.Sprintf("family.claim-%d", i), fmt.Sprintf("family.check@operation%d", i)
		g.Actual = strings.Repeat("x", 3000)
		r.Findings = append(r.Findings, g)
		r.Cases = append(r.Cases, Case{ID: g.Case, Check: "family.check", Verdict: Fail})
		r.Requirements = append(r.Requirements, Requirement{ID: g.Claim, Verdict: Fail, Statement: strings.Repeat("word ", 200), Claims: []Claim{{ID: g.Claim, Verdict: Fail}}})
	}
	return r
}

func TestWritersAreBounded(t *testing.T) {
	r := many()
	md := written(t, func(w io.Writer) error { return WriteMarkdown(w, r) })
	if len(md) > maxMarkdown || !strings.Contains(md, "more kinds of findings are in the JSON report") {
		t.Errorf("markdown: %d bytes", len(md))
	}
	gh := written(t, func(w io.Writer) error { return WriteAnnotations(w, r) })
	if n := strings.Count(gh, "::error "); n != mostAnnotations || !strings.Contains(gh, "1192 more kinds") {
		t.Errorf("annotations: %d errors\n%.300s", n, gh)
	}
	if n := len(written(t, func(w io.Writer) error { return WriteJUnit(w, r) })); n > 8<<20 {
		t.Errorf("junit: %d bytes", n)
	}
	if n := len(written(t, func(w io.Writer) error { return (Console{}).Write(w, r) })); n > 2<<20 {
		t.Errorf("console: %d bytes", n)
	}
}

func TestJUnitOutcomes(t *testing.T) {
	out := written(t, func(w io.Writer) error { return WriteJUnit(w, sample()) })
	validJUnit(t, out)
	for _, want := range []string{`tests="3" failures="1" errors="0"`, `<skipped message="not exercised: needs second_workspace">`,
		`<skipped message="inconclusive: GET /v1/notes got no whole answer: timeout">`, `<failure message="idempotency.conflict: expected 409`, "<system-out>NOT COUNTED"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	r := &Report{Cases: []Case{{ID: "a.b@c", Check: "a.b", Verdict: Error, Note: "it broke"}}}
	if out := written(t, func(w io.Writer) error { return WriteJUnit(w, r) }); !strings.Contains(out, `<error message="it broke"`) {
		t.Error(out)
	}
}

func TestHAR(t *testing.T) {
	r := sample()
	f := r.Findings[0]
	f.Exchanges = []wire.Exchange{{Role: "primary", Lane: 2, Sent: 1_500_000, Last: 9_500_000, End: wire.EndComplete,
		Req:    wire.Request{Method: "POST", Target: "/v1/x?a=1&a=%20b&c", Body: []byte("\xff\x00"), Left: 7, Fields: []wire.Field{{Name: "Content-Type", Value: "application/octet-stream"}}},
		Head:   wire.Head{Status: 303, Proto: "HTTP/1.1", Fields: []wire.Field{{Name: "Location", Value: "/y"}, {Name: "Content-Type", Value: "text/plain"}}},
		Events: []wire.Event{{At: 5_500_000, Data: []byte("\xfe")}, {At: 9_500_000, Data: []byte("ok"), Left: 3}}},
		{End: wire.EndReset, Err: "connection reset", Req: wire.Request{Method: "GET", Target: "/"}}}
	var doc struct{ Log harLog }
	if err := json.Unmarshal([]byte(written(t, func(w io.Writer) error { return WriteHAR(w, r, f) })), &doc); err != nil {
		t.Fatal(err)
	}
	e := doc.Log.Entries[0]
	want := map[string]any{
		"1.2": doc.Log.Version, "2026-10-03T00:00:00.001Z": e.Started, "8": fmt.Sprint(e.Time), "{0 4 4}": fmt.Sprint(e.Timings),
		"http://127.0.0.1:1/v1/x?a=1&a=%20b&c": e.Request.URL, "[{a 1} {a  b} {c }]": fmt.Sprint(e.Request.QueryString),
		"/wA= base64 7 further bytes are left out": e.Request.PostData.Text + " " + e.Request.PostData.Encoding + " " + e.Request.PostData.Comment,
		"303 See Other /y":                         fmt.Sprint(e.Response.Status, " ", e.Response.StatusText, " ", e.Response.RedirectURL),
		"/m9r base64 6":                            fmt.Sprint(e.Response.Content.Text, " ", e.Response.Content.Encoding, " ", e.Response.Content.Size),
		"0 connection reset x-unknown":             fmt.Sprint(doc.Log.Entries[1].Response.Status, " ", doc.Log.Entries[1].Response.Error, " ", doc.Log.Entries[1].Response.Content.MimeType),
	}
	for w, got := range want {
		if fmt.Sprint(got) != w {
			t.Errorf("got %v, want %s", got, w)
		}
	}
}

func TestEvidence(t *testing.T) {
	r := evil("../../\x1b<x>\n/")
	r.Findings[1].Pictures = append(r.Findings[1].Pictures, Picture{Name: "b", MediaType: "text/html", Data: []byte("two")}, Picture{MediaType: "image/png"})
	names := map[string]bool{}
	for _, f := range r.Evidence() {
		if names[f.Name] || !regexp.MustCompile(`^(har|pictures)/\d{3}-[A-Za-z0-9._@+-]+\.(har|html)$`).MatchString(f.Name) || len(f.Name) > 200 {
			t.Errorf("name %q", f.Name)
		}
		names[f.Name] = true
		if strings.HasPrefix(f.Name, "pictures/") {
			if s := written(t, f.Write); s != "page" && s != "two" {
				t.Errorf("%s holds %q", f.Name, s)
			}
		}
	}
	if len(names) != 5 {
		t.Errorf("%v", names)
	}
}

func TestSimilar(t *testing.T) {
	f := func(claim, subject, expected, actual string, v Verdict) Finding {
		return Finding{Claim: claim, Case: "x.y@" + subject, Expected: expected, Actual: actual, Verdict: v}
	}
	groups := Similar([]Finding{
		f("a.b", "createOne", "status 202 with job job_7f3", `202 {"job_id":"job_8"}`, Fail),
		f("a.c", "createOne", "1 in listJobs", "4: job_1, job_2", Fail),
		f("a.b", "createTwo", "status 200 with invocation inv_9", `200 {"id":"inv_8"}`, Fail),
		f("a.b", "createTwo", "status 200 with invocation inv_9", `500 {}`, Fail),
		f("a.b", "createSix", "status 200 with invocation inv_9", `200 {}`, Warn),
		f("a.c", "createTwo", "1 in listThings", "3: thing_1, thing_2", Fail),
	})
	got := ""
	for _, g := range groups {
		for _, f := range g {
			got += f.Claim + "@" + f.Subject() + " "
		}
		got += "| "
	}
	if want := "a.b@createOne a.b@createTwo | a.c@createOne a.c@createTwo | a.b@createTwo | a.b@createSix | "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What broke first comes first, failures before warnings.
func TestOrderOfFindings(t *testing.T) {
	at := func(claim string, ms int, v Verdict) Finding {
		f := Finding{Claim: claim, Verdict: v}
		if ms > 0 {
			f.Exchanges = []wire.Exchange{{Last: time.Duration(ms) * time.Millisecond}}
		}
		return f
	}
	r := &Report{Findings: []Finding{at("c", 30, Fail), at("w", 1, Warn), at("n", 0, Fail), at("b", 20, Fail), at("a", 20, Fail)}}
	r.orderFindings()
	got := ""
	for _, f := range r.Findings {
		got += f.Claim
	}
	if got != "abcnw" {
		t.Errorf("order %s", got)
	}
}

func TestTelling(t *testing.T) {
	exs := []wire.Exchange{{Req: wire.Request{Operation: "a"}}, {Req: wire.Request{Operation: "b"}}, {Req: wire.Request{Operation: "c"}}}
	for _, c := range []struct {
		name string
		f    Finding
		want int
	}{
		{"named", Finding{Telling: 1, Exchanges: exs}, 1},
		{"the last of the operation", Finding{Case: "x@b+c", Exchanges: exs}, 2},
		{"the last", Finding{Case: "x@d", Exchanges: exs}, 3},
		{"out of range", Finding{Telling: 9, Exchanges: exs}, 3},
		{"none", Finding{}, 0},
	} {
		if got := c.f.Tells(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{"a.b@c": "a.b@c", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(rm)": "'$(rm)'"} {
		if got := shellWord(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestSimilarKeepsOrder(t *testing.T) {
	groups := Similar([]Finding{{Claim: "b", Verdict: Fail, Case: "1"}, {Claim: "a", Verdict: Fail}, {Claim: "b", Verdict: Fail, Case: "2"}, {Claim: "b", Verdict: Warn}})
	if len(groups) != 3 || groups[0][0].Case != "1" || groups[0][1].Case != "2" || groups[1][0].Claim != "a" || groups[2][0].Verdict != Warn {
		t.Errorf("groups: %v", groups)
	}
}

// What a baseline knows fails nothing in any format; a line of it that has to go fails.
func TestWritersKnowTheBaseline(t *testing.T) {
	r := sample()
	r.Findings[0].Known = &Known{Reason: "until May", Line: 3}
	r.Findings[0].Pictures = []Picture{{Name: "history", MediaType: "text/html"}}
	r.Baseline = &Baseline{File: "known.yaml", Known: 1, Stale: []Entry{{Claim: "a.b", Case: "a.c@d", Verdict: Fail, Line: 7}}}
	stale := "a.b in a.c@d holds again: remove line 7 of the baseline known.yaml"
	for name, want := range map[string][]string{
		"junit":    {`failures="1" errors="0" time="1.250"`, `<testsuite name="baseline"`, `<failure message="` + stale, "known: line 3 of the baseline: until May; it does not count"},
		"markdown": {"- **FAIL** `" + stale, "<summary>known FAIL <code>idempotency.conflict"},
		"github":   {"::error title=baseline::" + stale, "::warning title=NOTES-IDEM-03"},
	} {
		out := written(t, func(w io.Writer) error { return formatNamed(t, name).Write(w, r) })
		for _, s := range want {
			if !strings.Contains(out, s) {
				t.Errorf("%s: no %s in\n%s", name, s, out)
			}
		}
		if name == "junit" {
			validJUnit(t, out)
		}
		if name == "github" && strings.Contains(out, "::error title=NOTES") {
			t.Errorf("a known failure is an error:\n%s", out)
		}
	}
	written(t, func(w io.Writer) error { return Console{}.WriteFindings(w, r) })
	if one := (Console{}).Finding(r, r.Findings[0]); !strings.Contains(one, "pictures/001-idempotency.conflict@createNote.html") {
		t.Errorf("one finding by itself:\n%s", one)
	}
	same(t, r, readBack(t, r))
}
