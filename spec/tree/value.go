package tree

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// FromValue builds a tree without places from a decoded value (map[string]any, []any, string,
// json.Number, bool, nil); the members of an object come in order of their names. A value of
// another type becomes the string that fmt gives it.
func FromValue(v any) *Node { return fromValue(v, "") }

func fromValue(v any, p Pointer) *Node {
	n := &Node{Pointer: p}
	switch v := v.(type) {
	case nil:
	case bool:
		n.Kind, n.Text = Bool, strconv.FormatBool(v)
	case json.Number:
		n.Kind, n.Text = Number, string(v)
	case string:
		n.Kind, n.Text = String, v
	case []any:
		n.Kind = Array
		for i, it := range v {
			n.Items = append(n.Items, fromValue(it, p.Index(i)))
		}
	case map[string]any:
		n.Kind = Object
		for _, k := range slices.Sorted(maps.Keys(v)) {
			n.Members = append(n.Members, Member{Key: k, Value: fromValue(v[k], p.Append(k))})
		}
	default:
		n.Kind, n.Text = String, fmt.Sprint(v)
	}
	return n
}

// Found is a value and where it is.
type Found struct {
	Pointer Pointer
	Value   any
}

// Select follows a pointer like Get, but a token "*" means every item where the value is an array.
func Select(v any, p Pointer) []Found {
	found := []Found{{Value: v}}
	for _, token := range p.Tokens() {
		var next []Found
		for _, f := range found {
			if items, ok := f.Value.([]any); ok && token == "*" {
				for i, it := range items {
					next = append(next, Found{f.Pointer.Index(i), it})
				}
			} else if child, ok := Get(f.Value, PointerTo(token)); ok {
				next = append(next, Found{f.Pointer.Append(token), child})
			}
		}
		found = next
	}
	return found
}
