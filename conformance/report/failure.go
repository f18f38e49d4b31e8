package report

import (
	"encoding/json"
	"fmt"
	"strings"

	"assay.kit/conformance/wire"
)

// What the console shows of one finding; the JSON report has everything.
const (
	fullPerClaim = 3    // findings of one claim told in full; further ones take a line
	maxValue     = 1200 // bytes of an expected or actual value
	maxDraws     = 8
	firstEx      = 4  // exchanges shown from the start ...
	lastEx       = 8  // ... and from the end, where it broke
	margin       = 17 // of the texts of a finding
)

// findings prints what failed, then the warnings.
func (p *printer) findings(r *Report) {
	rows := map[string]Requirement{}
	for _, q := range r.Requirements {
		rows[q.ID] = q
	}
	told := map[string]int{}
	var brief []Finding
	for _, f := range r.Findings {
		if f.Known != nil {
			continue // in one line, below
		}
		key := string(f.Verdict) + " " + f.Claim
		if told[key]++; told[key] > fullPerClaim {
			brief = append(brief, f)
			continue
		}
		p.finding(f, rows)
	}
	if len(brief) == 0 {
		return
	}
	p.line("More of the same:")
	for _, f := range brief {
		head := fmt.Sprintf("%s  %s  %s  ", p.paint(f.Verdict, label(f.Verdict)), Clean(f.Claim), Clean(f.Case))
		room := p.Width - columns(label(f.Verdict)) - columns(Clean(f.Claim)) - columns(Clean(f.Case)) - 6
		p.line("%s%s", head, Cut(Clean(f.Actual), max(room, 20)))
	}
	p.line("")
}

// telling is the number of the exchange to try by hand: the one that the finding quotes, or the last
// of the operation under test, or the last of all; 0 if there is none.
func telling(f Finding) int {
	n := min(len(f.Curl), len(f.Exchanges))
	if f.Telling > 0 && f.Telling <= n {
		return f.Telling
	}
	_, subject, _ := strings.Cut(f.Case, "@")
	subject, _, _ = strings.Cut(subject, "+")
	for i := n; i > 0; i-- {
		if f.Exchanges[i-1].Req.Operation == subject {
			return i
		}
	}
	return n
}

func (p *printer) finding(f Finding, rows map[string]Requirement) {
	_, subject, _ := strings.Cut(f.Case, "@")
	p.line("%s  %s on %s", p.paint(f.Verdict, label(f.Verdict)), Clean(f.Claim), Clean(subject))
	for _, id := range f.Requirements {
		q := rows[id]
		p.field(id, fmt.Sprintf("%s (%s)", q.Statement, q.Source))
	}
	if f.Verdict == Warn {
		p.field("a warning", "the contract only infers this promise or this operation; --strict makes it a violation")
	}
	p.field("must hold", f.Message)
	p.field("expected", f.Expected)
	p.field("actual", f.Actual)
	p.draws(f.Draws)
	p.exchanges(f.Exchanges)
	if n := telling(f); n > 0 {
		// One piece, not wrapped, so that it can be copied.
		p.line("  %s%s", p.dim(pad(fmt.Sprintf("curl of %d", n), margin-2)), cleanLines(f.Curl[n-1]))
	}
	seen := "seen once"
	if f.Reproduced {
		seen = "seen again when tried again"
	}
	p.field("case", fmt.Sprintf("%s, seed %d, %s", f.Case, f.Seed, seen))
	p.line("")
}

// field prints a name and a text that is wrapped beside it.
func (p *printer) field(name, text string) {
	text = Clean(text)
	if len(text) > maxValue {
		text = Cut(text, maxValue) + " (whole in the JSON report)"
	}
	name = Clean(name)
	for i, l := range wrap(text, max(p.Width-margin, 20)) {
		switch {
		case i == 0 && columns(name) > margin-3:
			p.line("  %s", p.dim(name))
			p.line("%s%s", strings.Repeat(" ", margin), l)
		case i == 0:
			p.line("  %s%s", p.dim(pad(name, margin-2)), l)
		default:
			p.line("%s%s", strings.Repeat(" ", margin), l)
		}
	}
}

func (p *printer) draws(draws []Draw) {
	for i, d := range draws {
		if i == maxDraws {
			p.field("drawn", fmt.Sprintf("and %d more", len(draws)-i))
			return
		}
		v, err := json.Marshal(d.Value)
		if err != nil {
			v = fmt.Appendf(nil, "%v", d.Value)
		}
		p.field("drawn", Cut(d.Label+" = "+string(v), 240))
	}
}

// exchanges lists what was said, numbered in order of sending.
func (p *printer) exchanges(exs []wire.Exchange) {
	for i, ex := range exs {
		hidden := len(exs) - firstEx - lastEx
		if hidden > 1 && i == firstEx {
			p.line("%s%s", strings.Repeat(" ", margin), p.dim(fmt.Sprintf("… %d more in the JSON report", hidden)))
		}
		if hidden > 1 && i >= firstEx && i < firstEx+hidden {
			continue
		}
		name := ""
		if i == 0 {
			name = "exchanges"
		}
		room := max(p.Width-margin, 20)
		p.line("  %s%s", p.dim(pad(name, margin-2)), exchangeLine(i+1, ex, room))
	}
}

// exchangeLine gives way in the target where the line is too long: the answer matters more.
func exchangeLine(n int, ex wire.Exchange, room int) string {
	head := fmt.Sprintf("%2d  %s ", n, Clean(ex.Req.Method))
	tail := " -> " + answerOf(ex)
	switch {
	case ex.Role == "":
		tail += "  (no credential)"
	case ex.Role != "primary":
		tail += "  (" + Clean(ex.Role) + ")"
	}
	if ex.Lane > 0 {
		tail += fmt.Sprintf("  lane %d", ex.Lane)
	}
	return head + Cut(Clean(ex.Req.Target), max(room-columns(head)-columns(tail), 16)) + tail
}

func answerOf(ex wire.Exchange) string {
	switch {
	case ex.End == wire.EndComplete || ex.End == "":
		return fmt.Sprint(ex.Head.Status)
	case ex.Head.Status > 0:
		return fmt.Sprintf("%d, %s", ex.Head.Status, ex.End)
	default:
		return string(ex.End)
	}
}
