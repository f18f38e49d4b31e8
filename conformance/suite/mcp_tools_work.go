package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/suite/mcp"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

func mcpWork() []check.Check {
	return []check.Check{
		{
			ID:   "mcp-tools.job",
			Does: "Begins background work by the tool, follows it to what it made by the utilities, and reads the job again in another session.",
			Claims: []check.Claim{
				{ID: "mcp-tools.accepted", Says: "A tool of background work answers with the admission: the id of a job that can be read at once."},
				{ID: "mcp-tools.job-read", Says: "The job can be followed to its end by the utility that reads jobs."},
				{ID: "mcp-tools.artifact-read", Says: "What a completed job names as its result can be read by the utility for that."},
				{ID: "mcp-tools.direct", Says: "A utility gives what it reads itself as structuredContent, in no envelope."},
				{ID: "mcp-tools.job-survives", Says: "A job outlives the session that began it: it can be read in another."},
			},
			Needs: onBoth(), Cost: check.Cost{Requests: 300, Jobs: 1},
			Select: toolSubjects(beginsWork), Run: mcpJob,
		},
		{
			ID:     "mcp-tools.no-action",
			Does:   "Calls every tool, and looks on REST whether an action came of it.",
			Claims: []check.Claim{{ID: "mcp-tools.no-action", Says: "No call of a tool creates or moves what has a financial effect."}},
			Needs:  onBoth(), Lock: check.Target, Cost: check.Cost{Requests: 600, Jobs: 1},
			Select: selectFinancialLists, Run: mcpNoAction,
		},
	}
}

func mcpJob(_ context.Context, t *check.T, s check.Subject) {
	session := mcp.Open(t, primary)
	c := exampleCall(t, s.Tool, primary, 0)
	in, sayable := c.restOf()
	if !sayable {
		t.Inconclusive("the example of %s cannot be said on REST, where its job is found", s.Name)
	}
	free := t.JobSlot()
	defer free()
	o := c.onMCP(session, "")
	if !o.ok {
		t.Inconclusive("%s refuses its first example: %s", s.Name, o.told)
	}
	id := c.jobIn(o)
	t.Must("mcp-tools.accepted", id != "", "an admission with the id of a job at "+string(s.Op.Job.ID.Pointer), o.told)
	m := machineOf(t.Contract(), s.Op)
	if state := valueText(o.value, s.Op.Job.State); state != "" && m.Initial != "" {
		t.Judge("mcp-tools.accepted", state == m.Initial, "state "+m.Initial, "state "+state)
	}
	job := mcpFollow(t, session, c, in, id)
	if t.Contract().Op(s.Op.Job.Artifact) == nil || toolNamed(t.Contract(), s.Op.Job.Artifact) == nil {
		t.NotApplicable("mcp-tools.artifact-read", "no tool reads what the job makes")
	} else if made := valueText(job.value, s.Op.Job.Result); made != "" {
		a := utility(t, s.Op.Job.Artifact, in, made).onMCP(session, "")
		t.Judge("mcp-tools.artifact-read", a.ok, "what the job made, "+made, a.told)
		if a.ok {
			name := lastParam(t.Contract().Op(s.Op.Job.Artifact))
			judgeDirect(t, a, name, made)
		}
	} else {
		t.NotApplicable("mcp-tools.artifact-read", "the job made nothing")
	}
	session.Delete() // or not, where the server keeps sessions to itself
	again := utility(t, s.Op.Job.Read, in, id).onMCP(mcp.Open(t, primary), "")
	if !again.known {
		t.Inconclusive("no answer that can be judged: %s", again.told)
	}
	same := again.ok && len(differences(t, s.Op, job.value, again.value)) == 0
	t.Judge("mcp-tools.job-survives", same, "the job "+id+" as it was in the session that began it", again.told)
}

// mcpPatience is how long a job is followed by its utility before REST is asked how it stands.
const mcpPatience = 20 * time.Second

// mcpFollow reads a job by its utility until it has ended.
func mcpFollow(t *check.T, session *mcp.Session, c toolCall, in intent, id string) outcome {
	m := machineOf(t.Contract(), c.op)
	reader := utility(t, c.op.Job.Read, in, id)
	for p := newPacer(t); ; {
		o := reader.onMCP(session, "")
		if !o.known {
			t.Inconclusive("no answer that can be judged: %s", o.told)
		}
		t.Must("mcp-tools.job-read", o.ok, "the job "+id, o.told)
		judgeDirect(t, o, lastParam(reader.op), id)
		state := valueText(o.value, c.op.Job.State)
		if m.IsTerminal(state) {
			return o
		}
		if t.Now()-p.begun > mcpPatience {
			t.Judge("mcp-tools.job-read", !m.IsTerminal(look(t, in, id).state), "the end of the job, which REST shows", o.told)
			t.Inconclusive("the job %s does not end", id)
		}
		p.wait(t, o.ex)
	}
}

// judgeDirect judges that what a utility read is the thing itself. Its id is looked for under the name
// that the operation has for it, where the contract shows it so.
func judgeDirect(t *check.T, o outcome, name, id string) {
	got := valueText(o.value, tree.PointerTo(name))
	t.Must("mcp-tools.direct", got == id, fmt.Sprintf("%s %q at the top of structuredContent", name, id), o.told)
}

// selectFinancialLists are the collections of what a financial operation moves or creates.
func selectFinancialLists(c *spec.Contract) []check.Subject {
	if len(c.Tools) == 0 {
		return nil
	}
	kinds := map[string]bool{}
	for _, op := range c.Ops {
		if op.Effect == spec.EffectFinancial && op.Moves != nil {
			kinds[op.Moves.Resource] = true
		}
		if op.Effect == spec.EffectFinancial && op.Creates != nil {
			kinds[op.Creates.Resource] = true
		}
	}
	var out []check.Subject
	for _, op := range c.Ops {
		if op.Collection != nil && kinds[op.Collection.Resource] {
			out = append(out, check.Subject{Name: op.ID, Op: op})
		}
	}
	return out
}

// mcpNoAction counts before and after. Others may create some meanwhile, so only what happens each time counts.
func mcpNoAction(_ context.Context, t *check.T, s check.Subject) {
	l := listing{op: s.Op, role: primary, path: map[string]string{}, query: url.Values{}}
	if lim := s.Op.Collection.Limit; lim != nil {
		l = l.at(lim.Param, text(lim.Max))
	}
	shown := func() map[string]string {
		out := map[string]string{}
		p := l.read(t, "")
		for i, it := range p.items {
			out[p.ids[i]] = string(encode(it))
		}
		return out
	}
	session := mcp.Open(t, primary)
	const rounds = 3
	var appeared []string
	for range rounds {
		before := shown()
		called := 0
		for _, sub := range toolSubjects(anyTool)(t.Contract()) {
			if sub.Tool.Effect == spec.EffectFinancial || len(sub.Tool.Examples) == 0 {
				continue
			}
			c := exampleCall(t, sub.Tool, primary, 0)
			free := mcpSlot(t, sub.Tool)
			o := c.onMCP(session, "")
			if in, sayable := c.restOf(); sayable && o.ok {
				called++
				c.settled(t, in, o)
			}
			free()
		}
		if called == 0 {
			t.Inconclusive("no tool takes its first example")
		}
		appeared = nil
		for id, now := range shown() {
			if before[id] != now {
				appeared = append(appeared, id)
			}
		}
		slices.Sort(appeared)
		if len(appeared) == 0 {
			break
		}
	}
	t.Judge("mcp-tools.no-action", len(appeared) == 0, "nothing in "+s.Op.ID+" that was not there before the calls", fmt.Sprint(appeared))
}

func mcpKeys() []check.Check {
	return []check.Check{{
		ID:   "mcp-tools.key",
		Does: "Calls a tool that makes something twice: under one request id in two sessions, under one business key, and under that key with another payload.",
		Claims: []check.Claim{
			{ID: "mcp-tools.request-id", Says: "The id of a JSON-RPC request is no business key: the same id in two sessions names two calls."},
			{ID: "mcp-tools.keyless", Says: "Without a business key every call is one of its own."},
			{ID: "mcp-tools.key-replay", Says: "The same business key and arguments give the first result again, in any session."},
			{ID: "mcp-tools.key-conflict", Says: "The same business key with other arguments is refused."},
		},
		Needs: onBoth(), Cost: check.Cost{Requests: 80, Jobs: 5},
		Select: toolSubjects(func(c *spec.Contract, tool *spec.Tool) bool {
			op := c.Op(tool.Operation)
			return hasTwin(c, tool) && op.Creates != nil && op.Creates.ID.Part == "body" && op.Idempotency != nil
		}), Run: mcpKey,
	}}
}

func mcpKey(_ context.Context, t *check.T, s check.Subject) {
	c := exampleCall(t, s.Tool, primary, 0)
	in, _ := c.restOf()
	one, two := mcp.Open(t, primary), mcp.Open(t, primary)
	call := func(session *mcp.Session, c toolCall, key string) (o outcome) {
		free := mcpSlot(t, s.Tool)
		defer free()
		o = c.onMCP(session, key)
		c.settled(t, in, o)
		return o
	}
	made := func(o outcome) string { return valueText(o.value, s.Op.Creates.ID.Pointer) }
	const id = `"assay-same-id"`
	ask := func(session *mcp.Session) (o outcome) {
		free := mcpSlot(t, s.Tool)
		defer free()
		ex, m := session.Ask(json.RawMessage(id), "tools/call", c.params(""))
		o = read(t, ex, m)
		c.settled(t, in, o)
		return o
	}
	a, b := ask(one), ask(two)
	if !a.ok || made(a) == "" {
		t.Inconclusive("%s makes nothing for its first example: %s", s.Name, a.told)
	}
	if b.known && !b.ok && !b.means(t.Contract(), "rate_limited", "too_many_jobs", "unavailable") || b.ok {
		t.Judge("mcp-tools.request-id", b.ok && made(a) != made(b), "a call of its own in another session", b.told)
	}
	if again := call(one, c, ""); again.ok {
		t.Judge("mcp-tools.keyless", made(again) != made(a) && made(again) != made(b), "a call of its own", again.told)
	}
	if s.Tool.Key == nil {
		for _, claim := range []string{"mcp-tools.key-replay", "mcp-tools.key-conflict"} {
			t.NotApplicable(claim, "calls of the tool carry no business key")
		}
		return
	}
	key := t.Key()
	first, second := call(one, c, key), call(two, c, key)
	if !first.ok || !second.known {
		t.Inconclusive("the call under a key was answered %s, and then %s", first.told, second.told)
	}
	t.Judge("mcp-tools.key-replay", second.ok && made(second) == made(first), "the answer that made "+made(first), second.told)
	for _, changed := range otherArguments(t, c) {
		if !call(one, changed, t.Key()).ok {
			continue
		}
		if o := call(two, changed, key); o.known {
			t.Judge("mcp-tools.key-conflict", !o.ok, "a refusal of other arguments under the key", o.told)
		}
		break
	}
	t.NotApplicable("mcp-tools.key-conflict", "no other arguments are known to be taken")
}
