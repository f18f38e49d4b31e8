package mutant

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"sync"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/core/idem"
)

// thinking is how long an operation takes between looking a key up and binding it, where the two are
// not one step.
const thinking = 4 * time.Millisecond

// concurrency are servers that are right as long as one request comes after the other and every
// answer arrives.
func concurrency() []Mutant {
	return append(races(), lost()...)
}

func races() []Mutant {
	return []Mutant{
		{
			ID: "race-two-jobs", Does: "Answers concurrent twins with one job and starts one for each.", Contract: "seer",
			Breaks: []string{"idempotency.atomic-once", "idempotency.race-once", "idempotency.recovery-once"},
			Replace: func(r *core.Rules) {
				r.Admit = func(ctx context.Context, s core.Store, a core.Admission) (core.Answer, *core.Problem, error) {
					if a.Op.Job == nil {
						return core.Admit(ctx, s, a)
					}
					return unlocked(ctx, s, a, firstBound)
				}
			},
		},
		{
			ID: "race-loser-500", Does: "Fails where a twin has bound the key meanwhile.", Contract: "notes",
			Breaks: []string{"idempotency.atomic", "idempotency.race", "idempotency.recovery", "wire.server-error"},
			Replace: func(r *core.Rules) {
				r.Admit = func(ctx context.Context, s core.Store, a core.Admission) (core.Answer, *core.Problem, error) {
					return unlocked(ctx, s, a, failing)
				}
			},
		},
		{
			ID: "race-late-fingerprint", Does: "Compares payloads only with requests that have been carried out, so different ones under one key both are.", Contract: "notes",
			Breaks: []string{"idempotency.race", "idempotency.race-once", "idempotency.linearizable"},
			Replace: func(r *core.Rules) {
				var locks sync.Map // identity and payload -> *sync.Mutex
				r.Admit = func(ctx context.Context, s core.Store, a core.Admission) (core.Answer, *core.Problem, error) {
					mu := mutex(&locks, a)
					mu.Lock()
					defer mu.Unlock()
					return unlocked(ctx, s, a, lastBound)
				}
			},
		},
		{
			ID: "race-record-overwritten", Does: "Answers concurrent twins with the first one's resource and keeps the last one's under the key.", Contract: "notes",
			Breaks: []string{
				"idempotency.atomic-once", "idempotency.atomic-record", "idempotency.race", "idempotency.race-once", "idempotency.linearizable",
				"idempotency.recovery", "idempotency.recovery-once",
			},
			Replace: func(r *core.Rules) {
				var first sync.Map // identity and payload -> core.Answer
				r.Admit = func(ctx context.Context, s core.Store, a core.Admission) (core.Answer, *core.Problem, error) {
					ans, p, err := unlocked(ctx, s, a, lastBound)
					if p == nil && err == nil && a.Keyed {
						kept, _ := first.LoadOrStore(payloadOf(a), ans)
						ans, _ = kept.(core.Answer)
					}
					return ans, p, err
				}
			},
		},
		{
			ID: "race-in-flight-conflict", Does: "Refuses a twin as a conflict while the first one is in work.", Contract: "notes",
			Breaks: []string{"idempotency.atomic", "idempotency.race", "idempotency.linearizable", "idempotency.recovery"},
			Replace: func(r *core.Rules) {
				var busy sync.Map // identity
				r.Admit = func(ctx context.Context, s core.Store, a core.Admission) (core.Answer, *core.Problem, error) {
					if !a.Keyed {
						return core.Admit(ctx, s, a)
					}
					if _, twin := busy.LoadOrStore(a.Identity, true); twin {
						return core.Answer{}, a.Conflict(core.Binding{}), nil
					}
					defer busy.Delete(a.Identity)
					time.Sleep(thinking)
					return core.Admit(ctx, s, a)
				}
			},
		},
	}
}

// settle is what is done when an operation has been carried out. Its error undoes that, its problem does not.
type settle func(w core.Writer, a core.Admission, ans core.Answer) (core.Answer, *core.Problem, error)

// unlocked looks the key up in one step and carries out in another.
func unlocked(ctx context.Context, s core.Store, a core.Admission, end settle) (core.Answer, *core.Problem, error) {
	if !a.Keyed {
		return core.Admit(ctx, s, a)
	}
	var ans core.Answer
	var done bool
	var p *core.Problem
	err := s.View(ctx, func(r core.Reader) (err error) {
		ans, done, p, err = a.Bound(r)
		return err
	})
	if done || p != nil || err != nil {
		return ans, p, err
	}
	time.Sleep(thinking)
	err = s.Update(ctx, func(w core.Writer) (err error) {
		if ans, p = a.Apply(w); p != nil {
			return p
		}
		ans, p, err = end(w, a, ans)
		return err
	})
	if errors.As(err, &p) {
		return core.Answer{}, p, nil
	}
	return ans, p, err
}

// firstBound answers like whoever bound the key first; what was carried out stays.
func firstBound(w core.Writer, a core.Admission, ans core.Answer) (core.Answer, *core.Problem, error) {
	b, err := a.Lookup(w)
	switch d := a.Decide(b); {
	case err != nil:
		return ans, nil, err
	case d == idem.Replay:
		ans, err = a.Replay(w, *b)
		return ans, nil, err
	case d == idem.Conflict:
		return ans, a.Conflict(*b), nil
	}
	ans, err = a.Bind(w, ans)
	return ans, nil, err
}

// lastBound binds the key to the present answer, whatever it was bound to.
func lastBound(w core.Writer, a core.Admission, ans core.Answer) (core.Answer, *core.Problem, error) {
	ans, err := a.Bind(w, ans)
	return ans, nil, err
}

// failing meets a unique constraint if the key was bound meanwhile.
func failing(w core.Writer, a core.Admission, ans core.Answer) (core.Answer, *core.Problem, error) {
	b, err := a.Lookup(w)
	if err != nil {
		return ans, nil, err
	}
	if a.Decide(b) != idem.Admit {
		return ans, nil, &core.Problem{Kind: core.Internal, Status: http.StatusInternalServerError, Code: "BROKEN", Title: "Internal Server Error"}
	}
	ans, err = a.Bind(w, ans)
	return ans, nil, err
}

func payloadOf(a core.Admission) [sha256.Size]byte {
	return sha256.Sum256(append([]byte(a.Identity), encode(a.Request.Value)...))
}

func mutex(locks *sync.Map, a core.Admission) *sync.Mutex {
	v, _ := locks.LoadOrStore(payloadOf(a), &sync.Mutex{})
	mu, _ := v.(*sync.Mutex)
	return mu
}

// lost are servers that go wrong when their answer does not arrive.
func lost() []Mutant {
	return []Mutant{
		{
			ID: "lost-record-after-delivery", Does: "Keeps the key's record only if the client is still there to be answered.", Contract: "seer",
			Breaks: []string{"idempotency.recovery-once", "idempotency.recovery"},
			Wrap: func(next http.Handler) http.Handler {
				var all sync.Map // caller, path and key -> *attempts
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					a := attemptsOf(&all, r)
					if a == nil {
						next.ServeHTTP(w, r)
						return
					}
					a.mu.Lock()
					defer a.mu.Unlock()
					for range a.lost {
						r.Header.Set(keyHeader, r.Header.Get(keyHeader)+"~")
					}
					answer := ask(next, r)
					if gone(r) {
						a.lost++
					}
					answer.send(w)
				})
			},
		},
		{
			ID: "lost-lock-stays", Does: "Never releases the key of a request whose client went away.", Contract: "seer",
			Breaks: []string{"idempotency.recovery"},
			Wrap: func(next http.Handler) http.Handler {
				var all sync.Map // caller, path and key -> *attempts
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					a := attemptsOf(&all, r)
					if a == nil {
						next.ServeHTTP(w, r)
						return
					}
					a.mu.Lock()
					defer a.mu.Unlock()
					if a.lost > 0 {
						refuse(w, http.StatusConflict, "IDEMPOTENCY_CONFLICT")
						return
					}
					answer := ask(next, r)
					if gone(r) {
						a.lost++
					}
					answer.send(w)
				})
			},
		},
		{
			ID: "lost-client-cancels", Does: "Cancels a job whose client has gone away.", Contract: "seer",
			Breaks: []string{"jobs.abandoned"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				a := ask(next, r)
				if job := a.text("job_id"); a.status == http.StatusAccepted && job != "" && gone(r) {
					also(next, r, "POST", "/v1/jobs/"+job+"/cancellation", "")
				}
				a.send(w)
			}),
		},
	}
}

// attempts are the requests under one key, one at a time.
type attempts struct {
	mu   sync.Mutex
	lost int // whose client went away
}

func attemptsOf(all *sync.Map, r *http.Request) *attempts {
	key := r.Header.Get(keyHeader)
	if key == "" {
		return nil
	}
	v, _ := all.LoadOrStore(r.Header.Get("Authorization")+"\x00"+r.URL.Path+"\x00"+key, &attempts{})
	a, _ := v.(*attempts)
	return a
}
