package seer

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// agents judges agent revisions: their form, their numbers, what they pin and what they may not hold.
func agents() []check.Check {
	sel := withCalls(on("createAgentRevision"), "listAgentRevisions", "getAgentRevision")
	return []check.Check{
		{
			ID:   "agents.revision",
			Does: "Gives a new agent several revisions, each with another model, brief or toolkit, and reads all of them.",
			Claims: []check.Claim{
				{ID: "agents.empty", Says: "An agent that has no revision yet has an empty list, and is no error."},
				{ID: "agents.first", Says: "The first revision of an agent has number 1."},
				{ID: "agents.shape", Says: "A revision has every member that the contract names; the mandate may be null."},
				{ID: "agents.as-sent", Says: "A revision holds what was sent, every list in its order."},
				{ID: "agents.another", Says: "Another model, brief or toolkit is another revision of the same agent, and the earlier ones stay as they are."},
				{ID: "agents.next", Says: "A revision's number is one more than the one before."},
			},
			Select: sel,
			Cost:   check.Cost{Requests: 60},
			Run:    agentsRevision,
		},
		{
			ID:   "agents.numbering",
			Does: "Creates revisions of one agent from many lanes at once.",
			Claims: []check.Claim{
				{ID: "agents.numbers", Says: "Concurrent revisions of one agent have numbers of their own, without a gap."},
				{ID: "agents.numbers-linearizable", Says: "The numbers follow the order in which the revisions were made."},
			},
			Select: sel,
			Cost:   check.Cost{Requests: 150},
			Run:    agentsNumbering,
		},
		{
			ID:   "agents.binding",
			Does: "Sends texts in the form of credentials as a model binding, and looks at the bindings that are there.",
			Claims: []check.Claim{
				{ID: "agents.binding", Says: "A model binding is a reference: nothing in the form of a credential is taken into it or given out of it."},
			},
			Select: sel,
			Cost:   check.Cost{Requests: 30},
			Run:    agentsBinding,
		},
		{
			ID:   "agents.grants",
			Does: "Names grants that the principal does not hold, and invokes a tool under a revision without its grant.",
			Claims: []check.Claim{
				{ID: "agents.grants-checked", Says: "Grant references are resolved: a revision gives no use of a grant that the principal does not hold, nor of one that it does not name."},
				{ID: "agents.grants-at-creation", Says: "A grant that the principal does not hold is refused with 403 when the revision is created, and nothing is."},
			},
			Select: withCalls(on("createAgentRevision"), "listAgentRevisions", "invokeTool"),
			Cost:   check.Cost{Requests: 30},
			Run:    agentsGrants,
		},
		{
			ID:     "agents.pinning",
			Does:   "Invokes a tool with an input of its newest schema under revisions that pin the newest and an older one.",
			Claims: []check.Claim{{ID: "agents.pinned-schema", Says: "An input is judged by the schema revision that the agent revision pins: what only a newer one takes is refused under the older."}},
			Select: withCalls(on("invokeTool"), "createAgentRevision"),
			Cost:   check.Cost{Requests: 40},
			Run:    agentsPinning,
		},
		{
			ID:     "agents.calculation",
			Does:   "Admits a job of each kind, adds a revision to its agent meanwhile, and reads the job until it has ended.",
			Claims: []check.Claim{{ID: "agents.calculation", Says: "An admitted job names its agent revision and its calculation revision, and neither changes."}},
			Select: withCalls(on("createForecast", "createPortfolioProposal"), "createAgentRevision"),
			Cost:   check.Cost{Requests: 400, Jobs: 1},
			Run:    agentsCalculation,
		},
		{
			ID:     "agents.workspace",
			Does:   "Uses one agent id in two workspaces.",
			Claims: []check.Claim{{ID: "agents.private", Says: "One agent id in two workspaces is two agents: each is numbered from 1, and neither shows the other."}},
			Needs:  []target.Capability{target.SecondWorkspace},
			Select: sel,
			Cost:   check.Cost{Requests: 30},
			Run:    agentsWorkspace,
		},
		{
			ID:     "agents.restart",
			Does:   "Gives a new agent two revisions, restarts the server, and gives it a third.",
			Claims: []check.Claim{{ID: "agents.restart", Says: "After a restart revisions are numbered on."}},
			Needs:  []target.Capability{target.Restart},
			Lock:   check.Target,
			Select: sel,
			Cost:   check.Cost{Requests: 30},
			Run:    agentsRestart,
		},
	}
}

// newRevision creates a revision of an agent.
func newRevision(t *check.T, agent string, body map[string]any) wire.Exchange {
	return ask{op: "createAgentRevision", path: map[string]string{"agent_id": agent}, body: body}.send(t)
}

// revisions lists all revisions of an agent, oldest first.
func revisions(t *check.T, as, agent string) []any {
	var out []any
	q := url.Values{"order": {"created_at"}, "limit": {"100"}}
	for range 20 {
		ex := ask{op: "listAgentRevisions", as: as, path: map[string]string{"agent_id": agent}, q: q}.send(t)
		if ex.Status() != 200 {
			t.Inconclusive("the revisions of an agent could not be listed: %s", short(ex))
		}
		out = append(out, listAt(decoded(ex), "/items")...)
		next := field(ex, "/next_cursor")
		if next == "" {
			break
		}
		q.Set("cursor", next)
	}
	return out
}

// configuration is a payload with the connection's own references and the whole toolkit.
func configuration(t *check.T) map[string]any {
	return wholeToolkit(t, operation(t, "createAgentRevision"))
}

func agentsRevision(_ context.Context, t *check.T, s check.Subject) {
	agent := "assay-" + t.Nonce()
	ex := ask{op: "listAgentRevisions", path: map[string]string{"agent_id": agent}}.send(t)
	items, list := at(decoded(ex), "/items").([]any)
	t.Judge("agents.empty", ex.Status() == 200 && list && len(items) == 0, "200 with an empty list for an agent without revisions", short(ex))
	base := configuration(t)
	grants, _ := base["grant_refs"].([]any)
	tools, _ := base["tool_versions"].(map[string]any)
	fewer := copyOf(tools)
	for _, name := range slices.Sorted(maps.Keys(tools))[1:] {
		delete(fewer, name)
	}
	bodies := []map[string]any{
		base,
		with(base, "model_binding", "model:aura-example-r9"),
		with(base, "instructions", "Another brief – with “quotes”, a tab\t, and\nlines."),
		with(base, "tool_versions", fewer),
		with(base, "execution_mandate_ref", "mandate_example_1"),
		with(base, "execution_mandate_ref", nil),
		with(base, "grant_refs", reversed(grants)),
	}
	var made []any
	for i, body := range bodies {
		ex := newRevision(t, agent, body)
		if !admitted(ex) {
			t.Inconclusive("no revision could be made of %s: %s", encode(body), short(ex))
		}
		rev := decoded(ex)
		judgeShape(t, rev, agent)
		judgeAsSent(t, body, rev)
		claim := "agents.next"
		if i == 0 {
			claim = "agents.first"
		}
		t.Judge(claim, numberAt(rev) == i+1, fmt.Sprintf("revision number %d", i+1), fmt.Sprint(at(rev, "/revision")))
		made = append(made, rev)
	}
	judgeAnother(t, agent, made)
}

func reversed(list []any) []any {
	out := slices.Clone(list)
	slices.Reverse(out)
	return out
}

// numberAt is a revision's number, 0 if it has none.
func numberAt(rev any) int {
	n, _ := strconv.Atoi(fmt.Sprint(at(rev, "/revision")))
	return n
}

// judgeShape judges the members of a revision and their types.
func judgeShape(t *check.T, rev any, agent string) {
	var wrong []string
	for _, name := range []string{"id", "agent_id", "model_binding", "instructions", "service_budget_ref"} {
		if textAt(rev, pointer(name)) == "" {
			wrong = append(wrong, name)
		}
	}
	if _, ok := at(rev, "/tool_versions").(map[string]any); !ok {
		wrong = append(wrong, "tool_versions")
	}
	if _, ok := at(rev, "/grant_refs").([]any); !ok {
		wrong = append(wrong, "grant_refs")
	}
	if numberAt(rev) < 1 {
		wrong = append(wrong, "revision")
	}
	mandate, there := members(rev)["execution_mandate_ref"]
	if _, text := mandate.(string); !there || mandate != nil && !text {
		wrong = append(wrong, "execution_mandate_ref")
	}
	t.Judge("agents.shape", len(wrong) == 0, "every member of a revision", fmt.Sprintf("%v missing or of another type in %.300s", wrong, encode(rev)))
	t.Judge("agents.shape", textAt(rev, "/agent_id") == agent, "agent_id "+agent, textAt(rev, "/agent_id"))
}

// judgeAsSent compares a revision with its payload. A member that was left out may have any default.
func judgeAsSent(t *check.T, sent map[string]any, rev any) {
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		got := at(rev, pointer(name))
		t.Judge("agents.as-sent", oracle.Equal(sent[name], got), fmt.Sprintf("%s as sent: %s", name, encode(sent[name])), string(encode(got)))
	}
}

// judgeAnother reads every revision again, one by one and in the list.
func judgeAnother(t *check.T, agent string, made []any) {
	ids := map[string]bool{}
	for _, rev := range made {
		id := textAt(rev, "/id")
		t.Judge("agents.another", !ids[id], "a revision of its own", "id "+id+" twice")
		ids[id] = true
		now := read(t, "getAgentRevision", "agent_revision_id", id)
		diff := oracle.Diff(rev, now, nil)
		t.Judge("agents.another", len(diff) == 0, "revision "+id+" as it was made", fmt.Sprintf("different at %v", diff))
	}
	listed := revisions(t, role, agent)
	t.Judge("agents.another", len(listed) == len(made), fmt.Sprintf("%d revisions of the agent", len(made)), fmt.Sprintf("%d", len(listed)))
	for i := range min(len(listed), len(made)) {
		diff := oracle.Diff(made[i], listed[i], nil)
		t.Judge("agents.another", len(diff) == 0, fmt.Sprintf("revision %d in the list as it was made", i+1), fmt.Sprintf("different at %v", diff))
	}
}

const (
	revisionLanes = 6
	revisionTurns = 3 // of a lane
	searchTime    = 5 * time.Second
)

func agentsNumbering(_ context.Context, t *check.T, s check.Subject) {
	agent := "assay-" + t.Nonce()
	body := configuration(t)
	history := make([][]oracle.TakeOp, revisionLanes)
	t.Lanes(revisionLanes, func(lane *check.T, i int) {
		for n := range revisionTurns {
			ex := newRevision(lane, agent, with(body, "instructions", fmt.Sprintf("Lane %d, turn %d.", i, n)))
			op := oracle.TakeOp{Client: i, Call: ex.Sent, Return: ex.Last, Number: numberAt(decoded(ex)), Lost: ex.Effect() == wire.Unknown}
			lane.Judge("agents.numbers", !turnedDown(ex), "a new revision, whoever else makes one", short(ex))
			if admitted(ex) || op.Lost {
				history[i] = append(history[i], op)
			}
		}
	})
	all := slices.Concat(history...)
	var numbers []int
	lost := 0
	for _, op := range all {
		if op.Lost {
			lost++
			continue
		}
		numbers = append(numbers, op.Number)
	}
	slices.Sort(numbers)
	distinct := len(slices.Compact(slices.Clone(numbers))) == len(numbers)
	t.Judge("agents.numbers", distinct && consecutive(numbers, lost), fmt.Sprintf("the numbers 1 to %d, each once", len(all)), fmt.Sprint(numbers))
	for i, rev := range revisions(t, role, agent) {
		t.Judge("agents.numbers", numberAt(rev) == i+1, fmt.Sprintf("revision %d in its place in the list", i+1), fmt.Sprint(at(rev, "/revision")))
	}
	switch oracle.Consecutive(0, all, searchTime) {
	case oracle.TimedOut:
		t.Inconclusive("no order of %d numbers was found or excluded within %s", len(all), searchTime)
	case oracle.Illegal:
		t.Judge("agents.numbers-linearizable", false, "numbers in the order of some serial making", fmt.Sprint(numbers))
		t.Illustrate("agents.numbers-linearizable", "history", func() ([]byte, error) {
			return oracle.ExplainConsecutive(0, all, searchTime)
		})
	case oracle.OK:
		t.Judge("agents.numbers-linearizable", true, "", "")
	}
}

// consecutive allows as many gaps as answers were lost.
func consecutive(sorted []int, lost int) bool {
	if len(sorted) == 0 {
		return lost > 0
	}
	last := sorted[len(sorted)-1]
	return sorted[0] >= 1 && last <= len(sorted)+lost && last >= len(sorted)
}

// credentialForms are what secrets in circulation look like; none of these opens anything.
func credentialForms() []string {
	long := strings.Repeat("a1B2c3D4", 6)
	return []string{
		"sk-" + long, "sk-ant-api03-" + long, "Bearer " + long, "ghp_" + long[:36], "AKIA" + strings.ToUpper(long[:16]),
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhc3NheSJ9." + long, "model:sk-" + long, "https://user:" + long[:20] + "@models.example/v1",
		"-----BEGIN PRIVATE KEY-----",
	}
}

var credentialForm = regexp.MustCompile(`(?i)(\bsk-[a-z0-9-]{20}|^bearer |gh[pousr]_[a-z0-9]{30}|\bAKIA[A-Z0-9]{16}|\beyJ[a-z0-9_-]+\.eyJ|://[^/@ ]+:[^/@ ]+@|PRIVATE KEY)`)

func agentsBinding(_ context.Context, t *check.T, s check.Subject) {
	agent := "assay-" + t.Nonce()
	good := configuration(t)
	if ex := newRevision(t, agent, good); !admitted(ex) {
		t.Inconclusive("no revision could be made: %s", short(ex))
	}
	for _, secret := range credentialForms() {
		ex := newRevision(t, agent, with(good, "model_binding", secret))
		t.Judge("agents.binding", turnedDown(ex), "a refusal of a model binding in the form of a credential, such as "+secret[:6]+"…", short(ex))
	}
	for _, rev := range append(revisions(t, role, agent), read(t, "getAgentRevision", "agent_revision_id", agentRevision(t))) {
		binding := textAt(rev, "/model_binding")
		t.Judge("agents.binding", !credentialForm.MatchString(binding), "a reference as the model binding of revision "+textAt(rev, "/id"), "a text in the form of a credential")
	}
}

func agentsGrants(_ context.Context, t *check.T, s check.Subject) {
	good := configuration(t)
	agent := "assay-" + t.Nonce()
	foreign := "grant_assay_" + strings.ReplaceAll(t.Nonce(), "-", "_")
	held, _ := good["grant_refs"].([]any)
	for _, refs := range [][]any{{foreign}, append(slices.Clone(held), foreign)} {
		ex := newRevision(t, agent, with(good, "grant_refs", refs))
		t.Judge("agents.grants-at-creation", refusedAs(t, ex, "forbidden"), refusal(t, "forbidden")+" for a grant that is not held", short(ex))
		if admitted(ex) && len(refs) == 1 {
			used := invokePlain(t, field(ex, "/id"))
			t.Judge("agents.grants-checked", turnedDown(used), "no use of a tool under a grant that is not held", short(used))
		}
	}
	left := revisions(t, role, agent)
	t.Judge("agents.grants-at-creation", len(left) == 0, "no revision of an agent whose revisions were refused", fmt.Sprintf("%d", len(left)))
	// What the principal holds is of no use to a run whose revision does not name it.
	bare := newRevision(t, agent, with(good, "grant_refs", []any{}))
	if !admitted(bare) {
		t.NotApplicable("agents.grants-checked", "a revision without grants is not taken")
		return
	}
	ex := invokePlain(t, field(bare, "/id"))
	t.Judge("agents.grants-checked", turnedDown(ex), "no use of a tool under a revision without its grant", short(ex))
	whole := newRevision(t, agent, good)
	ex = invokePlain(t, field(whole, "/id"))
	t.Judge("agents.grants-checked", admitted(ex), "a result under a revision that names the grants", short(ex))
}

// invokePlain invokes the plainest tool under a revision.
func invokePlain(t *check.T, revision string) wire.Exchange {
	tool, input := plainInput(t)
	return ask{op: "invokeTool", body: map[string]any{"agent_revision_id": revision, "tool": tool, "input": input}}.send(t)
}

func agentsPinning(_ context.Context, t *check.T, s check.Subject) {
	names, by := catalog(t.Contract())
	tried := false
	for _, n := range names {
		for i := 1; i < len(by[n]); i++ {
			tried = judgePins(t, by[n][i-1], by[n][i]) || tried
		}
	}
	if !tried {
		t.NoneApply("no tool of the catalog has two schema revisions that an example tells apart")
	}
}

// judgePins invokes a tool under both of two schema revisions; false if no example tells them apart.
func judgePins(t *check.T, older, newer *spec.Tool) (tried bool) {
	pinning := func(tl *spec.Tool) string {
		body := with(configuration(t), "tool_versions", map[string]any{tl.Domain: tl.Revision.Schema})
		ex := newRevision(t, "assay-"+t.Nonce(), body)
		if !admitted(ex) {
			t.Inconclusive("no revision could be made that pins %s %s: %s", tl.Domain, tl.Revision.Schema, short(ex))
		}
		return field(ex, "/id")
	}
	for _, e := range newer.Examples {
		input := resolved(t, e.Value)
		if len(older.Input.Validate(input)) == 0 {
			continue
		}
		tried = true
		body := func(revision string) map[string]any {
			return map[string]any{"agent_revision_id": revision, "tool": newer.Domain, "input": input}
		}
		yes := ask{op: "invokeTool", body: body(pinning(newer))}.send(t)
		t.Judge("agents.pinned-schema", admitted(yes), fmt.Sprintf("a result for an input of %s %s under a revision that pins it", newer.Domain, newer.Revision.Schema), short(yes))
		for _, id := range []string{pinning(older), agentRevision(t)} {
			if pinned := at(read(t, "getAgentRevision", "agent_revision_id", id), "/tool_versions"); at(pinned, pointer(newer.Domain)) != older.Revision.Schema {
				continue // the connection's default is bound to another one
			}
			no := ask{op: "invokeTool", body: body(id)}.send(t)
			t.Judge("agents.pinned-schema", turnedDown(no), fmt.Sprintf("a refusal of it under revision %s, which pins %s", id, older.Revision.Schema), short(no))
			plain := ask{op: "invokeTool", body: with(body(id), "input", resolved(t, older.Examples[0].Value))}.send(t)
			t.Judge("agents.pinned-schema", admitted(plain), "a result for an input of "+older.Revision.Schema+" under it", short(plain))
		}
	}
	return tried
}

func agentsCalculation(_ context.Context, t *check.T, s check.Subject) {
	agent := "assay-" + t.Nonce()
	config := configuration(t)
	first := newRevision(t, agent, config)
	id := field(first, "/id")
	body, _ := resolved(t, s.Op.Body.Examples[0].Value).(map[string]any)
	free := t.JobSlot()
	defer free()
	ex := ask{op: s.Op.ID, body: with(body, "agent_revision_id", id)}.send(t)
	job := field(ex, s.Op.Job.ID.Pointer)
	if id == "" || job == "" {
		t.Inconclusive("no job could be begun under a revision of its own: %s, %s", short(first), short(ex))
	}
	look := func() any { return read(t, "getJob", "job_id", job) }
	early := look()
	newRevision(t, agent, with(config, "instructions", "For later runs."))
	pins := []any{early, look(), ended(t, job).job, look()}
	for _, name := range []string{"agent_revision_id", "calculation_revision"} {
		was := textAt(early, pointer(name))
		if was == "" {
			t.Judge("agents.calculation", false, name+" of the job", fmt.Sprintf("%.200s", encode(early)))
			continue
		}
		for _, p := range pins {
			t.Judge("agents.calculation", textAt(p, pointer(name)) == was, name+" "+was+" throughout", textAt(p, pointer(name)))
		}
	}
	t.Judge("agents.calculation", textAt(early, "/agent_revision_id") == id, "agent revision "+id, textAt(early, "/agent_revision_id"))
}

func agentsWorkspace(_ context.Context, t *check.T, s check.Subject) {
	agent := "assay-" + t.Nonce()
	other := string(target.SecondWorkspace)
	body := configuration(t)
	mine := []wire.Exchange{newRevision(t, agent, body), newRevision(t, agent, body)}
	seen := revisions(t, other, agent)
	t.Judge("agents.private", len(seen) == 0, "no revision of this agent in the other workspace", fmt.Sprintf("%d", len(seen)))
	theirs := ask{op: "createAgentRevision", as: other, path: map[string]string{"agent_id": agent}, body: configurationOf(t, other, body)}.send(t)
	if !admitted(theirs) || !admitted(mine[1]) {
		t.Inconclusive("no revision could be made in both workspaces: %s, %s", short(mine[1]), short(theirs))
	}
	t.Judge("agents.private", numberAt(decoded(theirs)) == 1, "number 1 in the other workspace", fmt.Sprint(at(decoded(theirs), "/revision")))
	for as, want := range map[string]int{role: 2, other: 1} {
		got := revisions(t, as, agent)
		t.Judge("agents.private", len(got) == want, fmt.Sprintf("%d revisions for %s", want, as), fmt.Sprintf("%d", len(got)))
	}
	third := newRevision(t, agent, body)
	t.Judge("agents.private", numberAt(decoded(third)) == 3, "number 3 here after the other workspace's first", short(third))
}

// configurationOf is a payload with the references of another credential's connection.
func configurationOf(t *check.T, as string, body map[string]any) map[string]any {
	cn := connection(t, as)
	out := copyOf(body)
	if grants := listAt(cn, "/grants"); grants != nil {
		out["grant_refs"] = grants
	}
	if budget := textAt(cn, "/service_budget"); budget != "" {
		out["service_budget_ref"] = budget
	}
	return out
}
