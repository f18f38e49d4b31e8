package suite

import (
	"assay.kit/conformance/check"
	"assay.kit/spec"
)

// resultInstead is a resource that a job of the target makes, where the operation that would show
// one is absent.
func resultInstead(t *check.T, from *spec.Operation, resource, role string) string {
	for _, op := range t.Contract().Ops {
		if op.Job == nil || op.Job.Artifact == "" || t.Profile().IsAbsent(op.ID) || t.Profile().IsAbsent(op.Job.Read) {
			continue
		}
		if read := t.Contract().Op(op.Job.Artifact); read != nil && pathRef(read) != nil && pathRef(read).Resource == resource {
			if background(t, op, role) < 0 {
				continue // it answers at once
			}
			id, err := t.Once("result "+role+" "+op.ID, func() (any, error) { return jobResult(t, op, role) })
			if err != nil {
				t.Inconclusive("no %s: %v", resource, err)
			}
			return id.(string)
		}
	}
	lacking(t, from)
	return ""
}

// lacking ends a flow that cannot do without an operation which the target is said to lack.
func lacking(t *check.T, op *spec.Operation) {
	why := op.ID + " is declared absent in the profile"
	t.NoneApply(why)
	t.Skip("%s", why)
}
