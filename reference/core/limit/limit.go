// Package limit holds the pure rules of quotas and page sizes.
package limit

import (
	"strconv"
	"time"
)

// Bucket is the state of a token bucket; the zero value is a full one. It admits whatever never
// exceeds its rate in any minute, and tells a caller that was too fast the shortest useful delay.
type Bucket struct {
	used float64 // tokens taken and not yet refilled
	at   time.Time
}

// Take takes one token of perMinute a minute. If there is none it reports how long until there is.
// perMinute <= 0 is no limit.
func (b *Bucket) Take(perMinute int, now time.Time) (ok bool, wait time.Duration) {
	if perMinute <= 0 {
		return true, 0
	}
	perSecond := float64(perMinute) / 60
	if !b.at.IsZero() && now.After(b.at) {
		b.used = max(0, b.used-now.Sub(b.at).Seconds()*perSecond)
	}
	if b.at.IsZero() || now.After(b.at) {
		b.at = now
	}
	if over := b.used + 1 - float64(perMinute); over > 1e-9 {
		return false, time.Duration(over / perSecond * float64(time.Second))
	}
	b.used++
	return true, 0
}

// Room reports whether one more job fits beside the active ones; most <= 0 is no limit.
func Room(active, most int) bool { return most <= 0 || active < most }

// Page is the policy of a page size parameter.
type Page struct {
	Min, Max, Default int
	Clamp             bool // out of range becomes the nearest bound; else it is refused
}

// Parse reads the parameter as it was sent; nil means it was not. ok is false for what is no plain
// decimal integer, and for one out of range unless it is clamped.
func (p Page) Parse(raw *string) (n int, ok bool) {
	if raw == nil {
		return p.Default, true
	}
	n, err := strconv.Atoi(*raw)
	if err != nil || strconv.Itoa(n) != *raw { // no sign, no leading zero, no space
		return 0, false
	}
	if p.Clamp {
		return min(max(n, p.Min), p.Max), true
	}
	return n, n >= p.Min && n <= p.Max
}
