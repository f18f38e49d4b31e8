package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"assay.kit/conformance/wire"
	"assay.kit/spec/typo"
)

// Baseline is a file of failures that are known and accepted for now, and what a run made of it.
type Baseline struct {
	File     string  `json:"file"`
	Contract string  `json:"-"` // name of the contract that it was written for
	Entries  []Entry `json:"-"` // in the order of the file
	Known    int     `json:"known"`
	Stale    []Entry `json:"stale,omitempty"` // entries whose claim was judged in this run and held
}

// Entry is one known failure: a claim in a case. It covers a finding of its verdict or a milder one.
type Entry struct {
	Claim   string  `json:"claim"`
	Case    string  `json:"case"`
	Verdict Verdict `json:"verdict"` // fail or warn
	Reason  string  `json:"reason,omitempty"`
	Line    int     `json:"line"` // in the baseline file
}

// Known says which entry of the baseline covers a finding.
type Known struct {
	Reason string `json:"reason,omitempty"`
	Line   int    `json:"line"`
}

// maxBaseline bounds the file, which people review.
const maxBaseline = 4 << 20

// ParseBaseline reads a baseline file; file is its name in errors. Every error has file:line.
func ParseBaseline(file string, data []byte) (*Baseline, error) {
	if len(data) > maxBaseline {
		return nil, fmt.Errorf("baseline %s has %d bytes; the limit is %d", file, len(data), maxBaseline)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("baseline %s: no YAML: %w", file, err)
	}
	p := &baselineParser{file: file}
	b := &Baseline{File: file}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("%s:1: the baseline is empty; assay check --write-baseline writes one", file)
	}
	p.members(doc.Content[0], "a baseline", map[string]func(*yaml.Node){
		"contract": func(n *yaml.Node) { b.Contract = p.text(n, "contract") },
		"known":    func(n *yaml.Node) { b.Entries = p.entries(n) },
	})
	return b, errors.Join(p.errs...)
}

// baselineParser gathers every error of a file.
type baselineParser struct {
	file string
	errs []error
}

func (p *baselineParser) fail(line int, format string, a ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s:%d: %s", p.file, line, fmt.Sprintf(format, a...)))
}

func (p *baselineParser) members(n *yaml.Node, what string, known map[string]func(*yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		p.fail(n.Line, "%s must be a mapping", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		read, ok := known[key.Value]
		switch {
		case !ok:
			p.fail(key.Line, "%s has no member %q; it has %s", what, key.Value, strings.Join(sortedNames(known), ", "))
		case seen[key.Value]:
			p.fail(key.Line, "%s: %q is given twice", what, key.Value)
		default:
			seen[key.Value] = true
			read(n.Content[i+1])
		}
	}
}

func (p *baselineParser) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode {
		p.fail(n.Line, "%s must be a text", what)
	}
	return n.Value
}

func (p *baselineParser) entries(n *yaml.Node) []Entry {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return nil // known: with all its lines removed
	}
	if n.Kind != yaml.SequenceNode {
		p.fail(n.Line, "known must be a list")
		return nil
	}
	var out []Entry
	first := map[[2]string]int{}
	for _, item := range n.Content {
		e := p.entry(item)
		key := [2]string{e.Claim, e.Case}
		if at := first[key]; at > 0 {
			p.fail(e.Line, "%s in %s is listed already, in line %d", e.Claim, e.Case, at)
			continue
		}
		first[key] = e.Line
		out = append(out, e)
	}
	return out
}

func (p *baselineParser) entry(n *yaml.Node) Entry {
	e := Entry{Line: n.Line}
	before := len(p.errs)
	p.members(n, "a known failure", map[string]func(*yaml.Node){
		"claim":   func(n *yaml.Node) { e.Claim = p.text(n, "claim") },
		"case":    func(n *yaml.Node) { e.Case = p.text(n, "case") },
		"verdict": func(n *yaml.Node) { e.Verdict = Verdict(p.text(n, "verdict")) },
		"reason":  func(n *yaml.Node) { e.Reason = p.text(n, "reason") },
	})
	if len(p.errs) > before {
		return e
	}
	e.Verdict = cmp.Or(e.Verdict, Fail)
	switch {
	case e.Claim == "" || e.Case == "":
		p.fail(e.Line, "a known failure needs claim and case")
	case e.Verdict != Fail && e.Verdict != Warn:
		p.fail(e.Line, "verdict %q can be no known failure; write fail or warn", e.Verdict)
	}
	return e
}

// Resolve refuses entries that this contract cannot produce. cases maps the id of every case to the
// claims that it judges.
func (b *Baseline) Resolve(contract string, cases map[string][]string) error {
	p := &baselineParser{file: b.File}
	if b.Contract != "" && b.Contract != contract {
		return fmt.Errorf("baseline %s was written for the contract %s, not for %s", b.File, b.Contract, contract)
	}
	var ids, claims []string
	for _, id := range sortedNames(cases) {
		ids = append(ids, id)
		claims = append(claims, cases[id]...)
	}
	slices.Sort(claims)
	claims = slices.Compact(claims)
	for _, e := range b.Entries {
		judged, ok := cases[e.Case]
		switch {
		case !slices.Contains(claims, e.Claim):
			p.fail(e.Line, "nothing judges a claim %q%s", e.Claim, meant(e.Claim, claims))
		case !ok:
			p.fail(e.Line, "there is no case %q%s", e.Case, meant(e.Case, ids))
		case !slices.Contains(judged, e.Claim):
			p.fail(e.Line, "case %s does not judge %s; it judges %s", e.Case, e.Claim, strings.Join(judged, ", "))
		}
	}
	return errors.Join(p.errs...)
}

func meant(word string, known []string) string {
	if n := typo.Nearest(word, known); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}

// compare marks the findings that the baseline covers, and finds its entries that no longer fail.
func (r *Report) compare() {
	b := r.Baseline
	if b == nil {
		return
	}
	b.Known, b.Stale = 0, nil
	entries := map[[2]string]Entry{}
	for _, e := range b.Entries {
		entries[[2]string{e.Claim, e.Case}] = e
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Known = nil
		if e, ok := entries[[2]string{f.Claim, f.Case}]; ok && rank[f.Verdict] <= rank[e.Verdict] {
			f.Known = &Known{Reason: e.Reason, Line: e.Line}
			b.Known++
		}
	}
	for _, e := range b.Entries {
		if r.held(e) {
			b.Stale = append(b.Stale, e)
		}
	}
}

// held reports whether a run judged the entry's claim and found it kept. Passive claims see only the
// exchanges that a selection happens to send: that it kept them proves little.
func (r *Report) held(e Entry) bool {
	if passive(e.Claim) && (r.Filtered || r.Interrupted) {
		return false
	}
	for _, cs := range r.Cases {
		if cs.ID == e.Case {
			return slices.ContainsFunc(cs.Claims, func(c Claim) bool { return c.ID == e.Claim && c.Verdict == Pass })
		}
	}
	return false
}

func passive(claim string) bool {
	return claim == wire.RequestIDUnique || slices.ContainsFunc(wire.Passive(), func(r wire.Rule) bool { return r.Claim == claim })
}

// WriteBaseline writes this run's failures and warnings as a baseline file, one a line, in an order
// that does not depend on the run. Reasons of the baseline that the run was compared with are kept,
// and so are its entries that this run did not judge.
func (r *Report) WriteBaseline(w io.Writer) error {
	entries := map[[2]string]Entry{}
	reasons := map[[2]string]string{}
	if r.Baseline != nil {
		for _, e := range r.Baseline.Entries {
			key := [2]string{e.Claim, e.Case}
			reasons[key] = e.Reason
			if !r.held(e) {
				entries[key] = e
			}
		}
	}
	for _, f := range r.Findings {
		key := [2]string{f.Claim, f.Case}
		if e, ok := entries[key]; !ok || rank[f.Verdict] > rank[e.Verdict] {
			entries[key] = Entry{Claim: f.Claim, Case: f.Case, Verdict: f.Verdict, Reason: reasons[key]}
		}
	}
	keys := make([][2]string, 0, len(entries))
	for k := range entries {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	var out strings.Builder
	out.WriteString("# Failures that are known and accepted for now: assay check --baseline THIS_FILE\n" +
		"# Say in each reason why, and until when. A line whose claim holds again fails the run: remove it.\n")
	fmt.Fprintf(&out, "contract: %s\n", quoted(r.Contract.Name))
	if len(keys) == 0 {
		out.WriteString("known: []\n")
	} else {
		out.WriteString("known:\n")
	}
	for _, k := range keys {
		e := entries[k]
		fmt.Fprintf(&out, "  - {claim: %s, case: %s, verdict: %s, reason: %s}\n", quoted(e.Claim), quoted(e.Case), e.Verdict, quoted(e.Reason))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// quoted is a YAML text in double quotes, which is JSON's but for what no id holds.
func quoted(s string) string { return fmt.Sprintf("%q", Clean(s)) }
