package suite

import (
	"slices"
	"testing"

	"assay.kit/conformance/oracle"
	"assay.kit/spec"
	"assay.kit/spec/contracts"
	"assay.kit/spec/schema"
)

// TestMeaning: two input schemas mean the same if they differ in words, order and where their parts are.
func TestMeaning(t *testing.T) {
	const base = `{"type": "object", "required": ["a", "b"], "additionalProperties": false,
		"properties": {"a": {"type": "string", "maxLength": 5}, "b": {"enum": [1, 2]}, "title": {"type": "string"}}}`
	for _, c := range []struct {
		name, other string
		same        bool
	}{
		{"words", `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T", "description": "d", "type": "object", "required": ["b", "a"],
			"additionalProperties": false, "properties": {"b": {"enum": [2, 1], "examples": [1]}, "a": {"maxLength": 5.0, "type": "string"}, "title": {"type": "string", "$comment": "c"}}}`, true},
		{"a reference", `{"$ref": "#/$defs/In", "$defs": {"In": {"type": "object", "required": ["a", "b"], "additionalProperties": false,
			"properties": {"a": {"$ref": "#/$defs/Text"}, "b": {"enum": [1, 2]}, "title": {"type": "string"}}}, "Text": {"type": "string", "maxLength": 5}}}`, true},
		{"a property that is named like a word", `{"type": "object", "required": ["a", "b"], "additionalProperties": false,
			"properties": {"a": {"type": "string", "maxLength": 5}, "b": {"enum": [1, 2]}}}`, false},
		{"a bound", `{"type": "object", "required": ["a", "b"], "additionalProperties": false,
			"properties": {"a": {"type": "string"}, "b": {"enum": [1, 2]}, "title": {"type": "string"}}}`, false},
		{"open", `{"type": "object", "required": ["a", "b"],
			"properties": {"a": {"type": "string", "maxLength": 5}, "b": {"enum": [1, 2]}, "title": {"type": "string"}}}`, false},
		{"what goes round", `{"$ref": "#/$defs/In", "$defs": {"In": {"type": "object", "properties": {"a": {"$ref": "#/$defs/In"}}}}}`, false},
	} {
		a, errA := schema.DecodeJSON([]byte(base))
		b, errB := schema.DecodeJSON([]byte(c.other))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if same := len(oracle.Diff(meaning(a, nil), meaning(b, nil), nil)) == 0; same != c.same {
			t.Errorf("%s: the same is %t, want %t", c.name, same, c.same)
		}
	}
}

// TestCodesIn: a refusal's codes are found wherever a tool's result shows them.
func TestCodesIn(t *testing.T) {
	fsys, err := contracts.Named("seer")
	if err != nil {
		t.Fatal(err)
	}
	c, err := spec.Load(fsys, "seer")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		body string
		want []string
	}{
		{`{"error": {"code": "NOT_FOUND", "message": "no"}}`, []string{"NOT_FOUND"}},
		{`{"code": "OF_ITS_OWN"}`, []string{"OF_ITS_OWN"}},
		{`{"errors": [{"reason": "FORBIDDEN"}, {"reason": "because"}]}`, []string{"FORBIDDEN"}},
		{`{"code": -32602, "message": "no"}`, nil},
		{`"text"`, nil},
	} {
		v, err := schema.DecodeJSON([]byte(row.body))
		if err != nil {
			t.Fatal(err)
		}
		if got := codesIn(c, v, nil); !slices.Equal(got, row.want) {
			t.Errorf("%s shows %q, want %q", row.body, got, row.want)
		}
	}
}
