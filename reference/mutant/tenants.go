package mutant

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/core/cursor"
	"assay.kit/reference/core/limit"
)

// tenants are servers in which something of one caller, walk or place gets into another's hands, or
// counts for it: a cache, a counter, a snapshot.
func tenants() []Mutant { return slices.Concat(counters(), caches(), strayCursors()) }

func counters() []Mutant {
	return []Mutant{
		{
			ID: "jobs-counted-together", Does: "Refuses everybody's jobs while one connection has as many as it may have.", Contract: "seer",
			Breaks: []string{"limits.jobs-apart"},
			Replace: func(r *core.Rules) {
				var mu sync.Mutex
				full := map[int]bool{} // by limit
				r.JobRoom = func(active int, l core.Limits) bool {
					mu.Lock()
					defer mu.Unlock()
					room := limit.Room(active, l.ConcurrentJobs)
					for most, is := range full {
						room = room && (!is || most == l.ConcurrentJobs)
					}
					full[l.ConcurrentJobs] = active >= l.ConcurrentJobs
					return room
				}
			},
		},
		{
			ID: "jobs-per-kind", Does: "Counts the active jobs of each kind apart.", Contract: "seer",
			Breaks: []string{"limits.jobs-beyond"}, May: []May{{"limits.nothing-admitted", "one more is there"}},
			Replace: perKind,
		},
		{
			ID: "jobs-repetition-refused", Does: "Refuses the repetition of an admitted job for want of room.", Contract: "seer",
			Breaks: []string{"idempotency.replay"},
			Wrap:   repetitionRefused,
		},
		{
			ID: "rate-reads-only", Does: "Keeps a rate of reads and lets creations pass.", Contract: "seer",
			Breaks: []string{"limits.beyond"}, May: []May{{"limits.nothing-admitted", "more is there"}},
			Replace: func(r *core.Rules) {
				var writes atomic.Bool // the request that is judged now
				r.MissingScope = func(p core.Principal, need []string) string {
					writes.Store(slices.ContainsFunc(need, func(s string) bool { return strings.HasSuffix(s, ":write") }))
					return core.Correct().MissingScope(p, need)
				}
				r.Take = func(b *limit.Bucket, l core.Limits, now time.Time) (bool, time.Duration) {
					if writes.Load() {
						return true, 0
					}
					return b.Take(l.RequestsPerMinute, now)
				}
			},
		},
	}
}

// perKind finds room for a job if fewer than the limit of its own operation are active.
func perKind(r *core.Rules) {
	var mu sync.Mutex
	begun := map[string][]string{} // credential and operation -> jobs
	active := 0                    // of the operation that is admitted now
	r.JobRoom = func(_ int, l core.Limits) bool { return limit.Room(active, l.ConcurrentJobs) }
	r.Admit = func(ctx context.Context, s core.Store, a core.Admission) (core.Answer, *core.Problem, error) {
		mu.Lock()
		defer mu.Unlock()
		of := a.Request.Principal.Credential + " " + a.Op.ID
		apply := a.Apply
		a.Apply = func(w core.Writer) (core.Answer, *core.Problem) {
			active = 0
			for _, id := range begun[of] {
				if res, err := w.Resource("job", id); err == nil && slices.Contains([]string{"accepted", "running", "waiting"}, res.State) {
					active++
				}
			}
			return apply(w)
		}
		ans, p, err := core.Admit(ctx, s, a)
		if id := text(decoded(ans.Body), "job_id"); id != "" && p == nil && err == nil {
			begun[of] = append(begun[of], id)
		}
		return ans, p, err
	}
}

// repetitionRefused remembers who was refused a job, and refuses repetitions too until one of the
// caller's jobs has been seen to end.
func repetitionRefused(next http.Handler) http.Handler {
	var full, seen sync.Map
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := r.Header.Get("Authorization")
		id := who + "\x00" + r.URL.Path + "\x00" + r.Header.Get(keyHeader)
		a := ask(next, r)
		switch {
		case a.text("code") == "TOO_MANY_JOBS":
			full.Store(who, true)
		case a.status == http.StatusAccepted:
			_, again := seen.LoadOrStore(id, true)
			if _, is := full.Load(who); is && again {
				a = problem(http.StatusTooManyRequests, "TOO_MANY_JOBS")
				a.header.Set("Retry-After", "1")
			}
		case is(r, "GET", "/v1/jobs/*") && slices.Contains([]string{"completed", "failed", "cancelled"}, a.text("state")):
			full.Delete(who)
		}
		a.send(w)
	})
}

func caches() []Mutant {
	return []Mutant{
		{
			ID: "scope-replays", Does: "Answers a repetition from what it has kept before it asks for the scope.", Contract: "notes",
			Breaks: []string{"access.scope"},
			Wrap: func(next http.Handler) http.Handler {
				var kept remembered
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					id := r.URL.Path + "\x00" + r.Header.Get("Request-Key") + "\x00" + string(bodyOf(r))
					a := ask(next, r)
					switch first := kept.get(id); {
					case r.Method != http.MethodPost || r.Header.Get("Request-Key") == "":
					case a.status < 300:
						kept.put(id, string(a.body))
					case a.status == http.StatusForbidden && first != "":
						a.status, a.body = http.StatusOK, []byte(first)
						a.header.Set("Request-Key-Expires", "2030-01-01T00:00:00Z")
					}
					a.send(w)
				})
			},
			May: []May{{"wire.status", "the status of the kept answer may be another"}, {"access.scope-code", "there is no refusal"}, {"access.scope-first", "there is no refusal"}},
		},
		{
			ID: "scope-cached-reads", Does: "Keeps what was read for a moment, and shows it to whoever lacks the scope.", Contract: "notes",
			Breaks: []string{"access.scope"}, May: []May{{"access.scope-code", "there is no refusal"}, {"access.scope-first", "there is no refusal"}},
			Wrap: func(next http.Handler) http.Handler {
				type kept struct {
					at   time.Time
					body []byte
				}
				var all sync.Map
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					a := ask(next, r)
					if r.Method == http.MethodGet && a.status == http.StatusOK {
						all.Store(r.URL.String(), kept{time.Now(), a.body})
					}
					if was, ok := all.Load(r.URL.String()); ok && a.status == http.StatusForbidden && r.Method == http.MethodGet {
						if k, _ := was.(kept); time.Since(k.at) < 5*time.Second {
							a.status, a.body = http.StatusOK, k.body
						}
					}
					a.send(w)
				})
			},
		},
		{
			ID: "walk-one-snapshot", Does: "Keeps one snapshot for all walks, the newest.", Contract: "seer",
			Breaks: []string{"collections.snapshot"},
			Replace: func(r *core.Rules) {
				var newest atomic.Int64
				r.Watermark = func(c *cursor.Content, current int64) int64 {
					if c == nil {
						newest.Store(current)
					}
					return newest.Load()
				}
			},
		},
		{
			ID: "foreign-later-pages", Does: "Asks whose an item is on the first page only.", Contract: "seer",
			Breaks: []string{"access.foreign-list"}, May: []May{
				{"access.rotation-cursor", "a later page holds what another workspace makes meanwhile"},
				{"collections.principal-bound", "a page of the second workspace shows what is the first one's"},
				{"wire.schema", "the page is longer than it may be"}, {"collections.page-size", "likewise"},
			},
			Wrap: known(func(next http.Handler, k *wallet, w http.ResponseWriter, r *http.Request) {
				a := k.answered(next, r)
				body := a.object()
				list, ok := body["items"].([]any)
				if ok && r.Method == http.MethodGet && r.URL.Query().Has("cursor") && a.status == http.StatusOK && !first(k, r) {
					k.mu.Lock()
					owner := k.good[0]
					k.mu.Unlock()
					own := r.Clone(r.Context())
					own.URL = &url.URL{Path: r.URL.Path, RawQuery: "limit=100"}
					theirs, _ := as(next, own, owner).object()["items"].([]any)
					body["items"] = append(list, theirs...)
					a.set(body)
				}
				a.send(w)
			}),
		},
	}
}

func strayCursors() []Mutant {
	return []Mutant{
		{
			ID: "cursor-any-parent", Does: "Follows a page of one notebook wherever it is presented.", Contract: "notes",
			Breaks: []string{"collections.mismatch-refused", "collections.filters-bound"},
			Wrap: following("after", "next", func(from, to string) bool {
				return strings.HasSuffix(from, "/notes") && strings.HasSuffix(to, "/notes")
			}),
		},
		{
			ID: "cursor-any-collection", Does: "Follows a cursor of one collection when it is presented to another.", Contract: "seer",
			Breaks: []string{"collections.tamper"}, May: []May{{"wire.schema", "the items are of another kind"}, {"collections.envelope", "likewise"}},
			Wrap: following("cursor", "next_cursor", func(_, to string) bool { return strings.Count(to, "/") == 2 }),
		},
	}
}

// following leads a cursor that is presented at another path to where it was issued.
func following(param, member string, strays func(from, to string) bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		var issued remembered
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			from := issued.get(r.URL.Query().Get(param))
			if from != "" && from != r.URL.Path && strays(from, r.URL.Path) {
				r.URL.Path, r.URL.RawPath = from, ""
			}
			a := ask(next, r)
			if c := a.text(member); c != "" && a.status == http.StatusOK {
				issued.put(c, r.URL.Path)
			}
			a.send(w)
		})
	}
}
