package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Console writes a report for a person to read. Everything in it is cleaned of what a terminal
// would obey, because much of it is the target's own text.
type Console struct {
	Width  int                            // cells a line; 0: 100
	Color  bool                           // only verdicts and asides are coloured
	Unlock func(capability string) string // the profile lines that give a capability; may be nil
	Report string                         // where the JSON report is, for the commands that take it; may be ""
	Folder string                         // where Evidence was written; may be ""
}

// minWidth is the narrowest table that can still be read.
const minWidth = 40

// Write prints the requirements, then what failed, then what was not looked at, then one line that
// sums up. The error is the writer's.
func (c Console) Write(w io.Writer, r *Report) error {
	if c.Width == 0 {
		c.Width = 100
	}
	c.Width = max(c.Width, minWidth)
	p := &printer{Console: c}
	p.line("%s %s at %s", Clean(r.Contract.Name), Clean(r.Contract.Version), Clean(r.Target))
	p.line("")
	p.table(r)
	p.findings(r)
	p.known(r)
	p.unjudged(r)
	p.unlock(r)
	p.created(r)
	p.warnings(r)
	p.stale(r)
	p.line("%s", p.summary(r))
	_, err := io.WriteString(w, p.out.String())
	return err
}

// printer gathers the text of one report.
type printer struct {
	Console
	out    strings.Builder
	report *Report
	told   []Finding // with their timelines
}

func (p *printer) line(format string, a ...any) {
	fmt.Fprintf(&p.out, format, a...)
	p.out.WriteByte('\n')
}

// warnings come last, where they are read: they put everything above into doubt.
func (p *printer) warnings(r *Report) {
	for _, warning := range r.Warnings {
		for i, l := range wrap("Note: "+Clean(warning), p.Width) {
			if i > 0 {
				l = "      " + l
			}
			p.line("%s", p.paint(Warn, l))
		}
	}
	if len(r.Warnings) > 0 {
		p.line("")
	}
}

// label is how a verdict reads in a column.
func label(v Verdict) string {
	switch v {
	case Fail, Error:
		return strings.ToUpper(string(v))
	default:
		return strings.ReplaceAll(string(v), "_", " ")
	}
}

// paint colours a text by what it means: red broken, yellow doubtful, green good, dim an aside.
func (p *printer) paint(v Verdict, s string) string {
	switch v {
	case Fail, Error:
		return p.sgr("31;1", s)
	case Warn, Inconclusive:
		return p.sgr("33", s)
	case Pass:
		return p.sgr("32", s)
	default:
		return p.dim(s)
	}
}

func (p *printer) dim(s string) string { return p.sgr("2", s) }

func (p *printer) strong(s string) string { return p.sgr("1", s) }

func (p *printer) sgr(code, s string) string {
	if !p.Color || strings.TrimSpace(s) == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// table prints one line for every requirement that something could judge, a blank one between groups.
func (p *printer) table(r *Report) {
	var rows []Requirement
	verdicts, ids := 0, 0
	for _, q := range grouped(r.Requirements) {
		if len(q.Claims) == 0 {
			continue
		}
		rows = append(rows, q)
		verdicts, ids = max(verdicts, columns(label(q.Verdict))), max(ids, columns(Clean(q.ID)))
	}
	for i, q := range rows {
		if i > 0 && groupOf(q.ID) != groupOf(rows[i-1].ID) {
			p.line("")
		}
		indent := verdicts + ids + 4
		p.line("%s  %s  %s", p.paint(q.Verdict, pad(label(q.Verdict), verdicts)), pad(Clean(q.ID), ids),
			Cut(Clean(q.Statement), p.Width-indent))
		if aside := asideOf(q); aside != "" {
			p.line("%s%s", strings.Repeat(" ", indent), p.dim(Cut(Clean(aside), p.Width-indent)))
		}
	}
	if len(rows) > 0 {
		p.line("")
	}
}

// grouped puts the rows of one group together, where the catalog has its first one.
func grouped(rows []Requirement) []Requirement {
	place := map[string]int{}
	for i, q := range rows {
		if _, ok := place[groupOf(q.ID)]; !ok {
			place[groupOf(q.ID)] = i
		}
	}
	out := slices.Clone(rows)
	slices.SortStableFunc(out, func(a, b Requirement) int { return place[groupOf(a.ID)] - place[groupOf(b.ID)] })
	return out
}

// groupOf is the id without its last part: SEER-IDEM of SEER-IDEM-03.
func groupOf(id string) string {
	if i := strings.LastIndexAny(id, "-."); i > 0 {
		return id[:i]
	}
	return id
}

// asideOf is what a reader of the table needs beside the verdict; failures are told in full below.
func asideOf(q Requirement) string {
	switch {
	case q.Verdict == Pass && len(q.Partial) > 0:
		return "partly: further cases need " + strings.Join(q.Partial, ", ")
	case q.Verdict == Pass, q.Verdict == Fail:
		return ""
	default:
		return q.Note
	}
}

// unjudged lists the requirements that nothing judged, a paragraph for each reason.
func (p *printer) unjudged(r *Report) {
	groups := map[string][]string{}
	for _, q := range grouped(r.Requirements) {
		reason := "no check yet"
		switch {
		case q.Note == leftOut:
			reason = leftOut
		case len(q.Claims) > 0:
			continue
		case q.Verdict == NotApplicable:
			reason = "not for servers"
		}
		groups[reason] = append(groups[reason], Clean(q.ID))
	}
	for _, reason := range []string{leftOut, "no check yet", "not for servers"} {
		ids := groups[reason]
		if len(ids) == 0 {
			continue
		}
		head := fmt.Sprintf("%s (%d): ", reason, len(ids))
		for i, l := range wrap(shortIDs(ids), p.Width-columns(head)) {
			if i == 0 {
				p.line("%s%s", head, p.dim(l))
			} else {
				p.line("%s%s", strings.Repeat(" ", columns(head)), p.dim(l))
			}
		}
	}
	if len(groups) > 0 {
		p.line("")
	}
}

// shortIDs writes a group once: SEER-MCP-01 02 03, SEER-AUTH-06.
func shortIDs(ids []string) string {
	var b strings.Builder
	last := ""
	for i, id := range ids {
		group := groupOf(id)
		switch {
		case i == 0:
			b.WriteString(id)
		case group == last && group != id:
			b.WriteString(" " + strings.TrimLeft(id[len(group):], "-."))
		default:
			b.WriteString(", " + id)
		}
		last = group
	}
	return b.String()
}

// unlock prints the profile lines that would let more be exercised.
func (p *printer) unlock(r *Report) {
	cases := map[string]int{}
	for _, cs := range r.Cases {
		if cs.Verdict == NotExercised {
			for _, n := range cs.Needs {
				cases[n]++
			}
		}
	}
	if len(cases) == 0 || p.Unlock == nil {
		return
	}
	p.line("These lines in the profile (--profile) would let more be exercised:")
	sections := map[string][]string{}
	for _, n := range sortedNames(cases) {
		section, lines, _ := strings.Cut(p.Unlock(n), "\n")
		aside := p.dim(plural(cases[n], "# %d case", "# %d cases"))
		if lines == "" {
			section, lines = section+"   "+aside, ""
		} else {
			lines += "   " + aside
		}
		sections[section] = append(sections[section], lines)
	}
	for _, section := range sortedNames(sections) {
		p.line("  %s", section)
		for _, lines := range sections[section] {
			for l := range strings.Lines(lines) {
				p.line("  %s", strings.TrimSuffix(l, "\n"))
			}
		}
	}
	p.line("")
}

func (p *printer) created(r *Report) {
	if len(r.Summary.Created) == 0 {
		return
	}
	var parts []string
	for _, k := range sortedNames(r.Summary.Created) {
		parts = append(parts, fmt.Sprintf("%s %d", Clean(k), r.Summary.Created[k]))
	}
	p.line("Left at the target: %s.", strings.Join(parts, ", "))
}

// summary is the last line: verdict, requirements by verdict, cases, requests, seconds, seed.
func (p *printer) summary(r *Report) string {
	v := map[Overall]Verdict{Conformant: Pass, Violations: Fail, Undecided: Inconclusive, OverallError: Error}[r.Verdict]
	head := p.paint(v, string(r.Verdict))
	if r.Note != "" {
		head += " (" + Clean(r.Note) + ")"
	}
	var counts []string
	for _, v := range []Verdict{Fail, Error, Warn, Inconclusive, Pass, NotExercised, NotApplicable} {
		if n := r.Summary.Requirements[v]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, strings.ToLower(label(v))))
		}
	}
	parts := []string{head + ": " + cmp.Or(strings.Join(counts, ", "), "no requirements")}
	hints := 0 // broken claims that no requirement counts
	for _, f := range r.Findings {
		if len(f.Requirements) == 0 {
			hints++
		}
	}
	if hints > 0 {
		parts = append(parts, plural(hints, "%d finding without a requirement", "%d findings without a requirement"))
	}
	parts = append(parts, plural(len(r.Cases), "%d case", "%d cases"), plural(r.Summary.Requests, "%d request", "%d requests"),
		fmt.Sprintf("%.1f s", r.Seconds), fmt.Sprintf("seed %d", r.Seed))
	return strings.Join(parts, " · ")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return fmt.Sprintf(one, n)
	}
	return fmt.Sprintf(many, n)
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
