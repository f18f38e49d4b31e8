package spec_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"assay.kit/spec"
	"assay.kit/spec/schema"
)

func TestToolHintsAndKey(t *testing.T) {
	c := loadGood(t)
	a := c.Tools[0].Annotations
	if a == nil || a.Title != "Make" || a.ReadOnly == nil || *a.ReadOnly || a.Destructive == nil || a.OpenWorld != nil || c.Tools[1].Annotations != nil {
		t.Errorf("hints are %+v and %+v", a, c.Tools[1].Annotations)
	}
	if k := c.Tools[0].Key; k == nil || *k != (spec.ToolKey{Meta: "t/key"}) || c.Tools[1].Key != nil {
		t.Errorf("keys are %v and %v", k, c.Tools[1].Key)
	}
	for _, edit := range []struct{ from, to, want string }{
		{`"readOnlyHint": false`, `"readOnlyHint": "no"`, "must be true or false"},
		{`"idempotency": {"meta": "t/key"}`, `"idempotency": {}`, "idempotency"},
		{`"idempotency": {"meta": "t/key"}`, `"idempotency": {"metta": "t/key"}`, `did you mean "meta"?`},
	} {
		files := good(t)
		files["tool-catalog.json"] = strings.Replace(files["tool-catalog.json"], edit.from, edit.to, 1)
		if _, err := load(files); err == nil || !strings.Contains(err.Error(), edit.want) || !strings.Contains(err.Error(), "tool-catalog.json:") {
			t.Errorf("%s: %v", edit.to, err)
		}
	}
}

// TestFromToolsOfOurs: the hints and the vocabulary of a live list are read, utilities among them; a
// hint of a wrong type is for a check to judge.
func TestFromToolsOfOurs(t *testing.T) {
	c, err := spec.FromTools(json.RawMessage(`[
		{"name":"a_b","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true,"openWorldHint":"x"},"_meta":{"assay":{"domain":"b","operation":"doB","effect":"compute","idempotency":{"argument":"key"}}}},
		{"name":"u","inputSchema":{"type":"object"},"_meta":{"assay":{"operation":"getU","effect":"read"},"other/key":1}},
		{"name":"s","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}}]`), "live")
	if err != nil {
		t.Fatal(err)
	}
	if a := c.Tools[0]; a.Domain != "b" || a.Key == nil || a.Key.Argument != "key" || a.Annotations.Destructive == nil {
		t.Errorf("%+v", a)
	}
	if u := c.Tools[1]; !u.Utility || u.Domain != "" || u.Effect != spec.EffectRead {
		t.Errorf("%+v", u)
	}
	if s := c.Tools[2]; s.Utility || s.Effect != spec.EffectCompute {
		t.Errorf("%+v", s)
	}
}

const invoking = `openapi: 3.1.0
info: {title: T, version: "1"}
x-assay:
  profile: none
  connection: {operation: getMe, limits: {}}
  mcp: {prefix: t_, separator: _, envelope: /deep/data}
paths:
  /me:
    get:
      operationId: getMe
      responses: {"200": {description: d, content: {application/json: {schema: {type: object, properties: {config: {type: string}}}}}}}
  /runs/{run_id}:
    get:
      operationId: getRun
      parameters: [{name: run_id, in: path, required: true, schema: {type: string}}]
      responses: {"200": {description: d, content: {application/json: {schema: {type: object, properties: {state: {type: string, x-assay: {states: {resource: run, initial: on, transitions: {on: [gone]}, terminal: [gone]}}}}}}}}}
  /calls:
    post:
      operationId: call
      x-assay: {effect: compute, job: {accepted: 202, read: getRun, id: "$response.body#/run_id", state: /state}}
      requestBody:
        content:
          application/json:
            schema: {$ref: "#/components/schemas/Call"}
      responses:
        "200": {description: d, content: {application/json: {schema: {$ref: "#/components/schemas/Answer"}}}}
        "202": {description: d, content: {application/json: {schema: {type: object, required: [run_id], properties: {run_id: {type: string}}}}}}
components:
  schemas:
    Call:
      type: object
      properties:
        configuration: {type: string, x-assay: {ref: {resource: config, from: getMe, at: /config}}}
        name: {type: string}
        values: {type: object, x-assay: {toolInput: /name}}
    Answer:
      required: [deep, tree]
      properties:
        deep: {type: object, required: [data], properties: {data: {description: replaced}}}
        tree: {$ref: "#/components/schemas/Tree"}
        enum: {$ref: "#/components/schemas/Leaf"}
    Tree: {type: object, required: [leaf], properties: {leaf: {$ref: "#/components/schemas/Leaf"}, more: {type: array, items: {$ref: "#/components/schemas/Tree"}}}}
    Leaf: {type: string, const: "#leaf"}
`

const invoked = `{"tools": [
	{"name": "t_add", "inputSchema": {"type": "object"},
	 "outputSchema": {"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#/$defs/Sum", "$defs": {"Sum": {"type": "object", "required": ["sum"], "properties": {"sum": {"$ref": "#/$defs/N"}}}, "N": {"type": "integer"}}},
	 "_meta": {"assay": {"domain": "add", "operation": "call", "effect": "compute"}}},
	{"name": "t_run", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "required": ["made"]},
	 "_meta": {"assay": {"domain": "run", "operation": "call", "effect": "compute", "async": true}}}],
	"mcp_utilities": [{"name": "get", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "required": ["u"]}, "_meta": {"assay": {"operation": "getRun", "effect": "read"}}}]}`

// TestStructured: a domain tool's result is the answer to its invocation with the tool's own output in
// the envelope; references of both documents still lead where they led.
func TestStructured(t *testing.T) {
	c, err := load(map[string]string{"openapi.yaml": invoking, "tool-catalog.json": invoked})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		tool  int
		value string
		bad   string // keyword of the first violation; "" none
	}{
		{0, `{"deep":{"data":{"sum":1}},"tree":{"leaf":"#leaf","more":[{"leaf":"#leaf"}]},"enum":"#leaf"}`, ""},
		{0, `{"deep":{"data":{"sum":"1"}},"tree":{"leaf":"#leaf"}}`, "type"},
		{0, `{"deep":{"data":{}},"tree":{"leaf":"#leaf"}}`, "required"},
		{0, `{"deep":{"data":{"sum":1}},"tree":{"leaf":"#leaf","more":[{"leaf":"x"}]}}`, "const"},
		{0, `{"deep":{"data":{"sum":1}},"tree":{"leaf":"#leaf"},"enum":"x"}`, "const"},
		{0, `[]`, "type"},
		{1, `{"run_id":"r"}`, ""},
		{1, `{"made":1}`, "required"},
		{2, `{"u":1}`, ""},
		{2, `{}`, "required"},
	} {
		v, err := schema.DecodeJSON([]byte(row.value))
		if err != nil {
			t.Fatal(err)
		}
		s := c.Tools[row.tool].Structured
		vs := s.Validate(v)
		if (len(vs) == 0) != (row.bad == "") || len(vs) > 0 && vs[0].Keyword != row.bad {
			t.Errorf("%s: %s: %v", c.Tools[row.tool].Name, row.value, vs)
		}
		raw, _ := s.Raw().(map[string]any)
		text, err := json.Marshal(raw)
		if raw["type"] != "object" || err != nil || strings.Contains(string(text), "components") {
			t.Errorf("%s: the schema is no document of its own: %s", c.Tools[row.tool].Name, text)
		}
	}
	inv := c.Invocation(c.Tools[0])
	if inv == nil || inv.Input != "/values" || inv.Tool != "/name" || inv.Operation != c.Op("getMe") || fmt.Sprint(inv.Connection) != "map[configuration:/config]" {
		t.Errorf("invoked by %+v", inv)
	}
	if inv := c.Invocation(c.Tools[2]); inv != nil {
		t.Errorf("a utility is invoked by %+v", inv)
	}
}
