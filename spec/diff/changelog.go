package diff

import (
	"fmt"
	"slices"
)

// missing lists the bumps that findings ask for, each once, in order of the findings.
func missing(fs []Finding) []string {
	out := []string{}
	for _, f := range fs {
		if f.Counts() && f.Needs != "" && !slices.Contains(out, f.Needs) {
			out = append(out, f.Needs)
		}
	}
	return out
}

// changelog drafts a line for every change that somebody must know of, the breaking ones first.
func changelog(fs []Finding) []string {
	out := []string{}
	for _, f := range fs {
		var line string
		switch f.Grade {
		case Breaking:
			line = "Breaking: "
		case Review:
			line = "Changed: "
		case Compatible:
			line = "Compatible: "
		default:
			continue
		}
		line += f.Where + ": " + f.summary() + "."
		if f.Grade == Breaking {
			line += " " + f.Why
		}
		if !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}

const maxShown = 60 // characters of a value in a sentence

// summary says in a few words what became of the value.
func (f Finding) summary() string {
	before, after := cut(f.Before), cut(f.After)
	switch {
	case before == "" && after == "":
		return f.Rule
	case before == "":
		return fmt.Sprintf("%s (now %s)", f.Rule, after)
	case after == "":
		return fmt.Sprintf("%s (was %s)", f.Rule, before)
	}
	return fmt.Sprintf("%s (%s → %s)", f.Rule, before, after)
}

func cut(s string) string {
	r := []rune(s)
	if len(r) <= maxShown {
		return s
	}
	return string(r[:maxShown-1]) + "…"
}
