package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"assay.kit/spec/schema"
)

// order is a body of about 800 bytes, as an API gets them.
func order() []byte {
	line := `{"sku":"A-1234567","qty":3,"price":{"amount":"1999","asset":"USD","scale":2},"note":"as discussed"}`
	return []byte(`{"id":"o-1","created":"2026-10-01T00:00:00Z","lines":[` + strings.TrimSuffix(strings.Repeat(line+",", 7), ",") + `]}`)
}

func BenchmarkDecodeJSON(b *testing.B) {
	body := order()
	for b.Loop() {
		if _, err := schema.DecodeJSON(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodingJSON(b *testing.B) {
	body := order()
	for b.Loop() {
		var v any
		if err := json.Unmarshal(body, &v); err != nil {
			b.Fatal(err)
		}
	}
}
