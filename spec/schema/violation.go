package schema

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"assay.kit/spec/tree"
)

// Violation is one broken rule of a schema.
type Violation struct {
	Instance tree.Pointer // the offending value; for a member that must not be there, that member
	Keyword  string       // e.g. additionalProperties, minLength, dependentRequired, format
	Location string       // absolute location of the keyword
	Message  string       // what the rule asks for; never repeats the value, which may be a secret
}

// Validate judges a decoded value and returns every violation, in order of the instance, none if
// it is valid. Of anyOf and oneOf it reports the alternative that was evidently meant; if several
// could have been, the choice itself and all that is wrong with each of them.
func (s *Schema) Validate(v any) []Violation {
	err := s.compiled.Validate(v)
	if err == nil {
		return nil
	}
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return []Violation{{Location: s.compiled.Location, Message: err.Error()}}
	}
	repair(ve, v)
	return violations(ve)
}

func violations(ve *jsonschema.ValidationError) []Violation {
	vs := flatten(ve, nil)
	slices.SortStableFunc(vs, func(a, b Violation) int {
		return cmp.Or(
			a.Instance.Compare(b.Instance),
			cmp.Compare(a.Location, b.Location), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(vs)
}

// flatten appends the leaves of one error.
func flatten(e *jsonschema.ValidationError, vs []Violation) []Violation {
	at := tree.PointerTo(e.InstanceLocation...)
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			vs = append(vs, leaf(e, at.Append(name), "additionalProperties", "the member "+quote(name)+" is not allowed"))
		}
		return vs
	case *kind.Required:
		for _, name := range k.Missing {
			vs = append(vs, leaf(e, at, "required", "the member "+quote(name)+" is missing"))
		}
		return vs
	case *kind.DependentRequired:
		return dependent(e, vs, "dependentRequired", k.Prop, k.Missing)
	case *kind.Dependency:
		return dependent(e, vs, "dependencies", k.Prop, k.Missing)
	case *kind.PropertyNames:
		return append(vs, leaf(e, at.Append(k.Property), "propertyNames", nameMessage(k.Property, e.Causes)))
	case *kind.Contains, *kind.MinContains, *kind.ContentSchema:
		return append(vs, leaf(e, at, keyword(e), message(e.ErrorKind)))
	case *kind.AnyOf, *kind.OneOf:
		return alternatives(e, vs)
	}
	if len(e.Causes) == 0 {
		return append(vs, leaf(e, at, keyword(e), message(e.ErrorKind)))
	}
	for _, c := range e.Causes {
		vs = flatten(c, vs)
	}
	return vs
}

func dependent(e *jsonschema.ValidationError, vs []Violation, keyword, prop string, missing []string) []Violation {
	for _, name := range missing {
		v := leaf(e, tree.PointerTo(e.InstanceLocation...), keyword, "the member "+quote(name)+" is missing; "+quote(prop)+" needs it")
		v.Location += tree.PointerTo(prop).Fragment()[1:]
		vs = append(vs, v)
	}
	return vs
}

func nameMessage(name string, causes []*jsonschema.ValidationError) string {
	why := "does not fit"
	for _, c := range causes {
		if inner := flatten(c, nil); len(inner) > 0 {
			why = inner[0].Message
			break
		}
	}
	return "the name " + quote(name) + " is not allowed: " + why
}

// leaf builds a violation; the keyword's location is that of its schema and its name.
func leaf(e *jsonschema.ValidationError, at tree.Pointer, keyword, msg string) Violation {
	loc := e.SchemaURL
	if !strings.HasSuffix(loc, "/"+keyword) {
		if !strings.Contains(loc, "#") {
			loc += "#"
		}
		loc += "/" + keyword
	}
	return Violation{Instance: at, Keyword: keyword, Location: loc, Message: msg}
}

// keyword names what failed. The library gives none for "not" and for a false schema, whose own
// location ends in the keyword that holds it.
func keyword(e *jsonschema.ValidationError) string {
	switch e.ErrorKind.(type) {
	case *kind.Not:
		return "not"
	case *kind.FalseSchema:
		return holder(e.SchemaURL)
	case *kind.RefCycle:
		return "$ref"
	}
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		return path[0]
	}
	return "type" // a Go value that JSON does not have
}

// holder finds the keyword whose value is the false schema at url: the last token, or the one
// before it where that is a name or an index.
func holder(url string) string {
	_, frag, _ := strings.Cut(url, "#")
	tokens := strings.Split(strings.TrimPrefix(frag, "/"), "/")
	for i := len(tokens) - 1; i >= max(0, len(tokens)-2); i-- {
		switch t := tokens[i]; t {
		case "unevaluatedProperties", "unevaluatedItems", "additionalProperties", "items", "prefixItems", "properties",
			"patternProperties", "dependentSchemas", "propertyNames", "contains", "not", "then", "else", "allOf", "anyOf", "oneOf":
			return t
		}
	}
	return "false"
}

// alternatives reports a failed anyOf or oneOf. An alternative that already refuses the type, or a
// constant that tells the alternatives apart, was not meant.
func alternatives(e *jsonschema.ValidationError, vs []Violation) []Violation {
	at := tree.PointerTo(e.InstanceLocation...)
	var meant [][]Violation
	for _, c := range e.Causes {
		inner := flatten(c, nil)
		if !slices.ContainsFunc(inner, func(v Violation) bool { return tellsApart(v, at) }) {
			meant = append(meant, inner)
		}
	}
	if len(meant) == 1 {
		return append(vs, meant[0]...)
	}
	vs = append(vs, leaf(e, at, keyword(e), message(e.ErrorKind)))
	for _, inner := range meant {
		vs = append(vs, inner...)
	}
	return vs
}

func tellsApart(v Violation, at tree.Pointer) bool {
	parent, _ := v.Instance.Parent()
	switch v.Keyword {
	case "type", "false":
		return v.Instance == at
	case "const", "enum":
		return v.Instance == at || parent == at
	}
	return false
}
