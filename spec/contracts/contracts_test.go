package contracts_test

import (
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay.kit/spec"
	"assay.kit/spec/contracts"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// loaded holds each contract after its first use; a loaded contract is never changed.
var loaded = func() map[string]func() (*spec.Contract, error) {
	all := map[string]func() (*spec.Contract, error){}
	for _, name := range contracts.Names() {
		all[name] = once(name)
	}
	return all
}()

func once(name string) func() (*spec.Contract, error) {
	return sync.OnceValues(func() (*spec.Contract, error) {
		files, err := contracts.Named(name)
		if err != nil {
			return nil, err
		}
		return spec.Load(files, name)
	})
}

func load(t *testing.T, name string) *spec.Contract {
	t.Helper()
	c, err := loaded[name]()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// each runs a rule over every built-in contract.
func each(t *testing.T, rule func(*testing.T, *spec.Contract)) {
	for _, name := range contracts.Names() {
		t.Run(name, func(t *testing.T) { rule(t, load(t, name)) })
	}
}

func TestNamed(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"sear", `did you mean "seer"?`},
		{"Notes", `did you mean "notes"?`},
		{"seer2", `there are `},
	} {
		if _, err := contracts.Named(c.name); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Named(%q) = %v, want an error with %q", c.name, err, c.want)
		}
	}
	for _, name := range []string{"", "petstore", strings.Repeat("seer", 1000)} {
		if _, err := contracts.Named(name); err == nil || strings.Contains(err.Error(), "did you mean") {
			t.Errorf("Named(%q) = %v, want an error without a suggestion", name, err)
		}
	}
}

func TestNamesAreTheFolders(t *testing.T) {
	for _, name := range contracts.Names() {
		files, err := contracts.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"openapi.yaml", "requirements.yaml"} {
			if _, err := fs.Stat(files, file); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if !slices.IsSorted(contracts.Names()) || len(contracts.Names()) < 2 {
		t.Errorf("the names are %v", contracts.Names())
	}
}

func TestLoadsWithoutWarnings(t *testing.T) {
	each(t, func(t *testing.T, c *spec.Contract) {
		for _, w := range c.Warnings {
			t.Error(w)
		}
	})
}

// TestAnswersAreComplete: what every answer of a kind carries is promised once, for the document,
// and so easily forgotten in one of some two hundred places.
func TestAnswersAreComplete(t *testing.T) {
	each(t, func(t *testing.T, c *spec.Contract) {
		for _, op := range c.Ops {
			for status, a := range op.Answers {
				has := func(name string) bool {
					return slices.ContainsFunc(a.Headers, func(h spec.Param) bool { return h.Required && strings.EqualFold(h.Name, name) })
				}
				needs := func(header, why string) {
					if !has(header) {
						t.Errorf("%s %d has no required header %s: %s", op.ID, status, header, why)
					}
				}
				if c.Doc.Correlation != nil {
					needs(c.Doc.Correlation.Name, "every answer has it")
				}
				if status == 401 {
					needs("WWW-Authenticate", "every 401 has it")
				}
				if b := c.Doc.Backpressure; b != nil && slices.Contains(b.Statuses, status) {
					needs(c.Doc.Backpressure.Delay.Name, "backpressure promises it")
				}
				if i := op.Idempotency; i != nil && i.Required && !i.Expires.IsZero() && status < 300 {
					needs(i.Expires.Name, "a creation promises it")
				}
				if a.Schema != nil && len(a.Examples) == 0 {
					t.Errorf("%s %d has no example", op.ID, status)
				}
			}
		}
	})
}

// TestRefusals: the examples of refusals carry codes that the document gives to that status, and
// each status that an operation can refuse with is one of the document's.
func TestRefusals(t *testing.T) {
	each(t, func(t *testing.T, c *spec.Contract) {
		for _, op := range c.Ops {
			for status, a := range op.Answers {
				if status < 400 {
					continue
				}
				if a.MediaType != c.Doc.Error.MediaType {
					t.Errorf("%s %d is %s, refusals are %s", op.ID, status, a.MediaType, c.Doc.Error.MediaType)
				}
				for _, e := range a.Examples {
					code, _ := tree.Get(e.Value, c.Doc.Error.Code)
					if !hasRefusal(c, status, code) {
						t.Errorf("%s %d, example %s: %v is no code of that status", op.ID, status, e.Name, code)
					}
				}
			}
		}
	})
}

func hasRefusal(c *spec.Contract, status int, code any) bool {
	for _, r := range c.Doc.Codes {
		if r.Status == status && r.Code == code {
			return true
		}
	}
	return false
}

// TestTraitsDocumentTheirRefusals: what a trait can refuse with is a status of the operation.
func TestTraitsDocumentTheirRefusals(t *testing.T) {
	each(t, func(t *testing.T, c *spec.Contract) {
		for _, op := range c.Ops {
			needs := func(kind string) {
				if status := c.Doc.Codes[kind].Status; status != 0 && op.Answers[status] == nil {
					t.Errorf("%s does not document %d, with which it refuses (%s)", op.ID, status, kind)
				}
			}
			for _, kind := range []string{"unauthenticated", "invalid_parameter", "rate_limited", "unavailable"} {
				needs(kind)
			}
			if len(op.Scopes) > 0 {
				needs("forbidden")
			}
			if op.Body != nil {
				needs("invalid_json")
				needs("invalid_request")
				needs("too_large")
				needs("unsupported_media_type")
			}
			if op.Idempotency != nil {
				needs("key_conflict")
			}
			if op.Collection != nil {
				needs("cursor_invalid")
				needs("cursor_expired")
			}
			if op.Job != nil {
				needs("too_many_jobs")
			}
			if op.Moves != nil && op.Method == "POST" {
				needs("state_conflict")
			}
			for _, r := range op.Refs {
				if !r.Free {
					needs("not_found")
				}
			}
		}
	})
}

// TestCodesAgreeWithTheTraits: a refusal is named in the document's codes and again in the trait that
// promises it.
func TestCodesAgreeWithTheTraits(t *testing.T) {
	each(t, func(t *testing.T, c *spec.Contract) {
		same := func(op, kind string, trait spec.Refusal) {
			if c.Doc.Codes[kind] != trait {
				t.Errorf("%s promises %v, the document's %s is %v", op, trait, kind, c.Doc.Codes[kind])
			}
		}
		for _, op := range c.Ops {
			if i := op.Idempotency; i != nil {
				same(op.ID, "key_conflict", i.Conflict)
				same(op.ID, "key_required", i.Missing)
			}
			if l := op.Collection; l != nil {
				same(op.ID, "cursor_invalid", l.Invalid)
				same(op.ID, "cursor_expired", l.Expired)
			}
		}
	})
}

// TestRequestsAreClosed: an object of a request takes no members but those it names, at any depth.
func TestRequestsAreClosed(t *testing.T) {
	each(t, func(t *testing.T, c *spec.Contract) {
		for _, op := range c.Ops {
			if op.Body == nil {
				continue
			}
			if len(op.Body.Examples) == 0 {
				t.Errorf("%s has no example of a body", op.ID)
			}
			closed(t, op.Body.Schema, op.Body.Schema.Raw(), op.ID, 0)
		}
		for _, tl := range c.Tools {
			closed(t, tl.Input, tl.Input.Raw(), tl.Name, 0)
		}
	})
}

func closed(t *testing.T, s *schema.Schema, raw any, at string, depth int) {
	if depth > 12 {
		return
	}
	if next, ok := s.Deref(raw); ok {
		closed(t, s, next, at, depth+1)
		return
	}
	m, _ := raw.(map[string]any)
	if spec.PropertyTraitsOf(m).ToolInput != "" {
		return // the tool's own schema closes it
	}
	props, isObject := m["properties"].(map[string]any)
	if isObject && m["additionalProperties"] != false && m["unevaluatedProperties"] != false {
		t.Errorf("%s: an object of the request is open", at)
	}
	for name, p := range props {
		closed(t, s, p, at+"/"+name, depth+1)
	}
	if items, ok := m["items"]; ok {
		closed(t, s, items, at+"/*", depth+1)
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf"} {
		branches, _ := m[key].([]any)
		for _, b := range branches {
			closed(t, s, b, at, depth+1)
		}
	}
}

// TestEveryIDSaysWhereItComesFrom: without a ref every request that is made up is a 404.
func TestEveryIDSaysWhereItComesFrom(t *testing.T) {
	each(t, func(t *testing.T, c *spec.Contract) {
		for _, op := range c.Ops {
			for _, p := range op.Params {
				if p.In == "path" && p.Ref == nil {
					t.Errorf("%s: the path parameter %s has no ref", op.ID, p.Name)
				}
			}
		}
	})
}

func TestRequirementRows(t *testing.T) {
	each(t, func(t *testing.T, c *spec.Contract) {
		prefix := strings.ToUpper(c.Name) + "-"
		for _, r := range c.Reqs {
			if !strings.HasPrefix(r.ID, prefix) && !strings.HasPrefix(r.File, "protocol/") {
				t.Errorf("%s: the ids of this catalog begin with %s", r.ID, prefix)
			}
			if r.Source == "" || !strings.HasSuffix(r.Statement, ".") && !strings.HasSuffix(r.Statement, ")") {
				t.Errorf("%s (line %d) needs a source, and a statement that is a sentence", r.ID, r.Line)
			}
		}
	})
}
