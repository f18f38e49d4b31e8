package gen

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

func compile(t testing.TB, text string) *schema.Schema {
	t.Helper()
	doc, err := schema.DecodeJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Compile("test", doc)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func decode(t testing.TB, text string) any {
	t.Helper()
	v, err := schema.DecodeJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// order is close to what real contracts have: references, closed objects, formats, alternatives.
const order = `{
  "type": "object", "additionalProperties": false,
  "required": ["name", "kind", "lines", "price"],
  "properties": {
    "name": {"type": "string", "minLength": 3, "maxLength": 20, "pattern": "^[a-z][a-z0-9-]*$"},
    "kind": {"enum": ["buy", "sell"]},
    "version": {"const": "1.0"},
    "note": {"type": ["string", "null"], "maxLength": 10},
    "at": {"type": "string", "format": "date-time"},
    "weight": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "step": {"type": "number", "multipleOf": 0.05, "minimum": 0, "maximum": 10},
    "count": {"type": "integer", "minimum": 1, "maximum": 100},
    "tags": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 5}, "uniqueItems": true, "maxItems": 3},
    "lines": {"type": "array", "minItems": 1, "maxItems": 4, "items": {"$ref": "#/$defs/line"}},
    "price": {"$ref": "#/$defs/money"},
    "labels": {"type": "object", "maxProperties": 2, "propertyNames": {"pattern": "^[a-z]{1,8}$"}, "additionalProperties": {"type": "string", "maxLength": 4}},
    "card": {"type": "string"}, "address": {"type": "string"},
    "target": {"oneOf": [
      {"type": "object", "additionalProperties": false, "required": ["type", "id"], "properties": {"type": {"const": "one"}, "id": {"type": "string", "minLength": 2}}},
      {"type": "object", "additionalProperties": false, "required": ["type", "all"], "properties": {"type": {"const": "all"}, "all": {"type": "boolean"}}}
    ]}
  },
  "dependentRequired": {"card": ["address"]},
  "$defs": {
    "line": {"allOf": [{"$ref": "#/$defs/base"}, {"type": "object", "required": ["quantity"], "properties": {"quantity": {"type": "integer", "minimum": 1}}}], "unevaluatedProperties": false},
    "base": {"type": "object", "required": ["sku"], "properties": {"sku": {"type": "string", "pattern": "^[A-Z]{2}[0-9]{3}$"}}},
    "money": {"type": "object", "additionalProperties": false, "required": ["amount", "asset", "scale"],
      "properties": {"amount": {"type": "string", "pattern": "^(0|-?[1-9][0-9]*)$"}, "asset": {"type": "string", "minLength": 1}, "scale": {"type": "integer", "minimum": 0, "maximum": 18}}}
  }
}`

const orderBase = `{"name": "abc-1", "kind": "buy", "lines": [{"sku": "AB123", "quantity": 2}], "price": {"amount": "100", "asset": "USD", "scale": 2}}`

func TestPositiveIsValidAndVaried(t *testing.T) {
	for name, text := range map[string]string{
		"order":           order,
		"true":            `true`,
		"no type":         `{"properties": {"a": {"type": "string"}}, "required": ["a"]}`,
		"const null":      `{"const": null}`,
		"two types":       `{"type": ["integer", "string"], "minimum": 3, "minLength": 2}`,
		"tight":           `{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.00001}`,
		"fine multiple":   `{"type": "number", "multipleOf": 0.01, "minimum": 4.345, "maximum": 4.355}`,
		"integer by half": `{"type": "integer", "multipleOf": 1.5}`,
		"any of":          `{"anyOf": [{"type": "string", "maxLength": 2}, {"type": "object", "required": ["x"], "properties": {"x": {"type": "null"}}}]}`,
		"if then":         `{"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "integer"}}, "required": ["a"], "if": {"properties": {"a": {"const": true}}}, "then": {"required": ["b"]}, "else": {"not": {"required": ["b"]}}}`,
		"tree":            `{"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "required": ["v"], "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/n"}}}, "additionalProperties": false}}}`,
		"pattern names":   `{"type": "object", "patternProperties": {"^q[0-9]$": {"type": "number"}}, "additionalProperties": false, "minProperties": 1}`,
		"contains":        `{"type": "array", "items": {"type": "integer"}, "contains": {"const": 7}}`,
		"prefix":          `{"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false, "minItems": 2}`,
		"long pattern":    `{"type": "string", "pattern": "^[a-z]+$", "minLength": 60, "maxLength": 64}`,
		"open pattern":    `{"type": "string", "pattern": "[0-9]"}`,
		"dependent":       `{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "dependentSchemas": {"a": {"required": ["b"]}}, "additionalProperties": false}`,
		"uuid":            `{"type": "string", "format": "uuid"}`,
		"uri":             `{"type": "string", "format": "uri"}`,
		"email":           `{"type": "string", "format": "email"}`,
		"ipv6":            `{"type": "string", "format": "ipv6"}`,
		"hostname":        `{"type": "string", "format": "hostname"}`,
		"duration":        `{"type": "string", "format": "duration"}`,
		"time":            `{"type": "string", "format": "time"}`,
		"int32":           `{"type": "integer", "format": "int32", "minimum": 2147483640}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := compile(t, text)
			g := Positive(s, Options{})
			seen := map[string]bool{}
			rapid.Check(t, func(t *rapid.T) {
				v := g.Draw(t, "value")
				if vs := s.Validate(v); len(vs) > 0 {
					t.Fatalf("%s is invalid: %v", Encode(v), vs)
				}
				// What goes over the wire must read back as the same value.
				back, err := schema.DecodeJSON(Encode(v))
				if err != nil || !same(back, v) {
					t.Fatalf("%s does not read back: %v", Encode(v), err)
				}
				seen[string(Encode(v))] = true
			})
			if name != "const null" && name != "tight" && name != "fine multiple" && len(seen) < 2 {
				t.Errorf("only %v", seen)
			}
		})
	}
}

func TestPositiveUsesValuesThatExist(t *testing.T) {
	s := compile(t, order)
	o := Options{RequiredOnly: true, Values: map[string]any{"asset": "XBT", "note": "hello", "kind": "neither"},
		At: map[tree.Pointer]any{"/lines/0/sku": "ZZ999"}}
	rapid.Check(t, func(t *rapid.T) {
		v := Positive(s, o).Draw(t, "value")
		for p, want := range map[tree.Pointer]any{"/price/asset": "XBT", "/note": "hello", "/lines/0/sku": "ZZ999"} {
			if got, _ := tree.Get(v, p); got != want {
				t.Fatalf("%s is %v, not %v", p, got, want)
			}
		}
		if _, there := tree.Get(v, "/at"); there {
			t.Fatal("an optional member without a value was generated")
		}
	})
}

func TestPositiveDropsReadOnly(t *testing.T) {
	s := compile(t, `{"type": "object", "properties": {"id": {"type": "string", "readOnly": true}, "a": {"type": "string"}}}`)
	rapid.Check(t, func(t *rapid.T) {
		if _, there := tree.Get(Positive(s, Options{DropReadOnly: true}).Draw(t, "value"), "/id"); there {
			t.Fatal("a readOnly member was generated")
		}
	})
}

const invocation = `{"type": "object", "additionalProperties": false, "required": ["tool", "input"], "properties": {
  "tool": {"enum": ["bars", "scan"]}, "input": {"type": "object", "x-assay": {"toolInput": "/tool"}}}}`

func tools(t testing.TB) func(string) *schema.Schema {
	bars := compile(t, `{"type": "object", "additionalProperties": false, "required": ["id"], "properties": {"id": {"type": "string", "minLength": 2}, "limit": {"type": "integer", "maximum": 10}}}`)
	scan := compile(t, `{"type": "object", "additionalProperties": false, "required": ["deep"], "properties": {"deep": {"type": "boolean"}}}`)
	return func(name string) *schema.Schema { return map[string]*schema.Schema{"bars": bars, "scan": scan}[name] }
}

func TestToolInputFollowsItsTool(t *testing.T) {
	s, o := compile(t, invocation), Options{ToolInput: tools(t)}
	rapid.Check(t, func(t *rapid.T) {
		v := Positive(s, o).Draw(t, "value")
		tool, _ := tree.Get(v, "/tool")
		_, bars := tree.Get(v, "/input/id")
		_, scan := tree.Get(v, "/input/deep")
		if bars != (tool == "bars") || scan != (tool == "scan") {
			t.Fatalf("%s", Encode(v))
		}
	})
	base := decode(t, `{"tool": "bars", "input": {"id": "xy"}}`)
	var found bool
	for _, p := range Keywords(s, base, o) {
		if p.Pointer == "/input/limit" && p.Keyword == "maximum" {
			b, ok := BreakAt(s, base, p, o)
			found = ok && b.Keyword == "maximum" && strings.Contains(string(b.Raw), `"limit":11`)
		}
	}
	if !found {
		t.Error("the tool's maximum cannot be broken")
	}
}

// TestKeywordsCanAllBeBroken is the claim of this package: every listed place breaks, alone.
func TestKeywordsCanAllBeBroken(t *testing.T) {
	s, base := compile(t, order), decode(t, orderBase)
	places := Keywords(s, base, Options{})
	got := map[string]bool{}
	for _, p := range places {
		b, ok := BreakAt(s, base, p, Options{})
		if !ok {
			t.Errorf("%s cannot be broken", p)
			continue
		}
		vs := s.Validate(b.Value)
		if len(vs) == 0 || !strings.HasPrefix(string(b.Pointer), string(p.Pointer)) && b.Keyword != "oneOf" {
			t.Errorf("%s: %+v, %v", p, b, vs)
		}
		back, err := schema.DecodeJSON(b.Raw)
		if err != nil || !same(back, b.Value) {
			t.Errorf("%s: the text %s is not the value", p, b.Raw)
		}
		got[p.String()] = true
	}
	for _, want := range []string{
		`type at ""`, `required name at ""`, `additionalProperties at ""`, `minLength at "/name"`, `maxLength at "/name"`, `pattern at "/name"`,
		`enum at "/kind"`, `const at "/version"`, `maxLength at "/note"`, `format at "/at"`, `exclusiveMinimum at "/weight"`, `maximum at "/weight"`,
		`multipleOf at "/step"`, `minimum at "/count"`, `uniqueItems at "/tags"`, `maxItems at "/tags"`, `minLength at "/tags/0"`, `minItems at "/lines"`,
		`pattern at "/lines/0/sku"`, `required sku at "/lines/0"`, `additionalProperties at "/lines/0"`, `additionalProperties at "/price"`,
		`maxProperties at "/labels"`, `propertyNames at "/labels"`, `dependentRequired address at ""`, `const at "/target/type"`,
		`required all at "/target"`, `minLength at "/target/id"`, `type at "/target/all"`, `maximum at "/price/scale"`,
	} {
		if !got[want] {
			t.Errorf("%s is not among the %d broken places", want, len(got))
		}
	}
}

// A null must not hide what the member can be instead.
func TestKeywordsOfNullable(t *testing.T) {
	s := compile(t, `{"type": "object", "properties": {"style": {"type": ["object", "null"], "required": ["size"], "properties": {"size": {"type": "integer", "minimum": 1}}, "additionalProperties": false}}}`)
	got := map[string]bool{}
	for _, p := range Keywords(s, decode(t, `{"style": null}`), Options{}) {
		got[p.String()] = true
	}
	for _, want := range []string{`type at "/style"`, `required size at "/style"`, `minimum at "/style/size"`, `additionalProperties at "/style"`} {
		if !got[want] {
			t.Errorf("no %s among %v", want, got)
		}
	}
}

func TestBreakAtIsPure(t *testing.T) {
	s, base := compile(t, order), decode(t, orderBase)
	for _, p := range Keywords(s, base, Options{}) {
		b, _ := BreakAt(s, base, p, Options{})
		again, _ := BreakAt(s, base, Place{Keyword: p.Keyword, Pointer: p.Pointer, Member: p.Member}, Options{})
		if string(b.Raw) != string(again.Raw) {
			t.Errorf("%s: %s, then %s", p, b.Raw, again.Raw)
		}
		if len(b.Also) > 0 && p.Keyword != "type" && p.Keyword != "const" && p.Keyword != "enum" && !p.Pointer.Within("/target") {
			t.Errorf("%s breaks %v too: %s", p, b.Also, b.Raw)
		}
	}
}

func TestBreakAtGivesUp(t *testing.T) {
	s := compile(t, `{"type": "string", "pattern": "(?s)^.*$"}`)
	for _, p := range Keywords(s, "abc", Options{}) {
		if b, ok := BreakAt(s, "abc", p, Options{}); ok && p.Keyword == "pattern" {
			t.Errorf("a pattern that matches everything was broken by %s", b.Raw)
		}
	}
	if len(Keywords(s, json.Number("1"), Options{})) > 0 {
		t.Error("an invalid base has places")
	}
}

func TestNegative(t *testing.T) {
	s, base := compile(t, order), decode(t, orderBase)
	g := Negative(s, base, Options{})
	keywords := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		b := g.Draw(t, "broken")
		vs := s.Validate(b.Value)
		found := false
		for _, v := range vs {
			found = found || v.Keyword == b.Keyword && v.Instance == b.Pointer
		}
		if !found {
			t.Fatalf("%s: not %s at %s, but %v", b.Raw, b.Keyword, b.Pointer, vs)
		}
		keywords[b.Keyword] = true
	})
	if len(keywords) < 5 {
		t.Errorf("only %v", keywords)
	}
}

func TestNeighbour(t *testing.T) {
	s, base := compile(t, order), decode(t, `{"name": "abc-1", "kind": "buy", "note": null, "count": 5, "tags": ["a", "b"], "weight": 0.5,
		"lines": [{"sku": "AB123", "quantity": 2}], "price": {"amount": "100", "asset": "USD", "scale": 2}}`)
	g := Neighbour(s, base, Options{})
	kinds := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		c := g.Draw(t, "change")
		if same(c.Value, base) {
			t.Fatalf("%s at %s changes nothing", c.Kind, c.Pointer)
		}
		if vs := s.Validate(c.Value); len(vs) > 0 {
			t.Fatalf("%s is invalid: %v", Encode(c.Value), vs)
		}
		// Nothing but the place differs: undoing it gives the base back.
		undone := restore(c, base)
		if !same(undone, base) {
			t.Fatalf("%s at %s changes more: %s", c.Kind, c.Pointer, Encode(c.Value))
		}
		kinds[c.Kind] = true
	})
	for _, want := range []string{"leaf", "added"} {
		if !kinds[want] {
			t.Errorf("no %s among %v", want, kinds)
		}
	}
	found := map[string]bool{}
	for _, c := range Neighbours(s, base, 500, Options{}) {
		found[c.Kind+" "+string(c.Pointer)] = true
	}
	for _, want := range []string{"removed /note", "removed /count", "leaf /price/amount", "leaf /weight", "order /tags", "item /tags/0", "added /at", "leaf /kind", "leaf /lines/0/sku"} {
		if !found[want] {
			t.Errorf("no neighbour %q", want)
		}
	}
}

func restore(c Change, base any) any {
	parent := parentOf(c.Pointer)
	old, there := tree.Get(base, c.Pointer)
	switch holder, _ := tree.Get(base, parent); {
	case isArray(holder) && c.Kind == "item":
		return put(c.Value, parent, holder)
	case there:
		return put(c.Value, c.Pointer, old)
	default:
		return remove(c.Value, c.Pointer)
	}
}

func TestNeighbourKeepsReferences(t *testing.T) {
	s := compile(t, `{"type": "object", "required": ["agent", "n"], "properties": {
		"agent": {"type": "string", "x-assay": {"ref": {"resource": "agent", "from": "listAgents"}}},
		"own": {"type": "string", "x-assay": {"ref": {"resource": "own", "free": true}}},
		"instrument": {"type": "string"}, "n": {"type": "integer"}}}`)
	base := decode(t, `{"agent": "a1", "own": "o1", "instrument": "i1", "n": 1}`)
	o := Options{Values: map[string]any{"instrument": "i1"}}
	changed := map[tree.Pointer]bool{}
	for _, c := range Neighbours(s, base, 200, o) {
		changed[c.Pointer] = true
	}
	if changed["/agent"] || changed["/instrument"] || !changed["/n"] || !changed["/own"] {
		t.Errorf("changed %v", changed)
	}
	o.ChangeRefs = true
	changed = map[tree.Pointer]bool{}
	for _, c := range Neighbours(s, base, 200, o) {
		changed[c.Pointer] = true
	}
	if !changed["/agent"] {
		t.Errorf("asked for, but only changed %v", changed)
	}
}

func TestNeighbourOfTextAndNumber(t *testing.T) {
	s := compile(t, `{"type": ["string", "integer", "null"]}`)
	kinds := map[string]string{}
	for _, c := range Neighbours(s, "12", 50, Options{}) {
		if _, there := kinds[c.Kind]; !there {
			kinds[c.Kind] = string(Encode(c.Value))
		}
	}
	if kinds["type"] != "12" || kinds["null"] != "null" {
		t.Errorf("%v", kinds)
	}
}

func TestRespell(t *testing.T) {
	v := decode(t, `{"b": [1, 0, -2.5, 1e3, 0.001], "a": "x/é\u0000\ud83d\ude00\"", "c": {"d": null, "e": true}, "": []}`)
	all := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		sp := Respell(v).Draw(t, "spelling")
		back, err := schema.DecodeJSON(sp.Text)
		if err != nil || !same(back, v) {
			t.Fatalf("%s: %v", sp.Text, err)
		}
		if string(sp.Text) == string(Encode(v)) {
			t.Fatal("the plain text")
		}
		for _, k := range sp.Kinds {
			all[k] = true
		}
		only := Respell(v, Order, Space).Draw(t, "restricted")
		for _, k := range only.Kinds {
			if k != Order && k != Space {
				t.Fatalf("restricted, but %s", k)
			}
		}
		if strings.Contains(string(only.Text), "1000") {
			t.Fatalf("a number was respelled: %s", only.Text)
		}
	})
	if len(all) != 4 {
		t.Errorf("only %v", all)
	}
}

func TestKey(t *testing.T) {
	longest := 0
	rapid.Check(t, func(t *rapid.T) {
		k := Key(255).Draw(t, "key")
		longest = max(longest, len(k))
		if len(k) < 1 || len(k) > 255 || strings.ContainsFunc(k, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Fatalf("%q", k)
		}
	})
	if longest != 255 {
		t.Errorf("the longest has %d", longest)
	}
}

func FuzzRespell(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.50,-0,1e-7],"é":"\u2028/"}`, `"\ud83d\ude00"`, `[[],{},null,true,12345678901234567890]`} {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, text []byte, seed int) {
		v, err := schema.DecodeJSON(text)
		if err != nil {
			return
		}
		sp := Respell(v).Example(seed)
		back, err := schema.DecodeJSON(sp.Text)
		if err != nil || !same(back, v) {
			t.Errorf("%q became %q: %v", text, sp.Text, err)
		}
	})
}
