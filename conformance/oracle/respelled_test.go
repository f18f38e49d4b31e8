package oracle_test

import (
	"slices"
	"testing"

	"assay.kit/conformance/oracle"
	"assay.kit/spec/schema"
)

func TestRespelled(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		want       []string
	}{
		{"same digits", `{"a": 1, "b": [1.0, 2e3]}`, `{"b": [1.0, 2e3], "a": 1}`, nil},
		{"a fraction of nothing", `{"a": 1}`, `{"a": 1.0}`, []string{"/a"}},
		{"an exponent below", `{"a": [{"n/m": 1000}]}`, `{"a": [{"n/m": 1e3}]}`, []string{"/a/0/n~1m"}},
		{"beyond the binary ones", `9007199254740993`, `9007199254740993.0`, []string{""}},
		{"another number is another thing", `{"a": 1}`, `{"a": 2}`, nil},
		{"a text is no number", `{"a": 1}`, `{"a": "1"}`, nil},
		{"what one lacks", `{"a": 1, "b": 2}`, `{"b": 2.0}`, []string{"/b"}},
		{"a shorter list", `[1, 2]`, `[1.0]`, []string{"/0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, errA := schema.DecodeJSON([]byte(c.a))
			b, errB := schema.DecodeJSON([]byte(c.b))
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if got := oracle.Respelled(a, b); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
