package schema

import "testing"

// The order in which the library visits members is random, so one run proves nothing.
func TestRefusedNameOfNestedObjectIsAtItsPlace(t *testing.T) {
	doc, err := DecodeJSON([]byte(`{"properties": {"a": {"type": "string"}, "labels": {"propertyNames": {"maxLength": 3}}, "z": {"properties": {"y": {"type": "integer"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Compile("names", doc)
	if err != nil {
		t.Fatal(err)
	}
	v, err := DecodeJSON([]byte(`{"a": "x", "labels": {"long name": 1}, "z": {"y": 1}}`))
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		vs := s.Validate(v)
		if len(vs) != 1 || vs[0].Instance != "/labels/long name" || vs[0].Keyword != "propertyNames" {
			t.Fatalf("%+v", vs)
		}
	}
}
