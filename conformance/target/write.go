package target

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Write writes the profile as a file that Load reads back. A secret that came from a variable is
// written as that variable; a literal one is written out, because the file would not work without
// it: the caller gives the file to its owner alone (mode 0600).
func (p *Profile) Write(w io.Writer) error {
	root := mapping()
	root.put("contract", literal(p.Contract))
	root.put("base_url", literal(p.BaseURL))
	root.put("mcp_url", literal(p.MCPURL))
	tls := mapping()
	tls.put("ca", literal(p.TLS.CA))
	tls.put("cert", literal(p.TLS.Cert))
	tls.put("key", literal(p.TLS.Key))
	if p.TLS.Insecure {
		tls.put("insecure", plain("true"))
	}
	root.put("tls", tls.node)
	if !p.Proxy.IsZero() {
		root.put("proxy", secretNode(p.Proxy))
	}
	headers := mapping()
	for _, h := range p.Headers {
		if h.Secret.IsZero() {
			headers.put(h.Name, literal(h.Value))
			continue
		}
		headers.put(h.Name, secretNode(h.Secret))
	}
	root.put("headers", headers.node)
	root.put("absent", texts(p.Absent))
	if p.Sandbox {
		root.put("sandbox", plain("true"))
	}
	root.put("credentials", p.credentialNodes())
	values := mapping()
	for _, k := range sortedKeys(p.Values) {
		n, err := valueNode(p.Values[k])
		if err != nil {
			return fmt.Errorf("profile: value %s cannot be written: %w", k, err)
		}
		values.put(k, n)
	}
	root.put("values", values.node)
	hooks, err := p.hookNodes()
	if err != nil {
		return err
	}
	root.put("hooks", hooks)
	root.put("budget", p.Budget.node())
	out, err := yaml.Marshal(root.node)
	if err != nil {
		return fmt.Errorf("profile cannot be written: %w", err)
	}
	_, err = w.Write(out)
	return err
}

func (p *Profile) credentialNodes() *yaml.Node {
	out := mapping()
	node := func(role string) *yaml.Node {
		c, ok := p.Credentials[role]
		m := mapping()
		switch {
		case !ok:
		case len(c.Command) > 0:
			m.put("command", texts(c.Command))
			if c.Refresh > 0 {
				m.put("refresh", literal(c.Refresh.String()))
			}
		default:
			m.put("bearer", secretNode(c.Bearer))
		}
		return m.node
	}
	for _, r := range rows() {
		switch {
		case r.kind != credentialKind:
		case r.name == Rotated:
			both := mapping()
			both.put("old", node(RotatedOld))
			both.put("new", node(RotatedNew))
			out.put(string(Rotated), both.node)
		default:
			out.put(string(r.name), node(string(r.name)))
		}
	}
	return out.node
}

func (p *Profile) hookNodes() (*yaml.Node, error) {
	out := mapping()
	for _, r := range rows() {
		h, ok := p.Hooks[r.name]
		if !ok {
			continue
		}
		m := mapping()
		m.put("exec", texts(h.Exec))
		if h.HTTP != nil {
			body, err := valueNode(h.HTTP.Body)
			if err != nil {
				return nil, fmt.Errorf("profile: body of hook %s cannot be written: %w", r.name, err)
			}
			call := mapping()
			call.put("method", literal(h.HTTP.Method))
			call.put("url", literal(h.HTTP.URL))
			if h.HTTP.Body != nil {
				call.put("body", body)
			}
			m.put("http", call.node)
		}
		out.put(string(r.name), m.node)
	}
	return out.node, nil
}

func (b Budget) node() *yaml.Node {
	m := mapping()
	if b.Requests > 0 {
		m.put("requests", plain(strconv.Itoa(b.Requests)))
	}
	if b.Rate > 0 {
		// Rates come in whole requests per second or minute, so per minute is always whole.
		m.put("rate", literal(strconv.FormatFloat(b.Rate*60, 'f', 0, 64)+"/m"))
	}
	if b.Time > 0 {
		m.put("time", literal(b.Time.Round(time.Millisecond).String()))
	}
	if b.Jobs > 0 {
		m.put("jobs", plain(strconv.Itoa(b.Jobs)))
	}
	return m.node
}

// block builds a mapping and leaves empty members out.
type block struct{ node *yaml.Node }

func mapping() block { return block{&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}} }

func (b block) put(name string, v *yaml.Node) {
	empty := v == nil || v.Kind != yaml.ScalarNode && len(v.Content) == 0 && v.Style != yaml.FlowStyle
	if empty || v.Kind == yaml.ScalarNode && v.Value == "" && v.Style == 0 {
		return
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}
	b.node.Content = append(b.node.Content, key, v)
}

// literal writes a text so that neither YAML nor ${} reads anything into it; "" is left out.
func literal(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.ReplaceAll(s, "${", "$${")}
	return n
}

func plain(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

func secretNode(s Secret) *yaml.Node {
	if s.source != "" {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: s.source}
	}
	n := literal(s.Reveal())
	n.Style = yaml.DoubleQuotedStyle
	return n
}

func texts(list []string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, s := range list {
		e := literal(s)
		e.Style = yaml.DoubleQuotedStyle
		n.Content = append(n.Content, e)
	}
	return n
}

// valueNode turns a decoded JSON value into YAML that reads back as the same value.
func valueNode(v any) (*yaml.Node, error) {
	switch v := v.(type) {
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	case bool:
		return plain(strconv.FormatBool(v)), nil
	case json.Number:
		return plain(v.String()), nil
	case string:
		n := literal(v)
		n.Style = yaml.DoubleQuotedStyle
		return n, nil
	case []any:
		out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
		for _, e := range v {
			n, err := valueNode(e)
			if err != nil {
				return nil, err
			}
			out.Content = append(out.Content, n)
		}
		return out, nil
	case map[string]any:
		out := block{&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle}}
		for _, k := range sortedKeys(v) {
			n, err := valueNode(v[k])
			if err != nil {
				return nil, err
			}
			out.put(k, n)
		}
		return out.node, nil
	default:
		return nil, fmt.Errorf("%T is no JSON value", v)
	}
}
