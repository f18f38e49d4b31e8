package report

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))) {
		t.Errorf("%s differs; look at it and run go test -update.\n%s", path, got)
	}
}

func TestConsole(t *testing.T) {
	unlock := func(n string) string { return "credentials:\n  " + n + ": {bearer: \"${...}\"}" }
	for _, tc := range []struct {
		name string
		c    Console
		r    func(*Report)
	}{
		{"plain.txt", Console{Unlock: unlock}, func(*Report) {}},
		{"narrow.txt", Console{Width: 50}, func(*Report) {}},
		{"colour.txt", Console{Width: 80, Color: true}, func(*Report) {}},
		{"many.txt", Console{}, func(r *Report) {
			f := r.Findings[0]
			for i := range 20 {
				f.Exchanges = append(f.Exchanges, f.Exchanges[i])
			}
			r.Findings[0] = f
			for i := range 4 {
				g := f
				g.Case, g.Exchanges, g.Draws = fmt.Sprintf("idempotency.sequential@op%d", i), f.Exchanges[:1], nil
				r.Findings = append(r.Findings, g)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := sample()
			tc.r(r)
			var b bytes.Buffer
			if err := tc.c.Write(&b, r); err != nil {
				t.Fatal(err)
			}
			golden(t, tc.name, b.Bytes())
		})
	}
}

// Without colour no control character but the line feed may reach the output, whatever a target said.
func TestConsoleIsInert(t *testing.T) {
	r := sample()
	evil := "\x1b]0;x\x07\u202e\u009b2J\r\x00\xff\u200b"
	r.Note, r.Findings[0].Actual, r.Findings[0].Claim, r.Findings[0].Case = evil, evil, evil, "c@"+evil
	r.Findings[0].Curl, r.Findings[0].Draws[0].Value = []string{evil}, evil
	r.Findings[0].Exchanges[0].Req.Target, r.Findings[0].Exchanges[0].Role = evil, evil
	r.Requirements[0].ID, r.Requirements[0].Statement = evil, evil
	r.Summary.Created[evil] = 1
	var b bytes.Buffer
	if err := (Console{}).Write(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, c := range b.String() {
		if c != '\n' && hostile(c) {
			t.Fatalf("%q reached the output:\n%q", c, b.String())
		}
	}
}

func TestConsoleFitsItsWidth(t *testing.T) {
	for _, w := range []int{40, 60, 80, 200} {
		r := sample()
		r.Summary.Created = nil
		var b bytes.Buffer
		p := &printer{Console: Console{Width: w}}
		p.table(r)
		b.WriteString(p.out.String())
		for l := range strings.Lines(b.String()) {
			if n := columns(strings.TrimSuffix(l, "\n")); n > w {
				t.Errorf("width %d: %d cells in %q", w, n, l)
			}
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWritersReportTheirErrors(t *testing.T) {
	if err := (Console{}).Write(brokenWriter{}, sample()); err == nil {
		t.Error("console: the writer's error is lost")
	}
	if err := sample().WriteJSON(brokenWriter{}); err == nil {
		t.Error("json: the writer's error is lost")
	}
}

func TestText(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{Clean("plain ä 日本 é"), "plain ä 日本 é"},
		{Clean("a\x1b[31mb\x7f\r\n\t"), `a\x1b[31mb\x7f\r\n\t`},
		{Clean("\xff\xfe"), `\xff\xfe`},
		{Clean("a\u202eb\u2028\u009b"), `a\u202eb\u2028\x9b`},
		{Clean("already \\x1b"), `already \x1b`},
		{cleanLines("a\n\tb\x1b"), "a\n\tb\\x1b"},
		{Cut("abcdef", 6), "abcdef"},
		{Cut("abcdef", 5), "abcd…"},
		{Cut("ab cdef", 4), "ab…"},
		{Cut("日本語", 5), "日本…"},
		{Cut("日本語", 4), "日…"},
		{strings.Join(wrap("aa bb  cc", 5), "|"), "aa bb|cc"},
		{strings.Join(wrap("a verylongword b", 5), "|"), "a ver|ylong|word|b"},
		{strings.Join(wrap("日本語", 1), "|"), "日|本|語"},
		{strings.Join(wrap("", 5), "|"), ""},
		{shortIDs([]string{"A-X-01", "A-X-02", "A-Y-03", "A-Y-04", "Z"}), "A-X-01 02, A-Y-03 04, Z"},
		{groupOf("SEER-IDEM-01"), "SEER-IDEM"},
		{groupOf("plain"), "plain"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "a\x1bb", "\xff", "\u202e", "日本"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := Clean(s)
		if strings.ContainsFunc(c, hostile) {
			t.Errorf("%q still holds a control character: %q", s, c)
		}
		if Clean(c) != c {
			t.Errorf("cleaning %q twice changes it", s)
		}
		if n := columns(Cut(c, 10)); n > 10 {
			t.Errorf("cut of %q takes %d cells", c, n)
		}
	})
}
