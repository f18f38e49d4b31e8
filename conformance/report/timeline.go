package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay.kit/conformance/wire"
)

// timeline numbers the exchanges in order of sending, with the time since the first. Those that ran
// at once stand side by side, a column a lane, where the width allows it.
func (p *printer) timeline(f Finding) {
	if len(f.Exchanges) == 0 {
		return
	}
	t := teller{printer: p, exs: f.Exchanges, tells: f.Tells(), name: "timeline"}
	above, i := p.toldAbove(f)
	switch {
	case i == len(t.exs):
		t.row(fmt.Sprintf("as of %s above, up to number %d", above, i))
	case i > 0:
		t.row(fmt.Sprintf("as of %s above, up to number %d, then", above, i))
	}
	p.told = append(p.told, f)
	for i < len(t.exs) {
		end := i
		for end < len(t.exs) && t.exs[end].Lane > 0 {
			end++
		}
		if grid := newGrid(t.exs[i:end], i+1, p.room()); grid != nil {
			t.grid(grid)
			i = end
			continue
		}
		end = max(end, i+1)
		t.list(i, end)
		i = end
	}
}

// toldAbove is the claim of a finding of the same case whose timeline holds this one's first n
// exchanges, all that it has; "", 0 if there is none. Several claims often break in one flow.
func (p *printer) toldAbove(f Finding) (claim string, n int) {
	for _, g := range p.told {
		common := min(len(g.Exchanges), len(f.Exchanges))
		if g.Case == f.Case && common > n && slices.EqualFunc(g.Exchanges[:common], f.Exchanges[:common], sameExchange) {
			claim, n = Clean(g.Claim), common
		}
	}
	return claim, n
}

func sameExchange(a, b wire.Exchange) bool {
	return a.Seq == b.Seq && a.Sent == b.Sent && a.Req.Target == b.Req.Target
}

// teller prints the timeline of one finding.
type teller struct {
	*printer
	exs   []wire.Exchange
	tells int
	name  string // of the block, on its first line
}

func (t *teller) row(text string) {
	t.printer.row(t.name, text)
	t.name = ""
}

// list prints exchanges i to end, a line each, leaving out the middle of a long flow.
func (t *teller) list(i, end int) {
	for ; i < end; i++ {
		hidden := len(t.exs) - firstEx - lastEx
		if hidden > 1 && i == firstEx {
			t.row(t.dim(fmt.Sprintf("   … %d more in the JSON report", hidden)))
		}
		if hidden > 1 && i >= firstEx && i < firstEx+hidden && i+1 != t.tells {
			continue
		}
		t.row(t.exchange(i))
	}
}

// exchange is one line. It gives way in the request's target where it is too long: the answer matters more.
func (t *teller) exchange(i int) string {
	ex := t.exs[i]
	head := fmt.Sprintf("%3d  %8s  %s ", i+1, sinceFirst(t.exs, ex.Sent), Clean(ex.Req.Method))
	answer := answerOf(ex)
	tail := asRole(ex)
	if ex.Lane > 0 {
		tail += fmt.Sprintf("  lane %d", ex.Lane)
	}
	room := t.room() - columns(head) - columns(" → "+answer) - columns(tail)
	if i+1 == t.tells {
		answer = t.strong(answer)
	}
	return t.dim(head[:len(head)-len(Clean(ex.Req.Method))-1]) + Clean(ex.Req.Method) + " " +
		Cut(Clean(ex.Req.Target), max(room, 16)) + " → " + answer + t.dim(tail)
}

func asRole(ex wire.Exchange) string {
	switch ex.Role {
	case "":
		return "  no credential"
	case "primary":
		return ""
	default:
		return "  as " + Clean(ex.Role)
	}
}

// sinceFirst is a moment since the first exchange was sent, in a unit that a reader can compare.
func sinceFirst(exs []wire.Exchange, at time.Duration) string {
	d := at - exs[0].Sent
	switch {
	case d < 100*time.Millisecond:
		return strconv.FormatFloat(float64(d)/1e6, 'f', 1, 64) + " ms"
	case d < 10*time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	default:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
}

func answerOf(ex wire.Exchange) string {
	switch {
	case ex.End == wire.EndComplete || ex.End == "":
		return strconv.Itoa(ex.Head.Status)
	case ex.Head.Status > 0:
		return fmt.Sprintf("%d, %s", ex.Head.Status, Clean(string(ex.End)))
	default:
		return Clean(string(ex.End))
	}
}

// grid prints concurrent exchanges side by side: ┌ sent, └ answered. Sendings shortly after each other
// with no answer between them share a line, and so do answers with no sending between them; that keeps
// which ended before which began, and nothing else about the order is certain.
func (t *teller) grid(g *grid) {
	var head strings.Builder
	for _, lane := range g.lanes {
		head.WriteString(pad(fmt.Sprintf("lane %d", lane), g.cell))
	}
	t.row(t.dim(strings.TrimRight(head.String(), " ")))
	for _, row := range g.rows() {
		var line strings.Builder
		for _, c := range row.cells {
			line.WriteString(t.cell(c, g))
		}
		t.line("%s%s", t.dim(pad(fmt.Sprintf("%*s", margin-2, sinceFirst(t.exs, row.at)), margin)), strings.TrimRight(line.String(), " "))
	}
	if g.same == "" {
		return
	}
	t.row(t.dim("each ") + Cut(g.same, t.room()-5))
	for i, body := range g.kinds {
		t.row(t.dim("   "+string(rune('a'+i))+" ") + Cut(Clean(body), t.room()-5))
	}
}

func (t *teller) cell(c cell, g *grid) string {
	switch {
	case c.sent > 0:
		what := strconv.Itoa(c.sent) + g.kindOf(t.exs[c.sent-1])
		if g.same == "" {
			what += " " + requestLine(t.exs[c.sent-1])
		}
		return pad("┌ "+Cut(what, g.cell-3), g.cell)
	case c.answered > 0:
		s := "└ " + Cut(answerOf(t.exs[c.answered-1]), g.cell-3)
		if c.answered == t.tells {
			return t.strong(s) + strings.Repeat(" ", max(0, g.cell-columns(s)))
		}
		return pad(s, g.cell)
	case c.open:
		return pad(t.dim("│"), g.cell+len(t.dim("│"))-len("│"))
	default:
		return pad("", g.cell)
	}
}

func requestLine(ex wire.Exchange) string { return Clean(ex.Req.Method) + " " + Clean(ex.Req.Target) }
