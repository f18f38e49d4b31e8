package mutant

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// series changes the observations of every result of the bars tool.
func series(change func(body map[string]any, seen []any) []any) func(http.Handler) http.Handler {
	return toolResults(func(body, data map[string]any) {
		if seen, ok := data["observations"].([]any); ok {
			data["observations"] = change(body, seen)
		}
	})
}

// asked changes the observations of results by what was asked for.
func asked(change func(input, body map[string]any, seen []any) []any) func(http.Handler) http.Handler {
	return wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		input, _ := decoded(bodyOf(r))["input"].(map[string]any)
		a := ask(next, r)
		body := a.object()
		data, _ := body["data"].(map[string]any)
		if seen, ok := data["observations"].([]any); ok && is(r, "POST", invokePath) && a.status == 200 && input != nil {
			data["observations"] = change(input, body, seen)
			a.set(body)
		}
		a.send(w)
	})
}

func session(o any) string { m, _ := o.(map[string]any); return text(m, "session") }

// shifted moves the moment of knowledge that was asked for, and shows the one that was asked for.
func shifted(by time.Duration) func(http.Handler) http.Handler {
	return wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		body := decoded(bodyOf(r))
		input, _ := body["input"].(map[string]any)
		told := text(input, "as_of")
		at, err := time.Parse(time.RFC3339, told)
		if !is(r, "POST", invokePath) || err != nil || at.Add(by).After(time.Now()) {
			next.ServeHTTP(w, r)
			return
		}
		input["as_of"] = at.Add(by).Format(time.RFC3339)
		a := again(next, r, body)
		if shown := a.object(); shown != nil {
			if c, ok := shown["coverage"].(map[string]any); ok {
				c["as_of"] = told
				a.set(shown)
			}
		}
		a.send(w)
	})
}

func bars() []Mutant {
	return []Mutant{
		{
			ID: "bars-250", Does: "Takes 250 sessions for a year.", Contract: "seer",
			Breaks: []string{"tools.default-range"},
			May:    []May{{"tools.coverage", "two sessions that were covered are missing"}, {"tools.default-values", "the same"}},
			Wrap: asked(func(input, _ map[string]any, seen []any) []any {
				if input["start"] == nil && input["cursor"] == nil && len(seen) > 250 {
					return seen[len(seen)-250:]
				}
				return seen
			}),
		},
		{
			ID: "bars-yesterday", Does: "Ends the default range one session early.", Contract: "seer",
			Breaks: []string{"tools.default-range"},
			May:    []May{{"tools.coverage", "a session that was covered is missing"}, {"tools.default-values", "the same"}, {"tools.completed-all", "the same"}},
			Wrap: asked(func(input, _ map[string]any, seen []any) []any {
				if input["start"] == nil && input["cursor"] == nil && len(seen) > 0 {
					return seen[:len(seen)-1]
				}
				return seen
			}),
		},
		{
			ID: "bars-adjusted-otherwise", Does: "Adjusts for dividends too if nothing is said.", Contract: "seer",
			Breaks: []string{"tools.default-values"},
			Wrap: rewriting(func(body, input map[string]any) {
				if input["adjustment"] == nil && input["cursor"] == nil && body["tool"] == "market.bars" {
					input["adjustment"] = "total_return"
				}
			}),
			May: []May{{"tools.cursor-inputs", "the true default beside a cursor is a changed input"}},
		},
		{
			ID: "bars-as-of-midnight", Does: "Answers as of the beginning of the day if nothing is said.", Contract: "seer",
			Breaks: []string{"tools.default-as-of"},
			Wrap: rewriting(func(_, input map[string]any) {
				if input["as_of"] == nil && input["cursor"] == nil {
					input["as_of"] = time.Now().UTC().Format(time.DateOnly) + "T00:00:00Z"
				}
			}),
		},
		{
			ID: "bars-coverage-data", Does: "Covers, by its own account, what it found and not what was asked for.", Contract: "seer",
			Breaks: []string{"tools.coverage"},
			May:    []May{{"tools.page-query", "each page has a coverage of its own"}},
			Wrap: series(func(body map[string]any, seen []any) []any {
				if c, ok := body["coverage"].(map[string]any); ok && len(seen) > 0 {
					c["requested_start"], c["requested_end"] = session(seen[0])+"T00:00:00Z", session(seen[len(seen)-1])+"T23:59:59Z"
				}
				return seen
			}),
		},
		{
			ID: "bars-start-exclusive", Does: "Leaves the first session of a range out.", Contract: "seer",
			Breaks: []string{"tools.range"},
			May:    []May{{"tools.default-values", "the default has that session"}, {"tools.default-range", "the same"}, {"tools.page-complete", "every piece lacks its first session"}, {"tools.completed-all", "the session may be the first"}},
			Wrap: asked(func(input, _ map[string]any, seen []any) []any {
				return slices.DeleteFunc(seen, func(o any) bool { return session(o) == input["start"] })
			}),
		},
		{
			ID: "bars-end-exclusive", Does: "Leaves the last session of a range out.", Contract: "seer",
			Breaks: []string{"tools.range"},
			May:    []May{{"tools.cursor-inputs", "the pages lack their last session"}, {"tools.page-invocation", "the same"}, {"tools.default-values", "the default has that session"}, {"tools.default-range", "the same"}, {"tools.page-complete", "every piece lacks its last session"}, {"tools.completed-all", "the session may be the last"}},
			Wrap: asked(func(input, _ map[string]any, seen []any) []any {
				return slices.DeleteFunc(seen, func(o any) bool { return session(o) == input["end"] })
			}),
		},
		{
			ID: "bars-newest-first", Does: "Gives the latest session first.", Contract: "seer",
			Breaks: []string{"tools.observations"},
			May:    []May{{"tools.range", "sessions are compared in order"}, {"tools.default-range", "the same"}, {"tools.coverage", "its bounds are taken for the other's"}, {"tools.page-complete", "sessions are compared in order"}, {"tools.default-values", "the bounds are taken the wrong way round"}},
			Wrap:   series(func(_ map[string]any, seen []any) []any { slices.Reverse(seen); return seen }),
		},
		{
			ID: "bars-twice", Does: "Gives the last session of a range twice.", Contract: "seer",
			Breaks: []string{"tools.observations"},
			May:    []May{{"tools.output", "the schema allows each observation once"}, {"tools.range", "sessions are compared one by one"}, {"tools.default-range", "the same"}, {"tools.page-size", "a full page has one too many"}, {"tools.page-complete", "the same"}, {"tools.default-values", "the same"}},
			Wrap: series(func(_ map[string]any, seen []any) []any {
				if len(seen) > 1 {
					return append(seen, seen[len(seen)-1])
				}
				return seen
			}),
		},
		{
			ID: "bars-float", Does: "Gives closes as numbers.", Contract: "seer",
			Breaks: []string{"tools.observations"},
			May:    []May{{"tools.output", "the schema wants a text"}},
			Wrap: series(func(_ map[string]any, seen []any) []any {
				for _, o := range seen {
					m, _ := o.(map[string]any)
					m["close"] = json.Number(text(m, "close"))
				}
				return seen
			}),
		},
		{
			ID: "bars-exponent", Does: "Writes closes in scientific notation.", Contract: "seer",
			Breaks: []string{"tools.observations"},
			May:    []May{{"tools.output", "the schema wants plain digits"}},
			Wrap: series(func(_ map[string]any, seen []any) []any {
				for _, o := range seen {
					m, _ := o.(map[string]any)
					f, _ := strconv.ParseFloat(text(m, "close"), 64)
					m["close"] = strconv.FormatFloat(f, 'e', -1, 64)
				}
				return seen
			}),
		},
		{
			ID: "bars-running-session", Does: "Shows the session that is still running at as_of.", Contract: "seer",
			Breaks: []string{"tools.completed-only"},
			May:    []May{{"tools.page-invocation", "as_of beside a cursor is another"}, {"tools.page-query", "the same"}, {"tools.cursor-inputs", "the same"}},
			Wrap:   shifted(12 * time.Hour),
		},
		{
			ID: "bars-days-behind", Does: "Knows a session three days after its end.", Contract: "seer",
			Breaks: []string{"tools.completed-all"},
			Wrap:   shifted(-96 * time.Hour),
			May:    []May{{"tools.page-invocation", "as_of beside a cursor is another"}, {"tools.page-query", "the same"}, {"tools.page-complete", "the end of the range is not known yet"}, {"tools.range", "the same"}, {"tools.cursor-inputs", "as_of beside a cursor is another"}, {"tools.default-values", "the default is as of another moment"}, {"tools.default-range", "the same"}},
		},
		{
			ID: "bars-jitter", Does: "Rounds prices by chance.", Contract: "seer",
			Breaks: []string{"tools.reproducible", "tools.default-values"},
			May:    []May{{"tools.page-invocation", "the page is not the same again"}},
			Wrap: func(next http.Handler) http.Handler {
				var n atomic.Int64
				return series(func(_ map[string]any, seen []any) []any {
					for _, o := range seen {
						m, _ := o.(map[string]any)
						m["close"] = strings.TrimSuffix(text(m, "close"), "0") + strconv.FormatInt(n.Load()%7+1, 10)
					}
					n.Add(1)
					return seen
				})(next)
			},
		},
		{
			ID: "bars-future", Does: "Takes an as_of in the future for now.", Contract: "seer",
			Breaks: []string{"tools.future-refused"},
			Wrap: rewriting(func(_, input map[string]any) {
				if at, err := time.Parse(time.RFC3339, text(input, "as_of")); err == nil && at.After(time.Now()) {
					delete(input, "as_of")
				}
			}),
		},
		{
			ID: "bars-near-future", Does: "Refuses an as_of only beyond the present day.", Contract: "seer",
			Breaks: []string{"tools.future-refused"},
			Wrap: rewriting(func(_, input map[string]any) {
				if at, err := time.Parse(time.RFC3339, text(input, "as_of")); err == nil && at.After(time.Now()) && at.Before(time.Now().Add(24*time.Hour)) {
					delete(input, "as_of")
				}
			}),
			May: []May{{"tools.cursor-inputs", "a changed as_of is dropped"}},
		},
		{
			ID: "indicators-refused", Does: "Refuses an indicator that has too little history.", Contract: "seer",
			Breaks: []string{"tools.short-history"},
			Wrap: edit(func(r *http.Request, a *answer) {
				if warnings, _ := a.object()["warnings"].([]any); is(r, "POST", invokePath) && a.status == 200 && len(warnings) > 0 {
					*a = *problem(http.StatusBadRequest, "INVALID_REQUEST")
				}
			}),
		},
		{
			ID: "indicators-silent", Does: "Does not warn of an indicator that has too little history.", Contract: "seer",
			Breaks: []string{"tools.short-history"},
			Wrap:   toolResults(func(body, _ map[string]any) { body["warnings"] = []any{} }),
		},
		{
			ID: "indicators-zero", Does: "Gives 0 for an indicator that has too little history.", Contract: "seer",
			Breaks: []string{"tools.short-history"},

			Wrap: toolResults(func(_, data map[string]any) {
				all, _ := data["indicators"].([]any)
				for _, i := range all {
					if m, _ := i.(map[string]any); m["value"] == nil {
						m["value"] = json.Number("0")
					}
				}
			}),
		},
	}
}

// continued adds to a result what its cursor leads to.
func continued(next http.Handler, w http.ResponseWriter, r *http.Request) {
	body := decoded(bodyOf(r))
	a := ask(next, r)
	shown := a.object()
	data, _ := shown["data"].(map[string]any)
	seen, ok := data["observations"].([]any)
	if cursor := text(shown, "next_cursor"); is(r, "POST", invokePath) && ok && cursor != "" {
		input, _ := body["input"].(map[string]any)
		input["cursor"] = cursor
		rest := also(next, r, "POST", invokePath, string(encode(body))).object()
		more, _ := rest["data"].(map[string]any)
		tail, _ := more["observations"].([]any)
		data["observations"] = append(seen, tail...)
		shown["next_cursor"] = rest["next_cursor"]
		a.set(shown)
	}
	a.send(w)
}

func barPages() []Mutant {
	later := func(input map[string]any) bool { return input["cursor"] != nil }
	return []Mutant{
		{
			ID: "page-too-long", Does: "Puts two pages of bars on one.", Contract: "seer",
			Breaks: []string{"tools.page-size"},
			May:    []May{{"tools.output", "the schema bounds a page too"}, {"tools.page-invocation", "the page that is compared is another one"}, {"tools.cursor-inputs", "the same"}},
			Wrap:   wrap(continued),
		},
		{
			ID: "page-overlaps", Does: "Begins a page with the last session of the page before.", Contract: "seer",
			Breaks: []string{"tools.page-complete"},
			May:    []May{{"tools.cursor-inputs", "sessions are compared one by one"}},
			Wrap: func(next http.Handler) http.Handler {
				var last remembered
				return asked(func(input, body map[string]any, seen []any) []any {
					if len(seen) > 0 && text(body, "next_cursor") != "" {
						last.put(text(body, "next_cursor"), string(encode(seen[len(seen)-1])))
					}
					if o := decoded([]byte(last.get(text(input, "cursor")))); later(input) && o != nil {
						return append([]any{o}, seen...)
					}
					return seen
				})(next)
			},
		},
		{
			ID: "page-skips", Does: "Skips the session at the edge of two pages.", Contract: "seer",
			Breaks: []string{"tools.page-complete"},
			Wrap: asked(func(input, _ map[string]any, seen []any) []any {
				if later(input) && len(seen) > 0 {
					return seen[1:]
				}
				return seen
			}),
		},
		{
			ID: "page-own-coverage", Does: "Covers, by its own account, only what is on the page.", Contract: "seer",
			Breaks: []string{"tools.page-query"},
			Wrap: asked(func(input, body map[string]any, seen []any) []any {
				if c, ok := body["coverage"].(map[string]any); ok && later(input) && len(seen) > 0 {
					c["requested_start"] = session(seen[0]) + "T00:00:00Z"
				}
				return seen
			}),
		},
		{
			ID: "page-later-knowledge", Does: "Answers each page as of its own moment.", Contract: "seer",
			Breaks: []string{"tools.page-query"},
			May:    []May{{"tools.page-invocation", "the page is not the same again"}},
			Wrap: asked(func(input, body map[string]any, seen []any) []any {
				if c, ok := body["coverage"].(map[string]any); ok && later(input) {
					c["as_of"] = time.Now().UTC().Format(time.RFC3339Nano)
				}
				return seen
			}),
		},
		{
			ID: "page-one-invocation", Does: "Takes all pages of a result for one invocation.", Contract: "seer",
			Breaks: []string{"tools.page-invocation"},
			Wrap: func(next http.Handler) http.Handler {
				var ids remembered
				return asked(func(input, body map[string]any, seen []any) []any {
					if id := ids.get(text(input, "cursor")); later(input) && id != "" {
						body["invocation_id"] = id
					}
					if text(body, "next_cursor") != "" {
						ids.put(text(body, "next_cursor"), text(body, "invocation_id"))
					}
					return seen
				})(next)
			},
		},
		{
			ID: "page-retry-anew", Does: "Invokes anew when a page is asked for again under its key.", Contract: "seer",
			Breaks: []string{"tools.page-invocation"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if input, _ := decoded(bodyOf(r))["input"].(map[string]any); is(r, "POST", invokePath) && later(input) {
					r.Header.Set("Idempotency-Key", randomID("key-"))
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "page-restarts", Does: "Ignores a cursor that does not fit what is asked for.", Contract: "seer",
			Breaks: []string{"tools.cursor-inputs"},
			Wrap: forgiving(func(a *answer) bool { return a.text("code") == "CURSOR_INVALID" },
				func(_, input map[string]any) { delete(input, "cursor") }),
		},
		{
			ID: "page-inputs-ignored", Does: "Goes on with a cursor whatever else is asked for.", Contract: "seer",
			Breaks: []string{"tools.cursor-inputs"},
			Wrap: rewriting(func(_, input map[string]any) {
				if later(input) {
					for name := range input {
						if name != "cursor" && name != "instrumentId" {
							delete(input, name)
						}
					}
				}
			}),
		},
		{
			ID: "page-needs-inputs", Does: "Refuses a cursor without the inputs of its query.", Contract: "seer",
			Breaks: []string{"tools.cursor-inputs"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if input, _ := decoded(bodyOf(r))["input"].(map[string]any); is(r, "POST", invokePath) && later(input) && input["start"] == nil {
					refuse(w, http.StatusBadRequest, "CURSOR_INVALID")
					return
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "page-elsewhere", Does: "Begins a collection anew for a cursor that is no cursor of it.", Contract: "seer",
			Breaks: []string{"tools.cursor-elsewhere"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				a := ask(next, r)
				if r.Method == http.MethodGet && a.text("code") == "CURSOR_INVALID" {
					q := r.URL.Query()
					q.Del("cursor")
					r.URL.RawQuery = q.Encode()
					a = ask(next, r)
				}
				a.send(w)
			}),
		},
	}
}
