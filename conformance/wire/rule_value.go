package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay.kit/spec"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// placed is a value with one schema object that surely applies to it.
type placed struct {
	raw   map[string]any
	value any
	at    tree.Pointer
}

// members lets judge look at every value of the body that has a schema. The walk is the costly
// part, so the rules that need it share one.
func (v *View) members(judge func(raw map[string]any, value any, at tree.Pointer, out *verdict)) verdict {
	if v.err != nil || v.answer == nil || v.answer.Schema == nil || v.isBroken() {
		return silent()
	}
	if !v.walked {
		v.walked = true
		walk(v.answer.Schema, v.answer.Schema.Raw(), v.value, nil, 0, func(raw map[string]any, value any, at *step) {
			if raw["format"] == "date-time" || hasTrait(raw, "money") || hasTrait(raw, "unit") { // all that a rule asks for
				v.placed = append(v.placed, placed{raw, value, at.pointer()})
			}
		})
	}
	var out verdict
	slices.SortStableFunc(v.placed, func(a, b placed) int { return strings.Compare(string(a.at), string(b.at)) })
	for _, p := range v.placed {
		judge(p.raw, p.value, p.at, &out)
	}
	return out
}

// hasTrait reports whether a schema has a trait beside it, without reading the trait: this is asked
// of every value of every answer.
func hasTrait(raw map[string]any, name string) bool {
	x, _ := raw["x-assay"].(map[string]any)
	_, ok := x[name]
	return ok
}

// dateTime: RFC 3339 §5.6; a local time without an offset names no moment.
func dateTime(v *View) verdict {
	return v.members(func(raw map[string]any, value any, at tree.Pointer, out *verdict) {
		s, ok := value.(string)
		if raw["format"] != "date-time" || !ok {
			return
		}
		out.judged = true
		// RFC 3339 allows a small t and z, which Go's layout does not.
		if _, err := time.Parse(time.RFC3339Nano, strings.ToUpper(s)); err != nil && !leapSecond(s) {
			out.add(fmt.Sprintf("a date-time with an offset at %s", at), fmt.Sprintf("%.40q", s))
		}
	})
}

// leapSecond accepts :60, which RFC 3339 §5.7 allows and Go's parser does not.
func leapSecond(s string) bool {
	if strings.Count(s, ":60") != 1 {
		return false
	}
	_, err := time.Parse(time.RFC3339Nano, strings.Replace(strings.ToUpper(s), ":60", ":59", 1))
	return err == nil
}

var integerText = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

func money(v *View) verdict {
	return v.members(func(raw map[string]any, value any, at tree.Pointer, out *verdict) {
		if !hasTrait(raw, "money") {
			return
		}
		m := spec.PropertyTraitsOf(raw).Money
		if _, object := value.(map[string]any); m == nil || !object {
			return
		}
		out.judged = true
		if amount, _ := sub(value, m.Amount).(string); !integerText.MatchString(amount) {
			out.add(fmt.Sprintf("an integer string at %s/%s", at, strings.TrimPrefix(m.Amount, "/")), fmt.Sprintf("%v", sub(value, m.Amount)))
		}
		if asset, _ := sub(value, m.Asset).(string); asset == "" {
			out.add(fmt.Sprintf("an asset at %s/%s", at, strings.TrimPrefix(m.Asset, "/")), fmt.Sprintf("%v", sub(value, m.Asset)))
		}
		scale, _ := sub(value, m.Scale).(json.Number)
		if n, err := strconv.Atoi(scale.String()); err != nil || n < 0 {
			out.add(fmt.Sprintf("a whole number of 0 or more at %s/%s", at, strings.TrimPrefix(m.Scale, "/")), fmt.Sprintf("%v", sub(value, m.Scale)))
		}
	})
}

// sub reads a member that a trait names, by pointer or plain name.
func sub(object any, name string) any {
	v, _ := tree.Get(object, tree.Pointer("/"+strings.TrimPrefix(name, "/")))
	return v
}

// finite: JSON has no NaN, so servers smuggle it in as text, null or a number that no double holds.
func finite(v *View) verdict {
	return v.members(func(raw map[string]any, value any, at tree.Pointer, out *verdict) {
		if !hasTrait(raw, "unit") {
			return
		}
		switch n := value.(type) {
		case json.Number:
			out.judged = true
			if f, err := n.Float64(); err != nil || math.IsInf(f, 0) {
				out.add(fmt.Sprintf("a finite number at %s", at), n.String())
			}
		case string:
			out.judged = true
			if f, err := strconv.ParseFloat(n, 64); err == nil && (math.IsNaN(f) || math.IsInf(f, 0)) {
				out.add(fmt.Sprintf("a finite number at %s", at), fmt.Sprintf("%q", n))
			}
		}
	})
}

// maxWalk bounds nesting of schema and value together; a cyclic reference ends here.
const maxWalk = 64

type visitor func(raw map[string]any, value any, at *step)

// step is a place in a value as the walk came to it; most places are never spelled out as pointers.
type step struct {
	up   *step
	name string
}

func (s *step) pointer() tree.Pointer {
	if s == nil {
		return ""
	}
	return s.up.pointer().Append(s.name)
}

// walk visits a value with every schema object that surely applies to it. Of alternatives it
// follows the only one that can, and none if several could: a rule must not judge by the wrong one.
func walk(s *schema.Schema, raw, value any, at *step, depth int, visit visitor) {
	m, ok := raw.(map[string]any)
	if !ok || depth > maxWalk {
		return
	}
	visit(m, value, at)
	if next, ok := s.Deref(m); ok {
		walk(s, next, value, at, depth+1, visit)
	}
	for _, all := range list(m["allOf"]) {
		walk(s, all, value, at, depth+1, visit)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if only, ok := onlyPlausible(s, list(m[key]), value); ok {
			walk(s, only, value, at, depth+1, visit)
		}
	}
	if then, ok := implied(m, value); ok {
		walk(s, then, value, at, depth+1, visit)
	}
	switch value := value.(type) {
	case map[string]any:
		walkObject(s, m, value, at, depth, visit)
	case []any:
		prefix := list(m["prefixItems"])
		for i, item := range value {
			sub := m["items"]
			if i < len(prefix) {
				sub = prefix[i]
			}
			walk(s, sub, item, &step{at, strconv.Itoa(i)}, depth+1, visit)
		}
	}
}

func walkObject(s *schema.Schema, m map[string]any, value map[string]any, at *step, depth int, visit visitor) {
	properties, _ := m["properties"].(map[string]any)
	patterns, _ := m["patternProperties"].(map[string]any)
	for name, item := range value {
		place := &step{at, name}
		named, known := properties[name]
		if known {
			walk(s, named, item, place, depth+1, visit)
		}
		for pattern, sub := range patterns {
			if re, err := regexp.Compile(pattern); err == nil && re.MatchString(name) {
				known = true
				walk(s, sub, item, place, depth+1, visit)
			}
		}
		if !known {
			walk(s, m["additionalProperties"], item, place, depth+1, visit)
		}
	}
}

// implied is the "then" of a condition that a value surely meets: one that asks for nothing but the
// texts of some members.
func implied(m map[string]any, value any) (then any, ok bool) {
	condition, _ := m["if"].(map[string]any)
	properties, _ := condition["properties"].(map[string]any)
	object, _ := value.(map[string]any)
	if len(condition) != 1 || len(properties) == 0 {
		return nil, false
	}
	for name, sub := range properties {
		sm, _ := sub.(map[string]any)
		if want, text := sm["const"].(string); !text || len(sm) != 1 || object[name] != any(want) {
			return nil, false
		}
	}
	then, ok = m["then"]
	return then, ok
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func onlyPlausible(s *schema.Schema, branches []any, value any) (any, bool) {
	var found []any
	for _, b := range branches {
		if plausible(s, b, value, 0) {
			found = append(found, b)
		}
	}
	if len(found) != 1 {
		return nil, false
	}
	return found[0], true
}

// plausible tells cheaply whether a value can be meant by a schema: its type, its required
// members, and constants one level down.
func plausible(s *schema.Schema, raw, value any, depth int) bool {
	m, ok := raw.(map[string]any)
	if !ok {
		return raw != false
	}
	if next, ok := s.Deref(m); ok && (depth > 8 || !plausible(s, next, value, depth+1)) {
		return false
	}
	if !typeFits(m["type"], value) || !constantFits(m, value) {
		return false
	}
	object, ok := value.(map[string]any)
	if !ok {
		return true
	}
	for _, name := range list(m["required"]) {
		if n, ok := name.(string); ok {
			if _, there := object[n]; !there {
				return false
			}
		}
	}
	properties, _ := m["properties"].(map[string]any)
	for name, sub := range properties {
		member, there := object[name]
		if sm, ok := sub.(map[string]any); ok && there && !constantFits(sm, member) {
			return false
		}
	}
	return true
}

func typeFits(t, value any) bool {
	switch t := t.(type) {
	case string:
		return t == typeOf(value) || t == "integer" && typeOf(value) == "number"
	case []any:
		for _, one := range t {
			if typeFits(one, value) {
				return true
			}
		}
		return false
	default:
		return true
	}
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	default:
		return "object"
	}
}

// constantFits compares texts only: they are what tells alternatives apart.
func constantFits(m map[string]any, value any) bool {
	got, text := value.(string)
	if want, ok := m["const"].(string); ok && (!text || got != want) {
		return false
	}
	enum := list(m["enum"])
	if len(enum) == 0 {
		return true
	}
	for _, e := range enum {
		if want, ok := e.(string); !ok || text && got == want {
			return true
		}
	}
	return false
}
