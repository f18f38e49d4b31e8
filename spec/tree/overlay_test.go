package tree_test

import (
	"strings"
	"testing"

	"assay.kit/spec/tree"
)

const base = `openapi: 3.1.0
info: {title: Base, version: "1"}
tags: [a]
paths:
  /a: {get: {summary: one}}
  /b: {get: {summary: two}}
`

func lay(t *testing.T, version, actions string) (*tree.Node, []*tree.Error, error) {
	t.Helper()
	root, err := tree.Parse("base.yaml", []byte(base))
	if err != nil {
		t.Fatal(err)
	}
	o, err := tree.ParseOverlay("over.yaml", []byte("overlay: "+version+"\ninfo: {title: T, version: '1'}\nactions:\n"+actions))
	if err != nil {
		return nil, nil, err
	}
	before := string(root.JSON())
	out, warnings, err := o.Apply(root)
	if string(root.JSON()) != before {
		t.Error("the base document was changed")
	}
	return out, warnings, err
}

func TestOverlayActions(t *testing.T) {
	for _, c := range []struct{ name, version, actions, at, want string }{
		{"merge", "1.0.0", "- {target: $.info, update: {title: New, x-a: {b: 1}}}", "/info", `{"title":"New","version":"1","x-a":{"b":1}}`},
		{"merge deep", "1.0.0", "- {target: $, update: {paths: {/a: {get: {x: 1}}}}}", "/paths/~1a", `{"get":{"summary":"one","x":1}}`},
		{"every match", "1.0.0", "- {target: '$.paths.*.get', update: {x: 1}}", "/paths", `{"/a":{"get":{"summary":"one","x":1}},"/b":{"get":{"summary":"two","x":1}}}`},
		{"append", "1.0.0", "- {target: $.tags, update: b}", "/tags", `["a","b"]`},
		{"append a list, 1.0", "1.0.0", "- {target: $.tags, update: [b]}", "/tags", `["a",["b"]]`},
		{"concatenate, 1.1", "1.1.0", "- {target: $.tags, update: [b, c]}", "/tags", `["a","b","c"]`},
		{"lists inside are joined", "1.0.0", "- {target: $, update: {tags: [b]}}", "/tags", `["a","b"]`},
		{"replace a value, 1.1", "1.1.0", "- {target: $.info.title, update: New}", "/info/title", `"New"`},
		{"remove member", "1.0.0", "- {target: \"$.paths['/a']\", remove: true}", "/paths", `{"/b":{"get":{"summary":"two"}}}`},
		{"remove wins", "1.0.0", "- {target: $.tags, remove: true, update: b}", "", `{"openapi":"3.1.0","info":{"title":"Base","version":"1"},"paths":{"/a":{"get":{"summary":"one"}},"/b":{"get":{"summary":"two"}}}}`},
		{"in order", "1.0.0", "- {target: $.tags, update: b}\n- {target: '$.tags[0]', remove: true}\n- {target: $.tags, update: c}", "/tags", `["b","c"]`},
		{"remove several items", "1.0.0", "- {target: $.tags, update: b}\n- {target: $.tags, update: c}\n- {target: '$.tags[0,1]', remove: true}", "/tags", `["c"]`},
		{"copy", "1.1.0", "- {target: \"$.paths['/b'].get\", copy: \"$.paths['/a'].get\"}", "/paths/~1b/get", `{"summary":"one"}`},
	} {
		out, warnings, err := lay(t, c.version, c.actions)
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v %v", c.name, warnings, err)
			continue
		}
		if got := string(out.At(tree.Pointer(c.at)).JSON()); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestOverlayKeepsPlaces(t *testing.T) {
	out, _, err := lay(t, "1.0.0", "- target: $.info\n  update:\n    x-new: here\n")
	if err != nil {
		t.Fatal(err)
	}
	if n := out.At("/info/x-new"); n.File != "over.yaml" || n.Line != 6 || n.Pointer != "/info/x-new" {
		t.Errorf("the new value is at %+v", n)
	}
	if n := out.At("/info/title"); n.File != "base.yaml" || n.Line != 2 {
		t.Errorf("the old value is at %+v", n)
	}
}

func TestOverlayWarnsOfNothing(t *testing.T) {
	_, warnings, err := lay(t, "1.0.0", "- {target: $.info, update: {a: 1}}\n- {target: $.nowhere, update: {a: 1}}\n")
	if err != nil || len(warnings) != 1 {
		t.Fatalf("%v %v", warnings, err)
	}
	if w := warnings[0]; w.Line != 5 || w.File != "over.yaml" || !strings.Contains(w.Message, "nowhere") {
		t.Errorf("warning is %+v", w)
	}
}

func TestOverlayRefuses(t *testing.T) {
	for _, c := range []struct {
		name, version, actions string
		line                   int
		want                   string
	}{
		{"version", "2.0.0", "- {target: $, update: {}}", 1, "1.0.x or 1.1.x"},
		{"no actions", "1.0.0", "  []", 1, "list of 1 to"},
		{"bad path", "1.0.0", "- {target: '$[', update: {}}", 4, "JSONPath"},
		{"no target", "1.0.0", "- {update: {}}", 4, "target"},
		{"nothing to do", "1.0.0", "- {target: $}", 4, "none of update"},
		{"both", "1.1.0", "- {target: $, update: {}, copy: $.info}", 4, "both"},
		{"copy in 1.0", "1.0.0", "- {target: $, copy: $.info}", 4, `no member "copy"`},
		{"typo", "1.0.0", "- {target: $, updaet: {}}", 4, "updaet"},
		{"remove is no flag", "1.0.0", "- {target: $.info, remove: maybe}", 4, "true or false"},
		{"remove all", "1.0.0", "- {target: $, remove: true}", 4, "whole document"},
		{"scalar over object", "1.1.0", "- {target: $.info, update: x}", 4, "lays a string over an object at #/info"},
		{"object over scalar", "1.1.0", "- {target: $.info.title, update: {}}", 4, "lays an object over a string"},
		{"copy of many", "1.1.0", "- {target: $.info, copy: $.paths.*}", 4, "selects 2"},
	} {
		_, _, err := lay(t, c.version, c.actions)
		te, ok := err.(*tree.Error)
		if !ok || te.Line != c.line || te.File != "over.yaml" || !strings.Contains(te.Message, c.want) {
			t.Errorf("%s: got %v, want line %d with %q", c.name, err, c.line, c.want)
		}
	}
}

// TestOverlayIsBounded: each action doubles the document.
func TestOverlayIsBounded(t *testing.T) {
	_, _, err := lay(t, "1.1.0", strings.Repeat("- {target: $, copy: $}\n- {target: $.info, copy: $}\n", 130))
	if err == nil || !strings.Contains(err.Error(), "grows beyond") {
		t.Errorf("error is %v", err)
	}
}
