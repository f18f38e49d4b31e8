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

// standing is the verdict of a finding, quiet where the baseline knows of it.
func (p *printer) standing(f Finding) string {
	if f.Known != nil {
		return p.dim("known " + label(f.Verdict))
	}
	return p.paint(f.Verdict, label(f.Verdict))
}

// known says why a finding does not count.
func (p *printer) known(f Finding) {
	if f.Known != nil {
		p.field("known", cmp.Or(f.Known.Reason, "the baseline gives no reason")+fmt.Sprintf(" (line %d of the baseline)", f.Known.Line))
	}
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
