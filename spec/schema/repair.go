package schema

import (
	"maps"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// repair puts the place of refused member names right. The library (v6.0.3) shares one buffer
// between the locations of all values it visits and copies it everywhere but here, so that the
// error of a nested object names whatever was visited later. Its length and the member's name are
// right, and the instance has the rest.
func repair(e *jsonschema.ValidationError, v any) {
	if k, ok := e.ErrorKind.(*kind.PropertyNames); ok {
		if at := holders(v, k.Property, len(e.InstanceLocation)); len(at) > 0 && !slices.ContainsFunc(at, func(p []string) bool {
			return slices.Equal(p, e.InstanceLocation)
		}) {
			e.InstanceLocation = at[0]
		}
		return // the causes are about the name, which is no part of the instance
	}
	for _, c := range e.Causes {
		repair(c, v)
	}
}

// holders finds the objects at a depth that have a member of this name, in order.
func holders(v any, name string, depth int) [][]string {
	var out [][]string
	var visit func(v any, at []string)
	visit = func(v any, at []string) {
		switch v := v.(type) {
		case map[string]any:
			if len(at) == depth {
				if _, ok := v[name]; ok {
					out = append(out, slices.Clone(at))
				}
				return
			}
			for _, key := range slices.Sorted(maps.Keys(v)) {
				visit(v[key], append(at, key))
			}
		case []any:
			for i, item := range v {
				if len(at) < depth {
					visit(item, append(at, strconv.Itoa(i)))
				}
			}
		}
	}
	visit(v, nil)
	return out
}
