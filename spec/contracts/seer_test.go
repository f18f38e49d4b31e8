package contracts_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"assay.kit/spec"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// TestSeerStated: the published pages name these operations and no others, so these are law.
func TestSeerStated(t *testing.T) {
	var stated []string
	for _, op := range load(t, "seer").Ops {
		if op.Origin == spec.Stated {
			stated = append(stated, op.Method+" "+op.Path)
		}
	}
	slices.Sort(stated)
	want := []string{"GET /v1/artifacts/{artifact_id}", "GET /v1/connection", "GET /v1/jobs/{job_id}", "POST /v1/forecasts", "POST /v1/tool-invocations"}
	if !slices.Equal(stated, want) {
		t.Errorf("stated are %v, want %v", stated, want)
	}
}

func at(t *testing.T, c *spec.Contract, p tree.Pointer) any {
	t.Helper()
	v, ok := tree.Get(c.Raw.Value(), p)
	if !ok {
		t.Fatalf("the document has nothing at %s", p)
	}
	return v
}

func texts(v any) []string {
	var out []string
	for _, e := range v.([]any) {
		out = append(out, e.(string))
	}
	return out
}

// TestSeerToolsInBothPlaces: the OpenAPI document repeats names and revisions of the catalog, so
// that a request can be judged, and made up, from its own schema.
func TestSeerToolsInBothPlaces(t *testing.T) {
	c := load(t, "seer")
	revisions := map[string][]string{}
	for _, tl := range c.Tools {
		if tl.Utility {
			continue
		}
		revisions[tl.Domain] = append(revisions[tl.Domain], tl.Revision.Schema)
		if tl.Async && tl.Effect == spec.EffectRead {
			t.Errorf("%s: a tool that only reads admits no work", tl.Name)
		}
		if tl.Output == nil || len(tl.Scopes) == 0 || len(tl.Examples) == 0 || tl.Revision.Method == "" {
			t.Errorf("%s needs an output schema, scopes, a method revision and examples", tl.Name)
		}
	}
	domains := slices.Sorted(maps.Keys(revisions))
	if got := texts(at(t, c, "/components/schemas/ToolInvocationRequest/properties/tool/enum")); !slices.Equal(slices.Sorted(slices.Values(got)), domains) {
		t.Errorf("the tools of an invocation are %v, of the catalog %v", got, domains)
	}
	pinnable := at(t, c, "/components/schemas/AgentRevisionRequest/properties/tool_versions/properties").(map[string]any)
	if got := slices.Sorted(maps.Keys(pinnable)); !slices.Equal(got, domains) {
		t.Errorf("an agent revision pins %v, the catalog has %v", got, domains)
	}
	for domain, want := range revisions {
		got := texts(pinnable[domain].(map[string]any)["enum"])
		if !slices.Equal(got, want) {
			t.Errorf("%s can be pinned to %v, the catalog has %v", domain, got, want)
		}
	}
}

// TestSeerFacesAgree: a tool and the operation that does the same take the same input, but for the
// agent revision, which MCP binds on the server's side, and give the same data.
func TestSeerFacesAgree(t *testing.T) {
	c := load(t, "seer")
	for _, face := range []struct{ tool, request, data string }{
		{"seer_forecast_create", "ForecastRequest", "Forecast"},
		{"seer_portfolio_propose", "PortfolioProposalRequest", "PortfolioProposal"},
		{"seer_jobs_get", "", "Job"},
	} {
		i := slices.IndexFunc(c.Tools, func(tl *spec.Tool) bool { return tl.Name == face.tool })
		if i < 0 {
			t.Fatalf("there is no tool %s", face.tool)
		}
		tl := c.Tools[i]
		if got, want := bare(tl.Output, tl.Output.Raw(), 0), bareAt(t, c, face.data); !reflect.DeepEqual(got, want) {
			t.Errorf("output of %s is\n%v\nand %s\n%v", face.tool, got, face.data, want)
		}
		if face.request == "" {
			continue
		}
		want := bareAt(t, c, face.request).(map[string]any)
		delete(want["properties"].(map[string]any), "agent_revision_id")
		want["required"] = slices.DeleteFunc(want["required"].([]any), func(v any) bool { return v == "agent_revision_id" })
		if got := bare(tl.Input, tl.Input.Raw(), 0); !reflect.DeepEqual(got, want) {
			t.Errorf("input of %s is\n%v\nand %s\n%v", face.tool, got, face.request, want)
		}
	}
}

func bareAt(t *testing.T, c *spec.Contract, name string) any {
	t.Helper()
	s, err := c.Schemas.At(tree.PointerTo("components", "schemas", name))
	if err != nil {
		t.Fatal(err)
	}
	return bare(s, s.Raw(), 0)
}

// bare is a schema without what does not validate, its references written out. A state's known
// values may be listed beside its type; what counts here is that it is a text.
func bare(s *schema.Schema, raw any, depth int) any {
	if next, ok := s.Deref(raw); ok && depth < 20 {
		return bare(s, next, depth+1)
	}
	switch v := raw.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, m := range v {
			annotation := slices.Contains([]string{"description", "examples", "x-assay", "$schema", "$defs"}, key)
			if _, isSchema := m.(map[string]any); annotation && (!isSchema || key == "x-assay" || key == "$defs") {
				continue
			}
			out[key] = bare(s, m, depth+1)
		}
		if either, ok := out["anyOf"].([]any); ok && len(either) == 2 {
			if open, ok := either[1].(map[string]any); ok && open["type"] == "string" {
				return open
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, m := range v {
			out[i] = bare(s, m, depth+1)
		}
		return out
	default:
		return raw
	}
}

// TestSeerExamplesFitTheirTool: the input of an invocation is judged by the tool's schema, which the
// body's own schema only refers to.
func TestSeerExamplesFitTheirTool(t *testing.T) {
	c := load(t, "seer")
	for _, e := range c.Op("invokeTool").Body.Examples {
		name, _ := tree.Get(e.Value, "/tool")
		input, _ := tree.Get(e.Value, "/input")
		found := false
		for _, tl := range c.Tools {
			if tl.Domain != name || tl.Revision.Schema != "1.0" {
				continue
			}
			found = true
			for _, v := range tl.Input.Validate(input) {
				t.Errorf("example %s: %s %s", e.Name, v.Instance, v.Message)
			}
		}
		if !found {
			t.Errorf("example %s: no tool %v", e.Name, name)
		}
	}
}

// TestSeerMCPRows: what Seer promises of its second face is judged.
func TestSeerMCPRows(t *testing.T) {
	for _, r := range load(t, "seer").Reqs {
		mcp := strings.HasPrefix(r.ID, "SEER-MCP-") || strings.HasPrefix(r.ID, "SEER-EQ-")
		if mcp && r.Role == spec.RoleServer && len(r.Claims) == 0 && !strings.Contains(r.Note, "lint") {
			t.Errorf("%s has no claims; note %q", r.ID, r.Note)
		}
	}
}

// TestNotesDiffer: the made-up contract is worth its keep only where it differs from the other.
func TestNotesDiffer(t *testing.T) {
	a, b := load(t, "seer"), load(t, "notes")
	ka, kb := a.Op("createAgentRevision").Idempotency, b.Op("createNote").Idempotency
	la, lb := a.Op("listAgentRevisions").Collection, b.Op("listNotes").Collection
	ja, jb := a.Op("createForecast").Job, b.Op("createExport").Job
	for what, pair := range map[string][2]any{
		"error media type": {a.Doc.Error.MediaType, b.Doc.Error.MediaType}, "error code": {a.Doc.Error.Code, b.Doc.Error.Code},
		"request id": {*a.Doc.Correlation, *b.Doc.Correlation}, "delay": {a.Doc.Backpressure.Delay, b.Doc.Backpressure.Delay},
		"key": {ka.Key, kb.Key}, "conflict": {ka.Conflict, kb.Conflict}, "missing": {ka.Missing.Code, kb.Missing.Code},
		"retention": {ka.Retention, kb.Retention}, "expires": {ka.Expires, kb.Expires}, "max length": {ka.MaxLength, kb.MaxLength},
		"items": {la.Items, lb.Items}, "next": {la.Next, lb.Next}, "cursor": {la.Cursor, lb.Cursor}, "end": {la.End, lb.End},
		"out of range": {la.Limit.OutOfRange, lb.Limit.OutOfRange}, "page size": {la.Limit.Param, lb.Limit.Param},
		"expired": {la.Expired, lb.Expired}, "ttl": {la.TTL, lb.TTL}, "isolation": {*la.Isolate, *lb.Isolate},
		"job id": {ja.ID, jb.ID}, "status url": {ja.StatusURL, jb.StatusURL}, "state": {ja.State, jb.State}, "result": {ja.Result, jb.Result},
		"success": {ja.Success, jb.Success}, "cancelling": {a.Op(ja.Cancel).Method, b.Op(jb.Cancel).Method},
	} {
		if reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s is %v in both contracts", what, pair[0])
		}
	}
}

// TestResultsOnMCP: what an invocation is shown to answer is a result of the tool on MCP too.
func TestResultsOnMCP(t *testing.T) {
	c := load(t, "seer")
	shown := 0
	for _, tl := range c.Tools {
		if tl.Structured == nil {
			t.Errorf("%s has no schema of its result", tl.Name)
			continue
		}
		op := c.Op(tl.Operation)
		status := 200
		if tl.Async {
			status = op.Job.Accepted
		}
		for _, e := range op.Answer(status).Examples {
			if m, ok := e.Value.(map[string]any); ok && !tl.Async && !tl.Utility && m["tool"] != tl.Domain {
				continue
			}
			shown++
			for _, v := range tl.Structured.Validate(e.Value) {
				t.Errorf("%s: the example %s: %s %s", tl.Name, e.Name, v.Instance, v.Message)
			}
		}
	}
	if shown < 5 {
		t.Errorf("only %d examples were seen", shown)
	}
}
