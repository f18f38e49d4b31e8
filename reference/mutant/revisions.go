package mutant

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"assay.kit/reference/core"
)

// revisions are servers that break what agent revisions promise, and what runs under them.
func revisions() []Mutant { return slices.Concat(numbering(), configurations(), computations()) }

const revisionsPath = "/v1/agents/*/revisions"

// revised changes every representation of a revision.
func revised(change func(m map[string]any)) func(http.Handler) http.Handler {
	return edit(func(r *http.Request, a *answer) {
		body := a.object()
		switch {
		case a.status >= 300:
			return
		case is(r, "GET", revisionsPath):
			for _, m := range items(body) {
				change(m)
			}
		case is(r, "POST", revisionsPath), is(r, "GET", "/v1/agent-revisions/*"):
			change(body)
		default:
			return
		}
		a.set(body)
	})
}

func numberOf(m map[string]any) int {
	n, _ := m["revision"].(json.Number)
	i, _ := strconv.Atoi(n.String())
	return i
}

// numbered gives a new revision another number than the server's own.
func numbered(choose func(w core.Writer, r *core.Request, plan any, own int) int, look func(ctx context.Context, sys core.System, r *core.Request) any) func(map[string]core.Behaviour) {
	return func(all map[string]core.Behaviour) {
		b := all["createAgentRevision"]
		prepare, then := b.Prepare, b.Apply
		type looked struct{ plan, seen any }
		b.Prepare = func(ctx context.Context, sys core.System, r *core.Request) (any, *core.Problem) {
			plan, p := prepare(ctx, sys, r)
			return looked{plan, look(ctx, sys, r)}, p
		}
		b.Apply = func(sys core.System, w core.Writer, r *core.Request, plan any) (core.Answer, *core.Problem) {
			l, _ := plan.(looked)
			ans, p := then(sys, w, r, l.plan)
			if p != nil {
				return ans, p
			}
			body := decoded(ans.Body)
			n := json.Number(strconv.Itoa(choose(w, r, l.seen, numberOf(body))))
			rewrite(w, "agent_revision", text(body, "id"), func(_ *core.Resource, m map[string]any) { m["revision"] = n })
			body["revision"] = n
			ans.Body = encode(body)
			return ans, nil
		}
		all["createAgentRevision"] = b
	}
}

func nothing(context.Context, core.System, *core.Request) any { return nil }

// counted is how many revisions an agent has, as far as a query sees.
func counted(rd core.Reader, q core.Query) int {
	q.Kind, q.Limit = "agent_revision", 10_000
	found, err := rd.Scan(q)
	if err != nil {
		return 0
	}
	return len(found)
}

func numbering() []Mutant {
	return []Mutant{
		{
			ID: "revision-from-0", Does: "Numbers revisions from 0.", Contract: "seer",
			Breaks: []string{"agents.first", "agents.shape", "agents.restart"},
			May:    []May{{"agents.next", "every number is one less"}, {"agents.numbers", "the same"}, {"agents.numbers-linearizable", "the same"}, {"agents.private", "the same"}, {"wire.schema", "the schema has a least number"}},
			Behave: numbered(func(_ core.Writer, _ *core.Request, _ any, own int) int { return own - 1 }, nothing),
		},
		{
			ID: "revision-one-sequence", Does: "Numbers the revisions of all agents in one sequence.", Contract: "seer",
			Breaks: []string{"agents.first", "agents.next", "agents.restart"},
			May:    []May{{"agents.numbers", "the numbers do not begin with 1"}, {"agents.numbers-linearizable", "the same"}, {"agents.private", "the same"}},
			Behave: numbered(func(w core.Writer, r *core.Request, _ any, _ int) int {
				return counted(w, core.Query{Workspace: r.Principal.Workspace, AnyParent: true})
			}, nothing),
		},
		{
			ID: "revision-shared", Does: "Numbers the revisions of one agent id in all workspaces together.", Contract: "seer",
			Breaks: []string{"agents.private"},
			Behave: numbered(func(w core.Writer, r *core.Request, _ any, _ int) int {
				return counted(w, core.Query{AnyWorkspace: true, Parent: r.Path["agent_id"]})
			}, nothing),
		},
		{
			ID: "revision-raced", Does: "Reads the latest number before the transaction that takes the next one.", Contract: "seer",
			Breaks: []string{"agents.numbers", "agents.numbers-linearizable"},
			Behave: numbered(func(_ core.Writer, _ *core.Request, seen any, own int) int {
				if n, ok := seen.(int); ok {
					return n + 1
				}
				return own
			}, func(ctx context.Context, sys core.System, r *core.Request) any {
				n := 0
				_ = sys.Store().View(ctx, func(rd core.Reader) error {
					n = counted(rd, core.Query{Workspace: r.Principal.Workspace, Parent: r.Path["agent_id"]})
					return nil
				})
				time.Sleep(pauseInRace)
				return n
			}),
		},
		{
			ID: "revision-gaps", Does: "Leaves a number out after each third revision.", Contract: "seer",
			Breaks: []string{"agents.next", "agents.numbers", "agents.numbers-linearizable", "agents.restart"},
			May:    []May{{"agents.private", "number 3 is left out"}},
			Behave: numbered(func(_ core.Writer, _ *core.Request, _ any, own int) int { return own + (own-1)/2 }, nothing),
		},
		{
			ID: "revision-agent-404", Does: "Does not find the list of an agent without revisions.", Contract: "seer",
			Breaks: []string{"agents.empty"},
			May:    []May{{"wire.status", "404 is no status of the list"}, {"agents.private", "the list in the other workspace is not found"}, {"agents.grants-at-creation", "the list of the agent is not found"}},
			Wrap: edit(func(r *http.Request, a *answer) {
				if is(r, "GET", revisionsPath) && a.status == 200 && len(items(a.object())) == 0 && r.URL.RawQuery == "" {
					*a = *problem(http.StatusNotFound, "NOT_FOUND")
				}
			}),
		},
		{
			ID: "revision-in-place", Does: "Changes the latest revision of an agent instead of making another.", Contract: "seer",
			Breaks: []string{"agents.another"},
			May:    []May{{"agents.grants-checked", "the first configuration stays in force"}, {"agents.pinned-schema", "the same"}},
			Wrap: func(next http.Handler) http.Handler {
				var first remembered
				return edit(func(r *http.Request, a *answer) {
					if !is(r, "POST", revisionsPath) || a.status != http.StatusCreated {
						return
					}
					body := a.object()
					if id := first.get(segment(r, 1)); id != "" {
						body["id"] = id
						a.set(body)
						return
					}
					first.put(segment(r, 1), text(body, "id"))
				})(next)
			},
		},
	}
}

func configurations() []Mutant {
	return []Mutant{
		{
			ID: "revision-no-mandate", Does: "Leaves the mandate out where there is none.", Contract: "seer",
			Breaks: []string{"agents.shape", "wire.schema"},
			Wrap: revised(func(m map[string]any) {
				if m["execution_mandate_ref"] == nil {
					delete(m, "execution_mandate_ref")
				}
			}),
			May: []May{{"agents.as-sent", "null is not absent"}},
		},
		{
			ID: "revision-grants-sorted", Does: "Sorts the grants of a revision.", Contract: "seer",
			Breaks: []string{"agents.as-sent"},
			Wrap: revised(func(m map[string]any) {
				all, _ := m["grant_refs"].([]any)
				sort.Slice(all, func(i, j int) bool { x, _ := all[i].(string); y, _ := all[j].(string); return x < y })
			}),
		},
		{
			ID: "revision-brief-tidied", Does: "Takes line breaks and tabs out of a brief.", Contract: "seer",
			Breaks: []string{"agents.as-sent"},
			Wrap:   revised(func(m map[string]any) { m["instructions"] = strings.Join(strings.Fields(text(m, "instructions")), " ") }),
		},
		{
			ID: "revision-toolkit-completed", Does: "Pins the tools that a revision leaves out too.", Contract: "seer",
			Breaks: []string{"agents.as-sent"},
			Wrap: revised(func(m map[string]any) {
				if pins, ok := m["tool_versions"].(map[string]any); ok && pins["market.scan"] == nil {
					pins["market.scan"] = "1.0"
				}
			}),
		},
		{
			ID: "revision-any-binding", Does: "Takes any text for a model binding.", Contract: "seer",
			Breaks:  []string{"agents.binding"},
			Replace: ignoring("pattern"),
		},
		{
			ID: "revision-any-grant", Does: "Takes any grant reference into a revision.", Contract: "seer",
			Breaks: []string{"agents.grants-at-creation"},
			Behave: func(all map[string]core.Behaviour) {
				prepare(all, "createAgentRevision", func(r *core.Request) {
					refs, _ := decoded(r.Body)["grant_refs"].([]any)
					for _, v := range refs {
						if g, ok := v.(string); ok && !slices.Contains(r.Principal.Grants, g) {
							r.Principal.Grants = append(slices.Clone(r.Principal.Grants), g)
						}
					}
				})
			},
		},
		{
			ID: "revision-grant-not-needed", Does: "Asks only whether the principal holds a grant, not whether the revision names it.", Contract: "seer",
			Breaks: []string{"agents.grants-checked"},
			Wrap: forgiving(func(a *answer) bool { return a.status == 403 && strings.HasPrefix(a.text("required"), "grant_") },
				func(body, _ map[string]any) { body["agent_revision_id"] = "agr_example_3" }),
		},
		{
			ID: "revision-newest-schema", Does: "Judges every input by the newest schema of its tool.", Contract: "seer",
			Breaks: []string{"agents.pinned-schema"},
			Wrap: forgiving(refusedWith(http.StatusBadRequest), func(body, input map[string]any) {
				if input["include_volume"] != nil {
					body["agent_revision_id"] = "agr_example_4"
				}
			}),
		},
		{
			ID: "revision-oldest-schema", Does: "Judges every input by the oldest schema of its tool.", Contract: "seer",
			Breaks: []string{"agents.pinned-schema"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if input, _ := decoded(bodyOf(r))["input"].(map[string]any); is(r, "POST", invokePath) && input["include_volume"] != nil {
					refuse(w, http.StatusBadRequest, "INVALID_REQUEST")
					return
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "job-method-untold", Does: "Does not tell the numerical method of a job.", Contract: "seer",
			Breaks: []string{"agents.calculation"},
			Wrap:   onlyAt("GET", "/v1/jobs/*", func(a *answer) { body := a.object(); delete(body, "calculation_revision"); a.set(body) }),
		},
		{
			ID: "job-method-moves", Does: "Shows at an ended job the method that is in use by now.", Contract: "seer",
			Breaks: []string{"agents.calculation"},
			Wrap: onlyAt("GET", "/v1/jobs/*", func(a *answer) {
				if body := a.object(); text(body, "result_ref") != "" {
					body["calculation_revision"] = text(body, "calculation_revision") + ".1"
					a.set(body)
				}
			}),
		},
	}
}

// noise is a small number that depends on a text alone.
func noise(s string) float64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s)) // never fails
	return float64(h.Sum32()%1000) / 1e7
}

func computations() []Mutant {
	forecasting := func(change func(body map[string]any)) func(http.Handler) http.Handler {
		return creating("/v1/forecasts", change)
	}
	proposing := func(change func(body map[string]any)) func(http.Handler) http.Handler {
		return creating("/v1/portfolio-proposals", change)
	}
	return []Mutant{
		{
			ID: "calculation-by-chance", Does: "Simulates from a seed of its own in each job.", Contract: "seer",
			Breaks: []string{"calculations.same"},
			Replace: artifact(func(body, data map[string]any) {
				if estimate, ok := data["estimate"].(map[string]any); ok {
					mean, _ := estimate["mean"].(json.Number)
					f, _ := mean.Float64()
					estimate["mean"] = f + noise(text(body, "job_id"))
				}
			}),
		},
		{
			ID: "calculation-snapshot", Does: "Takes a snapshot of its own for each job.", Contract: "seer",
			Breaks: []string{"calculations.snapshot"},
			Replace: artifact(func(body, data map[string]any) {
				if data["evidence_snapshot_id"] != nil {
					data["evidence_snapshot_id"] = "snap_" + text(body, "job_id")
				}
			}),
		},
		{
			ID: "calculation-scan-order", Does: "Lists the matches of a scan in the order in which they were found.", Contract: "seer",
			Breaks: []string{"calculations.same"},
			Replace: func(r *core.Rules) {
				var order remembered
				artifact(func(body, data map[string]any) {
					inner, _ := data["data"].(map[string]any)
					if matches, ok := inner["matches"].([]any); ok && len(matches) > 1 {
						n := order.number(text(body, "job_id")) % len(matches)
						inner["matches"] = append(slices.Clone(matches[n:]), matches[:n]...)
					}
				})(r)
			},
		},
		{
			ID: "forecast-level-names", Does: "Names a quantile by the shortest form of its level.", Contract: "seer",
			Breaks: []string{"calculations.levels"},
			Replace: artifact(func(_, data map[string]any) {
				estimate, _ := data["estimate"].(map[string]any)
				q, _ := estimate["quantiles"].(map[string]any)
				for name, v := range q {
					if short := strings.TrimRight(name, "0"); short != name {
						delete(q, name)
						q[short] = v
					}
				}
			}),
		},
		{
			ID: "forecast-usual-levels", Does: "Estimates the usual quantiles whatever levels are asked for.", Contract: "seer",
			Breaks: []string{"calculations.levels"},
			Wrap:   forecasting(func(body map[string]any) { delete(body, "quantile_levels") }),
		},
		{
			ID: "forecast-usual-horizon", Does: "Looks five sessions ahead whatever is asked for.", Contract: "seer",
			Breaks: []string{"calculations.levels"},
			Wrap:   forecasting(func(body map[string]any) { body["horizon"] = map[string]any{"value": 5, "unit": "trading_sessions"} }),
		},
		{
			ID: "proposal-by-weight", Does: "Sorts the weights of a proposal.", Contract: "seer",
			Breaks: []string{"calculations.constraints"},
			Replace: artifact(func(_, data map[string]any) {
				all, _ := data["weights"].([]any)
				slices.Reverse(all)
			}),
		},
		{
			ID: "proposal-unbounded", Does: "Ignores the greatest weight.", Contract: "seer",
			Breaks: []string{"calculations.constraints"},
			Wrap: proposing(func(body map[string]any) {
				if c, ok := body["constraints"].(map[string]any); ok {
					delete(c, "max_weight")
				}
			}),
		},
		{
			ID: "proposal-no-cash", Does: "Ignores the least cash.", Contract: "seer",
			Breaks: []string{"calculations.constraints"},
			Wrap: proposing(func(body map[string]any) {
				if c, ok := body["constraints"].(map[string]any); ok {
					delete(c, "cash_floor")
					delete(c, "max_weight")
				}
			}),
		},
		{
			ID: "proposal-excluded", Does: "Gives weight to listings that are excluded.", Contract: "seer",
			Breaks: []string{"calculations.constraints"},
			Wrap: proposing(func(body map[string]any) {
				if c, ok := body["constraints"].(map[string]any); ok {
					delete(c, "excluded")
				}
			}),
		},
		{
			ID: "proposal-leaks", Does: "Rounds weights and lets the rest of one go.", Contract: "seer",
			Breaks: []string{"calculations.constraints"},
			Replace: artifact(func(_, data map[string]any) {
				all, _ := data["weights"].([]any)
				for _, v := range all {
					m, _ := v.(map[string]any)
					n, _ := m["weight"].(json.Number)
					f, _ := n.Float64()
					m["weight"] = float64(int(f*100)) / 100
				}
			}),
		},
	}
}

// creating changes the body of a creation before the server sees it.
func creating(path string, change func(body map[string]any)) func(http.Handler) http.Handler {
	return wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		body := decoded(bodyOf(r))
		if !is(r, "POST", path) || body == nil {
			next.ServeHTTP(w, r)
			return
		}
		change(body)
		again(next, r, body).send(w)
	})
}
