package schema_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

func decode(t testing.TB, text string) any {
	t.Helper()
	v, err := schema.DecodeJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func compile(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile("test", decode(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// show writes violations as "pointer keyword: message", and checks that each location ends in its keyword.
func show(vs []schema.Violation) string {
	var out []string
	for _, v := range vs {
		out = append(out, fmt.Sprintf("%s %s: %s", v.Instance, v.Keyword, v.Message))
	}
	return strings.Join(out, "\n")
}

func TestViolations(t *testing.T) {
	for _, c := range []struct{ name, schema, good, bad, want string }{
		{"type", `{"type":"string"}`, `"a"`, `1`, " type: must be string, is number"},
		{"types", `{"type":["string","null"]}`, `null`, `1`, " type: must be null or string, is number"},
		{"integer", `{"type":"integer"}`, `1.0`, `1.5`, " type: must be integer, is number"},
		{"enum", `{"enum":["a","b",null]}`, `null`, `"c"`, ` enum: must be one of "a", "b", null`},
		{"const null", `{"const":null}`, `null`, `0`, ` const: must be null`},
		{"minLength", `{"minLength":2}`, `"ab"`, `"a"`, " minLength: must have at least 2 characters, has 1"},
		{"maxLength counts code points", `{"maxLength":1}`, `"😀"`, `"ab"`, " maxLength: must have at most 1 character, has 2"},
		{"pattern", `{"pattern":"^a"}`, `"a"`, `"secret"`, " pattern: must match the pattern ^a"},
		{"minimum, exact", `{"minimum":9007199254740993}`, `9007199254740993`, `9007199254740992`, " minimum: must be at least 9007199254740993"},
		{"exclusiveMaximum", `{"exclusiveMaximum":0.1}`, `0.05`, `0.1`, " exclusiveMaximum: must be less than 0.1"},
		{"multipleOf", `{"multipleOf":0.01}`, `19.99`, `0.005`, " multipleOf: must be a multiple of 0.01"},
		{"format date", `{"format":"date"}`, `"2028-02-29"`, `"2027-02-29"`, " format: is no valid date"},
		{"format date-time", `{"format":"date-time"}`, `"2026-10-01T00:00:00Z"`, `"2026-10-01T00:00:00"`, " format: is no valid date-time"},
		{"format uuid", `{"format":"uuid"}`, `"5b2f4a9c-0000-4000-8000-000000000000"`, `"5b2f"`, " format: is no valid uuid"},
		{"format int32", `{"format":"int32"}`, `-2147483648`, `2147483648`, " format: is no valid int32"},
		{"format int64", `{"format":"int64"}`, `9223372036854775807`, `9223372036854775808`, " format: is no valid int64"},
		{"int64 of a fraction", `{"format":"int64"}`, `1.0`, `1.5`, " format: is no valid int64"},
		{
			"required, one each", `{"required":["a","b","c"]}`, `{"a":1,"b":1,"c":1}`, `{"b":1}`,
			` required: the member "a" is missing` + "\n" + ` required: the member "c" is missing`,
		},
		{
			"additionalProperties names each", `{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1}`, `{"a":1,"x/y":1,"z":2}`,
			`/x~1y additionalProperties: the member "x/y" is not allowed` + "\n" + `/z additionalProperties: the member "z" is not allowed`,
		},
		{"unevaluatedProperties", `{"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}`, `{"a":1}`, `{"b":1}`, "/b unevaluatedProperties: must not be there"},
		{"dependentRequired", `{"dependentRequired":{"start":["end"]}}`, `{"end":1}`, `{"start":1}`, ` dependentRequired: the member "end" is missing; "start" needs it`},
		{"dependentSchemas", `{"dependentSchemas":{"a":{"required":["b"]}}}`, `{}`, `{"a":1}`, ` required: the member "b" is missing`},
		{"propertyNames", `{"propertyNames":{"maxLength":1}}`, `{"a":1}`, `{"ab":1}`, `/ab propertyNames: the name "ab" is not allowed: must have at most 1 character, has 2`},
		{"false member", `{"properties":{"a":false}}`, `{}`, `{"a":1}`, "/a properties: must not be there"},
		{"items", `{"items":{"type":"string"}}`, `["a"]`, `["a",1,2]`, "/1 type: must be string, is number\n/2 type: must be string, is number"},
		{"prefixItems", `{"prefixItems":[{}],"items":false}`, `[1]`, `[1,2]`, "/1 items: must not be there"},
		{"minItems", `{"minItems":1}`, `[1]`, `[]`, " minItems: must have at least 1 item, has 0"},
		{"uniqueItems", `{"uniqueItems":true}`, `[1,2]`, `[1,1.0]`, " uniqueItems: must have no two equal items; items 0 and 1 are equal"},
		{"contains", `{"contains":{"const":1}}`, `[2,1]`, `[2]`, " contains: must hold an item of the kind that the schema asks for, holds none"},
		{"maxContains", `{"contains":{"const":1},"maxContains":1}`, `[1]`, `[1,1]`, " maxContains: must hold at most 1 items of the kind that the schema asks for, holds 2"},
		{"not", `{"not":{"type":"string"}}`, `1`, `"a"`, " not: fits what it must not be"},
		{"if then", `{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{}`, `{"a":1}`, ` required: the member "b" is missing`},
		{"ref", `{"$ref":"#/$defs/x","$defs":{"x":{"minLength":3}}}`, `"abc"`, `"a"`, " minLength: must have at least 3 characters, has 1"},
		{"several at once", `{"required":["a"],"properties":{"b":{"type":"string","minLength":2},"c":{"minimum":1}}}`, `{"a":1}`, `{"b":"x","c":0}`, ` required: the member "a" is missing` + "\n/b minLength: must have at least 2 characters, has 1\n/c minimum: must be at least 1"},
		{"items in order of number", `{"items":{"minimum":1}}`, `[1]`, `[1,1,0,1,1,1,1,1,1,1,0]`, "/2 minimum: must be at least 1\n/10 minimum: must be at least 1"},
	} {
		s := compile(t, c.schema)
		if vs := s.Validate(decode(t, c.good)); len(vs) > 0 {
			t.Errorf("%s: %s is refused: %s", c.name, c.good, show(vs))
		}
		vs := s.Validate(decode(t, c.bad))
		if got := show(vs); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
		for _, v := range vs {
			if !strings.HasPrefix(v.Location, "mem://schema/test#/") || !strings.Contains(v.Location, "/"+v.Keyword) {
				t.Errorf("%s: location %q of keyword %s", c.name, v.Location, v.Keyword)
			}
		}
	}
}

// TestAlternatives: what is reported of anyOf and oneOf is about the alternative that was meant.
func TestAlternatives(t *testing.T) {
	tagged := `{"oneOf":[{"required":["n"],"properties":{"kind":{"const":"a"},"n":{"type":"number"}}},{"properties":{"kind":{"const":"b"}}}]}`
	for _, c := range []struct{ name, schema, bad, want string }{
		{"nullable", `{"anyOf":[{"type":"object","required":["a"]},{"type":"null"}]}`, `{}`, ` required: the member "a" is missing`},
		{"told apart by a constant", tagged, `{"kind":"a","n":"x"}`, "/n type: must be number, is string"},
		{"no alternative is near", tagged, `{"kind":"c"}`, " oneOf: fits none of the alternatives"},
		{"wrong type for all", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `1`, " anyOf: fits none of the alternatives"},
		{
			"several are near", `{"anyOf":[{"minLength":2},{"pattern":"^b"}]}`, `"a"`,
			" anyOf: fits none of the alternatives\n minLength: must have at least 2 characters, has 1\n pattern: must match the pattern ^b",
		},
		{"fits two", `{"oneOf":[{"type":"number"},{"type":"integer"}]}`, `1`, " oneOf: fits two alternatives, 0 and 1, and must fit only one"},
	} {
		if got := show(compile(t, c.schema).Validate(decode(t, c.bad))); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestMessagesKeepValues: a violation names rules, never what was sent.
func TestMessagesKeepValues(t *testing.T) {
	s := compile(t, `{"properties":{"a":{"format":"date"},"b":{"enum":["x"]},"c":{"const":"y"},"d":{"pattern":"^z"},"e":{"maxLength":1},"f":{"type":"number"}}}`)
	const secret = "hunter2-hunter2"
	body := map[string]any{}
	for _, k := range []string{"a", "b", "c", "d", "e", "f"} {
		body[k] = secret
	}
	vs := s.Validate(body)
	if len(vs) != 6 || strings.Contains(show(vs), secret) {
		t.Errorf("got %s", show(vs))
	}
}

func TestSet(t *testing.T) {
	root := decode(t, `{"openapi":"3.1.0","paths":{"/a b":{"x":{"$ref":"#/components/schemas/N%C3%A9"}}},
		"components":{"schemas":{"Né":{"type":"object","properties":{"next":{"$ref":"#/components/schemas/N%C3%A9"}}},"Loop":{"$ref":"#/components/schemas/Loop"}}}}`)
	set, err := schema.New("mem://x/openapi", root)
	if err != nil {
		t.Fatal(err)
	}
	p := tree.PointerTo("paths", "/a b", "x")
	s, err := set.At(p)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := set.At(p); again != s || s.Pointer() != p || s.Set() != set {
		t.Error("the second call gives another schema")
	}
	if got := show(s.Validate(decode(t, `{"next":{"next":3}}`))); got != "/next/next type: must be object, is number" {
		t.Errorf("got %s", got)
	}
	next, ok := s.Deref(s.Raw())
	if m, _ := next.(map[string]any); !ok || m["type"] != "object" {
		t.Errorf("deref gives %v", next)
	}
	for _, raw := range []any{nil, true, map[string]any{}, map[string]any{"$ref": "other.yaml#/a"}, map[string]any{"$ref": "#/nope"}, map[string]any{"$ref": 3}} {
		if v, ok := s.Deref(raw); ok {
			t.Errorf("deref of %v gives %v", raw, v)
		}
	}
	if _, err := set.At("/nope"); err == nil || !strings.Contains(err.Error(), "no schema at #/nope") {
		t.Errorf("error is %v", err)
	}
	loop, err := set.At("/components/schemas/Loop")
	if err != nil {
		t.Fatal(err)
	}
	if vs := loop.Validate(1.0); len(vs) != 1 || vs[0].Keyword != "$ref" {
		t.Errorf("a schema that is only itself says %v", vs)
	}
}

func TestSetIsConcurrent(t *testing.T) {
	schemas := map[string]any{}
	for i := range 20 {
		schemas[fmt.Sprint(i)] = decode(t, fmt.Sprintf(`{"properties":{"n":{"$ref":"#/s/%d"},"v":{"minimum":%d}}}`, (i+1)%20, i))
	}
	set, err := schema.New("mem://x", map[string]any{"s": schemas})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for lane := range 8 {
		wg.Go(func() {
			for i := range 20 {
				s, err := set.At(tree.PointerTo("s", fmt.Sprint((i+lane)%20)))
				if err != nil {
					t.Error(err)
					return
				}
				if vs := s.Validate(map[string]any{"n": map[string]any{"v": -1.0}}); len(vs) != 1 {
					t.Errorf("lane %d: %v", lane, vs)
				}
			}
		})
	}
	wg.Wait()
}

func TestNothingIsLoaded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(file, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"file://" + filepath.ToSlash(file), "http://127.0.0.1:1/x", "https://example.com/x", "other.json", "mem://schema/nope"} {
		_, err := schema.Compile("test", map[string]any{"$ref": ref})
		if err == nil || !strings.Contains(err.Error(), "only references within the document") {
			t.Errorf("$ref %s: error is %v", ref, err)
		}
		if _, err := schema.Compile("test", map[string]any{"$schema": ref}); err == nil {
			t.Errorf("$schema %s is accepted", ref)
		}
	}
	if _, err := schema.Compile("test", decode(t, `{"$id":"http://example.com/a","$ref":"b"}`)); err == nil {
		t.Error("a $ref relative to $id is followed")
	}
}

func TestCompileErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"strin"}`:     "no valid JSON Schema",
		`{"minLength":-1}`:     "at least 0",
		`{"pattern":"^(?!a)"}`: "regex",
		`{"$ref":"#/nope"}`:    "nope",
		`3`:                    "no valid JSON Schema",
		`{"properties":{"a":{"x":1}},"required":[1]}`: "no valid JSON Schema",
	} {
		if _, err := schema.Compile("test", decode(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %q", text, err, want)
		}
	}
	for _, uri := range []string{"", "relative", "mem://x#frag", "%zz"} {
		if _, err := schema.New(uri, map[string]any{}); err == nil {
			t.Errorf("the uri %q is accepted", uri)
		}
	}
}

func TestDecodeJSONRefuses(t *testing.T) {
	for _, text := range []string{
		"", "{", `{"a":1,"a":1}`, "{} {}", "\"\xff\"", `"\ud800"`, "[1e9999]", "nul", "01", "[1,]", "'a'", "NaN", "\ufeff{}",
		strings.Repeat("[", 1000) + strings.Repeat("]", 1000),
	} {
		if v, err := schema.DecodeJSON([]byte(text)); err == nil {
			t.Errorf("%.40q decodes as %v", text, v)
		}
	}
}

func FuzzDecodeJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1.50,"x",null,true]}`, `"\ud83d\ude00"`, "1e400", " [] "} {
		f.Add([]byte(s))
	}
	s := compile(f, `{"type":["object","array"],"properties":{"a":{"minimum":1,"multipleOf":0.01}},"uniqueItems":true,"additionalProperties":false}`)
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := schema.DecodeJSON(data)
		if err != nil {
			return
		}
		for _, viol := range s.Validate(v) {
			if viol.Keyword == "" || viol.Message == "" || viol.Location == "" {
				t.Errorf("%q: empty violation %+v", data, viol)
			}
			if _, err := tree.ParsePointer(string(viol.Instance)); err != nil {
				t.Errorf("%q: %v", data, err)
			}
		}
	})
}

// FuzzCompile: a stranger's schema gives a schema or an error, never a panic.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{`{"$ref":"#"}`, `{"$id":"a","$anchor":"b","$ref":"#b"}`, `{"$dynamicRef":"#x","$dynamicAnchor":"x"}`, `{"items":[{}]}`, `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := schema.DecodeJSON(data)
		if err != nil {
			return
		}
		s, err := schema.Compile("fuzz", v)
		if err != nil {
			return
		}
		s.Validate(v)
	})
}
