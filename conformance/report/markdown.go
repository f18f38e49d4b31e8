package report

import (
	"fmt"
	"html"
	"io"
	"strings"
)

const (
	maxMarkdown  = 1 << 20 // bytes GitHub takes of a step's summary; a larger one is dropped whole
	markdownRoom = maxMarkdown - 16<<10
	maxBlock     = 24 << 10 // bytes of one finding
	mostBlockEx  = 40       // exchanges of one
	mostSame     = 50       // further subjects of one
	mostRowsMD   = 400      // of the table of requirements
)

// WriteMarkdown writes a summary in GitHub's Markdown, of at most 1 MiB: the verdict, what did not
// pass, and a foldable block for each group of similar findings. Text of the target stands in code
// spans and code blocks only, where nothing is markup. The error is the writer's.
func WriteMarkdown(w io.Writer, r *Report) error {
	m := &markdown{report: r, rows: byID(r)}
	m.head()
	m.table()
	m.findings()
	m.rest()
	_, err := io.WriteString(w, m.out.String())
	return err
}

type markdown struct {
	report *Report
	rows   map[string]Requirement
	out    strings.Builder
}

func (m *markdown) line(format string, a ...any) {
	fmt.Fprintf(&m.out, format, a...)
	m.out.WriteByte('\n')
}

func (m *markdown) head() {
	r := m.report
	m.line("## assay: %s", text(string(r.Verdict)))
	m.line("")
	m.line("%s at %s", code(r.Contract.Name+" "+r.Contract.Version), code(r.Target))
	m.line("")
	p := &printer{}
	m.line("%s", text(p.summary(r)))
	m.line("")
	for _, warning := range r.Warnings {
		m.line("> %s", code(warning))
		m.line("")
	}
}

// table lists the requirements that did not pass.
func (m *markdown) table() {
	rows := 0
	for _, q := range m.report.Requirements {
		if q.Verdict != Fail && q.Verdict != Error && q.Verdict != Warn && q.Verdict != Inconclusive {
			continue
		}
		switch rows++; {
		case rows == 1:
			m.line("| verdict | requirement | says |")
			m.line("|---|---|---|")
		case rows > mostRowsMD:
			m.line("| | | more are in the JSON report |")
			m.line("")
			return
		}
		says := text(Cut(Clean(q.Statement), 300))
		if q.Verdict != Fail && q.Note != "" {
			says += "<br>" + cellCode(q.Note)
		}
		verdict := label(q.Verdict)
		if q.Verdict == Fail || q.Verdict == Error {
			verdict = "**" + verdict + "**"
		}
		m.line("| %s | %s | %s |", verdict, cellCode(q.ID), says)
	}
	if rows > 0 {
		m.line("")
	}
}

// findings writes blocks as long as there is room.
func (m *markdown) findings() {
	if b := m.report.Baseline; b != nil {
		for i, e := range b.Stale {
			if i == mostSame {
				m.line("- and %d more", len(b.Stale)-i)
				break
			}
			m.line("- **FAIL** %s", code(staleText(b, e)))
		}
		m.line("")
	}
	groups := Similar(fresh(m.report.Findings))
	groups = append(groups, Similar(covered(m.report.Findings))...)
	for i, g := range groups {
		block := m.block(g)
		if m.out.Len()+len(block) > markdownRoom {
			m.line("%s", plural(len(groups)-i, "%d more kind of finding is in the JSON report.", "%d more kinds of findings are in the JSON report."))
			m.line("")
			return
		}
		m.out.WriteString(block)
	}
}

func (m *markdown) block(g []Finding) string {
	b := &markdown{report: m.report, rows: m.rows}
	f := g[0]
	more := ""
	if len(g) > 1 {
		more = plural(len(g)-1, " and %d more", " and %d more")
	}
	// Inside an HTML block Markdown is not read, but HTML is.
	known := ""
	if f.Known != nil {
		known = "known "
	}
	b.line("<details><summary>%s%s <code>%s</code> on <code>%s</code>%s</summary>", known, label(f.Verdict),
		html.EscapeString(Cut(Clean(f.Claim), 120)), html.EscapeString(Cut(Clean(f.Subject()), 120)), more)
	b.line("")
	b.fence(inFull(f, m.rows, mostBlockEx, maxBlock))
	for i, same := range g[1:] {
		if i == 0 {
			b.line("The same on")
		}
		if i == mostSame {
			b.line("- and %d more", len(g)-1-i)
			break
		}
		b.line("- %s: %s", code(Cut(Clean(same.Subject()), 120)), code(Cut(Clean(same.Actual), 160)))
	}
	if len(g) > 1 {
		b.line("")
	}
	b.line("</details>")
	b.line("")
	return b.out.String()
}

// rest names what was not judged, in numbers: the table of all is elsewhere.
func (m *markdown) rest() {
	cases := map[string]int{}
	for _, cs := range m.report.Cases {
		if cs.Verdict == NotExercised {
			for _, n := range cs.Needs {
				cases[n]++
			}
		}
	}
	if len(cases) == 0 {
		return
	}
	m.line("Not exercised for want of:")
	m.line("")
	for i, n := range sortedNames(cases) {
		if i == mostSame {
			break
		}
		m.line("- %s (%s)", code(Cut(Clean(n), 120)), plural(cases[n], "%d case", "%d cases"))
	}
}

// fence writes a block of code whose fence is longer than any in it.
func (m *markdown) fence(s string) {
	fence := strings.Repeat("`", max(3, longestRun(s)+1))
	m.line("%stext", fence)
	m.line("%s", s)
	m.line("%s", fence)
	m.line("")
}

// code is a text as a code span, which nothing in it can end.
func code(s string) string {
	s = Clean(s)
	if strings.TrimSpace(s) == "" {
		return ""
	}
	ticks := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || strings.HasPrefix(s, " ") && strings.HasSuffix(s, " ") {
		s = " " + s + " " // one blank on either side is taken away again
	}
	return ticks + s + ticks
}

// cellCode is code in a table, where a bar would end the cell, in code too.
func cellCode(s string) string { return strings.ReplaceAll(code(s), "|", `\|`) }

func longestRun(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// text is a text in which no punctuation is markup. It is for words of the kit and the contract.
func text(s string) string {
	var b strings.Builder
	for _, r := range Clean(s) {
		if strings.ContainsRune("\\`*_{}[]<>#!|~&@$", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
