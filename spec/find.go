package spec

import "slices"

// Find resolves a request to its operation and decoded path parameters. If the path exists with
// other methods only, op is nil and allowed lists them in order; both are empty if it does not exist.
func (c *Contract) Find(method, escapedPath string) (op *Operation, params map[string]string, allowed []string) {
	if c.Routes == nil {
		return nil, nil, nil
	}
	template, params, ok := c.Routes.Match(escapedPath)
	if !ok {
		return nil, nil, nil
	}
	for _, o := range c.Ops {
		if o.Path != template {
			continue
		}
		if o.Method == method {
			op = o
		}
		allowed = append(allowed, o.Method)
	}
	slices.Sort(allowed)
	return op, params, allowed
}
