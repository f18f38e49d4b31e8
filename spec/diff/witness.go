package diff

import (
	"encoding/json"
	"slices"
	"strings"

	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// Witness is a value that the validator accepts under one version and refuses under the other.
type Witness struct {
	Value   json.RawMessage `json:"value"`
	Valid   string          `json:"valid"`   // old or new
	Invalid string          `json:"invalid"` // the other
	Says    string          `json:"says"`    // what the refusing version says
	Schema  string          `json:"schema"`  // pointer of the refusing schema
}

// proof is a value that tells two schemas apart, with what the refusing one says.
type proof struct {
	value      any
	violations []schema.Violation
	valid      string
	at         tree.Pointer
}

// prove looks for values that show what the findings of this pair say. Where no rule could tell what an
// edit does, a value that shows harm makes the finding breaking.
func (c *pair) prove() {
	if c.d.silent > 0 || !slices.ContainsFunc(c.hits, c.wants) {
		return
	}
	proofs, tried := c.proofs()
	for _, i := range c.hits {
		if !c.wants(i) {
			continue
		}
		f := &c.d.out[i]
		p := fitting(proofs, f)
		if p == nil {
			if tried {
				c.unproved(f)
			}
			continue
		}
		f.Witness = p.witness()
		if f.Grade == Review && (c.sc.most == "" || !Breaking.worse(c.sc.most)) {
			f.Grade = Breaking
			c.d.bump(f, c.sc)
		}
	}
}

// convict is the net under the table: an edit that no row judges, and that a value shows to do harm where
// nothing else was found to, is breaking.
func (c *pair) convict() {
	if !c.unknown || c.d.silent > 0 || slices.ContainsFunc(c.d.out[c.before:], func(f Finding) bool { return f.Grade == Breaking }) {
		return
	}
	proofs, _ := c.proofs()
	if len(proofs) == 0 {
		return
	}
	if i := c.d.add(c.sc, string(c.sc.dir)+".witness", Breaking, c.a.anchor(), c.b.anchor()); i >= 0 {
		c.d.out[i].Witness = proofs[0].witness()
	}
}

// unproved softens what no value shows. Where one side lists its values all of them were tried, so the
// edit harms nobody; of a keyword that combines others nobody can tell.
func (c *pair) unproved(f *Finding) {
	soften := func(g Grade) {
		if f.Grade.worse(g) {
			f.Grade, f.Needs, f.Excused = g, "", ""
		}
	}
	switch keyword := strings.Split(f.Rule, ".")[1]; keyword {
	case "enum", "properties":
	case "not", "if", "dependentSchemas", "contains", "propertyNames", "anyOf", "oneOf", "patternProperties":
		soften(Review)
	}
	from := c.a
	if c.sc.dir == response {
		from = c.b
	}
	if _, finite := from.enum(); finite && c.sc.dir != both && !strings.Contains(f.Rule, ".x-") && !strings.Contains(f.Rule, ".content") {
		soften(Compatible)
	}
}

// wants reports whether a witness would say something about a finding.
func (c *pair) wants(i int) bool {
	f := &c.d.out[i]
	if f.Witness != nil || f.Grade != Breaking && f.Grade != Review {
		return false
	}
	return !strings.Contains(f.Rule, ".properties.") || f.Grade == Breaking
}

// fitting is the proof whose violation is of the finding's own keyword; of an edit that no keyword
// explains, any.
func fitting(proofs []proof, f *Finding) *proof {
	keyword := strings.Split(f.Rule, ".")[1]
	for i := range proofs {
		for _, v := range proofs[i].violations {
			if explains(v, keyword) && touches(v, f) {
				return &proofs[i]
			}
		}
	}
	return nil
}

// touches keeps two members of one keyword apart: the witness of a required member misses that one.
func touches(v schema.Violation, f *Finding) bool {
	name := ""
	switch {
	case strings.Contains(f.Rule, ".required.") || strings.Contains(f.Rule, ".dependentRequired."):
		name = strings.Trim(f.Before+f.After, `"`)
	case strings.Contains(f.Rule, ".properties."):
		p := f.Old
		if strings.HasSuffix(f.Rule, string(widened)) {
			p = f.New
		}
		_, name = tree.Pointer(p.Pointer).Parent()
		_, member := v.Instance.Parent()
		return member == name
	default:
		return true
	}
	return strings.Contains(v.Message, `"`+name+`"`)
}

// explains reports whether a violation is what a row's keyword forbids.
func explains(v schema.Violation, keyword string) bool {
	switch keyword {
	case "additionalProperties", "properties":
		return v.Keyword == "additionalProperties" || v.Keyword == "unevaluatedProperties" || strings.Contains(v.Location, "/additionalProperties/")
	case "type":
		return v.Keyword == "type" || v.Keyword == "enum" || v.Keyword == "const" || v.Keyword == "anyOf" || v.Keyword == "oneOf" || v.Keyword == "false"
	case "enum":
		return v.Keyword == "enum" || v.Keyword == "const"
	case "minimum":
		return v.Keyword == "minimum" || v.Keyword == "exclusiveMinimum"
	case "maximum":
		return v.Keyword == "maximum" || v.Keyword == "exclusiveMaximum"
	case "schema", "if", "anyOf", "oneOf", "not", "dependentSchemas", "contains", "propertyNames", "prefixItems", "items", "patternProperties":
		return true
	}
	return v.Keyword == keyword
}

func (p *proof) witness() *Witness {
	text, err := json.Marshal(p.value)
	if err != nil {
		return nil
	}
	w := &Witness{Value: text, Valid: p.valid, Invalid: "new", Schema: string(p.at), Says: p.violations[0].Message}
	if p.valid == "new" {
		w.Invalid = "old"
	}
	if at := p.violations[0].Instance; at != "" {
		w.Says = string(at) + " " + w.Says
	}
	return w
}

// proofs are values that fit one side and not the other, in the direction that hurts: what was sent must
// still be taken, what comes must have been possible.
// It is false where nothing could be tried.
func (c *pair) proofs() ([]proof, bool) {
	if len(c.a.nodes) != 1 || len(c.b.nodes) != 1 { // composed of several: no one schema to ask
		return nil, false
	}
	a, b := c.sc.old.schemaAt(c.a.nodes[0].Pointer), c.sc.new.schemaAt(c.b.nodes[0].Pointer)
	if a == nil || b == nil {
		return nil, false
	}
	var out []proof
	try := func(from, to view, takes, refuses *schema.Schema, valid string, at tree.Pointer) {
		for _, v := range c.d.candidates(from, to) {
			if len(takes.Validate(v)) > 0 {
				continue
			}
			if vs := refuses.Validate(v); len(vs) > 0 {
				out = append(out, proof{v, vs, valid, at})
			}
		}
	}
	if c.sc.dir != response {
		try(c.a, c.b, a, b, "old", c.b.nodes[0].Pointer)
	}
	if c.sc.dir != request {
		try(c.b, c.a, b, a, "new", c.a.nodes[0].Pointer)
	}
	slices.SortStableFunc(out, func(x, y proof) int { return len(x.violations) - len(y.violations) })
	return out, true
}
