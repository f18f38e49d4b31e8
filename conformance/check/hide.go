package check

import "assay.kit/conformance/report"

// hidden takes secrets out of an outcome's texts: a check quotes what the target answered, and a
// target may well answer with the token that it was sent.
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
		for j, p := range o.Findings[i].Pictures {
			o.Findings[i].Pictures[j].Data = []byte(r.Text(string(p.Data)))
		}
		o.Findings[i].Expected, o.Findings[i].Actual = r.Text(o.Findings[i].Expected), r.Text(o.Findings[i].Actual)
	}
	return o
}
