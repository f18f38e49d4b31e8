// Package diff compares two versions of a contract and says whom a change hits: the shapes of requests
// and answers by direction, the meaning that x-assay states by a table, tools and requirements. It
// compares raw trees, so a document that is no contract of ours (any OpenAPI 3.0 or 3.1, any list of
// tools) is as good. Where it can, a finding carries a witness: a value that one version accepts and
// the other refuses, as the validator says.
package diff

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// Grade says how bad a change is.
type Grade string

// Grades, the worst first.
const (
	Breaking   Grade = "breaking"   // somebody who kept to the old version fails under the new one
	Review     Grade = "review"     // it depends on something that the documents do not say
	Compatible Grade = "compatible" // nobody who kept to the old version can notice
	Doc        Grade = "doc"        // only words for people
)

// Grades lists all, the worst first.
func Grades() []Grade { return []Grade{Breaking, Review, Compatible, Doc} }

// worse reports whether g is worse than h.
func (g Grade) worse(h Grade) bool { return slices.Index(Grades(), g) < slices.Index(Grades(), h) }

// Side says who is hit.
type Side string

// Sides.
const (
	Client Side = "client"
	Server Side = "server"
	Agent  Side = "agent" // a model, or whoever picks tools by their manifests
	Money  Side = "money" // amounts, units, financial effects and the authority for them
)

// Boundary names the version that a breaking change must raise.
type Boundary string

// Boundaries.
const (
	HTTP   Boundary = "http"   // the major number of info.version
	Schema Boundary = "schema" // revision.schema of a tool
	Method Boundary = "method" // revision.method of a tool: what its numbers mean
)

// Place is a value in one version.
type Place struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Pointer string `json:"pointer"`
}

// Finding is one change.
type Finding struct {
	Rule        string   `json:"rule"`
	Grade       Grade    `json:"grade"`
	Side        Side     `json:"side"`
	Where       string   `json:"where"`         // the operation, tool or row, and which part of it
	Old         *Place   `json:"old,omitempty"` // nil if there was nothing
	New         *Place   `json:"new,omitempty"` // nil if nothing is left
	Before      string   `json:"before,omitempty"`
	After       string   `json:"after,omitempty"`
	Why         string   `json:"why"`
	Witness     *Witness `json:"witness,omitempty"`
	Boundary    Boundary `json:"boundary"`
	Needs       string   `json:"needs,omitempty"`   // the bump that is missing
	Excused     string   `json:"excused,omitempty"` // why it does not count: a bump, or an override
	Fingerprint string   `json:"fingerprint"`       // of the rule and the values before and after
}

// Pointer is what an override names: the place in the new version, or in the old one where nothing is left.
func (f Finding) Pointer() string {
	switch {
	case f.New != nil:
		return f.New.Pointer
	case f.Old != nil:
		return f.Old.Pointer
	}
	return ""
}

// Counts reports whether the finding is breaking and nothing excuses it.
func (f Finding) Counts() bool { return f.Grade == Breaking && f.Excused == "" }

// Result is all that a comparison found, the worst first, then in order of the document.
type Result struct {
	First     bool      `json:"first,omitempty"` // there was no old version
	Findings  []Finding `json:"findings"`
	Missing   []string  `json:"missing"`   // bumps, each once
	Changelog []string  `json:"changelog"` // drafted lines
	Problems  []string  `json:"problems"`  // with overrides: unused, expired or not allowed
}

// Count is the number of findings of a grade that nothing excuses.
func (r *Result) Count(g Grade) int {
	n := 0
	for _, f := range r.Findings {
		if f.Grade == g && f.Excused == "" {
			n++
		}
	}
	return n
}

// direction says who makes the values of a schema.
type direction string

const (
	request  direction = "request"  // the client makes them: they may only widen
	response direction = "response" // the server makes them: they may only narrow
	both     direction = "both"     // either: neither
)

func (d direction) flipped() direction {
	switch d {
	case request:
		return response
	case response:
		return request
	}
	return d
}

// document is one root of one version; its schemas are compiled when a witness needs one.
type document struct {
	root *tree.Node
	set  *schema.Set
	bad  error // why there is no set

	named  map[string]*tree.Node // what references name
	shapes map[shapeKey]string
}

type shapeKey struct {
	node  *tree.Node
	depth int
}

func (d *document) remember(k shapeKey, s string) {
	if d.shapes == nil {
		d.shapes = map[shapeKey]string{}
	}
	d.shapes[k] = s
}

// schemaAt compiles the schema at a pointer, nil if it does not compile.
func (d *document) schemaAt(p tree.Pointer) *schema.Schema {
	if d.set == nil && d.bad == nil {
		d.set, d.bad = schema.New("mem://diff/document", d.root.Value())
	}
	if d.bad != nil {
		return nil
	}
	s, err := d.set.At(tree.Pointer(strings.TrimPrefix(string(p), string(d.root.Pointer))))
	if err != nil {
		return nil
	}
	return s
}

// scope is where in the contract a comparison stands.
type scope struct {
	where    string
	base     string       // where, but for the named schema
	path     tree.Pointer // in the value
	dir      direction
	old, new *document
	tool     *toolPair // nil on REST
	most     Grade     // no finding below is worse; "" any
}

// at goes to a part: the request body, an answer, a parameter.
func (s scope) at(part string) scope {
	s.where = s.name()
	s.path = ""
	if s.where != "" && part != "" {
		s.where += " "
	}
	s.where += part
	s.base = s.where
	return s
}

// into goes on in a named schema, if n is one: the way that led there first says little.
func (s scope) into(n *tree.Node) scope {
	if n == nil || s.path == "" {
		return s
	}
	if name, ok := strings.CutPrefix(string(n.Pointer), "/components/schemas/"); ok && !strings.Contains(name, "/") {
		s.where, s.path = s.base+" (schema "+name+")", ""
	}
	return s
}

// member goes to a member of the value; "*" is any item or any member.
func (s scope) member(name string) scope {
	s.path = s.path.Append(name)
	return s
}

func (s scope) name() string {
	if s.path == "" {
		return s.where
	}
	return s.where + " " + string(s.path)
}

// toolPair says which revisions of a tool were raised.
type toolPair struct {
	name           string
	schema, method bool
	revision       [2]string // schema, method of the new version
}

// differ collects the findings of one comparison.
type differ struct {
	rules    map[string]Rule
	keywords []keyword
	known    map[string]bool // keywords that some row judges
	meanings map[string]meaning
	out      []Finding
	places   map[string]int      // findings by rule and places, to tell each once
	seen     map[string]bool     // pairs of schemas, by direction
	reached  map[*tree.Node]bool // schemas that some operation led to
	stopped  func() error        // of the context
	broken   error               // a reference that leads nowhere
	version  versions
	silent   int // > 0: asked only whether one schema lies within another; no witness
}

const maxFindings = 5000

// add records a finding and returns its index, -1 if there are too many; a or b is nil where there is
// nothing. The rule says the rest.
func (d *differ) add(sc scope, rule string, grade Grade, a, b *tree.Node) int {
	r, ok := d.rules[rule]
	if !ok { // a rule that was made up on the way is a change that no row knows
		r = Rule{ID: rule, Side: Client, Why: "No rule knows this change, so somebody has to look at it."}
	}
	if sc.most != "" && grade.worse(sc.most) {
		grade = sc.most
	}
	f := Finding{Rule: rule, Grade: grade, Side: r.Side, Where: sc.name(), Why: r.Why, Boundary: r.boundary(sc)}
	f.Old, f.Before = place(a)
	f.New, f.After = place(b)
	sum := sha256.Sum256([]byte(rule + "\x00" + canon(a) + "\x00" + canon(b)))
	f.Fingerprint = hex.EncodeToString(sum[:8])
	key := rule + "\x00" + keyOf(a) + "\x00" + keyOf(b)
	if i, there := d.places[key]; there {
		if grade.worse(d.out[i].Grade) {
			d.out[i].Grade = grade
		}
		return i
	}
	if len(d.out) >= maxFindings {
		return -1
	}
	d.bump(&f, sc)
	d.places[key] = len(d.out)
	d.out = append(d.out, f)
	return len(d.out) - 1
}

func place(n *tree.Node) (*Place, string) {
	if n == nil {
		return nil, ""
	}
	return &Place{File: n.File, Line: n.Where(), Pointer: string(n.Pointer)}, shorten(string(n.JSON()))
}

func keyOf(n *tree.Node) string {
	if n == nil {
		return ""
	}
	return n.File + "#" + string(n.Pointer)
}

const maxValue = 200 // bytes of a value that is shown

func shorten(s string) string {
	r := []rune(s)
	if len(r) <= maxValue {
		return s
	}
	return string(r[:maxValue-1]) + "…"
}

// sorted puts the worst first, then orders by place.
func sorted(fs []Finding) []Finding {
	rank := func(f Finding) int {
		n := 2 * slices.Index(Grades(), f.Grade)
		if f.Excused != "" {
			n++
		}
		return n
	}
	spot := func(f Finding) (string, int) {
		switch {
		case f.New != nil:
			return f.New.File, f.New.Line
		case f.Old != nil:
			return f.Old.File, f.Old.Line
		}
		return "", 0
	}
	slices.SortStableFunc(fs, func(a, b Finding) int {
		fa, la := spot(a)
		fb, lb := spot(b)
		return cmp.Or(rank(a)-rank(b), cmp.Compare(fa, fb), la-lb, cmp.Compare(a.Rule, b.Rule))
	})
	return fs
}
