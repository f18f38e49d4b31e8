package check

import (
	"errors"
	"strings"
	"testing"

	"assay.kit/conformance/report"
)

// A picture goes with the failure that it shows, without secrets, and only where somebody looks.
func TestIllustrate(t *testing.T) {
	page := func(s string) func() ([]byte, error) { return func() ([]byte, error) { return []byte(s), nil } }
	run := func(shrink int) (Outcome, int) {
		drawn := 0
		env := testEnv(&answers{statuses: []int{200}})
		env.Shrink = shrink
		env.Text = func(s string) string { return strings.ReplaceAll(s, "token", "***") }
		o := runOne(t, env, func(t *T) {
			t.Illustrate("things.a", "early", func() ([]byte, error) { drawn++; return nil, nil }) // nothing is broken yet
			t.Judge("things.a", false, "x", "y")
			t.Judge("things.b", true, "", "")
			t.Illustrate("things.a", "history", page("<p>token</p>"))
			t.Illustrate("things.a", "large", page(strings.Repeat("x", report.MaxPicture+1)))
			t.Illustrate("things.a", "none", func() ([]byte, error) { return nil, errors.New("no") })
			t.Illustrate("things.b", "good", func() ([]byte, error) { drawn++; return nil, nil })
		})
		return o, drawn
	}
	o, drawn := run(300)
	if p := o.Findings[0].Pictures; len(p) != 1 || p[0].Name != "history" || string(p[0].Data) != "<p>***</p>" || drawn != 0 {
		t.Errorf("pictures %+v, %d drawn in vain", p, drawn)
	}
	if o.Findings[0].Did != "Tries things." {
		t.Errorf("did %q", o.Findings[0].Did)
	}
	if o, _ := run(0); len(o.Findings[0].Pictures) != 0 {
		t.Error("a run that only counts draws pictures")
	}
}
