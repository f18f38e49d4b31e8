// Package gen makes JSON values from JSON Schema (2020-12) for rapid: valid ones, neighbours of a
// valid one, and ones that break exactly one keyword in one place; and other spellings of a value.
// Schemas are canonicalised first and values are generated narrowly, but the last word always has
// the validator: nothing leaves this package as valid or as broken that it does not call so.
package gen

import (
	"slices"

	"pgregory.net/rapid"

	"assay.kit/spec"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// Options adapt generation to a target. The zero value is usable.
type Options struct {
	Values       map[string]any       // by member name: data that exists at the target, used wherever it fits
	At           map[tree.Pointer]any // by place: the same for one member, stronger than Values
	DropReadOnly bool                 // leave out readOnly members, as a request does
	RequiredOnly bool                 // leave out every optional member that neither Values nor At names
	ChangeRefs   bool                 // let Neighbour change members that refer to a resource
	MaxDepth     int                  // nesting at which only what is required is generated; default 6
	// ToolInput gives the schema of a member with the toolInput trait, by the name that its sibling
	// holds; nil or a nil result leaves the member to its own schema.
	ToolInput func(tool string) *schema.Schema
}

func (o Options) depth() int {
	if o.MaxDepth <= 0 {
		return 6
	}
	return o.MaxDepth
}

// Positive generates values that the schema accepts. A schema that accepts nothing, or nothing that
// is found in a few tries, ends the case as rapid's invalid data.
func Positive(s *schema.Schema, o Options) *rapid.Generator[any] {
	m := maker{s: s, o: o}
	return rapid.Custom(func(t *rapid.T) any {
		return m.value(t, m.root(), "", 0)
	}).Filter(func(v any) bool { return len(m.validate(v)) == 0 })
}

// maker holds what all generators of one schema share. It is not changed after it is made.
type maker struct {
	s      *schema.Schema
	o      Options
	effort int // how often an example is looked for; 0: maxExampleTries
}

func (m maker) root() []source { return []source{{m.s, m.s.Raw()}} }

// validate judges a value by the schema and, within it, each tool input by its tool's schema.
func (m maker) validate(v any) []schema.Violation {
	vs := m.s.Validate(v)
	if m.o.ToolInput == nil {
		return vs
	}
	m.toolInputs(m.root(), v, "", 0, func(tool *schema.Schema, at tree.Pointer, input any) {
		for _, violation := range tool.Validate(input) {
			violation.Instance = at.Join(violation.Instance)
			vs = append(vs, violation)
		}
	})
	return vs
}

// toolInputs finds every member of a value whose schema is that of the tool that a sibling names.
func (m maker) toolInputs(src []source, v any, at tree.Pointer, depth int, found func(*schema.Schema, tree.Pointer, any)) {
	if depth > maxNesting {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		sh := settle(src, v)
		for _, name := range sortedKeys(v) {
			sub := sh.member(name)
			if tool := m.toolOf(sub, v); tool != nil {
				found(tool, at.Append(name), v[name])
				continue
			}
			m.toolInputs(sub, v[name], at.Append(name), depth+1, found)
		}
	case []any:
		sh := settle(src, v)
		for i, item := range v {
			m.toolInputs(sh.item(i), item, at.Index(i), depth+1, found)
		}
	}
}

// toolOf is the input schema that a member with these schemas must fit in this object, nil if its own.
func (m maker) toolOf(member []source, object map[string]any) *schema.Schema {
	if m.o.ToolInput == nil {
		return nil
	}
	for _, s := range flat(member) {
		p := spec.PropertyTraitsOf(s.raw).ToolInput
		if p == "" {
			continue
		}
		if name, ok := tree.Get(object, p); ok {
			if name, ok := name.(string); ok {
				return m.o.ToolInput(name)
			}
		}
	}
	return nil
}

// withTool adds the tool's schema to those of a member.
func (m maker) withTool(member []source, object map[string]any) []source {
	if tool := m.toolOf(member, object); tool != nil {
		return append(slices.Clone(member), source{tool, tool.Raw()})
	}
	return member
}

// example is one valid value of schemas, always the same for one seed; ok is false if none was found.
func (m maker) example(src []source, at tree.Pointer, depth, seed int) (v any, ok bool) {
	defer func() {
		if recover() != nil { // rapid's only way to say that it found nothing
			v, ok = nil, false
		}
	}()
	if impossible(src, 0) {
		return nil, false
	}
	if m.effort == 0 {
		m.effort = maxExampleTries
	}
	tried := 0
	g := rapid.Custom(func(t *rapid.T) any {
		if tried++; tried > m.effort {
			return nothing{}
		}
		return m.value(t, src, at, depth)
	})
	v = g.Filter(func(v any) bool { return v == any(nothing{}) || fits(src, v, 0) }).Example(seed)
	return v, v != any(nothing{})
}

// maxExampleTries ends the search for an example; rapid would go on for a thousand.
const maxExampleTries = 150

// nothing stands for an example that was not found.
type nothing struct{}

// onlyRequires lists the members that a raw schema asks for if it asks for nothing else but an object.
func onlyRequires(raw any) []string {
	m, _ := raw.(map[string]any)
	var names []string
	for k, v := range m {
		switch {
		case k == "required":
			for _, n := range list(v) {
				name, _ := n.(string)
				names = append(names, name)
			}
		case k == "type" && v == "object":
		default:
			return nil
		}
	}
	return names
}

// impossible reports whether schemas contradict each other in a way that is easy to see.
func impossible(src []source, depth int) bool {
	sh := merge(src)
	if sh.kinds == 0 || sh.enum != nil && !slices.ContainsFunc(sh.enum, func(v any) bool { return sh.kinds&kindOf(v) != 0 && !sh.excludes(v) }) {
		return true
	}
	if sh.kinds != kObject || depth > 3 {
		return false
	}
	for _, n := range sh.nots {
		if asked := onlyRequires(n.raw); asked != nil && !slices.ContainsFunc(asked, func(name string) bool { return !sh.requires(name) }) {
			return true
		}
	}
	return slices.ContainsFunc(sh.required, func(name string) bool {
		return !sh.allows(name) || impossible(sh.member(name), depth+1)
	})
}
