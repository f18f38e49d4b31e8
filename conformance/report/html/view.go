package html

import (
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
	"time"

	"assay.kit/conformance/report"
)

// page is what the template shows: text that is ready to be read, in the order in which it stands.
type page struct {
	Style      template.CSS
	Script     template.JS
	Policy     string
	Title      string
	Verdict    mark
	Lede       string
	Facts      []fact
	Filter     []count
	Requests   int
	Warnings   []string
	Rows       []group
	Groups     []cause
	Total      int // findings in the report
	Untold     int // findings beyond the bound of the page
	Unjudged   []reason
	Absent     []reason
	Checks     []check
	Cases      int
	CasesUntol int
}

type fact struct{ Name, Text string }

// count is one button of the filter.
type count struct {
	Mark mark
	N    int
}

// group is the requirements with one prefix.
type group struct {
	Name string
	Rows []row
}

type row struct {
	ID, Short, Anchor string
	Mark              mark
	Statement, Source string
	Inferred          bool
	Aside             string
	Claims            []claim
	Findings          []link
}

type claim struct {
	ID   string
	Mark mark
}

type link struct{ To, Text string }

// maxFindings bounds the page; a target that breaks more is broken in few ways.
const maxFindings = 1000

func pageOf(r *report.Report) page {
	shown := r.Findings[:min(len(r.Findings), maxFindings)]
	p := page{Style: template.CSS(style), Script: template.JS(script), Policy: policy(), Verdict: overallMark(r.Verdict),
		Total: len(r.Findings), Untold: len(r.Findings) - len(shown), Cases: len(r.Cases)}
	p.Title = fmt.Sprintf("%s: %s %s at %s", p.Verdict.Word, report.Clean(r.Contract.Name), report.Clean(r.Contract.Version), report.Clean(r.Target))
	p.Lede, p.Facts, p.Filter = ledeOf(r), factsOf(r), countsOf(r)
	for _, w := range r.Warnings {
		p.Warnings = append(p.Warnings, report.Clean(w))
	}
	p.Warnings = append(p.Warnings, staleOf(r)...)
	t := &teller{report: r, anchors: anchorsOf(r.Requirements), budget: pageBudget}
	p.Groups = t.causes(shown)
	p.Rows = t.rows()
	p.Unjudged, p.Absent = t.reasons()
	p.Checks, p.CasesUntol = checksOf(r.Cases)
	return p
}

// ledeOf says in one sentence what the run found.
func ledeOf(r *report.Report) string {
	judged, broken := 0, r.Summary.Requirements[report.Fail]
	for _, v := range []report.Verdict{report.Fail, report.Error, report.Warn, report.Inconclusive, report.Pass} {
		judged += r.Summary.Requirements[v]
	}
	var text string
	switch {
	case broken > 0:
		text = fmt.Sprintf("%d of %s broken.", broken, plural(judged, "judged requirement is", "judged requirements are"))
	case r.Verdict == report.Conformant:
		text = fmt.Sprintf("%s kept; nothing that was judged is broken.", plural(r.Summary.Requirements[report.Pass], "requirement is", "requirements are"))
	case len(r.Findings) > 0:
		text = fmt.Sprintf("%s, and no requirement that counts it as broken.", plural(len(r.Findings), "finding", "findings"))
	default:
		text = plural(judged, "requirement was", "requirements were") + " judged."
	}
	if r.Note != "" {
		note := report.Clean(r.Note)
		text += " " + strings.ToUpper(note[:1]) + note[1:] + "."
	}
	if r.Filtered {
		text += " Only a selection was run."
	}
	return text
}

func factsOf(r *report.Report) []fact {
	facts := []fact{
		{"Contract", strings.TrimSpace(report.Clean(r.Contract.Name) + " " + report.Clean(r.Contract.Version))},
		{"Target", report.Clean(r.Target)},
		{"Started", r.Started.UTC().Format("2006-01-02 15:04:05 UTC")},
		{"Duration", duration(r.Seconds)},
		{"Sent", plural(r.Summary.Requests, "request", "requests") + " in " + plural(len(r.Cases), "case", "cases")},
		{"Seed", fmt.Sprint(r.Seed)},
		{"Judge", "assay " + report.Clean(r.Kit.Version)},
	}
	if r.Strict {
		facts = append(facts, fact{"Mode", "strict: warnings count as violations"})
	}
	if len(r.Summary.Created) > 0 {
		var left []string
		for _, k := range slices.Sorted(maps.Keys(r.Summary.Created)) {
			left = append(left, fmt.Sprintf("%d × %s", r.Summary.Created[k], report.Clean(k)))
		}
		facts = append(facts, fact{"Left at the target", strings.Join(left, ", ")})
	}
	return facts
}

func duration(seconds float64) string {
	if seconds < 120 {
		return fmt.Sprintf("%.1f s", seconds)
	}
	return (time.Duration(seconds) * time.Second).String()
}

// countsOf has a button for each verdict that a requirement, a case or a finding has.
func countsOf(r *report.Report) []count {
	found := map[report.Verdict]bool{}
	for _, f := range r.Findings {
		found[f.Verdict] = true
	}
	var out []count
	for _, v := range verdicts {
		if n := r.Summary.Requirements[v]; n > 0 || r.Summary.Cases[v] > 0 || found[v] {
			out = append(out, count{markOf(v), n})
		}
	}
	return out
}

// rows groups the requirements by prefix, each group where the catalog has its first one.
func (t *teller) rows() []group {
	var out []group
	place := map[string]int{}
	for i, q := range t.report.Requirements {
		name, short := splitID(report.Clean(q.ID))
		at, ok := place[name]
		if !ok {
			at = len(out)
			place[name], out = at, append(out, group{Name: name})
		}
		out[at].Rows = append(out[at].Rows, t.row(q, short, t.anchors[i]))
	}
	return out
}

func (t *teller) row(q report.Requirement, short, anchor string) row {
	out := row{ID: report.Clean(q.ID), Short: short, Anchor: anchor, Mark: markOf(q.Verdict), Statement: report.Clean(q.Statement),
		Source: report.Clean(q.Source), Inferred: q.Origin == "inferred", Findings: t.links[q.ID]}
	for _, c := range q.Claims {
		out.Claims = append(out.Claims, claim{report.Clean(c.ID), markOf(c.Verdict)})
	}
	switch {
	case q.Verdict == report.Pass && len(q.Partial) > 0:
		out.Aside = "In part: further cases need " + report.Clean(strings.Join(q.Partial, ", ")) + "."
	case q.Verdict != report.Pass && q.Verdict != report.Fail && q.Verdict != report.Warn:
		out.Aside = brief(q.Note, 300)
	}
	return out
}

// splitID parts SEER-IDEM-03 into its group and what is left.
func splitID(id string) (group, short string) {
	if i := strings.LastIndexAny(id, "-."); i > 0 && i < len(id)-1 {
		return id[:i], id[i+1:]
	}
	return id, id
}

// anchorsOf gives every requirement a place in the page: its id where that can stand in a link.
func anchorsOf(rows []report.Requirement) []string {
	seen := map[string]bool{}
	out := make([]string, len(rows))
	for i, q := range rows {
		out[i] = "r-" + q.ID
		if strings.ContainsFunc(q.ID, notInAnchor) || seen[out[i]] {
			out[i] = fmt.Sprintf("row.%d", i+1)
		}
		seen[out[i]] = true
	}
	return out
}

func notInAnchor(r rune) bool {
	return r != '-' && r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

func plural(n int, one, many string) string {
	return fmt.Sprintf("%d %s", n, map[bool]string{true: one, false: many}[n == 1])
}
