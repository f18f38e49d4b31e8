package check

import (
	"encoding/json"
	"fmt"

	"assay.kit/conformance/report"
)

// hidden takes secrets out of an outcome's texts and drawn values: a check quotes what the target
// answered, and a target may well answer with the token that it was sent.
func (r *runner) hidden(o Outcome) Outcome {
	if r.Text == nil {
		return o
	}
	o.Case.Note = r.Text(o.Case.Note)
	o.Case.Claims = append([]report.Claim{}, o.Case.Claims...)
	for i := range o.Case.Claims {
		o.Case.Claims[i].Note = r.Text(o.Case.Claims[i].Note)
	}
	for i := range o.Findings {
		f := &o.Findings[i]
		f.Expected, f.Actual = r.Text(f.Expected), r.Text(f.Actual)
		f.Draws = append([]report.Draw{}, f.Draws...)
		for j := range f.Draws {
			f.Draws[j].Label, f.Draws[j].Value = r.Text(f.Draws[j].Label), r.hiddenValue(f.Draws[j].Value)
		}
		for j, p := range f.Pictures {
			f.Pictures[j].Data = []byte(r.Text(string(p.Data)))
		}
	}
	return o
}

// hiddenValue gives a value back as it is, unless its JSON holds a secret.
func (r *runner) hiddenValue(v any) any {
	b, err := json.Marshal(v)
	if err != nil { // the report writes it as this text too
		b = fmt.Appendf(nil, "%#v", v)
	}
	text := r.Text(string(b))
	if text == string(b) {
		return v
	}
	var out any
	if json.Unmarshal([]byte(text), &out) != nil {
		return text
	}
	return out
}
