package spec

import (
	"strings"

	"assay.kit/spec/tree"
)

// requirements reads one requirement catalog.
func (l *loader) requirements(root *tree.Node) {
	rows := root.Get("requirements")
	if rows.Kind != tree.Array {
		l.problem(rows, "", "requirements must be a list")
		return
	}
	for _, n := range rows.Items {
		if !l.valid("requirement", n) {
			continue
		}
		o := object{n}
		if first := l.c.Requirement(o.Str("id")); first != nil {
			l.problem(n.Get("id"), "", "the requirement %s is there twice; the first is in line %d", first.ID, first.Line)
			continue
		}
		l.c.Reqs = append(l.c.Reqs, requirement(o))
	}
}

func requirement(o object) *Requirement {
	r := &Requirement{
		ID: o.Str("id"), Role: Role(o.Str("role")), Origin: Origin(o.Str("origin")), Needs: o.list("needs"),
		Source: o.Str("source"), Statement: o.Str("statement"), Note: o.Str("note"), File: o.File, Line: o.Line,
		Level: strings.TrimSuffix(o.Str("level"), " NOT"), // the statement itself says what must not be
	}
	if r.Level == "" {
		r.Level = "MUST"
	}
	if claims := o.Get("claims"); claims != nil {
		for _, n := range claims.Items {
			c := ClaimRef{ID: n.Text, Origin: r.Origin}
			if n.Kind == tree.Object {
				c.ID = n.Str("id")
				c.Origin = r.Origin.Weaker(Origin(n.Str("origin")))
			}
			r.Claims = append(r.Claims, c)
		}
	}
	return r
}
