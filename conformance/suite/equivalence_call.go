package suite

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"assay.kit/conformance/check"
	"assay.kit/conformance/gen"
	"assay.kit/conformance/suite/mcp"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// toolCall is one call of a tool, ready to go out on either face.
type toolCall struct {
	tool  *spec.Tool
	op    *spec.Operation  // nil: the tool has no other face
	via   *spec.Invocation // nil: the tool is its operation's own face
	bound map[string]any   // members of the body that the connection binds
	args  any              // an object, unless a case sends something else on purpose
}

// exampleCall is a call with one of the tool's examples, with what it refers to made or found at the
// target under a role. A tool without examples gets the least that its schema takes.
func exampleCall(t *check.T, tool *spec.Tool, role string, example int) toolCall {
	c := toolCall{tool: tool, op: t.Contract().Op(tool.Operation)}
	if example < len(tool.Examples) {
		c.args = clone(tool.Examples[example].Value)
	} else {
		c.args = check.Draw(t, leastArguments(tool, t.Profile().Values), "arguments of "+tool.Name)
	}
	overrideValues(c.args, t.Profile().Values)
	if c.op == nil {
		return c
	}
	if c.via = t.Contract().Invocation(tool); c.via != nil {
		c.bound = boundBy(t, c.via, role)
		return c
	}
	args, isObject := c.args.(map[string]any)
	if !isObject {
		return c
	}
	in := buildIntent(t, c.op, role, map[string]string{}, 0)
	for name, v := range in.path {
		args[name] = v
	}
	for _, ref := range c.op.Refs {
		v, made := tree.Get(in.body, ref.Pointer)
		if _, there := tree.Get(args, ref.Pointer); ref.In == "body" && made && there {
			set(args, ref.Pointer, v)
		}
	}
	if tool.Key != nil && tool.Key.Argument != "" {
		delete(args, tool.Key.Argument)
	}
	return c
}

// leastArguments generates the smallest arguments that a tool takes.
func leastArguments(tool *spec.Tool, values map[string]any) *rapid.Generator[any] {
	if tool.Input == nil {
		return rapid.Just[any](map[string]any{})
	}
	return gen.Positive(tool.Input, gen.Options{RequiredOnly: true, Values: values})
}

// boundBy reads, once a run and role, what the connection binds a tool's invocation to.
func boundBy(t *check.T, via *spec.Invocation, role string) map[string]any {
	if via.Operation == nil || len(via.Connection) == 0 {
		return nil
	}
	v, err := t.Once("bound "+role, func() (any, error) {
		ex := t.Call(role, intent{op: via.Operation, role: role}.request())
		body, err := bodyOf(ex)
		if err != nil || !admitted(ex) {
			return nil, fmt.Errorf("%s, which names what tools run under, was answered %s", via.Operation.ID, describe(ex))
		}
		out := map[string]any{}
		for member, at := range via.Connection {
			if v, there := tree.Get(body, at); there {
				out[member] = v
			}
		}
		return out, nil
	})
	if err != nil {
		t.Inconclusive("%v", err)
	}
	bound, _ := v.(map[string]any)
	return bound
}

// with is the call with other arguments.
func (c toolCall) with(args any) toolCall {
	c.args = args
	return c
}

// intent is the call on REST, under a key; "" sends none. ok is false if it cannot be said there.
func (c toolCall) intent(role, key string) (in intent, ok bool) {
	in = intent{op: c.op, role: role, path: map[string]string{}, query: url.Values{}, key: key}
	if c.via != nil {
		body := map[string]any{lastToken(c.via.Input): c.args, lastToken(c.via.Tool): c.tool.Domain}
		for name, v := range c.bound {
			body[name] = v
		}
		in.body = body
		return in, true
	}
	rest, isObject := clone(c.args).(map[string]any)
	if !isObject {
		return in, false
	}
	for _, p := range c.op.Params {
		v, there := rest[p.Name]
		delete(rest, p.Name)
		switch {
		case !there && p.In == "path":
			return in, false
		case !there:
		case p.In == "path":
			in.path[p.Name] = text(v)
		case p.In == "query":
			in.query.Set(p.Name, text(v))
		}
	}
	if c.op.Body == nil {
		return in, len(rest) == 0
	}
	in.body = rest
	return in, true
}

// isParameter reports whether the operation reads an argument from its path or query, where it has no
// type: what is wrong with such a one on MCP may be right on REST.
func (c toolCall) isParameter(name string) bool {
	return c.via == nil && slices.ContainsFunc(c.op.Params, func(p spec.Param) bool { return p.Name == name })
}

// params are those of tools/call, with the business key where the tool takes it.
func (c toolCall) params(key string) map[string]any {
	params := map[string]any{"name": c.tool.Name, "arguments": c.args}
	if key == "" || c.tool.Key == nil {
		return params
	}
	if c.tool.Key.Meta != "" {
		params["_meta"] = map[string]any{c.tool.Key.Meta: key}
		return params
	}
	args, _ := clone(c.args).(map[string]any)
	if args == nil {
		return params
	}
	args[c.tool.Key.Argument] = key
	params["arguments"] = args
	return params
}

// outcome is what a call came to, on either face.
type outcome struct {
	ex       wire.Exchange
	ok       bool     // it was carried out
	known    bool     // false: a fault of the server or of the way to it, which says nothing
	protocol bool     // refused by an error of the protocol
	codes    []string // that the refusal shows
	value    any      // of its result
	told     string   // in a few words
}

// onREST sends the call on REST.
func (c toolCall) onREST(t *check.T, in intent) outcome {
	ex := t.Call(in.role, in.request())
	o := outcome{ex: ex, ok: admitted(ex), known: admitted(ex) || rejected(ex), told: "REST: " + describe(ex)}
	o.value, _ = bodyOf(ex)
	if rejected(ex) {
		if shown := code(t, ex); shown != "" {
			o.codes = []string{shown}
		}
	}
	return o
}

// mostWaits is how often a call that the server has no room for is tried again.
const mostWaits = 60

// onMCP sends the call in a session. A refusal that means "later" is honoured as on REST.
func (c toolCall) onMCP(s *mcp.Session, key string) outcome {
	for n := 0; ; n++ {
		ex, m := s.Call("tools/call", c.params(key))
		o := read(s.T, ex, m)
		if o.ok || !o.known || !o.means(s.T.Contract(), "rate_limited", "too_many_jobs", "unavailable") {
			return o
		}
		if n == mostWaits {
			s.T.Inconclusive("%s is still refused after %d waits: %s", c.tool.Name, n, o.told)
		}
		s.T.Pause(min(time.Second, time.Duration(n+1)*20*time.Millisecond))
	}
}

// means reports whether a refusal shows the contract's code of one of some kinds.
func (o outcome) means(c *spec.Contract, kinds ...string) bool {
	for _, k := range kinds {
		if r, ok := c.Doc.Codes[k]; ok && r.Code != "" && slices.Contains(o.codes, r.Code) {
			return true
		}
	}
	return false
}

// result is a CallToolResult as far as it is judged here.
type result struct {
	Structured json.RawMessage `json:"structuredContent"`
	Content    []struct {
		Type string
		Text *string
	}
	IsError bool
}

// value is the structured result, else the first text that is JSON.
func (r result) value() any {
	if v, err := schema.DecodeJSON(r.Structured); err == nil {
		return v
	}
	for _, v := range r.texts() {
		return v
	}
	return nil
}

// texts are the text items that are JSON, decoded.
func (r result) texts() []any {
	var out []any
	for _, item := range r.Content {
		if item.Type == "text" && item.Text != nil {
			if v, err := schema.DecodeJSON([]byte(*item.Text)); err == nil {
				out = append(out, v)
			}
		}
	}
	return out
}

func resultOf(m wire.Message) (r result, ok bool) {
	return r, m.Result != nil && json.Unmarshal(m.Result, &r) == nil
}

// read says what an answer to tools/call means.
func read(t *check.T, ex wire.Exchange, m wire.Message) outcome {
	o := outcome{ex: ex, told: "MCP: " + describe(ex)}
	if m.Raw != nil {
		const most = 240
		o.told = fmt.Sprintf("MCP: %d %s", ex.Status(), m.Raw[:min(len(m.Raw), most)])
	}
	r, isResult := resultOf(m)
	number, isError := m.Code()
	switch {
	case isResult && !r.IsError:
		o.ok, o.known, o.value = true, true, r.value()
	case isResult:
		o.known = true
		o.codes = codesIn(t.Contract(), append(r.texts(), r.value())...)
	case isError && number != -32603:
		o.known, o.protocol = true, true
		v, _ := schema.DecodeJSON(m.Error)
		o.codes = codesIn(t.Contract(), v)
	case ex.Status() == http.StatusUnauthorized || ex.Status() == http.StatusForbidden:
		o.known, o.protocol = true, true
	}
	return o
}

// codesIn are the stable error codes that a refusal shows, wherever it shows them: texts in members
// that are named as the contract names them, and known codes.
func codesIn(c *spec.Contract, values ...any) []string {
	member := "code"
	if c.Doc.Error != nil && c.Doc.Error.Code != "" {
		member = lastToken(c.Doc.Error.Code)
	}
	known := map[string]bool{}
	for _, r := range c.Doc.Codes {
		known[r.Code] = r.Code != ""
	}
	var out []string
	var look func(name string, v any)
	look = func(name string, v any) {
		switch v := v.(type) {
		case string:
			if (name == member || known[v]) && !slices.Contains(out, v) {
				out = append(out, v)
			}
		case []any:
			for _, e := range v {
				look("", e)
			}
		case map[string]any:
			for _, k := range sortedKeys(v) {
				look(k, v[k])
			}
		}
	}
	for _, v := range values {
		look("", v)
	}
	return out
}

// toolNamed is the first tool that is the face of an operation alone; nil if none is.
func toolNamed(c *spec.Contract, operation string) *spec.Tool {
	for _, tool := range c.Tools {
		if tool.Operation == operation && operation != "" && c.Invocation(tool) == nil {
			return tool
		}
	}
	return nil
}

// revisionsOf are the revisions of a tool, in the catalog's order.
func revisionsOf(c *spec.Contract, name string) []*spec.Tool {
	var out []*spec.Tool
	for _, tool := range c.Tools {
		if tool.Name == name {
			out = append(out, tool)
		}
	}
	return out
}

// toolSubjects makes one subject a tool name that fits; operations that a call reaches count as called.
func toolSubjects(fits func(*spec.Contract, *spec.Tool) bool) func(*spec.Contract) []check.Subject {
	return func(c *spec.Contract) []check.Subject {
		var out []check.Subject
		for _, tool := range c.Tools {
			if slices.ContainsFunc(out, func(s check.Subject) bool { return s.Name == tool.Name }) || !fits(c, tool) {
				continue
			}
			out = append(out, check.Subject{Name: tool.Name, Tool: tool, Op: c.Op(tool.Operation)})
		}
		return out
	}
}

func anyTool(*spec.Contract, *spec.Tool) bool { return true }

// hasTwin reports a tool that can be called on REST too.
func hasTwin(c *spec.Contract, tool *spec.Tool) bool {
	return c.Op(tool.Operation) != nil && tool.Input != nil && len(tool.Examples) > 0
}

// mcpSlot is room for one job where a call of a tool may admit one.
func mcpSlot(t *check.T, tool *spec.Tool) func() {
	if !tool.Async {
		return func() {}
	}
	return t.JobSlot()
}

// settled waits for the job that a call began, if it did.
func (c toolCall) settled(t *check.T, in intent, o outcome) sighting {
	id := c.jobIn(o)
	if id == "" {
		return sighting{}
	}
	return awaited(t, in, id)
}

// jobIn is the id of the job that a call began, "" if it began none.
func (c toolCall) jobIn(o outcome) string {
	if !o.ok || c.op == nil || c.op.Job == nil || !c.tool.Async || c.op.Job.ID.Part != "body" {
		return ""
	}
	v, _ := tree.Get(o.value, c.op.Job.ID.Pointer)
	return strings.TrimSpace(text(v))
}
