package diff

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"assay.kit/spec/tree"
)

// canon is a spelling that two equal values share: members in order of their names, numbers as exact
// fractions. It only serves to compare.
func canon(n *tree.Node) string {
	var b strings.Builder
	writeCanon(&b, n)
	return b.String()
}

func writeCanon(b *strings.Builder, n *tree.Node) {
	if n == nil {
		return
	}
	switch n.Kind {
	case tree.Null:
		b.WriteString("null")
	case tree.Bool:
		b.WriteString(n.Text)
	case tree.Number:
		b.WriteString(number(n).RatString())
	case tree.String:
		b.WriteString(strconv.Quote(n.Text))
	case tree.Array:
		b.WriteByte('[')
		for _, it := range n.Items {
			writeCanon(b, it)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case tree.Object:
		b.WriteByte('{')
		for _, m := range byName(n) {
			b.WriteString(strconv.Quote(m.Key))
			b.WriteByte(':')
			writeCanon(b, m.Value)
			b.WriteByte(',')
		}
		b.WriteByte('}')
	}
}

// number reads a number exactly; the parser has bounded its spelling.
func number(n *tree.Node) *big.Rat {
	r, ok := new(big.Rat).SetString(n.Text)
	if !ok {
		return new(big.Rat)
	}
	return r
}

func equal(a, b *tree.Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	return canon(a) == canon(b)
}

// union lists the member names of objects, in order of the old one and then of what is new.
func union(nodes ...*tree.Node) []string {
	var names []string
	seen := map[string]bool{}
	for _, n := range nodes {
		if n == nil || n.Kind != tree.Object {
			continue
		}
		for _, m := range n.Members {
			if !seen[m.Key] {
				seen[m.Key] = true
				names = append(names, m.Key)
			}
		}
	}
	return names
}

// elements are the items of a list by their spelling.
func elements(n *tree.Node) map[string]*tree.Node {
	out := map[string]*tree.Node{}
	if n == nil || n.Kind != tree.Array {
		return out
	}
	for _, it := range n.Items {
		out[canon(it)] = it
	}
	return out
}

// without lists what is in a and not in b, in a fixed order.
func without(a, b map[string]*tree.Node) []*tree.Node {
	var out []*tree.Node
	for _, k := range slices.Sorted(maps.Keys(a)) {
		if b[k] == nil {
			out = append(out, a[k])
		}
	}
	return out
}

func isTrue(n *tree.Node) bool  { return n != nil && n.Kind == tree.Bool && n.Text == "true" }
func isFalse(n *tree.Node) bool { return n != nil && n.Kind == tree.Bool && n.Text == "false" }

func byName(n *tree.Node) []tree.Member {
	members := slices.Clone(n.Members)
	slices.SortFunc(members, func(x, y tree.Member) int { return strings.Compare(x.Key, y.Key) })
	return members
}
