package target

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// maxDepth bounds nesting under values and hook bodies.
const maxDepth = 32

// Parse reads a profile from memory; file is only used in errors, and the files that it names are
// not opened. See Load.
func Parse(file string, data []byte, lookup func(string) (string, bool)) (*Profile, error) {
	return parse(file, data, lookup, false)
}

// parse reads a profile; open: the files that it names must be good too.
func parse(file string, data []byte, lookup func(string) (string, bool), open bool) (*Profile, error) {
	if lookup == nil {
		lookup = os.LookupEnv
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: no YAML: %w", file, err)
	}
	r := &reader{file: file, lookup: lookup, open: open}
	p := &Profile{Credentials: map[string]Credential{}, Values: map[string]any{}, Hooks: map[Capability]Hook{}}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("%s:1: the profile is empty; it needs at least base_url", file)
	}
	r.profile(doc.Content[0], p)
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	return p, nil
}

// reader walks the nodes and collects every error.
type reader struct {
	file   string
	lookup func(string) (string, bool)
	open   bool
	errs   []error
	given  []Secret // by variables, since it was last emptied
}

// secret takes what variables give within f for secrets: whoever writes a value into a file only by
// the name of a variable does not want it read.
func (r *reader) secret(p *Profile, f func()) {
	r.given = nil
	f()
	p.secrets = append(p.secrets, r.given...)
}

func (r *reader) fail(n *yaml.Node, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s:%d: %s", r.file, n.Line, fmt.Sprintf(format, args...)))
}

// member reads the value of one known member.
type member func(value *yaml.Node)

// object walks a mapping whose members are closed.
func (r *reader) object(n *yaml.Node, what string, known []string, members map[string]member) {
	r.pairs(n, what, func(key, value *yaml.Node) {
		if f, ok := members[key.Value]; ok {
			f(value)
			return
		}
		r.fail(key, "%v", unknown("member of "+what, key.Value, known))
	})
}

// pairs walks any mapping and refuses a repeated member.
func (r *reader) pairs(n *yaml.Node, what string, f func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.fail(n, "%s must be a mapping", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			r.fail(key, "%s: a member's name must be a plain word", what)
			continue
		}
		if seen[key.Value] {
			r.fail(key, "%s: %q is given twice", what, key.Value)
			continue
		}
		seen[key.Value] = true
		f(key, value)
	}
}

func (r *reader) profile(n *yaml.Node, p *Profile) {
	known := []string{"contract", "base_url", "mcp_url", "tls", "proxy", "headers", "absent", "sandbox", "credentials", "values", "hooks", "budget"}
	based := false
	var trust *yaml.Node
	r.object(n, "the profile", known, map[string]member{
		"contract": func(v *yaml.Node) { p.Contract = r.text(v, "contract") },
		"base_url": func(v *yaml.Node) { based = true; p.BaseURL = r.url(v, "base_url") },
		"mcp_url": func(v *yaml.Node) {
			if v.Value == "auto" {
				p.MCPURL = "auto"
				return
			}
			p.MCPURL = r.url(v, "mcp_url")
		},
		"tls":         func(v *yaml.Node) { trust = v; r.tls(v, &p.TLS) },
		"proxy":       func(v *yaml.Node) { p.Proxy = r.proxy(v) },
		"headers":     func(v *yaml.Node) { r.secret(p, func() { p.Headers = r.headers(v) }) },
		"absent":      func(v *yaml.Node) { p.Absent = r.list(v, "absent") },
		"sandbox":     func(v *yaml.Node) { p.Sandbox = r.flag(v, "sandbox") },
		"credentials": func(v *yaml.Node) { r.secret(p, func() { r.credentials(v, p.Credentials) }) },
		"values":      func(v *yaml.Node) { r.secret(p, func() { r.values(v, p.Values) }) },
		"hooks":       func(v *yaml.Node) { r.secret(p, func() { r.hooks(v, p.Hooks) }) },
		"budget":      func(v *yaml.Node) { r.budget(v, &p.Budget) },
	})
	if !based {
		r.fail(n, "base_url is missing; write base_url: https://host[:port][/prefix]")
	}
	if trust != nil && r.open && len(r.errs) == 0 {
		if _, err := tlsConfig(p.TLS, hostOf(p.BaseURL)); err != nil {
			r.fail(trust, "%v", err)
		}
	}
}

func (r *reader) url(n *yaml.Node, what string) string {
	s := r.text(n, what)
	if s == "" {
		return ""
	}
	u, err := checkBaseURL(s)
	if err != nil {
		r.fail(n, "%s: %v", what, err)
	}
	return u
}

func (r *reader) headers(n *yaml.Node) []Header {
	var out []Header
	r.pairs(n, "headers", func(key, value *yaml.Node) {
		if !isToken(key.Value) {
			r.fail(key, "headers: %q is no header name", key.Value)
			return
		}
		switch strings.ToLower(key.Value) {
		case "authorization":
			r.fail(key, "headers: Authorization comes from credentials; remove it here")
			return
		case "host", "content-length", "transfer-encoding", "connection":
			r.fail(key, "headers: %s belongs to each request; remove it here", key.Value)
			return
		}
		v := r.text(value, "header "+key.Value)
		if !isFieldValue(v) {
			r.fail(value, "header %s: its value holds a line break or control character", key.Value)
			return
		}
		h := Header{Name: key.Value, Value: v}
		if strings.Contains(value.Value, "${") {
			h = Header{Name: key.Value, Secret: Secret{reveal: NewSecret(v).reveal, source: value.Value}}
		}
		out = append(out, h)
	})
	return out
}

func (r *reader) credentials(n *yaml.Node, out map[string]Credential) {
	known := make([]string, 0, 16)
	for _, row := range rows() {
		if row.kind == credentialKind {
			known = append(known, string(row.name))
		}
	}
	members := map[string]member{}
	for _, role := range known {
		members[role] = func(v *yaml.Node) { r.credential(v, role, out) }
	}
	members[string(Rotated)] = func(v *yaml.Node) {
		r.object(v, "credentials.rotated", []string{"old", "new"}, map[string]member{
			"old": func(v *yaml.Node) { r.credential(v, RotatedOld, out) },
			"new": func(v *yaml.Node) { r.credential(v, RotatedNew, out) },
		})
		if _, old := out[RotatedOld]; len(r.errs) == 0 {
			if _, renewed := out[RotatedNew]; !old || !renewed {
				r.fail(v, "credentials.rotated needs both old and new")
			}
		}
	}
	r.object(n, "credentials", known, members)
}

func (r *reader) credential(n *yaml.Node, role string, out map[string]Credential) {
	var c Credential
	given := 0
	r.object(n, "credential "+role, []string{"bearer", "command", "refresh"}, map[string]member{
		"bearer": func(v *yaml.Node) {
			given++
			before := len(r.errs)
			s := r.text(v, "credential "+role)
			if len(r.errs) > before {
				return
			}
			if err := checkToken(s); err != nil {
				r.fail(v, "credential %s: %v", role, err)
				return
			}
			c.Bearer = NewSecret(s)
			if strings.Contains(v.Value, "${") {
				c.Bearer.source = v.Value
			}
		},
		"command": func(v *yaml.Node) { given++; c.Command = r.command(v, "credential "+role) },
		"refresh": func(v *yaml.Node) { c.Refresh = r.duration(v, "credential "+role+": refresh") },
	})
	if c.Refresh > 0 && c.Bearer.reveal != nil {
		r.fail(n, "credential %s: refresh goes with command; a bearer stays as it is", role)
	}
	if n.Kind == yaml.MappingNode && given != 1 {
		r.fail(n, "credential %s: give exactly one of bearer and command", role)
	}
	out[role] = c
}

func (r *reader) values(n *yaml.Node, out map[string]any) {
	r.pairs(n, "values", func(key, value *yaml.Node) { out[key.Value] = r.any(value, 0) })
}

func (r *reader) hooks(n *yaml.Node, out map[Capability]Hook) {
	var known []string
	members := map[string]member{}
	for _, row := range rows() {
		if row.kind == hookKind {
			known = append(known, string(row.name))
			members[string(row.name)] = func(v *yaml.Node) { out[row.name] = r.hook(v, "hook "+string(row.name)) }
		}
	}
	r.object(n, "hooks", known, members)
}

func (r *reader) hook(n *yaml.Node, what string) Hook {
	var h Hook
	given := 0
	r.object(n, what, []string{"exec", "http"}, map[string]member{
		"exec": func(v *yaml.Node) { given++; h.Exec = r.command(v, what) },
		"http": func(v *yaml.Node) { given++; h.HTTP = r.httpHook(v, what) },
	})
	if n.Kind == yaml.MappingNode && given != 1 {
		r.fail(n, "%s: give exactly one of exec and http", what)
	}
	return h
}

func (r *reader) httpHook(n *yaml.Node, what string) *HTTPHook {
	h := &HTTPHook{Method: "POST"}
	r.object(n, what+".http", []string{"method", "url", "body"}, map[string]member{
		"method": func(v *yaml.Node) { h.Method = r.text(v, what+".method") },
		"url":    func(v *yaml.Node) { h.URL = r.text(v, what+".url") },
		"body":   func(v *yaml.Node) { h.Body = r.any(v, 0) },
	})
	if !isToken(h.Method) {
		r.fail(n, "%s: %q is no HTTP method", what, h.Method)
	}
	if !strings.HasPrefix(h.URL, "http://") && !strings.HasPrefix(h.URL, "https://") {
		r.fail(n, "%s: url must start with http:// or https://", what)
	}
	return h
}

func (r *reader) budget(n *yaml.Node, b *Budget) {
	r.object(n, "budget", []string{"requests", "rate", "time", "jobs"}, map[string]member{
		"requests": func(v *yaml.Node) { b.Requests = r.count(v, "budget.requests") },
		"jobs":     func(v *yaml.Node) { b.Jobs = r.count(v, "budget.jobs") },
		"rate": func(v *yaml.Node) {
			rate, err := ParseRate(r.text(v, "budget.rate"))
			if err != nil {
				r.fail(v, "budget.rate: %v", err)
			}
			b.Rate = rate
		},
		"time": func(v *yaml.Node) { b.Time = r.duration(v, "budget.time") },
	})
}

func (r *reader) duration(n *yaml.Node, what string) time.Duration {
	d, err := time.ParseDuration(r.text(n, what))
	if err != nil || d <= 0 {
		r.fail(n, "%s: %q is no duration; write 90s or 10m", what, n.Value)
	}
	return d
}

// ParseRate reads none, N/s or N/m and gives requests per second.
func ParseRate(s string) (float64, error) {
	if s == "none" {
		return 0, nil
	}
	number, unit, _ := strings.Cut(s, "/")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || n <= 0 || n > 1e9:
	case unit == "s":
		return float64(n), nil
	case unit == "m":
		return float64(n) / 60, nil
	}
	return 0, fmt.Errorf("%q is no rate; write none, 10/s or 600/m", s)
}

// text reads a scalar and expands ${NAME}.
func (r *reader) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		r.fail(n, "%s must be a text", what)
		return ""
	}
	return r.expand(n)
}

// expand replaces ${NAME}; $${ stands for a literal ${.
func (r *reader) expand(n *yaml.Node) string {
	s := n.Value
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			return b.String() + s
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		name, rest, ok := strings.Cut(s[i+2:], "}")
		if !ok || !isVariable(name) {
			r.fail(n, "a ${ without a variable name and }; write $${ for a literal ${")
			return ""
		}
		v, ok := r.lookup(name)
		if !ok || v == "" {
			r.fail(n, "variable %s is not set; set it, or remove this line", name)
		}
		r.given = append(r.given, NewSecret(v))
		b.WriteString(s[:i] + v)
		s = rest
	}
}

func (r *reader) list(n *yaml.Node, what string) []string {
	if n.Kind != yaml.SequenceNode {
		r.fail(n, "%s must be a list", what)
		return nil
	}
	var out []string
	for _, c := range n.Content {
		out = append(out, r.text(c, what))
	}
	return out
}

func (r *reader) command(n *yaml.Node, what string) []string {
	argv := r.list(n, what)
	if n.Kind == yaml.SequenceNode && (len(argv) == 0 || argv[0] == "") {
		r.fail(n, "%s: the command is empty; write [program, argument, ...]", what)
	}
	return argv
}

func (r *reader) flag(n *yaml.Node, what string) bool {
	if n.Kind != yaml.ScalarNode || n.Value != "true" && n.Value != "false" {
		r.fail(n, "%s must be true or false", what)
	}
	return n.Value == "true"
}

func (r *reader) count(n *yaml.Node, what string) int {
	v, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || v <= 0 || v > 1e9 {
		r.fail(n, "%s must be a whole number above 0", what)
		return 0
	}
	return v
}

// any reads a JSON value: text expands variables, numbers keep their spelling.
func (r *reader) any(n *yaml.Node, depth int) any {
	if depth > maxDepth {
		r.fail(n, "nested deeper than %d", maxDepth)
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		r.pairs(n, "this object", func(key, value *yaml.Node) { m[key.Value] = r.any(value, depth+1) })
		return m
	case yaml.SequenceNode:
		a := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			a = append(a, r.any(c, depth+1))
		}
		return a
	case yaml.ScalarNode:
		return r.scalar(n)
	default:
		r.fail(n, "anchors and aliases have no place in a profile; write the value out")
		return nil
	}
}

func (r *reader) scalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return r.flag(n, "this value")
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value)
		}
		var i big.Int
		if _, ok := i.SetString(n.Value, 0); ok { // 0x1f, 0o17, 1_000
			return json.Number(i.String())
		}
		r.fail(n, "%q is no JSON number; quote it if it is meant as text", n.Value)
		return nil
	default:
		return r.expand(n)
	}
}
