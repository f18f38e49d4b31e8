package report

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"assay.kit/spec"
)

// Build joins what the cases found with the requirement catalog. It fills Requirements, Summary
// and Verdict, grades every finding (a broken claim is fail where any of its requirements is
// stated on that operation, else warn), compares with the Baseline if there is one, and orders cases
// by id, and findings by how grave they are and then by when they first showed: what broke first is
// most likely why the rest broke too.
func (r *Report) Build(c *spec.Contract) {
	r.Schema = Schema
	r.Contract = Contract{Name: c.Name, Version: c.Version, Digest: c.Digest}
	byClaim := map[string][]*Case{}
	for i := range r.Cases {
		for _, cl := range r.Cases[i].Claims {
			byClaim[cl.ID] = append(byClaim[cl.ID], &r.Cases[i])
		}
	}
	r.Requirements = make([]Requirement, 0, len(c.Reqs))
	for _, q := range c.Reqs {
		r.Requirements = append(r.Requirements, r.judge(q, byClaim))
	}
	r.grade(c)
	r.compare()
	r.legible()
	r.sum()
}

// leftOut is the note of what a selection did not run.
const leftOut = "left out of this run"

// cutShort is the note of a run that did not come to its end.
const cutShort = "interrupted before the end"

// judge gives one requirement its verdict: the worst executed verdict of its claims over all cases.
func (r *Report) judge(q *spec.Requirement, byClaim map[string][]*Case) Requirement {
	out := Requirement{ID: q.ID, Role: q.Role, Origin: q.Origin, Statement: q.Statement, Source: q.Source,
		Partial: []string{}, Claims: []Claim{}, Note: q.Note}
	if q.Role != spec.RoleServer && q.Role != spec.RoleBoth && len(q.Claims) == 0 {
		out.Verdict = NotApplicable
		if out.Note == "" {
			out.Note = map[spec.Role]string{spec.RoleClient: "a promise of clients", spec.RoleGate: "a rule for changes of the contract"}[q.Role]
		}
		return out
	}
	if len(q.Claims) == 0 {
		out.Verdict = NotExercised
		if out.Note == "" {
			out.Note = "no check yet"
		}
		return out
	}
	if r.Filtered && !slices.ContainsFunc(q.Claims, func(ref spec.ClaimRef) bool { return len(byClaim[ref.ID]) > 0 }) {
		out.Verdict, out.Note = NotExercised, leftOut
		return out
	}
	missing := map[string]bool{}
	for _, ref := range q.Claims {
		v := r.claimVerdict(q, ref, byClaim[ref.ID], missing)
		out.Claims = append(out.Claims, v)
		out.Verdict = Worse(out.Verdict, v.Verdict)
		if v.Note != "" && v.Verdict != Pass && !strings.Contains(out.Note, v.Note) {
			out.Note = strings.TrimPrefix(out.Note+"; "+v.Note, "; ")
		}
	}
	for n := range missing {
		out.Partial = append(out.Partial, n)
	}
	sort.Strings(out.Partial)
	return out
}

func (r *Report) claimVerdict(q *spec.Requirement, ref spec.ClaimRef, cases []*Case, missing map[string]bool) Claim {
	out := Claim{ID: ref.ID}
	notes := map[string]bool{}
	for _, cs := range cases {
		i := slices.IndexFunc(cs.Claims, func(c Claim) bool { return c.ID == ref.ID })
		v := r.weigh(cs.Claims[i].Verdict, q, ref, cs)
		if v == NotExercised {
			for _, n := range cs.Needs {
				missing[n] = true
			}
		}
		if w := Worse(out.Verdict, v); w != out.Verdict {
			out.Verdict, notes = w, map[string]bool{}
		}
		if n := cs.Claims[i].Note; v == out.Verdict && v != Pass && n != "" {
			notes[n] = true
		}
	}
	switch {
	case out.Verdict == "" && r.Filtered:
		out.Verdict, notes = NotExercised, map[string]bool{leftOut: true}
	case out.Verdict == "":
		out.Verdict, notes = NotApplicable, map[string]bool{"nothing in this run has the trait": true}
	}
	out.Note = firstOf(notes)
	return out
}

// firstOf keeps a note short: the first in order, and how many more there are.
func firstOf(notes map[string]bool) string {
	var all []string
	for n := range notes {
		all = append(all, n)
	}
	sort.Strings(all)
	switch len(all) {
	case 0:
		return ""
	case 1:
		return all[0]
	default:
		return fmt.Sprintf("%s (and %d more)", all[0], len(all)-1)
	}
}

// weigh lowers a failure to a warning where the promise is only inferred or a SHOULD.
func (r *Report) weigh(v Verdict, q *spec.Requirement, ref spec.ClaimRef, cs *Case) Verdict {
	weak := q.Origin.Weaker(ref.Origin).Weaker(cs.Origin) == spec.Inferred || q.Level == "SHOULD" || q.Level == "MAY"
	if v == Fail && weak && !r.Strict {
		return Warn
	}
	return v
}

func (r *Report) grade(c *spec.Contract) {
	cases := map[string]*Case{}
	for i := range r.Cases {
		cases[r.Cases[i].ID] = &r.Cases[i]
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Requirements = []string{}
		f.Verdict = ""
		for _, q := range c.Reqs {
			for _, ref := range q.Claims {
				if ref.ID == f.Claim {
					f.Requirements = append(f.Requirements, q.ID)
					f.Verdict = Worse(f.Verdict, r.weigh(Fail, q, ref, cases[f.Case]))
				}
			}
		}
		if f.Verdict == "" { // a claim that no row of this catalog uses: only a hint
			f.Verdict = r.weigh(Fail, &spec.Requirement{Origin: spec.Inferred}, spec.ClaimRef{}, cases[f.Case])
		}
	}
	r.orderFindings()
	sort.SliceStable(r.Cases, func(i, j int) bool { return r.Cases[i].ID < r.Cases[j].ID })
}

// sum counts, and derives the overall verdict: violations win over inconclusive.
func (r *Report) sum() {
	r.Summary.Requirements, r.Summary.Cases = map[Verdict]int{}, map[Verdict]int{}
	executed := false
	for _, q := range r.Requirements {
		r.Summary.Requirements[q.Verdict]++
	}
	worst := Verdict("")
	for _, cs := range r.Cases {
		r.Summary.Cases[cs.Verdict]++
		r.Summary.Requests += cs.Requests
		executed = executed || cs.Verdict == Pass || cs.Verdict == Fail || cs.Verdict == Warn
		if cs.Verdict == Inconclusive || cs.Verdict == Error {
			worst = Worse(worst, cs.Verdict)
		}
	}
	fails := slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Verdict == Fail && f.Known == nil })
	switch {
	case fails:
		r.Verdict = Violations
		if r.Interrupted {
			r.Note = cutShort
		}
	case r.Baseline != nil && len(r.Baseline.Stale) > 0:
		r.Verdict, r.Note = Violations, "the baseline lists what holds again"
	case worst == Error:
		r.Verdict, r.Note = OverallError, "the kit itself failed in at least one case"
	case r.Interrupted:
		r.Verdict, r.Note = Undecided, cutShort
	case worst == Inconclusive:
		r.Verdict, r.Note = Undecided, "at least one case could not be judged"
	case !executed:
		r.Verdict, r.Note = Undecided, "nothing was executed"
	case !slices.ContainsFunc(r.Requirements, func(q Requirement) bool { return rank[q.Verdict] >= rank[Pass] }):
		r.Verdict, r.Note = Undecided, "no requirement was judged"
	default:
		r.Verdict = Conformant
		if r.Baseline != nil && r.Baseline.Known > 0 {
			r.Note = plural(r.Baseline.Known, "%d failure that the baseline lists does not count", "%d failures that the baseline lists do not count")
		}
	}
}
