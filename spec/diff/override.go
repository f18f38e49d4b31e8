package diff

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay.kit/spec/tree"
	"assay.kit/spec/typo"
)

// Override is a reviewed decision to let one finding pass. It names the finding by its structure, never
// by a text: an edit of either value is another finding.
type Override struct {
	Rule        string
	Pointer     string // in the new version, or in the old one where nothing is left
	Fingerprint string
	Kind        string // break: we know whom it hits; correction: the contract was wrong
	Reason, By  string
	Expires     time.Time // the last day on which it counts
	File        string
	Line        int
}

const maxOverrides = 1000

// ParseOverrides reads a file of overrides:
//
//	overrides:
//	  - {rule: …, pointer: …, fingerprint: …, kind: break, reason: …, by: …, expires: 2026-12-31}
//
// Every member but kind is required. The error is a *tree.Error with file and line.
func ParseOverrides(file string, data []byte) ([]Override, error) {
	root, err := tree.Parse(file, data)
	if err != nil {
		return nil, err
	}
	list := root.Get("overrides")
	if list == nil || list.Kind != tree.Array {
		return nil, fault(root, "a file of overrides is {overrides: [...]}")
	}
	if len(list.Items) > maxOverrides {
		return nil, fault(list, "there are %d overrides; at most %d are read", len(list.Items), maxOverrides)
	}
	var out []Override
	for _, n := range list.Items {
		o, err := override(n)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

func fault(n *tree.Node, format string, args ...any) *tree.Error {
	return &tree.Error{File: n.File, Line: n.Where(), Column: n.Column, Pointer: n.Pointer, Message: fmt.Sprintf(format, args...)}
}

func override(n *tree.Node) (Override, error) {
	o := Override{File: n.File, Line: n.Line, Kind: "break"}
	fields := map[string]*string{"rule": &o.Rule, "pointer": &o.Pointer, "fingerprint": &o.Fingerprint, "kind": &o.Kind, "reason": &o.Reason, "by": &o.By}
	known := []string{"rule", "pointer", "fingerprint", "kind", "reason", "by", "expires"}
	if n.Kind != tree.Object {
		return o, fault(n, "an override is {%s}", strings.Join(known, ", "))
	}
	for _, m := range n.Members {
		if !slices.Contains(known, m.Key) {
			hint := ""
			if near := typo.Nearest(m.Key, known); near != "" {
				hint = fmt.Sprintf("; did you mean %q?", near)
			}
			return o, fault(m.Value, "an override has no member %q%s", m.Key, hint)
		}
		if field := fields[m.Key]; field != nil && m.Value.Kind == tree.String {
			*field = m.Value.Text
		}
	}
	for _, key := range []string{"rule", "fingerprint", "reason", "by"} {
		if strings.TrimSpace(*fields[key]) == "" {
			return o, fault(n, "an override needs a %s", key)
		}
	}
	if n.Get("pointer") == nil {
		return o, fault(n, "an override needs a pointer")
	}
	if o.Kind != "break" && o.Kind != "correction" {
		return o, fault(n.Get("kind"), "kind is break, or correction where the contract was wrong")
	}
	day, err := time.Parse(time.DateOnly, n.Str("expires"))
	if err != nil {
		return o, fault(n, "an override needs expires, a day such as 2026-12-31")
	}
	o.Expires = day
	return o, nil
}

// override lets findings pass that an override names, and reports the overrides that do not count.
func (r *Result) override(opts Options, rules map[string]Rule) {
	for _, o := range opts.Overrides {
		i := slices.IndexFunc(r.Findings, o.fits)
		at := fmt.Sprintf("%s:%d: the override of %s at %s", o.File, o.Line, o.Rule, o.Pointer)
		switch {
		case i < 0:
			r.Problems = append(r.Problems, at+" fits no finding; remove it, or take rule, pointer and fingerprint from the report")
		case o.Expires.Before(opts.Today.Truncate(24 * time.Hour)):
			r.Problems = append(r.Problems, at+" expired on "+o.Expires.Format(time.DateOnly))
		case rules[o.Rule].Sealed || r.Findings[i].Side == Money:
			r.Problems = append(r.Problems, at+" is not allowed: money, units, effects and authority need a bump of the right version")
		default:
			f := &r.Findings[i]
			f.Excused = fmt.Sprintf("overridden by %s: %s", o.By, o.Reason)
			if o.Kind == "correction" {
				f.Excused = fmt.Sprintf("the contract was wrong, says %s: %s", o.By, o.Reason)
			}
		}
	}
}

func (o Override) fits(f Finding) bool {
	return (f.Grade == Breaking || f.Grade == Review) && f.Excused == "" &&
		o.Rule == f.Rule && o.Pointer == f.Pointer() && o.Fingerprint == f.Fingerprint
}

func unused(os []Override) []string {
	out := []string{}
	for _, o := range os {
		out = append(out, fmt.Sprintf("%s:%d: the override of %s at %s fits no finding; remove it", o.File, o.Line, o.Rule, o.Pointer))
	}
	return out
}
