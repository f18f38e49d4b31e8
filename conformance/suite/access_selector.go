package suite

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"assay.kit/conformance/check"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// selectSelectable are the operations that take a body or read one resource, where the connection
// tells by which names a workspace and a client go.
func selectSelectable(c *spec.Contract) []check.Subject {
	cn := c.Doc.Connection
	if cn == nil || c.Op(cn.Operation) == nil {
		return nil
	}
	return only(subjects(c.Ops), func(s check.Subject) bool {
		creates := s.Op.Body != nil && s.Op.Creates != nil && s.Op.Moves == nil
		reads := s.Op.Method == http.MethodGet && s.Op.Collection == nil && pathRef(s.Op) != nil && madeByCallers(c, pathRef(s.Op).Resource)
		return creates || reads
	})
}

// selection is a way to ask for another workspace or principal.
type selection struct{ name, value string }

// selections are the members of the connection that tell two workspaces apart, with the value of the
// other; and the names that such members go by elsewhere.
func selections(t *check.T, op *spec.Operation) []selection {
	cn := t.Contract().Doc.Connection
	_, mine := connectionOf(t, t.Contract().Op(cn.Operation), primary)
	ex, theirs := connectionOf(t, t.Contract().Op(cn.Operation), otherWorkspace)
	other, ok := theirs.(map[string]any)
	if !ok {
		t.Inconclusive("the other workspace's connection could not be read: %s", describe(ex))
	}
	var out []selection
	add := func(name, value string) {
		known := op.Body != nil && len(schemasAt(op.Body.Schema, tree.PointerTo(name))) > 0
		if !known && !slices.Contains(out, selection{name, value}) {
			out = append(out, selection{name, value})
		}
	}
	for _, name := range sortedKeys(other) {
		was, _ := tree.Get(mine, tree.PointerTo(name))
		value, isText := other[name].(string)
		if !isText || text(was) == value {
			continue
		}
		add(name, value)
		if stem, cut := strings.CutSuffix(name, "_id"); cut {
			add(stem, value)
		}
	}
	if len(out) > maxSelections {
		out = out[:maxSelections]
	}
	return out
}

const maxSelections = 8

func runSelector(_ context.Context, t *check.T, s check.Subject) {
	names := selections(t, s.Op)
	if len(names) == 0 {
		t.NoneApply("the connections of two workspaces differ in no text")
		return
	}
	if s.Op.Method == http.MethodGet {
		selectReading(t, s.Op, names)
		return
	}
	selectCreating(t, s.Op, names)
}

// header is a field name for a member's name.
func (n selection) header() string { return "X-" + strings.ReplaceAll(n.name, "_", "-") }

// selectReading asks for a resource of the other workspace while naming that workspace.
func selectReading(t *check.T, op *spec.Operation, names []selection) {
	const claim = "access.selector"
	theirs := buildIntent(t, op, otherWorkspace, existing(t, op, otherWorkspace), 0)
	if ex := t.Call(otherWorkspace, theirs.request()); !admitted(ex) {
		t.Inconclusive("the other workspace itself was answered %s", describe(ex))
	}
	if ex := t.Call(primary, theirs.as(primary).request()); admitted(ex) {
		t.Inconclusive("the resource may be read without any selection, which access.foreign judges")
	}
	for _, n := range names {
		in := theirs.as(primary)
		in.query = map[string][]string{n.name: {n.value}}
		ex := t.Call(primary, in.request())
		t.Judge(claim, rejected(ex), "a refusal of what another workspace has, with "+n.name+" in the query", describe(ex))
		judgeUnknownParameter(t, op, n, ex)
		ex = t.Call(primary, withHeader(theirs.as(primary), n).request())
		t.Judge(claim, rejected(ex), "a refusal of what another workspace has, with header "+n.header(), describe(ex))
	}
}

// judgeUnknownParameter judges that a query parameter which the contract does not name is refused as that.
func judgeUnknownParameter(t *check.T, op *spec.Operation, n selection, ex wire.Exchange) {
	if slices.ContainsFunc(op.Params, func(p spec.Param) bool { return p.In == "query" && p.Name == n.name }) {
		return
	}
	t.Judge("access.selector-refused", rejected(ex), "a 4xx for the unknown parameter "+n.name, describe(ex))
}

func withHeader(in intent, n selection) intent {
	in.extra = append(slices.Clone(in.extra), wire.Field{Name: n.header(), Value: n.value})
	return in
}

// selectCreating creates while naming the other workspace: what is made is the caller's own, if
// anything is.
func selectCreating(t *check.T, op *spec.Operation, names []selection) {
	const claim = "access.selector"
	c := newCreation(t, op, specimens(t, op)[0])
	c.open()
	for _, n := range names {
		body := clone(c.in.body)
		put(body, tree.PointerTo(n.name), n.value)
		ex := c.send(c.in.with(body).keyed(t.Key()))
		t.Judge("access.selector-refused", rejected(ex) || !closedBody(op), "a 4xx for the unknown member "+n.name, describe(ex))
		c.judgeOwned(claim, ex, "with member "+n.name+" of another workspace")
		query := c.in.keyed(t.Key())
		query.query = map[string][]string{n.name: {n.value}}
		ex = c.send(query)
		judgeUnknownParameter(t, op, n, ex)
		c.judgeOwned(claim, ex, "with parameter "+n.name+" of another workspace")
	}
	in := c.in.keyed(t.Key())
	for _, n := range names {
		in = withHeader(in, n)
	}
	ex := c.send(in)
	c.judgeOwned(claim, ex, "with headers that name another workspace")
}

// closedBody reports whether an operation's body admits only the members that it names.
func closedBody(op *spec.Operation) bool {
	return keyword(op.Body.Schema, "", "additionalProperties") == false || keyword(op.Body.Schema, "", "unevaluatedProperties") == false
}

// judgeOwned judges that what an answer says was made, if it was, is where the caller reads.
func (c *creation) judgeOwned(claim string, ex wire.Exchange, how string) {
	if !admitted(ex) {
		c.t.Judge(claim, rejected(ex), "an answer "+how, describe(ex))
		return
	}
	id := createdID(c.op, ex)
	mine, ok := c.readBack(id)
	if !ok {
		c.t.Judge(claim, true, "", "") // what cannot be read back cannot be looked for elsewhere either
		return
	}
	c.t.Judge(claim, admitted(mine), c.op.Creates.Resource+" "+id+", made "+how+", for its caller to read", describe(mine))
	read := c.t.Contract().Op(c.op.Creates.Read)
	theirs := c.t.Call(otherWorkspace, reading(c.t, read, otherWorkspace, id))
	c.t.Judge(claim, !admitted(theirs), "nothing of it in the other workspace", describe(theirs))
}
