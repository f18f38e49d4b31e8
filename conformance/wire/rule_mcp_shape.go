package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The shapes below are those of the schema of revision 2025-06-18, which is the source of truth of
// what a message looks like.

func metaMember() member { return member{name: "_meta", kind: "object"} }

func text(name string) member { return member{name: name, kind: "string"} }

func required(m member) member {
	m.required = true
	return m
}

func flag(name string) member { return member{name: name, kind: "boolean"} }

func object(name string, of ...member) member { return member{name: name, kind: "object", of: of} }

// initializeResult is InitializeResult.
func initializeResult() shape {
	return shape{
		required(text("protocolVersion")), text("instructions"), metaMember(),
		required(object("serverInfo", required(text("name")), required(text("version")), text("title"))),
		required(object("capabilities", object("experimental"), object("logging"), object("completions"),
			object("prompts", flag("listChanged")), object("resources", flag("listChanged"), flag("subscribe")),
			object("tools", flag("listChanged")))),
	}
}

// listToolsResult is ListToolsResult. That the schemas in it are schemas is a claim of its own.
func listToolsResult() shape {
	schema := func(name string) member {
		return object(name, member{name: "type", kind: "string", required: true, among: []string{"object"}})
	}
	return shape{
		text("nextCursor"), metaMember(),
		{name: "tools", kind: "array", required: true, items: "object", of: shape{
			required(text("name")), text("title"), text("description"), required(schema("inputSchema")), schema("outputSchema"), metaMember(),
			object("annotations", text("title"), flag("readOnlyHint"), flag("destructiveHint"), flag("idempotentHint"), flag("openWorldHint")),
		}},
	}
}

// callToolResult is CallToolResult.
func callToolResult() shape {
	return shape{
		{name: "content", kind: "array", required: true, items: "object", each: contentBlock},
		object("structuredContent"), flag("isError"), metaMember(),
	}
}

// contentBlock judges one ContentBlock by its type.
func contentBlock(raw json.RawMessage) []string {
	annotations := object("annotations", member{name: "audience", kind: "array", items: "string"},
		member{name: "priority", kind: "number"}, text("lastModified"))
	var b struct{ Type, Data string }
	_ = json.Unmarshal(raw, &b)
	var s shape
	switch b.Type {
	case "text":
		s = shape{required(text("text"))}
	case "image", "audio":
		s = shape{required(text("data")), required(text("mimeType"))}
	case "resource_link":
		s = shape{required(text("uri")), required(text("name")), text("title"), text("description"), text("mimeType"), {name: "size", kind: "number"}}
	case "resource":
		s = shape{{name: "resource", kind: "object", required: true, of: shape{required(text("uri")), text("mimeType"), text("text"), text("blob")}, each: embedded}}
	default:
		return []string{fmt.Sprintf("has the type %q, which is none of text, image, audio, resource_link and resource", b.Type)}
	}
	out := append(s, annotations, metaMember()).broken("", raw)
	if len(out) == 0 && (b.Type == "image" || b.Type == "audio") && !isBase64(b.Data) {
		out = append(out, "has data that is no base64")
	}
	return out
}

func embedded(raw json.RawMessage) []string {
	var r struct{ Text, Blob *string }
	_ = json.Unmarshal(raw, &r)
	switch {
	case r.Text == nil && r.Blob == nil:
		return []string{"has neither text nor blob"}
	case r.Blob != nil && !isBase64(*r.Blob):
		return []string{"has a blob that is no base64"}
	}
	return nil
}

func isBase64(s string) bool {
	_, err := base64.StdEncoding.DecodeString(s)
	return err == nil
}

// serverNotifications are those that a server may send, each with its params; requests are those
// that it may make of a client.
func serverNotifications() map[string]shape {
	levels := []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
	return map[string]shape{
		"notifications/cancelled": {{name: "requestId", kind: "token", required: true}, text("reason"), metaMember()},
		"notifications/progress": {{name: "progressToken", kind: "token", required: true}, {name: "progress", kind: "number", required: true},
			{name: "total", kind: "number"}, text("message"), metaMember()},
		"notifications/message": {{name: "level", kind: "string", required: true, among: levels}, {name: "data", kind: "any", required: true},
			text("logger"), metaMember()},
		"notifications/resources/list_changed": {metaMember()},
		"notifications/resources/updated":      {required(text("uri")), metaMember()},
		"notifications/tools/list_changed":     {metaMember()},
		"notifications/prompts/list_changed":   {metaMember()},
	}
}

func rpcShape(method string, want func() shape) func(*View) verdict {
	return func(v *View) verdict {
		if v.sent.ID == nil || v.sent.Name() != method {
			return silent()
		}
		return v.eachMessage(func(m Message) bool { return response(m) && kindOf(m.Result) == "object" }, func(m Message, out *verdict) {
			if why := want().broken("", m.Result); len(why) > 0 {
				out.add("a result of "+method+" by the revision's schema", strings.Join(why, "; "))
			}
		})
	}
}

// rpcNotified judges the params of what the server sends unasked.
func rpcNotified(v *View) verdict {
	return v.eachMessage(func(m Message) bool { return m.Err == nil }, func(m Message, out *verdict) {
		if m.Method == nil {
			return
		}
		want, known := serverNotifications()[m.Name()]
		switch {
		case kindOf(m.Method) != "string":
			out.add("a method that is a string", shortRaw(m.Method))
		case m.Params != nil && kindOf(m.Params) != "object":
			out.add("params that are an object", shortRaw(m.Params))
		case known && (m.Params != nil || len(want) > 0 && want[0].required):
			if why := want.broken("", orEmpty(m.Params)); len(why) > 0 {
				out.add(m.Name()+" by the revision's schema", strings.Join(why, "; "))
			}
		}
	})
}

func orEmpty(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("{}")
	}
	return raw
}

// later are members that only later revisions define, and their places: of a result, or of each item
// of one of its lists.
func later() map[string][]string {
	return map[string][]string{
		"":              {"resultType", "ttlMs", "cacheScope", "task"},
		"/capabilities": {"tasks", "extensions"},
		"/serverInfo":   {"icons", "websiteUrl", "description"},
		"/tools":        {"icons", "execution"},
		"/content":      {"icons"},
	}
}

func rpcLater(v *View) verdict {
	return v.eachMessage(func(m Message) bool { return m.Err == nil && (m.Method != nil || kindOf(m.Result) == "object") }, func(m Message, out *verdict) {
		if m.Method != nil {
			if name := m.Name(); strings.HasPrefix(name, "notifications/") && m.ID == nil {
				if _, known := serverNotifications()[name]; !known {
					out.add("a notification of the revision", name)
				}
			}
			return
		}
		if m.Answers(v.sent.ID) && (v.sent.Name() == "initialize" || v.sent.Name() == "tools/list" || v.sent.Name() == "tools/call") {
			for _, place := range laterIn(m.Result) {
				out.add("no member that only a later revision defines", place)
			}
		}
	})
}

func laterIn(result json.RawMessage) []string {
	var out []string
	for at, names := range later() {
		for _, holder := range valuesAt(result, at) {
			var of map[string]json.RawMessage
			if json.Unmarshal(holder, &of) != nil {
				continue
			}
			for _, n := range names {
				if _, there := of[n]; there {
					out = append(out, at+"/"+n)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// valuesAt is what a path of member names leads to; a list at its end stands for its items.
func valuesAt(raw json.RawMessage, path string) []json.RawMessage {
	for _, name := range strings.Split(path, "/")[1:] {
		var of map[string]json.RawMessage
		if json.Unmarshal(raw, &of) != nil {
			return nil
		}
		raw = of[name]
	}
	var list []json.RawMessage
	if kindOf(raw) == "array" && json.Unmarshal(raw, &list) == nil {
		return list
	}
	return []json.RawMessage{raw}
}
