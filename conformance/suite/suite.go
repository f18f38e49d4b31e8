// Package suite holds the checks, a file a family. A check never names a path, an operation or a
// requirement: the contract's traits select its subjects, and the catalog links its claims.
package suite

import (
	"slices"

	"assay.kit/conformance/check"
	"assay.kit/conformance/suite/mcp"
	"assay.kit/conformance/suite/seer"
	"assay.kit/spec"
)

// All returns every check, family by family, and last those that only one system promises. Adding
// one is adding a row to its family's table.
func All(c *spec.Contract) []check.Check {
	var own []check.Check
	if c.Name == "seer" {
		own = seer.Checks()
	}
	return slices.Concat(
		transport(),
		validation(),
		idempotency(),
		collections(),
		jobs(),
		machines(),
		resources(),
		numbers(),
		texts(),
		connection(),
		access(),
		limits(),
		hidden(),
		events(),
		expiry(),
		durability(),
		mcp.Checks(),
		mcpTools(),
		equivalence(),
		own,
	)
}

// creations are the operations with a key, those that admit no job first: semantics are tried on
// them where there are any.
func creations(c *spec.Contract) []*spec.Operation {
	var plain, jobs []*spec.Operation
	for _, op := range c.Ops {
		switch {
		case op.Idempotency == nil:
		case op.Job != nil:
			jobs = append(jobs, op)
		default:
			plain = append(plain, op)
		}
	}
	return append(plain, jobs...)
}

// subjects makes one subject an operation.
func subjects(ops []*spec.Operation) []check.Subject {
	out := make([]check.Subject, len(ops))
	for i, op := range ops {
		out[i] = check.Subject{Name: op.ID, Op: op}
	}
	return out
}
