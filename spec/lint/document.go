package lint

import (
	"fmt"

	"assay.kit/spec"
	"assay.kit/spec/tree"
)

func authorityMissing(c *spec.Contract) []Finding {
	return each(c, func(op *spec.Operation) (string, string) {
		if op.Effect != spec.EffectFinancial || len(op.Authority)+len(op.Scopes) > 0 {
			return "", ""
		}
		return fmt.Sprintf("%s has a financial effect and asks for neither a scope nor an authority", op.ID), "add x-assay: {authority: [authorization]}, or what a caller must hold"
	})
}

// stateUnreachable follows the transitions from the initial state.
func stateUnreachable(c *spec.Contract) []Finding {
	var out []Finding
	for _, s := range c.States {
		seen := map[string]bool{s.Initial: true}
		for next := []string{s.Initial}; len(next) > 0; next = next[1:] {
			for _, to := range s.Transitions[next[0]] {
				if !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			}
		}
		n := c.Raw.At(s.Schema).Get("x-assay").Get("states")
		for _, state := range s.All() {
			if !seen[state] {
				out = append(out, at(n, fmt.Sprintf("nothing leads from %q to the state %q of %s", s.Initial, state, s.Resource), "add the transition, or remove the state"))
			}
		}
	}
	return out
}

// nullableIgnored looks at what is left of the word: in a document of 3.0 it has been lifted.
func nullableIgnored(c *spec.Contract) []Finding {
	var out []Finding
	eachSchema(c, func(n *tree.Node) {
		if word := n.Get("nullable"); word != nil && word.Kind == tree.Bool {
			out = append(out, at(word, "nullable means nothing in OpenAPI 3.1", `write type: [..., "null"]`))
		}
	})
	return out
}
