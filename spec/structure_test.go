package spec_test

import (
	"fmt"
	"strings"
	"testing"
)

// A value of another type than OpenAPI has at its place is reported where it stands, without a word
// of the library's types.
func TestMisreadDocument(t *testing.T) {
	const head = "openapi: 3.1.0\ninfo: {title: t, version: '1'}\n"
	for _, tc := range []struct {
		rest string
		want []string // line: message
	}{
		{"paths: 7\n", []string{"3: this is a number, where OpenAPI has object"}},
		{"paths:\n  /a:\n    get: 7\n", []string{"5: this is a number, where OpenAPI has Operation"}},
		{"paths:\n  /a: []\n", []string{"4: this is an array, where OpenAPI has PathItem"}},
		{"paths:\n  /a:\n    get:\n      operationId: [x]\n      responses: {}\n", []string{"6: this is an array, where OpenAPI has string"}},
		{"paths:\n  /a:\n    get:\n      parameters: {a: b}\n      responses:\n        '200': {description: x, content: {application/json: {schema: {type: 9}}}}\n",
			[]string{"6: this is an object, where OpenAPI has Parameters", "8: this is a number, where OpenAPI has string"}},
	} {
		_, err := load(map[string]string{"openapi.yaml": head + tc.rest})
		var got []string
		for _, p := range problems(err) {
			got = append(got, fmt.Sprintf("%d: %s", p.Line, p.Message))
		}
		if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
			t.Errorf("%s\ngot %q\nwant %q", tc.rest, got, tc.want)
		}
	}
}
