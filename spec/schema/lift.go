package schema

import (
	"strings"

	"assay.kit/spec/tree"
)

// Lift returns an OpenAPI 3.0 document as 3.1: the keywords in which its schemas differ from JSON
// Schema 2020-12 are rewritten (nullable, boolean exclusiveMinimum and exclusiveMaximum, example),
// and members beside a $ref, which 3.0 ignores and 3.1 does not, are dropped but for extensions. A
// document of another version is returned as it is. Lines and files are kept.
func Lift(doc *tree.Node) *tree.Node {
	version := doc.Get("openapi")
	if version == nil || version.Kind != tree.String || !strings.HasPrefix(version.Text, "3.0") {
		return doc
	}
	doc = doc.Clone()
	Walk(doc, Sites{Schema: liftSchema})
	v := *version
	v.Text = "3.1.0"
	doc.Set("openapi", &v)
	doc.Reindex("")
	return doc
}

func liftSchema(n *tree.Node) {
	if n.Kind != tree.Object {
		return
	}
	if ref := n.Get("$ref"); ref != nil && ref.Kind == tree.String {
		var kept []tree.Member
		for _, m := range n.Members {
			if m.Key == "$ref" || strings.HasPrefix(m.Key, "x-") {
				kept = append(kept, m)
			}
		}
		n.Members = kept
		return
	}
	liftBound(n, "exclusiveMinimum", "minimum")
	liftBound(n, "exclusiveMaximum", "maximum")
	liftNullable(n)
	if ex := n.Get("example"); ex != nil {
		n.Delete("example")
		if n.Get("examples") == nil {
			n.Set("examples", &tree.Node{Kind: tree.Array, Items: []*tree.Node{ex}, File: ex.File, Line: ex.Line, Column: ex.Column})
		}
	}
}

// liftBound turns {minimum: 1, exclusiveMinimum: true} into {exclusiveMinimum: 1}.
func liftBound(n *tree.Node, exclusive, bound string) {
	ex := n.Get(exclusive)
	if ex == nil || ex.Kind != tree.Bool {
		return
	}
	n.Delete(exclusive)
	if b := n.Get(bound); b != nil && ex.Text == "true" {
		n.Delete(bound)
		n.Set(exclusive, b)
	}
}

// liftNullable adds "null" to the type. Without a type nullable has no effect (OpenAPI 3.0.3
// §4.7.24.1). An enum is left: it must list null itself to allow it.
func liftNullable(n *tree.Node) {
	nullable := n.Get("nullable")
	if nullable == nil {
		return
	}
	n.Delete("nullable")
	t := n.Get("type")
	if nullable.Text != "true" || t == nil || t.Kind != tree.String || t.Text == "null" {
		return
	}
	null := *t
	null.Text = "null"
	n.Set("type", &tree.Node{Kind: tree.Array, Items: []*tree.Node{t, &null}, File: t.File, Line: t.Line, Column: t.Column})
}
