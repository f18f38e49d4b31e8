package diff_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"assay.kit/spec/diff"
	"assay.kit/spec/tree"
)

func folder(files ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for i := 0; i+1 < len(files); i += 2 {
		out[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return out
}

const small = "openapi: 3.1.0\ninfo: {title: T, version: 1.0.0}\npaths:\n  /a: {get: {operationId: a, responses: {}}}\n"

// TestRefusals: what cannot be compared is one sentence with a place.
func TestRefusals(t *testing.T) {
	good, err := diff.ReadFolder(folder("openapi.yaml", small), "api")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, file, text, want string }{
		{"no file", "openapi.yml", "", "cannot be read"},
		{"no YAML", "openapi.yaml", "a: [", "api/openapi.yaml:2: not YAML"},
		{"a conflict", "openapi.yaml", small + "<<<<<<< HEAD\nx: 1\n=======\n", "api/openapi.yaml:5: a merge conflict is not resolved"},
		{"empty", "openapi.yaml", "{}", "is no OpenAPI document, no list of tools and no requirement catalog"},
		{"no operations", "openapi.yaml", "openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths: {}", "has no operations, no tools and no requirements"},
		{"Swagger", "openapi.yaml", "swagger: '2.0'\npaths: {/a: {}}", "convert it to OpenAPI 3.1"},
		{"another version", "openapi.yaml", "openapi: 4.0.0\npaths: {/a: {}}", "no OpenAPI 3.0 or 3.1"},
		{"another kind", "tools.json", `{"tools": [{"name": "a"}]}`, "of different kinds: api holds an OpenAPI document, api/tools.json holds tools"},
		{"a reference to nothing", "openapi.yaml", strings.Replace(small, "responses: {}", `responses: {"200": {$ref: "#/nowhere"}}`, 1), `api/openapi.yaml:4: the $ref "#/nowhere" leads nowhere`},
		{"a reference out of the folder", "openapi.yaml", strings.Replace(small, "responses: {}", `responses: {"200": {$ref: "../a.yaml"}}`, 1), "leaves the folder"},
		{"a reference to the net", "openapi.yaml", strings.Replace(small, "responses: {}", `responses: {"200": {$ref: "https://example.com/a.yaml"}}`, 1), "leaves the folder"},
	} {
		files := folder(c.file, c.text)
		if c.text == "" {
			files = folder()
		}
		v, err := diff.ReadFile(files, "api", c.file)
		if err == nil {
			_, err = diff.Compare(t.Context(), good, v, diff.Options{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestFirstVersion(t *testing.T) {
	v, err := diff.ReadFolder(folder("openapi.yaml", small), "api")
	if err != nil {
		t.Fatal(err)
	}
	r, err := diff.Compare(t.Context(), nil, v, diff.Options{})
	if err != nil || !r.First || len(r.Findings) > 0 {
		t.Errorf("%+v %v", r, err)
	}
}

// TestFiles: references to other files count as if they were in line, and findings name their places.
func TestFiles(t *testing.T) {
	inline, err := diff.ReadFolder(folder("openapi.yaml", strings.Replace(small, "responses: {}",
		`responses: {"200": {content: {application/json: {schema: {type: object, properties: {p: {type: string, maxLength: 4}}}}}}}`, 1)), "api")
	if err != nil {
		t.Fatal(err)
	}
	split := func(length string) *diff.Version {
		v, err := diff.ReadFolder(folder(
			"openapi.yaml", strings.Replace(small, "responses: {}", `responses: {"200": {content: {application/json: {schema: {$ref: "parts/a.yaml#/A"}}}}}`, 1),
			"parts/a.yaml", "A: {type: object, properties: {p: {$ref: '#/P'}}}\nP: {$ref: 'b.yaml'}\n",
			"parts/b.yaml", "type: string\nmaxLength: "+length+"\n"), "api")
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if r := compare(t, inline, split("4")); len(r.Findings) > 0 {
		t.Errorf("files make a difference:\n%s", told(r))
	}
	r := compare(t, split("4"), split("5"))
	if len(r.Findings) != 1 || r.Findings[0].Rule != "response.maxLength.widened" || r.Findings[0].New.File != "api/parts/b.yaml" || r.Findings[0].New.Line != 2 || r.Findings[0].Witness == nil {
		t.Errorf("%s%+v", told(r), r.Findings)
	}
}

func TestOverlayOnOneSide(t *testing.T) {
	o, err := tree.ParseOverlay("over.yaml", []byte("overlay: 1.0.0\nactions:\n- {target: \"$.paths['/a'].get\", update: {x-assay: {effect: compute}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := diff.ReadFolder(folder("openapi.yaml", small), "api")
	if err != nil {
		t.Fatal(err)
	}
	laid, err := diff.ReadFolder(folder("openapi.yaml", small), "api", o)
	if err != nil {
		t.Fatal(err)
	}
	r := compare(t, plain, laid)
	if len(r.Findings) != 1 || r.Findings[0].Rule != "operation.effect.added" || r.Findings[0].New.File != "over.yaml" {
		t.Errorf("%s", told(r))
	}
}
