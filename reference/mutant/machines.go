package mutant

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay.kit/reference/core"
	"assay.kit/spec"
)

// machines are servers that move resources as their machines do not allow, and those whose
// resources are not what was created.
func machines() []Mutant { return slices.Concat(moves(), persistence(), amounts()) }

func legal(also func(m *spec.States, from, to string) bool) func(*core.Rules) {
	return func(r *core.Rules) {
		right := core.Correct().Legal
		r.Legal = func(m *spec.States, from, to string) bool { return right(m, from, to) || also(m, from, to) }
	}
}

func moves() []Mutant {
	const authorizations = "/v1/actions/*/authorizations"
	return []Mutant{
		{
			ID: "machine-again", Does: "Authorises an action that is authorised already.", Contract: "seer",
			Breaks:  []string{"machines.refused", "machines.race"},
			May:     []May{{"machines.unchanged", "nothing of it shows in the action"}, {"machines.linearizable", "a second authorisation cannot be explained"}},
			Replace: legal(func(m *spec.States, from, to string) bool { return m.Resource == "action" && from == to }),
		},
		{
			ID: "machine-reopens", Does: "Authorises an action again that was executed or rejected.", Contract: "seer",
			Breaks: []string{"machines.final", "machines.refused", "machines.unchanged"},
			May:    []May{{"machines.known", "the state leads back"}},
			Replace: legal(func(m *spec.States, from, to string) bool {
				return m.Resource == "action" && (from == "executed" || from == "rejected") && to == "authorized"
			}),
		},
		{
			ID: "machine-stuck", Does: "Does not let an authorised action be submitted.", Contract: "seer",
			Breaks: []string{"machines.accepted"},
			May:    []May{{"machines.race", "nobody wins"}, {"machines.linearizable", "nobody wins"}},
			Replace: func(r *core.Rules) {
				right := core.Correct().Legal
				r.Legal = func(m *spec.States, from, to string) bool { return right(m, from, to) && to != "submitted" }
			},
		},
		{
			ID: "machine-move-forgotten", Does: "Gives an authorisation and leaves the action as it was.", Contract: "seer",
			Breaks: []string{"machines.shown"},
			May:    []May{{"wire.status", "what the submission finds is no state of its"}, {"machines.known", "the state leads back"}, {"machines.accepted", "what follows is not legal"}, {"machines.race", "more than one wins"}, {"machines.linearizable", "the state does not follow"}, {"machines.refused", "the state is another"}},
			Behave: func(all map[string]core.Behaviour) {
				apply(all, "authorizeAction", func(then applied) applied {
					return func(sys core.System, w core.Writer, r *core.Request, plan any) (core.Answer, *core.Problem) {
						ans, p := then(sys, w, r, plan)
						if p == nil {
							forced(w, "action", r.Path["action_id"], "proposed")
						}
						return ans, p
					}
				})
			},
		},
		{
			ID: "machine-conflict-400", Does: "Answers a conflict with the state as an invalid request.", Contract: "seer",
			Breaks: []string{"machines.refused"},
			May:    []May{{"machines.race", "who loses is refused in that way"}, {"machines.linearizable", "the same"}},
			Wrap: edit(func(r *http.Request, a *answer) {
				if a.text("code") == "STATE_CONFLICT" {
					a.status = http.StatusBadRequest
					body := a.object()
					body["code"], body["status"] = "INVALID_REQUEST", a.status
					a.set(body)
				}
			}),
		},
		{
			ID: "machine-refusal-counts", Does: "Notes in the action that somebody tried.", Contract: "seer",
			Breaks: []string{"machines.unchanged"},
			May:    []May{{"machines.final", "an executed action changes too"}},
			Wrap: func(next http.Handler) http.Handler {
				var tried remembered
				return edit(func(r *http.Request, a *answer) {
					switch {
					case a.status >= 400 && (is(r, "POST", authorizations) || is(r, "POST", "/v1/actions/*/submissions")):
						n, _ := strconv.Atoi(tried.get(segment(r, 1)))
						tried.put(segment(r, 1), strconv.Itoa(n+1))
					case is(r, "GET", "/v1/actions/*") && a.status == 200:
						if n := tried.get(segment(r, 0)); n != "" {
							body := a.object()
							body["refusals"] = json.Number(n)
							a.set(body)
						}
					}
				})(next)
			},
		},
		{
			ID: "machine-state-renamed", Does: "Shows an authorised action as approved.", Contract: "seer",
			Breaks: []string{"machines.known", "machines.shown"},
			May:    []May{{"machines.refused", "the state is not known, so nothing is legal in it"}, {"machines.unchanged", "the same"}, {"machines.linearizable", "the state is not known"}},
			Replace: representing("getAction", func(body map[string]any) {
				if body["state"] == "authorized" {
					body["state"] = "approved"
				}
			}),
		},
		{
			ID: "machine-repeat-404", Does: "Does not find an authorisation any more that was revoked.", Contract: "seer",
			Breaks: []string{"machines.repeat"},
			May:    []May{{"machines.race", "only one finds it"}, {"machines.refused", "a second revocation finds nothing"}},
			Wrap: func(next http.Handler) http.Handler {
				var gone remembered
				return edit(func(r *http.Request, a *answer) {
					if is(r, "DELETE", "/v1/authorizations/*") && a.status == 200 && gone.put(segment(r, 0), "yes") != "" {
						*a = *problem(http.StatusNotFound, "NOT_FOUND")
					}
				})(next)
			},
		},
		{
			ID: "machine-check-then-act", Does: "Looks whether an action may be authorised before the transaction that authorises it.", Contract: "seer",
			Breaks: []string{"machines.race", "machines.linearizable"},
			Behave: checkThenAct("authorizeAction", "action", "action_id", "proposed"),
		},
		{
			ID: "machine-use-then-note", Does: "Looks whether an authorisation is active before the transaction that uses it.", Contract: "seer",
			Breaks: []string{"machines.race", "actions.once", "actions.revoke-or-use"},
			May:    []May{{"machines.linearizable", "two submissions cannot be explained"}, {"machines.known", "the states lead back"}, {"actions.history", "the events lead back"}},
			Behave: useThenNote,
		},
		{
			ID: "machine-loser-500", Does: "Fails where two authorise one action at once.", Contract: "seer",
			Breaks: []string{"machines.race", "wire.server-error", "wire.status"},
			May:    []May{{"machines.linearizable", "who loses does not say so"}, {"machines.refused", "a conflict later fails too"}},
			Wrap: edit(func(r *http.Request, a *answer) {
				if is(r, "POST", authorizations) && a.text("code") == "STATE_CONFLICT" {
					*a = *problem(http.StatusInternalServerError, "INTERNAL")
				}
			}),
		},
		{
			ID: "machine-replica-lags", Does: "Reads actions from a replica that is behind.", Contract: "seer",
			Breaks: []string{"machines.shown", "machines.linearizable"},
			May:    []May{{"machines.known", "states lead back"}, {"machines.unchanged", "the same"}, {"machines.final", "the same"}},
			Wrap:   lagging,
		},
	}
}

const pauseInRace = 4 * time.Millisecond // between looking and acting

// checkThenAct judges the state of a resource in Prepare and acts on it whatever it is by then.
func checkThenAct(op, kind, param, want string) func(map[string]core.Behaviour) {
	return func(all map[string]core.Behaviour) {
		b := all[op]
		then := b.Apply
		b.Prepare = func(ctx context.Context, sys core.System, r *core.Request) (any, *core.Problem) {
			state := ""
			_ = sys.Store().View(ctx, func(rd core.Reader) error {
				res, err := rd.Resource(kind, r.Path[param])
				state = res.State
				return err
			})
			time.Sleep(pauseInRace)
			return state == want, nil
		}
		b.Apply = func(sys core.System, w core.Writer, r *core.Request, plan any) (core.Answer, *core.Problem) {
			if seen, _ := plan.(bool); seen {
				forced(w, kind, r.Path[param], want)
			}
			return then(sys, w, r, nil)
		}
		all[op] = b
	}
}

// useThenNote looks at the authorisation of a submission in Prepare only.
func useThenNote(all map[string]core.Behaviour) {
	b := all["submitAction"]
	then := b.Apply
	b.Prepare = func(ctx context.Context, sys core.System, r *core.Request) (any, *core.Problem) {
		active := false
		_ = sys.Store().View(ctx, func(rd core.Reader) error {
			res, err := rd.Resource("authorization", text(decoded(r.Body), "authorization_id"))
			active = res.State == "active" && text(decoded(res.Body), "action_id") == r.Path["action_id"]
			return err
		})
		time.Sleep(pauseInRace)
		return active, nil
	}
	b.Apply = func(sys core.System, w core.Writer, r *core.Request, plan any) (core.Answer, *core.Problem) {
		if active, _ := plan.(bool); active {
			forced(w, "authorization", text(decoded(r.Body), "authorization_id"), "active")
			forced(w, "action", r.Path["action_id"], "authorized")
		}
		return then(sys, w, r, nil)
	}
	all["submitAction"] = b
}

// lagging answers a read with what another read a moment ago gave.
func lagging(next http.Handler) http.Handler {
	type kept struct {
		a  *answer
		at time.Time
	}
	var mu sync.Mutex
	seen := map[string]kept{}
	return wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if !is(r, "GET", "/v1/actions/*") {
			next.ServeHTTP(w, r)
			return
		}
		a := ask(next, r)
		mu.Lock()
		k, ok := seen[r.URL.Path]
		if !ok || time.Since(k.at) > 150*time.Millisecond {
			k = kept{a, time.Now()}
			seen[r.URL.Path] = k
		}
		mu.Unlock()
		if a.status == http.StatusOK {
			a.body = k.a.body
		}
		a.send(w)
	})(next)
}

// each makes a mutant for several contracts.
func each(m Mutant, contracts map[string]func() Mutant) []Mutant {
	var out []Mutant
	for _, name := range []string{"seer", "notes"} {
		if with, ok := contracts[name]; ok {
			own := with()
			own.ID, own.Does, own.Contract, own.Breaks, own.May = m.ID+"-"+name, m.Does, name, m.Breaks, m.May
			out = append(out, own)
		}
	}
	return out
}

func persistence() []Mutant {
	represent := func(op, member string, v func() any) func() Mutant {
		return func() Mutant {
			return Mutant{Replace: representing(op, func(body map[string]any) { body[member] = v() })}
		}
	}
	now := func() any { return time.Now().UTC().Format(time.RFC3339Nano) }
	return slices.Concat(
		each(Mutant{
			ID: "resource-late", Does: "Does not find a resource in the first moment after its creation.",
			Breaks: []string{"resources.read"},
		}, map[string]func() Mutant{
			"seer":  func() Mutant { return Mutant{Wrap: late("/v1/agents/*/revisions", "id", "/v1/agent-revisions/*")} },
			"notes": func() Mutant { return Mutant{Wrap: late("/notebooks", "id", "/notebooks/*")} },
		}),
		each(Mutant{
			ID: "resource-touched", Does: "Shows the moment of the last look as the moment of creation.",
			Breaks: []string{"resources.immutable"},
			May:    []May{{"resources.as-created", "the moment is another"}, {"resources.listed", "the list shows the true one"}, {"resources.write-refused", "it changes at any time"}},
		}, map[string]func() Mutant{
			"seer":  represent("getAgentRevision", "created_at", now),
			"notes": represent("getNote", "created_at", now),
		}),
		each(Mutant{
			ID: "resource-read-otherwise", Does: "Reads a resource in another form than its creation answers.",
			Breaks: []string{"resources.as-created", "resources.listed", "resources.echo"},
		}, map[string]func() Mutant{
			"seer":  represent("getAgentRevision", "instructions", func() any { return "(hidden)" }),
			"notes": represent("getNote", "text", func() any { return "(hidden)" }),
		}),
		each(Mutant{
			ID: "resource-list-abridged", Does: "Lists items without what they are about.",
			Breaks: []string{"resources.listed"},
		}, map[string]func() Mutant{
			"seer":  represent("listAgentRevisions", "instructions", func() any { return "…" }),
			"notes": represent("listNotes", "text", func() any { return "…" }),
		}),
		[]Mutant{
			{
				ID: "resource-unlisted", Does: "Lists a thing when the next one is there.", Contract: "notes",
				Breaks: []string{"resources.listed"},
				Wrap:   unlisted,
			},
			{
				ID: "resource-put", Does: "Lets PUT replace the text of a note.", Contract: "notes",
				Breaks: []string{"resources.write-refused"},
				May:    []May{{"resources.immutable", "the note is another one then"}},
				Wrap:   replacing,
			},
			{
				ID: "resource-newest-text", Does: "Shows at every revision of an agent the brief that it got last.", Contract: "seer",
				Breaks: []string{"resources.immutable"},
				May:    []May{{"resources.write-refused", "it changes at any time"}, {"resources.listed", "the list shows the true one"}},
				Wrap:   newestBrief,
			},
			{
				ID: "resource-invocation-now", Does: "Reads an invocation as it would be answered now.", Contract: "seer",
				Breaks: []string{"resources.as-created", "resources.immutable"},
				May:    []May{{"resources.write-refused", "it changes at any time"}},
				Wrap: onlyAt("GET", "/v1/tool-invocations/*", func(a *answer) {
					body := a.object()
					if c, ok := body["coverage"].(map[string]any); ok {
						c["as_of"] = time.Now().UTC().Format(time.RFC3339Nano)
						a.set(body)
					}
				}),
			},
		},
	)
}

// late answers the first look at a new resource with 404.
func late(create, id, read string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		var fresh remembered
		return edit(func(r *http.Request, a *answer) {
			switch {
			case is(r, "POST", create) && a.status < 300:
				fresh.put(a.text(id), "new")
			case is(r, "GET", read) && a.status == 200 && fresh.put(segment(r, 0), "seen") == "new":
				body := problem(http.StatusNotFound, "NOT_FOUND")
				if strings.HasPrefix(create, "/notebooks") {
					body.set(map[string]any{"error": map[string]any{"code": "NO_SUCH_THING", "message": "not there yet", "trace": body.header.Get("X-Request-Id")}})
					body.header.Set("Content-Type", "application/json")
					body.header.Set("Request-Id", body.header.Get("X-Request-Id"))
				}
				*a = *body
			}
		})(next)
	}
}

// unlisted leaves the note that was written last out of every list.
func unlisted(next http.Handler) http.Handler {
	var last remembered
	return edit(func(r *http.Request, a *answer) {
		switch {
		case is(r, "POST", "/notebooks/*/notes") && a.status < 300:
			last.put(segment(r, 1), a.text("note_id"))
		case is(r, "GET", "/notebooks/*/notes") && a.status == 200:
			body := a.object()
			all, _ := body["notes"].([]any)
			body["notes"] = slices.DeleteFunc(all, func(v any) bool {
				m, _ := v.(map[string]any)
				return text(m, "note_id") == last.get(segment(r, 1))
			})
			a.set(body)
		}
	})(next)
}

// replacing lets PUT change a note.
func replacing(next http.Handler) http.Handler {
	var texts remembered
	return wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if is(r, "PUT", "/notes/*") {
			texts.put(segment(r, 0), "Replaced.")
			r = r.Clone(r.Context())
			r.Method, r.Body, r.ContentLength = http.MethodGet, http.NoBody, 0
		}
		a := ask(next, r)
		if now := texts.get(segment(r, 0)); is(r, "GET", "/notes/*") && a.status == 200 && now != "" {
			body := a.object()
			body["text"] = now
			a.set(body)
		}
		a.send(w)
	})(next)
}

// newestBrief keeps one brief an agent.
func newestBrief(next http.Handler) http.Handler {
	var agent, brief remembered
	return edit(func(r *http.Request, a *answer) {
		switch {
		case is(r, "POST", "/v1/agents/*/revisions") && a.status == http.StatusCreated:
			n := brief.get(a.text("agent_id"))
			agent.put(a.text("id"), a.text("agent_id"))
			brief.put(a.text("agent_id"), n+a.text("instructions"))
		case is(r, "GET", "/v1/agent-revisions/*") && a.status == 200:
			if now := brief.get(agent.get(segment(r, 0))); now != "" {
				body := a.object()
				body["instructions"] = now
				a.set(body)
			}
		}
	})(next)
}

// amounts are servers that do arithmetic on money, and on the numbers of a payload.
func amounts() []Mutant {
	everywhere := func(change func(m map[string]any)) func(http.Handler) http.Handler {
		return edit(func(r *http.Request, a *answer) {
			body := a.object()
			if !strings.HasPrefix(r.URL.Path, "/v1/actions") || a.status >= 300 || body == nil {
				return
			}
			for _, name := range []string{"notional", "limit_price", "max_notional"} {
				if m, ok := body[name].(map[string]any); ok {
					change(m)
				}
			}
			a.set(body)
		})
	}
	rounded := func(b []byte) []byte {
		body := decoded(b)
		if body == nil {
			return b
		}
		return encode(rewritten(body, 0, func(v any, _ int) any {
			if n, ok := v.(json.Number); ok {
				return json.Number(shortest(n))
			}
			return v
		}))
	}
	return slices.Concat([]Mutant{
		{
			ID: "money-double", Does: "Keeps amounts in doubles.", Contract: "seer",
			Breaks: []string{"resources.money", "resources.echo"},
			May:    []May{{"resources.listed", "the list shows the true amount"}},
			Wrap: everywhere(func(m map[string]any) {
				f, _ := strconv.ParseFloat(text(m, "amount"), 64)
				m["amount"] = strconv.FormatFloat(f, 'f', 0, 64)
			}),
		},
		{
			ID: "money-shortened", Does: "Drops zeros at the end of an amount, and its scale accordingly.", Contract: "seer",
			Breaks: []string{"resources.money", "resources.echo"},
			May:    []May{{"resources.listed", "the list shows the true amount"}},
			Wrap: everywhere(func(m map[string]any) {
				for scale := fmt.Sprint(m["scale"]); scale != "0" && strings.HasSuffix(text(m, "amount"), "0"); scale = fmt.Sprint(m["scale"]) {
					n, _ := strconv.Atoi(scale)
					m["amount"], m["scale"] = strings.TrimSuffix(text(m, "amount"), "0"), json.Number(strconv.Itoa(n-1))
				}
			}),
		},
		{
			ID: "money-two-decimals", Does: "Takes every amount to have two decimals.", Contract: "seer",
			Breaks: []string{"resources.money", "resources.echo"},
			May:    []May{{"resources.listed", "the list shows the true amount"}},
			Wrap:   everywhere(func(m map[string]any) { m["scale"] = json.Number("2") }),
		},
		{
			ID: "money-scale-float", Does: "Writes the scale as a decimal number.", Contract: "seer",
			Breaks: []string{"resources.money"},
			Wrap:   everywhere(func(m map[string]any) { m["scale"] = json.Number(fmt.Sprint(m["scale"]) + ".0") }),
			May:    []May{{"resources.listed", "the list shows the true amount"}, {"wire.money", "the scale is no plain whole number"}},
		},
	}, []Mutant{{
		ID: "number-rounded", Does: "Rounds numbers of a payload to doubles, and shows nobody what it took them for.", Contract: "seer",
		Breaks:  []string{"validation.number-distinct"},
		May:     []May{{"validation.keywords", "what is rounded may break a rule no longer"}, {"validation.code", "the same"}},
		Replace: decoding(rounded),
	}, {
		ID: "number-15-digits", Does: "Refuses a number of more than fifteen digits.", Contract: "notes",
		Breaks: []string{"validation.number-accepted"},
		Replace: func(r *core.Rules) {
			right := core.Correct().Decode
			r.Decode = func(b []byte) (any, error) {
				v, err := right(b)
				if err != nil {
					return v, err
				}
				long := false
				rewritten(v, 0, func(v any, _ int) any {
					n, ok := v.(json.Number)
					long = long || ok && len(strings.Trim(n.String(), "-0.")) > 16
					return v
				})
				if long {
					return nil, fmt.Errorf("a number has too many digits")
				}
				return v, nil
			}
		},
	}})
}
