package spec

import "assay.kit/spec/tree"

// PropertyTraits are the promises of one schema property, from the x-assay beside its schema.
type PropertyTraits struct {
	Ref       *Ref         // which resource type this id names
	States    *States      // the machine that this member shows
	Unit      string       // of a number, e.g. fraction, seconds
	Money     *Money       // this object is an amount of money
	Open      bool         // of an enum: a reader must tolerate new values
	Opaque    bool         // passed through untouched, to the spelling of its numbers
	Volatile  bool         // may differ between two equal answers
	ToolInput tree.Pointer // the object's schema is the input schema of the domain tool that this sibling member (relative to the parent object) names
}

// Money names the members of a monetary value: an integer string, an asset and a scale.
type Money struct{ Amount, Asset, Scale string }

// PropertyTraitsOf reads the traits beside one raw schema (a decoded JSON object). The loader has
// validated every use, so a schema without them, or no object, gives the zero value.
func PropertyTraitsOf(rawSchema any) PropertyTraits {
	m, _ := rawSchema.(map[string]any)
	x, _ := m["x-assay"].(map[string]any)
	return decodeProperty(x)
}
