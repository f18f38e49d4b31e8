package mutant

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/core/idem"
)

// expiries are servers whose keys or events live too short, too long, or not again.
func expiries() []Mutant {
	return []Mutant{
		{
			ID: "expiry-never", Does: "Keeps every key for ever.", Contract: "seer",
			Breaks: []string{"expiry.after", "expiry.fresh"},
			Replace: func(r *core.Rules) {
				r.Expiry = func(admitted time.Time, retention time.Duration) time.Time {
					return idem.Expiry(admitted, 100*retention)
				}
			},
		},
		{
			ID: "expiry-early", Does: "Forgets a key an hour before it says.", Contract: "seer",
			Breaks: []string{"expiry.before"},
			Replace: func(r *core.Rules) {
				r.Decide = func(b *idem.Bound, fingerprint []byte, now time.Time) idem.Decision {
					return idem.Decide(b, fingerprint, now.Add(time.Hour))
				}
			},
		},
		{
			ID: "expiry-crowded", Does: "Has room for fifty keys, and forgets the oldest.", Contract: "notes",
			Breaks:  []string{"expiry.crowded"},
			Replace: forgetfulKeys(50),
		},
		{
			ID: "expiry-half-time", Does: "Keeps a key for half of the retention and tells the whole.", Contract: "notes",
			Breaks: []string{"expiry.before"},
			Replace: func(r *core.Rules) {
				r.Decide = func(b *idem.Bound, fingerprint []byte, now time.Time) idem.Decision {
					return idem.Decide(b, fingerprint, now.Add(31*time.Minute))
				}
			},
		},
		{
			ID: "expiry-half-replay", Does: "Admits an expired key anew and answers with the old resource.", Contract: "notes",
			Breaks: []string{"expiry.after", "expiry.fresh"},
			Wrap: remembering(func(first, now *answer) *answer {
				if now.status >= 300 || bytes.Equal(first.body, now.body) {
					return now
				}
				own := *now
				own.body = first.body
				return &own
			}),
		},
		{
			ID: "expiry-conflict", Does: "Holds another payload against a key that has expired.", Contract: "seer",
			Breaks: []string{"expiry.fresh"},
			Wrap: func(next http.Handler) http.Handler {
				var bodies sync.Map
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body := string(bodyOf(r))
					id := r.Header.Get("Authorization") + r.URL.Path + "\x00" + r.Header.Get("Idempotency-Key")
					if old, ok := bodies.Load(id); ok && old != body {
						refuse(w, http.StatusConflict, "IDEMPOTENCY_CONFLICT")
						return
					}
					a := ask(next, r)
					if a.status < 300 && r.Header.Get("Idempotency-Key") != "" {
						bodies.Store(id, body)
					}
					a.send(w)
				})
			},
		},
		{
			ID: "expiry-not-rebound", Does: "Binds a key once and never again.", Contract: "seer",
			Breaks: []string{"expiry.rebound"},
			Replace: func(r *core.Rules) {
				var used sync.Map
				r.Admit = func(ctx context.Context, s core.Store, a core.Admission) (core.Answer, *core.Problem, error) {
					bind := a.Bind
					if _, again := used.LoadOrStore(a.Identity, true); again && a.Keyed {
						a.Bind = func(w core.Writer, ans core.Answer) (core.Answer, error) { return bind(unbinding{w}, ans) }
					}
					return core.Admit(ctx, s, a)
				}
			},
		},
		{
			ID: "expiry-old-instant", Does: "Tells the old expiry of a key that was used again.", Contract: "notes",
			Breaks: []string{"expiry.rebound"},
			Wrap: remembering(func(first, now *answer) *answer {
				if now.status < 300 {
					now.header.Set("Request-Key-Expires", first.header.Get("Request-Key-Expires"))
				}
				return now
			}),
		},
		{
			ID: "expiry-takes-resource", Does: "Drops the resource of a key that has expired.", Contract: "seer",
			Breaks: []string{"expiry.undisturbed"},
			Wrap: func(next http.Handler) http.Handler {
				var mu sync.Mutex
				made, gone := map[string]string{}, map[string]bool{}
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					a := ask(next, r)
					id := a.text("id")
					mu.Lock()
					if key := r.Header.Get("Idempotency-Key"); key != "" && a.status == http.StatusCreated && id != "" {
						if old := made[r.URL.Path+key]; old != "" && old != id {
							gone[old] = true
						}
						made[r.URL.Path+key] = id
					}
					lost := r.Method == http.MethodGet && gone[segment(r, 0)]
					mu.Unlock()
					if lost {
						a = problem(http.StatusNotFound, "NOT_FOUND")
					}
					a.send(w)
				})
			},
		},
	}
}

// unbinding forgets what it is to bind.
type unbinding struct{ core.Writer }

func (unbinding) Bind(core.Binding) error { return nil }

// remembering makes a Wrap that compares each answer to a key with the first one.
func remembering(change func(first, now *answer) *answer) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		var firsts sync.Map
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			key := r.Header.Get("Request-Key") + r.Header.Get("Idempotency-Key")
			id := strings.Join([]string{r.Header.Get("Authorization"), r.URL.Path, key}, "\x00")
			a := ask(next, r)
			if key != "" && a.status < 300 {
				own := *a
				own.header = a.header.Clone()
				if old, there := firsts.LoadOrStore(id, &own); there {
					first, _ := old.(*answer)
					a = change(first, a)
				}
			}
			a.send(w)
		})
	}
}

// logs are servers whose event log is not what happened.
func logs() []Mutant {
	once := func(states ...string) func(http.Handler) http.Handler {
		return edit(func(r *http.Request, a *answer) {
			m := a.object()
			list, ok := m["items"].([]any)
			if !ok || !is(r, "GET", "/v1/events") {
				return
			}
			var left []any
			for _, it := range list {
				e, _ := it.(map[string]any)
				drop := false
				for _, s := range states {
					drop = drop || text(e, "state") == s
				}
				if !drop {
					left = append(left, it)
				}
			}
			m["items"] = append([]any{}, left...)
			a.set(m)
		})
	}
	return []Mutant{
		{
			ID: "log-no-first", Does: "Does not log that a job was accepted.", Contract: "seer",
			Breaks: []string{"events.complete"}, May: []May{{"events.legal", "the first state is not the initial one"}},
			Wrap: once("accepted"),
		},
		{
			ID: "log-no-cancel", Does: "Does not log cancellations.", Contract: "seer",
			Breaks: []string{"events.complete"},
			Wrap:   once("cancelled"),
		},
		{
			ID: "log-no-authorisation", Does: "Does not log that an action was authorised.", Contract: "seer",
			Breaks: []string{"events.complete"}, May: []May{{"events.legal", "a step is missing in between"}},
			Wrap: once("authorized"),
		},
		{
			ID: "log-other-state", Does: "Logs that a job waits when it begins to run.", Contract: "seer",
			Breaks: []string{"events.legal"}, May: []May{{"events.complete", "the state that was shown is missing"}},
			Wrap: edit(func(r *http.Request, a *answer) {
				m := a.object()
				for _, e := range items(m) {
					if text(e, "state") == "running" && is(r, "GET", "/v1/events") {
						e["state"], e["type"] = "waiting", "job.waiting"
						a.set(m)
					}
				}
			}),
		},
		{
			ID: "log-twice", Does: "Logs the end of a job twice.", Contract: "seer",
			Breaks: []string{"events.once"},
			Wrap: edit(func(r *http.Request, a *answer) {
				m := a.object()
				list, ok := m["items"].([]any)
				if !ok || !is(r, "GET", "/v1/events") {
					return
				}
				out := []any{}
				for _, it := range list {
					e, _ := it.(map[string]any)
					if text(e, "state") == "completed" {
						twin := map[string]any{}
						for k, v := range e {
							twin[k] = v
						}
						twin["event_id"] = text(e, "event_id") + "_2"
						out = append(out, twin)
					}
					out = append(out, it)
				}
				m["items"] = out
				a.set(m)
			}),
		},
		{
			ID: "log-restless", Does: "Gives an event another id at every read.", Contract: "seer",
			Breaks: []string{"events.steady"},
			Wrap: edit(func(r *http.Request, a *answer) {
				m := a.object()
				for _, e := range items(m) {
					e["event_id"] = "ev_" + rand.Text()
				}
				if is(r, "GET", "/v1/events") && a.status == http.StatusOK {
					a.set(m)
				}
			}),
		},
		{
			ID: "log-kept-short", Does: "Keeps events for a day.", Contract: "seer",
			Breaks: []string{"events.kept"},
			Behave: func(all map[string]core.Behaviour) {
				var clock atomic.Pointer[core.Clock]
				cn, log := all["getConnection"], all["listEvents"]
				tell := cn.Read
				cn.Read = func(ctx context.Context, sys core.System, r *core.Request) (core.Answer, *core.Problem) {
					c := sys.Clock()
					clock.Store(&c)
					return tell(ctx, sys, r)
				}
				log.Visible = func(_ core.Principal, res core.Resource) bool {
					c := clock.Load()
					return c == nil || (*c).Now().Sub(res.Created) < 24*time.Hour
				}
				all["getConnection"], all["listEvents"] = cn, log
			},
		},
		{
			ID: "log-never-purged", Does: "Shows events for ever.", Contract: "seer",
			Breaks: []string{"events.purged"},
			Wrap: func(next http.Handler) http.Handler {
				var pages sync.Map
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					a := ask(next, r)
					id := r.URL.Query().Get("resource_id")
					if is(r, "GET", "/v1/events") && id != "" && a.status == http.StatusOK {
						if len(items(a.object())) > 0 {
							pages.Store(id, a.body)
						} else if old, ok := pages.Load(id); ok {
							a.body, _ = old.([]byte)
						}
					}
					a.send(w)
				})
			},
		},
	}
}
