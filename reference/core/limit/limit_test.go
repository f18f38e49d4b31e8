package limit_test

import (
	"testing"
	"time"

	"assay.kit/reference/core/limit"
)

func TestBucket(t *testing.T) {
	var b limit.Bucket
	now := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	for i := range 60 {
		if ok, _ := b.Take(60, now); !ok {
			t.Fatalf("request %d of 60 in a minute was refused", i+1)
		}
	}
	ok, wait := b.Take(60, now)
	if ok || wait != time.Second {
		t.Fatalf("request 61: %v, wait %s; want a refusal and 1s", ok, wait)
	}
	if ok, _ := b.Take(60, now.Add(wait-time.Millisecond)); ok {
		t.Error("admitted before the delay was over")
	}
	if ok, _ := b.Take(60, now.Add(wait)); !ok {
		t.Error("refused after the delay that it announced")
	}
	if ok, _ := b.Take(60, now.Add(-time.Hour)); ok {
		t.Error("a clock that went back refilled the bucket")
	}
	if ok, _ := new(limit.Bucket).Take(0, now); !ok {
		t.Error("no limit refuses")
	}
}

// TestConformingTraffic sends exactly the limit in every minute, in a burst at a random-looking second.
func TestConformingTraffic(t *testing.T) {
	var b limit.Bucket
	now := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	for minute := range 20 {
		for i := range 7 {
			if ok, _ := b.Take(7, now.Add(time.Duration(minute)*time.Minute)); !ok {
				t.Fatalf("minute %d, request %d was refused", minute, i)
			}
		}
	}
}

func TestPage(t *testing.T) {
	text := func(s string) *string { return &s }
	reject := limit.Page{Min: 1, Max: 100, Default: 20}
	clamp := limit.Page{Min: 1, Max: 100, Default: 20, Clamp: true}
	for _, c := range []struct {
		p    limit.Page
		raw  *string
		want int
		ok   bool
	}{
		{reject, nil, 20, true}, {reject, text("1"), 1, true}, {reject, text("100"), 100, true},
		{reject, text("0"), 0, false}, {reject, text("101"), 0, false}, {reject, text("-1"), 0, false}, {reject, text("1.5"), 0, false},
		{reject, text(""), 0, false}, {reject, text("x"), 0, false}, {reject, text("+5"), 0, false}, {reject, text("05"), 0, false},
		{reject, text(" 5"), 0, false}, {reject, text("99999999999999999999"), 0, false}, {reject, text("1e1"), 0, false},
		{clamp, text("0"), 1, true}, {clamp, text("101"), 100, true}, {clamp, text("-5"), 1, true}, {clamp, text("x"), 0, false}, {clamp, nil, 20, true},
	} {
		n, ok := c.p.Parse(c.raw)
		if ok != c.ok || ok && n != c.want {
			t.Errorf("%+v %v: %d %v, want %d %v", c.p, c.raw, n, ok, c.want, c.ok)
		}
	}
}

func TestRoom(t *testing.T) {
	if !limit.Room(1, 2) || limit.Room(2, 2) || !limit.Room(9, 0) {
		t.Error("Room")
	}
}
