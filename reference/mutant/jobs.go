package mutant

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/core/job"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// jobs are servers whose background work shows what it should not, or goes on, or comes to nothing.
func jobs() []Mutant {
	return slices.Concat(admissions(), states(), pollDelays(), cancellations(), results())
}

func admissions() []Mutant {
	return []Mutant{
		{
			ID: "job-404-at-first", Does: "Shows a job a moment after it has admitted it.", Contract: "seer",
			Breaks: []string{"jobs.known-at-once", "jobs.status-url"},
			Wrap: func(next http.Handler) http.Handler {
				var admitted sync.Map // job -> time.Time
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if at, ok := admitted.Load(segment(r, 0)); ok && is(r, "GET", "/v1/jobs/*") {
						if t, _ := at.(time.Time); time.Since(t) < 30*time.Millisecond {
							problem(http.StatusNotFound, "NOT_FOUND").send(w)
							return
						}
					}
					a := ask(next, r)
					if id := a.text("job_id"); a.status == http.StatusAccepted {
						admitted.Store(id, time.Now())
					}
					a.send(w)
				})
			},
		},
		{
			ID: "job-wrong-status-url", Does: "Leaves the version out of the status URL.", Contract: "seer",
			Breaks: []string{"jobs.status-url"},
			Replace: func(r *core.Rules) {
				r.Accepted = func(_ *spec.Job, a map[string]any) map[string]any {
					a["status_url"] = "/jobs/" + text(a, "job_id")
					return a
				}
			},
		},
		{
			ID: "job-inner-status-url", Does: "Names itself in the status URL as it is called behind its proxy.", Contract: "notes",
			Breaks: []string{"jobs.status-url"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				if at := a.header.Get("Location"); a.status == http.StatusAccepted {
					a.header.Set("Location", "http://exports.internal:8080"+at)
				}
			}),
		},
		{
			ID: "job-accepted-running", Does: "Says of a job that it runs when it was only admitted.", Contract: "seer",
			Breaks: []string{"jobs.accepted"},
			Replace: func(r *core.Rules) {
				r.Accepted = func(_ *spec.Job, a map[string]any) map[string]any {
					a["state"] = "running"
					return a
				}
			},
		},
		{
			ID: "job-replay-waits", Does: "Refuses a repeated creation until its job has ended.", Contract: "seer",
			Breaks: []string{"jobs.held-replay", "idempotency.atomic", "idempotency.atomic-record", "idempotency.race", "idempotency.linearizable", "idempotency.recovery", "idempotency.replay"},
			Replace: replay(func(rd core.Reader, op *spec.Operation, a *core.Answer) {
				res, err := rd.Resource("job", text(decoded(a.Body), "job_id"))
				if op.Job != nil && err == nil && res.State != "completed" && res.State != "failed" && res.State != "cancelled" {
					refused := problem(http.StatusConflict, "IDEMPOTENCY_CONFLICT")
					*a = core.Answer{Status: refused.status, Body: refused.body, Header: map[string]string{
						"Content-Type": refused.header.Get("Content-Type"), "X-Request-Id": refused.header.Get("X-Request-Id"),
					}}
				}
			}),
		},
		{
			ID: "job-pool-full", Does: "Cancels a job at once where five are active, instead of refusing or keeping it.", Contract: "seer",
			Breaks: []string{"jobs.all-end"},
			May:    []May{{"jobs.abandoned", "the job whose client went away may be the sixth beside those of another case"}},
			Wrap:   poolOfFive,
		},
	}
}

// poolOfFive counts jobs as active for as long as one takes.
func poolOfFive(next http.Handler) http.Handler {
	var mu sync.Mutex
	begun := map[string][]time.Time{} // path -> admissions
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := ask(next, r)
		if a.status == http.StatusAccepted {
			mu.Lock()
			recent := slices.DeleteFunc(begun[r.URL.Path], func(t time.Time) bool { return time.Since(t) > 60*time.Millisecond })
			begun[r.URL.Path] = append(recent, time.Now())
			full := len(recent) >= 5
			mu.Unlock()
			if full {
				also(next, r, "POST", "/v1/jobs/"+a.text("job_id")+"/cancellation", "")
			}
		}
		a.send(w)
	})
}

// viewed changes the representation of jobs after it was made as it should be.
func viewed(change func(j *spec.Job, state string, body map[string]any)) func(*core.Rules) {
	return func(r *core.Rules) {
		r.JobView = func(j *spec.Job, state string, body map[string]any) map[string]any {
			body = job.View(j, state, body)
			change(j, state, body)
			return body
		}
	}
}

func member(p tree.Pointer) string { return p.Tokens()[0] }

func states() []Mutant {
	return []Mutant{
		{
			ID: "job-unknown-state", Does: "Says in_progress where the contract says running.", Contract: "seer",
			Breaks: []string{"jobs.states"},
			Replace: viewed(func(j *spec.Job, state string, body map[string]any) {
				if state == "running" {
					body[member(j.State)] = "in_progress"
				}
			}),
		},
		{
			ID: "job-stale-reads", Does: "Reads jobs from the database and from a copy in turn, and the copy is a little behind.", Contract: "seer",
			Breaks: []string{
				"jobs.transitions", "jobs.final", "jobs.cancel-ended", "jobs.cancel-twice", "jobs.cancel-quiet", "jobs.abandoned",
			},
			Replace: staleReads,
		},
		{
			ID: "job-falls-back", Does: "Answers the first read of a completed job from what it kept when it admitted the job.", Contract: "seer",
			Breaks: []string{"jobs.transitions"},
			Replace: func(r *core.Rules) {
				var read sync.Map // completed job
				r.Represent = func(op *spec.Operation, res core.Resource) json.RawMessage {
					if op.ID != "getJob" || res.State != "completed" {
						return res.Body
					}
					if _, before := read.LoadOrStore(res.ID, true); before {
						return res.Body
					}
					body := decoded(res.Body)
					body["state"] = "accepted"
					delete(body, "result_ref")
					return encode(body)
				}
			},
		},
		{
			ID: "job-swept", Does: "Says of a completed job, a second after its end, that it made something else.", Contract: "seer",
			Breaks:  []string{"jobs.final"},
			May:     laterReads(),
			Replace: aSecondLater("completed", func(body map[string]any) { body["result_ref"] = "art_swept" }),
		},
		{
			ID: "job-cancelled-swept", Does: "Says of a cancelled job, a second after its end, that it failed.", Contract: "seer",
			Breaks: []string{"jobs.final"},
			May:    laterReads(),
			Replace: aSecondLater("cancelled", func(body map[string]any) {
				body["state"], body["error_code"] = "failed", "CANCELLED"
			}),
		},
		{
			ID: "job-touched-by-reads", Does: "Notes at each read of a job when it was read.", Contract: "notes",
			Breaks: []string{"jobs.final", "jobs.cancel-ended", "jobs.cancel-twice", "jobs.cancel-quiet", "jobs.abandoned"},
			Replace: representing("getExport", func(body map[string]any) {
				body["read_at"] = core.Timestamp(time.Now())
			}),
		},
		{
			ID: "job-failure-hidden", Does: "Shows a failed job as completed.", Contract: "seer",
			Breaks: []string{"jobs.failed", "jobs.result", "wire.schema"},
			Replace: viewed(func(j *spec.Job, state string, body map[string]any) {
				if state == j.Failure {
					body[member(j.State)] = j.Success
					delete(body, member(j.Error))
				}
			}),
		},
		{
			ID: "job-queue-timeout", Does: "Gives up jobs that have not begun after a twentieth of a second.", Contract: "seer",
			Breaks: []string{"jobs.held"},
			Replace: func(r *core.Rules) {
				var first, late sync.Map // job -> time.Time, bool
				r.Represent = func(op *spec.Operation, res core.Resource) json.RawMessage {
					if op.ID != "getJob" {
						return res.Body
					}
					at, _ := first.LoadOrStore(res.ID, time.Now())
					if t, _ := at.(time.Time); res.State == "accepted" && time.Since(t) > 50*time.Millisecond {
						late.Store(res.ID, true)
					}
					if _, ok := late.Load(res.ID); !ok {
						return res.Body
					}
					body := decoded(res.Body)
					body["state"], body["error_code"] = "failed", "QUEUE_TIMEOUT"
					delete(body, "result_ref")
					return encode(body)
				}
			},
		},
		{
			ID: "job-result-early", Does: "Names the result of a job while it runs.", Contract: "seer",
			Breaks: []string{"jobs.result-absent"},
			Replace: viewed(func(j *spec.Job, state string, body map[string]any) {
				if state == "running" {
					body[member(j.Result)] = "art_" + rand.Text()
				}
			}),
		},
		{
			ID: "job-no-result", Does: "Completes a job without naming its result.", Contract: "seer",
			Breaks: []string{"jobs.result", "wire.schema"},
			May: []May{
				{"jobs.artifact", "what is not named cannot be read"},
			},
			Replace: viewed(func(j *spec.Job, _ string, body map[string]any) { delete(body, member(j.Result)) }),
		},
		{
			ID: "job-no-error-code", Does: "Says of a failed job in words only why.", Contract: "seer",
			Breaks: []string{"jobs.result", "wire.schema"},
			Replace: viewed(func(j *spec.Job, state string, body map[string]any) {
				if state == j.Failure {
					delete(body, member(j.Error))
					body["message"] = "The computation failed."
				}
			}),
		},
	}
}

// laterReads are the claims that a job is judged by when it ended a while ago.
func laterReads() []May {
	return []May{
		{"jobs.cancel-ended", "a case may take so long that it reads a job late"},
		{"jobs.cancel-twice", "a case may take so long that it reads a job late"},
		{"jobs.cancel-quiet", "a case may take so long that it reads a job late"},
		{"jobs.abandoned", "a case may take so long that it reads a job late"},
	}
}

// aSecondLater changes what is shown of a job in a state a second after it was first shown in it.
func aSecondLater(state string, change func(body map[string]any)) func(*core.Rules) {
	return func(r *core.Rules) {
		var ended sync.Map // job -> time.Time
		r.Represent = func(op *spec.Operation, res core.Resource) json.RawMessage {
			if op.ID != "getJob" || res.State != state {
				return res.Body
			}
			at, _ := ended.LoadOrStore(res.ID, time.Now())
			if t, _ := at.(time.Time); time.Since(t) < time.Second {
				return res.Body
			}
			body := decoded(res.Body)
			change(body)
			return encode(body)
		}
	}
}

// staleReads answers every second read of a job from a copy, which it renews when it is older than a
// job's state lasts.
func staleReads(r *core.Rules) {
	type copied struct {
		body json.RawMessage
		at   time.Time
	}
	var mu sync.Mutex
	copies := map[string]copied{}
	turns := map[string]int{}
	r.Represent = func(op *spec.Operation, res core.Resource) json.RawMessage {
		if op.ID != "getJob" {
			return res.Body
		}
		mu.Lock()
		defer mu.Unlock()
		if turns[res.ID]++; turns[res.ID]%2 == 0 {
			return res.Body
		}
		if time.Since(copies[res.ID].at) > 40*time.Millisecond {
			copies[res.ID] = copied{res.Body, time.Now()}
		}
		return copies[res.ID].body
	}
}

func cancellations() []Mutant {
	return []Mutant{
		{
			ID: "cancel-ignored", Does: "Answers a cancellation and lets the job run on.", Contract: "seer",
			Breaks: []string{"jobs.cancel", "jobs.cancel-quiet"},
			Replace: func(r *core.Rules) {
				r.CancelTo = func(_ *spec.States, _, state string) (string, bool) { return state, false }
			},
		},
		{
			ID: "cancel-overtaken", Does: "Lets the worker of a cancelled job go on and complete it.", Contract: "seer",
			Breaks: []string{"jobs.cancel-quiet", "jobs.cancel", "jobs.final"},
			May:    []May{{"jobs.cancel-twice", "the worker may have taken the job up before the second cancellation"}},
			Replace: func(r *core.Rules) {
				r.Stop = func(core.Writer, string) error { return nil }
				r.Legal = func(m *spec.States, from, to string) bool { return from == "cancelled" || job.Legal(m, from, to) }
			},
		},
		{
			ID: "cancel-in-name-only", Does: "Shows a cancelled job as cancelled while its work goes on and is published.", Contract: "seer",
			Breaks: []string{"jobs.cancel-quiet"},
			Wrap:   cancelInName,
		},
		{
			ID: "cancel-flips-ended", Does: "Makes a cancelled job of one that had ended.", Contract: "seer",
			Breaks: []string{"jobs.cancel-ended", "jobs.final"}, May: []May{{"jobs.cancel-quiet", "a job that had ended well and is then shown as cancelled has a result"}},
			Replace: func(r *core.Rules) {
				r.CancelTo = func(_ *spec.States, cancelled, _ string) (string, bool) { return cancelled, true }
				r.Legal = func(m *spec.States, from, to string) bool {
					return to == "cancelled" && job.Terminal(m, from) || job.Legal(m, from, to)
				}
			},
		},
		{
			ID: "cancel-late-409", Does: "Refuses to cancel a job that has ended.", Contract: "seer",
			Breaks: []string{"jobs.cancel-ended", "jobs.cancel-twice", "wire.status"},
			Replace: func(r *core.Rules) {
				r.CancelTo = func(_ *spec.States, cancelled, _ string) (string, bool) { return cancelled, true }
			},
		},
		{
			ID: "cancel-twice-500", Does: "Fails when a job is cancelled that was cancelled before.", Contract: "notes",
			Breaks: []string{"jobs.cancel-twice", "wire.server-error"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				again := is(r, "DELETE", "/exports/*") && also(next, r, "GET", r.URL.Path, "").text("phase") == "stopped"
				a := ask(next, r)
				if again {
					a.status = http.StatusInternalServerError
					a.set(map[string]any{"error": map[string]any{"code": "BROKEN", "trace": a.header.Get("Request-Id")}})
				}
				a.send(w)
			}),
		},
	}
}

// cancelInName shows jobs as cancelled of which the wrapped server knows nothing of the kind.
func cancelInName(next http.Handler) http.Handler {
	var cancelled sync.Map // job
	shown := func(a *answer) {
		body := a.object()
		body["state"] = "cancelled"
		delete(body, "result_ref")
		a.set(body)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if is(r, "POST", "/v1/jobs/*/cancellation") {
			id := segment(r, 1)
			a := also(next, r, "GET", "/v1/jobs/"+id, "")
			if s := a.text("state"); s == "accepted" || s == "running" {
				cancelled.Store(id, true)
				shown(a)
				a.send(w)
				return
			}
		}
		a := ask(next, r)
		if _, ok := cancelled.Load(a.text("job_id")); ok && (is(r, "GET", "/v1/jobs/*") || is(r, "POST", "/v1/jobs/*/cancellation")) {
			shown(a)
		}
		a.send(w)
	})
}

func results() []Mutant {
	return []Mutant{
		{
			ID: "result-404-at-first", Does: "Names a result a moment before it can be read.", Contract: "seer",
			Breaks: []string{"jobs.artifact"},
			Wrap: func(next http.Handler) http.Handler {
				var asked sync.Map // artifact
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if is(r, "GET", "/v1/artifacts/*") {
						if _, before := asked.LoadOrStore(segment(r, 0), true); !before {
							refuse(w, http.StatusNotFound, "NOT_FOUND")
							return
						}
					}
					next.ServeHTTP(w, r)
				})
			},
		},
		{
			ID: "result-lost", Does: "Completes a job before its result is stored, and stops in between.", Contract: "notes",
			Breaks: []string{"jobs.artifact"},
			Replace: func(r *core.Rules) {
				r.Publish = func(ctx context.Context, s core.Store, p core.Publication) error {
					return s.Update(ctx, func(w core.Writer) error {
						_, err := p.Complete(w)
						return err
					})
				}
			},
		},
		{
			ID: "result-unversioned", Does: "Leaves the revision of its schema out of a result.", Contract: "seer",
			Breaks:  []string{"jobs.artifact-schema", "wire.schema", "seer.artifact-kind", "seer.artifact-kind-ours", "seer.artifact-data"},
			Replace: representing("getArtifact", func(body map[string]any) { delete(body, "schema_revision") }),
		},
		{
			ID: "result-changes", Does: "Stamps a result with the time at which it is read.", Contract: "notes",
			Breaks:  []string{"jobs.artifact-immutable"},
			Replace: representing("getFile", func(body map[string]any) { body["fetched_at"] = core.Timestamp(time.Now()) }),
		},
		{
			ID: "result-not-listed", Does: "Lists results from an index that is some seconds behind.", Contract: "seer",
			Breaks: []string{"jobs.artifact-listed"},
			Wrap: onlyAt("GET", "/v1/artifacts", func(a *answer) {
				body := a.object()
				indexed := []any{}
				for _, it := range items(body) {
					if at, err := time.Parse(time.RFC3339, text(it, "created_at")); err == nil && time.Since(at) > 5*time.Second {
						indexed = append(indexed, it)
					}
				}
				body["items"] = indexed
				a.set(body)
			}),
		},
		{
			ID: "result-unknown-400", Does: "Answers the id of a result that never was with 400.", Contract: "seer",
			Breaks: []string{"jobs.artifact-unknown"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				a := ask(next, r)
				if is(r, "GET", "/v1/artifacts/*") && a.status == http.StatusNotFound {
					a = problem(http.StatusBadRequest, "INVALID_PARAMETER")
				}
				a.send(w)
			}),
		},
		{
			ID: "result-shared", Does: "Gives every job of a kind the result of the first one.", Contract: "seer",
			Breaks: []string{"jobs.distinct"},
			Replace: func(r *core.Rules) {
				var first sync.Map // kind -> result
				viewed(func(j *spec.Job, state string, body map[string]any) {
					if id := text(body, member(j.Result)); state == j.Success && id != "" {
						kept, _ := first.LoadOrStore(text(body, "kind"), id)
						body[member(j.Result)] = kept
					}
				})(r)
			},
		},
	}
}
