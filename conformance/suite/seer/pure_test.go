package seer

import (
	"testing"
	"time"
)

func TestMayEndAt(t *testing.T) {
	zone, err := time.LoadLocation(exchangeZone)
	if err != nil {
		t.Fatal(err)
	}
	for date, want := range map[string]string{
		"2026-10-02": "2026-10-02T20:00:00Z", // summer time
		"2026-12-01": "2026-12-01T21:00:00Z",
		"2026-11-27": "2026-11-27T18:00:00Z", // the day after Thanksgiving may be short
		"2026-12-24": "2026-12-24T18:00:00Z",
		"2026-07-02": "2026-07-02T17:00:00Z",
		"no date":    "0001-01-01T00:00:00Z",
	} {
		if got := mayEndAt(date, zone).UTC().Format(time.RFC3339); got != want {
			t.Errorf("%s: %s, not %s", date, got, want)
		}
	}
}

func TestConsecutiveNumbers(t *testing.T) {
	for _, c := range []struct {
		numbers []int
		lost    int
		want    bool
	}{
		{[]int{1, 2, 3}, 0, true}, {[]int{1, 2, 4}, 0, false}, {[]int{1, 2, 4}, 1, true}, {[]int{2, 3}, 0, false}, {[]int{2, 3}, 1, true},
		{[]int{0, 1}, 0, false}, {[]int{1, 2, 9}, 1, false}, {nil, 0, false}, {nil, 1, true},
	} {
		if got := consecutive(c.numbers, c.lost); got != c.want {
			t.Errorf("%v with %d lost: %v", c.numbers, c.lost, got)
		}
	}
}

func TestFirstDifference(t *testing.T) {
	for _, c := range []struct {
		want, got []string
		says      string
	}{
		{[]string{"a", "b"}, []string{"a", "b"}, "the same"},
		{[]string{"a", "b"}, []string{"a"}, "1 sessions; b is missing"},
		{[]string{"a"}, []string{"a", "b"}, "2 sessions; b is too many"},
		{[]string{"a", "b"}, []string{"a", "c"}, "2 sessions; c where b is due"},
	} {
		if got := firstDifference(c.want, c.got); got != c.says {
			t.Errorf("%v and %v: %s", c.want, c.got, got)
		}
	}
}

// Every text that is sent as a credential has a form that is recognised when it comes back.
func TestCredentialForms(t *testing.T) {
	for _, secret := range credentialForms() {
		if !credentialForm.MatchString(secret) {
			t.Errorf("%s is not recognised", secret)
		}
	}
	for _, name := range []string{"model:aura-example-r1", "model:skill-2", "https://models.example/v1/aura"} {
		if credentialForm.MatchString(name) {
			t.Errorf("%s is taken for a credential", name)
		}
	}
}
