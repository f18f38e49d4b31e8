package report

import (
	"cmp"
	"slices"
	"time"

	"assay.kit/conformance/wire"
)

const (
	minCell    = 7 // narrowest lane: a bracket, and a number or a status
	maxCell    = 30
	mostRows   = 60 // of one picture of lanes
	mostBodies = 6  // different ones that are told apart
)

// grid is a run of exchanges that were sent from several lanes.
type grid struct {
	exs   []wire.Exchange
	first int           // number of exs[0] in its finding
	lanes []int         // in order
	slack time.Duration // between what may share a row
	cell  int           // width of one
	same  string        // the request line of all, "" if they differ
	kinds []string      // different bodies, where there are few of them under one request line
}

// newGrid gives nil for exchanges that show nothing side by side, or that do not fit.
func newGrid(exs []wire.Exchange, first, width int) *grid {
	g := &grid{exs: exs, first: first}
	for _, ex := range exs {
		if !slices.Contains(g.lanes, ex.Lane) {
			g.lanes = append(g.lanes, ex.Lane)
		}
	}
	slices.Sort(g.lanes)
	if len(g.lanes) < 2 || width/len(g.lanes) < minCell {
		return nil
	}
	g.cell = min(width/len(g.lanes), maxCell)
	g.same = requestLine(exs[0])
	for _, ex := range exs {
		if requestLine(ex) != g.same {
			g.same = ""
		}
	}
	g.slack = g.span() / 40
	if len(g.rows()) > mostRows {
		if g.slack = g.span(); len(g.rows()) > mostRows {
			return nil
		}
	}
	for _, ex := range exs {
		if !slices.Contains(g.kinds, string(ex.Req.Body)) {
			g.kinds = append(g.kinds, string(ex.Req.Body))
		}
	}
	if g.same == "" || len(g.kinds) == 1 || len(g.kinds) > mostBodies {
		g.kinds = nil
	}
	return g
}

func (g *grid) span() time.Duration {
	first, last := g.exs[0].Sent, g.exs[0].Last
	for _, ex := range g.exs {
		first, last = min(first, ex.Sent), max(last, ex.Last)
	}
	return last - first
}

// kindOf is the letter of an exchange's body, "" where bodies are not told apart.
func (g *grid) kindOf(ex wire.Exchange) string {
	if i := slices.Index(g.kinds, string(ex.Req.Body)); i >= 0 {
		return string(rune('a' + i))
	}
	return ""
}

// cell is what happens in one lane on one line. Numbers are those of the exchanges, from 1.
type cell struct {
	sent, answered int
	open           bool // sent before, not answered yet
}

type gridRow struct {
	at      time.Duration
	answers bool // it holds answers, no sendings
	cells   []cell
}

type happening struct {
	at     time.Duration
	answer bool
	number int
	column int
}

// rows lays the sendings and answers out in order of time.
func (g *grid) rows() []gridRow {
	var all []happening
	for i, ex := range g.exs {
		column := slices.Index(g.lanes, ex.Lane)
		all = append(all, happening{ex.Sent, false, g.first + i, column}, happening{max(ex.Last, ex.Sent), true, g.first + i, column})
	}
	slices.SortStableFunc(all, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
	var out []gridRow
	open := make([]bool, len(g.lanes))
	for _, h := range all {
		last := len(out) - 1
		if last < 0 || out[last].answers != h.answer || h.at-out[last].at > g.slack || out[last].cells[h.column].sent+out[last].cells[h.column].answered > 0 {
			out, last = append(out, gridRow{h.at, h.answer, make([]cell, len(g.lanes))}), last+1
			for i, o := range open {
				out[last].cells[i].open = o
			}
		}
		c := &out[last].cells[h.column]
		if h.answer {
			c.answered = h.number
		} else {
			c.sent = h.number
		}
		open[h.column] = !h.answer
	}
	return out
}
