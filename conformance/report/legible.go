package report

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// legible makes every text of a finding and a note valid UTF-8, odd bytes as \xff: JSON cannot hold
// them, and a report that was read back must say the same as the one that was written. Bodies and
// header fields keep their bytes; package wire has a form for them.
func (r *Report) legible() {
	for i := range r.Cases {
		r.Cases[i].Note = valid(r.Cases[i].Note)
		for j := range r.Cases[i].Claims {
			r.Cases[i].Claims[j].Note = valid(r.Cases[i].Claims[j].Note)
		}
	}
	for i := range r.Requirements {
		r.Requirements[i].Note = valid(r.Requirements[i].Note)
		for j := range r.Requirements[i].Claims {
			r.Requirements[i].Claims[j].Note = valid(r.Requirements[i].Claims[j].Note)
		}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Expected, f.Actual, f.Message = valid(f.Expected), valid(f.Actual), valid(f.Message)
		for j := range f.Draws {
			f.Draws[j].Label = valid(f.Draws[j].Label)
		}
		for j := range f.Curl {
			f.Curl[j] = valid(f.Curl[j])
		}
		for j := range f.Exchanges {
			ex := &f.Exchanges[j]
			ex.Req.Target, ex.Req.Method, ex.Err = valid(ex.Req.Target), valid(ex.Req.Method), valid(ex.Err)
			ex.Head.Proto = valid(ex.Head.Proto)
		}
	}
}

func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}
