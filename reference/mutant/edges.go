package mutant

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"assay.kit/reference/core"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// edges are servers that are wrong at one instant only: at the very bound of a filter, or for a moment
// of a job's life.
func edges() []Mutant {
	return []Mutant{
		{
			ID: "filter-after-or-at", Does: "Takes a lower bound of time as inclusive.", Contract: "notes",
			Breaks:  []string{"collections.filter-bound"},
			Replace: later(func(have, bound time.Time) bool { return !have.Before(bound) }),
		},
		{
			ID: "filter-after-a-step", Does: "Takes a lower bound of time as inclusive where it was made from a float.", Contract: "seer",
			Breaks:  []string{"collections.filter-bound"},
			May:     []May{{"collections.filter-complete", "items of one case can be a few microseconds apart"}},
			Replace: later(func(have, bound time.Time) bool { return have.After(bound.Add(-2 * time.Microsecond)) }),
		},
		{
			ID: "filter-after-rounded", Does: "Leaves out what came within three microseconds after a lower bound.", Contract: "notes",
			Breaks:  []string{"collections.filter-bound"},
			May:     []May{{"collections.filter-complete", "items of one case can be a few microseconds apart"}},
			Replace: later(func(have, bound time.Time) bool { return have.After(bound.Add(3 * time.Microsecond)) }),
		},
		{
			ID: "job-blips-after-end", Does: "Shows a completed job as running again, for a fiftieth of a second soon after its end.", Contract: "seer",
			Breaks:  []string{"jobs.transitions"},
			May:     []May{{"jobs.final", "a read of another case can meet the moment"}, {"jobs.cancel-ended", "a read of another case can meet the moment"}, {"jobs.abandoned", "a read of another case can meet the moment"}, {"jobs.cancel-quiet", "a read of another case can meet the moment"}},
			Replace: blip("completed", "running", 15*time.Millisecond, 20*time.Millisecond, 0),
		},
		{
			ID: "job-blips-while-running", Does: "Shows a long job as accepted again for a fiftieth of a second while it runs.", Contract: "seer",
			Breaks:  []string{"jobs.transitions"},
			Replace: blip("running", "accepted", 600*time.Millisecond, 15*time.Millisecond, 700*time.Millisecond),
		},
	}
}

// later applies bounds of time with another comparison, also where the store could have applied them.
func later(passes func(have, bound time.Time) bool) func(*core.Rules) {
	return func(r *core.Rules) {
		r.CreatedAfter = func(spec.Filter, string) time.Time { return time.Time{} }
		r.Match = func(f spec.Filter, value string, item any) bool {
			if f.Match != "after" {
				return core.Match(f, value, item)
			}
			v, _ := tree.Get(item, f.Member)
			shown, _ := v.(string)
			have, err1 := time.Parse(time.RFC3339Nano, shown)
			bound, err2 := time.Parse(time.RFC3339Nano, value)
			return err1 == nil && err2 == nil && passes(have, bound)
		}
	}
}

// blip shows jobs in one state as in another, from after until as long after they were first seen in
// it. A stay above 0 is how long jobs run.
func blip(state, as string, after, lasts, stay time.Duration) func(*core.Rules) {
	return func(r *core.Rules) {
		var first sync.Map // job -> time.Time
		r.Represent = func(op *spec.Operation, res core.Resource) json.RawMessage {
			if op.ID != "getJob" || res.State != state {
				return res.Body
			}
			at, _ := first.LoadOrStore(res.ID, time.Now())
			t, _ := at.(time.Time)
			if age := time.Since(t); age < after || age > after+lasts {
				return res.Body
			}
			body := decoded(res.Body)
			body["state"] = as
			delete(body, "result_ref")
			return encode(body)
		}
		if stay > 0 {
			own := core.Correct().Delay
			r.Delay = func(job, at string) time.Duration {
				if at == state {
					return stay
				}
				return own(job, at)
			}
		}
	}
}

// shortened are servers that lose a part of what they were sent.
func shortened() []Mutant {
	lost := func(id, does string, change func(note map[string]any)) Mutant {
		return Mutant{ID: id, Does: does, Contract: "notes", Breaks: []string{"resources.echo"}, Wrap: noteBodies(change)}
	}
	return []Mutant{
		{
			ID: "resource-nested-lost", Does: "Shows no longitude of a place.", Contract: "notes",
			Breaks: []string{"resources.echo"}, May: []May{{"resources.listed", "its collection shows it whole"}},
			Wrap: edit(func(r *http.Request, a *answer) {
				body := a.object()
				if place, ok := body["place"].(map[string]any); ok && (is(r, "POST", "/notebooks/*/notes") || is(r, "GET", "/notes/*")) {
					delete(place, "longitude")
					a.set(body)
				}
			}),
		},
		lost("resource-member-lost", "Keeps no reference of a note, though it shows references.", func(note map[string]any) { delete(note, "reference") }),
		{
			ID: "resource-style-lost", Does: "Shows of the style of a notebook its colour only.", Contract: "notes",
			Breaks: []string{"resources.echo"}, May: []May{{"resources.listed", "its collection shows it whole"}},
			Wrap: edit(func(r *http.Request, a *answer) {
				body := a.object()
				if style, ok := body["style"].(map[string]any); ok && (is(r, "POST", "/notebooks") || is(r, "GET", "/notebooks/*")) {
					delete(style, "margins")
					a.set(body)
				}
			}),
		},
		{
			ID: "resource-map-entry-lost", Does: "Shows no entry of a map whose key has a dot in it.", Contract: "seer",
			Breaks: []string{"resources.echo"}, May: []May{{"resources.listed", "its collection shows it whole"}},
			Wrap: edit(func(r *http.Request, a *answer) {
				body := a.object()
				if m, ok := body["tool_versions"].(map[string]any); ok {
					delete(m, "market.bars")
					a.set(body)
				}
			}),
		},
	}
}
