package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"assay.kit/conformance/report"
	"assay.kit/spec/diff"
)

// diffFormat is one way to write a comparison.
type diffFormat struct {
	name  string
	write func(io.Writer, *diff.Result) error
}

func diffFormats(f diffFlags) []diffFormat {
	return []diffFormat{
		{"text", f.writeText},
		{"json", func(w io.Writer, r *diff.Result) error { return writeJSON(w, r) }},
		{"markdown", f.writeMarkdown},
		{"github", writeDiffAnnotations},
		{"junit", writeDiffJUnit},
	}
}

func diffFormatNames() []string {
	var out []string
	for _, f := range diffFormats(diffFlags{}) {
		out = append(out, f.name)
	}
	return out
}

func (f diffFlags) shows(x diff.Finding) bool {
	return f.all || x.Grade == diff.Breaking || x.Grade == diff.Review
}

// spotOf is where a finding is shown: in the new version, or in the old one where nothing is left.
func spotOf(f diff.Finding) (file string, line int) {
	switch {
	case f.New != nil:
		return f.New.File, f.New.Line
	case f.Old != nil:
		return f.Old.File, f.Old.Line
	}
	return "", 0
}

func (f diffFlags) writeText(w io.Writer, r *diff.Result) error {
	var b strings.Builder
	for _, x := range r.Findings {
		if f.shows(x) {
			textFinding(&b, x)
		}
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "override  %s\n", report.Clean(p))
	}
	for _, m := range r.Missing {
		fmt.Fprintf(&b, "missing   %s\n", report.Clean(m))
	}
	if f.draft && len(r.Changelog) > 0 {
		b.WriteString("\nfor the changelog\n")
		for _, l := range r.Changelog {
			fmt.Fprintf(&b, "- %s\n", report.Clean(l))
		}
	}
	fmt.Fprintln(&b, diffSummary(r))
	_, err := io.WriteString(w, b.String())
	return err
}

func textFinding(b *strings.Builder, x diff.Finding) {
	file, line := spotOf(x)
	fmt.Fprintf(b, "%s  %s  [%s, hits %s]\n", x.Grade, report.Clean(x.Where), x.Rule, x.Side)
	put := func(name, text string) {
		if text != "" {
			fmt.Fprintf(b, "  %-9s %s\n", name, report.Clean(text))
		}
	}
	if x.Old != nil {
		put("old", fmt.Sprintf("%s:%d %s", x.Old.File, x.Old.Line, x.Old.Pointer))
	}
	put("before", x.Before)
	if x.New != nil {
		put("new", fmt.Sprintf("%s:%d %s", file, line, x.New.Pointer))
	}
	put("after", x.After)
	put("why", x.Why)
	if wt := x.Witness; wt != nil {
		put("witness", fmt.Sprintf("%s is valid in the %s version; the %s one says: %s", report.Cut(string(wt.Value), 300), wt.Valid, wt.Invalid, wt.Says))
	}
	put("needs", x.Needs)
	put("excused", x.Excused)
	if x.Grade == diff.Breaking || x.Grade == diff.Review {
		put("override", fmt.Sprintf("{rule: %s, pointer: %q, fingerprint: %q}", x.Rule, x.Pointer(), x.Fingerprint))
	}
	b.WriteByte('\n')
}

func diffSummary(r *diff.Result) string {
	if r.First {
		return "a first version: nothing to compare"
	}
	excused := 0
	for _, f := range r.Findings {
		if f.Excused != "" {
			excused++
		}
	}
	s := fmt.Sprintf("%d breaking, %d to review, %d compatible, %d only words", r.Count(diff.Breaking), r.Count(diff.Review), r.Count(diff.Compatible), r.Count(diff.Doc))
	if excused > 0 {
		s += fmt.Sprintf(", %d excused", excused)
	}
	return s
}

func (f diffFlags) writeMarkdown(w io.Writer, r *diff.Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## Contract: %s\n", diffSummary(r))
	cell := strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;", ">", "&gt;", "`", "'")
	if len(r.Findings) > 0 {
		b.WriteString("\n| grade | hits | where | before | after | why |\n|---|---|---|---|---|---|\n")
	}
	for _, x := range r.Findings {
		if !f.shows(x) {
			continue
		}
		file, line := spotOf(x)
		why := x.Why
		if x.Witness != nil {
			why += " For example " + report.Cut(string(x.Witness.Value), 120) + "."
		}
		if x.Excused != "" {
			why += " Excused: " + x.Excused + "."
		}
		fmt.Fprintf(&b, "| %s | %s | %s (%s:%d, `%s`) | %s | %s | %s |\n", x.Grade, x.Side, cell.Replace(report.Clean(x.Where)), cell.Replace(file), line, x.Rule,
			cell.Replace(report.Cut(x.Before, 80)), cell.Replace(report.Cut(x.After, 80)), cell.Replace(report.Clean(why)))
	}
	list := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s\n\n", title)
		}
		for _, l := range lines {
			fmt.Fprintf(&b, "- %s\n", cell.Replace(report.Clean(l)))
		}
	}
	list("### Overrides that do not count", r.Problems)
	list("### Missing", r.Missing)
	list("### For the changelog", r.Changelog)
	_, err := io.WriteString(w, b.String())
	return err
}

const mostDiffAnnotations = 10 // of one level, which is what GitHub keeps of one step

func writeDiffAnnotations(w io.Writer, r *diff.Result) error {
	var b strings.Builder
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	told := map[string]int{}
	put := func(level, file string, line int, title, text string) {
		if told[level]++; told[level] > mostDiffAnnotations {
			return
		}
		at := ""
		if file != "" {
			at = fmt.Sprintf("file=%s,line=%d,", property.Replace(file), max(line, 1))
		}
		fmt.Fprintf(&b, "::%s %stitle=%s::%s\n", level, at, property.Replace(report.Cut(report.Clean(title), 200)), data.Replace(report.Clean(text)))
	}
	for _, p := range r.Problems {
		put("error", "", 0, "override", p)
	}
	for _, x := range r.Findings {
		level := map[diff.Grade]string{diff.Breaking: "error", diff.Review: "warning"}[x.Grade]
		if level == "" || x.Excused != "" {
			continue
		}
		file, line := spotOf(x)
		text := x.Why
		if x.Before != "" {
			text += " Before: " + x.Before + "."
		}
		if x.After != "" {
			text += " After: " + x.After + "."
		}
		put(level, file, line, x.Rule+" on "+x.Where, text)
	}
	put("notice", "", 0, "assay diff", diffSummary(r))
	_, err := io.WriteString(w, b.String())
	return err
}

// diffSuite is a comparison for readers of JUnit XML: a case a finding that counts.
type diffSuite struct {
	XMLName  xml.Name   `xml:"testsuite"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Cases    []diffCase `xml:"testcase"`
}

type diffCase struct {
	Name    string      `xml:"name,attr"`
	Class   string      `xml:"classname,attr"`
	Skipped *diffReason `xml:"skipped"`
	Failure *diffReason `xml:"failure"`
}

type diffReason struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func writeDiffJUnit(w io.Writer, r *diff.Result) error {
	s := diffSuite{Name: "assay diff"}
	for _, x := range r.Findings {
		c := diffCase{Name: report.Clean(x.Where + " " + x.Rule), Class: string(x.Grade)}
		var text strings.Builder
		textFinding(&text, x)
		reason := &diffReason{report.Clean(x.Why), text.String()}
		switch {
		case x.Counts():
			c.Failure = reason
			s.Failures++
		case x.Grade == diff.Review || x.Excused != "":
			c.Skipped = reason
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	for _, p := range r.Problems {
		s.Failures++
		s.Cases = append(s.Cases, diffCase{Name: "override", Class: "overrides", Failure: &diffReason{Message: report.Clean(p)}})
	}
	s.Tests = len(s.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(s); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
