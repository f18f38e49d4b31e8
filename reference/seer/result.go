package seer

import (
	"strings"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/seer/market"
)

// result is the envelope of what a tool found out.
type result struct {
	SchemaVersion string     `json:"schema_version"`
	Invocation    string     `json:"invocation_id"`
	Tool          string     `json:"tool"`
	Status        string     `json:"status"`
	Data          any        `json:"data"`
	Evidence      []evidence `json:"evidence"`
	Warnings      []warning  `json:"warnings"`
	Next          *string    `json:"next_cursor"`
	Coverage      coverage   `json:"coverage"`
}

// evidence names the records that a result rests on.
type evidence struct {
	ID       string `json:"id"`
	Revision string `json:"revision"`
	Source   string `json:"source_ref"`
}

// warning is what a reader should know and what is no error.
type warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// coverage says what was asked for and why anything of it is missing.
type coverage struct {
	Start   string   `json:"requested_start"`
	End     string   `json:"requested_end"`
	AsOf    string   `json:"as_of"`
	Sources []string `json:"source_refs"`
	Missing []string `json:"missing_reasons"`
	History string   `json:"revision_history"`
}

const schemaVersion = "1.0"

// newResult fills the envelope for observations of a range as known at asOf. It is partial if
// anything is missing.
func newResult(tool string, data any, r market.Range, asOf time.Time, missing []string) result {
	out := result{
		SchemaVersion: schemaVersion, Tool: tool, Status: "complete", Data: data,
		Evidence: []evidence{{ID: "ev_prices_example", Revision: "1", Source: source}},
		Warnings: []warning{},
		Coverage: coverage{
			Start: core.Timestamp(r.First.Start()), End: core.Timestamp(r.Last.Last()), AsOf: core.Timestamp(asOf),
			Sources: []string{source}, Missing: list(missing), History: "complete",
		},
	}
	if len(missing) > 0 {
		out.Status = "partial"
	}
	return out
}

// whole is the range of the last n sessions, or the day of asOf itself when there is none.
func (s *Seer) whole(n int, asOf time.Time) market.Range {
	if r, ok := s.market.Latest(n, asOf); ok {
		return r
	}
	day := market.DateOf(asOf.UTC())
	return market.Range{First: day, Last: day}
}

// instant reads a moment of knowledge: absent is now, and one in the future is refused, because what
// will be known is not known yet. at is its pointer in the body.
func instant(sys core.System, text *string, now time.Time, at string) (time.Time, *core.Problem) {
	if text == nil {
		return now.UTC().Truncate(time.Microsecond), nil
	}
	t, ok := parseInstant(*text)
	switch {
	case !ok:
		return t, invalid(sys, at, "format", "must be an RFC 3339 date-time of the years 0 to 9999")
	case t.After(now):
		return t, invalid(sys, at, "maximum", "must not be in the future")
	}
	return t, nil
}

// parseInstant reads an RFC 3339 date-time with what its grammar allows and time.Parse does not:
// small letters, and a leap second, which is taken as the first moment of the next minute.
func parseInstant(text string) (time.Time, bool) {
	text = strings.ToUpper(text)
	leap := len(text) > 19 && text[16:19] == ":60"
	if leap {
		text = text[:17] + "59" + text[19:]
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, false
	}
	if leap {
		t = t.Truncate(time.Second).Add(time.Second)
	}
	t = t.UTC()
	return t, t.Year() >= 0 && t.Year() <= 9999
}
