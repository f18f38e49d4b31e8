package seer

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/schema"
)

// tools judges the domain tools over HTTP: their discovery, and what every invocation promises.
func tools() []check.Check {
	return []check.Check{
		{
			ID:   "tools.discovery",
			Does: "Walks the list of tools, reads each by its name, and looks for names that do not belong there.",
			Claims: []check.Claim{
				{ID: "tools.listed", Says: "Discovery lists each domain tool once, by its domain name, and neither protocol names nor utilities."},
				{ID: "tools.manifest", Says: "A manifest has an input and an output schema that are valid JSON Schema 2020-12, its scopes and its effect class."},
				{ID: "tools.not-financial", Says: "No tool has a financial effect."},
				{ID: "tools.readable", Says: "Every tool that is listed can be read by its name, and is the same there."},
				{ID: "tools.name-unknown", Says: "By its protocol name a tool is not known over HTTP."},
				{ID: "tools.revision", Says: "A tool is listed in the schema revision that the connection's default agent revision pins."},
			},
			Select: withCalls(on("listTools"), "getTool"),
			Cost:   check.Cost{Requests: 40},
			Run:    toolsDiscovery,
		},
		{
			ID:   "tools.invocation",
			Does: "Invokes every tool with the catalog's inputs.",
			Claims: []check.Claim{
				{ID: "tools.invoked", Says: "A tool is invoked by its domain name, and answers at once or in the background as its manifest says."},
				{ID: "tools.output", Says: "A result's data fits the output schema of its tool, and its envelope names the tool."},
				{ID: "tools.evidence", Says: "Evidence has id, revision and source, and covers exactly the sources that the coverage names."},
				{ID: "tools.self-contained", Says: "A run needs nothing of the caller's conversation: its required members are complete, and none holds messages or reasoning."},
			},
			Select: on("invokeTool"),
			Cost:   check.Cost{Requests: 1500, Jobs: 1},
			Run:    toolsInvocation,
		},
		{
			ID:   "tools.refusal",
			Does: "Names a tool, an agent revision and a pin that do not exist, and then the right ones under the same keys.",
			Claims: []check.Claim{
				{ID: "tools.unknown-refused", Says: "An unknown tool, an unknown agent revision and a tool that the revision does not pin are refused, and admit nothing."},
				{ID: "tools.name-unknown", Says: "By its protocol name a tool is not known over HTTP."},
			},
			Select: on("invokeTool"), // what takes a revision of our own is left out where none can be made
			Cost:   check.Cost{Requests: 60, Jobs: 1},
			Run:    toolsRefusal,
		},
		{
			ID:     "tools.scope",
			Does:   "Invokes each tool with a token that lacks the scopes of its manifest.",
			Claims: []check.Claim{{ID: "tools.scope", Says: "A token without the scopes of the selected tool's manifest is refused with 403, even if it may call the endpoint, and admits nothing."}},
			Needs:  []target.Capability{target.WithoutScope},
			Select: on("invokeTool"),
			Cost:   check.Cost{Requests: 40, Jobs: 1},
			Run:    toolsScope,
		},
	}
}

// withCalls adds operations that the subjects' flows call too.
func withCalls(sel func(*spec.Contract) []check.Subject, ids ...string) func(*spec.Contract) []check.Subject {
	return func(c *spec.Contract) []check.Subject {
		out := sel(c)
		for i := range out {
			for _, id := range ids {
				if op := c.Op(id); op != nil {
					out[i].Calls = append(out[i].Calls, op)
				}
			}
		}
		return out
	}
}

// catalog are the domain tools of the contract by name, in all their revisions, oldest first.
func catalog(c *spec.Contract) (names []string, by map[string][]*spec.Tool) {
	by = map[string][]*spec.Tool{}
	for _, tl := range c.Tools {
		if tl.Utility || tl.Domain == "" {
			continue
		}
		if len(by[tl.Domain]) == 0 {
			names = append(names, tl.Domain)
		}
		by[tl.Domain] = append(by[tl.Domain], tl)
	}
	return names, by
}

// revisionOf is the catalog's tool in one schema revision, nil if it does not know that.
func revisionOf(all []*spec.Tool, revision string) *spec.Tool {
	for _, tl := range all {
		if tl.Revision.Schema == revision {
			return tl
		}
	}
	return nil
}

// manifests walks the list of tools.
func manifests(t *check.T) []any {
	var out []any
	q := url.Values{"limit": {"2"}}
	for range 60 {
		ex := ask{op: "listTools", q: q}.send(t)
		if ex.Status() != 200 {
			t.Inconclusive("the tools could not be listed: %s", short(ex))
		}
		out = append(out, listAt(decoded(ex), "/items")...)
		next := field(ex, "/next_cursor")
		if next == "" {
			return out
		}
		q.Set("cursor", next)
	}
	t.Inconclusive("the list of tools does not end")
	return nil
}

func toolsDiscovery(_ context.Context, t *check.T, s check.Subject) {
	all := manifests(t)
	names, by := catalog(t.Contract())
	times := map[string]int{}
	for _, m := range all {
		times[textAt(m, "/name")]++
	}
	for _, n := range names {
		t.Judge("tools.listed", times[n] == 1, "tool "+n+" once", fmt.Sprintf("%d times among %v", times[n], slices.Sorted(maps.Keys(times))))
	}
	for _, tl := range t.Contract().Tools {
		if tl.Name != tl.Domain {
			t.Judge("tools.listed", times[tl.Name] == 0, "no entry "+tl.Name+", which is a protocol name", fmt.Sprintf("%d times", times[tl.Name]))
		}
	}
	pins := defaultPins(t)
	for _, m := range all {
		judgeManifest(t, m, by[textAt(m, "/name")])
		judgeListedRevision(t, m, pins, by[textAt(m, "/name")])
		if here(t, "getTool") {
			one := ask{op: "getTool", path: map[string]string{"tool": textAt(m, "/name")}}.send(t)
			diff := oracle.Diff(m, decoded(one), nil)
			t.Judge("tools.readable", one.Status() == 200 && len(diff) == 0, "the manifest as it is listed", fmt.Sprintf("%s, different at %v", short(one), diff))
		}
	}
	if here(t, "getTool") {
		for _, n := range names {
			ex := ask{op: "getTool", path: map[string]string{"tool": by[n][0].Name}}.send(t)
			t.Judge("tools.name-unknown", turnedDown(ex), "a 4xx for tool "+by[n][0].Name, short(ex))
		}
	}
	t.NotApplicable("tools.revision", "the default agent revision, or the manifests, do not show a schema revision")
}

// defaultPins are the tool versions of the connection's default agent revision, nil if they are not shown.
func defaultPins(t *check.T) any {
	if !here(t, "getAgentRevision") {
		return nil
	}
	return at(read(t, "getAgentRevision", "agent_revision_id", agentRevision(t)), "/tool_versions")
}

// maybeUnpinned reports whether a refusal may be that of a tool which the agent revision does not
// pin: where the target does not show what is pinned, it says nothing about the tool.
func maybeUnpinned(t *check.T, tool string, ex wire.Exchange) bool {
	if !turnedDown(ex) || slices.Contains([]int{400, 413, 415, 422}, ex.Status()) {
		return false
	}
	pins, shown := defaultPins(t).(map[string]any)
	_, pinned := pins[tool]
	return !shown || !pinned
}

// notOpen is why a tool could not be judged.
func notOpen(tools ...string) string {
	return "the target refuses " + strings.Join(tools, ", ") + ", and does not show that its agent revision pins it"
}

// judgeManifest judges one manifest by itself and against the catalog.
func judgeManifest(t *check.T, m any, known []*spec.Tool) {
	name := textAt(m, "/name")
	for _, p := range []string{"inputSchema", "outputSchema"} {
		raw, object := at(m, pointer(p)).(map[string]any)
		var err error
		if object {
			_, err = schema.Compile(name+" "+p, raw)
		}
		t.Judge("tools.manifest", object && err == nil, p+" of "+name+" to be a schema of draft 2020-12", fmt.Sprintf("%.200v: %v", at(m, pointer(p)), err))
	}
	_, scopes := at(m, "/scopes").([]any)
	t.Judge("tools.manifest", scopes, "scopes of "+name, fmt.Sprint(at(m, "/scopes")))
	effect := textAt(m, "/effect")
	t.Judge("tools.manifest", slices.Contains([]string{"read", "compute", "financial"}, effect), "an effect class of "+name, fmt.Sprintf("%q", effect))
	t.Judge("tools.not-financial", effect != string(spec.EffectFinancial), "no financial effect of "+name, effect)
	if len(known) == 0 {
		return
	}
	t.Judge("tools.manifest", effect == string(known[0].Effect), fmt.Sprintf("effect %s of %s", known[0].Effect, name), effect)
	t.Judge("tools.manifest", sameTexts(listAt(m, "/scopes"), known[0].Scopes), fmt.Sprintf("scopes %v of %s", known[0].Scopes, name), fmt.Sprint(at(m, "/scopes")))
}

// judgeListedRevision judges which revision of a tool is listed.
func judgeListedRevision(t *check.T, m, pins any, known []*spec.Tool) {
	name := textAt(m, "/name")
	pinned, _ := at(pins, pointer(name)).(string)
	shown := textAt(m, "/revision/schema")
	if pinned == "" || shown == "" {
		return
	}
	t.Judge("tools.revision", shown == pinned, "revision "+pinned+" of "+name+", which the default agent revision pins", "revision "+shown)
	tl := revisionOf(known, pinned)
	if tl == nil {
		return
	}
	diff := oracle.Diff(tl.Input.Raw(), at(m, "/inputSchema"), nil)
	t.Judge("tools.revision", len(diff) == 0, "the input schema of "+name+" "+pinned+" as the catalog has it", fmt.Sprintf("different at %v", diff))
}

// toolResult is what one invocation gave.
type toolResult struct {
	ex      wire.Exchange
	body    any // of the answer, or, for background work, the artifact's data
	job     bool
	request map[string]any
}

// invoke invokes a tool and follows background work to its end.
func invoke(t *check.T, revision, tool string, input any) toolResult {
	body := map[string]any{"agent_revision_id": revision, "tool": tool, "input": input}
	free := t.JobSlot()
	defer free()
	r := toolResult{ex: ask{op: "invokeTool", body: body}.send(t), request: body}
	r.body = decoded(r.ex)
	op := t.Contract().Op("invokeTool")
	if op.Job == nil || r.ex.Status() != op.Job.Accepted {
		return r
	}
	r.job = true
	done := ended(t, field(r.ex, op.Job.ID.Pointer))
	if done.ref != "" {
		r.body = at(read(t, "getArtifact", "artifact_id", done.ref), "/data")
	} else {
		r.body = nil
	}
	return r
}

func toolsInvocation(_ context.Context, t *check.T, s check.Subject) {
	names, by := catalog(t.Contract())
	pins := defaultPins(t)
	var closed []string
	for _, n := range names {
		pinned, _ := at(pins, pointer(n)).(string)
		tl := revisionOf(by[n], pinned)
		if tl == nil {
			tl = by[n][0]
		}
		for i, e := range tl.Examples {
			if tl.Async && i > 0 {
				break // one job a tool
			}
			r := invoke(t, agentRevision(t), n, resolved(t, e.Value))
			if maybeUnpinned(t, n, r.ex) {
				closed = append(closed, n)
				break
			}
			t.Judge("tools.invoked", admitted(r.ex) && r.job == tl.Async, expectedAnswer(tl), short(r.ex))
			judgeResult(t, tl, r)
		}
	}
	selfContained(t, s)
	for _, claim := range []string{"tools.invoked", "tools.output", "tools.evidence"} {
		t.NotApplicable(claim, notOpen(closed...)) // unless one was judged
	}
}

func expectedAnswer(tl *spec.Tool) string {
	if tl.Async {
		return "the admission of a job for " + tl.Domain
	}
	return "200 with a result of " + tl.Domain
}

// judgeResult judges the envelope and the data of a tool's result. A tool whose artifact has a form
// of its own has no envelope.
func judgeResult(t *check.T, tl *spec.Tool, r toolResult) {
	if !admitted(r.ex) || r.body == nil || at(r.body, "/tool") == nil {
		return
	}
	t.Judge("tools.output", textAt(r.body, "/tool") == tl.Domain, "tool "+tl.Domain, fmt.Sprintf("tool %v", at(r.body, "/tool")))
	if tl.Output != nil {
		vs := tl.Output.Validate(at(r.body, "/data"))
		first := ""
		if len(vs) > 0 {
			first = string(vs[0].Instance) + ": " + vs[0].Message
		}
		t.Judge("tools.output", len(vs) == 0, "data of "+tl.Domain+" that fits its output schema", first)
	}
	judgeEvidence(t, "tools.evidence", r.body)
}

// judgeEvidence compares evidence with coverage.
func judgeEvidence(t *check.T, claim string, result any) {
	sources := map[string]bool{}
	for _, e := range listAt(result, "/evidence") {
		ok := textAt(e, "/id") != "" && textAt(e, "/revision") != "" && textAt(e, "/source_ref") != ""
		t.Judge(claim, ok, "evidence with id, revision and source_ref", string(encode(e)))
		sources[textAt(e, "/source_ref")] = true
	}
	covered := map[string]bool{}
	for _, v := range listAt(result, "/coverage/source_refs") {
		s, _ := v.(string)
		covered[s] = true
	}
	t.Judge(claim, maps.Equal(sources, covered), fmt.Sprintf("evidence for exactly the covered sources %v", slices.Sorted(maps.Keys(covered))), fmt.Sprint(slices.Sorted(maps.Keys(sources))))
}

// private are names of members that would hold what a caller thought or said.
var private = []string{"messages", "conversation", "conversation_id", "history", "thread_id", "prompt", "reasoning", "chain_of_thought", "scratchpad"}

// selfContained sends the request with nothing but what its schema requires.
func selfContained(t *check.T, s check.Subject) {
	body, _ := resolved(t, s.Op.Body.Examples[0].Value).(map[string]any)
	raw, _ := s.Op.Body.Schema.Raw().(map[string]any)
	if next, ok := s.Op.Body.Schema.Deref(raw); ok {
		raw, _ = next.(map[string]any)
	}
	required := listAt(raw, "/required")
	least := map[string]any{}
	for _, r := range required {
		name, _ := r.(string)
		t.Judge("tools.self-contained", !slices.Contains(private, name), "no required member that holds a conversation", name)
		least[name] = body[name]
	}
	ex := ask{op: s.Op.ID, body: least}.send(t)
	ok := admitted(ex) && at(decoded(ex), "/data") != nil
	t.Judge("tools.self-contained", ok, fmt.Sprintf("a complete result for a request with only %v", required), short(ex))
}

// plainInput is an input of the first synchronous tool.
func plainInput(t *check.T) (tool string, input map[string]any) {
	names, by := catalog(t.Contract())
	for _, n := range names {
		if tl := by[n][0]; !tl.Async && len(tl.Examples) > 0 {
			input, _ = resolved(t, tl.Examples[0].Value).(map[string]any)
			return n, input
		}
	}
	t.Inconclusive("the catalog has no synchronous tool with an example")
	return "", nil
}

func toolsRefusal(_ context.Context, t *check.T, s check.Subject) {
	tool, input := plainInput(t)
	good := map[string]any{"agent_revision_id": agentRevision(t), "tool": tool, "input": input}
	if ex := (ask{op: s.Op.ID, body: good}).send(t); !admitted(ex) {
		t.Inconclusive("the valid invocation was answered %s", short(ex))
	}
	protocol := ""
	for _, tl := range t.Contract().Tools {
		if tl.Domain == tool {
			protocol = tl.Name
		}
	}
	_, by := catalog(t.Contract())
	cases := []struct {
		claim, what string
		body        map[string]any
	}{
		{"tools.unknown-refused", "an unknown tool", with(good, "tool", "assay.no_such_tool")},
		{"tools.unknown-refused", "a tool in other letters", with(good, "tool", strings.ToUpper(tool))},
		{"tools.unknown-refused", "an unknown agent revision", with(good, "agent_revision_id", "assay-"+t.Nonce())},
		{"tools.name-unknown", "the protocol name of a tool", with(good, "tool", protocol)},
	}
	if id := revisionWithout(t, tool); id != "" {
		cases = append(cases, struct {
			claim, what string
			body        map[string]any
		}{"tools.unknown-refused", "a tool that the agent revision does not pin", with(good, "agent_revision_id", id)})
	}
	for _, c := range cases {
		key := t.Key()
		ex := ask{op: s.Op.ID, body: c.body, key: key}.send(t)
		t.Judge(c.claim, turnedDown(ex), "a 4xx for "+c.what, short(ex))
		if !turnedDown(ex) {
			continue
		}
		// What admitted nothing has bound no key.
		ex = ask{op: s.Op.ID, body: good, key: key}.send(t)
		t.Judge(c.claim, admitted(ex) && textAt(decoded(ex), "/tool") == tool, "a result of "+tool+" under the key of the refused request", short(ex))
	}
	judgeUnpinnedJobs(t, s, by)
}

// judgeUnpinnedJobs tries background work whose tool is not pinned, beside the endpoint for it.
func judgeUnpinnedJobs(t *check.T, s check.Subject, by map[string][]*spec.Tool) {
	for _, name := range slices.Sorted(maps.Keys(by)) {
		tl := by[name][0]
		if !tl.Async || len(tl.Examples) == 0 {
			continue
		}
		id := revisionWithout(t, name)
		if id == "" {
			return
		}
		body := map[string]any{"agent_revision_id": id, "tool": name, "input": resolved(t, tl.Examples[0].Value)}
		ex := ask{op: s.Op.ID, body: body}.send(t)
		t.Judge("tools.unknown-refused", turnedDown(ex), "a 4xx for "+name+", which the agent revision does not pin", short(ex))
		if !here(t, "listJobs") {
			continue
		}
		jobs := ask{op: "listJobs", q: url.Values{"created_after": {lately(t)}, "limit": {"100"}}}.send(t)
		for _, it := range listAt(decoded(jobs), "/items") {
			t.Judge("tools.unknown-refused", textAt(it, "/agent_revision_id") != id, "no job under agent revision "+id, string(encode(it)))
		}
	}
}

// revisionWithout makes an agent revision that pins another tool only; "" if that cannot be.
func revisionWithout(t *check.T, tool string) string {
	if !here(t, "createAgentRevision") {
		return ""
	}
	_, by := catalog(t.Contract())
	for _, other := range slices.Sorted(maps.Keys(by)) {
		if other == tool {
			continue
		}
		body := wholeToolkit(t, t.Contract().Op("createAgentRevision"))
		body["tool_versions"] = map[string]any{other: by[other][0].Revision.Schema}
		return field(newRevision(t, "assay-"+t.Nonce(), body), "/id")
	}
	return ""
}

func toolsScope(_ context.Context, t *check.T, s check.Subject) {
	names, by := catalog(t.Contract())
	for _, n := range names {
		tl := by[n][0]
		if len(tl.Scopes) == 0 || len(tl.Examples) == 0 {
			continue
		}
		body := map[string]any{"agent_revision_id": agentRevision(t), "tool": n, "input": resolved(t, tl.Examples[0].Value)}
		a := ask{op: s.Op.ID, as: string(target.WithoutScope), body: body, key: t.Key()}
		ex := a.send(t)
		t.Judge("tools.scope", ex.Status() == 403, fmt.Sprintf("403 for %s without %v", n, tl.Scopes), short(ex))
		ex = a.send(t)
		t.Judge("tools.scope", ex.Status() == 403, "403 again under the same key, since nothing was admitted", short(ex))
	}
	t.NotApplicable("tools.scope", "no tool of the catalog has a scope of its own")
}
