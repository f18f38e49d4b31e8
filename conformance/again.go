package conformance

import (
	"fmt"
	"slices"
	"strings"

	"assay.kit/conformance/check"
	"assay.kit/conformance/report"
	"assay.kit/conformance/suite"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// elsewhere is the subject of passive claims on what is none of the contract's operations.
const elsewhere = "other"

// CaseClaims lists every case that a report on the contract may hold, with the claims it judges:
// each check on each of its subjects, and each passive claim on each operation.
func CaseClaims(c *spec.Contract) map[string][]string {
	out := map[string][]string{}
	for _, ck := range suite.All(c) {
		var claims []string
		for _, cl := range ck.Claims {
			claims = append(claims, cl.ID)
		}
		for _, s := range ck.Select(c) {
			out[ck.ID+"@"+s.Name] = claims
		}
	}
	passive := []string{wire.RequestIDUnique}
	for _, r := range wire.Passive() {
		passive = append(passive, r.Claim)
	}
	for _, claim := range passive {
		out[claim+"@"+elsewhere] = []string{claim}
		for _, op := range c.Ops {
			out[claim+"@"+op.ID] = []string{claim}
		}
		for _, subject := range wire.MCPSubjects(c) {
			out[claim+"@"+subject] = []string{claim}
		}
	}
	return out
}

// SameContract refuses a report of another contract, or of another state of it: its cases and seeds
// would mean something else.
func SameContract(r *report.Report, c *spec.Contract) error {
	switch {
	case r.Contract.Name != c.Name:
		return fmt.Errorf("it was judged against the contract %s, not %s; give --contract %s", r.Contract.Name, c.Name, r.Contract.Name)
	case r.Contract.Digest != c.Digest:
		return fmt.Errorf("it was judged against %s %s (%s), but the contract has changed since: it is %s (%s) now; run the whole suite again",
			c.Name, r.Contract.Version, r.Contract.Digest, c.Version, c.Digest)
	}
	return nil
}

// Unfinished lists the cases of a report that failed, could not be judged, or met a fault of the
// kit. For a passive claim it is the case that sent the exchange which broke it.
func Unfinished(r *report.Report) []string {
	var ids []string
	add := func(id string) {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, cs := range r.Cases {
		switch {
		case cs.Verdict != report.Fail && cs.Verdict != report.Warn && cs.Verdict != report.Error && cs.Verdict != report.Inconclusive:
		case !watched(cs.Check, cs.Claims):
			add(cs.ID)
		}
	}
	for _, f := range r.Findings {
		for _, id := range Senders(f) {
			add(id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Senders lists the cases that lead to a finding: its own, or that which sent the exchanges on which
// a passive claim broke.
func Senders(f report.Finding) []string {
	if check, _, _ := strings.Cut(f.Case, "@"); !watched(check, []report.Claim{{ID: f.Claim}}) {
		return []string{f.Case}
	}
	var ids []string
	for _, ex := range f.Exchanges {
		if ex.Case != "" && !slices.Contains(ids, ex.Case) {
			ids = append(ids, ex.Case)
		}
	}
	return ids
}

// watched tells the case of a passive claim from that of a check.
func watched(check string, claims []report.Claim) bool {
	passive := check == wire.RequestIDUnique || slices.ContainsFunc(wire.Passive(), func(r wire.Rule) bool { return r.Claim == check })
	return passive && len(claims) == 1 && claims[0].ID == check
}

// left reports whether any of the chosen cases is in a plan.
func left(ids []string, cases []check.Case, skipped []report.Case) bool {
	return len(ids) == 0 || slices.ContainsFunc(cases, func(cs check.Case) bool { return slices.Contains(ids, cs.ID) }) ||
		slices.ContainsFunc(skipped, func(cs report.Case) bool { return slices.Contains(ids, cs.ID) })
}

func chosen(ids []string) map[string]bool {
	if len(ids) == 0 {
		return nil
	}
	out := map[string]bool{}
	for _, id := range ids {
		out[id] = true
	}
	return out
}
