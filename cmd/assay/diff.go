package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"
	"time"

	"github.com/spf13/cobra"

	"assay.kit/spec/contracts"
	"assay.kit/spec/diff"
	"assay.kit/spec/tree"
	"assay.kit/spec/typo"
)

// diffFlags are the choices of one comparison.
type diffFlags struct {
	format, overrides, explain      string
	overlay, overlayOld, overlayNew []string
	strict, all, draft, coverage    bool
}

func (a *app) diff() *cobra.Command {
	var f diffFlags
	c := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Say whom a change of a contract breaks, by shape and by meaning, with a value that shows it",
		Long: `OLD and NEW are each a folder with openapi.yaml, tool-catalog.json and requirements.yaml, one such
file, or git:REV:PATH for either of them at a revision. A path that a revision does not have yet is a first
version, which breaks nothing.`,
		Example: `  assay diff git:main:api ./api
  assay diff v1/openapi.yaml v2/openapi.yaml --format github`,
		Args: func(_ *cobra.Command, args []string) error {
			if f.explain == "" && !f.coverage && len(args) != 2 {
				return fmt.Errorf("diff takes an old and a new version, but got %d arguments; see assay diff --help", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if f.explain != "" {
				return a.explainRule(f.explain, diffRules())
			}
			if f.coverage {
				a.printCoverage()
				return nil
			}
			return a.runDiff(c.Context(), args[0], args[1], f)
		},
	}
	c.Flags().StringArrayVar(&f.overlay, "overlay", nil, "an OpenAPI overlay to lay over both versions")
	c.Flags().StringArrayVar(&f.overlayOld, "overlay-old", nil, "an OpenAPI overlay to lay over the old version")
	c.Flags().StringArrayVar(&f.overlayNew, "overlay-new", nil, "an OpenAPI overlay to lay over the new version")
	c.Flags().StringVar(&f.overrides, "overrides", "", "a file of reviewed decisions to let findings pass")
	c.Flags().StringVar(&f.explain, "explain", "", "explain a rule instead of comparing")
	c.Flags().BoolVar(&f.strict, "strict", false, "fail on what somebody has to look at, too")
	c.Flags().BoolVar(&f.all, "all", false, "print compatible changes and changes of words, too")
	c.Flags().BoolVar(&f.draft, "changelog", false, "print drafted lines for a changelog, too")
	c.Flags().BoolVar(&f.coverage, "coverage", false, "list every kind of edit that has a rule, with its grades, instead of comparing")
	choiceVar(c, &f.format, "format", "how to print", diffFormatNames()...)
	return c
}

// printCoverage lists the rules; what none of them knows is for people to judge.
func (a *app) printCoverage() {
	rows := [][]string{{"EDIT", "GRADES", "HITS", "WHY"}}
	for _, r := range diff.Rules() {
		var grades []string
		for _, g := range r.Grades {
			grades = append(grades, string(g))
		}
		rows = append(rows, []string{r.ID, strings.Join(grades, "|"), string(r.Side), r.Why})
	}
	writeTable(a.out, fileWidth, rows)
}

func (a *app) runDiff(ctx context.Context, oldArg, newArg string, f diffFlags) error {
	opts := diff.Options{Today: time.Now().UTC()}
	if f.overrides != "" {
		data, err := os.ReadFile(f.overrides)
		if err != nil {
			return fmt.Errorf("the overrides %s cannot be read: %w", f.overrides, errors.Unwrap(err))
		}
		if opts.Overrides, err = diff.ParseOverrides(filepath.ToSlash(f.overrides), data); err != nil {
			return err
		}
	}
	older, err := readVersion(ctx, oldArg, append(slices.Clone(f.overlay), f.overlayOld...))
	if err != nil && !errors.Is(err, diff.ErrNothing) {
		return err
	}
	newer, err := readVersion(ctx, newArg, append(slices.Clone(f.overlay), f.overlayNew...))
	if err != nil {
		return err
	}
	r, err := diff.Compare(ctx, older, newer, opts)
	if err != nil {
		return err
	}
	for _, w := range diffFormats(f) {
		if w.name == f.format {
			if err := w.write(a.out, r); err != nil {
				return err
			}
		}
	}
	if r.Count(diff.Breaking) > 0 || len(r.Problems) > 0 || f.strict && r.Count(diff.Review) > 0 {
		return exit(exitViolations)
	}
	return nil
}

// readVersion reads a folder, a file, a built-in contract or what git has of either at a revision.
func readVersion(ctx context.Context, arg string, overlays []string) (*diff.Version, error) {
	lays, err := readOverlays(overlays)
	if err != nil {
		return nil, err
	}
	if rest, ok := strings.CutPrefix(arg, "git:"); ok {
		return readRevision(ctx, arg, rest, lays)
	}
	if builtIn, unknown := contracts.Named(arg); unknown == nil {
		return diff.ReadFolder(builtIn, arg, lays...)
	}
	info, err := os.Stat(arg)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w", arg, errors.Unwrap(err))
	case info.IsDir():
		return diff.ReadFolder(os.DirFS(arg), filepath.ToSlash(arg), lays...)
	}
	dir := filepath.Dir(arg)
	return diff.ReadFile(os.DirFS(dir), filepath.ToSlash(dir), filepath.Base(arg), lays...)
}

func readOverlays(files []string) ([]tree.Overlay, error) {
	var out []tree.Overlay
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("the overlay %s cannot be read: %w", file, errors.Unwrap(err))
		}
		o, err := tree.ParseOverlay(filepath.ToSlash(file), data)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// readRevision reads REV:PATH. A path that is not there at the revision was not there before.
func readRevision(ctx context.Context, arg, rest string, overlays []tree.Overlay) (*diff.Version, error) {
	rev, file, ok := strings.Cut(rest, ":")
	if !ok || rev == "" || strings.HasPrefix(rev, "-") {
		return nil, fmt.Errorf("%s is not of the form git:REV:PATH", arg)
	}
	if _, err := git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}"); err != nil {
		return nil, fmt.Errorf("git has no revision %q here", rev)
	}
	file = cmp.Or(strings.TrimSuffix(filepath.ToSlash(path.Clean(file)), "/"), ".")
	kind, err := git(ctx, "cat-file", "-t", objectOf(rev, file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, diff.ErrNothing)
	}
	dir := file
	if strings.TrimSpace(string(kind)) != "tree" {
		dir = path.Dir(file)
	}
	fsys, err := revisionFolder(ctx, rev, dir)
	if err != nil {
		return nil, err
	}
	if dir == file {
		return diff.ReadFolder(fsys, arg, overlays...)
	}
	return diff.ReadFile(fsys, "git:"+rev+":"+dir, path.Base(file), overlays...)
}

// objectOf names a path relative to the current folder, as the user sees it.
func objectOf(rev, file string) string {
	if file == "." {
		return rev + ":./"
	}
	if strings.HasPrefix(file, "../") {
		return rev + ":" + file
	}
	return rev + ":./" + file
}

const (
	maxRevisionFiles = 256
	maxGitOutput     = 64 << 20
)

// revisionFolder copies the documents of a folder at a revision, with those of the folders below it.
func revisionFolder(ctx context.Context, rev, dir string) (fs.FS, error) {
	list, err := git(ctx, "ls-tree", "--full-tree", "-r", "-z", "--name-only", objectOf(rev, dir))
	if err != nil {
		return nil, fmt.Errorf("the folder %s cannot be listed at %s: %w", dir, rev, err)
	}
	out := fstest.MapFS{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" && ext != ".json" {
			continue
		}
		if len(out) >= maxRevisionFiles {
			return nil, fmt.Errorf("the folder %s has more than %d documents at %s", dir, maxRevisionFiles, rev)
		}
		data, err := git(ctx, "cat-file", "blob", objectOf(rev, path.Join(dir, name)))
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read at %s: %w", path.Join(dir, name), rev, err)
		}
		out[name] = &fstest.MapFile{Data: data}
	}
	return out, nil
}

func git(ctx context.Context, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "git", args...)
	var out, says bytes.Buffer
	c.Stdout, c.Stderr = &limitedWriter{w: &out, left: maxGitOutput}, &limitedWriter{w: &says, left: 4096}
	if err := c.Run(); err != nil {
		if text, _, _ := strings.Cut(strings.TrimSpace(says.String()), "\n"); text != "" {
			return nil, errors.New(text)
		}
		return nil, err
	}
	return out.Bytes(), nil
}

// limitedWriter fails once more is written than there is room for.
type limitedWriter struct {
	w    io.Writer
	left int
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	if len(p) > l.left {
		return 0, errors.New("the output is too large")
	}
	l.left -= len(p)
	return l.w.Write(p)
}

// ruleText is what there is to say of one rule of diff or lint.
type ruleText struct {
	id, says, example string
	grades            []string
}

func diffRules() []ruleText {
	var out []ruleText
	for _, r := range diff.Rules() {
		t := ruleText{id: r.ID, says: r.Why, example: r.Example}
		for _, g := range r.Grades {
			t.grades = append(t.grades, string(g))
		}
		if r.Sealed {
			t.grades = append(t.grades, "takes no override")
		}
		out = append(out, t)
	}
	return out
}

func (a *app) explainRule(id string, rules []ruleText) error {
	var names []string
	for _, r := range rules {
		if r.id == id {
			fmt.Fprintf(a.out, "%s (%s)\n  %s\n", r.id, strings.Join(r.grades, ", "), r.says)
			if r.example != "" {
				fmt.Fprintf(a.out, "  for example: %s\n", r.example)
			}
			return nil
		}
		names = append(names, r.id)
	}
	hint := "; each finding names its rule"
	if near := typo.Nearest(id, names); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Errorf("no rule is called %q%s", id, hint)
}
