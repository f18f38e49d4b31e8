package spec

import (
	"strconv"

	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// presence says whether a schema describes a member.
type presence int

const (
	undescribed presence = iota // the schema is too open to say
	described
	absent
)

// find follows a pointer into the values that a schema describes and returns the schemas there. A
// member is absent if the object's members are listed, this one is not among them, and nothing is
// said about others: a promise about a member that the contract does not show is a mistake.
func find(s *schema.Schema, raw any, p tree.Pointer) ([]any, presence) {
	at := []any{raw}
	for _, token := range p.Tokens() {
		var next []any
		closed := true
		for _, r := range at {
			for _, m := range parts(s, r) {
				found, open := member(m, token)
				next = append(next, found...)
				closed = closed && !open
			}
			closed = closed && lists(s, r)
		}
		if len(next) == 0 {
			if closed {
				return nil, absent
			}
			return nil, undescribed
		}
		at = next
	}
	return at, described
}

// member looks for one token in one schema object; open says that others than the listed may be there.
func member(m map[string]any, token string) (found []any, open bool) {
	props, _ := m["properties"].(map[string]any)
	if sub, ok := props[token]; ok {
		found = append(found, sub)
	}
	if _, err := strconv.Atoi(token); err == nil || token == "*" {
		if items, ok := m["items"]; ok {
			found = append(found, items)
		}
		if _, ok := m["prefixItems"]; ok {
			open = true
		}
	}
	for _, key := range []string{"additionalProperties", "unevaluatedProperties"} {
		if extra, ok := m[key]; ok && extra != false {
			open = true
		}
	}
	_, patterns := m["patternProperties"]
	return found, open || patterns
}

// lists reports whether a schema names members, or says that its value has none.
func lists(s *schema.Schema, raw any) bool {
	for _, m := range parts(s, raw) {
		if _, ok := m["properties"]; ok {
			return true
		}
		if t, ok := m["type"].(string); ok && t != "object" && t != "array" {
			return true
		}
	}
	return false
}

// findIn is find in the body of an answer.
func findIn(a *Answer, p tree.Pointer) ([]any, presence) {
	if a == nil || a.Schema == nil {
		return nil, undescribed
	}
	return find(a.Schema, a.Schema.Raw(), p)
}

// successes are the documented 2xx answers, those without a body as well.
func (o *Operation) successes() []*Answer {
	var out []*Answer
	for status := 200; status < 300; status++ {
		if a := o.Answers[status]; a != nil {
			out = append(out, a)
		}
	}
	if a := o.Answers[2]; a != nil {
		out = append(out, a)
	}
	return out
}

// inSuccess looks for a member in the 2xx answers: described if it is in one of them, absent if
// each of them describes its members and none has it.
func (o *Operation) inSuccess(p tree.Pointer) ([]any, *schema.Schema, presence) {
	result := absent
	for _, a := range o.successes() {
		raws, how := findIn(a, p)
		if how == described {
			return raws, a.Schema, described
		}
		if how == undescribed && a.Schema != nil {
			result = undescribed
		}
	}
	return nil, nil, result
}

// statesIn returns the machine that the schemas show, nil if none does.
func statesIn(s *schema.Schema, raws []any) *States {
	for _, raw := range raws {
		for _, m := range parts(s, raw) {
			if st := PropertyTraitsOf(m).States; st != nil {
				return st
			}
		}
	}
	return nil
}

// isArray reports whether one of the schemas says that the value is an array.
func isArray(s *schema.Schema, raws []any) bool {
	for _, raw := range raws {
		for _, m := range parts(s, raw) {
			if _, items := m["items"]; items {
				return true
			}
			switch t := m["type"].(type) {
			case string:
				if t == "array" {
					return true
				}
			case []any:
				for _, one := range t {
					if one == "array" {
						return true
					}
				}
			}
		}
	}
	return false
}
