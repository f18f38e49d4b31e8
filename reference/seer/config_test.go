package seer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
)

func TestConnection(t *testing.T) {
	w := newWorld(t)
	got := w.do(request{op: "getConnection"})
	if got["default_agent_revision"] != "agr_example_3" || got["mcp_endpoint"] != "https://seer.test/mcp" || got["service_budget"] != budget {
		t.Errorf("%v", got)
	}
	if got["max_concurrent_jobs"] != json.Number("256") || got["cursor_ttl_seconds"] != json.Number("900") {
		t.Errorf("%v", got)
	}
	limited := w.do(request{op: "getConnection", who: "limited"})
	if limited["max_concurrent_jobs"] != json.Number("2") || limited["request_limit_per_minute"] != json.Number("60") {
		t.Errorf("%v", limited)
	}
	other := w.do(request{op: "getConnection", who: "second_workspace"})
	if id := other["default_agent_revision"]; id == "agr_example_3" || id == nil {
		t.Errorf("default revision of another workspace: %v", id)
	}
	w.do(request{op: "getAgentRevision", who: "second_workspace", path: map[string]string{"agent_revision_id": other["default_agent_revision"].(string)}})
}

func TestTools(t *testing.T) {
	w := newWorld(t)
	items := w.do(request{op: "listTools"})["items"].([]any)
	var names []string
	for _, it := range items {
		m := it.(map[string]any)
		names = append(names, m["name"].(string))
		one := w.do(request{op: "getTool", path: map[string]string{"tool": m["name"].(string)}})
		same(t, one, m)
		if m["revision"].(map[string]any)["schema"] != "1.0" {
			t.Errorf("%s is listed in %v", m["name"], m["revision"])
		}
	}
	if !slices.Equal(names, []string{"market.bars", "market.indicators", "market.scan", "forecast.create", "portfolio.propose"}) {
		t.Errorf("tools %v", names)
	}
	for _, name := range []string{"seer_market_bars", "seer_jobs_get", "market.none"} {
		w.refused(request{op: "getTool", path: map[string]string{"tool": name}}, 404, "NOT_FOUND")
	}
}

// Every example input of the catalog is answered, under the revision that pins its schema.
func TestCatalogExamples(t *testing.T) {
	w := newWorld(t)
	revisions := map[string]string{"1.0": "agr_example_3", "1.1": "agr_example_4"}
	n := 0
	for _, tool := range w.contract.Tools {
		for _, e := range tool.Examples {
			if tool.Utility {
				continue
			}
			n++
			got := w.do(request{op: "invokeTool", body: map[string]any{
				"agent_revision_id": revisions[tool.Revision.Schema], "tool": tool.Domain, "input": e.Value,
			}})
			if tool.Async {
				if res := w.artifact(got); res.ErrorCode != "" {
					t.Errorf("%s %s: %s", tool.Domain, e.Name, res.ErrorCode)
				}
				continue
			}
			for _, broken := range tool.Output.Validate(got["data"]) {
				t.Errorf("%s %s: %s %s: %s", tool.Domain, e.Name, broken.Instance, broken.Keyword, broken.Message)
			}
		}
	}
	if n < 8 {
		t.Errorf("only %d examples", n)
	}
}

// Every example request of the document is admitted as it stands.
func TestDocumentExamples(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"invokeTool", "createForecast", "createPortfolioProposal", "createAction", "createAgentRevision"} {
		for _, e := range w.contract.Op(id).Body.Examples {
			r := request{op: id, body: e.Value}
			if id == "createAgentRevision" {
				r.path = map[string]string{"agent_id": "agent_of_examples"}
			}
			if _, _, p := w.try(r); p != nil {
				t.Errorf("%s %s: %d %s %s %v", id, e.Name, p.Status, p.Code, p.Detail, p.Violations)
			}
		}
	}
}

func revisionBody(extra map[string]any) map[string]any {
	body := map[string]any{
		"model_binding": "model:aura-example-r1", "instructions": "Report.", "tool_versions": map[string]string{"market.bars": "1.0"},
		"grant_refs": []string{grantMarket}, "service_budget_ref": budget,
	}
	for name, v := range extra {
		body[name] = v
	}
	return body
}

func TestRevisionsAreNumbered(t *testing.T) {
	w := newWorld(t)
	path := map[string]string{"agent_id": "agent_example"}
	fifth := w.do(request{op: "createAgentRevision", path: path, body: revisionBody(map[string]any{"execution_mandate_ref": "mandate_1"})})
	if fifth["revision"] != json.Number("5") || fifth["execution_mandate_ref"] != "mandate_1" || fifth["agent_id"] != "agent_example" {
		t.Errorf("%v", fifth)
	}
	same(t, w.do(request{op: "getAgentRevision", path: map[string]string{"agent_revision_id": fifth["id"].(string)}}), fifth)
	// An agent of the same name in another workspace is another agent.
	other := w.do(request{op: "createAgentRevision", who: "second_workspace", path: map[string]string{"agent_id": "new"}, body: revisionBody(nil)})
	mine := w.do(request{op: "createAgentRevision", path: map[string]string{"agent_id": "new"}, body: revisionBody(nil)})
	if other["revision"] != json.Number("1") || mine["revision"] != json.Number("1") {
		t.Errorf("%v and %v", other["revision"], mine["revision"])
	}
	items := w.do(request{op: "listAgentRevisions", path: path})["items"].([]any)
	for i, it := range items {
		if n := it.(map[string]any)["revision"]; n != json.Number(fmt.Sprint(5-i)) {
			t.Errorf("item %d is revision %v", i, n)
		}
	}
	if len(items) != 5 {
		t.Errorf("%d revisions", len(items))
	}
}

func TestRevisionRefusals(t *testing.T) {
	w := newWorld(t)
	path := map[string]string{"agent_id": "agent_x"}
	for name, c := range map[string]struct {
		extra  map[string]any
		status int
		code   string
	}{
		"grant not held":   {map[string]any{"grant_refs": []string{grantMarket, "grant_admin"}}, 403, "FORBIDDEN"},
		"budget not held":  {map[string]any{"service_budget_ref": "budget_other"}, 403, "FORBIDDEN"},
		"credential":       {map[string]any{"model_binding": "sk-live-0123456789abcdef"}, 400, "INVALID_REQUEST"},
		"unknown revision": {map[string]any{"tool_versions": map[string]string{"market.bars": "2.0"}}, 400, "INVALID_REQUEST"},
	} {
		t.Run(name, func(t *testing.T) {
			w.refused(request{op: "createAgentRevision", path: path, body: revisionBody(c.extra)}, c.status, c.code)
		})
	}
	if items := w.do(request{op: "listAgentRevisions", path: path})["items"].([]any); len(items) != 0 {
		t.Errorf("refusals left %v", items)
	}
}

func TestSeedTwiceChangesNothing(t *testing.T) {
	w := newWorld(t)
	snapshot := func() map[string]any {
		all := map[string]any{}
		for _, op := range []string{"listTools", "listAccounts"} {
			for _, who := range []string{"primary", "second_workspace"} {
				all[op+who] = w.do(request{op: op, who: who})
			}
		}
		all["revisions"] = w.do(request{op: "listAgentRevisions", path: map[string]string{"agent_id": "agent_example"}})
		all["connection"] = w.do(request{op: "getConnection", who: "second_workspace"})
		return all
	}
	before := snapshot()
	w.clock.now = w.clock.now.AddDate(0, 0, 1)
	w.seed()
	same(t, snapshot(), before)
	third := w.do(request{op: "getAgentRevision", path: map[string]string{"agent_revision_id": "agr_example_3"}})
	want := exampleOf(t, w.contract.Op("getAgentRevision"), 200, "third")
	for _, m := range []map[string]any{third, want} {
		delete(m, "created_at")
	}
	if !maps.EqualFunc(third, want, func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
		t.Errorf("%v, want %v", third, want)
	}
}
