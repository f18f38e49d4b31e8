package spec

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"assay.kit/spec/tree"
)

// structure has kin-openapi judge the document's structure. Examples are left to our own check:
// kin judges them, and every 3.1 schema, by other rules. Nothing of its model goes further.
func (l *loader) structure(doc *tree.Node) {
	err := judge(doc.JSON())
	if err == nil || l.misread(doc, err) {
		return
	}
	var many openapi3.MultiError
	if !errors.As(err, &many) {
		many = openapi3.MultiError{err}
	}
	for _, e := range many {
		if !ownCheck(e) {
			p, message := place(e)
			l.problem(refine(doc, doc.Nearest(p), e), "", "%s", message)
		}
	}
}

// misplaced is how kin-openapi says at the end of a text what it could not read, and where.
var misplaced = regexp.MustCompile(`into (?:\*?openapi3\.)?(\S+)(?: field "([^"]*)")? in (/[^\s;]*)`)

// misread reports values of another type than OpenAPI has at their place, each where it stands. The
// library's own text names Go types, and a line of what it was given, which is not the user's file.
func (l *loader) misread(doc *tree.Node, err error) bool {
	found := misplaced.FindAllStringSubmatch(err.Error(), -1)
	for _, m := range found {
		p, bad := tree.ParsePointer(m[3])
		if bad != nil {
			return false
		}
		want := m[1]
		switch {
		case strings.HasPrefix(want, "map["):
			want = "object"
		case strings.HasPrefix(want, "[]"):
			want = "array"
		}
		if m[2] != "" {
			p = p.Append(m[2])
		}
		n := doc.Nearest(p)
		l.problem(n, "", "this is %s %s, where OpenAPI has %s", article(n.Kind.String()), n.Kind, want)
	}
	return len(found) > 0
}

func article(noun string) string {
	if strings.ContainsAny(noun[:1], "aeiou") {
		return "an"
	}
	return "a"
}

// judge loads and validates a document. A panic of the library on an absurd one is an error here.
func judge(doc []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the OpenAPI document does not load: %v", r)
		}
	}()
	model, err := openapi3.NewLoader().LoadFromData(doc) // follows no external reference unless told to
	if err != nil {
		return fmt.Errorf("the OpenAPI document does not load: %w", err)
	}
	return model.Validate(context.Background(), openapi3.EnableMultiError(), openapi3.DisableExamplesValidation(),
		openapi3.DisableSchemaDefaultsValidation())
}

// ownCheck tells what we check as well, and report at a better place.
func ownCheck(err error) bool {
	var id *openapi3.DuplicateOperationIDError
	var paths *openapi3.ConflictingPathsError
	return errors.As(err, &id) || errors.As(err, &paths)
}

// refine looks below the object that an error is about for the very member.
func refine(doc, n *tree.Node, err error) *tree.Node {
	var badType *openapi3.SchemaTypeError
	var badPattern *openapi3.SchemaPatternRegexError
	var params *openapi3.PathParametersError
	var extra *openapi3.ExtraSiblingFieldsError
	var security *openapi3.SecurityRequirementSchemeUndefinedError
	var field *openapi3.RequiredFieldError
	switch {
	case errors.As(err, &badType):
		return search(n, "type", badType.Type)
	case errors.As(err, &badPattern):
		return search(n, "pattern", badPattern.Pattern)
	case errors.As(err, &extra) && len(extra.Fields) > 0:
		return search(n, extra.Fields[0], "")
	case errors.As(err, &params):
		return doc.Nearest(tree.PointerTo("paths", params.Path, strings.ToLower(params.Method)))
	case errors.As(err, &security):
		return doc.Nearest(tree.Pointer(security.JSONPointer))
	case errors.As(err, &field):
		return doc.Nearest(tree.PointerTo(strings.Split(field.Field, ".")...))
	}
	return n
}

// search finds the first member below n with this key, and this text unless that is empty; n if
// there is none.
func search(n *tree.Node, key, text string) *tree.Node {
	found := n
	n.Walk(func(m *tree.Node) bool {
		v := m.Get(key)
		if found == n && v != nil && (text == "" || v.Text == text) {
			found = v
		}
		return found == n
	})
	return found
}

// place walks the wrappers of one validation error for the object that it is about, and returns
// the message within the innermost of them.
func place(err error) (tree.Pointer, string) {
	p := tree.Pointer("")
	inner := err
	for e := err; e != nil; e = errors.Unwrap(e) {
		switch w := e.(type) {
		case *openapi3.SectionValidationError:
			p, inner = tree.PointerTo(w.Section), w.Cause
		case *openapi3.PathValidationError:
			p, inner = tree.PointerTo("paths", w.Path), w.Cause
		case *openapi3.OperationValidationError:
			p, inner = p.Append(strings.ToLower(w.Method)), w.Cause
		case *openapi3.ComponentValidationError:
			p, inner = tree.PointerTo("components", section(w.Section), w.Name), w.Cause
		}
	}
	return p, inner.Error()
}

// section turns kin's singular name into the member of components.
func section(singular string) string {
	words := strings.Fields(singular)
	for i := 1; i < len(words); i++ {
		words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
	}
	name := strings.Join(words, "")
	if strings.HasSuffix(name, "y") {
		return strings.TrimSuffix(name, "y") + "ies"
	}
	return name + "s"
}
