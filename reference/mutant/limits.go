package mutant

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/core/idem"
	"assay.kit/reference/core/limit"
)

// limits are servers that keep other limits than they tell, or that do what they refuse.
func limits() []Mutant {
	form := []May{{"wire.retry-after", "every refusal is looked at"}, {"wire.schema", "the header has a schema"}, {"wire.status", "an answer without the header is looked at"}}
	return append(delays(form), []Mutant{
		{
			ID: "rate-unlimited", Does: "Keeps no rate.", Contract: "seer",
			Breaks: []string{"limits.beyond"},
			Replace: func(r *core.Rules) {
				r.Take = func(*limit.Bucket, core.Limits, time.Time) (bool, time.Duration) { return true, 0 }
			},
		},
		{
			ID: "rate-halved", Does: "Keeps half of the rate that it tells.", Contract: "seer",
			Breaks: []string{"limits.within"},
			Replace: func(r *core.Rules) {
				r.Take = func(b *limit.Bucket, l core.Limits, now time.Time) (bool, time.Duration) {
					return b.Take(l.RequestsPerMinute/2, now)
				}
			},
		},
		{
			ID: "rate-code", Does: "Has a code of its own for the rate.", Contract: "seer",
			Breaks: []string{"limits.rate-code"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				if m := a.object(); text(m, "code") == "RATE_LIMITED" {
					m["code"] = "SLOW_DOWN"
					a.set(m)
				}
			}),
		},
		{
			ID: "rate-admits", Does: "Carries a creation out before it finds that the rate is exceeded.", Contract: "seer",
			Breaks: []string{"limits.nothing-admitted"},
			Wrap:   carriedOut(http.StatusTooManyRequests),
		},
		{
			ID: "rate-remembers", Does: "Answers a key with the 429 that it met first.", Contract: "notes",
			Breaks: []string{"limits.key-free", "limits.after-delay"},
			Wrap: func(next http.Handler) http.Handler {
				var refused sync.Map
				return wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
					key := r.Header.Get("Request-Key")
					a := ask(next, r)
					if old, ok := refused.Load(key); ok && key != "" {
						a, _ = old.(*answer)
						a.header.Del("Request-Id")
						a.header.Set("Request-Id", key)
					}
					if a.status == http.StatusTooManyRequests {
						refused.Store(key, a)
					}
					a.send(w)
				})(next)
			},
			May: []May{{"wire.request-id-body", "a kept answer has an old request id"}, {"wire.request-id-unique", "a kept answer has an old request id"},
				{"limits.nothing-admitted", "what it made behind the kept refusal is there"}, {"limits.jobs-later", "the refusal of a job is kept too"}},
		},
		{
			ID: "jobs-unlimited", Does: "Admits any number of jobs.", Contract: "seer",
			Breaks:  []string{"limits.jobs-beyond"},
			May:     []May{{"limits.nothing-admitted", "one more is there"}},
			Replace: func(r *core.Rules) { r.JobRoom = func(int, core.Limits) bool { return true } },
		},
		{
			ID: "jobs-one-less", Does: "Admits one job less than it tells.", Contract: "seer",
			Breaks: []string{"limits.jobs-within"},
			Replace: func(r *core.Rules) {
				r.JobRoom = func(active int, l core.Limits) bool { return active+1 < l.ConcurrentJobs }
			},
		},
		{
			ID: "jobs-one-more", Does: "Counts the active jobs without the one that is asked for.", Contract: "seer",
			Breaks: []string{"limits.jobs-beyond"},
			May:    []May{{"limits.nothing-admitted", "one more is there"}},
			Replace: func(r *core.Rules) {
				r.JobRoom = func(active int, l core.Limits) bool { return active <= l.ConcurrentJobs }
			},
		},
		{
			ID: "jobs-never-freed", Does: "Does not free the room of a job that ended once it was full.", Contract: "seer",
			Breaks: []string{"limits.jobs-later"}, May: []May{{"limits.jobs-within", "it stays full for the next job"}},
			Replace: func(r *core.Rules) {
				var mu sync.Mutex
				full := map[int]bool{}
				r.JobRoom = func(active int, l core.Limits) bool {
					mu.Lock()
					defer mu.Unlock()
					full[l.ConcurrentJobs] = full[l.ConcurrentJobs] || active >= l.ConcurrentJobs
					return !full[l.ConcurrentJobs]
				}
			},
		},
		{
			ID: "jobs-refusal-binds", Does: "Binds a key to the refusal of a job for want of room.", Contract: "notes",
			Breaks: []string{"limits.jobs-later"}, May: []May{{"wire.request-id-body", "a kept answer has no id of its own"}, {"wire.retry-after", "a kept answer names no delay"}},
			Replace: func(r *core.Rules) {
				r.Stores = func(status int) bool { return idem.Stores(status) || status == http.StatusTooManyRequests }
			},
		},
		{
			ID: "jobs-code", Does: "Answers too many jobs like too many requests.", Contract: "seer",
			Breaks: []string{"limits.jobs-code"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				if m := a.object(); text(m, "code") == "TOO_MANY_JOBS" {
					m["code"] = "RATE_LIMITED"
					a.set(m)
				}
			}),
		},
		{
			ID: "jobs-admits", Does: "Begins the job that it refuses for want of room.", Contract: "seer",
			Breaks: []string{"limits.nothing-admitted"},
			Wrap:   carriedOut(http.StatusTooManyRequests),
		},
		{
			ID: "unavailable-queues", Does: "Keeps what it answers with 503, and carries it out later.", Contract: "notes",
			Breaks: []string{"limits.nothing-admitted"},
			Wrap: func(next http.Handler) http.Handler {
				var mu sync.Mutex
				var queue []func()
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body := string(bodyOf(r))
					a := ask(next, r)
					mu.Lock()
					if a.status == http.StatusServiceUnavailable && r.Method == http.MethodPost {
						later := r.Clone(r.Context())
						queue = append(queue, func() {
							later.Body = io.NopCloser(strings.NewReader(body))
							ask(next, later)
						})
					} else if a.status != http.StatusServiceUnavailable {
						for _, f := range queue {
							f()
						}
						queue = nil
					}
					mu.Unlock()
					a.send(w)
				})
			},
		},
		{
			ID: "unavailable-binds", Does: "Binds a key to the 503 that it met.", Contract: "seer",
			Breaks: []string{"limits.key-free"},
			Wrap: func(next http.Handler) http.Handler {
				var met sync.Map
				return wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
					key := r.Header.Get("Idempotency-Key")
					if _, ok := met.Load(key); ok && key != "" {
						refuse(w, http.StatusConflict, "IDEMPOTENCY_CONFLICT")
						return
					}
					a := ask(next, r)
					if a.status == http.StatusServiceUnavailable {
						met.Store(key, true)
					}
					a.send(w)
				})(next)
			},
		},
	}...)
}

// carriedOut makes a Wrap that has somebody of the workspace do what is refused with a status.
func carriedOut(status int) func(http.Handler) http.Handler {
	return known(func(next http.Handler, k *wallet, w http.ResponseWriter, r *http.Request) {
		a := k.answered(next, r)
		if a.status == status && r.Method == http.MethodPost {
			for _, v := range k.others(r) {
				if as(next, r, v).status < 300 {
					break
				}
			}
		}
		a.send(w)
	})
}

// delays are servers that do not say, or say wrongly, when to try again.
func delays(form []May) []Mutant {
	on := func(status int, change func(http.Header)) func(http.Handler) http.Handler {
		return edit(func(_ *http.Request, a *answer) {
			if a.status == status {
				change(a.header)
			}
		})
	}
	var all []Mutant
	for _, d := range []struct{ id, does, value string }{
		{"delay-missing", "Does not say when to try again after a 429.", ""},
		{"delay-fraction", "Tells the delay of a 429 in fractions of a second.", "1.5"},
		{"delay-words", "Tells the delay of a 429 with its unit.", "1m0s"},
		{"delay-negative", "Tells a delay that is below zero.", "-1"},
		{"delay-iso-date", "Tells the moment after a 429 in another form than HTTP has.", "2026-10-01T00:00:00Z"},
	} {
		all = append(all, Mutant{ID: d.id, Does: d.does, Contract: "seer", Breaks: []string{"limits.retry-after"}, May: form,
			Wrap: on(http.StatusTooManyRequests, func(h http.Header) {
				h.Del("Retry-After")
				if d.value != "" {
					h.Set("Retry-After", d.value)
				}
			})})
	}
	return append(all,
		Mutant{
			ID: "delay-elsewhere", Does: "Tells the delay in a member of the body.", Contract: "notes",
			Breaks: []string{"limits.retry-after", "limits.unavailable-delay"}, May: form,
			Wrap: edit(func(_ *http.Request, a *answer) {
				if m := a.object(); a.header.Get("Try-Again-After") != "" {
					m["try_again_after"] = json.Number(a.header.Get("Try-Again-After"))
					a.header.Del("Try-Again-After")
					a.set(m)
				}
			}),
		},
		Mutant{
			ID: "delay-unavailable", Does: "Does not say when to try again after a 503.", Contract: "seer",
			Breaks: []string{"limits.unavailable-delay"}, May: form,
			Wrap: on(http.StatusServiceUnavailable, func(h http.Header) { h.Del("Retry-After") }),
		},
		Mutant{
			ID: "delay-too-short", Does: "Shuts a caller out for half a minute and tells it to wait a second.", Contract: "seer",
			Breaks: []string{"limits.after-delay"}, May: []May{{"limits.key-free", "who keeps to the delays stays shut out"}},
			Replace: func(r *core.Rules) {
				var mu sync.Mutex
				shut := map[*limit.Bucket]time.Time{}
				r.Take = func(b *limit.Bucket, l core.Limits, now time.Time) (bool, time.Duration) {
					mu.Lock()
					defer mu.Unlock()
					if now.Before(shut[b]) {
						return false, time.Second
					}
					ok, wait := b.Take(l.RequestsPerMinute, now)
					if !ok {
						shut[b] = now.Add(30 * time.Second)
					}
					return ok, wait
				}
			},
		},
		Mutant{
			ID: "delay-constant", Does: "Tells a delay of a second during an outage of several.", Contract: "notes",
			Breaks: []string{"limits.after-delay"},
			Wrap:   on(http.StatusServiceUnavailable, func(h http.Header) { h.Set("Try-Again-After", "1") }),
		},
	)
}
