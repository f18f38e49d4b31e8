package report

import "strings"

// Finding tells one finding of r as Write does, for a front end that reports case by case.
func (c Console) Finding(r *Report, f Finding) string {
	if c.Width == 0 {
		c.Width = 100
	}
	c.Width = max(c.Width, minWidth)
	p := &printer{Console: c, report: r}
	p.finding(f, byID(r))
	return strings.TrimRight(p.out.String(), "\n")
}
