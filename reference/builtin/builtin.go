// Package builtin knows by name what the kit can do beyond a contract's traits. It is the only place
// outside the systems themselves that names one.
package builtin

import (
	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
	"assay.kit/reference/seer"
	"assay.kit/spec"
)

// System is what a named system adds to the core. The zero value adds nothing: the contract's traits
// and schemas are served as they are.
type System struct {
	Behaviours map[string]core.Behaviour // by operation
	// Holdings are what a full credential of the system holds beyond scopes.
	Holdings access.Holdings
	// Seed puts into each workspace what a connection expects there; nil needs nothing. It may run at
	// every start. The first workspace gets the ids of published examples.
	Seed func(w core.Writer, sys core.System, workspaces []string) error
}

// Options tell a system about its surroundings.
type Options struct {
	BaseURL string // where the server is reached; "" is http://localhost
}

// For returns the system of a contract, by the contract's name; the zero value if none is known.
func For(c *spec.Contract, o Options) (System, error) {
	switch c.Name {
	case "seer":
		s, err := seer.New(c, o.BaseURL)
		if err != nil {
			return System{}, err
		}
		return System{Behaviours: s.Behaviours(), Holdings: seer.Holdings(), Seed: s.Seed}, nil
	default:
		return System{}, nil
	}
}
