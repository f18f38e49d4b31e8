package lint

import (
	"fmt"
	"slices"
	"strings"

	"assay.kit/spec"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// node is where an operation is written.
func node(c *spec.Contract, op *spec.Operation) *tree.Node {
	return c.Raw.Nearest(tree.PointerTo("paths", op.Path, strings.ToLower(op.Method)))
}

// each calls f for every operation and collects what it finds at it.
func each(c *spec.Contract, f func(*spec.Operation) (message, hint string)) []Finding {
	var out []Finding
	for _, op := range c.Ops {
		if message, hint := f(op); message != "" {
			out = append(out, at(node(c, op), message, hint))
		}
	}
	return out
}

func idempotencyMissing(c *spec.Contract) []Finding {
	return each(c, func(op *spec.Operation) (string, string) {
		if op.Creates == nil || op.Idempotency != nil || op.Method == "PUT" {
			return "", ""
		}
		return fmt.Sprintf("%s creates a %s without idempotency", op.ID, op.Creates.Resource), "add x-assay: {idempotency: {}}"
	})
}

// cursorNames are what query parameters that continue a list are called.
func cursorNames() []string {
	return []string{"cursor", "page", "page_token", "pagetoken", "next", "next_token", "after", "starting_after", "continue", "offset", "marker"}
}

func collectionMissing(c *spec.Contract) []Finding {
	return each(c, func(op *spec.Operation) (string, string) {
		if op.Method != "GET" || op.Collection != nil || !hasArray(op.Answer(200)) {
			return "", ""
		}
		for _, p := range op.Params {
			if p.In == "query" && slices.Contains(cursorNames(), strings.ToLower(p.Name)) {
				return fmt.Sprintf("%s answers a list and takes %q without collection", op.ID, p.Name), "add x-assay: {collection: …}"
			}
		}
		return "", ""
	})
}

// hasArray reports whether an answer is an array or has one as a member.
func hasArray(a *spec.Answer) bool {
	if a == nil || a.Schema == nil {
		return false
	}
	top := target(a.Schema, a.Schema.Raw())
	if isArray(top) {
		return true
	}
	props, _ := top["properties"].(map[string]any)
	for _, p := range props {
		if isArray(target(a.Schema, p)) {
			return true
		}
	}
	return false
}

// target follows references, at most as many as a sane document has in a row.
func target(s *schema.Schema, raw any) map[string]any {
	for range 16 {
		next, ok := s.Deref(raw)
		if !ok {
			break
		}
		raw = next
	}
	m, _ := raw.(map[string]any)
	return m
}

func isArray(m map[string]any) bool { return m["type"] == "array" || m["items"] != nil }

func jobMissing(c *spec.Contract) []Finding {
	return each(c, func(op *spec.Operation) (string, string) {
		if op.Job != nil || op.Moves != nil || op.Answers[202] == nil { // the machine that it moves has the outcome
			return "", ""
		}
		return fmt.Sprintf("%s answers 202 without job", op.ID), "add x-assay: {job: …}"
	})
}

// eachSchema calls f for every schema of the document.
func eachSchema(c *spec.Contract, f func(*tree.Node)) {
	if c.Raw != nil {
		schema.Walk(c.Raw, schema.Sites{Schema: f})
	}
}

func moneyMissing(c *spec.Contract) []Finding {
	amounts := []string{"amount", "price", "total", "balance", "cost", "fee"}
	units := []string{"asset", "currency"}
	var out []Finding
	eachSchema(c, func(n *tree.Node) {
		props := n.Get("properties")
		if props == nil || n.Get("x-assay").Get("money") != nil {
			return
		}
		amount, unit := firstOf(props, amounts), firstOf(props, units)
		if amount != "" && unit != "" {
			out = append(out, at(n, fmt.Sprintf("an object with %q and %q is an amount without money", amount, unit),
				"add x-assay: {money: {amount: /"+amount+", asset: /"+unit+", scale: …}}"))
		}
	})
	return out
}

func firstOf(props *tree.Node, names []string) string {
	for _, name := range names {
		if props.Get(name) != nil {
			return name
		}
	}
	return ""
}

// statesMissing looks at enums of two or more values that are called a state. An enum that a query
// parameter filters by belongs to the state of a resource elsewhere.
func statesMissing(c *spec.Contract) []Finding {
	var out []Finding
	eachSchema(c, func(n *tree.Node) {
		props := n.Get("properties")
		if props == nil {
			return
		}
		for _, m := range props.Members {
			if !isStateName(m.Key) {
				continue
			}
			p := follow(c.Raw, m.Value)
			if enum := p.Get("enum"); enum != nil && len(enum.Items) > 1 && p.Get("x-assay").Get("states") == nil && m.Value.Get("x-assay").Get("states") == nil {
				out = append(out, at(m.Value, fmt.Sprintf("the enum %q is a state without states", m.Key), "add x-assay: {states: …}"))
			}
		}
	})
	return out
}

func isStateName(key string) bool {
	key = strings.ToLower(key)
	return key == "state" || key == "status" || strings.HasSuffix(key, "_state") || strings.HasSuffix(key, "_status")
}

// follow is target on the tree.
func follow(root, n *tree.Node) *tree.Node {
	for range 16 {
		p, err := tree.ParseFragment(n.Str("$ref"))
		if err != nil {
			break
		}
		n = root.At(p)
	}
	return n
}

func meaningMissing(c *spec.Contract) []Finding {
	var out []Finding
	for _, s := range c.States {
		n := c.Raw.At(s.Schema).Get("x-assay").Get("states")
		for _, state := range s.All() {
			if s.Meaning[state] == "" {
				out = append(out, at(n, fmt.Sprintf("the state %q of %s has no meaning", state, s.Resource), "add it under meaning, one sentence"))
			}
		}
	}
	return out
}

func exampleMissing(c *spec.Contract) []Finding {
	return each(c, func(op *spec.Operation) (string, string) {
		if op.Body == nil || op.Body.Schema == nil || len(op.Body.Examples) > 0 {
			return "", ""
		}
		return fmt.Sprintf("%s has no example of its body", op.ID), "add one under requestBody.content"
	})
}

func requirementUnlinked(c *spec.Contract) []Finding {
	var out []Finding
	for _, r := range c.Reqs {
		judged := r.Role == spec.RoleServer || r.Role == spec.RoleBoth
		if judged && r.Origin == spec.Stated && len(r.Claims) == 0 && r.Note == "" {
			out = append(out, Finding{Problem: spec.Problem{
				File: r.File, Line: r.Line, Message: fmt.Sprintf("the requirement %s has neither claims nor a note", r.ID),
				Hint: "link the claims that judge it, or say why none does",
			}})
		}
	}
	return out
}
