package mutant

import (
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
	"assay.kit/reference/core/idem"
	"assay.kit/spec"
)

const keyHeader = "Idempotency-Key" // of contract seer

// replays are the claims that break where a repeated request is taken for a new one.
func replays() []string {
	return []string{
		"idempotency.replay", "idempotency.once", "idempotency.original", "idempotency.conflict", "idempotency.conflict-harmless", "idempotency.survives",
		"idempotency.spent", "idempotency.canonical", "idempotency.spelling", "idempotency.change", "idempotency.change-form", "idempotency.change-order", "idempotency.change-type",
		"idempotency.change-null", "idempotency.change-default", "idempotency.path", "idempotency.path-dots", "idempotency.key-legal", "idempotency.refusal-free",
		"idempotency.scope-path", "idempotency.scope-parent", "idempotency.scope-client", "idempotency.scope-workspace", "idempotency.atomic",
		"idempotency.atomic-once", "idempotency.atomic-record", "idempotency.race", "idempotency.race-once", "idempotency.linearizable",
		"idempotency.recovery", "idempotency.recovery-once", "idempotency.recovery-expires", "jobs.held-replay",
	}
}

// changes are the claims that break where a changed payload is not refused as the contract says.
func changes() []string {
	return []string{
		"idempotency.conflict", "idempotency.change", "idempotency.change-order", "idempotency.change-type", "idempotency.change-null",
		"idempotency.change-default", "idempotency.change-form", "idempotency.race",
	}
}

// with adds claims to a list of them.
func with(claims []string, more ...string) []string { return slices.Concat(claims, more) }

// idempotency are servers that mistake what a repeated or changed request is, one after the other.
func idempotency() []Mutant {
	return slices.Concat(forgetful(), conflicting(), replaying(), keys())
}

// anew gives every request an identity of its own.
func anew(*spec.Idempotency, *core.Request, idem.Source) string { return rand.Text() }

func forgetful() []Mutant {
	return []Mutant{
		{
			ID: "idempotency-ignored", Does: "Reads the key and does nothing with it.", Contract: "seer",
			Breaks:  replays(),
			Replace: func(r *core.Rules) { r.Identity = anew },
		},
		{
			ID: "idempotency-one-route", Does: "Honours keys everywhere but on portfolio proposals, which were added later.", Contract: "seer",
			Breaks: replays(),
			Replace: func(r *core.Rules) {
				correct := core.Correct().Identity
				r.Identity = func(t *spec.Idempotency, rq *core.Request, s idem.Source) string {
					if rq.Op.ID == "createPortfolioProposal" {
						return anew(t, rq, s)
					}
					return correct(t, rq, s)
				}
			},
		},
		{
			ID: "idempotency-state-before-key", Does: "Judges whether an action may be submitted before it looks at the key, so a repeated submission is refused.", Contract: "seer",
			Breaks: replays(),
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if is(r, "POST", "/v1/actions/*/submissions") {
					action := also(next, r, "GET", strings.TrimSuffix(r.URL.Path, "/submissions"), "")
					if state := action.text("state"); state == "submitted" || state == "executed" || state == "rejected" {
						refuse(w, http.StatusConflict, "STATE_CONFLICT")
						return
					}
				}
				next.ServeHTTP(w, r)
			}),
		},
	}
}

// refusing answers every conflict with another refusal.
func refusing(p core.Problem) func(*core.Rules) {
	return func(r *core.Rules) {
		r.Conflict = func(*spec.Operation, core.Binding, *core.Problem) *core.Problem { return &p }
	}
}

func conflicting() []Mutant {
	return []Mutant{
		{
			ID: "idempotency-ignores-body", Does: "Compares keys and never payloads.", Contract: "notes",
			Breaks: with(changes(), "idempotency.linearizable", "idempotency.conflict-silent"),
			Replace: func(r *core.Rules) {
				r.Fingerprint = func(*core.Request) ([]byte, error) { return []byte("any"), nil }
			},
		},
		{
			ID: "idempotency-conflict-overwrites", Does: "Takes another payload under a used key for a change of the resource.", Contract: "notes",
			Breaks: with(changes(), "idempotency.conflict-harmless", "idempotency.conflict-silent", "idempotency.linearizable"),
			Replace: func(r *core.Rules) {
				r.Conflict = func(op *spec.Operation, _ core.Binding, refused *core.Problem) *core.Problem {
					if op.Job != nil {
						return refused
					}
					return nil
				}
				r.Admit = overwriting
			},
		},
		{
			ID: "idempotency-latest-wins", Does: "Takes another payload under a used key for a new request, which the key then stands for.", Contract: "notes",
			Breaks: with(changes(), "idempotency.conflict-harmless", "idempotency.survives", "idempotency.race-once", "idempotency.linearizable"),
			Replace: func(r *core.Rules) {
				r.Conflict = func(*spec.Operation, core.Binding, *core.Problem) *core.Problem { return nil }
			},
		},
		{
			ID: "idempotency-conflict-500", Does: "Fails when a used key comes with another payload.", Contract: "seer",
			Breaks:  with(changes(), "wire.server-error"),
			Replace: refusing(core.Problem{Kind: core.Internal, Status: 500, Code: "INTERNAL", Title: "Internal Server Error"}),
		},
		{
			ID: "idempotency-conflict-422", Does: "Refuses another payload under a used key with 422, as an earlier draft has it, and not with the contract's 409.", Contract: "seer",
			Breaks:  with(changes(), "wire.status"),
			Replace: refusing(core.Problem{Kind: core.KeyConflict, Status: 422, Code: "IDEMPOTENCY_CONFLICT", Title: "Unprocessable Entity"}),
		},
		{
			ID: "idempotency-conflict-leaks", Does: "Shows the first answer in the refusal of another payload.", Contract: "seer",
			Breaks: []string{"idempotency.conflict-silent"},
			Replace: func(r *core.Rules) {
				r.Conflict = func(_ *spec.Operation, b core.Binding, refused *core.Problem) *core.Problem {
					p := *refused
					p.Detail += " It belongs to " + string(b.Answer.Body) + "."
					return &p
				}
			},
		},
		{
			ID: "idempotency-conflict-poisons", Does: "After one conflict refuses everything under the key, the original payload too.", Contract: "seer",
			Breaks: []string{"idempotency.survives", "idempotency.original", "idempotency.spent", "idempotency.race", "idempotency.linearizable"},
			Replace: func(r *core.Rules) {
				var poisoned sync.Map // identity
				r.Decide = func(b *idem.Bound, fingerprint []byte, now time.Time) idem.Decision {
					d := idem.Decide(b, fingerprint, now)
					if d == idem.Conflict {
						poisoned.Store(b.Identity, true)
					}
					if _, bad := poisoned.Load(identityOf(b)); bad && d == idem.Replay {
						return idem.Conflict
					}
					return d
				}
			},
		},
		{
			ID: "idempotency-refusal-binds", Does: "Keeps a refusal by the schema under the key, so that the corrected request is a conflict.", Contract: "seer",
			Breaks:  []string{"idempotency.refusal-free"},
			Replace: func(r *core.Rules) { r.Stores = func(status int) bool { return idem.Stores(status) || status == 400 } },
		},
		{
			ID: "idempotency-not-found-binds", Does: "Keeps the refusal of a reference that leads nowhere under the key.", Contract: "seer",
			Breaks:  []string{"idempotency.refusal-free"},
			Replace: func(r *core.Rules) { r.Stores = func(status int) bool { return idem.Stores(status) || status == 404 } },
		},
	}
}

func identityOf(b *idem.Bound) string {
	if b == nil {
		return ""
	}
	return b.Identity
}

func replaying() []Mutant {
	return []Mutant{
		{
			ID: "idempotency-replay-200", Does: "Answers the replay of a 201 with 200.", Contract: "seer",
			Breaks: []string{"idempotency.representation", "idempotency.original", "idempotency.atomic", "wire.status"},
			Replace: replay(func(_ core.Reader, _ *spec.Operation, a *core.Answer) {
				if a.Status == http.StatusCreated {
					a.Status = http.StatusOK
				}
			}),
		},
		{
			ID: "idempotency-replay-current", Does: "Answers a replay with the resource as it is by now.", Contract: "seer",
			Breaks:  []string{"idempotency.original"},
			May:     []May{{"idempotency.atomic", "a concurrent twin that is late sees the job further on than the first"}},
			Replace: replay(current),
		},
		{
			ID: "idempotency-replay-id-only", Does: "Keeps of the first answer no more than the id.", Contract: "notes",
			Breaks: []string{"idempotency.representation", "idempotency.original", "idempotency.atomic", "wire.schema"},
			Replace: replay(func(_ core.Reader, op *spec.Operation, a *core.Answer) {
				id := op.Creates.ID.Pointer.Tokens()[0]
				a.Body = encode(map[string]any{id: decoded(a.Body)[id]})
			}),
		},
		{
			ID: "idempotency-replay-drops-expires", Does: "Says on the first answer only until when the key is bound.", Contract: "seer",
			Breaks:  []string{"idempotency.expires", "idempotency.recovery-expires", "wire.headers"},
			Replace: replay(func(_ core.Reader, _ *spec.Operation, a *core.Answer) { delete(a.Header, "Idempotency-Key-Expires-At") }),
		},
		{
			ID: "idempotency-expires-slides", Does: "Moves the expiry on with every replay.", Contract: "seer",
			Breaks: []string{"idempotency.expires-constant", "idempotency.recovery-expires"},
			Replace: replay(func(_ core.Reader, _ *spec.Operation, a *core.Answer) {
				a.Header["Idempotency-Key-Expires-At"] = core.Timestamp(idem.Expiry(time.Now(), access.DefaultLimits().IdempotencyRetention))
			}),
		},
		{
			ID: "idempotency-expires-recomputed", Does: "Computes the expiry anew for each answer, to the microsecond.", Contract: "notes",
			Breaks: []string{"idempotency.expires-constant", "idempotency.recovery-expires"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				if at, err := time.Parse(time.RFC3339, a.header.Get("Request-Key-Expires")); err == nil {
					a.header.Set("Request-Key-Expires", core.Timestamp(at.Add(time.Duration(time.Now().Nanosecond())-time.Second)))
				}
			}),
		},
		{
			ID: "idempotency-expires-short", Does: "Keeps keys for an hour, whatever the connection says.", Contract: "seer",
			Breaks: []string{"idempotency.expires-window"},
			Replace: func(r *core.Rules) {
				r.Expiry = func(admitted time.Time, _ time.Duration) time.Time { return idem.Expiry(admitted, time.Hour) }
			},
		},
		{
			ID: "idempotency-expires-local", Does: "Writes the expiry in the server's local time.", Contract: "seer",
			Breaks: []string{"idempotency.expires-utc"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				if at, err := time.Parse(time.RFC3339, a.header.Get("Idempotency-Key-Expires-At")); err == nil {
					a.header.Set("Idempotency-Key-Expires-At", at.In(time.FixedZone("", 2*60*60)).Format(time.RFC3339))
				}
			}),
		},
		{
			ID: "idempotency-expires-no-offset", Does: "Writes the expiry without an offset.", Contract: "notes",
			Breaks: []string{"idempotency.expires", "idempotency.expires-constant", "idempotency.recovery-expires", "expiry.rebound"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				if s := a.header.Get("Request-Key-Expires"); s != "" {
					a.header.Set("Request-Key-Expires", strings.TrimSuffix(s, "Z"))
				}
			}),
		},
		{
			ID: "idempotency-expires-jobs-only", Does: "Tells the expiry where a job was admitted and forgets it where a resource was made at once.", Contract: "seer",
			Breaks: []string{"idempotency.expires", "wire.headers"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				if a.status == http.StatusCreated {
					a.header.Del("Idempotency-Key-Expires-At")
				}
			}),
		},
		{
			ID: "idempotency-revoked-replays", Does: "Lets a revoked token go on to admissions.", Contract: "seer",
			Breaks: []string{"idempotency.revoked"},
			Replace: func(r *core.Rules) {
				r.Admissible = func(c access.Credential, _ bool, now time.Time) bool { return now.Before(c.Principal.Expires) }
			},
		},
		{
			ID: "idempotency-cache-before-auth", Does: "Answers from a cache of first answers before it looks at the token.", Contract: "seer",
			Breaks: []string{"idempotency.revoked", "idempotency.scope-client", "idempotency.scope-workspace", "idempotency.scope-leak"},
			Wrap:   cacheInFront,
		},
	}
}

// replay changes what a replay answers, on a copy.
func replay(change func(rd core.Reader, op *spec.Operation, a *core.Answer)) func(*core.Rules) {
	return func(r *core.Rules) {
		r.Replay = func(rd core.Reader, op *spec.Operation, b core.Binding) (core.Answer, error) {
			a := b.Answer
			a.Header = map[string]string{}
			for name, v := range b.Answer.Header {
				a.Header[name] = v
			}
			change(rd, op, &a)
			return a, nil
		}
	}
}

// current puts the present representation in the place of the first answer: of a job only its state.
func current(rd core.Reader, op *spec.Operation, a *core.Answer) {
	body := decoded(a.Body)
	if op.Job != nil && a.Status == op.Job.Accepted {
		if job, err := rd.Resource("job", text(body, "job_id")); err == nil {
			body["state"] = job.State
			a.Body = encode(body)
		}
		return
	}
	id := text(body, op.Creates.ID.Pointer.Tokens()[0])
	if res, err := rd.Resource(op.Creates.Resource, id); err == nil {
		a.Body = res.Body
	}
}

// cacheInFront remembers successful answers to keyed requests by path, key and body.
func cacheInFront(next http.Handler) http.Handler {
	var kept sync.Map // sum -> *answer
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get(keyHeader)
		if key == "" {
			next.ServeHTTP(w, r)
			return
		}
		sum := sha256.Sum256(slices.Concat([]byte(r.URL.Path+"\x00"+key+"\x00"), bodyOf(r)))
		if a, ok := kept.Load(sum); ok {
			first, _ := a.(*answer)
			again := &answer{header: first.header.Clone(), status: first.status, body: first.body}
			again.header.Set("X-Request-Id", "req_"+rand.Text())
			again.send(w)
			return
		}
		a := ask(next, r)
		if idem.Stores(a.status) {
			kept.Store(sum, a)
		}
		(&answer{header: a.header.Clone(), status: a.status, body: a.body}).send(w)
	})
}

func keys() []Mutant {
	return []Mutant{
		{
			ID: "idempotency-key-made-up", Does: "Makes up a key where none was sent.", Contract: "seer",
			Breaks: []string{"idempotency.key-required", "idempotency.key-code"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && r.Header.Get(keyHeader) == "" {
					r.Header.Set(keyHeader, rand.Text())
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "idempotency-key-wrong-code", Does: "Refuses a missing key with the code of a broken body.", Contract: "seer",
			Breaks:  []string{"idempotency.key-code"},
			Replace: coded(core.KeyRequired, "INVALID_REQUEST"),
		},
		{
			ID: "idempotency-key-from-body", Does: "Takes two exports without a key for one if their bodies are alike.", Contract: "notes",
			Breaks: []string{"idempotency.key-optional"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if is(r, "POST", "/exports") && r.Header.Get("Request-Key") == "" {
					sum := sha256.Sum256(bodyOf(r))
					r.Header.Set("Request-Key", url.PathEscape(string(encode(sum[:12]))))
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "idempotency-key-short", Does: "Refuses keys of more than 64 characters.", Contract: "seer",
			Breaks:  []string{"idempotency.key-legal"},
			Replace: key(func(key string, most int) bool { return idem.ValidKey(key, min(64, most)) }),
		},
		{
			ID: "idempotency-key-narrow", Does: "Refuses keys with anything but letters, digits and dashes.", Contract: "seer",
			Breaks: []string{"idempotency.key-legal"},
			May:    []May{{"idempotency.key-exact", "a key that differs from another by such a character is refused and leads to no resource of its own"}},
			Replace: key(func(key string, most int) bool {
				return idem.ValidKey(key, most) && !strings.ContainsFunc(key, func(c rune) bool {
					return c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
				})
			}),
		},
		{
			ID: "idempotency-key-anything", Does: "Takes keys of any length and of any characters.", Contract: "seer",
			Breaks:  []string{"idempotency.key-illegal"},
			Replace: key(func(key string, _ int) bool { return key != "" }),
		},
		{
			ID: "idempotency-key-case", Does: "Compares keys without regard to letter case, as some databases do.", Contract: "seer",
			Breaks:  []string{"idempotency.key-exact"},
			Replace: identity(func(_ *core.Request, s *idem.Source) { s.Key = strings.ToLower(s.Key) }),
		},
		{
			ID: "idempotency-key-blanks", Does: "Takes a row of blanks in a key for one.", Contract: "notes",
			Breaks:  []string{"idempotency.key-exact"},
			Replace: identity(func(_ *core.Request, s *idem.Source) { s.Key = strings.Join(strings.Fields(s.Key), " ") }),
		},
		{
			ID: "idempotency-key-slug", Does: "Makes a file name of a key, so that its signs are all one.", Contract: "notes",
			Breaks: []string{"idempotency.key-exact"},
			Replace: identity(func(_ *core.Request, s *idem.Source) {
				s.Key = strings.Join(strings.FieldsFunc(s.Key, func(c rune) bool { return strings.ContainsRune(" -_.", c) }), "-")
			}),
		},
		{
			ID: "idempotency-key-cut", Does: "Keeps the first 128 characters of a key.", Contract: "seer",
			Breaks:  []string{"idempotency.key-exact"},
			Replace: identity(func(_ *core.Request, s *idem.Source) { s.Key = s.Key[:min(128, len(s.Key))] }),
		},
	}
}

func key(valid func(key string, most int) bool) func(*core.Rules) {
	return func(r *core.Rules) {
		r.Key = func(t *spec.Idempotency, key string) bool { return valid(key, t.MaxLength) }
	}
}

// identity changes what the identity of a request is made of.
func identity(change func(r *core.Request, s *idem.Source)) func(*core.Rules) {
	return func(r *core.Rules) {
		r.Identity = func(t *spec.Idempotency, rq *core.Request, s idem.Source) string {
			change(rq, &s)
			return idem.Identity(t.Scope, s)
		}
	}
}

// scoped changes the scope of keys.
func scoped(change func(scope []string) []string) func(*core.Rules) {
	return func(r *core.Rules) {
		r.Identity = func(t *spec.Idempotency, _ *core.Request, s idem.Source) string {
			return idem.Identity(change(slices.Clone(t.Scope)), s)
		}
	}
}

// without makes scopes that lack some of their members.
func without(members ...string) func([]string) []string {
	return func(scope []string) []string {
		return slices.DeleteFunc(scope, func(m string) bool { return slices.Contains(members, m) })
	}
}
