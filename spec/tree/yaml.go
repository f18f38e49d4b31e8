package tree

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// ParseYAML reads one YAML document as JSON data: aliases are copied, merge keys are merged, keys
// that are numbers, booleans or dates become the strings that they are spelled with, dates stay
// strings. Duplicate keys, foreign tags and numbers that JSON does not have are errors. The error
// is an *Error with line.
func ParseYAML(file string, data []byte) (*Node, error) {
	if len(data) > MaxBytes {
		return nil, &Error{File: file, Line: 1, Message: fmt.Sprintf("the document has %d bytes; at most %d are read", len(data), MaxBytes)}
	}
	var doc yaml.Node
	if err := yaml.Load(data, &doc, yaml.WithSingleDocument(false)); err != nil {
		return nil, yamlError(file, err)
	}
	root := &doc
	if root.Kind == yaml.DocumentNode {
		if len(root.Content) != 1 {
			return nil, &Error{File: file, Line: 1, Message: "the document is empty"}
		}
		root = root.Content[0]
	}
	if root.Kind == 0 {
		return nil, &Error{File: file, Line: 1, Message: "the document is empty"}
	}
	y := &yamlReader{file: file}
	return y.node(root, "", 1)
}

func yamlError(file string, err error) error {
	e := &Error{File: file, Line: 1, Message: "not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	var le *yaml.LoadError
	if errors.As(err, &le) {
		e.Line, e.Column = max(le.Mark.Line, 1), le.Mark.Column
		e.Message = "not YAML: " + le.Message
	}
	return e
}

// maxCopies bounds the values that aliases add: a small document must not unfold into gigabytes.
const maxCopies = 1 << 16

type yamlReader struct {
	file    string
	nodes   int
	copies  int
	aliases int // how many aliases we are inside
}

func (y *yamlReader) fail(n *yaml.Node, p Pointer, format string, args ...any) error {
	return &Error{File: y.file, Line: n.Line, Column: n.Column, Pointer: p, Message: fmt.Sprintf(format, args...)}
}

// node converts n. An alias is converted again at each use; an alias to an ancestor ends at the
// bound of the depth or of the copies.
func (y *yamlReader) node(n *yaml.Node, p Pointer, depth int) (*Node, error) {
	if depth > MaxDepth {
		return nil, y.fail(n, p, "the document is nested deeper than %d", MaxDepth)
	}
	if y.nodes++; y.nodes > MaxNodes {
		return nil, y.fail(n, p, "the document has more than %d values", MaxNodes)
	}
	if y.aliases > 0 {
		if y.copies++; y.copies > maxCopies {
			return nil, y.fail(n, p, "the document's aliases unfold to more than %d values", maxCopies)
		}
	}
	switch n.Kind {
	case yaml.AliasNode:
		y.aliases++
		defer func() { y.aliases-- }()
		return y.node(n.Alias, p, depth+1)
	case yaml.MappingNode:
		return y.mapping(n, p, depth)
	case yaml.SequenceNode:
		out := y.at(n, p, Array)
		for i, c := range n.Content {
			it, err := y.node(c, p.Index(i), depth+1)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, it)
		}
		return out, y.collectionTag(n, p, "!!seq")
	case yaml.ScalarNode:
		return y.scalar(n, p)
	default:
		return nil, y.fail(n, p, "the document holds something that is no value")
	}
}

func (y *yamlReader) at(n *yaml.Node, p Pointer, k Kind) *Node {
	return &Node{Kind: k, File: y.file, Line: n.Line, Column: n.Column, Pointer: p}
}

func (y *yamlReader) collectionTag(n *yaml.Node, p Pointer, want string) error {
	if tag := n.ShortTag(); tag != want && tag != "" {
		return y.fail(n, p, "the tag %s has no meaning in JSON", tag)
	}
	return nil
}

func (y *yamlReader) mapping(n *yaml.Node, p Pointer, depth int) (*Node, error) {
	out := y.at(n, p, Object)
	if err := y.collectionTag(n, p, "!!map"); err != nil {
		return nil, err
	}
	seen := map[string]int{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			return nil, y.fail(n.Content[i], p, "a key must be a plain value")
		}
		if k.ShortTag() == "!!merge" {
			merges = append(merges, n.Content[i+1])
			continue
		}
		if first, dup := seen[k.Value]; dup {
			return nil, y.fail(n.Content[i], p, "the key %q is there twice; the first is in line %d", k.Value, first)
		}
		seen[k.Value] = n.Content[i].Line
		v, err := y.node(n.Content[i+1], p.Append(k.Value), depth+1)
		if err != nil {
			return nil, err
		}
		v.KeyLine = n.Content[i].Line
		out.Members = append(out.Members, Member{Key: k.Value, File: y.file, Line: v.KeyLine, Value: v})
	}
	for _, m := range merges {
		if err := y.merge(out, m, p, depth); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// merge adds the members of a merge key's value (YAML 1.1 "<<") that out does not have itself.
func (y *yamlReader) merge(out *Node, m *yaml.Node, p Pointer, depth int) error {
	v, err := y.node(m, p, depth+1)
	if err != nil {
		return err
	}
	sources := []*Node{v}
	if v.Kind == Array {
		sources = v.Items
	}
	for _, s := range sources {
		if s.Kind != Object {
			return y.fail(m, p, "<< merges a mapping, or a list of mappings, not a %s", s.Kind)
		}
		for _, mem := range s.Members {
			if out.Get(mem.Key) == nil {
				mem.Value.Reindex(p.Append(mem.Key))
				out.Members = append(out.Members, mem)
			}
		}
	}
	return nil
}

func (y *yamlReader) scalar(n *yaml.Node, p Pointer) (*Node, error) {
	out := y.at(n, p, String)
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp", "!!merge":
		out.Text = n.Value
	case "!!null":
		out.Kind = Null
	case "!!bool":
		out.Kind, out.Text = Bool, strings.ToLower(n.Value)
		if out.Text != "true" && out.Text != "false" {
			return nil, y.fail(n, p, "%q is no boolean; write true or false", n.Value)
		}
	case "!!int", "!!float":
		text, why := jsonNumber(n.Value)
		if why != "" {
			return nil, y.fail(n, p, "%s", why)
		}
		out.Kind, out.Text = Number, text
	default:
		return nil, y.fail(n, p, "the tag %s has no meaning in JSON", tag)
	}
	return out, nil
}

// jsonNumber keeps a spelling that JSON has and converts the others (0x1F, 0o17, 1_000, .5, +1).
func jsonNumber(s string) (text, why string) {
	if json.Valid([]byte(s)) {
		return s, numberFault(s)
	}
	if why := numberFault(s); why != "" && !strings.HasPrefix(s, "0x") {
		return "", why
	}
	plain := strings.ReplaceAll(s, "_", "")
	if i, ok := new(big.Int).SetString(plain, 0); ok && len(s) <= maxNumberLen {
		return i.String(), ""
	}
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return "", fmt.Sprintf("%q is a number that JSON does not have", s)
	}
	return strconv.FormatFloat(f, 'g', -1, 64), ""
}
