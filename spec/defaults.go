package spec

import "assay.kit/spec/tree"

// WithDefaults returns an operation's or the document's x-assay with the profile's defaults laid under
// each trait that it uses, as the loader reads it. A profile that is not known gives none.
func WithDefaults(profile, place string, x *tree.Node) *tree.Node {
	defaults, err := defaultsOf(profile)
	if err != nil || x == nil || x.Kind != tree.Object {
		return x
	}
	if place == "document" {
		x = under(x, defaults.Get("document"))
	}
	out := *x
	out.Members = append([]tree.Member{}, x.Members...)
	for i, m := range out.Members {
		if trait := defaults.Get(m.Key); trait != nil && m.Key != "document" {
			out.Members[i].Value = under(m.Value, trait)
		}
	}
	return &out
}
