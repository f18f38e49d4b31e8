package spec

import (
	"context"
	"errors"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"assay.kit/spec/tree"
)

// structure has kin-openapi judge the document's structure. Examples are left to our own check:
// kin judges them, and every 3.1 schema, by other rules. Nothing of its model goes further.
func (l *loader) structure(doc *tree.Node) {
	kin := openapi3.NewLoader() // follows no external reference unless told to
	model, err := kin.LoadFromData(doc.JSON())
	if err != nil {
		l.problem(doc, "", "the OpenAPI document does not load: %v", err)
		return
	}
	err = model.Validate(context.Background(), openapi3.EnableMultiError(), openapi3.DisableExamplesValidation(),
		openapi3.DisableSchemaDefaultsValidation())
	if err == nil {
		return
	}
	var many openapi3.MultiError
	if !errors.As(err, &many) {
		many = openapi3.MultiError{err}
	}
	for _, e := range many {
		p, message := place(e)
		l.problem(doc.Nearest(p), "", "%s", message)
	}
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
