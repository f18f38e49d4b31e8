package conformance

import (
	"errors"
	"fmt"
	"slices"

	"assay.kit/conformance/suite"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/typo"
)

// UnknownClaims lists the links of a catalog that lead nowhere. A promise with such a link would
// be taken for proved by what is left of its row, so Plan and Run refuse the contract.
func UnknownClaims(c *spec.Contract) []spec.Problem {
	known := map[string]bool{wire.RequestIDUnique: true}
	for _, r := range wire.Passive() {
		known[r.Claim] = true
	}
	for _, ck := range suite.All(c) {
		for _, cl := range ck.Claims {
			known[cl.ID] = true
		}
	}
	var names []string
	for id := range known {
		names = append(names, id)
	}
	var out []spec.Problem
	for _, q := range c.Reqs {
		for _, ref := range q.Claims {
			if known[ref.ID] {
				continue
			}
			p := spec.Problem{File: q.File, Line: q.Line, Message: fmt.Sprintf("%s names the claim %q, which nothing judges", q.ID, ref.ID),
				Hint: "assay list checks names the claims"}
			if near := typo.Nearest(ref.ID, names); near != "" {
				p.Hint = fmt.Sprintf("did you mean %q?", near)
			}
			out = append(out, p)
		}
	}
	return out
}

// knownAbsent refuses a profile that declares absent what the contract does not have: a slip there
// would let a case run against a route that its owner meant to exclude.
func knownAbsent(c *spec.Contract, absent []string) error {
	var names []string
	for _, op := range c.Ops {
		names = append(names, op.ID)
	}
	for _, t := range c.Tools {
		names = append(names, t.Name)
	}
	var errs []error
	for _, id := range absent {
		if slices.Contains(names, id) {
			continue
		}
		hint := ""
		if near := typo.Nearest(id, names); near != "" {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		errs = append(errs, fmt.Errorf("profile: absent: contract %s has no operation %q%s", c.Name, id, hint))
	}
	return errors.Join(errs...)
}
