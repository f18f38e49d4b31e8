package diff

import (
	"maps"
	"slices"

	"assay.kit/spec/tree"
)

// machine compares two state machines. In an open one a state that nobody knew is foreseen, and so is
// what leads to it; everything else about the old states is promised.
func (d *differ) machine(sc scope, row meaning, a, b *tree.Node) {
	if a == nil || b == nil {
		d.add(sc, row.rule(edited(a, b)), row.grade(a, b), a, b)
		return
	}
	for _, key := range []string{"resource", "initial", "open"} {
		d.means(sc, "property", "states."+key, a.Get(key), b.Get(key))
	}
	old, foreseen := statesOf(a), isTrue(a.Get("open"))
	judged := func(states ...string) Grade {
		if slices.ContainsFunc(states, func(s string) bool { return old[s] == nil }) && foreseen {
			return Compatible
		}
		return ""
	}
	for _, fresh := range without(statesOf(b), old) {
		g := Breaking
		if foreseen {
			g = Compatible
		}
		d.add(sc, "property.states.new.added", g, nil, fresh)
	}
	d.transitions(sc, a, b, judged)
	d.terminals(sc, a, b, judged)
	for _, s := range union(a.Get("meaning"), b.Get("meaning")) {
		x, y := a.Get("meaning").Get(s), b.Get("meaning").Get(s)
		if x == nil && old[s] == nil {
			continue // it came with its state
		}
		d.means(sc, "property", "states.meaning.*", x, y)
	}
	for _, key := range union(a, b) {
		switch key {
		case "resource", "initial", "open", "transitions", "terminal", "meaning":
		default:
			d.means(sc, "property", "states."+key, a.Get(key), b.Get(key))
		}
	}
}

// statesOf are the states that a machine names, each with a node that does.
func statesOf(m *tree.Node) map[string]*tree.Node {
	out := map[string]*tree.Node{}
	add := func(n *tree.Node) {
		if n != nil && n.Kind == tree.String && out[n.Text] == nil {
			out[n.Text] = n
		}
	}
	if ts := m.Get("transitions"); ts != nil {
		for _, t := range ts.Members {
			out[t.Key] = t.Value
		}
		for _, t := range ts.Members {
			for _, to := range t.Value.Items {
				add(to)
			}
		}
	}
	add(m.Get("initial"))
	if ts := m.Get("terminal"); ts != nil {
		for _, t := range ts.Items {
			add(t)
		}
	}
	return out
}

func (d *differ) transitions(sc scope, a, b *tree.Node, judged func(...string) Grade) {
	row := d.meanings["property.states.transitions"]
	from := func(m *tree.Node, s string) map[string]*tree.Node { return elements(m.Get("transitions").Get(s)) }
	for _, s := range union(a.Get("transitions"), b.Get("transitions")) {
		x, y := from(a, s), from(b, s)
		for _, gone := range without(x, y) {
			d.add(sc, row.rule("removed"), row.removed, gone, nil)
		}
		for _, fresh := range without(y, x) {
			g := judged(s, fresh.Text)
			if g == "" {
				g = row.added
			}
			d.add(sc, row.rule("added"), g, nil, fresh)
		}
	}
}

func (d *differ) terminals(sc scope, a, b *tree.Node, judged func(...string) Grade) {
	row := d.meanings["property.states.terminal"]
	x, y := terminal(a), terminal(b)
	old, fresh := statesOf(a), statesOf(b)
	for _, s := range slices.Sorted(maps.Keys(x)) {
		if y[s] == nil && fresh[s] != nil {
			d.add(sc, row.rule("removed"), row.removed, x[s], nil)
		} else if y[s] == nil {
			d.add(sc, row.rule("removed"), Review, x[s], nil)
		}
	}
	for _, s := range slices.Sorted(maps.Keys(y)) {
		switch {
		case x[s] != nil:
		case old[s] == nil:
			if judged(s) == "" {
				d.add(sc, row.rule("added"), row.added, nil, y[s])
			}
		default:
			d.add(sc, row.rule("added"), row.added, nil, y[s])
		}
	}
}

// terminal are the final states: the listed ones, else those that nothing follows.
func terminal(m *tree.Node) map[string]*tree.Node {
	out := map[string]*tree.Node{}
	if list := m.Get("terminal"); list != nil {
		for _, n := range list.Items {
			out[n.Text] = n
		}
		return out
	}
	for s, n := range statesOf(m) {
		if next := m.Get("transitions").Get(s); next == nil || len(next.Items) == 0 {
			out[s] = n
		}
	}
	return out
}
