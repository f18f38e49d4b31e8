package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// What the console shows of the findings; the JSON report has everything.
const (
	mostTold  = 12   // groups told in full; the others take a line each
	mostAlike = 12   // lines of one group
	maxValue  = 1200 // bytes of an expected or actual value
	maxCurl   = 4000 // bytes of a curl line
	maxDraws  = 8
	firstEx   = 4  // exchanges shown from the start ...
	lastEx    = 8  // ... and from the end, where it broke
	margin    = 17 // of the texts of a finding
)

// findings prints what failed, then the warnings: similar ones together, the first of them in full.
func (p *printer) findings(r *Report) {
	p.report = r
	rows := byID(r)
	groups := Similar(fresh(r.Findings)) // the known ones have a line each, below
	for _, g := range groups[:min(len(groups), mostTold)] {
		p.finding(g[0], rows)
		p.alike(g[1:])
		p.line("")
	}
	if len(groups) > mostTold {
		p.brief(groups[mostTold:])
	}
}

// fresh are the findings that no baseline knows.
func fresh(findings []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return f.Known != nil })
}

// covered are the others.
func covered(findings []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return f.Known == nil })
}

// alike lists the findings of a group that are not told.
func (p *printer) alike(more []Finding) {
	for i, f := range more {
		if i == mostAlike && len(more) > mostAlike+1 {
			p.row("", fmt.Sprintf("and on %d more", len(more)-i))
			return
		}
		name := ""
		if i == 0 {
			name = "the same on"
		}
		p.row(name, p.oneLine(f, 24))
	}
}

// oneLine is a finding's subject and what was seen; the subject takes at least n cells.
func (p *printer) oneLine(f Finding, n int) string {
	subject := pad(Clean(f.Subject()), n)
	return subject + "  " + p.dim(Cut(Clean(f.Actual), max(p.room()-columns(subject)-2, 12)))
}

// brief gives the claims whose findings are not told in full a line each.
func (p *printer) brief(groups [][]Finding) {
	groups = byClaim(groups)
	verdicts, claims := 0, 0
	for _, g := range groups {
		verdicts, claims = max(verdicts, columns(label(g[0].Verdict))), max(claims, columns(Clean(g[0].Claim)))
	}
	p.line("%s", plural(len(groups), "%d more claim, told in full in the JSON report, or by --only CLAIM:", "%d more claims, told in full in the JSON report, or by --only CLAIM:"))
	for _, g := range groups {
		f := g[0]
		on := Clean(f.Subject())
		if len(g) > 1 {
			on += fmt.Sprintf(" and %d more", len(g)-1)
		}
		head := verdicts + claims + 4
		p.line("%s  %s  %s", p.paint(f.Verdict, pad(label(f.Verdict), verdicts)), pad(Clean(f.Claim), claims),
			Cut("on "+on, max(p.Width-head, 16)))
	}
	p.line("")
}

// byClaim joins groups of one claim and verdict: where nothing else is said, they say the same.
func byClaim(groups [][]Finding) [][]Finding {
	var out [][]Finding
	for _, g := range groups {
		i := slices.IndexFunc(out, func(o []Finding) bool { return o[0].Claim == g[0].Claim && o[0].Verdict == g[0].Verdict })
		if i < 0 {
			out = append(out, slices.Clone(g))
		} else {
			out[i] = append(out[i], g...)
		}
	}
	return out
}

func (p *printer) finding(f Finding, rows map[string]Requirement) {
	p.line("%s  %s", p.paint(f.Verdict, label(f.Verdict)), p.strong(Clean(f.Claim)+" on "+Clean(f.Subject())))
	for _, id := range f.Requirements {
		q := rows[id]
		p.field(id, fmt.Sprintf("%s (%s)", q.Statement, q.Source))
	}
	if f.Verdict == Warn {
		p.field("a warning", "the contract only infers this promise or this operation; --strict makes it a violation")
	}
	p.field("must hold", f.Message)
	if f.Did != "" {
		p.field("what was done", f.Did)
	}
	p.field("expected", f.Expected)
	p.field("actual", f.Actual)
	p.draws(f.Draws)
	p.timeline(f)
	p.curl(f)
	p.pictures(f)
	p.field("seen", seen(f))
	p.row("replay", Replay(p.Console.Report, p.report.Profile, f))
}

// pictures says where a finding's picture is, or how to get it.
func (p *printer) pictures(f Finding) {
	for _, file := range p.report.PictureFiles(f) {
		if p.Folder != "" {
			p.row("picture", Clean(path.Join(filepath.ToSlash(p.Folder), file)))
		} else {
			p.row("picture", "assay report "+shellWord(Clean(cmp.Or(p.Console.Report, placeholder)))+" --out DIR writes DIR/"+file)
		}
	}
}

// seen says how sure a finding is. One that did not come back counts nevertheless.
func seen(f Finding) string {
	if f.Reproduced {
		return fmt.Sprintf("again when tried again; seed %d", f.Seed)
	}
	return fmt.Sprintf("once, and not reproduced: this is the transcript of that one time; seed %d", f.Seed)
}

// placeholder is a report that was not written to a file.
const placeholder = "REPORT.json"

// Replay is the command that runs a finding's case again. file is the JSON report; "" is a placeholder.
// profile is that of the run, "" if it had none.
func Replay(file, profile string, f Finding) string {
	line := "assay replay " + shellWord(Clean(cmp.Or(file, placeholder))) + " " + shellWord(Clean(f.Case))
	if profile != "" {
		line += " --profile " + shellWord(Clean(profile))
	}
	return line
}

// shellWord quotes a word for a POSIX shell where it needs it.
func shellWord(s string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/@+:,", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !safe(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// curl prints the line that sends the telling exchange again, in one piece, so that it can be copied.
func (p *printer) curl(f Finding) {
	n := f.Tells()
	if n == 0 || n > len(f.Curl) {
		return
	}
	line := cleanLines(f.Curl[n-1])
	if len(line) > maxCurl {
		line = p.dim(fmt.Sprintf("too long for a terminal (%d bytes): findings[].curl in the JSON report", len(line)))
	}
	p.row(fmt.Sprintf("curl of %d", n), line)
}

// room is what a line has beside the margin.
func (p *printer) room() int { return max(p.Width-margin, 20) }

// row prints a name and a text that stays as it is.
func (p *printer) row(name, text string) {
	p.line("  %s%s", p.dim(pad(name, margin-2)), text)
}

// field prints a name and a text that is wrapped beside it.
func (p *printer) field(name, text string) {
	text = Clean(text)
	if len(text) > maxValue {
		text = Cut(text, maxValue) + " (whole in the JSON report)"
	}
	name = Clean(name)
	if columns(name) > margin-3 {
		p.line("  %s", p.dim(name))
		name = ""
	}
	for _, l := range wrap(text, p.room()) {
		p.row(name, l)
		name = ""
	}
}

func (p *printer) draws(draws []Draw) {
	for i, d := range draws {
		if i == maxDraws {
			p.field("drawn", fmt.Sprintf("and %d more", len(draws)-i))
			return
		}
		p.field("drawn", Cut(d.Label+" = "+d.Text(), 240))
	}
}

// Text is the value as JSON, or as Go would print it where JSON cannot hold it.
func (d Draw) Text() string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(encodable([]Draw{d})[0].Value); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}
