// Package schema compiles JSON Schema 2020-12 and judges decoded JSON with it. It reads no file and
// no URL: a stranger's schema must not make this process fetch anything.
package schema

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"assay.kit/spec/tree"
)

// Set compiles the schemas of one root document on demand. It is safe for concurrent use.
type Set struct {
	uri  string
	root any

	mu       sync.Mutex // the compiler keeps state
	compiler *jsonschema.Compiler
	schemas  map[tree.Pointer]*Schema
}

// Schema is one compiled schema. It is immutable and safe for concurrent use.
type Schema struct {
	set      *Set
	pointer  tree.Pointer
	raw      any
	compiled *jsonschema.Schema
}

// New makes a set over a decoded document (json.Number for numbers) that must not change
// afterwards. The uri names it in keyword locations and is never fetched, e.g. mem://seer/openapi.
func New(uri string, root any) (*Set, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme == "" || u.Fragment != "" {
		return nil, fmt.Errorf("schema: %q is no absolute URI without fragment", uri)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	for _, f := range numberFormats() {
		c.RegisterFormat(f)
	}
	if err := c.AddResource(uri, root); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return &Set{uri: uri, root: root, compiler: c, schemas: map[tree.Pointer]*Schema{}}, nil
}

// Compile compiles a document that is one schema, such as a tool's input schema.
func Compile(name string, doc any) (*Schema, error) {
	set, err := New("mem://schema/"+url.PathEscape(name), doc)
	if err != nil {
		return nil, err
	}
	return set.At("")
}

// At compiles the schema at a pointer of the document, and all that it refers to; a second call
// returns the same one.
func (s *Set) At(p tree.Pointer) (*Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sch, ok := s.schemas[p]; ok {
		return sch, nil
	}
	raw, ok := tree.Get(s.root, p)
	if !ok {
		return nil, fmt.Errorf("there is no schema at %s", p.Fragment())
	}
	compiled, err := s.compile(p)
	if err != nil {
		return nil, err
	}
	sch := &Schema{set: s, pointer: p, raw: raw, compiled: compiled}
	s.schemas[p] = sch
	return sch, nil
}

// compile turns the library's errors, and its panics on absurd documents, into one sentence.
func (s *Set) compile(p tree.Pointer) (_ *jsonschema.Schema, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the schema at %s cannot be compiled: %v", p.Fragment(), r)
		}
	}()
	compiled, err := s.compiler.Compile(s.uri + p.Fragment())
	if err != nil {
		return nil, s.compileError(p, err)
	}
	return compiled, nil
}

func (s *Set) compileError(p tree.Pointer, err error) error {
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return fmt.Errorf("the schema at %s refers to %s; only references within the document are followed", p.Fragment(), load.URL)
	}
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		at := strings.TrimPrefix(invalid.URL, s.uri)
		var ve *jsonschema.ValidationError
		if errors.As(invalid.Err, &ve) {
			if vs := violations(ve); len(vs) > 0 {
				return fmt.Errorf("%s is no valid JSON Schema: at %q %s", at, vs[0].Instance, vs[0].Message)
			}
		}
		return fmt.Errorf("%s is no valid JSON Schema: %w", at, invalid.Err)
	}
	return errors.New(strings.ReplaceAll(err.Error(), s.uri, ""))
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("references out of the document are not followed")
}

// Pointer is where the schema is in its root document.
func (s *Schema) Pointer() tree.Pointer { return s.pointer }

// Raw is the schema as decoded: map[string]any or bool. It must not be changed.
func (s *Schema) Raw() any { return s.raw }

// Set is the set that the schema belongs to, to compile others of the same document.
func (s *Schema) Set() *Set { return s.set }

// Deref follows the local $ref of a raw schema of the same document one step. It is false if raw
// has none, or one that leads nowhere. A caller that follows chains bounds them itself: they may be
// cyclic.
func (s *Schema) Deref(raw any) (any, bool) {
	m, ok := raw.(map[string]any)
	if !ok {
		return nil, false
	}
	ref, ok := m["$ref"].(string)
	if !ok {
		return nil, false
	}
	p, err := tree.ParseFragment(ref)
	if err != nil {
		return nil, false
	}
	return tree.Get(s.set.root, p)
}

// DecodeJSON reads one JSON value strictly, as bodies must be: UTF-8, no duplicate member names, no
// lone surrogates, nothing after it, bounded in size, depth and exponent. Numbers are json.Number.
func DecodeJSON(data []byte) (any, error) { return tree.DecodeJSON(data) }
