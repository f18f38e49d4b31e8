package target

import "slices"

// IsAbsent reports whether the target's owner has declared that it lacks an operation.
func (p *Profile) IsAbsent(operation string) bool { return slices.Contains(p.Absent, operation) }
