package mutant

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/core/cursor"
	"assay.kit/reference/core/idem"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// seldom are servers that are wrong where few look: at the second time, on a later page, at the
// greatest size, on a minor route, after a start.
func seldom() []Mutant { return slices.Concat(extremes(), sides(), second(), restarted()) }

func extremes() []Mutant {
	return []Mutant{
		{
			ID: "page-greatest-ends", Does: "Ends a walk at a page of the greatest size.", Contract: "notes",
			Breaks: []string{"collections.complete"}, May: []May{{"collections.limit-change", "a walk in pages of changing size meets it too"}},
			Wrap: edit(func(r *http.Request, a *answer) {
				body := a.object()
				if n, err := strconv.Atoi(r.URL.Query().Get("page_size")); err == nil && n >= 50 && body["next"] != nil && a.status == http.StatusOK {
					delete(body, "next")
					a.set(body)
				}
			}),
		},
		{
			ID: "page-later-unfiltered", Does: "Forgets the filter on what is pinned on the last of several pages.", Contract: "notes",
			Breaks: []string{"collections.filter-match", "collections.filter-complete"}, May: []May{{"collections.order", "what was forgotten comes last"}},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				a := ask(next, r)
				q := r.URL.Query()
				body := a.object()
				list, ok := body["notes"].([]any)
				if ok && is(r, "GET", "/notebooks/*/notes") && q.Has("after") && q.Has("pinned") && body["next"] == nil {
					for _, it := range notesOf(also(next, r, "GET", r.URL.Path+"?page_size=50", "")) {
						if pinned, _ := tree.Get(it, "/pinned"); pinned != (q.Get("pinned") == "true") {
							list = append(list, it)
							break
						}
					}
					body["notes"] = list
					a.set(body)
				}
				a.send(w)
			}),
		},
		{
			ID: "walk-loses-ties", Does: "Goes on behind the second in which the last item of a page was made.", Contract: "seer",
			Breaks: []string{
				"collections.complete", "collections.steady", "collections.new-walk", "collections.limit-change", "collections.filter-complete",
				"collections.filter-unchanged", "collections.hidden-on",
			},
			Wrap: func(next http.Handler) http.Handler {
				var ends remembered
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					a := ask(next, r)
					body := a.object()
					list, ok := body["items"].([]any)
					if !ok || a.status != http.StatusOK || len(list) == 0 {
						a.send(w)
						return
					}
					last, _ := list[len(list)-1].(map[string]any)
					if second, _, ok := strings.Cut(text(last, "created_at"), "."); ok && a.text("next_cursor") != "" {
						ends.put(a.text("next_cursor"), second)
					}
					if end := ends.get(r.URL.Query().Get("cursor")); end != "" {
						body["items"] = slices.DeleteFunc(list, func(it any) bool {
							m, _ := it.(map[string]any)
							return strings.HasPrefix(text(m, "created_at"), end)
						})
						a.set(body)
					}
					a.send(w)
				})
			},
		},
		{
			ID: "cursor-walk-expires", Does: "Lets a cursor expire when the first one of its walk does.", Contract: "seer",
			Breaks:  []string{"collections.renewed"},
			Replace: walkExpires,
		},
		{
			ID: "validation-first-element", Does: "Looks at the first element of an array only.", Contract: "notes",
			Breaks: enforces("validation.keywords"),
			Replace: func() func(*core.Rules) {
				later := regexp.MustCompile(`/[1-9][0-9]*(/|$)`)
				return lenient(func(v core.Violation) bool { return later.MatchString(v.Pointer) })
			}(),
			May: []May{{"wire.schema", "what was taken is shown"}},
		},
		{
			ID: "validation-null-is-absent", Does: "Takes null for the absence of a member where the schema has no null.", Contract: "notes",
			Breaks: enforces("validation.keywords"),
			Replace: func(r *core.Rules) {
				r.ValidateBody = func(op *spec.Operation, v any) []core.Violation {
					return slices.DeleteFunc(core.ValidateBody(op, v), func(vi core.Violation) bool {
						at, there := tree.Get(v, tree.Pointer(vi.Pointer))
						return vi.Keyword == "type" && there && at == nil && vi.Pointer != ""
					})
				}
			},
			May: []May{{"wire.schema", "what was taken is shown"}},
		},
		{
			ID: "validation-size-by-header", Does: "Looks at the length that is announced, and reads a body of any size that announces none.", Contract: "seer",
			Breaks: []string{"validation.size-refused", "validation.size-accepted"}, // an action is authorised once
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if r.ContentLength < 0 {
					var short bytes.Buffer
					if json.Compact(&short, bodyOf(r)) == nil {
						r.Body = nopBody(short.Bytes())
					}
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "transport-deep-500", Does: "Fails on a body that is nested more deeply than it can read.", Contract: "notes",
			Breaks: []string{"wire.server-error"}, Families: []string{"transport", "validation"},
			May: []May{{"transport.json", "a failure is no refusal"}, {"transport.code", "likewise"}},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && bytes.Count(bodyOf(r), []byte("[[")) > 400 {
					broken(next, w, r)
					return
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "transport-nul-500", Does: "Fails on an id with the character NUL.", Contract: "notes",
			Breaks: []string{"wire.server-error"}, Families: []string{"transport", "validation"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if strings.ContainsRune(r.URL.Path, 0) {
					broken(next, w, r)
					return
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "transport-nul-parameter-500", Does: "Fails on a parameter with the character NUL.", Contract: "notes",
			Breaks: []string{"wire.server-error", "collections.tamper"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.RawQuery, "%00") {
					broken(next, w, r)
					return
				}
				next.ServeHTTP(w, r)
			}),
		},
	}
}

func notesOf(a *answer) []any {
	list, _ := a.object()["notes"].([]any)
	return list
}

// walkExpires gives every cursor of a walk the expiry of the first. A walk is known by its snapshot,
// and forgotten when its time is over.
func walkExpires(r *core.Rules) {
	const life = 15 * time.Minute
	var mu sync.Mutex
	first := map[cursor.Content]time.Time{}
	r.Seal = func(k cursor.Keys, scope, plain []byte) (string, error) {
		c, err := cursor.Decode(plain)
		if err != nil {
			return cursor.Seal(k, scope, plain)
		}
		walk := cursor.Content{Watermark: c.Watermark, Filters: c.Filters, Order: c.Order}
		mu.Lock()
		if at, ok := first[walk]; ok && at.After(c.Expires.Add(-life)) {
			c.Expires = at
		} else {
			first[walk] = c.Expires
		}
		mu.Unlock()
		return cursor.Seal(k, scope, cursor.Encode(c))
	}
}

// sides are wrong on a minor route or in a minor answer.
func sides() []Mutant {
	return []Mutant{
		{
			ID: "job-stopped-with-fault", Does: "Names a fault of an export that was stopped.", Contract: "notes",
			Breaks: []string{"jobs.result-absent"},
			Wrap: edit(func(r *http.Request, a *answer) {
				if body := a.object(); is(r, "GET", "/exports/*") && text(body, "phase") == "stopped" {
					body["fault"] = "STOPPED"
					a.set(body)
				}
			}),
		},
		{
			ID: "foreign-export", Does: "Does not look whether the notebook of an export is there.", Contract: "notes",
			Breaks: []string{"access.foreign"}, May: []May{{"access.foreign-code", "there is no refusal"}, {"access.oracle", "what never was is taken too"}},
			Wrap: exportsAnything,
		},
		{
			ID: "validation-parameter-on-writes", Does: "Looks at the query of reads only.", Contract: "notes",
			Breaks: []string{"validation.unknown-parameter"},
			Replace: func(r *core.Rules) {
				r.ValidateQuery = func(op *spec.Operation, q url.Values) []core.Violation {
					if op.Method != http.MethodGet {
						return nil
					}
					return core.ValidateQuery(op, q)
				}
			},
		},
	}
}

// exportsAnything exports an empty notebook of its own for one that is not there.
func exportsAnything(next http.Handler) http.Handler {
	var made remembered
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := decoded(bodyOf(r))
		a := ask(next, r)
		if named := text(body, "notebook_id"); a.status == http.StatusNotFound && is(r, "POST", "/exports") {
			id := made.get(named)
			if id == "" {
				own := r.Clone(r.Context())
				own.URL = &url.URL{Path: "/notebooks"}
				own.Header.Set("Request-Key", randomID("empty-"))
				id = again(next, own, map[string]any{"title": "Empty", "label": "empty"}).text("id")
				made.put(named, id)
			}
			if body["notebook_id"] = id; id != "" {
				a = again(next, r, body)
				a.body = bytes.ReplaceAll(a.body, []byte(id), []byte(named))
			}
		}
		a.send(w)
	})
}

// second are right at the first time and wrong at the second.
func second() []Mutant {
	return []Mutant{
		{
			ID: "idempotency-conflict-once", Does: "Refuses another payload once, and takes it for a repetition when it comes again.", Contract: "notes",
			Breaks: []string{"idempotency.conflict", "idempotency.race", "idempotency.linearizable"},
			Replace: func(r *core.Rules) {
				var refused sync.Map
				r.Decide = func(b *idem.Bound, fingerprint []byte, now time.Time) idem.Decision {
					d := idem.Decide(b, fingerprint, now)
					if d == idem.Conflict {
						if _, again := refused.LoadOrStore(b.Identity+string(fingerprint), true); again {
							return idem.Replay
						}
					}
					return d
				}
			},
		},
		{
			ID: "idempotency-replay-late", Does: "Answers the third request under a key as if it were the first.", Contract: "notes",
			Breaks: []string{"idempotency.once", "idempotency.replay", "idempotency.original", "idempotency.spelling", "idempotency.canonical"},
			May: []May{
				{"idempotency.path", "another spelling of the path may be the third request"}, {"idempotency.path-dots", "likewise"}, {"idempotency.key-legal", "a key is tried again"},
				{"idempotency.representation", "what is made anew has another id"}, {"idempotency.change", "likewise"}, {"idempotency.scope-shared", "likewise"},
				{"idempotency.recovery", "likewise"}, {"idempotency.recovery-once", "likewise"}, {"idempotency.expires-constant", "likewise"},
				{"idempotency.survives", "what follows a refused payload is the third request"}, {"idempotency.atomic", "of many twins one is the third"},
				{"idempotency.atomic-once", "likewise"}, {"idempotency.race", "likewise"}, {"idempotency.race-once", "likewise"}, {"idempotency.atomic-record", "likewise"}, {"idempotency.linearizable", "likewise"},
			},
			Replace: func(r *core.Rules) {
				var mu sync.Mutex
				seen := map[string]int{}
				r.Decide = func(b *idem.Bound, fingerprint []byte, now time.Time) idem.Decision {
					d := idem.Decide(b, fingerprint, now)
					if d != idem.Replay {
						return d
					}
					mu.Lock()
					defer mu.Unlock()
					if seen[b.Identity]++; seen[b.Identity] == 2 || seen[b.Identity] == 3 { // it is asked twice of one request
						return idem.Admit
					}
					return d
				}
			},
		},
	}
}

func restarted() []Mutant {
	return []Mutant{
		{
			ID: "crash-restarts-numbers", Does: "Counts the revisions of an agent in memory.", Contract: "seer",
			Breaks: []string{"agents.restart"},
			Behave: func(all map[string]core.Behaviour) {
				var mu sync.Mutex
				counts := map[string]int{}
				numbered(func(_ core.Writer, r *core.Request, _ any, own int) int {
					agent := r.Principal.Workspace + " " + r.Path["agent_id"]
					mu.Lock()
					defer mu.Unlock()
					if strings.HasPrefix(r.Path["agent_id"], "agent_example") {
						return own
					}
					counts[agent]++
					return counts[agent]
				}, nothing)(all)
			},
		},
		{
			ID: "crash-logs-again", Does: "Logs at its start once more what it had logged before.", Contract: "seer",
			Breaks: []string{"durability.events", "durability.moved"},
			Wrap: func(next http.Handler) http.Handler {
				var mine sync.Map
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					a := ask(next, r)
					if r.Method == http.MethodPost {
						for _, name := range []string{"job_id", "action_id"} {
							mine.Store(a.text(name), true)
						}
					}
					body := a.object()
					list, ok := body["items"].([]any)
					if ok && is(r, "GET", "/v1/events") && a.status == http.StatusOK {
						body["items"] = twice(list, func(e map[string]any) bool {
							_, known := mine.Load(text(e, "resource_id"))
							return !known
						})
						a.set(body)
					}
					a.send(w)
				})
			},
		},
	}
}

// twice gives the events of a kind a twin with an id of its own.
func twice(list []any, of func(map[string]any) bool) []any {
	out := []any{}
	for _, it := range list {
		e, _ := it.(map[string]any)
		out = append(out, it)
		if of(e) {
			twin := map[string]any{}
			for name, v := range e {
				twin[name] = v
			}
			twin["event_id"] = text(e, "event_id") + "_2"
			out = append(out, twin)
		}
	}
	return out
}
