package html

import (
	"cmp"
	"fmt"
	"slices"

	"assay.kit/conformance/report"
)

// reason is why something was not judged, and what it cost.
type reason struct {
	Text  string
	Cases int
	Rows  []group
	n     int // requirements
}

// add puts a requirement to the others with its prefix.
func (r *reason) add(id, anchor string) {
	name, short := splitID(id)
	i := slices.IndexFunc(r.Rows, func(g group) bool { return g.Name == name })
	if i < 0 {
		i, r.Rows = len(r.Rows), append(r.Rows, group{Name: name})
	}
	r.Rows[i].Rows = append(r.Rows[i].Rows, row{ID: id, Short: short, Anchor: anchor})
	r.n++
}

// reasons gathers what was not exercised by what was missing, and what does not apply by its note.
func (t *teller) reasons() (unjudged, absent []reason) {
	missing, none := map[string]*reason{}, map[string]*reason{}
	at := func(m map[string]*reason, text string) *reason {
		if m[text] == nil {
			m[text] = &reason{Text: text}
		}
		return m[text]
	}
	for _, c := range t.report.Cases {
		if c.Verdict != report.NotExercised {
			continue
		}
		for _, need := range c.Needs {
			at(missing, "needs "+report.Clean(need)).Cases++
		}
	}
	for i, q := range t.report.Requirements {
		id, anchor := report.Clean(q.ID), t.anchors[i]
		for _, need := range q.Partial {
			at(missing, "needs "+report.Clean(need)).add(id, anchor)
		}
		switch note := cmp.Or(brief(q.Note, 300), "no reason given"); {
		case q.Verdict == report.NotExercised && len(q.Partial) == 0:
			at(missing, note).add(id, anchor)
		case q.Verdict == report.NotApplicable:
			at(none, note).add(id, anchor)
		}
	}
	return byWeight(missing), byWeight(none)
}

func byWeight(m map[string]*reason) []reason {
	var out []reason
	for _, r := range m {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b reason) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(b.Cases, a.Cases), cmp.Compare(a.Text, b.Text))
	})
	return out
}

// check is the cases of one check.
type check struct {
	ID     string
	Counts []count
	Cases  []kase
}

type kase struct {
	Subject, Note, Time string
	Mark                mark
	Requests            int
}

// maxCases bounds the table; a row costs about 200 bytes.
const maxCases = 25_000

// checksOf groups the cases by check and tells how many do not fit.
func checksOf(cases []report.Case) (out []check, untold int) {
	place, tally := map[string]int{}, []map[report.Verdict]int{}
	for i, c := range cases {
		if i == maxCases {
			untold = len(cases) - i
			break
		}
		at, ok := place[c.Check]
		if !ok {
			at = len(out)
			place[c.Check], out, tally = at, append(out, check{ID: report.Clean(c.Check)}), append(tally, map[report.Verdict]int{})
		}
		tally[at][c.Verdict]++
		out[at].Cases = append(out[at].Cases, kase{Subject: report.Clean(c.Subject), Note: brief(c.Note, 300),
			Mark: markOf(c.Verdict), Requests: c.Requests, Time: fmt.Sprintf("%.2f s", c.Seconds)})
	}
	for i := range out {
		for _, v := range verdicts {
			if n := tally[i][v]; n > 0 {
				out[i].Counts = append(out[i].Counts, count{markOf(v), n})
			}
		}
	}
	return out, untold
}
