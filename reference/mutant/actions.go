package mutant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"time"

	"assay.kit/reference/core"
	"assay.kit/spec"
)

// actions are servers that break what an authorisation is bound to and what a submission does.
func actions() []Mutant { return slices.Concat(authorities(), executions()) }

// submitting puts something before the submission's own Apply.
func submitting(before func(w core.Writer, r *core.Request, authorization string)) func(map[string]core.Behaviour) {
	return func(all map[string]core.Behaviour) {
		apply(all, "submitAction", func(then applied) applied {
			return func(sys core.System, w core.Writer, r *core.Request, plan any) (core.Answer, *core.Problem) {
				own := *r
				before(w, &own, text(decoded(r.Body), "authorization_id"))
				return then(sys, w, &own, plan)
			}
		})
	}
}

// stored is the body of a stored authorisation, nil if there is none, and its state.
func stored(w core.Writer, authorization string) (body map[string]any, state string) {
	res, err := w.Resource("authorization", authorization)
	if err != nil {
		return nil, ""
	}
	return decoded(res.Body), res.State
}

// bindTo makes an authorisation one of an action, active, and the action authorised.
func bindTo(w core.Writer, authorization, action string) {
	rewrite(w, "authorization", authorization, func(res *core.Resource, body map[string]any) {
		res.State, body["state"], body["action_id"] = "active", "active", action
	})
	forced(w, "action", action, "authorized")
}

func authorities() []Mutant {
	return []Mutant{
		{
			ID: "authority-of-any", Does: "Submits an authorised action with any action's authorisation.", Contract: "seer",
			Breaks: []string{"actions.bound"},
			May:    []May{{"actions.model", "the model refuses it"}, {"actions.not-implied", "another action's authorisation serves"}},
			Behave: submitting(func(w core.Writer, r *core.Request, auth string) {
				action, err := w.Resource("action", r.Path["action_id"])
				if body, state := stored(w, auth); err == nil && body != nil && state == "active" && action.State == "authorized" {
					rewrite(w, "authorization", auth, func(_ *core.Resource, body map[string]any) { body["action_id"] = action.ID })
				}
			}),
		},
		{
			ID: "authority-of-workspace", Does: "Takes an authorisation for one of the whole workspace.", Contract: "seer",
			Breaks: []string{"actions.bound"},
			May:    []May{{"actions.model", "the model refuses it"}, {"actions.not-implied", "another action's authorisation serves"}, {"actions.own-revocation", "it was spent on another action"}},
			Behave: submitting(func(w core.Writer, r *core.Request, auth string) {
				if body, state := stored(w, auth); body != nil && state == "active" {
					bindTo(w, auth, r.Path["action_id"])
				}
			}),
		},
		{
			ID: "authority-revoked", Does: "Submits with an authorisation that was revoked.", Contract: "seer",
			Breaks: []string{"actions.revoked"},
			May:    []May{{"actions.model", "the model refuses it"}, {"actions.revocation", "the action is not what it should be"}, {"actions.own-revocation", "a revoked one serves"}, {"actions.not-implied", "the action moved"}, {"actions.revoke-or-use", "both come"}, {"actions.once", "two serve"}, {"actions.used", "an active one is none any more"}},
			Behave: submitting(func(w core.Writer, r *core.Request, auth string) {
				if body, state := stored(w, auth); state == "revoked" && body["action_id"] == r.Path["action_id"] {
					bindTo(w, auth, r.Path["action_id"])
				}
			}),
		},
		{
			ID: "authority-used", Does: "Lets an authorisation serve again.", Contract: "seer",
			Breaks: []string{"actions.used"},
			May:    []May{{"actions.model", "the model refuses it"}, {"actions.once", "an action is executed twice"}, {"actions.revocation", "the action is not what it was"}, {"actions.revoke-or-use", "several serve"}, {"actions.history", "the events lead back"}, {"actions.identity-kept", "the key executes again"}},
			Behave: submitting(func(w core.Writer, r *core.Request, auth string) {
				if body, state := stored(w, auth); state == "used" && body["action_id"] == r.Path["action_id"] {
					bindTo(w, auth, r.Path["action_id"])
				}
			}),
		},
		{
			ID: "authority-expired", Does: "Does not look whether an authorisation has run out.", Contract: "seer",
			Breaks: []string{"actions.expired"},
			Behave: submitting(func(w core.Writer, r *core.Request, auth string) {
				if body, _ := stored(w, auth); body != nil {
					if at, err := time.Parse(time.RFC3339, text(body, "created_at")); err == nil {
						r.Now = at
					}
				}
			}),
		},
		{
			ID: "authority-of-new-token", Does: "Lets a replacement token use whatever authorisation there was.", Contract: "seer",
			Breaks: []string{"actions.not-implied", "actions.own-revocation"},
			Behave: submitting(func(w core.Writer, r *core.Request, auth string) {
				if body, _ := stored(w, auth); r.Principal.Credential == "rotated_new" && body != nil {
					bindTo(w, auth, r.Path["action_id"])
				}
			}),
		},
		{
			ID: "authority-revoked-with-token", Does: "Retires the token too when an authorisation is revoked.", Contract: "seer",
			Breaks: []string{"actions.own-revocation"},
			Wrap: func(next http.Handler) http.Handler {
				var out remembered
				return wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
					if is(r, "GET", "/v1/connection") && out.get(r.Header.Get("Authorization")) != "" {
						a := problem(http.StatusUnauthorized, "UNAUTHENTICATED")
						a.header.Set("WWW-Authenticate", "Bearer")
						a.send(w)
						return
					}
					if is(r, "DELETE", "/v1/authorizations/*") {
						out.put(r.Header.Get("Authorization"), "yes")
					}
					next.ServeHTTP(w, r)
				})(next)
			},
		},
		{
			ID: "authority-revocation-alone", Does: "Revokes an authorisation and leaves its action authorised.", Contract: "seer",
			Breaks: []string{"actions.revocation"},
			May:    []May{{"actions.model", "the action should be proposed"}, {"actions.revoke-or-use", "the same"}, {"actions.revoked", "no newer one can be had"}, {"actions.used", "the same"}},
			Behave: func(all map[string]core.Behaviour) {
				apply(all, "revokeAuthorization", func(then applied) applied {
					return func(sys core.System, w core.Writer, r *core.Request, plan any) (core.Answer, *core.Problem) {
						before, state := stored(w, r.Path["authorization_id"])
						ans, p := then(sys, w, r, plan)
						if p == nil && state == "active" {
							forced(w, "action", text(before, "action_id"), "authorized")
						}
						return ans, p
					}
				})
			},
		},
		{
			ID: "authority-revocation-undoes", Does: "Revokes whatever authorisation its action has when an old one is revoked again.", Contract: "seer",
			Breaks: []string{"actions.revocation"},
			May:    []May{{"wire.status", "a revocation that finds the action gone is a conflict"}, {"actions.model", "the newer one should stay"}, {"actions.used", "no authorisation is active any more"}},
			Behave: func(all map[string]core.Behaviour) {
				apply(all, "revokeAuthorization", func(then applied) applied {
					return func(sys core.System, w core.Writer, r *core.Request, plan any) (core.Answer, *core.Problem) {
						before, state := stored(w, r.Path["authorization_id"])
						action, err := w.Resource("action", text(before, "action_id"))
						if err == nil && state == "revoked" && action.State == "authorized" {
							forced(w, "action", action.ID, "proposed")
						}
						return then(sys, w, r, plan)
					}
				})
			},
		},
		{
			ID: "authority-once", Does: "Authorises no action again whose authorisation was revoked.", Contract: "seer",
			Breaks: []string{"actions.model", "actions.revocation"},
			Wrap: func(next http.Handler) http.Handler {
				var revoked remembered
				return wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
					if is(r, "POST", "/v1/actions/*/authorizations") && revoked.get(segment(r, 1)) != "" {
						refuse(w, http.StatusConflict, "STATE_CONFLICT")
						return
					}
					a := ask(next, r)
					if is(r, "DELETE", "/v1/authorizations/*") && a.text("state") == "revoked" {
						revoked.put(a.text("action_id"), "yes")
					}
					a.send(w)
				})(next)
			},
		},
		{
			ID: "authority-used-as-revoked", Does: "Shows a used authorisation as revoked when it is revoked.", Contract: "seer",
			Breaks: []string{"actions.revocation", "actions.revoke-or-use"},
			May:    []May{{"actions.model", "a used one stays used"}},
			Wrap: onlyAt("DELETE", "/v1/authorizations/*", func(a *answer) {
				body := a.object()
				body["state"] = "revoked"
				a.set(body)
			}),
		},
	}
}

func executions() []Mutant {
	const submissions = "/v1/actions/*/submissions"
	showing := func(change func(r *http.Request, body map[string]any)) func(r *http.Request, a *answer) {
		return func(r *http.Request, a *answer) {
			if body := a.object(); is(r, "GET", "/v1/actions/*") && a.status == 200 && body["external_execution_id"] != nil {
				change(r, body)
				a.set(body)
			}
		}
	}
	// byKey shows an identity made of the key that an action was first submitted with.
	byKey := func(identity func(key, action string) string) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler {
			var keys remembered
			return edit(func(r *http.Request, a *answer) {
				if is(r, "POST", submissions) && a.status == http.StatusAccepted {
					keys.put(segment(r, 1), r.Header.Get("Idempotency-Key"))
				}
				showing(func(r *http.Request, body map[string]any) {
					if key := keys.get(segment(r, 0)); key != "" {
						body["external_execution_id"] = identity(key, segment(r, 0))
					}
				})(r, a)
			})(next)
		}
	}
	return []Mutant{
		{
			ID: "execution-key", Does: "Tells the venue the key as the identity of the order, and takes it for the venue's.", Contract: "seer",
			Breaks: []string{"actions.identity"},
			Wrap:   byKey(func(key, _ string) string { return key }),
		},
		{
			ID: "execution-key-hash", Does: "Makes the identity of an execution of a hash of the key.", Contract: "seer",
			Breaks: []string{"actions.identity"},
			Wrap: byKey(func(key, _ string) string {
				sum := sha256.Sum256([]byte(key))
				return "venue-" + hex.EncodeToString(sum[:8])
			}),
		},
		{
			ID: "execution-payload-hash", Does: "Makes the identity of an execution of what was ordered.", Contract: "seer",
			Breaks: []string{"actions.identity"},
			Wrap: edit(showing(func(_ *http.Request, body map[string]any) {
				sum := sha256.Sum256([]byte(text(body, "account_id") + text(body, "instrument_id") + text(body, "quantity") + text(body, "side")))
				body["external_execution_id"] = "venue-" + hex.EncodeToString(sum[:8])
			})),
		},
		{
			ID: "execution-on-replay", Does: "Hands an order to the venue again when its submission is repeated.", Contract: "seer",
			Breaks: []string{"actions.once"},
			May:    []May{{"actions.identity-kept", "a repetition executes again"}},
			Wrap: func(next http.Handler) http.Handler {
				var n remembered
				return edit(func(r *http.Request, a *answer) {
					if is(r, "POST", submissions) && a.status == http.StatusAccepted {
						i, _ := strconv.Atoi(n.get(segment(r, 1)))
						n.put(segment(r, 1), strconv.Itoa(i+1))
					}
					showing(func(r *http.Request, body map[string]any) {
						if i := n.get(segment(r, 0)); i != "1" {
							body["external_execution_id"] = text(body, "external_execution_id") + "-" + i
						}
					})(r, a)
				})(next)
			},
		},
		{
			ID: "execution-event-missing", Does: "Records no submission.", Contract: "seer",
			Breaks: []string{"actions.history"},
			May:    []May{{"actions.once", "the submission is not among the events"}},
			Replace: func(r *core.Rules) {
				r.Records = func(m *spec.States, _, to string) bool { return m.Resource != "action" || to != "submitted" }
			},
		},
		{
			ID: "execution-forgotten", Does: "Keeps the identity of an execution as long as the key.", Contract: "seer",
			Breaks: []string{"actions.identity-kept"},
			Behave: func(all map[string]core.Behaviour) {
				all["getAction"] = core.Behaviour{Read: func(ctx context.Context, sys core.System, r *core.Request) (core.Answer, *core.Problem) {
					var res core.Resource
					var p *core.Problem
					err := sys.Store().View(ctx, func(rd core.Reader) error {
						res, p = sys.Find(rd, r.Principal, "action", r.Path["action_id"])
						return nil
					})
					if err != nil || p != nil {
						return core.Answer{}, p
					}
					body := decoded(res.Body)
					if sys.Clock().Now().Sub(res.Created) > 24*time.Hour {
						delete(body, "external_execution_id")
					}
					return core.Answer{Status: http.StatusOK, Body: encode(body)}, nil
				}}
			},
			May: []May{{"wire.schema", "the schema wants the identity of an executed action"}},
		},
		{
			ID: "execution-new-key", Does: "Executes a submission again whose key has expired.", Contract: "seer",
			Breaks: []string{"actions.identity-kept"},
			Behave: submitting(func(w core.Writer, r *core.Request, auth string) {
				body, state := stored(w, auth)
				made, err := time.Parse(time.RFC3339, text(body, "created_at"))
				if err == nil && state == "used" && body["action_id"] == r.Path["action_id"] && r.Now.Sub(made) > 24*time.Hour {
					bindTo(w, auth, r.Path["action_id"])
					r.Now = made
				}
			}),
		},
	}
}
