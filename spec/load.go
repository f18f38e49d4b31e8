package spec

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"assay.kit/spec/tree"
)

// Bounds of a contract's folder and of its lists.
const (
	maxFiles    = 64
	maxTools    = 2000
	maxProblems = 500
)

// Load reads a contract from the root of fsys: openapi.yaml (or .yml, .json), tool-catalog.json (or
// tools.json), and every YAML file with requirements at its top. Overlays are laid in order over
// the OpenAPI document, or over the file that their extends names. The name becomes Contract.Name.
//
// The error is a *LoadError with everything that is wrong, in file order, or says that the folder
// cannot be read.
func Load(fsys fs.FS, name string, overlays ...tree.Overlay) (*Contract, error) {
	l := newLoader(name)
	files, err := rootFiles(fsys)
	if err != nil {
		return nil, fmt.Errorf("contract %s: %w", name, err)
	}
	doc := l.read(fsys, firstOf(files, "openapi.yaml", "openapi.yml", "openapi.json"))
	tools := l.read(fsys, firstOf(files, "tool-catalog.json", "tools.json"))
	rows := l.requirementFiles(fsys, files)
	for _, o := range overlays {
		doc, tools = l.overlay(o, doc, tools)
	}
	if doc == nil && tools == nil && len(l.problems) == 0 {
		l.problems = append(l.problems, Problem{
			File: cmp.Or(name, "."), Message: "the contract has neither operations nor tools",
			Hint: "add openapi.yaml or tool-catalog.json to its folder",
		})
	}
	l.sources(append([]*tree.Node{doc, tools}, rows...))
	if len(l.problems) > 0 { // a source that does not parse makes every later finding doubtful
		return nil, l.failed()
	}
	l.load(doc, tools, rows)
	return l.done()
}

// FromTools makes a contract of an MCP server's own tool list: the answer of tools/list, its
// result, or the bare array. The list is bounded and its schemas refer to nothing outside themselves.
func FromTools(list json.RawMessage, name string) (*Contract, error) {
	l := newLoader(name)
	l.live = true
	root, err := tree.ParseJSON("tools/list", list)
	if err != nil {
		return nil, &LoadError{Problems: []Problem{problemOf(err)}}
	}
	if r := root.Get("result"); r != nil {
		root = r
	}
	l.sources([]*tree.Node{root})
	l.manifests(root)
	l.protocol()
	if len(l.c.Tools) == 0 && len(l.problems) == 0 {
		l.problem(root, "", "the list has no tools")
	}
	return l.done()
}

// loader collects a contract and all that is wrong with its sources.
type loader struct {
	c        *Contract
	problems []Problem
	files    []string              // in the order in which problems are reported
	defaults *tree.Node            // of the profile
	places   map[string]*tree.Node // of operations, by id
	tools    map[*Tool]manifest
	live     bool // what is read is a server's answer, not a contract of ours
}

// manifest is where a tool was written; meta is its _meta.assay, nil if it has none.
type manifest struct{ node, meta *tree.Node }

func newLoader(name string) *loader {
	return &loader{
		c:      &Contract{Name: name},
		places: map[string]*tree.Node{}, tools: map[*Tool]manifest{},
	}
}

func rootFiles(fsys fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func firstOf(files []string, names ...string) string {
	for _, n := range names {
		if slices.Contains(files, n) {
			return n
		}
	}
	return ""
}

// read parses one file of the folder, "" reads nothing. At most the bound of tree is read.
func (l *loader) read(fsys fs.FS, file string) *tree.Node {
	if file == "" {
		return nil
	}
	l.files = append(l.files, file)
	f, err := fsys.Open(file)
	if err != nil {
		l.problems = append(l.problems, Problem{File: file, Message: "cannot be read: " + err.Error()})
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, tree.MaxBytes+1))
	if err != nil {
		l.problems = append(l.problems, Problem{File: file, Message: "cannot be read: " + err.Error()})
		return nil
	}
	root, err := tree.Parse(file, data)
	if err != nil {
		l.problems = append(l.problems, problemOf(err))
		return nil
	}
	return root
}

// requirementFiles reads the YAML files that have requirements; others in the folder are not ours.
func (l *loader) requirementFiles(fsys fs.FS, files []string) []*tree.Node {
	var roots []*tree.Node
	n := 0
	for _, f := range files {
		ext := path.Ext(f)
		if ext != ".yaml" && ext != ".yml" || strings.HasPrefix(f, "openapi.") {
			continue
		}
		if n++; n > maxFiles {
			l.problems = append(l.problems, Problem{File: f, Message: fmt.Sprintf("the folder has more than %d YAML files", maxFiles)})
			break
		}
		if root := l.read(fsys, f); root.Get("requirements") != nil {
			roots = append(roots, root)
		}
	}
	return roots
}

func (l *loader) overlay(o tree.Overlay, doc, tools *tree.Node) (*tree.Node, *tree.Node) {
	target := &doc
	if tools != nil && (path.Base(o.Extends) == tools.File || doc == nil) {
		target = &tools
	}
	if *target == nil {
		l.problems = append(l.problems, Problem{File: o.File, Message: "there is no document to lay this overlay over"})
		return doc, tools
	}
	l.files = append(l.files, o.File)
	changed, warnings, err := o.Apply(*target)
	for _, w := range warnings {
		l.c.Warnings = append(l.c.Warnings, problemOf(w))
	}
	if err != nil {
		l.problems = append(l.problems, problemOf(err))
		return doc, tools
	}
	*target = changed
	return doc, tools
}

// sources sets the digest: over names and values, so that comments and layout do not count.
func (l *loader) sources(roots []*tree.Node) {
	h := sha256.New()
	for _, r := range roots {
		if r != nil {
			body := r.JSON()
			fmt.Fprintf(h, "%s %d\n", r.File, len(body))
			h.Write(body)
		}
	}
	l.c.Digest = "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func (l *loader) load(doc, tools *tree.Node, rows []*tree.Node) {
	if doc != nil {
		l.document(doc)
	}
	if tools != nil {
		l.catalog(tools)
	}
	for _, r := range rows {
		l.requirements(r)
	}
	l.protocol()
	if len(l.c.Ops) == 0 && len(l.c.Tools) == 0 && len(l.problems) == 0 {
		l.problem(cmp.Or(doc, tools), "add paths, or tools", "the contract has neither operations nor tools")
	}
	if len(l.problems) == 0 { // the cross-checks read what was decoded
		l.crossCheck()
	}
}

func (l *loader) done() (*Contract, error) {
	if len(l.problems) > 0 {
		return nil, l.failed()
	}
	l.sort(l.c.Warnings)
	return l.c, nil
}

func (l *loader) failed() error {
	l.sort(l.problems)
	ps := slices.CompactFunc(l.problems, func(a, b Problem) bool { return a == b })
	if len(ps) > maxProblems {
		rest := len(ps) - maxProblems
		ps = append(ps[:maxProblems:maxProblems], Problem{File: ps[maxProblems].File, Message: fmt.Sprintf("and %d more problems", rest)})
	}
	return &LoadError{Problems: ps}
}

func (l *loader) sort(ps []Problem) {
	rank := func(p Problem) int {
		if i := slices.Index(l.files, p.File); i >= 0 {
			return i
		}
		return len(l.files)
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(rank(a)-rank(b), a.Line-b.Line, cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Message, b.Message))
	})
}

// problem records what is wrong at a node.
func (l *loader) problem(n *tree.Node, hint, format string, args ...any) {
	l.problems = append(l.problems, at(n, hint, format, args...))
}

func (l *loader) warn(n *tree.Node, hint, format string, args ...any) {
	l.c.Warnings = append(l.c.Warnings, at(n, hint, format, args...))
}

func at(n *tree.Node, hint, format string, args ...any) Problem {
	p := Problem{Message: fmt.Sprintf(format, args...), Hint: hint}
	if n != nil {
		p.File, p.Line, p.Pointer = n.File, n.Where(), string(n.Pointer)
	}
	return p
}

func problemOf(err error) Problem {
	var te *tree.Error
	if errors.As(err, &te) {
		return Problem{File: te.File, Line: te.Line, Pointer: string(te.Pointer), Message: te.Message}
	}
	return Problem{Message: err.Error()}
}

// memURI names a source for keyword locations.
func (l *loader) memURI(parts ...string) string {
	uri := "mem://contract/" + url.PathEscape(cmp.Or(l.c.Name, "unnamed"))
	for _, p := range parts {
		uri += "/" + url.PathEscape(p)
	}
	return uri
}
