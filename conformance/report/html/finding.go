package html

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"assay.kit/conformance/report"
)

// Bounds of one page. The JSON report has everything.
const (
	pageBudget = 8 << 20 // bytes of all values, heads, bodies and curl lines, before they are escaped
	maxValue   = 8 << 10 // bytes of an expected, an actual or a drawn value ...
	tightValue = 300     // ... and once the budget is spent
	maxDraws   = 32
	tightDraws = 2
)

// cause is a group of similar findings.
type cause struct {
	Anchor   string
	Claim    string
	Mark     mark
	Message  string
	Rows     []promise
	Findings []finding
}

// promise is a requirement that a finding breaks.
type promise struct {
	ID, Anchor, Statement, Source string
}

type finding struct {
	Anchor, Subject, Case, Brief string
	Search                       string // what the filter by text looks into
	Mark                         mark
	Open                         bool
	Message                      string // only where it is not that of the group
	Expected, Actual             []line
	Draws                        []fact
	MoreDraws                    int
	Steps                        []step
	Hidden                       int // exchanges that are left out of Steps
	Lanes                        []lane
	Span                         string // of all exchanges, with its unit
	Curl                         string
	Tells                        int
	Replay                       string
	Did                          string
	Pictures                     []string // files, relative to the folder of all formats
	Reproduced                   bool
	Known                        string // why it does not count; "" where no baseline lists it
	Seed                         uint64
}

// teller tells the findings of one report; it gathers the links from requirements to them.
type teller struct {
	report  *report.Report
	anchors []string
	links   map[string][]link
	budget  int
	told    int
}

func (t *teller) causes(findings []report.Finding) []cause {
	t.links = map[string][]link{}
	rows := map[string]promise{}
	for i, q := range t.report.Requirements {
		rows[q.ID] = promise{report.Clean(q.ID), t.anchors[i], report.Clean(q.Statement), report.Clean(q.Source)}
	}
	var out []cause
	for _, alike := range report.Similar(findings) {
		first := alike[0]
		c := cause{Anchor: fmt.Sprintf("g-%d", len(out)+1), Claim: report.Clean(first.Claim), Mark: markOf(first.Verdict), Message: report.Clean(first.Message)}
		seen := map[string]bool{}
		for _, f := range alike {
			for _, id := range f.Requirements {
				if seen[id] {
					continue
				}
				seen[id] = true
				c.Rows = append(c.Rows, known(rows, id))
				t.links[id] = append(t.links[id], link{c.Anchor, fmt.Sprintf("%s (%d)", c.Claim, len(alike))})
			}
			c.Findings = append(c.Findings, t.finding(f, c.Message))
		}
		out = append(out, c)
	}
	return out
}

func clean(list []string) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = report.Clean(list[i])
	}
	return out
}

// known falls back to the bare id: a report may have been cut by hand.
func known(rows map[string]promise, id string) promise {
	if p, ok := rows[id]; ok {
		return p
	}
	return promise{ID: report.Clean(id)}
}

func (t *teller) finding(f report.Finding, message string) finding {
	t.told++
	_, subject, _ := strings.Cut(f.Case, "@")
	out := finding{Anchor: fmt.Sprintf("f-%d", t.told), Subject: report.Clean(subject), Case: report.Clean(f.Case), Mark: markOf(f.Verdict),
		Brief: brief(f.Actual, 160), Reproduced: f.Reproduced, Seed: f.Seed, Open: t.told == 1,
		Replay: report.Replay("report.json", t.report.Profile, f), Did: brief(f.Did, maxField), Pictures: t.report.PictureFiles(f)}
	if out.Subject == "" {
		out.Subject = out.Case
	}
	if m := report.Clean(f.Message); m != message {
		out.Message = m
	}
	if f.Known != nil {
		out.Known = "Known: " + cmp.Or(report.Clean(f.Known.Reason), "the baseline gives no reason") + "."
	}
	out.Expected, out.Actual = compare(t.clip(f.Expected), t.clip(f.Actual))
	out.Search = strings.ToLower(strings.Join(append([]string{out.Mark.Word, report.Clean(f.Claim), out.Case, brief(f.Message, 400),
		brief(f.Expected, 400), brief(f.Actual, 400)}, clean(f.Requirements)...), " "))
	for i, d := range f.Draws {
		if i == maxDraws || i == tightDraws && t.budget <= 0 {
			out.MoreDraws = len(f.Draws) - i
			break
		}
		out.Draws = append(out.Draws, fact{brief(d.Label, maxField), report.Clean(t.clip(d.Text()))})
	}
	t.timeline(f, &out)
	return out
}

// clip bounds a value, between two characters, and takes it from the budget.
func (t *teller) clip(s string) string {
	limit := maxValue
	if t.budget <= 0 {
		limit = tightValue
	}
	if len(s) > limit {
		s = start(s, limit) + " … (whole in the JSON report)"
	}
	t.budget -= len(s)
	return s
}

// start is the first n bytes of a text, or a few less so that no character is torn.
func start(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// brief cleans a text and cuts it to n cells. It looks at no more of it than it needs: a target may
// send megabytes where a word is expected.
func brief(s string, n int) string { return report.Cut(report.Clean(start(s, 4*n)), n) }

// staleOf says which lines of the baseline have to go.
func staleOf(r *report.Report) []string {
	if r.Baseline == nil {
		return nil
	}
	var out []string
	for _, e := range r.Baseline.Stale {
		out = append(out, fmt.Sprintf("%s in %s holds again: remove line %d of the baseline %s.", report.Clean(e.Claim), report.Clean(e.Case), e.Line, report.Clean(r.Baseline.File)))
	}
	return out
}
