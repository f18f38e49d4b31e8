package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// The golden file is the promise to every program that reads a report: a change here is either an
// addition or a new schema name.
func TestJSONIsStable(t *testing.T) {
	var b bytes.Buffer
	if err := sample().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", b.Bytes())
	var back Report
	d := json.NewDecoder(&b)
	d.DisallowUnknownFields()
	if err := d.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if back.Schema != "assay.report/1" || back.Verdict != Violations || len(back.Requirements) != 9 {
		t.Errorf("read back: schema %q, verdict %q, %d requirements", back.Schema, back.Verdict, len(back.Requirements))
	}
}

func TestJSONOfAnEmptyReportHasNoNullLists(t *testing.T) {
	var b bytes.Buffer
	if err := (&Report{Findings: []Finding{{}}, Cases: []Case{{}}}).WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{"requirements", "cases", "findings", "claims", "draws", "exchanges", "curl"} {
		if !strings.Contains(b.String(), `"`+member+`": [`) {
			t.Errorf("%s is no list in %s", member, b.String())
		}
	}
}

func TestJSONSurvivesAnyDraw(t *testing.T) {
	r := &Report{Findings: []Finding{{Draws: []Draw{{"nan", math.NaN()}, {"func", func() {}}, {"text", "<&>"}}}}}
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); !strings.Contains(s, `"NaN"`) || !strings.Contains(s, "<&>") {
		t.Errorf("draws are lost or escaped: %s", s)
	}
	if _, ok := r.Findings[0].Draws[0].Value.(float64); !ok {
		t.Error("writing changed the report")
	}
}

// A report is read on a terminal too: what one would obey or hide is escaped, and means the same.
func TestJSONIsVisible(t *testing.T) {
	text := "a\u009b31m\x7f\u202e\u200b\u2028\U000e0041é\x1b"
	var b bytes.Buffer
	if err := (&Report{Note: text}).WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsFunc(strings.ReplaceAll(b.String(), "\n", ""), hostile) {
		t.Errorf("%q", b.String())
	}
	var back Report
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.Note != text {
		t.Errorf("%q, %v", back.Note, err)
	}
}
