package report

import (
	"fmt"
	"io"
	"strings"
)

// mostAnnotations of one level is what GitHub keeps of one step; the rest would vanish without a word.
const mostAnnotations = 10

// WriteAnnotations writes workflow commands (::error, ::warning, ::notice) for GitHub Actions: one a
// group of similar findings, and a notice that sums up. The error is the writer's.
func WriteAnnotations(w io.Writer, r *Report) error {
	var b strings.Builder
	count, rows := map[Verdict]int{}, byID(r)
	groups := Similar(fresh(r.Findings))
	for _, g := range groups {
		count[g[0].Verdict]++
	}
	told := map[Verdict]int{}
	for _, g := range groups {
		f := g[0]
		level := "warning"
		if f.Verdict == Fail {
			level = "error"
		}
		told[f.Verdict]++
		switch n := count[f.Verdict]; {
		case told[f.Verdict] == mostAnnotations && n > mostAnnotations:
			b.WriteString(command(level, "and more", fmt.Sprintf("%d more kinds of findings; the report has all", n-mostAnnotations+1)))
		case told[f.Verdict] <= mostAnnotations:
			b.WriteString(command(level, annotationTitle(g), annotationText(f, rows)))
		}
	}
	if r.Baseline != nil {
		for i, e := range r.Baseline.Stale {
			if i < mostAnnotations {
				b.WriteString(command("error", "baseline", staleText(r.Baseline, e)))
			}
		}
	}
	p := &printer{}
	b.WriteString(command("notice", "assay: "+string(r.Verdict), p.summary(r)))
	_, err := io.WriteString(w, b.String())
	return err
}

func annotationTitle(g []Finding) string {
	f := g[0]
	title := f.Claim + " on " + f.Subject()
	if len(g) > 1 {
		title += plural(len(g)-1, " and %d more", " and %d more")
	}
	if len(f.Requirements) > 0 {
		title = strings.Join(f.Requirements, ", ") + ": " + title
	}
	return title
}

func annotationText(f Finding, rows map[string]Requirement) string {
	lines := []string{Clean(f.Message), "expected: " + Cut(Clean(f.Expected), 400), "actual: " + Cut(Clean(f.Actual), 400),
		"replay: " + Replay("", "", f)}
	if len(f.Requirements) > 0 {
		lines = append([]string{Cut(Clean(rows[f.Requirements[0]].Statement), 400)}, lines...)
	}
	return strings.Join(lines, "\n")
}

// command is one line. The runner reads a command from the start of a line up to its end, so the
// escapes below are all that keeps a target's text from being a command of its own.
func command(level, title, text string) string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	return "::" + level + " title=" + property.Replace(Cut(Clean(title), 200)) + "::" + data.Replace(text) + "\n"
}
