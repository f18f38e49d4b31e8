package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assay.kit/conformance/check"
	"assay.kit/conformance/oracle"
	"assay.kit/conformance/suite/mcp"
	"assay.kit/conformance/target"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// equivalence judges that the two faces of a target are one domain: what is sent through one is sent
// through the other too, and the answers are compared. A tool that is no face of an operation is left out.
func equivalence() []check.Check {
	return slices.Concat(equivalentCalls(), equivalentAuthority(), equivalentWork(), equivalentPages(), equivalentKeys())
}

func onBoth(more ...target.Capability) []target.Capability {
	return append([]target.Capability{target.MCP}, more...)
}

// Claims that several checks judge.
func acceptedAlike() check.Claim {
	return check.Claim{ID: "equivalence.accepted", Says: "One face takes arguments exactly if the other does."}
}

func refusedAlike() check.Claim {
	return check.Claim{ID: "equivalence.code", Says: "What both faces refuse they refuse for the same reason: a refusal of the tool shows the code that REST has for it."}
}

func equivalentCalls() []check.Check {
	compared := []check.Claim{
		acceptedAlike(),
		refusedAlike(),
		{ID: "equivalence.result", Says: "Both faces give the same result, but for what the contract lets vary: null is not absent, and order counts."},
		{ID: "equivalence.digits", Says: "Both faces spell every number of a result alike."},
	}
	return []check.Check{
		{
			ID:     "equivalence.examples",
			Does:   "Calls the tool with the catalog's inputs on MCP, and between two calls of the same on REST.",
			Claims: compared,
			Needs:  onBoth(), Cost: check.Cost{Requests: 200, Jobs: 3},
			Select: toolSubjects(hasTwin), Run: equivalentExamples,
		},
		{
			ID:     "equivalence.inputs",
			Does:   "Sends generated inputs, right and wrong ones, through both faces.",
			Claims: compared,
			Needs:  onBoth(), Cost: check.Cost{Requests: 300, Jobs: 3},
			Select: toolSubjects(hasTwin), Run: equivalentInputs,
		},
		{
			ID:     "equivalence.effects",
			Does:   "Creates by the tool, right and wrong, and counts what there is on REST.",
			Claims: []check.Claim{{ID: "equivalence.effects", Says: "A call that is taken makes one thing, that REST shows; a call that is refused makes none."}},
			Needs:  onBoth(), Cost: check.Cost{Requests: 100, Jobs: 1},
			Select: toolSubjects(countsEffects), Run: equivalentEffects,
		},
		{
			ID:     "equivalence.names",
			Does:   "Lists the tools and compares their names with the domain tools of REST.",
			Claims: []check.Claim{{ID: "equivalence.names", Says: "MCP lists the domain tools of REST, each under the one name that it has there, and the declared utilities: no other."}},
			Needs:  onBoth(), Cost: check.Cost{Requests: 20},
			Select: namedBothWays, Run: equivalentNames,
		},
	}
}

// faces is one call on both: a session, and how REST is asked.
type faces struct {
	t    *check.T
	role string
	s    *mcp.Session
}

// bothFaces opens a session as a role.
func bothFaces(t *check.T, role string) faces { return faces{t: t, role: role, s: mcp.Open(t, role)} }

// judged compares what a call comes to on both faces, REST being asked before and after. ok: both took it.
// Where the two answers of REST differ, time has passed or the call has made something, and that place says nothing.
func (f faces) judged(c toolCall) (ok bool) {
	t := f.t
	in, sayable := c.intent(f.role, "")
	if !sayable {
		return false
	}
	var before, after outcome
	var there outcome
	ask := func() outcome {
		free := mcpSlot(t, c.tool)
		defer free()
		one := in
		if c.op.Idempotency != nil {
			one = in.keyed(t.Key())
		}
		o := c.onREST(t, one)
		c.settled(t, in, o)
		return o
	}
	before = ask()
	func() {
		free := mcpSlot(t, c.tool)
		defer free()
		there = c.onMCP(f.s, "")
		c.settled(t, in, there)
	}()
	if !before.known || !there.known {
		return false
	}
	if before.ok != there.ok || !before.ok {
		after = before
		if before.ok != there.ok { // something may have changed meanwhile
			if after = ask(); after.ok != before.ok {
				return false
			}
		}
		f.refusals(after, there)
		return false
	}
	t.Judge("equivalence.accepted", true, "", "")
	after = ask()
	if after.ok {
		judgeSame(t, c, before, there, after)
	}
	return after.ok
}

// refusals compares two answers of which at most one is a result.
func (f faces) refusals(here, there outcome) {
	word := map[bool]string{true: "taken", false: "refused"}
	f.t.Judge("equivalence.accepted", here.ok == there.ok, word[here.ok]+" as on "+here.told, word[there.ok]+" on "+there.told)
	f.reasons(here, there)
}

// reasons compares the codes of two refusals. One by an error of the protocol need not show a code.
func (f faces) reasons(here, there outcome) {
	if here.ok || there.ok || len(here.codes) == 0 || len(there.codes) == 0 {
		return
	}
	f.t.Judge("equivalence.code", slices.Contains(there.codes, here.codes[0]), "code "+here.codes[0]+" as on "+here.told,
		fmt.Sprintf("%s on %s", strings.Join(there.codes, ", "), there.told))
}

// judgeSame compares results.
func judgeSame(t *check.T, c toolCall, before, there, after outcome) {
	open := differences(t, c.op, before.value, after.value)
	diff := beyond(differences(t, c.op, before.value, there.value), open)
	t.Judge("equivalence.result", len(diff) == 0, "the result that REST gives", different(before.value, there.value, diff))
	spelt := beyond(oracle.Respelled(before.value, there.value), append(volatileOf(t, c.op), open...))
	t.Judge("equivalence.digits", len(spelt) == 0, "numbers as REST spells them", different(before.value, there.value, spelt))
}

func volatileOf(t *check.T, op *spec.Operation) []string {
	var out []string
	for _, p := range append(append([]tree.Pointer{}, t.Contract().Doc.Volatile...), op.Volatile...) {
		out = append(out, string(p))
	}
	return out
}

// beyond leaves out places at or below others.
func beyond(found, known []string) []string {
	return slices.DeleteFunc(slices.Clone(found), func(p string) bool {
		return slices.ContainsFunc(known, func(k string) bool {
			return p == k || strings.HasPrefix(p, k+"/") || strings.HasPrefix(k, p+"/")
		})
	})
}

// different tells the first place at which two values differ.
func different(a, b any, at []string) string {
	if len(at) == 0 {
		return ""
	}
	show := func(v any) string {
		m, there := tree.Get(v, tree.Pointer(at[0]))
		if !there {
			return "nothing"
		}
		s := string(encode(m))
		return s[:min(len(s), 120)]
	}
	return fmt.Sprintf("at %s REST has %s and MCP %s (%d places)", at[0], show(a), show(b), len(at))
}

func equivalentExamples(_ context.Context, t *check.T, s check.Subject) {
	f := bothFaces(t, primary)
	n := 0
	for _, tool := range revisionsOf(t.Contract(), s.Tool.Name) {
		for i := range tool.Examples {
			if tool.Async && i > 0 {
				break // three jobs a tool are enough
			}
			if f.judged(exampleCall(t, tool, primary, i)) {
				n++
			}
		}
	}
	if n == 0 {
		unseen(t, "neither face takes an example of the tool")
	}
	t.NotApplicable("equivalence.code", "no example is refused with a code")
}

// unseen excuses what only a result shows.
func unseen(t *check.T, why string) {
	t.NotApplicable("equivalence.result", why)
	t.NotApplicable("equivalence.digits", why)
}

// namedBothWays is the endpoint of a contract that has a rule for the names of its domain tools.
func namedBothWays(c *spec.Contract) []check.Subject {
	if c.Doc.MCP == nil || len(c.Tools) == 0 {
		return nil
	}
	return []check.Subject{{Name: "endpoint"}}
}

func equivalentNames(_ context.Context, t *check.T, _ check.Subject) {
	listed, why := mcp.Walk(mcp.Open(t, primary))
	if why != "" {
		t.Inconclusive("the tools could not be listed: %s", why)
	}
	times := map[string]int{}
	for _, tool := range listed {
		times[tool.Name]++
	}
	known := map[string]bool{}
	for _, tool := range t.Contract().Tools {
		if known[tool.Name] {
			continue
		}
		known[tool.Name] = true
		t.Judge("equivalence.names", times[tool.Name] == 1, "the tool "+tool.Name+" once", fmt.Sprintf("%d times", times[tool.Name]))
		domain := tool.Domain
		if m := t.Contract().Doc.MCP; domain != "" && m.Prefix+strings.ReplaceAll(domain, ".", m.Separator) != domain {
			t.Judge("equivalence.names", times[domain] == 0, "no tool under the name of REST, "+domain, "one")
		}
	}
	for _, name := range sortedKeys(times) {
		t.Judge("equivalence.names", known[name], "tools of the contract only", name)
	}
}
