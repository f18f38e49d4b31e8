package diff

import (
	"strings"

	"assay.kit/spec/tree"
)

// form says how the values of a member of the vocabulary are compared.
type form uint8

const (
	value   form = iota // as a whole
	set                 // a list whose order does not count: an element is added or removed
	object              // member by member; each has a row
	mapping             // an object with names of the author's: every name is an entry of one row
	machine             // states: see machine.go
)

// meaning is one row: a member of the vocabulary and what its edits do. A row of an object judges that
// the object comes or goes; what is inside has rows of its own.
type meaning struct {
	path                    string // place and members, e.g. operation.idempotency.scope
	form                    form
	added, removed, changed Grade
	side                    Side
	sealed                  bool                        // no override: only a bump
	method                  bool                        // on a tool: it is the numerical method that changes
	weigh                   func(a, b *tree.Node) Grade // of a change, where it depends
	why                     string
}

const (
	bad  = Breaking
	look = Review
	fine = Compatible
)

// means compares one member of the vocabulary, at first the whole of it.
func (d *differ) means(sc scope, place, path string, a, b *tree.Node) {
	if a == nil && b == nil {
		return
	}
	full := place
	if path != "" {
		full += "." + path
	}
	row, ok := d.meanings[full]
	switch {
	case !ok && path != "":
		if !equal(a, b) {
			d.add(sc, "x-assay.unknown", Review, a, b)
		}
	case !ok || row.form == object && a != nil && b != nil: // the whole x-assay has no row of its own
		for _, key := range union(a, b) {
			d.means(sc, place, strings.TrimPrefix(path+"."+key, "."), a.Get(key), b.Get(key))
		}
	case row.form == mapping:
		d.entries(sc, place, path, a, b)
	case row.form == machine:
		d.machine(sc, row, a, b)
	case row.form == set:
		d.elements(sc, row, a, b)
	case !equal(a, b):
		d.add(sc, row.rule(edited(a, b)), row.grade(a, b), a, b)
	}
}

func (m meaning) rule(edit string) string { return m.path + "." + edit }

func (m meaning) grade(a, b *tree.Node) Grade {
	switch {
	case a == nil:
		return m.added
	case b == nil:
		return m.removed
	case m.weigh != nil:
		return m.weigh(a, b)
	}
	return m.changed
}

// entries compares an object of names; every entry has the row of "*".
func (d *differ) entries(sc scope, place, path string, a, b *tree.Node) {
	for _, key := range union(a, b) {
		d.means(sc, place, path+".*", a.Get(key), b.Get(key))
	}
}

// elements compares a list as a set.
func (d *differ) elements(sc scope, row meaning, a, b *tree.Node) {
	have, has := elements(a), elements(b)
	for _, gone := range without(have, has) {
		d.add(sc, row.rule("removed"), row.removed, gone, nil)
	}
	for _, fresh := range without(has, have) {
		d.add(sc, row.rule("added"), row.added, nil, fresh)
	}
}

// atMost lets a number only grow, atLeast only shrink. A name instead of a number is another promise.
func atMost(a, b *tree.Node) Grade {
	if a.Kind == tree.Number && b.Kind == tree.Number && number(b).Cmp(number(a)) >= 0 {
		return Compatible
	}
	return Breaking
}

func atLeast(a, b *tree.Node) Grade {
	if a.Kind == tree.Number && b.Kind == tree.Number && number(b).Cmp(number(a)) <= 0 {
		return Compatible
	}
	return Breaking
}

// from lets a value change only towards the later ones of a list.
func from(order ...string) func(a, b *tree.Node) Grade {
	rank := func(n *tree.Node) int {
		for i, o := range order {
			if n.Text == o {
				return i
			}
		}
		return -1
	}
	return func(a, b *tree.Node) Grade {
		if i, j := rank(a), rank(b); i >= 0 && j > i {
			return Compatible
		}
		return Breaking
	}
}

// towards is from for a member whose absence means false.
func towards(good bool) func(a, b *tree.Node) Grade {
	return func(_, b *tree.Node) Grade {
		if isTrue(b) == good {
			return Compatible
		}
		return Breaking
	}
}
