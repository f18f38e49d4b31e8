package mutant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
	"assay.kit/reference/core/cursor"
	"assay.kit/reference/core/idem"
	"assay.kit/spec"
)

// durabilities are servers that keep in memory what belongs into the store: a Replace or Wrap is made
// anew at each start, and what its variables hold is gone then.
func durabilities() []Mutant {
	again := []May{{"durability.once", "what is forgotten is made again"}, {"durability.recovery", "a request that was cut off is forgotten like the others"},
		{"durability.conflict", "a key that is forgotten conflicts with nothing"}, {"durability.representation", "what is made again is another"},
		{"durability.expires", "what is made again expires later"}, {"durability.jobs", "what is made again may end up twice"}, {"durability.kept", "what is lost cannot be read"}}
	without := func(claims ...string) []May {
		var out []May
		for _, m := range again {
			keep := true
			for _, c := range claims {
				keep = keep && m.Claim != c
			}
			if keep {
				out = append(out, m)
			}
		}
		return out
	}
	return []Mutant{
		{
			ID: "crash-forgets-keys", Does: "Keeps its keys in memory.", Contract: "seer",
			Breaks: []string{"durability.replay"}, May: again,
			Replace: forgetfulKeys(1 << 20),
		},
		{
			ID: "crash-forgets-keys-of-notes", Does: "Keeps its keys in memory.", Contract: "notes",
			Breaks: []string{"durability.replay"}, May: again,
			Replace: forgetfulKeys(1 << 20),
		},
		{
			ID: "crash-loses-last", Does: "Acknowledges creations and stores them a few at a time.", Contract: "notes",
			Breaks: []string{"durability.replay"}, May: again,
			Replace: writeBehind,
		},
		{
			ID: "crash-doubles", Does: "Carries the first creation after a start out once more, as if it had been under way.", Contract: "seer",
			Breaks: []string{"durability.once"},
			Wrap: func(next http.Handler) http.Handler {
				var started atomic.Bool
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body := string(bodyOf(r))
					a := ask(next, r)
					if r.Header.Get("Idempotency-Key") != "" && a.status < 300 && !started.Swap(true) {
						also(next, r, r.Method, r.URL.Path, body)
					}
					a.send(w)
				})
			},
		},
		{
			ID: "crash-binds-late", Does: "Binds no key in the first moments after a start.", Contract: "notes",
			Breaks: []string{"durability.recovery"},
			May:    append(without("durability.recovery"), May{"durability.replay", "what was acknowledged in those moments has no key either"}),
			Replace: func(r *core.Rules) {
				const warm = 500 * time.Millisecond
				began := time.Now()
				r.Admit = func(ctx context.Context, s core.Store, a core.Admission) (core.Answer, *core.Problem, error) {
					if bind := a.Bind; a.Keyed && time.Since(began) < warm {
						a.Bind = func(w core.Writer, ans core.Answer) (core.Answer, error) { return bind(unbinding{w}, ans) }
					}
					return core.Admit(ctx, s, a)
				}
			},
		},
		{
			ID: "crash-forgets-payload", Does: "Keeps the fingerprints of its keys in memory.", Contract: "seer",
			Breaks: []string{"durability.conflict"},
			Replace: func(r *core.Rules) {
				var known sync.Map
				r.Decide = func(b *idem.Bound, fingerprint []byte, now time.Time) idem.Decision {
					d := idem.Decide(b, fingerprint, now)
					switch {
					case d == idem.Admit:
						known.Store(string(fingerprint), true)
					case d == idem.Conflict:
						if _, ok := known.Load(string(b.Fingerprint)); !ok {
							return idem.Replay
						}
					}
					return d
				}
			},
		},
		{
			ID: "crash-moves-expiry", Does: "Counts the retention of its keys from its own start.", Contract: "notes",
			Breaks: []string{"durability.expires"},
			Replace: func(r *core.Rules) {
				var mine sync.Map
				r.Expiry = func(admitted time.Time, retention time.Duration) time.Time {
					at := idem.Expiry(admitted, retention)
					mine.Store(core.Timestamp(at), true)
					return at
				}
				r.Replay = func(_ core.Reader, op *spec.Operation, b core.Binding) (core.Answer, error) {
					a := b.Answer
					if _, ok := mine.Load(core.Timestamp(b.Expires)); !ok {
						header := map[string]string{}
						for k, v := range a.Header {
							header[k] = v
						}
						header[op.Idempotency.Expires.Name] = core.Timestamp(b.Expires.Add(time.Minute))
						a.Header = header
					}
					return a, nil
				}
			},
		},
		{
			ID: "crash-forgets-answers", Does: "Keeps the answers of its keys in memory and, without one, gives what it finds in the store.", Contract: "seer",
			Breaks: []string{"durability.representation"},
			Replace: func(r *core.Rules) {
				var kept sync.Map
				r.Expiry = func(admitted time.Time, retention time.Duration) time.Time {
					at := idem.Expiry(admitted, retention)
					kept.Store(at.UnixNano(), true)
					return at
				}
				r.Replay = func(_ core.Reader, _ *spec.Operation, b core.Binding) (core.Answer, error) {
					a := b.Answer
					if _, ok := kept.Load(b.Expires.UnixNano()); !ok {
						m := decoded(a.Body)
						delete(m, "created_at")
						delete(m, "status_url")
						delete(m, "evidence")
						a.Body = encode(m)
					}
					return a, nil
				}
			},
			May: []May{{"wire.schema", "what is missing is required"}},
		},
		{
			ID: "crash-loses-jobs", Does: "Keeps the queue of its jobs in memory.", Contract: "seer",
			Breaks:  []string{"durability.jobs"},
			Replace: forgetfulQueue("accepted"),
		},
		{
			ID: "crash-loses-exports", Does: "Keeps the queue of its jobs in memory.", Contract: "notes",
			Breaks:  []string{"durability.jobs"},
			Replace: forgetfulQueue("queued"),
		},
		{
			ID: "crash-cancels-jobs", Does: "Cancels at its start whatever had not ended.", Contract: "seer",
			Breaks: []string{"durability.jobs"},
			Replace: func(r *core.Rules) {
				var mine sync.Map
				r.Delay = func(id, state string) time.Duration {
					if state == "accepted" {
						mine.Store(id, true)
					}
					return core.Correct().Delay(id, state)
				}
				r.Represent = func(_ *spec.Operation, res core.Resource) json.RawMessage { return interrupted(&mine, res) }
			},
		},
		{
			ID: "crash-forgets-cursor-keys", Does: "Makes the keys of its cursors at each start.", Contract: "seer",
			Breaks: []string{"durability.cursors"},
			Replace: func(r *core.Rules) {
				own := cursor.NewKeys()
				r.Seal = func(_ cursor.Keys, scope, plain []byte) (string, error) { return cursor.Seal(own, scope, plain) }
				r.Open = func(_ cursor.Keys, scope []byte, s string) ([]byte, error) { return cursor.Open(own, scope, s) }
			},
		},
		{
			ID: "crash-forgets-walks", Does: "Keeps walks in memory, and their numbers in cursors.", Contract: "notes",
			Breaks: []string{"durability.cursors"},
			Replace: func(r *core.Rules) {
				var issued sync.Map
				r.Seal = func(k cursor.Keys, scope, plain []byte) (string, error) {
					s, err := cursor.Seal(k, scope, plain)
					issued.Store(s, true)
					return s, err
				}
				r.Open = func(k cursor.Keys, scope []byte, s string) ([]byte, error) {
					if _, ok := issued.Load(s); !ok {
						return nil, errors.New("no such walk")
					}
					return cursor.Open(k, scope, s)
				}
			},
		},
		{
			ID: "crash-forgets-retired", Does: "Keeps retired tokens in memory.", Contract: "notes",
			Breaks: []string{"durability.revoked"},
			Replace: func(r *core.Rules) {
				var mu sync.Mutex
				before := map[string]bool{} // retired when this start first saw it
				r.Admissible = func(c access.Credential, retired bool, now time.Time) bool {
					mu.Lock()
					defer mu.Unlock()
					if _, seen := before[c.Name]; !seen {
						before[c.Name] = retired
					}
					return access.Admissible(c, c.Retired || retired && !before[c.Name], now)
				}
			},
		},
		{
			ID: "crash-forgets-grants", Does: "Keeps revoked grants in memory.", Contract: "seer",
			Breaks: []string{"durability.grant"},
			Replace: func(r *core.Rules) {
				var mu sync.Mutex
				before := map[string]bool{}
				r.Grants = func(held []string, revoked func(string) bool) []string {
					return access.Still(held, func(g string) bool {
						mu.Lock()
						defer mu.Unlock()
						now := revoked(g)
						if _, seen := before[g]; !seen {
							before[g] = now
						}
						return now && !before[g]
					})
				}
			},
		},
		{
			ID: "crash-loses-reads", Does: "Reads what was made since its start only.", Contract: "notes",
			Breaks: []string{"durability.kept"}, May: without("durability.kept"),
			Wrap: func(next http.Handler) http.Handler {
				var mine sync.Map
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					fresh := r.Header.Get("Request-Key") != ""
					a := ask(next, r)
					for _, name := range []string{"id", "note_id", "export_id"} {
						if id := a.text(name); fresh && id != "" && a.status < 300 {
							mine.LoadOrStore(id, true)
						}
					}
					_, ok := mine.Load(segment(r, 0))
					if !ok && is(r, "GET", "/notes/*") && a.status < 300 {
						a.status = http.StatusNotFound
						a.set(map[string]any{"error": map[string]any{"code": "NO_SUCH_THING", "trace": a.header.Get("Request-Id")}})
					}
					a.send(w)
				})
			},
		},
		{
			ID: "crash-undoes-moves", Does: "Keeps the states of actions in memory.", Contract: "seer",
			Breaks: []string{"durability.moved"},
			Wrap: func(next http.Handler) http.Handler {
				var mine sync.Map
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					a := ask(next, r)
					m := a.object()
					if strings.HasPrefix(r.URL.Path, "/v1/actions") && r.Method == http.MethodPost {
						mine.Store(text(m, "action_id"), true)
					}
					if _, ok := mine.Load(segment(r, 0)); !ok && is(r, "GET", "/v1/actions/*") && a.status == http.StatusOK {
						m["state"] = "proposed"
						delete(m, "external_execution_id")
						a.set(m)
					}
					a.send(w)
				})
			},
		},
	}
}

// forgetfulKeys binds keys in memory only, and so many of them.
func forgetfulKeys(most int) func(*core.Rules) {
	return func(r *core.Rules) { keepKeys(r, most) }
}

func keepKeys(r *core.Rules, most int) {
	var mu sync.Mutex
	bound := map[string]core.Binding{}
	var oldest []string
	r.Admit = func(ctx context.Context, s core.Store, a core.Admission) (core.Answer, *core.Problem, error) {
		if !a.Keyed {
			return core.Admit(ctx, s, a)
		}
		mu.Lock()
		defer mu.Unlock()
		a.Lookup = func(core.Reader) (*core.Binding, error) {
			b, ok := bound[a.Identity]
			if !ok {
				return nil, nil
			}
			return &b, nil
		}
		bind := a.Bind
		var kept core.Binding
		a.Bind = func(w core.Writer, ans core.Answer) (core.Answer, error) { return bind(catching{w, &kept}, ans) }
		ans, p, err := core.Admit(ctx, s, a)
		if kept.Identity != "" && p == nil && err == nil {
			bound[a.Identity] = kept
			if oldest = append(oldest, a.Identity); len(oldest) > most {
				delete(bound, oldest[0])
				oldest = oldest[1:]
			}
		}
		return ans, p, err
	}
}

// catching keeps a binding instead of storing it.
type catching struct {
	core.Writer
	kept *core.Binding
}

func (c catching) Bind(b core.Binding) error {
	*c.kept = b
	return nil
}

// forgetfulQueue loses the work of jobs that were admitted before the start.
func forgetfulQueue(initial string) func(*core.Rules) {
	return func(r *core.Rules) {
		var mine sync.Map
		r.Delay = func(id, state string) time.Duration {
			if state == initial {
				mine.Store(id, true)
			}
			return core.Correct().Delay(id, state)
		}
		r.Fenced = func(stored, task core.Task) bool {
			_, ok := mine.Load(task.Job)
			return !ok || core.Correct().Fenced(stored, task)
		}
	}
}

// interrupted shows a job of an earlier start that had not completed then as cancelled.
func interrupted(mine *sync.Map, res core.Resource) json.RawMessage {
	if _, ok := mine.Load(res.ID); ok || res.Kind != "job" || bytes.Contains(res.Body, []byte(`"cancelled"`)) {
		return res.Body
	}
	m := decoded(res.Body)
	m["state"] = "cancelled"
	delete(m, "result_ref")
	return encode(m)
}

var errUndo = errors.New("not yet")

// writeBehind answers a creation from a transaction that it takes back, and carries the same writes
// out when some more have come.
func writeBehind(r *core.Rules) {
	var mu sync.Mutex
	const most = 4
	var pending []func(core.Writer) error
	creations := 0
	flush := func(ctx context.Context, s core.Store) error {
		if creations++; creations%most != 0 {
			return nil
		}
		todo := pending
		pending = nil
		return s.Update(ctx, func(w core.Writer) error {
			for _, f := range todo {
				if err := f(w); err != nil {
					return err
				}
			}
			return nil
		})
	}
	r.Admit = func(ctx context.Context, s core.Store, a core.Admission) (core.Answer, *core.Problem, error) {
		mu.Lock()
		defer mu.Unlock()
		if err := flush(ctx, s); err != nil {
			return core.Answer{}, nil, err
		}
		rec := &recorder{}
		var ans core.Answer
		var p *core.Problem
		var err error
		undone := s.Update(ctx, func(w core.Writer) error {
			rec.Writer, rec.did = w, nil
			ans, p, err = core.Admit(ctx, within{rec}, a)
			return errUndo
		})
		if !errors.Is(undone, errUndo) {
			return core.Answer{}, nil, undone
		}
		pending = append(pending, rec.did...)
		return ans, p, err
	}
}

// within is a store whose every Update is part of one that is going on.
type within struct{ w core.Writer }

func (s within) View(_ context.Context, f func(core.Reader) error) error   { return f(s.w) }
func (s within) Update(_ context.Context, f func(core.Writer) error) error { return f(s.w) }
func (within) Close() error                                                { return nil }

// recorder remembers writes, so that they can be done again.
type recorder struct {
	core.Writer
	did []func(core.Writer) error
}

func (r *recorder) Insert(res core.Resource) (int64, error) {
	r.did = append(r.did, func(w core.Writer) error { _, err := w.Insert(res); return err })
	return r.Writer.Insert(res)
}

func (r *recorder) Replace(res core.Resource) error {
	r.did = append(r.did, func(w core.Writer) error { return w.Replace(res) })
	return r.Writer.Replace(res)
}

func (r *recorder) Bind(b core.Binding) error {
	r.did = append(r.did, func(w core.Writer) error { return w.Bind(b) })
	return r.Writer.Bind(b)
}

func (r *recorder) SetTask(t core.Task) error {
	r.did = append(r.did, func(w core.Writer) error { return w.SetTask(t) })
	return r.Writer.SetTask(t)
}

func (r *recorder) SetValue(bucket, key string, v []byte) error {
	r.did = append(r.did, func(w core.Writer) error { return w.SetValue(bucket, key, v) })
	return r.Writer.SetValue(bucket, key, v)
}
