package core

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"assay.kit/reference/core/idem"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// Do implements Domain: JSON, key, schema, key lookup, then what the operation does. Whatever is
// refused before admission leaves no trace.
func (c *Core) Do(ctx context.Context, r Request) (Answer, *Problem) {
	r.Now = c.clock.Now()
	if r.Header == nil {
		r.Header = func(string) string { return "" }
	}
	if p := c.decodeBody(&r); p != nil {
		return Answer{}, p
	}
	key, p := c.key(&r)
	if p != nil {
		return Answer{}, p
	}
	b := c.behaviours[r.Op.ID]
	reads := r.Op.Method == http.MethodGet || r.Op.Idempotency == nil && b.Read != nil
	if reads {
		if p := c.validate(&r); p != nil {
			return Answer{}, p
		}
		return c.read(ctx, b, &r)
	}
	return c.write(ctx, b, &r, key)
}

// decodeBody sets r.Value from r.Body.
func (c *Core) decodeBody(r *Request) *Problem {
	empty := len(bytes.TrimSpace(r.Body)) == 0
	if r.Op.Body == nil {
		if empty || r.Op.Method == http.MethodGet {
			return nil
		}
		return c.invalid(InvalidRequest, "This operation takes no body.", []Violation{{"", "false", "must not be there"}})
	}
	if empty {
		if r.Op.Body.Required {
			return c.Refuse(InvalidJSON, "The body is empty; a JSON value is needed.")
		}
		return nil
	}
	v, err := c.rules.Decode(r.Body)
	if err != nil {
		return c.Refuse(InvalidJSON, "The body is not acceptable JSON: "+err.Error()+".")
	}
	r.Value = v
	return nil
}

// key reads the idempotency key; "" if the operation has none or the caller may leave it out.
func (c *Core) key(r *Request) (string, *Problem) {
	t := r.Op.Idempotency
	if t == nil {
		return "", nil
	}
	key := c.located(r, t.Key)
	switch {
	case key == "" && !t.Required:
		return "", nil
	case key == "":
		return "", c.refusal(t.Missing, KeyRequired, "This operation needs an idempotency key ("+t.Key.Name+").")
	case !c.rules.Key(t, key):
		return "", c.Refuse(InvalidParameter, "The idempotency key must be printable ASCII and not too long.")
	}
	return key, nil
}

// located is the text at a place in the request, "" if it is not there.
func (c *Core) located(r *Request, e spec.Expr) string {
	switch e.Part {
	case "header":
		return r.Header(e.Name)
	case "query":
		return r.Query.Get(e.Name)
	case "path":
		return r.Path[e.Name]
	case "body":
		return stringAt(r.Value, e.Pointer)
	}
	return ""
}

// validate judges path, query, header parameters and the body against their schemas.
func (c *Core) validate(r *Request) *Problem {
	if p := c.validatePath(r); p != nil {
		return p
	}
	if vs := c.rules.ValidateQuery(r.Op, r.Query); len(vs) > 0 {
		return c.invalid(InvalidParameter, "A query parameter breaks the contract.", vs)
	}
	if vs := c.validateHeaders(r); len(vs) > 0 {
		return c.invalid(InvalidParameter, "A header parameter breaks the contract.", vs)
	}
	if r.Op.Body == nil || r.Value == nil && len(bytes.TrimSpace(r.Body)) == 0 {
		return nil
	}
	vs := c.rules.ValidateBody(r.Op, r.Value)
	if len(vs) == 0 {
		vs = c.validateInputs(r)
	}
	if len(vs) > 0 {
		return c.invalid(InvalidRequest, "The body breaks the schema of the operation.", vs)
	}
	return nil
}

// validatePath answers an id that can name nothing as one that names nothing, unless the contract
// documents a 400 for the operation.
func (c *Core) validatePath(r *Request) *Problem {
	var vs []Violation
	for i, p := range r.Op.Params {
		if p.In == "path" {
			vs = append(vs, validateText(&r.Op.Params[i], r.Path[p.Name])...)
		}
	}
	switch {
	case len(vs) == 0:
		return nil
	case r.Op.Answers[http.StatusBadRequest] == nil:
		return c.unknown()
	default:
		return c.invalid(InvalidParameter, "A path parameter breaks the contract.", vs)
	}
}

func (c *Core) validateHeaders(r *Request) []Violation {
	var vs []Violation
	for i, p := range r.Op.Params {
		if p.In != "header" || c.isKey(r.Op, p.Name) {
			continue
		}
		switch v := r.Header(p.Name); {
		case v != "":
			vs = append(vs, validateText(&r.Op.Params[i], v)...)
		case p.Required:
			vs = append(vs, Violation{pointerTo(p.Name), "required", "the header is missing"})
		}
	}
	return vs
}

func (c *Core) isKey(op *spec.Operation, header string) bool {
	return op.Idempotency != nil && op.Idempotency.Key.Part == "header" && strings.EqualFold(op.Idempotency.Key.Name, header)
}

// validateInputs judges members whose schema is that of the tool that a sibling names, in its latest
// revision. A tool that does not exist is a reference that does not resolve, which comes later.
func (c *Core) validateInputs(r *Request) []Violation {
	for _, in := range c.model.inputs[r.Op.ID] {
		v, there := tree.Get(r.Value, in.at)
		tool := c.model.tool(stringAt(r.Value, in.tool))
		if !there || tool == nil {
			continue
		}
		if vs := c.rules.ValidateInput(tool, v); len(vs) > 0 {
			return prefixed(in.at, vs)
		}
	}
	return nil
}

// read answers an operation without effect.
func (c *Core) read(ctx context.Context, b Behaviour, r *Request) (Answer, *Problem) {
	switch {
	case b.Read != nil:
		return b.Read(ctx, c, r)
	case r.Op.Collection != nil:
		return c.list(ctx, b, r)
	default:
		return c.readOne(ctx, r)
	}
}

// write judges a request with effect and admits it.
func (c *Core) write(ctx context.Context, b Behaviour, r *Request, key string) (Answer, *Problem) {
	a, p := c.admission(r, key)
	if p != nil {
		return Answer{}, p
	}
	if p := c.validate(r); p != nil {
		return Answer{}, c.refused(ctx, a, p)
	}
	if ans, done, p := c.lookup(ctx, a); done || p != nil {
		return ans, p
	}
	prepare := b.Prepare
	if prepare == nil {
		prepare = c.prepare
	}
	plan, p := prepare(ctx, c, r)
	if p != nil {
		return Answer{}, c.refused(ctx, a, p)
	}
	apply := b.Apply
	if apply == nil {
		apply = c.apply
	}
	a.Apply = func(w Writer) (Answer, *Problem) { return apply(c, w, r, plan) }
	ans, p, err := c.rules.Admit(ctx, c.store, a)
	switch {
	case err != nil:
		return Answer{}, c.failed(r.Op, err)
	case p != nil:
		return Answer{}, c.refused(ctx, a, p)
	}
	c.signal()
	return ans, nil
}

// failed answers an error of the store: a caller that went away gets what it would not see anyway.
func (c *Core) failed(op *spec.Operation, err error) *Problem {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return c.Refuse(Unavailable, "The request could not be carried out in time.")
	}
	return c.broken(op, err)
}

// admission prepares the atomic step of a request; Apply is set later.
func (c *Core) admission(r *Request, key string) (Admission, *Problem) {
	a := Admission{Op: r.Op, Request: r, Keyed: key != ""}
	if !a.Keyed {
		return a, nil
	}
	t := r.Op.Idempotency
	fingerprint, err := c.rules.Fingerprint(r)
	if err != nil {
		return a, c.Refuse(InvalidJSON, "The body has no canonical form: "+err.Error()+".")
	}
	identity := c.rules.Identity(t, r, idem.Source{
		Workspace: r.Principal.Workspace, Client: r.Principal.Client, Method: r.Op.Method,
		Path: c.rules.NormalizePath(r.EscapedPath), Key: key,
	})
	a.Identity = identity
	a.Lookup = func(rd Reader) (*Binding, error) {
		b, err := rd.Binding(identity)
		if errors.Is(err, ErrNotFound) {
			return nil, nil
		}
		return &b, err
	}
	a.Decide = func(b *Binding) idem.Decision {
		if b == nil {
			return c.rules.Decide(nil, fingerprint, r.Now)
		}
		return c.rules.Decide(&idem.Bound{Identity: b.Identity, Fingerprint: b.Fingerprint, Expires: b.Expires}, fingerprint, r.Now)
	}
	a.Replay = func(rd Reader, b Binding) (Answer, error) { return c.rules.Replay(rd, r.Op, b) }
	a.Conflict = func(b Binding) *Problem {
		return c.rules.Conflict(r.Op, b, c.refusal(t.Conflict, KeyConflict, "The idempotency key is bound to another payload."))
	}
	a.Bind = func(w Writer, ans Answer) (Answer, error) {
		b := Binding{Identity: identity, Fingerprint: fingerprint, Expires: c.rules.Expiry(r.Now, period(t.Retention, r.Principal.Limits))}
		if t.Expires.Part == "header" {
			ans.Header = with(ans.Header, t.Expires.Name, Timestamp(b.Expires))
		}
		b.Answer = ans
		if !c.rules.Stores(ans.Status) {
			return ans, nil
		}
		return ans, w.Bind(b)
	}
	return a, nil
}

// lookup answers from the binding before references and authority are judged: a replay must not
// depend on what has been used up or taken away since.
func (c *Core) lookup(ctx context.Context, a Admission) (ans Answer, done bool, p *Problem) {
	if !a.Keyed {
		return Answer{}, false, nil
	}
	err := c.store.View(ctx, func(r Reader) (err error) {
		ans, done, p, err = a.Bound(r)
		return err
	})
	if err != nil {
		return Answer{}, false, c.failed(a.Op, err)
	}
	return ans, done, p
}

// refused hands a refusal on. Should the rule store refusals, the key is bound to it.
func (c *Core) refused(ctx context.Context, a Admission, p *Problem) *Problem {
	if !a.Keyed || !c.rules.Stores(p.Status) {
		return p
	}
	err := c.store.Update(ctx, func(w Writer) error {
		mediaType, body := c.rules.Render(c.contract.Doc.Error, p, "")
		_, err := a.Bind(w, Answer{Status: p.Status, Header: map[string]string{"Content-Type": mediaType}, Body: body})
		return err
	})
	if err != nil {
		return c.failed(a.Op, err)
	}
	return p
}

func with(h map[string]string, name, value string) map[string]string {
	out := map[string]string{name: value}
	for k, v := range h {
		if k != name {
			out[k] = v
		}
	}
	return out
}

// prepare is the default Prepare: every reference resolves, and the machine allows the move.
func (c *Core) prepare(ctx context.Context, _ System, r *Request) (any, *Problem) {
	var p *Problem
	err := c.store.View(ctx, func(rd Reader) error {
		for _, ref := range r.Op.Refs {
			if p = c.resolve(rd, r, ref); p != nil {
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return nil, c.failed(r.Op, err)
	}
	if p == nil && c.unknownTool(r) {
		p = c.unknown()
	}
	return nil, p
}

// resolve judges one reference. Types that the contract neither creates nor lists are no resources
// of ours and stay unjudged.
func (c *Core) resolve(rd Reader, r *Request, ref spec.Ref) *Problem {
	if ref.Free || c.model.kinds[ref.Resource] == nil {
		return nil
	}
	var ids []string
	switch ref.In {
	case "path":
		ids = []string{r.Path[ref.Name]}
	case "query":
		ids = r.Query[ref.Name]
	default:
		for _, f := range ref.Values(r.Value) {
			id, _ := f.Value.(string)
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		if _, p := c.Find(rd, r.Principal, ref.Resource, id); p != nil {
			return p
		}
	}
	return nil
}

func (c *Core) unknownTool(r *Request) bool {
	return slices.ContainsFunc(c.model.inputs[r.Op.ID], func(in toolInput) bool {
		return c.model.tool(stringAt(r.Value, in.tool)) == nil
	})
}
