package tree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/theory/jsonpath"
	jp "github.com/theory/jsonpath/spec"
)

// maxActions bounds an overlay; every action searches the whole document.
const maxActions = 2000

// Overlay is an OpenAPI Overlay document, version 1.0 or 1.1: a list of changes to lay over
// another document.
type Overlay struct {
	File    string // name for messages
	Title   string
	Extends string // the document it is meant for, "" if it does not say
	Root    *Node  // the overlay document itself
	actions []action
	concat  bool // 1.1: an array is concatenated to an array; 1.0: it becomes one item
}

type action struct {
	node   *Node // for messages
	target *jsonpath.Path
	update *Node
	remove bool
	copy   *jsonpath.Path
}

// ParseOverlay reads an overlay document; the error is an *Error.
func ParseOverlay(file string, data []byte) (Overlay, error) {
	root, err := Parse(file, data)
	if err != nil {
		return Overlay{}, err
	}
	o := Overlay{File: file, Root: root, Title: root.Get("info").Str("title"), Extends: root.Str("extends")}
	version := root.Str("overlay")
	if !strings.HasPrefix(version, "1.0.") && !strings.HasPrefix(version, "1.1.") {
		return Overlay{}, root.fault("this is no overlay: its member overlay must be 1.0.x or 1.1.x")
	}
	o.concat = strings.HasPrefix(version, "1.1.")
	list := root.Get("actions")
	if list == nil || list.Kind != Array || len(list.Items) == 0 || len(list.Items) > maxActions {
		return Overlay{}, root.fault("an overlay needs a list of 1 to %d actions", maxActions)
	}
	for _, n := range list.Items {
		a, err := parseAction(n, o.concat)
		if err != nil {
			return Overlay{}, err
		}
		o.actions = append(o.actions, a)
	}
	return o, nil
}

func (n *Node) fault(format string, args ...any) *Error {
	return &Error{File: n.File, Line: n.Where(), Column: n.Column, Pointer: n.Pointer, Message: fmt.Sprintf(format, args...)}
}

func parseAction(n *Node, copying bool) (action, error) {
	a := action{node: n, update: n.Get("update")}
	for _, m := range n.Members {
		known := slices.Contains([]string{"target", "description", "update", "remove"}, m.Key) || copying && m.Key == "copy"
		if !known && !strings.HasPrefix(m.Key, "x-") {
			return a, m.Value.fault("an action has no member %q", m.Key)
		}
	}
	if r := n.Get("remove"); r != nil {
		if r.Kind != Bool {
			return a, r.fault("remove must be true or false")
		}
		a.remove = r.Text == "true"
	}
	var err error
	if a.target, err = parsePath(n, "target"); err != nil {
		return a, err
	}
	if n.Get("copy") != nil {
		if a.copy, err = parsePath(n, "copy"); err != nil {
			return a, err
		}
	}
	switch {
	case a.remove:
		a.update, a.copy = nil, nil
	case a.update != nil && a.copy != nil:
		return a, n.fault("the action on %s has both update and copy", a.target)
	case a.update == nil && a.copy == nil:
		return a, n.fault("the action on %s has none of update, remove and copy", a.target)
	}
	return a, nil
}

func parsePath(n *Node, key string) (*jsonpath.Path, error) {
	text := n.Str(key)
	if text == "" {
		return nil, n.fault("an action needs a %s, a JSONPath", key)
	}
	p, err := jsonpath.Parse(text)
	if err != nil {
		return nil, n.Get(key).fault("%s %q is no JSONPath (RFC 9535): %v", key, text, err)
	}
	return p, nil
}

// Apply lays the overlay over a document and returns the changed copy. Values from the overlay
// keep the overlay's file and lines. An action that matches nothing is a warning that names it; one
// that cannot be carried out is an error. Both are *Error.
func (o Overlay) Apply(root *Node) (*Node, []*Error, error) {
	root = root.Clone()
	var warnings []*Error
	for _, a := range o.actions {
		value := root.Value()
		targets := pointers(a.target, value)
		if len(targets) == 0 {
			warnings = append(warnings, a.node.fault("the action on %s matches nothing", a.target))
			continue
		}
		var err error
		if root, err = o.apply(root, a, targets, value); err != nil {
			return nil, warnings, err
		}
		root.Reindex("")
		if err := bounded(root); err != nil {
			return nil, warnings, a.node.fault("the action on %s: %s", a.target, err)
		}
	}
	return root, warnings, nil
}

// pointers are the places that a path selects, each once, in document order.
func pointers(path *jsonpath.Path, value any) []Pointer {
	var ps []Pointer
	seen := map[Pointer]bool{}
	for _, located := range path.SelectLocated(value) {
		p := pointerOf(located.Path)
		if !seen[p] {
			seen[p] = true
			ps = append(ps, p)
		}
	}
	return ps
}

func pointerOf(path jp.NormalizedPath) Pointer {
	p := Pointer("")
	for _, sel := range path {
		switch s := sel.(type) {
		case jp.Name:
			p = p.Append(string(s))
		case jp.Index:
			p = p.Index(int(s))
		}
	}
	return p
}

func (o Overlay) apply(root *Node, a action, targets []Pointer, value any) (*Node, error) {
	if a.remove {
		return root, remove(root, a, targets)
	}
	with := a.update
	if a.copy != nil {
		from := pointers(a.copy, value)
		if len(from) != 1 {
			return nil, a.node.fault("copy %s selects %d values; it must select one", a.copy, len(from))
		}
		with = root.At(from[0]).Clone()
	}
	for _, p := range targets {
		n := root.At(p)
		switch {
		case n == nil: // an earlier target of this action replaced it
		case n.Kind == Object && with.Kind != Object, n.Kind < Array && with.Kind >= Array:
			return nil, a.node.fault("the action on %s lays %s over %s at %s", a.target, article(with.Kind), article(n.Kind), p.Fragment())
		case n.Kind == Array && with.Kind == Array && o.concat:
			n.Items = append(n.Items, with.Clone().Items...)
		case n.Kind == Array:
			n.Items = append(n.Items, with.Clone())
		case n.Kind == Object:
			merge(n, with)
		default:
			*n = *with.Clone()
		}
	}
	return root, nil
}

func article(k Kind) string {
	switch k {
	case Array, Object:
		return "an " + k.String()
	case Null:
		return "null"
	}
	return "a " + k.String()
}

// merge lays the members of with over those of n: objects recursively, arrays behind the ones that
// are there, everything else in place of them.
func merge(n, with *Node) {
	for _, m := range with.Members {
		have := n.Get(m.Key)
		switch {
		case have == nil:
			v := m.Value.Clone()
			n.Members = append(n.Members, Member{Key: m.Key, File: m.File, Line: m.Line, Value: v})
		case have.Kind == Object && m.Value.Kind == Object:
			merge(have, m.Value)
		case have.Kind == Array && m.Value.Kind == Array:
			have.Items = append(have.Items, m.Value.Clone().Items...)
		default:
			*have = *m.Value.Clone()
		}
	}
}

// remove deletes the targets, the last item of an array first, so that indexes stay true.
func remove(root *Node, a action, targets []Pointer) error {
	targets = slices.Clone(targets)
	slices.SortFunc(targets, func(p, q Pointer) int { return q.Compare(p) })
	for _, p := range targets {
		if p == "" {
			return a.node.fault("the action on %s would remove the whole document", a.target)
		}
		at, token := p.Parent()
		parent := root.At(at)
		switch {
		case parent == nil:
		case parent.Kind == Object:
			parent.Delete(token)
		case parent.Kind == Array:
			if i, ok := arrayIndex(token, len(parent.Items)); ok {
				parent.Items = slices.Delete(parent.Items, i, i+1)
			}
		}
	}
	return nil
}

// bounded checks a changed document against the bounds of Parse: copies may double it each time.
func bounded(root *Node) error {
	nodes := 0
	var deep func(n *Node, depth int) error
	deep = func(n *Node, depth int) error {
		if nodes++; nodes > MaxNodes || depth > MaxDepth {
			return fmt.Errorf("the document grows beyond %d values or a depth of %d", MaxNodes, MaxDepth)
		}
		for _, it := range n.Items {
			if err := deep(it, depth+1); err != nil {
				return err
			}
		}
		for _, m := range n.Members {
			if err := deep(m.Value, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return deep(root, 1)
}
