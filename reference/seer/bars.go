package seer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/seer/market"
)

const (
	defaultSessions = 252
	pageSessions    = 1000
)

type barsInput struct {
	Instrument string  `json:"instrumentId"`
	Start      *string `json:"start"`
	End        *string `json:"end"`
	Interval   *string `json:"interval"`
	Adjustment *string `json:"adjustment"`
	AsOf       *string `json:"as_of"`
	Cursor     *string `json:"cursor"`
	Volume     *bool   `json:"include_volume"`
}

// barsQuery is the input with every default resolved. A cursor carries it, so that all pages answer
// one question.
type barsQuery struct {
	Schema     string            `json:"v"` // revision of the tool's schema
	Instrument string            `json:"i"`
	Range      market.Range      `json:"r"`
	Interval   string            `json:"p"`
	Adjustment market.Adjustment `json:"a"`
	AsOf       time.Time         `json:"t"`
	Volume     bool              `json:"q,omitempty"`
}

// barsCursor is the query and what is left of it.
type barsCursor struct {
	Query barsQuery    `json:"query"`
	Rest  market.Range `json:"rest"`
}

type barsData struct {
	Instrument   string        `json:"instrumentId"`
	Currency     string        `json:"currency"`
	Interval     string        `json:"interval"`
	Observations []observation `json:"observations"`
	Adjustment   string        `json:"adjustment"`
	Calendar     string        `json:"calendar"`
}

type observation struct {
	Session string `json:"session"`
	Close   string `json:"close"`
	Volume  string `json:"volume,omitempty"`
}

// bars answers market.bars, a page at a time.
func (s *Seer) bars(sys core.System, c call) (result, *core.Problem) {
	var in barsInput
	if err := json.Unmarshal(c.input, &in); err != nil {
		return result{}, failed(sys)
	}
	l, p := s.listing(sys, in.Instrument)
	if p != nil {
		return result{}, p
	}
	at, p := s.barsPosition(sys, c, in)
	if p != nil {
		return result{}, p
	}
	q := at.Query
	page, rest := s.market.Page(l, at.Rest, q.Adjustment, q.AsOf, pageSessions)
	data := barsData{
		Instrument: l.ID, Currency: l.Currency, Interval: q.Interval, Observations: make([]observation, len(page)),
		Adjustment: string(q.Adjustment), Calendar: market.CalendarName,
	}
	for i, b := range page {
		data.Observations[i] = observation{Session: b.Session.String(), Close: decimal(b.Cents)}
		if q.Volume {
			data.Observations[i].Volume = strconv.FormatInt(b.Volume, 10)
		}
	}
	out := newResult(c.tool.Domain, data, q.Range, q.AsOf, gaps(s.market.Gaps(q.Range, q.AsOf)))
	if rest == nil {
		return out, nil
	}
	next, err := sys.Seal(c.principal, c.tool.Domain, c.principal.Limits.CursorTTL, barsCursor{Query: q, Rest: *rest})
	if err != nil {
		return result{}, failed(sys)
	}
	out.Next = &next
	return out, nil
}

// barsPosition is where the page begins: at the start of a new query, or where a cursor says.
func (s *Seer) barsPosition(sys core.System, c call, in barsInput) (barsCursor, *core.Problem) {
	if in.Cursor == nil {
		q, p := s.barsQuery(sys, c, in)
		return barsCursor{Query: q, Rest: q.Range}, p
	}
	var at barsCursor
	if p := sys.Open(c.principal, c.tool.Domain, *in.Cursor, &at); p != nil {
		return at, p
	}
	if changed := at.Query.changed(in); changed != "" || at.Query.Schema != c.tool.Revision.Schema {
		p := sys.Refuse(core.CursorInvalid, "The cursor belongs to another query.")
		if changed != "" {
			p.Violations = []core.Violation{{Pointer: c.at + "/" + changed, Keyword: "const", Message: "must be as in the query that the cursor continues, or be left out"}}
		}
		return at, p
	}
	return at, nil
}

// changed names an input that is given and differs from the query, "" if none does.
func (q barsQuery) changed(in barsInput) string {
	differs := func(given *string, want string) bool { return given != nil && *given != want }
	moved := false
	if in.AsOf != nil {
		t, ok := parseInstant(*in.AsOf)
		moved = !ok || !t.Equal(q.AsOf)
	}
	switch {
	case in.Instrument != q.Instrument:
		return "instrumentId"
	case differs(in.Start, q.Range.First.String()):
		return "start"
	case differs(in.End, q.Range.Last.String()):
		return "end"
	case differs(in.Interval, q.Interval):
		return "interval"
	case differs(in.Adjustment, string(q.Adjustment)):
		return "adjustment"
	case moved:
		return "as_of"
	case in.Volume != nil && *in.Volume != q.Volume:
		return "include_volume"
	}
	return ""
}

func (s *Seer) barsQuery(sys core.System, c call, in barsInput) (barsQuery, *core.Problem) {
	asOf, p := instant(sys, in.AsOf, c.now, c.at+"/as_of")
	if p != nil {
		return barsQuery{}, p
	}
	q := barsQuery{
		Schema: c.tool.Revision.Schema, Instrument: in.Instrument, Interval: "1d", Adjustment: market.SplitOnly, AsOf: asOf,
		Volume: in.Volume != nil && *in.Volume,
	}
	if in.Interval != nil {
		q.Interval = *in.Interval
	}
	if in.Adjustment != nil {
		q.Adjustment = market.Adjustment(*in.Adjustment)
	}
	if in.Start == nil || in.End == nil {
		q.Range = s.whole(defaultSessions, asOf)
		return q, nil
	}
	var err error
	if q.Range.First, err = market.ParseDate(*in.Start); err != nil {
		return q, invalid(sys, c.at+"/start", "format", err.Error())
	}
	if q.Range.Last, err = market.ParseDate(*in.End); err != nil {
		return q, invalid(sys, c.at+"/end", "format", err.Error())
	}
	if q.Range.Last < q.Range.First {
		return q, invalid(sys, c.at+"/end", "minimum", "must not be before start")
	}
	return q, nil
}

func gaps(found []market.Gap) []string {
	reasons := make([]string, len(found))
	for i, g := range found {
		reasons[i] = string(g)
	}
	return reasons
}

// decimal writes cents with two digits after the point.
func decimal(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }
