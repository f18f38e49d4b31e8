package report

import (
	"fmt"
	"strings"
)

// byID is what findings need of the catalog.
func byID(r *Report) map[string]Requirement {
	rows := make(map[string]Requirement, len(r.Requirements))
	for _, q := range r.Requirements {
		rows[q.ID] = q
	}
	return rows
}

// inFull tells a finding in lines of text, for a place that is neither a terminal nor a page: at most
// so many exchanges of its timeline, and about so many bytes. Everything is cleaned.
func inFull(f Finding, rows map[string]Requirement, exchanges, size int) string {
	p := &printer{Console: Console{Width: 160}}
	p.plainHead(f, rows)
	if len(f.Exchanges) > exchanges {
		cut := len(f.Exchanges) - exchanges
		p.line("timeline: the first %d exchanges are in the JSON report", cut)
	}
	t := teller{printer: p, exs: f.Exchanges, tells: f.Tells()}
	for i := max(0, len(f.Exchanges)-exchanges); i < len(f.Exchanges); i++ {
		p.line("%s", t.exchange(i))
	}
	if n := f.Tells(); n > 0 && n <= len(f.Curl) {
		if line := cleanLines(f.Curl[n-1]); len(line) <= size/2 {
			p.line("curl of %d: %s", n, line)
		} else {
			p.line("curl of %d: too long, in the JSON report", n)
		}
	}
	p.line("seen %s", seen(f))
	p.line("replay: %s", Replay("", "", f))
	text := strings.TrimSuffix(p.out.String(), "\n")
	if len(text) > size {
		text = strings.ToValidUTF8(text[:size], "") + "\n… (whole in the JSON report)"
	}
	return text
}

func (p *printer) plainHead(f Finding, rows map[string]Requirement) {
	p.line("%s on %s", Clean(f.Claim), Clean(f.Subject()))
	for _, id := range f.Requirements {
		p.line("requirement: %s %s (%s)", Clean(id), Clean(rows[id].Statement), Clean(rows[id].Source))
	}
	for _, part := range [][2]string{{"must hold", f.Message}, {"done", f.Did}, {"expected", f.Expected}, {"actual", f.Actual}} {
		if part[1] != "" {
			p.line("%s: %s", part[0], short(part[1]))
		}
	}
	if f.Known != nil {
		p.line("known: line %d of the baseline%s; it does not count", f.Known.Line, Clean(strings.TrimSuffix(": "+f.Known.Reason, ": ")))
	}
	for i, d := range f.Draws {
		if i == maxDraws {
			p.line("drawn: and %d more", len(f.Draws)-i)
			break
		}
		p.line("drawn: %s", Cut(Clean(fmt.Sprintf("%s = %s", d.Label, d.Text())), 240))
	}
}

// short is a value of which a person reads no more.
func short(s string) string {
	if s = Clean(s); len(s) > maxValue {
		return Cut(s, maxValue) + " (whole in the JSON report)"
	}
	return s
}
