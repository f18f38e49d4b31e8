package suite

import (
	"hash/fnv"
	"net/http"
	"regexp"
	"strings"

	"pgregory.net/rapid"

	"assay.kit/conformance/wire"
	"assay.kit/spec/tree"
)

// openMarked sends the creation with a unique text in a member that may hold any, so that a later
// answer that repeats the payload is recognised. The marker is "" where no member takes one.
func (c *creation) openMarked() (first wire.Exchange, marker string) {
	plain := c.in
	for _, m := range c.markings() {
		c.in = plain.with(m.body)
		first = c.send(c.in)
		if admitted(first) {
			return first, m.text
		}
		plain = plain.keyed(c.t.Key())
	}
	c.in = plain
	return c.open(), ""
}

type marking struct {
	body any
	at   tree.Pointer
	text string
}

const maxMarkings = 3

// markings are payloads with a unique text, those whose schema leaves most room first.
func (c *creation) markings() []marking {
	if c.op.Body == nil || c.in.body == nil {
		return nil
	}
	var found []marking
	offer := func(p tree.Pointer, value any, text string) {
		body := clone(c.in.body)
		put(body, p, value)
		if len(found) < maxMarkings && len(c.op.Body.Schema.Validate(body)) == 0 {
			found = append(found, marking{body, p, text})
		}
	}
	free := "assay " + c.t.Nonce() + " marker"
	leaves := stringLeaves(c.in.body, "")
	for _, p := range leaves {
		if c.mayMark(p) {
			offer(p, free, free)
		}
	}
	for _, name := range openObjects(c.op.Body.Schema) {
		if _, there := tree.Get(c.in.body, tree.PointerTo(name)); !there {
			offer(tree.PointerTo(name), map[string]any{"note": free}, free)
		}
	}
	for _, p := range leaves { // a pattern that leaves room for many texts is room for one of ours
		pattern, _ := keyword(c.op.Body.Schema, p, "pattern").(string)
		if pattern != "" && c.mayMark(p) {
			if text := uniqueText(pattern, c.t.Key()); text != "" {
				offer(p, text, text)
			}
		}
	}
	return found
}

// mayMark keeps off references, the isolation, and what the profile says exists at the target.
func (c *creation) mayMark(p tree.Pointer) bool {
	for _, ref := range c.op.Refs {
		if ref.In == "body" && (ref.Pointer == p || strings.HasPrefix(string(p), string(ref.Pointer)+"/")) {
			return false
		}
	}
	_, fixed := c.t.Profile().Values[lastToken(p)]
	return !fixed && p != c.isolation()
}

// uniqueText is a text of a pattern that is long enough to be unique, as unique as the salt; "" where
// the pattern leaves no room.
func uniqueText(pattern, salt string) string {
	if _, err := regexp.Compile(pattern); err != nil {
		return "" // ECMA-262 beyond RE2
	}
	const enough = 8
	texts := rapid.Custom(func(t *rapid.T) string {
		for range 20 {
			if s := rapid.StringMatching(pattern).Draw(t, "text"); len(s) >= enough {
				return s
			}
		}
		return ""
	})
	h := fnv.New32a()
	_, _ = h.Write([]byte(salt)) // never fails
	return texts.Example(int(h.Sum32() >> 1))
}

// stringLeaves are the pointers of all strings of a value, in order.
func stringLeaves(v any, at tree.Pointer) []tree.Pointer {
	switch x := v.(type) {
	case string:
		return []tree.Pointer{at}
	case map[string]any:
		var out []tree.Pointer
		for _, k := range sortedKeys(x) {
			out = append(out, stringLeaves(x[k], at.Append(k))...)
		}
		return out
	default:
		return nil // an item of an array is not where put reaches
	}
}

// echoes are the members that may be marked and that the creation's list shows under the same name.
func (c *creation) echoes() []tree.Pointer {
	list := c.shownBy()
	if list == nil || list.Collection.Isolate == nil || !list.Collection.Isolate.Time {
		return nil
	}
	answer := list.Answers[http.StatusOK]
	var at []tree.Pointer
	for _, m := range c.markings() {
		if answer != nil && answer.Schema != nil && len(schemasAt(answer.Schema, list.Collection.Items.Append("*").Join(m.at))) > 0 {
			at = append(at, m.at)
		}
	}
	return at
}

// countByMark isolates a creation by a unique value in a member that its list shows, where the list
// itself can be narrowed by time only.
func (c *creation) countByMark(at tree.Pointer) bool {
	for _, m := range c.markings() {
		if m.at == at {
			c.in = c.in.with(m.body)
			c.list.member, c.list.value = m.at, m.text
			c.list = c.list.at(c.list.op.Collection.Isolate.Param, since(c.t))
			return true
		}
	}
	return false
}
