package mutant

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"assay.kit/reference/core"
	"assay.kit/spec"
)

// seer are servers that break what only that contract promises.
func seer() []Mutant {
	return []Mutant{
		{
			ID: "seer-prices-trimmed", Does: "Writes prices without the zeros at their end.", Contract: "seer",
			Breaks: []string{"seer.bars-example"},
			Wrap: onlyAt("POST", "/v1/tool-invocations", func(a *answer) {
				a.body = bytes.ReplaceAll(a.body, []byte(`.00"`), []byte(`"`))
			}),
		},
		{
			ID: "seer-artifact-kind", Does: "Calls the result of a forecast a prediction.", Contract: "seer",
			Breaks: []string{"seer.artifact-kind", "seer.artifact-kind-ours"},
			Replace: artifact(func(body, _ map[string]any) {
				if body["kind"] == "forecast" {
					body["kind"] = "prediction"
				}
			}),
		},
		{
			ID: "seer-artifact-data", Does: "Leaves the weights out of a proposal.", Contract: "seer",
			Breaks: []string{"seer.artifact-data", "jobs.artifact-schema", "wire.schema"},
			Replace: artifact(func(body, data map[string]any) {
				if body["kind"] == "portfolio_proposal" {
					delete(data, "weights")
				}
			}),
		},
		{
			ID: "seer-quantiles-fall", Does: "Swaps the outer quantiles of a forecast.", Contract: "seer",
			Breaks: []string{"seer.forecast-values"},
			Replace: artifact(func(_, data map[string]any) {
				estimate, _ := data["estimate"].(map[string]any)
				if q, ok := estimate["quantiles"].(map[string]any); ok && len(q) > 1 {
					low, high := outermost(q)
					q[low], q[high] = q[high], q[low]
				}
			}),
		},
		{
			ID: "seer-mean-nan", Does: "Writes a mean that could not be computed as the text NaN.", Contract: "seer",
			Breaks: []string{"wire.no-nan", "seer.forecast-values", "seer.artifact-data", "jobs.artifact-schema", "wire.schema"},
			Replace: artifact(func(_, data map[string]any) {
				if estimate, ok := data["estimate"].(map[string]any); ok {
					estimate["mean"] = "NaN"
				}
			}),
		},
		{
			ID: "seer-forecast-id", Does: "Makes up the id of a forecast whenever it is read.", Contract: "seer",
			Breaks: []string{"seer.forecast-identity", "jobs.artifact-immutable"},
			Replace: artifact(func(_, data map[string]any) {
				if _, there := data["forecast_id"]; there {
					data["forecast_id"] = "fc_" + rand.Text()
				}
			}),
		},
		{
			ID: "seer-forecast-other-listing", Does: "Answers for the symbol and not for the listing that was asked for.", Contract: "seer",
			Breaks: []string{"seer.forecast-identity"},
			Replace: artifact(func(_, data map[string]any) {
				if id, ok := data["instrument_id"].(string); ok {
					data["instrument_id"] = id[strings.LastIndexByte(id, ':')+1:]
				}
			}),
		},
		{
			ID: "seer-event-missing", Does: "Records the beginning and the end of a job and nothing between.", Contract: "seer",
			Breaks: []string{"seer.job-history"},
			Replace: func(r *core.Rules) {
				r.Records = func(m *spec.States, _, to string) bool { return m.Resource != "job" || to != "running" }
			},
		},
		{
			ID: "seer-proposal-acts", Does: "Proposes an action for each portfolio that it was asked for.", Contract: "seer",
			Breaks: []string{"seer.proposal-only"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				a := ask(next, r)
				if is(r, "POST", "/v1/portfolio-proposals") && a.status == http.StatusAccepted {
					accounts := items(also(next, r, "GET", "/v1/accounts", "").object())
					for _, account := range accounts[:min(1, len(accounts))] {
						also(next, r, "POST", "/v1/actions", fmt.Sprintf(`{"kind": "order", "account_id": %q, "side": "buy", "quantity": "1",
							"instrument_id": "equity:listing:apple-common-xnas", "notional": {"amount": "10200", "asset": "USD", "scale": 2}}`,
							text(account, "account_id")))
					}
				}
				a.send(w)
			}),
		},
		{
			ID: "seer-latest-revision", Does: "Runs a job under the newest revision of its agent.", Contract: "seer",
			Breaks: []string{"seer.job-pinned"},
			Wrap:   latestRevision,
		},
	}
}

// artifact changes what artifacts show; data is never nil.
func artifact(change func(body, data map[string]any)) func(*core.Rules) {
	return representing("getArtifact", func(body map[string]any) {
		data, ok := body["data"].(map[string]any)
		if !ok {
			data = map[string]any{}
		}
		change(body, data)
	})
}

// outermost are the least and the greatest of some levels that are spelled with as many decimals.
func outermost(q map[string]any) (low, high string) {
	for level := range q {
		if low == "" || level < low {
			low = level
		}
		if level > high {
			high = level
		}
	}
	return low, high
}

// latestRevision shows at each job the revision that its agent got last.
func latestRevision(next http.Handler) http.Handler {
	var mu sync.Mutex
	agent, latest := map[string]string{}, map[string]string{} // revision -> agent -> revision
	return edit(func(r *http.Request, a *answer) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case is(r, "POST", "/v1/agents/*/revisions") && a.status == http.StatusCreated:
			agent[a.text("id")], latest[a.text("agent_id")] = a.text("agent_id"), a.text("id")
		case is(r, "GET", "/v1/jobs/*") && a.status == http.StatusOK:
			body := a.object()
			if id := latest[agent[text(body, "agent_revision_id")]]; id != "" {
				body["agent_revision_id"] = id
				a.set(body)
			}
		}
	})(next)
}
