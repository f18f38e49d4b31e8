package diff

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"assay.kit/spec/tree"
)

const maxFiles = 64 // of a folder, and of the files that its references lead to

// ReadFolder reads the version of a contract that is in the root of fsys: openapi.yaml (or .yml, .json),
// tool-catalog.json (or tools.json) and the YAML files with requirements. References to other files of
// the folder are followed, never out of it.
func ReadFolder(fsys fs.FS, name string, overlays ...tree.Overlay) (*Version, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	l := &reading{fsys: fsys, dir: name, v: &Version{Name: name}}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	one := func(known ...string) string {
		for _, k := range known {
			if slices.Contains(names, k) {
				return k
			}
		}
		return ""
	}
	if file := one("openapi.yaml", "openapi.yml", "openapi.json"); file != "" {
		l.add(file)
	}
	if file := one("tool-catalog.json", "tools.json"); file != "" {
		l.add(file)
	}
	n := 0
	for _, file := range names {
		ext := path.Ext(file)
		if ext != ".yaml" && ext != ".yml" || strings.HasPrefix(file, "openapi.") || l.err != nil {
			continue
		}
		if n++; n > maxFiles {
			return nil, fmt.Errorf("%s has more than %d YAML files", name, maxFiles)
		}
		if root := l.parse(file); root.Get("requirements") != nil {
			l.v.Rows = append(l.v.Rows, root)
		}
	}
	return l.done(overlays)
}

// ReadFile reads one file of fsys, whose folder is where its references lead: an OpenAPI document, a tool
// catalog, an answer of tools/list, or a requirement catalog.
func ReadFile(fsys fs.FS, dir, file string, overlays ...tree.Overlay) (*Version, error) {
	l := &reading{fsys: fsys, dir: dir, v: &Version{Name: path.Join(dir, file)}}
	l.add(file)
	return l.done(overlays)
}

// reading is one version that is being read; the first thing that is wrong ends it.
type reading struct {
	fsys fs.FS
	dir  string // before the names of files, for messages
	v    *Version
	err  error
}

// add takes a file for what it holds.
func (l *reading) add(file string) {
	root := l.parse(file)
	if root == nil {
		return
	}
	switch {
	case root.Get("openapi") != nil || root.Get("swagger") != nil:
		l.v.Doc = l.bundle(file, root)
	case root.Get("requirements") != nil:
		l.v.Rows = append(l.v.Rows, root)
	case len(manifests(root)) > 0 || root.Get("tools") != nil || root.Get("mcp_utilities") != nil:
		l.v.Tools = root
	default:
		l.fail(fmt.Errorf("%s is no OpenAPI document, no list of tools and no requirement catalog", path.Join(l.dir, file)))
	}
}

func (l *reading) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// parse reads a file of the folder. What a merge has left in it is named as such: the parser would
// complain of something else.
func (l *reading) parse(file string) *tree.Node {
	shown := path.Join(l.dir, file)
	f, err := l.fsys.Open(file)
	if err != nil {
		l.fail(fmt.Errorf("%s cannot be read: %w", shown, cause(err)))
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, tree.MaxBytes+1))
	if err != nil {
		l.fail(fmt.Errorf("%s cannot be read: %w", shown, cause(err)))
		return nil
	}
	if line := conflict(data); line > 0 {
		l.fail(fmt.Errorf("%s:%d: a merge conflict is not resolved", shown, line))
		return nil
	}
	root, err := tree.Parse(shown, data)
	if err != nil {
		l.fail(err)
		return nil
	}
	return root
}

func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// conflict is the line of a merge conflict's first marker, 0 if there is none.
func conflict(data []byte) int {
	for i, l := range bytes.Split(data, []byte("\n")) {
		if bytes.HasPrefix(l, []byte("<<<<<<< ")) || bytes.HasPrefix(l, []byte(">>>>>>> ")) {
			return i + 1
		}
	}
	return 0
}

func (l *reading) done(overlays []tree.Overlay) (*Version, error) {
	for _, o := range overlays {
		if l.err == nil {
			l.overlay(o)
		}
	}
	if l.err != nil {
		return nil, l.err
	}
	return l.v, nil
}

func (l *reading) overlay(o tree.Overlay) {
	target := &l.v.Doc
	if l.v.Tools != nil && (l.v.Doc == nil || path.Base(o.Extends) == path.Base(l.v.Tools.File)) {
		target = &l.v.Tools
	}
	if *target == nil {
		l.fail(fmt.Errorf("%s: %s holds no document to lay this overlay over", o.File, l.v.Name))
		return
	}
	changed, warnings, err := o.Apply(*target)
	switch {
	case err != nil:
		l.fail(err)
	case len(warnings) > 0: // what it was to change would be compared unchanged
		l.fail(warnings[0])
	default:
		*target = changed
	}
}

// bundle copies the files that a document refers to under x-files and makes its references local, so that
// a schema and its validator have one document. Lines and files stay those of the originals.
func (l *reading) bundle(file string, root *tree.Node) *tree.Node {
	b := &bundler{l: l, files: map[string]*tree.Node{}, names: []string{}}
	b.rewrite(file, "", root)
	if len(b.names) == 0 || l.err != nil {
		return root
	}
	held := &tree.Node{Kind: tree.Object, File: root.File, Line: root.Line}
	for _, name := range b.names {
		held.Members = append(held.Members, tree.Member{Key: name, File: b.files[name].File, Line: 1, Value: b.files[name]})
	}
	root.Set(filesKey, held)
	root.Reindex("")
	return root
}

const filesKey = "x-files"

type bundler struct {
	l     *reading
	files map[string]*tree.Node
	names []string
}

// rewrite makes the references of one file local; base is where that file is in the whole.
func (b *bundler) rewrite(file string, base tree.Pointer, root *tree.Node) {
	root.Walk(func(n *tree.Node) bool {
		ref := n.Get("$ref")
		if b.l.err != nil || ref == nil || ref.Kind != tree.String {
			return b.l.err == nil
		}
		target, fragment, _ := strings.Cut(ref.Text, "#")
		switch {
		case target == "" && base == "":
		case target == "":
			ref.Text = base.Fragment() + fragment
		case strings.Contains(target, ":") || strings.HasPrefix(target, "/"):
			b.l.fail(fmt.Errorf("%s:%d: the $ref %q leaves the folder of the contract, and only files in it are followed", ref.File, ref.Where(), ref.Text))
		default:
			b.load(path.Join(path.Dir(file), target), ref, fragment)
		}
		return true
	})
}

func (b *bundler) load(name string, ref *tree.Node, fragment string) {
	at := tree.PointerTo(filesKey, name)
	if b.files[name] == nil {
		if !fs.ValidPath(name) || len(b.names) >= maxFiles {
			b.l.fail(fmt.Errorf("%s:%d: the $ref %q leaves the folder of the contract, or is of too many files", ref.File, ref.Where(), ref.Text))
			return
		}
		root := b.l.parse(name)
		if root == nil {
			return
		}
		b.files[name], b.names = root, append(b.names, name)
		b.rewrite(name, at, root)
	}
	ref.Text = at.Fragment() + fragment
}
