package diff

import (
	"fmt"
	"slices"
	"strings"
)

// Rule is one kind of change.
type Rule struct {
	ID      string // stable
	Side    Side
	Why     string  // whom it hits, in a sentence
	Grades  []Grade // those that it can have
	Sealed  bool    // it takes no override: money, units, effects and authority need a bump
	Example string  // "" where the id says it
	method  bool
}

// Rules lists every rule: those of operations, those of schemas by direction, those of meaning.
func Rules() []Rule {
	out := structural()
	for _, k := range keywords() {
		for _, dir := range []direction{request, response, both} {
			edits := k.edits
			if edits == nil {
				edits = []relation{narrowed, widened}
			}
			for _, rel := range edits {
				out = append(out, schemaRule(dir, k, rel))
			}
		}
	}
	out = append(out, openRules()...)
	for _, m := range meanings() {
		for _, e := range m.edits() {
			out = append(out, Rule{ID: m.rule(e.name), Side: m.side, Why: m.why, Grades: e.grades, Sealed: m.sealed, method: m.method})
		}
	}
	return out
}

// schemaRule words one relation of one keyword for one direction.
func schemaRule(dir direction, k keyword, rel relation) Rule {
	r := Rule{ID: string(dir) + "." + k.name + "." + string(rel), Side: Client, Grades: []Grade{dir.grade(rel)}}
	switch {
	case rel == changed:
		r.Grades = []Grade{Breaking, Review}
		r.Why = fmt.Sprintf("It depends on the values whether %s still fits; a witness decides it where there is one.", k.says)
	case dir == request && rel == narrowed:
		r.Why = fmt.Sprintf("A request that was accepted is refused: the contract restricts %s further.", k.says)
	case dir == request:
		r.Side, r.Why = Server, fmt.Sprintf("Every request that was accepted still is: the contract restricts %s less.", k.says)
	case dir == response && rel == widened:
		r.Why = fmt.Sprintf("A reader meets what could not come before: the contract restricts %s less.", k.says)
	case dir == response:
		r.Side, r.Why = Server, fmt.Sprintf("Every answer that comes now could have come before: the contract restricts %s further.", k.says)
	default:
		r.Why = fmt.Sprintf("The value goes both ways, so either side may meet what it does not know: the contract changes %s.", k.says)
	}
	if k.name == "properties" {
		r = propertyRule(dir, rel, r)
	}
	if k.name == "x-extensible-enum" {
		r.Grades = map[relation][]Grade{narrowed: {Review}, widened: {Compatible}, changed: {Review}}[rel]
	}
	if k.name == "enum" && rel == widened && dir != request {
		r.Grades = []Grade{Breaking, Compatible}
		r.Why = "A reader that knows every value meets one that it does not know; an open enum may grow, a closed one may not."
	}
	if dir == both {
		r.Grades = []Grade{Review, Compatible} // no operation leads there
	}
	return r
}

func propertyRule(dir direction, rel relation, r Rule) Rule {
	r.Side = Client
	switch {
	case rel == narrowed && dir == request:
		r.Grades, r.Why = []Grade{Breaking, Review}, "A client that sends the member is refused, or no longer heeded."
	case rel == narrowed:
		r.Grades, r.Why = []Grade{Breaking}, "A client that reads the member finds nothing."
	case rel == widened && dir == request:
		r.Grades, r.Why = []Grade{Compatible}, "A request without the new member is as good as before."
	case rel == widened:
		r.Grades, r.Why = []Grade{Breaking, Compatible}, "A reader of an open object passes over a new member; one of a closed object was told that there is none."
	}
	return r
}

// openRules are the rules of schemas that are no keyword of their own.
func openRules() []Rule {
	var out []Rule
	for _, dir := range []direction{request, response, both} {
		for _, rel := range []relation{narrowed, widened} {
			out = append(out, schemaRule(dir, keyword{name: "schema", says: "the value"}, rel))
		}
		for _, edit := range []string{"added", "removed", "changed"} {
			g := []Grade{Breaking}
			if dir == response {
				g = []Grade{Doc}
			} else if edit == "added" || dir == both {
				g = []Grade{Review}
			}
			out = append(out, Rule{ID: string(dir) + ".default." + edit, Side: Client, Grades: g, method: true, Why: "A request that leaves the member out means something else."})
		}
		out = append(out, Rule{ID: string(dir) + ".witness", Side: Client, Grades: []Grade{map[direction]Grade{request: Breaking, response: Breaking, both: Review}[dir]},
			Why: "No rule tells what this edit does, but a value that fitted, or that could not come, shows it."})
	}
	return append(out,
		Rule{ID: "schema.words", Side: Client, Grades: []Grade{Doc}, Why: "Only words for people."},
		Rule{ID: "schema.deprecated", Side: Client, Grades: []Grade{Compatible}, Why: "It still works; clients are asked to leave it."},
		Rule{ID: "schema.readOnly", Side: Client, Grades: []Grade{Review}, Why: "Whoever sends the member is refused or not heeded, as the server likes."},
		Rule{ID: "schema.writeOnly", Side: Client, Grades: []Grade{Review}, Why: "Whoever reads the member may find nothing."},
		Rule{ID: "schema.unknown", Side: Client, Grades: []Grade{Review}, Why: "No rule knows this keyword, so somebody has to look at it."},
		Rule{ID: "extension.unknown", Side: Client, Grades: []Grade{Review}, Why: "An extension that is not known here may mean anything, so somebody has to look at it."},
		Rule{ID: "x-assay.unknown", Side: Client, Grades: []Grade{Review}, Why: "This member of x-assay is not known here, so somebody has to look at it."},
	)
}

func structural() []Rule {
	one := func(id string, side Side, g Grade, why string) Rule {
		return Rule{ID: id, Side: side, Grades: []Grade{g}, Why: why}
	}
	return []Rule{
		one("operation.gone", Client, Breaking, "A client that calls it gets 404 or 405."),
		one("operation.new", Client, Compatible, "Nobody calls it yet."),
		one("operation.moved", Client, Breaking, "A client that calls the old address gets 404 or 405."),
		one("operation.id", Client, Breaking, "Generated clients, tool maps and links name the operation by its id."),
		one("operation.deprecated", Client, Compatible, "It still works; clients are asked to leave it."),
		one("operation.words", Client, Doc, "Only words for people."),
		one("operation.unknown", Client, Review, "No rule knows this member, so somebody has to look at it."),
		one("parameter.gone", Client, Breaking, "A client that sends it is refused, or no longer heeded."),
		one("parameter.new", Client, Compatible, "A request without it is as good as before."),
		one("parameter.new-required", Client, Breaking, "A request without it is refused."),
		one("parameter.required", Client, Breaking, "A request without it is refused."),
		one("parameter.optional", Client, Compatible, "A request with it is as good as before."),
		one("parameter.renamed", Client, Review, "The address is the same, but generated clients name the argument after it."),
		one("parameter.serialization", Client, Breaking, "The value is written in another way than it is read."),
		one("parameter.unknown", Client, Review, "No rule knows this member, so somebody has to look at it."),
		one("body.new", Client, Compatible, "A request without a body is as good as before."),
		one("body.new-required", Client, Breaking, "A request without a body is refused."),
		one("body.required", Client, Breaking, "A request without a body is refused."),
		one("body.optional", Client, Compatible, "A request with a body is as good as before."),
		one("body.gone", Client, Breaking, "A client that sends a body is refused, or no longer heeded."),
		one("media.gone", Client, Breaking, "A client that sends or asks for this media type is refused."),
		one("media.new", Client, Compatible, "Nobody asks for it yet."),
		one("media.encoding", Client, Review, "The parts of the body are written in another way."),
		one("media.unknown", Client, Review, "No rule knows this member, so somebody has to look at it."),
		one("answer.gone", Client, Breaking, "A client waits for this status and gets another."),
		one("answer.new", Client, Review, "A client may take the new status for something else."),
		one("answer.refusal-gone", Client, Compatible, "A client that handles the refusal no longer meets it."),
		one("answer.refusal-new", Client, Compatible, "A client treats an unknown refusal by its class (RFC 9110 §15)."),
		one("answer.body-gone", Client, Breaking, "A client that reads the answer finds nothing."),
		one("answer.body-new", Client, Compatible, "A client that reads nothing passes over it."),
		one("answer.links", Client, Review, "A client that follows the links goes elsewhere."),
		one("header.gone", Client, Breaking, "A client that reads the header finds nothing."),
		one("header.new", Client, Compatible, "A client passes over headers that it does not know."),
		one("header.optional", Client, Breaking, "A client that relies on the header may find nothing."),
		one("header.always", Client, Compatible, "A client that copes without the header is as well off."),
		{ID: "security.tightened", Side: Client, Grades: []Grade{Breaking}, Sealed: true, Why: "A credential that was enough no longer is."},
		one("security.loosened", Server, Review, "Somebody gets in who did not before."),
		{ID: "security.scheme", Side: Client, Grades: []Grade{Breaking}, Sealed: true, Why: "The credential is carried in another way."},
		one("security.scheme-new", Client, Compatible, "Nobody uses it yet."),
		one("security.scheme-gone", Client, Review, "Operations that need it are told apart; this is the definition."),
		one("security.scheme-unknown", Client, Review, "No rule knows this member, so somebody has to look at it."),
		one("security.flows", Client, Review, "Tokens are got from elsewhere, or scopes are named otherwise."),
		one("document.servers", Client, Review, "Clients that take the address from the document go elsewhere."),
		one("document.version", Client, Doc, "The version says so."),
		one("document.unknown", Client, Review, "No rule knows this member, so somebody has to look at it."),
		one("tool.gone", Agent, Breaking, "An agent that knows the tool by its name cannot call it; a rename that keeps no alias is no better."),
		one("tool.new", Agent, Compatible, "No agent knows it yet."),
		one("tool.revision-new", Agent, Compatible, "The old revision is still there for whoever pins it."),
		one("tool.revision-gone", Agent, Breaking, "Whoever pins the revision no longer finds it."),
		{ID: "tool.hint", Side: Agent, Grades: []Grade{Breaking, Review}, Why: "A client decides by the hint whether to ask people before it calls the tool."},
		one("tool.description", Agent, Review, "A model chooses and fills the tool by its description."),
		one("tool.unknown", Agent, Review, "No rule knows this member, so somebody has to look at it."),
		one("requirement.gone", Client, Breaking, "A promise is dropped, and with it what was judged by it."),
		one("requirement.new", Server, Compatible, "A promise more; whoever relied on the old ones still can."),
	}
}

// kind of edit with the grades that it may have.
type editGrades struct {
	name   string
	grades []Grade
}

// edits are those that a row judges. An element, and an entry of a mapping, only comes or goes.
func (m meaning) edits() []editGrades {
	out := []editGrades{}
	add := func(name string, g Grade, more ...Grade) {
		if g != "" {
			out = append(out, editGrades{name, append([]Grade{g}, more...)})
		}
	}
	if m.form == mapping {
		return nil
	}
	var more []Grade
	if strings.HasPrefix(m.path, "property.states.") { // it depends on whether the machine is open
		more = slices.DeleteFunc([]Grade{Compatible, Review}, func(g Grade) bool { return g == m.added })
	}
	add("added", m.added, more...)
	add("removed", m.removed, more...)
	switch {
	case m.form != value:
	case m.weigh != nil:
		add("changed", Breaking, Review, Compatible)
	default:
		add("changed", m.changed)
	}
	return out
}
