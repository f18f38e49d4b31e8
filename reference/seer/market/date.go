package market

import (
	"fmt"
	"time"
)

// Date is a civil day, counted from 1970-01-01. It has no time zone.
type Date int32

// DateOf gives the civil day of t in t's own location.
func DateOf(t time.Time) Date {
	y, m, d := t.Date()
	return Date(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / secondsPerDay)
}

// ParseDate reads an RFC 3339 full-date, e.g. 2026-10-01.
func ParseDate(s string) (Date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0, fmt.Errorf("%q is no date of the form YYYY-MM-DD", s)
	}
	return DateOf(t), nil
}

// Start is midnight UTC at which the day begins.
func (d Date) Start() time.Time { return time.Unix(int64(d)*secondsPerDay, 0).UTC() }

// Last is the last whole second of the day, UTC.
func (d Date) Last() time.Time { return d.Start().Add((secondsPerDay - 1) * time.Second) }

func (d Date) String() string { return d.Start().Format(time.DateOnly) }

const secondsPerDay = 24 * 60 * 60
