package spec

import (
	"strconv"

	"assay.kit/spec/tree"
)

// object reads the members of a validated x-assay object; what is absent reads as the zero value.
type object struct{ *tree.Node }

func (o object) obj(key string) (object, bool) {
	n := o.Get(key)
	return object{n}, n != nil && n.Kind == tree.Object
}

func (o object) flag(key string) bool {
	n := o.Get(key)
	return n != nil && n.Text == "true"
}

func (o object) num(key string) int {
	if n := o.Get(key); n != nil && n.Kind == tree.Number {
		i, _ := strconv.Atoi(n.Text) // the vocabulary asks for a small integer
		return i
	}
	return 0
}

func (o object) pointer(key string) tree.Pointer { return tree.Pointer(o.Str(key)) }

func (o object) list(key string) []string {
	var out []string
	if n := o.Get(key); n != nil {
		for _, it := range n.Items {
			out = append(out, it.Text)
		}
	}
	return out
}

func (o object) pointers(key string) []tree.Pointer {
	var out []tree.Pointer
	for _, s := range o.list(key) {
		out = append(out, tree.Pointer(s))
	}
	return out
}

// pointersByName reads an object whose members are pointers; never nil.
func (o object) pointersByName(key string) map[string]tree.Pointer {
	out := map[string]tree.Pointer{}
	if n := o.Get(key); n != nil {
		for _, m := range n.Members {
			out[m.Key] = tree.Pointer(m.Value.Text)
		}
	}
	return out
}

func (o object) refusal(key string) Refusal {
	r, _ := o.obj(key)
	return Refusal{Status: r.num("status"), Code: r.Str("code")}
}

func (o object) period(key string) Period {
	return Period{Seconds: o.num(key), Limit: o.Str(key)}
}

// expr reads a runtime expression; badExprs has reported one that does not parse.
func (o object) expr(key string) Expr {
	e, _ := ParseExpr(o.Str(key))
	return e
}

// decodeProperty reads the x-assay of a schema or parameter.
func decodeProperty(x map[string]any) PropertyTraits {
	if len(x) == 0 {
		return PropertyTraits{}
	}
	return propertyTraits(object{tree.FromValue(x)})
}

func propertyTraits(o object) PropertyTraits {
	t := PropertyTraits{
		Unit: o.Str("unit"), Open: o.flag("open"), Opaque: o.flag("opaque"), Volatile: o.flag("volatile"),
		ToolInput: o.pointer("toolInput"),
	}
	if r, ok := o.obj("ref"); ok {
		t.Ref = &Ref{Resource: r.Str("resource"), From: r.Str("from"), At: r.pointer("at"), Free: r.flag("free")}
	}
	if m, ok := o.obj("money"); ok {
		t.Money = &Money{Amount: m.Str("amount"), Asset: m.Str("asset"), Scale: m.Str("scale")}
	}
	if s, ok := o.obj("states"); ok {
		t.States = states(s)
	}
	return t
}

func states(o object) *States {
	s := &States{
		Resource: o.Str("resource"), Initial: o.Str("initial"), Terminal: o.list("terminal"), Open: o.flag("open"),
		Transitions: map[string][]string{}, Meaning: map[string]string{},
	}
	if moves, ok := o.obj("transitions"); ok {
		for _, m := range moves.Members {
			s.Transitions[m.Key] = moves.list(m.Key)
		}
	}
	if words, ok := o.obj("meaning"); ok {
		for _, m := range words.Members {
			s.Meaning[m.Key] = m.Value.Text
		}
	}
	return s
}

// operationTraits reads an operation's x-assay with the profile's defaults laid under each trait.
func operationTraits(o object, defaults *tree.Node) Traits {
	t := Traits{
		Authority: o.list("authority"), Effect: Effect(o.Str("effect")),
		Immutable: o.flag("immutable"), Volatile: o.pointers("volatile"),
	}
	trait := func(key string) (object, bool) {
		n, ok := o.obj(key)
		return object{under(n.Node, defaults.Get(key))}, ok
	}
	if a, ok := trait("access"); ok {
		t.Access = &Access{Foreign: a.Str("foreign"), Follows: a.Str("follows")}
	}
	if c, ok := trait("creates"); ok {
		t.Creates = &Creates{Resource: c.Str("resource"), ID: c.expr("id"), Read: c.Str("read"), List: c.Str("list")}
	}
	if i, ok := trait("idempotency"); ok {
		t.Idempotency = idempotency(i)
	}
	if c, ok := trait("collection"); ok {
		t.Collection = collection(c)
	}
	if j, ok := trait("job"); ok {
		t.Job = &Job{
			Accepted: j.num("accepted"), ID: j.expr("id"), StatusURL: j.expr("statusUrl"), Read: j.Str("read"), Cancel: j.Str("cancel"),
			State: j.pointer("state"), Result: j.pointer("result"), Artifact: j.Str("artifact"), Error: j.pointer("error"),
			Success: j.Str("success"), Failure: j.Str("failure"), Cancelled: j.Str("cancelled"),
		}
	}
	if m, ok := trait("moves"); ok {
		t.Moves = &Moves{Resource: m.Str("resource"), From: m.list("from"), To: m.Str("to")}
	}
	return t
}

func idempotency(o object) *Idempotency {
	return &Idempotency{
		Key: o.expr("key"), Required: o.flag("required"), MaxLength: o.num("maxLength"), Scope: o.list("scope"),
		Fingerprint: o.Str("fingerprint"), Conflict: o.refusal("conflict"), Missing: o.refusal("missing"),
		InFlight: o.Str("inFlight"), Replay: o.Str("replay"), Stores: o.Str("stores"), Retention: o.period("retention"),
		Expires: o.expr("expires"), AfterExpiry: o.Str("afterExpiry"),
	}
}

func collection(o object) *Collection {
	c := &Collection{
		Resource: o.Str("resource"), Items: o.pointer("items"), Next: o.pointer("next"), Cursor: o.expr("cursor"),
		ID: o.pointer("id"), Snapshot: o.Str("snapshot"), End: o.Str("end"),
		Invalid: o.refusal("invalid"), Expired: o.refusal("expired"), TTL: o.period("ttl"),
	}
	if l, ok := o.obj("limit"); ok {
		c.Limit = &PageLimit{Param: l.Str("param"), Min: l.num("min"), Max: l.num("max"), Default: l.num("default"), OutOfRange: l.Str("outOfRange")}
	}
	if ord, ok := o.obj("order"); ok {
		c.Order = &Order{Param: ord.Str("param"), Default: ord.Str("default")}
		values, _ := ord.obj("values")
		for _, m := range values.Members {
			v := object{m.Value}
			c.Order.Values = append(c.Order.Values, OrderValue{Value: m.Key, By: v.pointer("by"), Desc: v.flag("desc")})
		}
	}
	if fs, ok := o.obj("filters"); ok {
		for _, m := range fs.Members {
			f := object{m.Value}
			match := f.Str("match")
			if match == "" {
				match = "equal"
			}
			c.Filters = append(c.Filters, Filter{Param: m.Key, Member: f.pointer("member"), Match: match, Mutable: f.flag("mutable")})
		}
	}
	if i, ok := o.obj("isolate"); ok {
		c.Isolate = &Isolate{Path: i.Str("path"), Param: i.Str("param"), Member: i.pointer("member")}
		if t := i.Str("time"); t != "" {
			c.Isolate.Param, c.Isolate.Time = t, true
		}
	}
	return c
}

// docTraits reads the document's x-assay with the profile's defaults laid under it.
func docTraits(o object, defaults *tree.Node) DocTraits {
	o = object{under(o.Node, defaults.Get("document"))}
	d := DocTraits{Profile: o.Str("profile"), Volatile: o.pointers("volatile")}
	if e, ok := o.obj("environment"); ok {
		d.BaseURLEnv, d.TokenEnv = e.Str("baseUrl"), e.Str("token")
	}
	if e, ok := o.obj("error"); ok {
		d.Error = &ErrorTrait{MediaType: e.Str("mediaType"), Code: e.pointer("code"), RequestID: e.pointer("requestId"), Violations: e.pointer("violations")}
	}
	if c, ok := o.obj("connection"); ok {
		d.Connection = &Connection{Operation: c.Str("operation"), Limits: c.pointersByName("limits"), Context: c.pointersByName("context")}
	}
	if o.Str("correlation") != "" {
		e := o.expr("correlation")
		d.Correlation = &e
	}
	if b, ok := o.obj("backpressure"); ok {
		d.Backpressure = &Backpressure{Delay: b.expr("delay")}
		for _, it := range b.Get("statuses").Items {
			n, _ := strconv.Atoi(it.Text)
			d.Backpressure.Statuses = append(d.Backpressure.Statuses, n)
		}
	}
	if m, ok := o.obj("mcp"); ok {
		m = object{under(m.Node, defaults.Get("mcp"))}
		d.MCP = &MCP{Endpoint: m.pointer("endpoint"), Revision: m.Str("revision"), Prefix: m.Str("prefix"), Separator: m.Str("separator"), Envelope: m.pointer("envelope"), Utilities: m.list("utilities")}
	}
	if cs, ok := o.obj("codes"); ok {
		d.Codes = map[string]Refusal{}
		for _, m := range cs.Members {
			d.Codes[m.Key] = cs.refusal(m.Key)
		}
	}
	return d
}
