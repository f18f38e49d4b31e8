package spec

import (
	"slices"
	"strconv"

	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// collectionLimit settles the page size: what the trait says, else what the parameter's schema says,
// else the profile. A profile's limit does not apply to a collection without such a parameter.
func (l *loader) collectionLimit(op *Operation, x *tree.Node) {
	if op.Collection == nil || op.Collection.Limit == nil {
		return
	}
	limit := op.Collection.Limit
	written := x.Get("collection").Get("limit")
	p := op.param("query", limit.Param)
	if p == nil {
		if written == nil {
			op.Collection.Limit = nil
		}
		return
	}
	if p.Schema == nil {
		return
	}
	for key, bound := range map[string]struct {
		keyword string
		value   *int
	}{"min": {"minimum", &limit.Min}, "max": {"maximum", &limit.Max}, "default": {"default", &limit.Default}} {
		n, ok := number(p.Schema, bound.keyword)
		switch said := written.Get(key); {
		case !ok:
		case said == nil:
			*bound.value = n
		case *bound.value != n:
			l.problem(said, "", "collection.limit.%s is %d, and the parameter %q has %s %d", key, *bound.value, limit.Param, bound.keyword, n)
		}
	}
}

// number reads an integer keyword of a schema.
func number(s *schema.Schema, keyword string) (int, bool) {
	for _, m := range parts(s, s.Raw()) {
		if v, ok := m[keyword]; ok {
			n, err := strconv.Atoi(compactJSON(v))
			return n, err == nil
		}
	}
	return 0, false
}

func compactJSON(v any) string { return string(tree.FromValue(v).JSON()) }

func (l *loader) checkCollection(op *Operation, c *Collection) {
	where := func(path ...string) *tree.Node { return l.where(op, append([]string{"collection"}, path...)...) }
	if c.Cursor.IsZero() || c.Items == "" || c.Next == "" {
		l.problem(where(), "set items, next and cursor, or a profile for the document", "collection does not say where items and cursor are")
		return
	}
	l.expression(where("cursor"), "collection.cursor", op, c.Cursor)
	l.limit(where("ttl"), "collection.ttl", c.TTL)
	l.shown(where("next"), "collection.next", op, c.Next)
	if c.Limit != nil && op.param("query", c.Limit.Param) == nil {
		l.problem(where("limit"), "declare the parameter", "collection.limit names the parameter %q, which %s does not have", c.Limit.Param, op.ID)
	}
	items, s, how := op.inSuccess(c.Items)
	switch {
	case how == absent:
		l.problem(where("items"), "", "collection.items is %s, and no success answer of %s has that", c.Items, op.ID)
	case how == described && !isArray(s, items):
		l.problem(where("items"), "", "collection.items is %s, which is no array in the answer of %s", c.Items, op.ID)
	case how == described:
		l.checkItems(op, c, where)
	}
	l.checkWalk(op, c, where)
}

// checkItems looks for the members that a collection promises of its items.
func (l *loader) checkItems(op *Operation, c *Collection, where func(...string) *tree.Node) {
	item := func(n *tree.Node, trait string, p tree.Pointer) {
		if _, _, how := op.inSuccess(c.Items.Append("*").Join(p)); how == absent {
			l.problem(n, "", "%s is %s, and the items of %s have no such member", trait, p, op.ID)
		}
	}
	item(where("id"), "collection.id", c.ID)
	for _, f := range c.Filters {
		item(where("filters", f.Param, "member"), "collection.filters."+f.Param+".member", f.Member)
	}
	if c.Order != nil {
		for _, v := range c.Order.Values {
			item(where("order", "values", v.Value, "by"), "collection.order.values."+v.Value+".by", v.By)
		}
	}
}

// checkWalk checks the parameters that a collection names.
func (l *loader) checkWalk(op *Operation, c *Collection, where func(...string) *tree.Node) {
	declared := func(n *tree.Node, trait, in, name string) {
		if name != "" && op.param(in, name) == nil {
			l.problem(n, "declare the parameter", "%s names the %s parameter %q, which %s does not have", trait, in, name, op.ID)
		}
	}
	for _, f := range c.Filters {
		declared(where("filters", f.Param), "collection.filters", "query", f.Param)
	}
	if o := c.Order; o != nil {
		declared(where("order", "param"), "collection.order", "query", o.Param)
		known := func(v OrderValue) bool { return v.Value == o.Default }
		if !slices.ContainsFunc(o.Values, known) {
			l.problem(where("order", "default"), "", "collection.order.default is %q, which is none of its values", o.Default)
		}
	}
	if i := c.Isolate; i != nil {
		declared(where("isolate"), "collection.isolate", "query", i.Param)
		declared(where("isolate"), "collection.isolate", "path", i.Path)
	}
}

func (l *loader) checkJob(op *Operation, j *Job) {
	where := func(path ...string) *tree.Node { return l.where(op, append([]string{"job"}, path...)...) }
	if j.Accepted == 0 || j.ID.IsZero() || j.State == "" {
		l.problem(where(), "set accepted, id and state, or a profile for the document", "job does not say how it is admitted and where its state is")
		return
	}
	if op.Answer(j.Accepted) == nil {
		l.problem(where("accepted"), "", "job.accepted is %d, which %s does not document", j.Accepted, op.ID)
	}
	l.expression(where("id"), "job.id", op, j.ID)
	l.expression(where("statusUrl"), "job.statusUrl", op, j.StatusURL)
	l.named(where("cancel"), "job.cancel", j.Cancel)
	l.named(where("artifact"), "job.artifact", j.Artifact)
	read := l.named(where("read"), "job.read", j.Read)
	if read == nil {
		return
	}
	l.shown(where("result"), "job.result", read, j.Result)
	l.shown(where("error"), "job.error", read, j.Error)
	raws, s, how := read.inSuccess(j.State)
	if how == absent {
		l.problem(where("state"), "", "job.state is %s, and no success answer of %s has that", j.State, read.ID)
		return
	}
	machine := statesIn(s, raws)
	if machine == nil {
		l.problem(where("state"), "add x-assay: {states: …} to that property", "job.state is %s of %s, which has no states", j.State, read.ID)
		return
	}
	for _, end := range []struct{ key, state string }{{"success", j.Success}, {"failure", j.Failure}, {"cancelled", j.Cancelled}} {
		if end.state != "" && !slices.Contains(machine.Terminal, end.state) {
			l.problem(where(end.key), suggest(end.state, machine.Terminal), "job.%s is %q, which is no terminal state of %s", end.key, end.state, machine.Resource)
		}
	}
}

// checkSchemas checks the promises beside schemas and parameters.
func (l *loader) checkSchemas() {
	check := func(n *tree.Node) {
		x := n.Get("x-assay")
		if x == nil {
			return
		}
		t := propertyTraits(object{x})
		if t.Ref != nil {
			l.checkRef(x.Get("ref"), t.Ref)
		}
		if t.States != nil {
			l.checkStates(n, x.Get("states"), t.States)
		}
		if t.Money != nil {
			for key, p := range map[string]string{"amount": t.Money.Amount, "asset": t.Money.Asset, "scale": t.Money.Scale} {
				l.inSchema(n.Pointer, x.Get("money").Get(key), "money."+key, tree.Pointer(p))
			}
		}
		if t.ToolInput != "" {
			parent, _ := n.Pointer.Parent()
			parent, _ = parent.Parent()
			l.inSchema(parent, x.Get("toolInput"), "toolInput", t.ToolInput)
		}
	}
	schema.Walk(l.c.Raw, schema.Sites{Schema: check, Parameter: check})
}

// inSchema reports a pointer that leads nowhere from the schema at a place of the document.
func (l *loader) inSchema(at tree.Pointer, n *tree.Node, trait string, p tree.Pointer) {
	s, err := l.c.Schemas.At(at)
	if err != nil {
		return // not a schema: a parameter's own x-assay has no siblings
	}
	if _, how := find(s, s.Raw(), p); how != described {
		l.problem(n, "", "%s is %s, and the object has no such member", trait, p)
	}
}

func (l *loader) checkRef(n *tree.Node, r *Ref) {
	from := l.named(n.Get("from"), "ref.from", r.From)
	switch {
	case from == nil:
	case r.At != "":
		l.shown(n.Get("at"), "ref.at", from, r.At)
	case from.Creates == nil && from.Collection == nil:
		l.problem(n.Get("from"), "say where with at", "ref.from names %s, which neither creates nor lists, so it has no id of its own", from.ID)
	case !yields(from, r.Resource):
		l.problem(n, "", "ref names the resource %q, and %s does not yield one", r.Resource, from.ID)
	}
}

func yields(op *Operation, resource string) bool {
	return op.Creates != nil && op.Creates.Resource == resource || op.Collection != nil && op.Collection.Resource == resource
}

// All are the states of a machine, in order of name.
func (s *States) All() []string {
	all := append([]string{s.Initial}, s.Terminal...)
	for from, to := range s.Transitions {
		all = append(append(all, from), to...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (l *loader) checkStates(property, n *tree.Node, s *States) {
	known := s.Terminal
	for _, m := range n.Get("transitions").Members {
		known = append(known[:len(known):len(known)], m.Key)
	}
	enum, listed := l.enumOf(property)
	if listed {
		known = enum
	}
	unknown := func(n *tree.Node, what, state string) {
		if !slices.Contains(known, state) {
			l.problem(n, suggest(state, known), "%s is %q, which is no state of %s", what, state, s.Resource)
		}
	}
	unknown(n.Get("initial"), "states.initial", s.Initial)
	for _, t := range s.Terminal {
		unknown(n.Get("terminal"), "a terminal state", t)
		if len(s.Transitions[t]) > 0 {
			l.problem(n.Get("transitions").Get(t), "", "the terminal state %q of %s has exits", t, s.Resource)
		}
	}
	for _, m := range n.Get("transitions").Members {
		unknown(m.Value, "a state with transitions", m.Key)
		for _, to := range s.Transitions[m.Key] {
			unknown(m.Value, "the end of a transition from "+quote(m.Key), to)
		}
		if len(s.Transitions[m.Key]) == 0 && !slices.Contains(s.Terminal, m.Key) {
			l.problem(m.Value, "list it under terminal", "the state %q of %s has no exits and is not terminal", m.Key, s.Resource)
		}
	}
	for _, m := range orEmpty(n.Get("meaning")).Members {
		unknown(m.Value, "a state with a meaning", m.Key)
	}
	if s.Open || !listed {
		return
	}
	for _, e := range enum {
		if !slices.Contains(s.All(), e) {
			l.problem(n, "", "the enum has %q, and the states of %s do not", e, s.Resource)
		}
	}
}

// enumOf lists the strings of a property's enum, its own or that of what it refers to.
func (l *loader) enumOf(property *tree.Node) ([]string, bool) {
	s, err := l.c.Schemas.At(property.Pointer)
	if err != nil {
		return nil, false
	}
	for _, m := range parts(s, s.Raw()) {
		if values, ok := m["enum"].([]any); ok {
			var out []string
			for _, v := range values {
				if t, ok := v.(string); ok {
					out = append(out, t)
				}
			}
			return out, true
		}
	}
	return nil, false
}
