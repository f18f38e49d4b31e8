package typo

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"idempotency", "collection", "creates", "job"}
	for _, c := range []struct{ word, want string }{
		{"idempotancy", "idempotency"},
		{"Collections", "collection"},
		{"jbo", "job"},
		{"creates", "creates"},
		{"authority", ""},
		{"", ""},
	} {
		if got := Nearest(c.word, known); got != c.want {
			t.Errorf("Nearest(%q) = %q, want %q", c.word, got, c.want)
		}
	}
}
