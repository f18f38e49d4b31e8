package diff

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"assay.kit/spec"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// Version is one version of a contract: what of it there is.
type Version struct {
	Name  string       // for messages
	Doc   *tree.Node   // the OpenAPI document
	Tools *tree.Node   // the tool catalog, or a list of tools
	Rows  []*tree.Node // requirement catalogs
}

// Options of a comparison.
type Options struct {
	Overrides []Override
	Today     time.Time // an override that expires before it counts no more
}

// Compare finds every change from old to new; old is nil for a first version, which changes nothing. The
// error says why the two cannot be compared, or is that of ctx.
func Compare(ctx context.Context, old, new *Version, o Options) (*Result, error) {
	if err := new.check(); err != nil {
		return nil, err
	}
	if old == nil {
		return &Result{First: true, Findings: []Finding{}, Missing: []string{}, Changelog: []string{}, Problems: unused(o.Overrides)}, nil
	}
	if err := old.check(); err != nil {
		return nil, err
	}
	if err := sameKind(old, new); err != nil {
		return nil, err
	}
	return (&differ{stopped: ctx.Err}).fresh().compare(old, new, o)
}

func (d *differ) compare(old, new *Version, o Options) (*Result, error) {
	d.documents(old, new)
	d.catalogs(old, new)
	if d.broken != nil {
		return nil, d.broken
	}
	r := &Result{Findings: sorted(d.out), Problems: []string{}}
	r.override(o, d.rules)
	r.Missing, r.Changelog = missing(r.Findings), changelog(r.Findings)
	if len(r.Findings) == 0 {
		r.Findings = []Finding{}
	}
	return r, nil
}

// fresh is a differ with nothing found, on the same tables.
func (d *differ) fresh() *differ {
	out := &differ{rules: d.rules, keywords: d.keywords, known: d.known, meanings: d.meanings, version: d.version, stopped: d.stopped,
		places: map[string]int{}, seen: map[string]bool{}, reached: map[*tree.Node]bool{}}
	if out.rules != nil {
		return out
	}
	out.rules, out.known, out.meanings = map[string]Rule{}, map[string]bool{}, map[string]meaning{}
	for _, r := range Rules() {
		out.rules[r.ID] = r
	}
	for _, m := range meanings() {
		out.meanings[m.path] = m
	}
	out.keywords = keywords()
	for _, k := range out.keywords {
		out.known[k.name] = true
		for _, more := range k.covers {
			out.known[more] = true
		}
	}
	return out
}

// check refuses what holds no contract.
func (v *Version) check() error {
	if v.Doc != nil {
		version := v.Doc.Get("openapi")
		switch {
		case version == nil && v.Doc.Get("swagger") != nil:
			return fmt.Errorf("%s is Swagger 2.0; convert it to OpenAPI 3.1 first", v.Name)
		case version == nil || !strings.HasPrefix(version.Text, "3.0") && !strings.HasPrefix(version.Text, "3.1"):
			return fmt.Errorf("%s is no OpenAPI 3.0 or 3.1 document", v.Name)
		}
	}
	if v.empty() {
		return fmt.Errorf("%s has no operations, no tools and no requirements: there is nothing to compare", v.Name)
	}
	return nil
}

func (v *Version) empty() bool {
	some := func(n *tree.Node) bool { return n != nil && len(n.Members) > 0 }
	return !some(v.Doc.Get("paths")) && !some(v.Doc.Get("webhooks")) && !some(v.Doc.Get("components").Get("schemas")) &&
		len(manifests(v.Tools)) == 0 && len(rows(v.Rows)) == 0
}

// sameKind: a document that is there on one side only was left out by mistake, not removed.
func sameKind(old, new *Version) error {
	kinds := func(v *Version) string {
		var out []string
		if v.Doc != nil {
			out = append(out, "an OpenAPI document")
		}
		if v.Tools != nil {
			out = append(out, "tools")
		}
		if len(v.Rows) > 0 {
			out = append(out, "requirements")
		}
		return strings.Join(out, ", ")
	}
	shared := old.Doc != nil && new.Doc != nil || old.Tools != nil && new.Tools != nil || len(old.Rows) > 0 && len(new.Rows) > 0
	if !shared {
		return fmt.Errorf("the two are of different kinds: %s holds %s, %s holds %s", old.Name, kinds(old), new.Name, kinds(new))
	}
	return nil
}

func (d *differ) documents(old, new *Version) {
	a, b := lifted(old.Doc), lifted(new.Doc)
	d.version = versions{a.Get("info").Str("version"), b.Get("info").Str("version")}
	if old.Doc == nil && new.Doc == nil {
		return
	}
	sc := scope{dir: request, old: &document{root: a}, new: &document{root: b}}
	d.paths(sc, a.Get("paths"), b.Get("paths"))
	hooks := sc
	hooks.dir = response // the server sends them
	d.paths(hooks, a.Get("webhooks"), b.Get("webhooks"))
	d.schemes(sc, a.Get("components").Get("securitySchemes"), b.Get("components").Get("securitySchemes"))
	doc := sc.at("document")
	d.means(doc, "document", "", spec.WithDefaults(profile(sc.old), "document", a.Get("x-assay")), spec.WithDefaults(profile(sc.new), "document", b.Get("x-assay")))
	d.rest(doc, a.Get("info"), b.Get("info"), "schema.words", nil, map[string]fixed{
		"version": {"document.version", Doc}, "contact": {"schema.words", Doc}, "license": {"schema.words", Doc}, "termsOfService": {"schema.words", Doc}})
	d.rest(doc, a, b, "document.unknown", []string{"openapi", "info", "paths", "webhooks", "components", "x-assay", "security", "servers", filesKey},
		map[string]fixed{"tags": {"operation.words", Doc}})
	d.servers(doc, a, b)
	d.unused(sc, a.Get("components").Get("schemas"), b.Get("components").Get("schemas"))
}

func lifted(doc *tree.Node) *tree.Node {
	if doc == nil {
		return &tree.Node{Kind: tree.Object}
	}
	return schema.Lift(doc)
}

// unused compares named schemas that no operation led to: only whoever generates types from them can
// tell, so nothing there is worse than review.
func (d *differ) unused(sc scope, a, b *tree.Node) {
	sc.dir, sc.most = both, Review
	for _, name := range union(a, b) {
		x, y := a.Get(name), b.Get(name)
		if x == nil || y == nil || d.reached[x] || d.reached[y] {
			continue
		}
		d.schemas(sc.at("schema "+name), []*tree.Node{x}, []*tree.Node{y})
	}
}

// catalogs compares tools and requirements. A whole catalog that is gone is as many promises that are.
func (d *differ) catalogs(old, new *Version) {
	if old.Tools != nil || new.Tools != nil {
		d.tools(old.Tools, new.Tools)
	}
	if len(old.Rows) > 0 || len(new.Rows) > 0 {
		d.requirements(scope{}, old.Rows, new.Rows)
	}
}

// ErrNothing says that a revision exists and the path in it does not: the contract is new.
var ErrNothing = errors.New("there was nothing before")
