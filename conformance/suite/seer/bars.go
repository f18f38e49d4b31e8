package seer

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"pgregory.net/rapid"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/wire"
)

// barsTool is the tool of the documents' examples: the daily closes of one listing.
const barsTool = "market.bars"

// bars judges the tool that the documents describe member by member. No price is known here: an
// answer is compared with what the target says to other questions about the same days.
func bars() []check.Check {
	sel := on("invokeTool")
	return []check.Check{
		{
			ID:   "tools.defaults",
			Does: "Asks for bars with nothing but a listing, and then with what the answer says it assumed.",
			Claims: []check.Claim{
				{ID: "tools.default-range", Says: "Without a range the answer is the last 252 completed sessions, up to the latest one."},
				{ID: "tools.default-values", Says: "The defaults spelled out give the same data, evidence and coverage."},
				{ID: "tools.default-as-of", Says: "Without as_of the answer is as of its admission."},
				{ID: "tools.coverage", Says: "The coverage tells the bounds that the answer has, default or not."},
			},
			Select: sel,
			Cost:   check.Cost{Requests: 20},
			Run:    barsDefaults,
		},
		{
			ID:   "tools.pages",
			Does: "Walks a range of many sessions page by page, and asks for it again in short pieces.",
			Claims: []check.Claim{
				{ID: "tools.page-size", Says: "A page holds no more than 1000 sessions."},
				{ID: "tools.page-query", Says: "Every page answers the query of the first one, with its coverage."},
				{ID: "tools.page-complete", Says: "The pages together hold each session of the range once, in order."},
				{ID: "tools.page-invocation", Says: "Each page is an invocation of its own: new under a new key, the same one under its key again."},
				{ID: "tools.cursor-inputs", Says: "A cursor goes on with the original inputs beside it or none, and is refused with changed ones."},
				{ID: "tools.cursor-elsewhere", Says: "A tool's cursor is refused as a collection's."},
			},
			Select: sel,
			Cost:   check.Cost{Requests: 80},
			Run:    barsPages,
		},
		{
			ID:   "tools.range",
			Does: "Asks for drawn ranges of sessions.",
			Claims: []check.Claim{
				{ID: "tools.range", Says: "Start and end are inclusive: every session between them is there, and none beyond them."},
				{ID: "tools.observations", Says: "Observations are in order and unique, and each close is a decimal number in a text."},
				{ID: "tools.coverage", Says: "The coverage tells the bounds that the answer has, default or not."},
			},
			Select: sel,
			Cost:   check.Cost{Requests: 60},
			Run:    barsRange,
		},
		{
			ID:   "tools.point-in-time",
			Does: "Asks for bars as of drawn moments around the ends of sessions, twice each.",
			Claims: []check.Claim{
				{ID: "tools.completed-only", Says: "No observation is of a session that is not complete at as_of."},
				{ID: "tools.completed-all", Says: "Every session that was complete a day before as_of is there."},
				{ID: "tools.reproducible", Says: "Asking twice with one as_of gives the same data."},
				{ID: "tools.future-refused", Says: "An as_of in the future is refused as invalid."},
			},
			Select: sel,
			Cost:   check.Cost{Requests: 120},
			Run:    barsPointInTime,
		},
		{
			ID:   "tools.indicators",
			Does: "Asks for indicators over a window that is longer than the history before an early as_of.",
			Claims: []check.Claim{
				{ID: "tools.short-history", Says: "A window longer than the history gives no value and a warning, and no error."},
				{ID: "tools.reproducible", Says: "Asking twice with one as_of gives the same data."},
			},
			Select: sel,
			Cost:   check.Cost{Requests: 10},
			Run:    indicators,
		},
	}
}

// series is one answer of the bars tool.
type series struct {
	ex       wire.Exchange
	body     any
	id       string // of the invocation
	sessions []string
	closes   []any
	next     string
}

// series reads an answer; ok is false if it is none.
func seriesOf(ex wire.Exchange) (s series, ok bool) {
	s = series{ex: ex, body: decoded(ex), next: field(ex, "/next_cursor"), id: field(ex, "/invocation_id")}
	list, ok := at(s.body, "/data/observations").([]any)
	for _, o := range list {
		s.sessions = append(s.sessions, textAt(o, "/session"))
		s.closes = append(s.closes, at(o, "/close"))
	}
	return s, ok && ex.Status() == 200
}

// askBars invokes the tool.
func askBars(t *check.T, input map[string]any, key string) wire.Exchange {
	return ask{op: "invokeTool", key: key, body: map[string]any{"agent_revision_id": agentRevision(t), "tool": barsTool, "input": input}}.send(t)
}

// mustBars is askBars for an input that is known to be good.
func mustBars(t *check.T, input map[string]any) series {
	s, ok := seriesOf(askBars(t, input, ""))
	if !ok {
		t.Inconclusive("%s with %s was answered %s", barsTool, encode(input), short(s.ex))
	}
	return s
}

// barsExampleInput is one of the catalog's inputs of the tool, with what exists at the target.
func barsExampleInput(t *check.T, name string) map[string]any {
	_, by := catalog(t.Contract())
	for _, tl := range by[barsTool] {
		for _, e := range tl.Examples {
			if e.Name == name {
				m, _ := resolved(t, e.Value).(map[string]any)
				return m
			}
		}
	}
	t.Inconclusive("the catalog has no example %s of %s", name, barsTool)
	return nil
}

// day is the date in the coverage's bound.
func day(bound string) string {
	d, _, _ := strings.Cut(bound, "T")
	return d
}

const (
	defaultSessions = 252
	clockSlack      = 5 * time.Second // between the clock of an answer and that of whoever stamps it
)

func barsDefaults(_ context.Context, t *check.T, _ check.Subject) {
	input := barsExampleInput(t, "default_history")
	s := mustBars(t, input)
	n := len(s.sessions)
	t.Judge("tools.default-range", n == defaultSessions && s.next == "", fmt.Sprintf("%d sessions on one page", defaultSessions), fmt.Sprintf("%d, next_cursor %q", n, s.next))
	if n == 0 {
		return
	}
	first, last, asOf := s.sessions[0], s.sessions[n-1], textAt(s.body, "/coverage/as_of")
	judgeBounds(t, s, first, last)
	known, err := time.Parse(time.RFC3339, asOf)
	told := clock(t)
	t.Judge("tools.default-as-of", err == nil && known.Sub(told).Abs() <= clockSlack, "as_of at the moment of the answer, "+told.UTC().Format(time.RFC3339), asOf)
	spelled := copyOf(input)
	for name, v := range map[string]string{"start": first, "end": last, "interval": "1d", "adjustment": "split_only", "as_of": asOf} {
		spelled[name] = v
	}
	diff := oracle.Diff(s.body, mustBars(t, spelled).body, []string{"/invocation_id"})
	t.Judge("tools.default-values", len(diff) == 0, "the same answer with the defaults spelled out", fmt.Sprintf("different at %v", diff))
	// Nothing completed lies behind the last session, and no session is left out before the first.
	spelled["start"], spelled["end"] = last, day(asOf)
	behind := mustBars(t, spelled)
	t.Judge("tools.default-range", slices.Equal(behind.sessions, []string{last}), "no completed session after "+last, fmt.Sprint(behind.sessions))
	spelled["start"], spelled["end"] = before(first, 14), last
	wider := mustBars(t, spelled)
	from := slices.Index(wider.sessions, first)
	t.Judge("tools.default-range", from >= 0 && slices.Equal(wider.sessions[from:], s.sessions), fmt.Sprintf("the same %d sessions in a wider range", n), fmt.Sprintf("%d from %s on", len(wider.sessions)-max(from, 0), first))
}

// before is the date so many days earlier.
func before(date string, days int) string {
	d, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	return d.AddDate(0, 0, -days).Format(time.DateOnly)
}

// judgeBounds judges the coverage against the bounds of a question.
func judgeBounds(t *check.T, s series, first, last string) {
	start, end := textAt(s.body, "/coverage/requested_start"), textAt(s.body, "/coverage/requested_end")
	t.Judge("tools.coverage", day(start) == first && day(end) == last, "coverage from "+first+" to "+last, "from "+start+" to "+end)
	if asOf := textAt(s.body, "/coverage/as_of"); asOf == "" {
		t.Judge("tools.coverage", false, "an as_of in the coverage", "none")
	}
}

var decimalText = regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// judgeObservations judges one page by itself.
func judgeObservations(t *check.T, s series) {
	t.Judge("tools.observations", sort.StringsAreSorted(s.sessions) && len(slices.Compact(slices.Clone(s.sessions))) == len(s.sessions),
		"sessions in order, each once", fmt.Sprintf("%d: %.200v", len(s.sessions), s.sessions))
	for i, c := range s.closes {
		text, isText := c.(string)
		if !isText || !decimalText.MatchString(text) {
			t.Judge("tools.observations", false, "a decimal number in a text as the close of "+s.sessions[i], string(encode(c)))
			return
		}
	}
}

const mostAPage = 1000

// longRange is the catalog's question of many sessions.
func longRange(t *check.T) map[string]any { return barsExampleInput(t, "several_pages") }

func barsPages(_ context.Context, t *check.T, _ check.Subject) {
	query := longRange(t)
	first := mustBars(t, query)
	t.Judge("tools.page-size", len(first.sessions) <= mostAPage, fmt.Sprintf("at most %d sessions", mostAPage), fmt.Sprintf("%d on one page", len(first.sessions)))
	if first.next == "" {
		t.NoneApply("the target has so few sessions of " + fmt.Sprint(query["instrumentId"]) + " that they need one page only")
		return
	}
	pages := walkBars(t, query, first)
	var sessions []string
	for i, p := range pages {
		t.Judge("tools.page-size", len(p.sessions) <= mostAPage, fmt.Sprintf("at most %d sessions", mostAPage), fmt.Sprintf("%d on page %d", len(p.sessions), i+1))
		sessions = append(sessions, p.sessions...)
		diff := oracle.Diff(first.body, p.body, []string{"/invocation_id", "/data/observations", "/next_cursor"})
		t.Judge("tools.page-query", len(diff) == 0, "query and coverage of the first page", fmt.Sprintf("page %d differs at %v", i+1, diff))
	}
	whole := pieces(t, query)
	t.Judge("tools.page-complete", slices.Equal(sessions, whole), fmt.Sprintf("the %d sessions that shorter ranges hold", len(whole)), firstDifference(whole, sessions))
	judgeInvocations(t, query, first, pages[1])
	judgeCursorInputs(t, query, first, pages[1])
	judgeElsewhere(t, first)
}

// walkBars follows the cursors, each by another way of repeating the query.
func walkBars(t *check.T, query map[string]any, first series) []series {
	pages := []series{first}
	for p := first; p.next != ""; {
		if len(pages) == 40 {
			t.Must("tools.page-complete", false, "an end", "40 pages and no end")
		}
		input := map[string]any{"instrumentId": query["instrumentId"], "cursor": p.next}
		if len(pages)%2 == 0 {
			input = with(query, "cursor", p.next)
		}
		next, ok := seriesOf(askBars(t, input, ""))
		t.Must("tools.cursor-inputs", ok, "the page that a fresh cursor leads to", short(next.ex))
		p = next
		pages = append(pages, p)
	}
	return pages
}

// pieces asks for the range year by year.
func pieces(t *check.T, query map[string]any) []string {
	start, _ := time.Parse(time.DateOnly, fmt.Sprint(query["start"]))
	end, err := time.Parse(time.DateOnly, fmt.Sprint(query["end"]))
	if err != nil || start.IsZero() {
		t.Inconclusive("the catalog's range is none: %v to %v", query["start"], query["end"])
	}
	var all []string
	for from := start; !from.After(end); from = from.AddDate(1, 0, 0) {
		to := from.AddDate(1, 0, -1)
		if to.After(end) {
			to = end
		}
		piece := copyOf(query)
		piece["start"], piece["end"] = from.Format(time.DateOnly), to.Format(time.DateOnly)
		s := mustBars(t, piece)
		if s.next != "" {
			t.Inconclusive("a year has more than one page")
		}
		all = append(all, s.sessions...)
	}
	return all
}

func firstDifference(want, got []string) string {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("%d sessions; %s is missing", len(got), want[i])
		case i >= len(want):
			return fmt.Sprintf("%d sessions; %s is too many", len(got), got[i])
		case want[i] != got[i]:
			return fmt.Sprintf("%d sessions; %s where %s is due", len(got), got[i], want[i])
		}
	}
	return "the same"
}

// judgeInvocations asks for the second page again, under its key and under another.
func judgeInvocations(t *check.T, query map[string]any, first, second series) {
	input := with(query, "cursor", first.next)
	key := t.Key()
	a, _ := seriesOf(askBars(t, input, key))
	again, _ := seriesOf(askBars(t, input, key))
	other, _ := seriesOf(askBars(t, input, ""))
	t.Judge("tools.page-invocation", again.id == a.id && a.id != "", "invocation "+a.id+" again under its key", short(again.ex))
	for _, p := range []series{first, second, a} {
		t.Judge("tools.page-invocation", other.id != p.id && other.id != "", "another invocation than "+p.id+" under a new key", other.id)
	}
	diff := oracle.Diff(second.body, other.body, []string{"/invocation_id", "/next_cursor"})
	t.Judge("tools.page-invocation", len(diff) == 0, "the same page", fmt.Sprintf("different at %v", diff))
}

func judgeCursorInputs(t *check.T, query map[string]any, first, second series) {
	input := with(query, "cursor", first.next)
	input["interval"], input["adjustment"] = textAt(first.body, "/data/interval"), textAt(first.body, "/data/adjustment")
	full, ok := seriesOf(askBars(t, input, ""))
	same := ok && slices.Equal(full.sessions, second.sessions)
	if query["interval"] != nil && query["adjustment"] != nil {
		t.Judge("tools.cursor-inputs", same, "the second page with every original input beside the cursor", short(full.ex))
	} else { // a default that was not spelled out before is the same question, or another text
		t.Judge("tools.cursor-inputs", same || turnedDown(full.ex), "the second page, or a refusal, with the defaults spelled out beside the cursor", short(full.ex))
	}
	for _, name := range []string{"adjustment", "as_of", "end", "start"} {
		v := map[string]any{"adjustment": "none", "as_of": "2026-10-02T23:59:59Z", "end": before(fmt.Sprint(query["end"]), 1), "start": before(fmt.Sprint(query["start"]), 1)}[name]
		changed := with(query, "cursor", first.next)
		changed[name] = v
		ex := askBars(t, changed, "")
		t.Judge("tools.cursor-inputs", turnedDown(ex), fmt.Sprintf("a refusal of the cursor with another %s", name), short(ex))
	}
	if other := barsExampleInput(t, "default_history")["instrumentId"]; other != query["instrumentId"] {
		ex := askBars(t, map[string]any{"instrumentId": other, "cursor": first.next}, "")
		t.Judge("tools.cursor-inputs", turnedDown(ex), "a refusal of the cursor with another listing", short(ex))
	}
}

func judgeElsewhere(t *check.T, first series) {
	for _, op := range t.Contract().Ops {
		if op.Collection == nil || op.Collection.Cursor.Name == "" || !here(t, op.ID) || strings.Contains(op.Path, "{") {
			continue
		}
		ex := ask{op: op.ID, q: map[string][]string{op.Collection.Cursor.Name: {first.next}}}.send(t)
		t.Judge("tools.cursor-elsewhere", turnedDown(ex), "a refusal of a tool's cursor by "+op.ID, short(ex))
	}
	t.NotApplicable("tools.cursor-elsewhere", "every collection that can be read without parameters is declared absent in the profile") // unless judged
}

func barsRange(_ context.Context, t *check.T, _ check.Subject) {
	query := longRange(t)
	query["start"] = before(fmt.Sprint(query["end"]), 500)
	all := mustBars(t, query)
	if len(all.sessions) < 10 {
		t.NoneApply("the target has too few sessions in the catalog's range")
		return
	}
	judgeObservations(t, all)
	t.Property(func(t *check.T) {
		i := check.Draw(t, rapid.IntRange(0, len(all.sessions)-1), "first session")
		n := check.Draw(t, rapid.IntRange(0, min(30, len(all.sessions)-1-i)), "sessions after it")
		// Either the sessions themselves are the bounds, or days around them, which may be no sessions.
		early, late := check.Draw(t, rapid.IntRange(0, 3), "days before"), check.Draw(t, rapid.IntRange(0, 3), "days after")
		piece := copyOf(query)
		piece["start"], piece["end"] = before(all.sessions[i], early), before(all.sessions[i+n], -late)
		s := mustBars(t, piece)
		judgeObservations(t, s)
		want := slices.DeleteFunc(slices.Clone(all.sessions), func(d string) bool { return d < piece["start"].(string) || d > piece["end"].(string) })
		if last := all.sessions[len(all.sessions)-1]; piece["end"].(string) > last || piece["start"].(string) < all.sessions[0] {
			s.sessions = slices.DeleteFunc(slices.Clone(s.sessions), func(d string) bool { return d > last || d < all.sessions[0] }) // unknown days
		}
		t.Must("tools.range", slices.Equal(s.sessions, want), fmt.Sprintf("the sessions from %s to %s: %v", piece["start"], piece["end"], want), fmt.Sprint(s.sessions))
		judgeBounds(t, s, piece["start"].(string), piece["end"].(string))
	})
}
