package schema_test

import (
	"testing"

	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// lift puts one schema into a 3.0 document and gives it back lifted.
func lift(t *testing.T, text string) string {
	t.Helper()
	doc, err := tree.ParseJSON("x.json", []byte(`{"openapi":"3.0.3","components":{"schemas":{"S":`+text+`}}}`))
	if err != nil {
		t.Fatal(err)
	}
	before := string(doc.JSON())
	out := schema.Lift(doc)
	if string(doc.JSON()) != before {
		t.Error("Lift changed its argument")
	}
	return string(out.At("/components/schemas/S").JSON())
}

func TestLiftSchema(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"string","nullable":true}`:                                                         `{"type":["string","null"]}`,
		`{"type":"string","nullable":false}`:                                                        `{"type":"string"}`,
		`{"nullable":true}`:                                                                         `{}`,
		`{"type":"string","nullable":true,"enum":["a"]}`:                                            `{"type":["string","null"],"enum":["a"]}`,
		`{"minimum":1,"exclusiveMinimum":true}`:                                                     `{"exclusiveMinimum":1}`,
		`{"minimum":1,"exclusiveMinimum":false}`:                                                    `{"minimum":1}`,
		`{"maximum":1.50,"exclusiveMaximum":true,"type":"number"}`:                                  `{"type":"number","exclusiveMaximum":1.50}`,
		`{"exclusiveMaximum":true}`:                                                                 `{}`,
		`{"example":{"nullable":true}}`:                                                             `{"examples":[{"nullable":true}]}`,
		`{"$ref":"#/x","nullable":true,"x-assay":{"open":true}}`:                                    `{"$ref":"#/x","x-assay":{"open":true}}`,
		`{"properties":{"nullable":{"type":"string","nullable":true},"example":{"type":"object"}}}`: `{"properties":{"nullable":{"type":["string","null"]},"example":{"type":"object"}}}`,
		`{"items":{"allOf":[{"type":"object","nullable":true}]}}`:                                   `{"items":{"allOf":[{"type":["object","null"]}]}}`,
		`{"additionalProperties":{"type":"integer","nullable":true}}`:                               `{"additionalProperties":{"type":["integer","null"]}}`,
		`{"default":{"nullable":true},"enum":[{"example":1}]}`:                                      `{"default":{"nullable":true},"enum":[{"example":1}]}`,
	} {
		if got := lift(t, in); got != want {
			t.Errorf("%s\n lifts to %s\n want     %s", in, got, want)
		}
	}
}

// TestLiftPlaces: schemas are lifted wherever OpenAPI has them, and nothing else is touched.
func TestLiftPlaces(t *testing.T) {
	doc, err := tree.ParseYAML("x.yaml", []byte(`
openapi: 3.0.3
x-own: {nullable: true}
paths:
  /a:
    parameters: [{name: p, in: query, schema: {type: string, nullable: true}, example: {nullable: true}}]
    post:
      parameters: [{name: q, in: query, content: {application/json: {schema: {type: string, nullable: true}}}}]
      requestBody: {content: {application/json: {schema: {type: string, nullable: true}, example: {nullable: true}}}}
      responses:
        '200':
          headers: {H: {schema: {type: string, nullable: true}}}
          content: {application/json: {schema: {type: string, nullable: true}}}
      callbacks: {cb: {'{$request.body#/u}': {post: {requestBody: {content: {application/json: {schema: {type: string, nullable: true}}}}}}}}
components:
  parameters: {P: {name: p, in: query, schema: {type: string, nullable: true}}}
  headers: {H: {schema: {type: string, nullable: true}}}
  requestBodies: {B: {content: {application/json: {schema: {type: string, nullable: true}}}}}
  responses: {R: {content: {application/json: {schema: {type: string, nullable: true}}}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	out := schema.Lift(doc)
	if v := out.Str("openapi"); v != "3.1.0" {
		t.Errorf("version is %s", v)
	}
	left, lifted := 0, 0
	out.Walk(func(n *tree.Node) bool {
		if n.Get("nullable") != nil {
			left++
		}
		if n.Get("type") != nil && n.Get("type").Kind == tree.Array {
			lifted++
			if n.Line == 0 || n.File != "x.yaml" || out.At(n.Pointer) != n {
				t.Errorf("place lost: %+v", n)
			}
		}
		return true
	})
	if left != 3 || lifted != 10 {
		t.Errorf("%d nullables are left, want the 3 that are data; %d schemas are lifted, want 10", left, lifted)
	}
}

func TestLiftLeavesOthers(t *testing.T) {
	doc, err := tree.ParseJSON("x.json", []byte(`{"openapi":"3.1.0","components":{"schemas":{"S":{"nullable":true,"type":"string"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if schema.Lift(doc) != doc {
		t.Error("a 3.1 document was changed")
	}
}

func FuzzLift(f *testing.F) {
	f.Add([]byte(`{"openapi":"3.0.0","components":{"schemas":{"S":{"type":"string","nullable":true,"minimum":1,"exclusiveMinimum":true}}}}`))
	f.Add([]byte(`{"openapi":"3.0.1","paths":{"/a":{"get":{"parameters":[{"schema":{"example":1}}]}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := tree.ParseJSON("x.json", data)
		if err != nil {
			return
		}
		before := string(doc.JSON())
		out := schema.Lift(doc)
		if string(doc.JSON()) != before {
			t.Fatal("Lift changed its argument")
		}
		once := string(out.JSON())
		if twice := string(schema.Lift(out).JSON()); twice != once {
			t.Fatalf("lifting twice gives %s after %s", twice, once)
		}
		out.Walk(func(n *tree.Node) bool {
			if out.At(n.Pointer) != n {
				t.Fatalf("%q does not lead to its node", n.Pointer)
			}
			return true
		})
	})
}
