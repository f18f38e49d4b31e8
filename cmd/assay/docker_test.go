package main

import (
	"bufio"
	"debug/elf"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// instruction is one of a Dockerfile, of the stage that it stands in, counted from 1.
type instruction struct {
	stage      int
	word, rest string
}

// dockerfile reads instructions: one a line, continued by a backslash, comments apart.
func dockerfile(t *testing.T) []instruction {
	t.Helper()
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var out []instruction
	stage, open := 0, ""
	for l := range strings.Lines(string(text)) {
		l = strings.TrimSpace(l)
		if strings.HasPrefix(l, "#") || l == "" && open == "" {
			continue
		}
		if more, ok := strings.CutSuffix(l, `\`); ok {
			open += more
			continue
		}
		word, rest, _ := strings.Cut(open+l, " ")
		open = ""
		if word = strings.ToUpper(word); word == "FROM" {
			stage++
		}
		out = append(out, instruction{stage, word, strings.TrimSpace(rest)})
	}
	return out
}

// only gives the one instruction of that word in the last stage.
func only(t *testing.T, all []instruction, word string) string {
	t.Helper()
	var found []string
	for _, in := range all {
		if in.stage == all[len(all)-1].stage && in.word == word {
			found = append(found, in.rest)
		}
	}
	if len(found) != 1 {
		t.Fatalf("the last stage has %d instructions %s: %q", len(found), word, found)
	}
	return found[0]
}

// The image is the binary and what it needs to reach a target: no shell, no packages, no root.
func TestDockerfile(t *testing.T) {
	all := dockerfile(t)
	if from := only(t, all, "FROM"); from != "scratch" {
		t.Errorf("the last stage is made from %q", from)
	}
	if user := only(t, all, "USER"); !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(user) {
		t.Errorf("USER %s is root, or a name that an empty image cannot look up", user)
	}
	if entry := only(t, all, "ENTRYPOINT"); entry != `["/assay"]` {
		t.Errorf("ENTRYPOINT %s: without a shell only the exec form starts", entry)
	}
	if cmd := only(t, all, "CMD"); !strings.HasPrefix(cmd, "[") {
		t.Errorf("CMD %s: without a shell only the exec form starts", cmd)
	}
	for _, label := range []string{"title", "description", "licenses", "version"} {
		if !strings.Contains(only(t, all, "LABEL"), "org.opencontainers.image."+label+"=") {
			t.Errorf("label %s is missing", label)
		}
	}
	copied := map[string]string{}
	for _, in := range all {
		f := strings.Fields(in.rest)
		switch {
		case in.stage == 2 && in.word == "COPY":
			copied[f[len(f)-1]] = f[len(f)-2]
		case in.stage == 2 && (in.word == "RUN" || in.word == "ADD"):
			t.Errorf("the last stage has %s %s", in.word, in.rest)
		case in.word == "FROM" && in.stage == 1 && !strings.Contains(in.rest, "golang:"+goVersion(t)):
			t.Errorf("FROM %s builds with another Go than go.mod asks for", in.rest)
		}
	}
	want := map[string]string{"/assay": "/out/assay", "/etc/ssl/certs/": "/etc/ssl/certs/ca-certificates.crt", "/tmp": "/out/tmp"}
	for to, from := range want {
		if copied[to] != from {
			t.Errorf("%s comes from %q, want %s", to, copied[to], from)
		}
	}
}

// goVersion is the first two numbers of the Go that go.mod asks for.
func goVersion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../go.mod")
	m := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(text))
	if err != nil || m == nil {
		t.Fatalf("go.mod: %v", err)
	}
	return m[1]
}

// What the Dockerfile builds from what .dockerignore leaves is one static file that works with nothing
// around it.
func TestDockerBuild(t *testing.T) {
	out, source := t.TempDir(), buildContext(t)
	line := ""
	for _, in := range dockerfile(t) {
		if in.word == "RUN" && strings.Contains(in.rest, "go build") {
			line = in.rest
		}
	}
	c := exec.CommandContext(t.Context(), "sh", "-euc", strings.ReplaceAll(line, "/out/", out+"/"))
	c.Dir = source
	c.Env = append(os.Environ(), "TARGETOS=linux", "TARGETARCH="+runtime.GOARCH, "VERSION=v9.8.7")
	if text, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s\n%v\n%s", line, err, text)
	}
	static(t, filepath.Join(out, "assay"))
	inEmptyRoot(t, out)
}

// static finds what an empty image would not have: an interpreter, and libraries.
func static(t *testing.T, file string) {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Error("the binary asks for a dynamic linker (PT_INTERP)")
	}
	if libs, err := f.DynString(elf.DT_NEEDED); err == nil && len(libs) > 0 {
		t.Errorf("the binary needs %v", libs)
	}
}

// buildContext copies what .dockerignore lets into a build.
func buildContext(t *testing.T) string {
	t.Helper()
	const root = "../.."
	rules := ignoreRules(t, root)
	to := t.TempDir()
	err := filepath.WalkDir(root, func(file string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil || rel == "." || ignored(rules, filepath.ToSlash(rel)) {
			if d.IsDir() && rel != "." {
				return filepath.SkipDir
			}
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func ignoreRules(t *testing.T, root string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join(root, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if l := strings.TrimSpace(s.Text()); l != "" && !strings.HasPrefix(l, "#") {
			out = append(out, l)
		}
	}
	return out
}

// ignored applies the rules in order, the last that fits wins: "*", "!name" for a name at the top and
// all below it, and "**/pattern" for a name anywhere.
func ignored(rules []string, file string) bool {
	top, _, _ := strings.Cut(file, "/")
	out := false
	for _, r := range rules {
		if pattern, ok := strings.CutPrefix(r, "**/"); ok {
			if fits, _ := path.Match(pattern, path.Base(file)); fits {
				out = true
			}
		} else if name, ok := strings.CutPrefix(r, "!"); ok && name == top {
			out = false
		} else if r == "*" {
			out = true
		}
	}
	return out
}
