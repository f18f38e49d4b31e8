package report

import (
	"encoding/json"
	"fmt"
	"io"

	"assay.kit/conformance/wire"
)

// WriteJSON writes the report as one indented JSON document and a line feed. Lists are never null.
// A drawn value that JSON cannot hold is written as text, so that no value can cost the report.
func (r *Report) WriteJSON(w io.Writer) error {
	out := *r
	out.Requirements = filled(r.Requirements)
	out.Cases = filled(r.Cases)
	for i := range out.Cases {
		out.Cases[i].Claims = filled(out.Cases[i].Claims)
	}
	out.Findings = filled(r.Findings)
	for i := range out.Findings {
		f := &out.Findings[i]
		f.Requirements = filled(f.Requirements)
		f.Draws = encodable(f.Draws)
		if f.Exchanges == nil {
			f.Exchanges = []wire.Exchange{}
		}
		f.Curl = filled(f.Curl)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("report cannot be written: %w", err)
	}
	return nil
}

// filled copies a list, so that writing changes nothing of the report; nil becomes empty.
func filled[E any](list []E) []E { return append([]E{}, list...) }

func encodable(draws []Draw) []Draw {
	out := filled(draws)
	for i := range out {
		if _, err := json.Marshal(out[i].Value); err != nil {
			out[i].Value = fmt.Sprintf("%#v", out[i].Value)
		}
	}
	return out
}
