package spec_test

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// good is the folder that every test here starts from.
func good(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{"openapi.yaml", "tool-catalog.json", "requirements.yaml"} {
		b, err := os.ReadFile("testdata/good/" + name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(b)
	}
	return files
}

func load(files map[string]string, overlays ...tree.Overlay) (*spec.Contract, error) {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return spec.Load(fsys, "things", overlays...)
}

func loadGood(t *testing.T) *spec.Contract {
	t.Helper()
	c, err := load(good(t))
	if err != nil {
		t.Fatalf("the good contract does not load:\n%v", err)
	}
	return c
}

func TestLoadContract(t *testing.T) {
	c := loadGood(t)
	if c.Name != "things" || c.Title != "Things" || c.Version != "1.0" || !strings.HasPrefix(c.Digest, "sha256:") || len(c.Digest) != 71 {
		t.Errorf("contract is %q %q %q %q", c.Name, c.Title, c.Version, c.Digest)
	}
	var ids []string
	for _, op := range c.Ops {
		ids = append(ids, op.ID)
	}
	if want := []string{"getConnection", "listThings", "createThing", "getThing", "finishThing", "createRun", "getRun", "cancelRun"}; !slices.Equal(ids, want) {
		t.Errorf("operations are %v", ids)
	}
	if len(c.Warnings) > 0 {
		t.Errorf("warnings: %v", c.Warnings)
	}
	d := c.Doc
	if d.Profile != "seer" || d.BaseURLEnv != "THINGS_URL" || d.TokenEnv != "THINGS_TOKEN" || d.Error.Code != "/code" || d.Correlation.Name != "X-Request-Id" ||
		!slices.Equal(d.Backpressure.Statuses, []int{429, 503}) || d.Codes["too_many_jobs"] != (spec.Refusal{Status: 429, Code: "TOO_MANY_JOBS"}) {
		t.Errorf("document traits are %+v", d)
	}
	if d.MCP.Revision != "2025-06-18" || d.MCP.Separator != "_" || d.MCP.Prefix != "t_" {
		t.Errorf("mcp is %+v", d.MCP)
	}
}

func TestLoadOperations(t *testing.T) {
	c := loadGood(t)
	create := c.Op("createThing")
	if create.Effect != spec.EffectCompute || create.Origin != spec.Stated || !slices.Equal(create.Scopes, []string{"things:all"}) || create.Public {
		t.Errorf("createThing is %+v", create)
	}
	i := create.Idempotency
	if i.Conflict != (spec.Refusal{Status: 422, Code: "IDEMPOTENCY_CONFLICT"}) || i.Retention.Limit != "idempotencyRetention" || i.Key.Name != "Idempotency-Key" || !i.Required {
		t.Errorf("idempotency is %+v", i)
	}
	if create.Answer(404) == nil || create.Answer(404) != create.Answers[4] || create.Answer(500) != nil || c.Op("listThings").Answer(500).MediaType != "application/problem+json" {
		t.Error("an answer is found by status, then range, then default")
	}
	if len(create.Body.Examples) != 1 || create.Body.Schema.Pointer() == "" {
		t.Errorf("body is %+v", create.Body)
	}
	if got := c.Op("getThing"); !got.Public || got.Effect != spec.EffectRead || got.Access.Foreign != "not_found" || got.Access.Follows != "thing" {
		t.Errorf("getThing is %+v", got)
	}
	if got := c.Op("getConnection"); got.Public || len(got.Scopes) != 0 || got.Origin != spec.Inferred {
		t.Errorf("getConnection is %+v", got)
	}
	list := c.Op("listThings").Collection
	want := &spec.PageLimit{Param: "limit", Min: 1, Max: 50, Default: 10, OutOfRange: "reject"}
	if !reflect.DeepEqual(list.Limit, want) {
		t.Errorf("limit is %+v: the parameter's schema goes before the profile", list.Limit)
	}
	if len(list.Order.Values) != 2 || !list.Order.Values[1].Desc || list.Filters[0].Match != "equal" || list.Filters[1].Match != "after" || list.Isolate.Path != "group_id" || list.End != "null" {
		t.Errorf("collection is %+v", list)
	}
	job := c.Op("createRun").Job
	if job.Accepted != 202 || job.Success != "completed" || job.State != "/state" || job.Artifact != "getThing" {
		t.Errorf("job is %+v", job)
	}
	if m := c.Machine("thing"); m.Schema != "/components/schemas/Thing/properties/state" || !slices.Equal(m.All(), []string{"done", "new"}) {
		t.Errorf("machine is %+v", m)
	}
}

func TestLoadRefs(t *testing.T) {
	c := loadGood(t)
	thing := func(in, name string, p tree.Pointer) spec.Ref {
		return spec.Ref{In: in, Name: name, Pointer: p, Resource: "thing", From: "createThing"}
	}
	for id, want := range map[string][]spec.Ref{
		"createThing": {
			{In: "path", Name: "group_id", Resource: "group", Free: true},
			thing("body", "", "/friends/*"), thing("body", "", "/nested/friends/*"), thing("body", "", "/nested/nested/friends/*"),
		},
		"getThing": {thing("path", "thing_id", "")},
		"getRun":   {{In: "path", Name: "run_id", Resource: "run", From: "createRun", At: "/job_id"}},
	} {
		got := c.Op(id).Refs
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%s: %+v is not among %+v", id, w, got)
			}
		}
	}
	parent := slices.IndexFunc(c.Op("createThing").Refs, func(r spec.Ref) bool { return r.Pointer == "/parent" })
	if parent < 0 {
		t.Error("a nullable reference is not found")
	}
	found := thing("body", "", "/friends/*").Values(map[string]any{"friends": []any{"a", nil, "b"}})
	if len(found) != 2 || found[1].Pointer != "/friends/2" || found[1].Value != "b" {
		t.Errorf("values are %v", found)
	}
}

func TestLoadTools(t *testing.T) {
	c := loadGood(t)
	if len(c.Tools) != 3 {
		t.Fatalf("tools are %v", c.Tools)
	}
	first, second, utility := c.Tools[0], c.Tools[1], c.Tools[2]
	if first.Domain != "thing.make" || first.Revision != (spec.ToolRevision{Schema: "1.0", Method: "m1"}) || len(first.Examples) != 1 || first.Output == nil {
		t.Errorf("first is %+v", first)
	}
	if !second.Async || second.Revision.Schema != "1.1" || !utility.Utility || utility.Domain != "" || utility.Effect != spec.EffectRead {
		t.Errorf("others are %+v %+v", second, utility)
	}
	if vs := first.Input.Validate(map[string]any{}); len(vs) != 1 || vs[0].Keyword != "required" {
		t.Errorf("input says %v", vs)
	}
}

func TestLoadRequirements(t *testing.T) {
	c := loadGood(t)
	r := c.Requirement("T-IDEM-01")
	want := []spec.ClaimRef{{ID: "idempotency.replay", Origin: spec.Stated}, {ID: "idempotency.null-is-change", Origin: spec.Inferred}}
	if !slices.Equal(r.Claims, want) || r.Level != "MUST" || r.Line != 2 || r.File != "requirements.yaml" {
		t.Errorf("row is %+v", r)
	}
	if r := c.Requirement("T-IDEM-02"); r.Level != "SHOULD" || r.Role != spec.RoleClient || r.Note == "" {
		t.Errorf("row is %+v", r)
	}
}

func TestFind(t *testing.T) {
	c := loadGood(t)
	op, params, allowed := c.Find("POST", "/groups/g%201/things")
	if op != c.Op("createThing") || params["group_id"] != "g 1" || !slices.Equal(allowed, []string{"GET", "POST"}) {
		t.Errorf("found %v %v %v", op, params, allowed)
	}
	if op, _, allowed := c.Find("PUT", "/groups/g/things"); op != nil || !slices.Equal(allowed, []string{"GET", "POST"}) {
		t.Errorf("found %v %v", op, allowed)
	}
	if op, _, allowed := c.Find("GET", "/nowhere"); op != nil || allowed != nil {
		t.Errorf("found %v %v", op, allowed)
	}
	if op, params, _ := c.Find("POST", "/things/t1:finish"); op != c.Op("finishThing") || params["thing_id"] != "t1" {
		t.Errorf("found %v %v", op, params)
	}
}

func TestDigest(t *testing.T) {
	base := loadGood(t).Digest
	files := good(t)
	files["openapi.yaml"] = "# a comment\n" + files["openapi.yaml"]
	if c, err := load(files); err != nil || c.Digest != base {
		t.Errorf("a comment changes the digest (%v)", err)
	}
	files = good(t)
	files["requirements.yaml"] = strings.Replace(files["requirements.yaml"], "judged later", "judged soon", 1)
	if c, err := load(files); err != nil || c.Digest == base {
		t.Errorf("a changed row does not change the digest (%v)", err)
	}
}

func overlay(t *testing.T, text string) tree.Overlay {
	t.Helper()
	o, err := tree.ParseOverlay("over.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestLoadOverlay(t *testing.T) {
	o := overlay(t, `overlay: 1.0.0
info: {title: t, version: "1"}
actions:
- target: $.info
  update: {title: Other}
- target: $.paths['/nowhere']
  update: {x: 1}
- target: $.paths['/runs'].post['x-assay']
  update:
    effect: financial
`)
	c, err := load(good(t), o)
	if err != nil {
		t.Fatal(err)
	}
	if c.Title != "Other" || c.Op("createRun").Effect != spec.EffectFinancial || c.Digest == loadGood(t).Digest {
		t.Errorf("the overlay is not laid: %q", c.Title)
	}
	if len(c.Warnings) != 1 || c.Warnings[0].Line != 6 || c.Warnings[0].File != "over.yaml" || !strings.Contains(c.Warnings[0].Message, "/nowhere") {
		t.Errorf("warnings are %v", c.Warnings)
	}
	bad := overlay(t, `overlay: 1.0.0
info: {title: t, version: "1"}
actions:
- target: $.paths['/runs'].post['x-assay']
  update:
    efect: read
`)
	_, err = load(good(t), bad)
	if p := problems(err); len(p) != 1 || p[0].File != "over.yaml" || p[0].Line != 6 {
		t.Errorf("a mistake of an overlay is reported as %v", err)
	}
}

func TestOverlayOfCatalog(t *testing.T) {
	o := overlay(t, `overlay: 1.0.0
info: {title: t, version: "1"}
extends: ./tool-catalog.json
actions: [{target: '$.tools[0]', update: {title: New}}]
`)
	c, err := load(good(t), o)
	if err != nil || c.Tools[0].Title != "New" {
		t.Errorf("the catalog is not changed: %v", err)
	}
}

func TestLoadOnlyTools(t *testing.T) {
	c, err := load(map[string]string{"tools.json": good(t)["tool-catalog.json"]})
	if err != nil || len(c.Tools) != 3 || c.Raw != nil {
		t.Errorf("a contract of tools does not load: %v", err)
	}
}

func TestLoad30(t *testing.T) {
	files := map[string]string{"openapi.json": `{"openapi": "3.0.3", "info": {"title": "Old", "version": "1"}, "paths": {"/a": {"post": {
		"operationId": "make", "x-assay": {"effect": "compute"},
		"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}, "example": {"n": null, "v": 2}}}},
		"responses": {"200": {"description": "ok"}}}}},
		"components": {"schemas": {"A": {"type": "object", "properties": {
			"n": {"type": "string", "nullable": true}, "v": {"type": "integer", "minimum": 1, "exclusiveMinimum": true, "example": 3}}}}}}`}
	c, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Op("make").Body.Schema
	if vs := s.Validate(map[string]any{"n": nil, "v": json.Number("1")}); len(vs) != 1 || vs[0].Keyword != "exclusiveMinimum" {
		t.Errorf("says %v", vs)
	}
	if c.Raw.Str("openapi") != "3.1.0" {
		t.Errorf("raw is %s", c.Raw.Str("openapi"))
	}
	files["openapi.json"] = strings.Replace(files["openapi.json"], `"example": 3`, `"example": 1`, 1)
	if p := problems(second(load(files))); len(p) != 1 || p[0].Line != 6 || !strings.Contains(p[0].Message, "more than 1") {
		t.Errorf("a bad example is %v", p)
	}
}

func second[A any](_ A, err error) error { return err }

func problems(err error) []spec.Problem {
	var le *spec.LoadError
	if errors.As(err, &le) {
		return le.Problems
	}
	return nil
}

func TestPropertyTraits(t *testing.T) {
	c := loadGood(t)
	raw, _ := tree.Get(c.Raw.Value(), "/paths/~1runs/post/requestBody/content/application~1json/schema/properties/input")
	if p := spec.PropertyTraitsOf(raw); !p.Opaque || p.ToolInput != "/tool" {
		t.Errorf("traits are %+v", p)
	}
	raw, _ = tree.Get(c.Raw.Value(), "/paths/~1runs/post/requestBody/content/application~1json/schema/properties/price")
	if p := spec.PropertyTraitsOf(raw); p.Money == nil || p.Money.Scale != "/scale" {
		t.Errorf("traits are %+v", p)
	}
	for _, raw := range []any{nil, true, "x", map[string]any{}, map[string]any{"x-assay": 3}} {
		if p := spec.PropertyTraitsOf(raw); !reflect.DeepEqual(p, spec.PropertyTraits{}) {
			t.Errorf("traits of %v are %+v", raw, p)
		}
	}
}
