package spec

import (
	"maps"
	"slices"
	"strings"

	"assay.kit/spec/tree"
)

// crossCheck compares what the parts of the contract say of each other.
func (l *loader) crossCheck() {
	if l.c.Raw != nil {
		l.checkDocument()
		for _, op := range l.c.Ops {
			l.checkOperation(op)
		}
		l.checkSchemas()
	}
	l.checkTools()
	if len(l.problems) == 0 {
		l.structured()
	}
}

// where finds the node of an operation's x-assay member, or of the nearest that was written: a
// default of the profile has no line of its own.
func (l *loader) where(op *Operation, path ...string) *tree.Node {
	n := l.places[op.ID]
	for _, key := range append([]string{"x-assay"}, path...) {
		next := n.Get(key)
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

func (l *loader) docWhere(path ...string) *tree.Node {
	n := l.c.Raw
	for _, key := range append([]string{"x-assay"}, path...) {
		next := n.Get(key)
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

func (l *loader) operationIDs() []string {
	var ids []string
	for _, o := range l.c.Ops {
		ids = append(ids, o.ID)
	}
	return ids
}

// named returns the operation that a trait names, and reports one that does not exist; "" is nil.
func (l *loader) named(n *tree.Node, trait, id string) *Operation {
	if id == "" {
		return nil
	}
	op := l.c.Op(id)
	if op == nil {
		l.problem(n, suggest(id, l.operationIDs()), "%s names the operation %q, which does not exist", trait, id)
	}
	return op
}

// shown reports a member that none of an operation's 2xx answers has.
func (l *loader) shown(n *tree.Node, trait string, op *Operation, p tree.Pointer) {
	if op == nil || p == "" {
		return
	}
	if _, _, how := op.inSuccess(p); how == absent {
		l.problem(n, "", "%s is %s, and no success answer of %s has that", trait, p, op.ID)
	}
}

func (l *loader) limit(n *tree.Node, trait string, p Period) {
	if p.Limit == "" {
		return
	}
	var known []string
	if l.c.Doc.Connection != nil {
		known = slices.Sorted(maps.Keys(l.c.Doc.Connection.Limits))
	}
	if !slices.Contains(known, p.Limit) {
		l.problem(n, suggest(p.Limit, known), "%s is the limit %q, which connection.limits of the document does not have", trait, p.Limit)
	}
}

func (l *loader) checkDocument() {
	d := l.c.Doc
	var connection *Operation
	if d.Connection != nil {
		connection = l.named(l.docWhere("connection", "operation"), "connection", d.Connection.Operation)
		for _, name := range slices.Sorted(maps.Keys(d.Connection.Limits)) {
			l.shown(l.docWhere("connection", "limits", name), "the limit "+name, connection, d.Connection.Limits[name])
		}
		for _, name := range slices.Sorted(maps.Keys(d.Connection.Context)) {
			l.shown(l.docWhere("connection", "context", name), "the credential's "+name, connection, d.Connection.Context[name])
		}
	}
	if d.MCP != nil && d.MCP.Endpoint != "" {
		if connection == nil && d.Connection == nil {
			l.problem(l.docWhere("mcp", "endpoint"), "add connection", "mcp.endpoint is a member of the connection, and there is none")
		}
		l.shown(l.docWhere("mcp", "endpoint"), "mcp.endpoint", connection, d.MCP.Endpoint)
	}
	if d.MCP != nil && len(l.c.Tools) > 0 {
		for _, name := range d.MCP.Utilities {
			if !slices.ContainsFunc(l.c.Tools, func(t *Tool) bool { return t.Name == name }) {
				l.problem(l.docWhere("mcp", "utilities"), "", "mcp.utilities names the tool %q, which the catalog does not have", name)
			}
		}
	}
	l.checkErrors()
}

// checkErrors looks for the members of a refusal in the documented refusals.
func (l *loader) checkErrors() {
	e := l.c.Doc.Error
	if e == nil {
		return
	}
	for key, p := range map[string]tree.Pointer{"code": e.Code, "requestId": e.RequestID, "violations": e.Violations} {
		if p != "" && l.inRefusals(e.MediaType, p) == absent {
			l.problem(l.docWhere("error", key), "", "error.%s is %s, and no documented refusal has that", key, p)
		}
	}
}

func (l *loader) inRefusals(mediaType string, p tree.Pointer) presence {
	result := undescribed
	for _, op := range l.c.Ops {
		for status, a := range op.Answers {
			refusal := status == 0 || status == 4 || status == 5 || status >= 400
			if !refusal || a.Schema == nil || baseType(a.MediaType) != baseType(mediaType) {
				continue
			}
			_, how := findIn(a, p)
			if how == described {
				return described
			}
			if how == absent {
				result = absent
			}
		}
	}
	return result
}

// resources are the types that something creates, lists or gives states.
func (l *loader) resources() []string {
	var out []string
	for _, op := range l.c.Ops {
		if op.Creates != nil {
			out = append(out, op.Creates.Resource)
		}
		if op.Collection != nil {
			out = append(out, op.Collection.Resource)
		}
	}
	for _, s := range l.c.States {
		out = append(out, s.Resource)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (l *loader) checkOperation(op *Operation) {
	for _, p := range op.Volatile {
		l.shown(l.where(op, "volatile"), "volatile", op, p)
	}
	if op.Access != nil && op.Access.Follows != "" {
		if known := l.resources(); !slices.Contains(known, op.Access.Follows) {
			l.problem(l.where(op, "access", "follows"), suggest(op.Access.Follows, known), "access.follows names the resource %q, which nothing creates or lists", op.Access.Follows)
		}
	}
	if op.Creates != nil {
		l.checkCreates(op, op.Creates)
	}
	if op.Idempotency != nil {
		l.checkIdempotency(op, op.Idempotency)
	}
	if op.Collection != nil {
		l.checkCollection(op, op.Collection)
	}
	if op.Job != nil {
		l.checkJob(op, op.Job)
	}
	if op.Moves != nil {
		l.checkMoves(op, op.Moves)
	}
}

// expression checks where an expression points: a declared parameter, or a described member.
func (l *loader) expression(n *tree.Node, trait string, op *Operation, e Expr) {
	switch {
	case e.IsZero():
	case e.Side == "request" && e.Part == "body":
		if op.Body == nil || op.Body.Schema == nil {
			l.problem(n, "", "%s is %s, and %s takes no body", trait, e, op.ID)
		} else if _, how := find(op.Body.Schema, op.Body.Schema.Raw(), e.Pointer); how == absent {
			l.problem(n, "", "%s is %s, and the body of %s has no such member", trait, e, op.ID)
		}
	case e.Side == "request":
		if op.param(e.Part, e.Name) == nil {
			l.problem(n, "declare the parameter", "%s is %s, and %s has no such parameter", trait, e, op.ID)
		}
	case e.Part == "body":
		l.shown(n, trait, op, e.Pointer)
	}
}

// param returns a declared parameter; header names are compared without case.
func (o *Operation) param(in, name string) *Param {
	for i := range o.Params {
		p := &o.Params[i]
		if p.In == in && (p.Name == name || in == "header" && strings.EqualFold(p.Name, name)) {
			return p
		}
	}
	return nil
}

func (l *loader) checkCreates(op *Operation, c *Creates) {
	l.expression(l.where(op, "creates", "id"), "creates.id", op, c.ID)
	l.named(l.where(op, "creates", "read"), "creates.read", c.Read)
	list := l.named(l.where(op, "creates", "list"), "creates.list", c.List)
	switch {
	case list == nil:
	case list.Collection == nil:
		l.problem(l.where(op, "creates", "list"), "", "creates.list names %s, which is no collection", list.ID)
	case list.Collection.Resource != c.Resource:
		l.problem(l.where(op, "creates", "list"), "", "creates.list names %s, which lists %q, not %q", list.ID, list.Collection.Resource, c.Resource)
	}
}

func (l *loader) checkIdempotency(op *Operation, i *Idempotency) {
	if i.Key.IsZero() {
		l.problem(l.where(op, "idempotency"), "set key, or a profile for the document", "idempotency does not say where the key is")
	}
	l.expression(l.where(op, "idempotency", "key"), "idempotency.key", op, i.Key)
	l.limit(l.where(op, "idempotency", "retention"), "idempotency.retention", i.Retention)
}

func (l *loader) checkMoves(op *Operation, m *Moves) {
	machine := l.c.Machine(m.Resource)
	if machine == nil {
		l.problem(l.where(op, "moves", "resource"), "", "moves names the resource %q, which has no states", m.Resource)
		return
	}
	known := machine.All()
	if !slices.Contains(known, m.To) {
		l.problem(l.where(op, "moves", "to"), suggest(m.To, known), "moves.to is %q, which is no state of %s", m.To, m.Resource)
		return
	}
	for _, from := range m.From {
		switch {
		case !slices.Contains(known, from):
			l.problem(l.where(op, "moves", "from"), suggest(from, known), "moves.from has %q, which is no state of %s", from, m.Resource)
		case !slices.Contains(machine.Transitions[from], m.To):
			l.problem(l.where(op, "moves"), "", "moves goes from %q to %q, which is no transition of %s", from, m.To, m.Resource)
		}
	}
}

func (l *loader) checkTools() {
	for _, t := range l.c.Tools {
		n := l.tools[t]
		if len(l.c.Ops) > 0 && n.meta != nil {
			l.named(n.meta.Get("operation"), "the tool "+quote(t.Name), t.Operation)
		}
		mcp := l.c.Doc.MCP
		if mcp == nil || t.Domain == "" || mcp.Prefix == "" {
			continue
		}
		if want := mcp.Prefix + strings.ReplaceAll(t.Domain, ".", mcp.Separator); t.Name != want {
			l.problem(n.node, "", "the tool %q has the domain %q, so mcp says that it is called %q", t.Name, t.Domain, want)
		}
	}
}
