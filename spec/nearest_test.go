package spec

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"createForecast", "createAction", "SEER-IDEM-03"}
	for _, tc := range []struct{ word, want string }{
		{"createForcast", "createForecast"},
		{"seer-idem-03", "SEER-IDEM-03"},
		{"SEER-IDEM-3", "SEER-IDEM-03"},
		{"frobnicate", ""},
		{"", ""},
	} {
		if got := Nearest(tc.word, known); got != tc.want {
			t.Errorf("Nearest(%q) = %q, want %q", tc.word, got, tc.want)
		}
	}
}
