package html

import "assay.kit/conformance/report"

// similar puts the findings together that most likely have one cause: the same claim with the same
// verdict. Groups and findings keep the order of the report.
func similar(findings []report.Finding) [][]report.Finding {
	type key struct {
		claim   string
		verdict report.Verdict
	}
	var out [][]report.Finding
	place := map[key]int{}
	for _, f := range findings {
		k := key{f.Claim, f.Verdict}
		i, ok := place[k]
		if !ok {
			i = len(out)
			place[k], out = i, append(out, nil)
		}
		out[i] = append(out[i], f)
	}
	return out
}
