package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Bounds of every document. They are far above real contracts and far below what hurts: GitHub's
// OpenAPI document has 13 MB and a depth of 26.
const (
	MaxBytes = 16 << 20
	MaxDepth = 128
	MaxNodes = 1 << 20
)

// Kind is the JSON type of a node.
type Kind uint8

// Kinds.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

func (k Kind) String() string {
	return [...]string{"null", "boolean", "number", "string", "array", "object"}[k]
}

// Node is one value of a document. Nodes form a proper tree: YAML aliases are copied.
type Node struct {
	Kind    Kind
	Text    string   // of a String its value, of a Number its spelling, of a Bool true or false
	Items   []*Node  // of an Array
	Members []Member // of an Object, in document order; keys are unique
	File    string   // where the value was written: an overlay's nodes keep the overlay's name
	Line    int      // 1-based
	Column  int      // 1-based, in bytes for JSON, in characters for YAML
	KeyLine int      // line of the key of which n is the value, 0 if it has none
	Pointer Pointer  // in the document as it is now
}

// Member is one member of an Object.
type Member struct {
	Key   string
	File  string // where the key was written
	Line  int
	Value *Node
}

// Error is a fault at a place in a file.
type Error struct {
	File    string
	Line    int // 1-based, 0 if unknown
	Column  int
	Pointer Pointer
	Message string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// Parse reads a document: JSON if the name ends in .json, else YAML. The error is an *Error.
func Parse(file string, data []byte) (*Node, error) {
	if strings.EqualFold(path.Ext(file), ".json") {
		return ParseJSON(file, data)
	}
	return ParseYAML(file, data)
}

// Get returns the member with this key, nil if there is none or n is no object.
func (n *Node) Get(key string) *Node {
	if n == nil || n.Kind != Object {
		return nil
	}
	for i := range n.Members {
		if n.Members[i].Key == key {
			return n.Members[i].Value
		}
	}
	return nil
}

// Where is the line to show for n: that of its key, where people look for it, or its own.
func (n *Node) Where() int {
	if n.KeyLine > 0 {
		return n.KeyLine
	}
	return n.Line
}

// Str returns the string member with this key, "" if there is none.
func (n *Node) Str(key string) string {
	if m := n.Get(key); m != nil && m.Kind == String {
		return m.Text
	}
	return ""
}

// At follows a pointer from n, nil if it leads nowhere.
func (n *Node) At(p Pointer) *Node {
	for _, token := range p.Tokens() {
		switch {
		case n == nil:
			return nil
		case n.Kind == Object:
			n = n.Get(token)
		case n.Kind == Array:
			i, ok := arrayIndex(token, len(n.Items))
			if !ok {
				return nil
			}
			n = n.Items[i]
		default:
			return nil
		}
	}
	return n
}

// Nearest follows a pointer as far as it leads and returns the last node on the way.
func (n *Node) Nearest(p Pointer) *Node {
	for {
		if m := n.At(p); m != nil || p == "" {
			return m
		}
		p, _ = p.Parent()
	}
}

// Set replaces or adds a member of an object.
func (n *Node) Set(key string, v *Node) {
	for i := range n.Members {
		if n.Members[i].Key == key {
			n.Members[i].Value = v
			return
		}
	}
	n.Members = append(n.Members, Member{Key: key, File: v.File, Line: v.Line, Value: v})
}

// Delete removes a member of an object.
func (n *Node) Delete(key string) {
	n.Members = slices.DeleteFunc(n.Members, func(m Member) bool { return m.Key == key })
}

// Clone copies the whole tree below n.
func (n *Node) Clone() *Node {
	if n == nil {
		return nil
	}
	c := *n
	c.Items = slices.Clone(n.Items)
	for i, it := range c.Items {
		c.Items[i] = it.Clone()
	}
	c.Members = slices.Clone(n.Members)
	for i, m := range c.Members {
		c.Members[i].Value = m.Value.Clone()
	}
	return &c
}

// Reindex sets the pointers of n and everything below, after a change of the tree.
func (n *Node) Reindex(p Pointer) {
	n.Pointer = p
	for i, it := range n.Items {
		it.Reindex(p.Index(i))
	}
	for _, m := range n.Members {
		m.Value.Reindex(p.Append(m.Key))
	}
}

// Walk calls f for n and everything below in document order; f returning false skips what is below.
func (n *Node) Walk(f func(*Node) bool) {
	if n == nil || !f(n) {
		return
	}
	for _, it := range n.Items {
		it.Walk(f)
	}
	for _, m := range n.Members {
		m.Value.Walk(f)
	}
}

// Value decodes n as encoding/json would: map[string]any, []any, string, json.Number, bool, nil.
// Every call builds a new value.
func (n *Node) Value() any {
	switch n.Kind {
	case Bool:
		return n.Text == "true"
	case Number:
		return json.Number(n.Text)
	case String:
		return n.Text
	case Array:
		vs := make([]any, len(n.Items))
		for i, it := range n.Items {
			vs[i] = it.Value()
		}
		return vs
	case Object:
		m := make(map[string]any, len(n.Members))
		for _, mem := range n.Members {
			m[mem.Key] = mem.Value.Value()
		}
		return m
	default:
		return nil
	}
}

// JSON writes n compactly, in document order, numbers as they are spelled.
func (n *Node) JSON() []byte {
	var b bytes.Buffer
	n.write(&b)
	return b.Bytes()
}

func (n *Node) write(b *bytes.Buffer) {
	switch n.Kind {
	case Null:
		b.WriteString("null")
	case Bool, Number:
		b.WriteString(n.Text)
	case String:
		writeString(b, n.Text)
	case Array:
		b.WriteByte('[')
		for i, it := range n.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			it.write(b)
		}
		b.WriteByte(']')
	case Object:
		b.WriteByte('{')
		for i, m := range n.Members {
			if i > 0 {
				b.WriteByte(',')
			}
			writeString(b, m.Key)
			b.WriteByte(':')
			m.Value.write(b)
		}
		b.WriteByte('}')
	}
}

// writeString quotes s without escaping <, > and &, which only HTML needs.
func writeString(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a string always encodes
		return
	}
	b.Truncate(b.Len() - 1) // the newline that Encode ends with
}
