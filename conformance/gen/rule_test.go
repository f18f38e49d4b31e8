package gen

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"assay.kit/spec/schema"
)

// TestRulesCanBeBroken has one schema a rule, a valid value, and what the validator says when it is broken.
func TestRulesCanBeBroken(t *testing.T) {
	for _, c := range []struct{ schema, base, place, keyword string }{
		{`{"type":"array","items":{"type":["integer","string"]},"contains":{"type":"integer"}}`, `[1,"a",2]`, `contains at ""`, "contains"},
		{`{"type":"array","items":{"type":["integer","string"]},"contains":{"type":"integer"},"minContains":2}`, `[1,"a",2]`, `minContains at ""`, "minContains"},
		{`{"type":"array","items":{"type":["integer","string"]},"contains":{"type":"integer"},"maxContains":2}`, `["a",2]`, `maxContains at ""`, "maxContains"},
		{`{"type":"array","uniqueItems":true,"maxItems":3,"items":{"type":["integer","string"]},"contains":{"type":"integer"},"maxContains":1}`, `["a",2,"b"]`, `maxContains at ""`, "maxContains"},
		{`{"type":["integer","string"],"not":{"type":"integer"}}`, `"a"`, `not at ""`, "not"},
		{`{"type":"string","not":{"enum":["root","admin"]}}`, `"user"`, `not at ""`, "not"},
		{`{"type":"string","not":{"pattern":"^x-"}}`, `"user"`, `not at ""`, "not"},
		{`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"not":{"required":["a","b"]}}`, `{"a":1}`, `not at ""`, "not"},
		{`{"type":"object","properties":{"n":{"type":"integer","not":{"multipleOf":3}}}}`, `{"n":1}`, `not at "/n"`, "not"},
		{`{"type":"integer","oneOf":[{"minimum":5},{"maximum":10}]}`, `1`, `oneOf at ""`, "oneOf"},
		{`{"type":"integer","oneOf":[{"minimum":50},{"maximum":10}]}`, `1`, `oneOf at ""`, "oneOf"},
		{`{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}`, `{"a":1}`, `anyOf at ""`, "anyOf"},
		{`{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"integer"}},"if":{"required":["a"]},"then":{"required":["b"]}}`, `{}`, `then at ""`, "required"},
		{`{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"integer"}},"if":{"required":["a"]},"else":{"required":["b"]}}`, `{"a":true}`, `else at ""`, "required"},
		{`{"type":"object","required":["k"],"properties":{"k":{"enum":["x","y"]},"n":{"type":"integer"}},"if":{"properties":{"k":{"const":"x"}}},"then":{"properties":{"n":{"maximum":3}}},"else":{"properties":{"n":{"minimum":10}}}}`, `{"k":"x","n":1}`, `else at ""`, "minimum"},
		{`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"dependentSchemas":{"a":{"required":["b"]}}}`, `{}`, `dependentSchemas a at ""`, "required"},
		{`{"type":"object","patternProperties":{"^q[0-9]$":{"type":"integer"}}}`, `{}`, `type at "/q1"`, "type"},
		{`{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":false}`, `[1]`, `items at ""`, "items"},
		{`{"type":"array","prefixItems":[{"type":"integer"}],"unevaluatedItems":false}`, `[1]`, `unevaluatedItems at ""`, "unevaluatedItems"},
		{`{"type":"object","properties":{"a":false,"b":{"type":"integer"}}}`, `{"b":1}`, `properties a at ""`, "properties"},
	} {
		t.Run(c.place+" of "+c.schema, func(t *testing.T) {
			s, base := compile(t, c.schema), decode(t, c.base)
			var names []string
			for _, p := range Keywords(s, base, Options{}) {
				names = append(names, p.String())
				if p.String() != c.place && !(strings.HasPrefix(c.place, "type at") && strings.HasPrefix(p.String(), "type at \"/q")) {
					continue
				}
				b, ok := BreakAt(s, base, p, Options{})
				if !ok || b.Keyword != c.keyword || len(b.Also) > 0 {
					t.Errorf("%s: %v %s at %q, also %v: %s", p, ok, b.Keyword, b.Pointer, b.Also, b.Raw)
				}
				proved(t, s, b)
				return
			}
			t.Errorf("no %s among %v", c.place, names)
		})
	}
}

// proved asks the validator whether a value is broken where it says.
func proved(t *testing.T, s *schema.Schema, b Broken) {
	t.Helper()
	for _, v := range s.Validate(b.Value) {
		if v.Keyword == b.Keyword && v.Instance == b.Pointer {
			return
		}
	}
	t.Errorf("%s: not %s at %q, but %v", b.Raw, b.Keyword, b.Pointer, s.Validate(b.Value))
}

// TestManySchemas makes schemas by seed, values that fit each, and breaks each value in every place.
func TestManySchemas(t *testing.T) {
	places, broken := 0, 0
	keywords, unbroken := map[string]int{}, map[string]int{}
	for seed := range uint64(40) {
		d := schemaDraw{rand.New(rand.NewPCG(seed, 1))}
		raw := d.object(2)
		s := compile(t, string(Encode(raw)))
		base, ok := firstOf(s, int(seed))
		if !ok {
			t.Errorf("seed %d: nothing fits %s", seed, Encode(raw))
			continue
		}
		if vs := s.Validate(base); len(vs) > 0 {
			t.Fatalf("seed %d: %s is invalid: %v", seed, Encode(base), vs)
		}
		for _, p := range Keywords(s, base, Options{}) {
			places++
			b, ok := BreakAt(s, base, p, Options{})
			if !ok {
				unbroken[p.Keyword]++
				continue
			}
			broken++
			keywords[p.Keyword]++
			proved(t, s, b)
		}
		for _, c := range Neighbours(s, base, 20, Options{}) {
			if vs := s.Validate(c.Value); len(vs) > 0 || same(c.Value, base) {
				t.Fatalf("seed %d: %s of %s: %v", seed, c.Kind, Encode(c.Value), vs)
			}
		}
	}
	t.Logf("%d places, %d broken; %v; not: %v", places, broken, keywords, unbroken)
	if broken*100 < places*85 {
		t.Errorf("only %d of %d places were broken, not %v", broken, places, unbroken)
	}
	for _, k := range strings.Fields(`type enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format
		minItems maxItems uniqueItems contains minContains maxContains required additionalProperties propertyNames minProperties maxProperties
		dependentRequired dependentSchemas anyOf oneOf not then else items properties`) {
		if keywords[k] == 0 {
			t.Errorf("%s was never broken", k)
		}
	}
}

func firstOf(s *schema.Schema, seed int) (v any, ok bool) {
	defer func() {
		if recover() != nil { // rapid found nothing
			ok = false
		}
	}()
	return Positive(s, Options{}).Example(seed), true
}

func FuzzManySchemas(f *testing.F) {
	f.Add(uint64(1), 1)
	f.Fuzz(func(t *testing.T, seed uint64, value int) {
		s := compile(t, string(Encode(schemaDraw{rand.New(rand.NewPCG(seed, 2))}.object(2))))
		base, ok := firstOf(s, value)
		if !ok {
			return
		}
		for _, p := range Keywords(s, base, Options{}) {
			if b, ok := BreakAt(s, base, p, Options{}); ok {
				proved(t, s, b)
			}
		}
	})
}

// schemaDraw makes schemas that something fits.
type schemaDraw struct{ *rand.Rand }

func (d schemaDraw) coin() bool { return d.IntN(2) == 0 }

// object has members of all kinds and, by chance, each rule over them.
func (d schemaDraw) object(depth int) map[string]any {
	props := map[string]any{}
	for i := range 2 + d.IntN(4) {
		props[fmt.Sprintf("m%d", i)] = d.any(depth - 1)
	}
	out := map[string]any{"type": "object", "properties": props}
	if d.coin() {
		out["required"] = []any{"m0"}
	}
	for _, rule := range []func(){
		func() { out["additionalProperties"] = false },
		func() { out["dependentRequired"] = map[string]any{"m1": []any{"m0"}} },
		func() { out["dependentSchemas"] = map[string]any{"m1": map[string]any{"required": []any{"m0"}}} },
		func() { out["not"] = map[string]any{"required": []any{"m1", "m0"}} },
		func() {
			out["if"], out["then"] = map[string]any{"required": []any{"m1"}}, map[string]any{"required": []any{"m0"}}
		},
		func() {
			out["if"], out["else"] = map[string]any{"required": []any{"m1"}}, map[string]any{"required": []any{"m0"}}
		},
		func() {
			out["anyOf"] = []any{map[string]any{"required": []any{"m0"}}, map[string]any{"required": []any{"m1"}}}
		},
		func() { out["minProperties"] = integer(1) },
		func() { out["maxProperties"] = integer(7) },
		func() { out["propertyNames"] = map[string]any{"pattern": "^[a-z0-9]+$"} },
		func() { props["never"] = false },
		func() { out["patternProperties"] = map[string]any{"^q[0-9]$": d.any(0)} },
		func() { out["allOf"] = []any{map[string]any{"minProperties": integer(1)}} },
	} {
		if d.IntN(5) == 0 {
			rule()
		}
	}
	return out
}

// any is a schema of any type.
func (d schemaDraw) any(depth int) map[string]any {
	n := d.IntN(8)
	if depth <= 0 {
		n = d.IntN(6)
	}
	switch n {
	case 0:
		return d.text()
	case 1, 2:
		return d.number()
	case 3:
		return map[string]any{"enum": []any{"a", "b", integer(1), nil}}
	case 4:
		return map[string]any{"const": "only"}
	case 5:
		return map[string]any{"oneOf": []any{map[string]any{"type": "integer", "minimum": integer(5)}, map[string]any{"type": "number", "maximum": integer(9)}}}
	case 6:
		return d.array(depth)
	default:
		return d.object(depth)
	}
}

func (d schemaDraw) text() map[string]any {
	out := map[string]any{"type": "string"}
	switch d.IntN(5) {
	case 0:
		out["format"] = []any{"date", "date-time", "uuid", "uri", "email", "ipv4"}[d.IntN(6)]
	case 1:
		out["pattern"] = "^[a-z]{2,5}$"
	case 2:
		out["not"] = map[string]any{"enum": []any{"root", ""}}
	default:
		out["minLength"], out["maxLength"] = integer(int64(d.IntN(3))), integer(int64(3+d.IntN(5)))
	}
	return out
}

func (d schemaDraw) number() map[string]any {
	out := map[string]any{"type": []any{"integer", "number"}[d.IntN(2)]}
	if d.coin() {
		out[[]string{"minimum", "exclusiveMinimum"}[d.IntN(2)]] = integer(int64(d.IntN(5)))
	}
	if d.coin() {
		out[[]string{"maximum", "exclusiveMaximum"}[d.IntN(2)]] = integer(int64(20 + d.IntN(50)))
	}
	if d.IntN(3) == 0 {
		out["multipleOf"] = integer(int64(2 + d.IntN(2)))
	}
	return out
}

func (d schemaDraw) array(depth int) map[string]any {
	out := map[string]any{"type": "array"}
	switch d.IntN(4) {
	case 0:
		out["prefixItems"], out["items"] = []any{d.any(depth - 1), d.number()}, false
	case 1:
		out["items"], out["contains"] = map[string]any{"type": []any{"integer", "string"}}, map[string]any{"type": "integer"}
		if d.coin() {
			out["minContains"] = integer(2)
		}
		if d.coin() {
			out["maxContains"] = integer(3)
		}
	default:
		out["items"] = d.any(depth - 1)
		out["minItems"], out["maxItems"] = integer(int64(d.IntN(2))), integer(int64(2+d.IntN(3)))
		if d.IntN(3) == 0 {
			out["items"], out["uniqueItems"] = map[string]any{"type": "integer"}, true
		}
	}
	return out
}
