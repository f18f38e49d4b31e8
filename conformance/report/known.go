package report

import (
	"cmp"
	"fmt"
	"io"
)

// WriteFindings prints what failed and nothing else, as Write does.
func (c Console) WriteFindings(w io.Writer, r *Report) error {
	if c.Width == 0 {
		c.Width = 100
	}
	c.Width = max(c.Width, minWidth)
	p := &printer{Console: c}
	p.findings(r)
	_, err := io.WriteString(w, p.out.String())
	return err
}

// known lists the failures that the baseline covers, a line each: they are told in full only once
// they are new.
func (p *printer) known(r *Report) {
	if r.Baseline == nil || r.Baseline.Known == 0 {
		return
	}
	p.line("Known failures, which do not count (%s):", Clean(r.Baseline.File))
	for _, f := range r.Findings {
		if f.Known == nil {
			continue
		}
		head := fmt.Sprintf("known %s  %s  %s  ", label(f.Verdict), Clean(f.Claim), Clean(f.Case))
		why := cmp.Or(f.Known.Reason, fmt.Sprintf("(line %d gives no reason)", f.Known.Line))
		p.line("%s%s", p.dim(head), Cut(Clean(why), max(p.Width-columns(head), 20)))
	}
	p.line("")
}

// stale names the lines of the baseline that have to go.
func (p *printer) stale(r *Report) {
	if r.Baseline == nil || len(r.Baseline.Stale) == 0 {
		return
	}
	for _, e := range r.Baseline.Stale {
		p.line("%s  %s in %s holds again; remove this line: %s:%d", p.paint(Fail, "STALE"), Clean(e.Claim), Clean(e.Case), Clean(r.Baseline.File), e.Line)
	}
	p.line("")
}
