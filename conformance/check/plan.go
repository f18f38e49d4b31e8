package check

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"assay.kit/conformance/report"
	"assay.kit/conformance/target"
	"assay.kit/spec"
	"assay.kit/spec/typo"
)

// Case is one check on one subject: the unit of selection, budget, replay and report.
type Case struct {
	ID      string // check@subject
	Check   *Check
	Subject Subject
	Origin  spec.Origin // the weakest of its operations
}

// AllowFinancial is what a case needs besides capabilities: the word of whoever runs it.
const AllowFinancial = "--allow financial"

// Options choose what to plan.
type Options struct {
	Only, Skip []string        // requirement, claim, check, family, operation or case ids, or a prefix ending in "*"
	Cases      map[string]bool // of what Only and Skip leave, the cases with these ids; nil: all
	Financial  bool            // operations with a financial effect may be called (with sandbox in the profile)
	Compute    bool            // tools may be called that do not declare themselves read-only, where nothing else is known of them
}

// Plan joins checks with the contract's subjects. What will not run is in the second result, with
// the verdict and the reason; a filter that matches nothing is an error that suggests near names.
func Plan(c *spec.Contract, p *target.Profile, checks []Check, o Options) ([]Case, []report.Case, error) {
	var cases []Case
	var skipped []report.Case
	only, skip := newFilter(c, o.Only), newFilter(c, o.Skip)
	for i := range checks {
		ck := &checks[i]
		subjects := ck.Select(c)
		if len(subjects) == 0 && o.Cases == nil {
			skipped = append(skipped, skip0(ck))
		}
		for _, s := range subjects {
			cs := Case{ID: ck.ID + "@" + s.Name, Check: ck, Subject: s, Origin: origin(s)}
			if only.set() && !only.match(cs) || skip.set() && skip.match(cs) || o.Cases != nil && !o.Cases[cs.ID] {
				continue
			}
			if sk, ok := impossible(c, cs, p, o); ok {
				skipped = append(skipped, sk)
				continue
			}
			cases = append(cases, cs)
		}
	}
	for _, f := range []*filter{only, skip} {
		if err := f.unmatched(c, checks); err != nil {
			return nil, nil, err
		}
	}
	return cases, skipped, nil
}

func skip0(ck *Check) report.Case {
	return unjudged(Case{ID: ck.ID, Check: ck, Origin: spec.Stated}, report.NotApplicable, "nothing in the contract has the trait", nil)
}

// unjudged reports a case that did not run.
func unjudged(cs Case, v report.Verdict, note string, needs []string) report.Case {
	r := report.Case{ID: cs.ID, Check: cs.Check.ID, Subject: cs.Subject.Name, Operations: opIDs(cs.Subject),
		Origin: cs.Origin, Verdict: v, Note: note, Needs: needs, Claims: []report.Claim{}}
	for _, cl := range cs.Check.Claims {
		cv := v
		if cl.For != nil && cs.Subject.Op != nil && !cl.For(cs.Subject) {
			cv = report.NotApplicable
		}
		r.Claims = append(r.Claims, report.Claim{ID: cl.ID, Verdict: cv, Note: note})
	}
	return r
}

// impossible says why a case cannot run against this target: absent, unsafe, or short of a capability.
func impossible(c *spec.Contract, cs Case, p *target.Profile, o Options) (report.Case, bool) {
	for _, op := range cs.Subject.Operations() {
		if slices.Contains(p.Absent, op.ID) {
			return unjudged(cs, report.NotApplicable, op.ID+" is declared absent in the profile", nil), true
		}
	}
	var needs []string
	for _, op := range cs.Subject.Operations() {
		if op.Effect != spec.EffectFinancial {
			continue
		}
		if !p.Has(target.Sandbox) {
			needs = append(needs, string(target.Sandbox))
		}
		if !o.Financial {
			needs = append(needs, AllowFinancial)
		}
		break
	}
	if tool := cs.Subject.Tool; tool != nil {
		if lacks := (toolGuard{contract: c, financial: o.Financial, compute: o.Compute}).lacks(tool); lacks != "" {
			needs = append(needs, lacks)
		}
	}
	for _, n := range cs.Check.Needs {
		if !p.Has(n) {
			needs = append(needs, string(n))
		}
	}
	if len(needs) == 0 {
		return report.Case{}, false
	}
	sort.Strings(needs)
	return unjudged(cs, report.NotExercised, "needs "+strings.Join(needs, ", "), slices.Compact(needs)), true
}

func origin(s Subject) spec.Origin {
	o := spec.Stated
	for _, op := range s.Operations() {
		o = o.Weaker(op.Origin)
	}
	return o
}

func opIDs(s Subject) []string {
	ids := []string{}
	for _, op := range s.Operations() {
		if !slices.Contains(ids, op.ID) {
			ids = append(ids, op.ID)
		}
	}
	return ids
}

// filter matches cases by any id that a reader may have seen, or a prefix of one ending in "*".
type filter struct {
	words   []string
	hit     map[string]bool
	byClaim map[string][]string // claim -> requirements
}

func newFilter(c *spec.Contract, words []string) *filter {
	f := &filter{words: words, hit: map[string]bool{}, byClaim: map[string][]string{}}
	for _, q := range c.Reqs {
		for _, cl := range q.Claims {
			f.byClaim[cl.ID] = append(f.byClaim[cl.ID], q.ID)
		}
	}
	return f
}

func (f *filter) set() bool { return len(f.words) > 0 }

func (f *filter) match(cs Case) bool {
	names := append([]string{cs.ID, cs.Check.ID, cs.Check.Family()}, opIDs(cs.Subject)...)
	for _, cl := range cs.Check.Claims {
		names = append(append(names, cl.ID), f.byClaim[cl.ID]...)
	}
	found := false
	for _, w := range f.words {
		for _, n := range names {
			if matches(w, n) {
				f.hit[w], found = true, true
			}
		}
	}
	return found
}

func matches(word, name string) bool {
	if prefix, ok := strings.CutSuffix(word, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return word == name
}

// unmatched names the first word that selected nothing.
func (f *filter) unmatched(c *spec.Contract, checks []Check) error {
	for _, w := range f.words {
		if f.hit[w] {
			continue
		}
		for _, q := range c.Reqs {
			if matches(w, q.ID) && len(q.Claims) == 0 {
				return fmt.Errorf("requirement %s has no check yet, so it selects nothing", q.ID)
			}
		}
		if slices.Contains(knownNames(c, checks), w) {
			return fmt.Errorf("%q selects nothing: nothing in the contract has the trait that it is about", w)
		}
		hint := ""
		if n := typo.Nearest(w, knownNames(c, checks)); n != "" {
			hint = fmt.Sprintf("; did you mean %q?", n)
		}
		return fmt.Errorf("%q matches no requirement, claim, check, family or operation that can run%s", w, hint)
	}
	return nil
}

func knownNames(c *spec.Contract, checks []Check) []string {
	var names []string
	for _, q := range c.Reqs {
		names = append(names, q.ID)
	}
	for _, o := range c.Ops {
		names = append(names, o.ID)
	}
	for i := range checks {
		names = append(names, checks[i].ID, checks[i].Family())
		for _, cl := range checks[i].Claims {
			names = append(names, cl.ID)
		}
	}
	return names
}
