package html_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"assay.kit/conformance/report"
	"assay.kit/conformance/report/html"
	"assay.kit/conformance/wire"
)

var bodies = reflect.TypeOf(wire.Bytes{})

// fill sets every text of a report: strings, bodies, keys of maps and drawn values.
func fill(v reflect.Value, text string) {
	switch {
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fill(v.Elem(), text)
	case v.Type() == bodies:
		v.SetBytes([]byte(text))
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), text)
		}
	case v.Kind() == reflect.Struct && v.Type().PkgPath() != "time":
		for i := range v.NumField() {
			fill(v.Field(i), text)
		}
	case v.Kind() == reflect.Interface:
		v.Set(reflect.ValueOf(map[string]any{text: []any{text}}))
	case v.Kind() == reflect.Map:
		m := reflect.MakeMap(v.Type())
		m.SetMapIndex(reflect.ValueOf(text).Convert(v.Type().Key()), reflect.ValueOf(3))
		v.Set(m)
	}
}

// TestHostileText puts hostile text into every field at once. The page must have as many tags and
// quotes as with harmless text, so none of it became markup, and no character that a reader cannot see.
func TestHostileText(t *testing.T) {
	calm := sample()
	fill(reflect.ValueOf(calm), "~ calm ~")
	want := render(t, calm)
	for _, text := range []string{
		`<script>alert(1)</script>`, `</script><script>alert(1)</script>`, `</style><style>*{display:none}</style>`,
		`"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `javascript:alert(1)`, `data:text/html,<script>alert(1)</script>`,
		`<!--`, `-->`, `]]>`, `<![CDATA[`, `&lt;script&gt;`, `&#34;><b>`, `{{.Script}}`, "`${alert(1)}`", `</pre></details></main>`, `<svg/onload=alert(1)>`,
		`<a href="http://evil.example/">x</a>`, `<meta http-equiv=refresh content="0;url=http://evil.example/">`, `\u003cb\u003e`,
		"a\x00b", "\x1b[2J\x1b]0;x\x07", "\u202eevil\u2066", "zero\u200bwidth\ufeff", "line\u2028sep\u2029", "bad\xff\xfeutf8", "\u0085\u009b31m", "~ tab\r ~",
	} {
		hostile := sample()
		fill(reflect.ValueOf(hostile), text)
		got := render(t, hostile)
		for _, mark := range []string{"<", ">", `"`} {
			if a, b := strings.Count(want, mark), strings.Count(got, mark); a != b {
				t.Errorf("%q: %d of %s with harmless text, %d with this one", text, a, mark, b)
			}
		}
		if !utf8.ValidString(got) {
			t.Errorf("%q: the page is no UTF-8", text)
		}
		if i := strings.IndexFunc(got, unseen); i >= 0 {
			t.Errorf("%q: a character that cannot be seen: %q", text, got[max(0, i-30):i+4])
		}
	}
}

func unseen(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

var (
	loads   = regexp.MustCompile(`(?i)\s(?:src|href|xlink:href|srcset|action|formaction|poster|data|background|cite|ping)\s*=\s*"([^"]*)"`)
	inStyle = regexp.MustCompile(`(?s)<style>(.*?)</style>`)
	inScrip = regexp.MustCompile(`(?s)<script>(.*?)</script>`)
	handler = regexp.MustCompile(`(?i)<[^>]*\s(?:on[a-z]+|style)\s*=`)
)

// TestLoadsNothing holds the page to itself: no address but a place in it, and a policy that would
// stop any other load, whose digests are those of the very bytes between the tags.
func TestLoadsNothing(t *testing.T) {
	page := render(t, sample())
	for _, m := range loads.FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(m[1], "#") && m[1] != "data:," {
			t.Errorf("the page loads %s", m[0])
		}
	}
	styles, scripts := inStyle.FindAllStringSubmatch(page, -1), inScrip.FindAllStringSubmatch(page, -1)
	if len(styles) != 1 || len(scripts) != 1 {
		t.Fatalf("%d styles and %d scripts, want one of each", len(styles), len(scripts))
	}
	if css := styles[0][1]; strings.Contains(css, "url(") || strings.Contains(css, "@import") {
		t.Error("the style sheet loads something")
	}
	if m := handler.FindString(strings.NewReplacer(styles[0][0], "", scripts[0][0], "").Replace(page)); m != "" {
		t.Errorf("an inline handler or style, which the policy would refuse: %s", m)
	}
	for _, text := range []string{styles[0][1], scripts[0][1]} {
		sum := sha256.Sum256([]byte(text))
		if want := strings.ReplaceAll(base64.StdEncoding.EncodeToString(sum[:]), "+", "&#43;"); !strings.Contains(page, want) {
			t.Errorf("the policy does not name the digest of %.40q…", text)
		}
	}
	if !strings.Contains(page, "default-src &#39;none&#39;") {
		t.Error("the policy lets something load")
	}
}

// TestWholeWithoutScript: only what needs the script may be hidden from a reader who has none.
func TestWholeWithoutScript(t *testing.T) {
	for _, tag := range regexp.MustCompile(`<[a-z][^>]*\shidden[^>]*>`).FindAllString(render(t, sample()), -1) {
		if !strings.HasPrefix(tag, "<button") && !strings.Contains(tag, `id="filter"`) {
			t.Errorf("hidden without the script: %s", tag)
		}
	}
}

// TestTellsEverything: whatever a finding says is in the page, as text.
func TestTellsEverything(t *testing.T) {
	page := render(t, sample())
	for _, want := range []string{
		"2 of 5 judged requirements are broken.", "notes 1.0.0", "http://127.0.0.1:1", "12.5 s", "99 requests in 4 cases", "2026-10-03 00:00:00 UTC",
		"nine of ten answers were 401", "1 × draft, 3 × note", "What NOTES-IDEM-02 promises.", "notes §2",
		"A second payload under a used key is refused.", "payload", "Seen again when it was tried again.", "Seen once",
		"connection reset by peer", "no credential", "lane 3", "28 ms", `href="#r-NOTES-IDEM-01"`,
		"assay replay report.json idempotency.twins@createNote", "needs second_workspace", "no check yet",
		"<mark>  &#34;code&#34;: &#34;CONFLICT&#34;,</mark>", "4 in 3 groups", "idempotency.once (2)",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("not in the page: %s", want)
		}
	}
	if strings.Count(page, "<mark>") != 4 { // status and member on either side
		t.Errorf("%d marks, want 4", strings.Count(page, "<mark>"))
	}
	if quiet := render(t, none()); !strings.Contains(quiet, "Nothing that was judged is broken.") || strings.Contains(quiet, `class="warnings"`) {
		t.Error("a report without findings does not say so, or warns")
	}
}

func TestHeadingsInOrder(t *testing.T) {
	for _, r := range []*report.Report{sample(), none(), {}} {
		last := 0
		for _, m := range regexp.MustCompile(`<h([1-6])[ >]`).FindAllStringSubmatch(render(t, r), -1) {
			if level := int(m[1][0] - '0'); level > last+1 {
				t.Errorf("h%d after h%d", level, last)
			} else {
				last = level
			}
		}
	}
}

func TestAnchorsAreUniqueAndThere(t *testing.T) {
	r := sample()
	r.Requirements = append(r.Requirements, r.Requirements[0], row("odd id", report.Fail, "x"), row("row.9", report.Fail, "x"))
	page := render(t, r)
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			t.Errorf("id %s twice", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`\s(?:href="#|data-to="|aria-labelledby=")([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !ids[m[1]] {
			t.Errorf("nothing has the id %s", m[1])
		}
	}
}

func TestSameBytesEachTime(t *testing.T) {
	r := many(20, 50)
	first := render(t, r)
	for range 5 {
		if render(t, r) != first {
			t.Fatal("the same report gave another page")
		}
	}
}

// TestBounded: a target that breaks everything with the largest answers still gives a page that opens.
func TestBounded(t *testing.T) {
	r := many(1100, 26_000)
	long := strings.Repeat(`"<&`, 30_000)
	ex := exchange(1, 0, 0, 1)
	ex.Req.Body, ex.Events = []byte(long), []wire.Event{{Data: []byte(long)}}
	for range 200 {
		ex.Head.Fields = append(ex.Head.Fields, wire.Field{Name: "X-Long", Value: long})
	}
	exs, curl, draws := make([]wire.Exchange, 300), make([]string, 300), make([]report.Draw, 300)
	for i := range exs {
		exs[i], curl[i], draws[i] = ex, long, report.Draw{Label: "d", Value: long[:10_000]}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Expected, f.Actual, f.Draws, f.Exchanges, f.Curl = long, long, draws, exs, curl
	}
	for i := range r.Cases {
		r.Cases[i].Note = "needs what nobody has"
	}
	page := render(t, r)
	if len(page) > 64<<20 {
		t.Errorf("the page has %d MiB", len(page)>>20)
	}
	for _, want := range []string{"100 more findings are in the JSON report.", "1000 more cases are in the JSON report.", "whole in the JSON report", "more bytes of the body are not shown"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say: %s", want)
		}
	}
	t.Logf("%d MiB", len(page)>>20)
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriterFails(t *testing.T) {
	if err := html.Write(full{}, sample()); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("err = %v", err)
	}
}
