package conformance

import (
	"fmt"

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
