package diff

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"assay.kit/spec/tree"
)

// TestNet: without the row of a keyword a value still convicts its edit, so a keyword that the table does
// not know is no way around the gate.
func TestNet(t *testing.T) {
	for _, c := range []struct{ keyword, old, fresh string }{
		{"maxLength", `{"type": "string"}`, `{"type": "string", "maxLength": 3}`},
		{"minimum", `{"type": "integer", "minimum": 1}`, `{"type": "integer", "minimum": 2}`},
		{"enum", `{"enum": ["a", "b"]}`, `{"enum": ["a"]}`},
		{"required", `{"type": "object"}`, `{"type": "object", "required": ["a"]}`},
		{"pattern", `{"type": "string"}`, `{"type": "string", "pattern": "^[a-c]+$"}`},
		{"uniqueItems", `{"type": "array"}`, `{"type": "array", "uniqueItems": true}`},
		{"not", `{"type": "string"}`, `{"type": "string", "not": {"maxLength": 2}}`},
		{"type", `{"type": "string"}`, `{"type": "integer"}`},
		{"additionalProperties", `{"type": "object"}`, `{"type": "object", "additionalProperties": false}`},
		{"dependentRequired", `{"properties": {"a": {}, "b": {}}}`, `{"properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}}`},
	} {
		d := (&differ{stopped: context.Background().Err}).fresh()
		d.keywords = slices.DeleteFunc(d.keywords, func(k keyword) bool { return k.name == c.keyword })
		delete(d.known, c.keyword)
		r, err := d.compare(posting(t, c.old), posting(t, c.fresh), Options{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Rule == "request.witness" })
		if i < 0 || r.Findings[i].Grade != Breaking || r.Findings[i].Witness == nil {
			t.Errorf("without the row of %s nothing convicts %s -> %s: %+v", c.keyword, c.old, c.fresh, r.Findings)
		}
	}
}

func posting(t *testing.T, schema string) *Version {
	t.Helper()
	root, err := tree.ParseJSON("a.json", fmt.Appendf(nil, `{"openapi": "3.1.0", "paths": {"/a": {"post": {"requestBody": {"content": {"application/json": {"schema": %s}}}}}}}`, schema))
	if err != nil {
		t.Fatal(err)
	}
	return &Version{Name: "a.json", Doc: root}
}
