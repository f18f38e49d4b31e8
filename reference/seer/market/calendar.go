// Package market is a synthetic exchange: a trading calendar with real holiday rules, and listings
// whose prices are a pure function of listing and session. Nothing here knows the time of day but
// by an argument, so an answer depends on the question alone.
package market

import (
	"fmt"
	"slices"
	"sync"
	"time"
	_ "time/tzdata" // the machine may have no zone files, and the close is at a New York time

	"github.com/rickar/cal/v2"
	"github.com/rickar/cal/v2/aa"
	"github.com/rickar/cal/v2/us"
)

// CalendarName is the market identifier code (ISO 10383) of the calendar.
const CalendarName = "XNAS"

const (
	firstYear = 2010 // sessions before it do not exist for this source
	closeHour = 16   // New York
	// settling is how long after the close a session's bar is complete.
	settling = 5 * time.Minute
)

// Calendar knows the trading sessions from 2010 on. It is safe for concurrent use.
type Calendar struct {
	zone     *time.Location
	holidays []*cal.Holiday
	special  map[Date]bool

	mu       sync.RWMutex
	sessions []Date // ascending, of whole years from firstYear
	through  int    // last year in sessions
}

// NewCalendar builds the calendar; it fails only without the New York time zone.
func NewCalendar() (*Calendar, error) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		return nil, fmt.Errorf("trading calendar: %w", err)
	}
	sundayOnly := []cal.AltDay{{Day: time.Sunday, Offset: 1}}
	return &Calendar{
		zone: zone,
		holidays: []*cal.Holiday{
			// A New Year's Day on a Saturday is not made up for on Friday, the last day of the old year.
			aa.NewYear.Clone(&cal.Holiday{Observed: sundayOnly}),
			us.MlkDay, us.PresidentsDay, aa.GoodFriday, us.MemorialDay,
			// A federal holiday since 2021; the exchange closes for it since 2022.
			us.Juneteenth.Clone(&cal.Holiday{StartYear: 2022}),
			us.IndependenceDay, us.LaborDay, us.ThanksgivingDay, us.ChristmasDay,
		},
		special: specialClosures(),
		through: firstYear - 1,
	}, nil
}

// specialClosures are whole days on which the exchange was closed out of rule.
func specialClosures() map[Date]bool {
	days := map[Date]bool{}
	for _, d := range []time.Time{
		time.Date(2012, 10, 29, 0, 0, 0, 0, time.UTC), // hurricane Sandy
		time.Date(2012, 10, 30, 0, 0, 0, 0, time.UTC),
		time.Date(2018, 12, 5, 0, 0, 0, 0, time.UTC), // mourning for George H. W. Bush
		time.Date(2025, 1, 9, 0, 0, 0, 0, time.UTC),  // mourning for James E. Carter
	} {
		days[DateOf(d)] = true
	}
	return days
}

// Through returns all sessions up to and including day, ascending. The slice must not be changed.
func (c *Calendar) Through(day Date) []Date {
	year := day.Start().Year()
	c.mu.RLock()
	known, through := c.sessions, c.through
	c.mu.RUnlock()
	if through < year {
		known = c.extend(year)
	}
	return known[:upperBound(known, day)]
}

// Complete is the moment from which the bar of a session is complete.
func (c *Calendar) Complete(session Date) time.Time {
	y, m, d := session.Start().Date()
	return time.Date(y, m, d, closeHour, 0, 0, 0, c.zone).Add(settling).UTC()
}

// Completed returns the sessions that are complete at asOf, ascending; none before the history.
func (c *Calendar) Completed(asOf time.Time) []Date {
	days := c.Through(DateOf(asOf.In(c.zone)))
	if n := len(days); n > 0 && c.Complete(days[n-1]).After(asOf) {
		days = days[:n-1]
	}
	return days
}

func (c *Calendar) extend(year int) []Date {
	c.mu.Lock()
	defer c.mu.Unlock()
	for y := c.through + 1; y <= year; y++ {
		closed := c.closures(y)
		for d := DateOf(time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC)); d.Start().Year() == y; d++ {
			if !cal.IsWeekend(d.Start()) && !closed[d] && !c.special[d] {
				c.sessions = append(c.sessions, d)
			}
		}
		c.through = y
	}
	return c.sessions
}

func (c *Calendar) closures(year int) map[Date]bool {
	days := map[Date]bool{}
	for _, h := range c.holidays {
		if _, observed := h.Calc(year); !observed.IsZero() {
			// The library gives midnight in the machine's zone. Where clocks go forward at midnight
			// that is 23:00 of the day before, so the day is read at noon.
			days[DateOf(observed.Add(12*time.Hour))] = true
		}
	}
	return days
}

// Between narrows ascending sessions to first..last, both inclusive.
func Between(sessions []Date, first, last Date) []Date {
	lo, _ := slices.BinarySearch(sessions, first)
	hi := upperBound(sessions, last)
	if lo >= hi {
		return nil
	}
	return sessions[lo:hi]
}

// upperBound is the index of the first session after day.
func upperBound(sessions []Date, day Date) int {
	i, _ := slices.BinarySearch(sessions, day+1)
	return i
}
