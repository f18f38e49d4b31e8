package wire

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// mcpBodyRules judge what results hold, beyond the types of the schema.
func mcpBodyRules() []mcpRule {
	return []mcpRule{
		{"mcp.initialize-shape", "A result of initialize has the members of the revision's schema.", rpcShape("initialize", initializeResult)},
		{"mcp.tools-shape", "A result of tools/list has the members of the revision's schema.", rpcShape("tools/list", listToolsResult)},
		{"mcp.call-shape", "A result of tools/call has the members of the revision's schema.", rpcShape("tools/call", callToolResult)},
		{"mcp.later-revision", "No message holds what only a later revision defines.", rpcLater},
		{"mcp.error-text", "The message of an error is one short sentence.", rpcErrorText},
		{"mcp.meta-prefix", "The prefix of a _meta key is labels with dots between, each from a letter to a letter or digit.", metaKeys(badPrefix)},
		{"mcp.meta-name", "The name of a _meta key begins and ends with a letter or digit.", metaKeys(badName)},
		{"mcp.meta-reserved", "No _meta key has a prefix that is reserved for the protocol.", metaKeys(reserved)},
		{"mcp.text-mirror", "What a result holds as structuredContent it also holds as JSON in a text block.", rpcMirror},
		{"mcp.output-schema", "The structuredContent of a tool with an output schema is there and fits it.", rpcOutput},
	}
}

// longestError is what is taken for one short sentence.
const longestError = 200

func rpcErrorText(v *View) verdict {
	return v.eachMessage(func(m Message) bool { return response(m) && m.Error != nil }, func(m Message, out *verdict) {
		var e struct{ Message *string }
		if json.Unmarshal(m.Error, &e) != nil || e.Message == nil {
			return // what shape an error has is judged elsewhere
		}
		switch s := *e.Message; {
		case strings.TrimSpace(s) == "":
			out.add("a sentence", "an empty message")
		case strings.ContainsAny(strings.TrimSpace(s), "\r\n"):
			out.add("one sentence", fmt.Sprintf("%q", shortRaw([]byte(s))))
		case len([]rune(s)) > longestError:
			out.add(fmt.Sprintf("at most %d characters", longestError), fmt.Sprintf("%d", len([]rune(s))))
		}
	})
}

// metaKeys judges the keys of every _meta that the revision's schema has a place for. What a tool
// calls _meta in its own data is its own affair.
func metaKeys(wrong func(prefix string, prefixed bool, name string) string) func(*View) verdict {
	return func(v *View) verdict {
		var out verdict
		for _, m := range v.messages {
			for _, key := range keysOf(m) {
				out.judged = true
				prefix, name, prefixed := strings.Cut(key, "/")
				if !prefixed {
					prefix, name = "", key
				}
				if why := wrong(prefix, prefixed, name); why != "" {
					out.add(why, fmt.Sprintf("%q", key))
				}
			}
		}
		return out
	}
}

func keysOf(m Message) []string {
	if m.Err != nil {
		return nil
	}
	holders := slices.Concat([]json.RawMessage{m.Params, m.Result}, valuesAt(m.Result, "/tools"), valuesAt(m.Result, "/content"))
	var out []string
	for _, h := range holders {
		var of struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		}
		if kindOf(h) == "object" && json.Unmarshal(h, &of) == nil {
			for key := range of.Meta {
				out = append(out, key)
			}
		}
	}
	slices.Sort(out)
	return out
}

var (
	metaLabel = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?$`)
	metaName  = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
)

func badPrefix(prefix string, prefixed bool, _ string) string {
	if !prefixed {
		return ""
	}
	for _, label := range strings.Split(prefix, ".") {
		if !metaLabel.MatchString(label) {
			return "labels that begin with a letter and end with a letter or digit, with dots between"
		}
	}
	return ""
}

func badName(_ string, _ bool, name string) string {
	if name == "" || metaName.MatchString(name) {
		return ""
	}
	return "a name of letters, digits, hyphens, underscores and dots, from a letter or digit to one"
}

func reserved(prefix string, prefixed bool, _ string) string {
	labels := strings.Split(prefix, ".")
	if !prefixed || len(labels) < 2 {
		return ""
	}
	switch labels[len(labels)-2] {
	case "modelcontextprotocol", "mcp":
		return "a prefix that is not reserved"
	}
	return ""
}

// called is a result of tools/call, and the tool's name.
func (v *View) called(m Message) (name string, r callResult, ok bool) {
	var p struct{ Name string }
	if v.sent.Name() != "tools/call" || m.Err != nil || !m.IsResponse() || m.Result == nil {
		return "", r, false
	}
	_ = json.Unmarshal(v.sent.Params, &p)
	return p.Name, r, json.Unmarshal(m.Result, &r) == nil
}

type callResult struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
}

func rpcMirror(v *View) verdict {
	var out verdict
	for _, m := range v.messages {
		_, r, ok := v.called(m)
		if !ok || kindOf(r.StructuredContent) != "object" {
			continue
		}
		out.judged = true
		if !slices.ContainsFunc(r.Content, func(c struct{ Type, Text string }) bool {
			return c.Type == "text" && sameJSON([]byte(c.Text), r.StructuredContent)
		}) {
			out.add("a text block that is the JSON of structuredContent", fmt.Sprintf("%d blocks, none of them the same", len(r.Content)))
		}
	}
	return out
}

func rpcOutput(v *View) verdict {
	var out verdict
	for _, m := range v.messages {
		name, r, ok := v.called(m)
		if !ok || r.IsError {
			continue
		}
		why, known := v.breaksOutput(name, r.StructuredContent)
		out.judged = out.judged || known
		if why != "" {
			out.add("structuredContent by the output schema of "+name, why)
		}
	}
	return out
}

// breaksOutput says how a tool's result breaks its output schema. A tool that the contract has in
// several revisions may answer by any of them.
func (v *View) breaksOutput(name string, structured json.RawMessage) (why string, known bool) {
	value, err := decodeBody(structured)
	for _, t := range v.c.Tools {
		if t.Name != name || t.Structured == nil {
			continue
		}
		known = true
		if err != nil {
			return "absent", true
		}
		vs := t.Structured.Validate(value)
		if len(vs) == 0 {
			return "", true
		}
		why = string(vs[0].Instance) + ": " + vs[0].Message
	}
	return why, known
}

// sameJSON reports whether two texts are one JSON value: members in any order, numbers by value.
func sameJSON(a, b []byte) bool {
	x, errX := decodeBody(a)
	y, errY := decodeBody(b)
	return errX == nil && errY == nil && reflect.DeepEqual(byValue(x), byValue(y))
}

// byValue is a decoded value with its numbers in one spelling.
func byValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[name] = byValue(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = byValue(item)
		}
		return out
	case json.Number:
		// A short text only: an exponent can name a number that no memory holds.
		if f, _, err := big.ParseFloat(v.String(), 10, 256, big.ToNearestEven); err == nil {
			return "number " + f.Text('p', 0)
		}
		return "number " + v.String()
	default:
		return v
	}
}
