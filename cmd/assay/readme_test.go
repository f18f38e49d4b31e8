package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// command is one line of a console block in README.md, with the output that is shown under it.
type command struct {
	line string
	show []string
}

// TestReadmeCommands runs every command that the README shows, in order and in one folder, and
// finds every line that it prints there, numbers apart.
func TestReadmeCommands(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := consoleCommands(string(text))
	if len(commands) < 6 {
		t.Fatalf("README.md shows only %d commands", len(commands))
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	var servers sync.WaitGroup
	defer servers.Wait()
	defer stop()
	for _, c := range commands {
		args, background, ok := words(c.line)
		switch {
		case !ok:
			t.Errorf("the test does not know how to run %q", c.line)
		case args == nil: // sets the scene for a server that is not here
		case args[0] == "go":
			compare(t, c, goForReadme(ctx, t, root, c.line))
		case args[0] == "echo": // writes a file that the next one reads
			if out, err := exec.CommandContext(ctx, "bash", "-c", c.line).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v %s", c.line, err, out)
			}
		case background:
			servers.Go(func() { runForReadme(ctx, args, nil) })
			awaitFile(t, args)
		default:
			var out bytes.Buffer
			runForReadme(shortLived(ctx, t, args), args, &out)
			compare(t, c, out.String())
		}
	}
}

func consoleCommands(text string) []command {
	var out []command
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(text, -1) {
		for _, l := range strings.Split(strings.TrimSuffix(block[1], "\n"), "\n") {
			if line, ok := strings.CutPrefix(l, "$ "); ok {
				out = append(out, command{line: line})
			} else if l != "…" && l != "" {
				out[len(out)-1].show = append(out[len(out)-1].show, l)
			}
		}
	}
	return out
}

// words gives the arguments of assay; nil for a line that only sets the scene.
func words(line string) (args []string, background, ok bool) {
	line, background = strings.CutSuffix(line, " &")
	f := strings.Fields(line)
	switch {
	case f[0] == "export", line == "assay check --contract seer":
		return nil, false, true
	case f[0] == "assay":
		return f[1:], background, true
	case f[0] == "go", f[0] == "echo":
		return f, false, true
	case strings.HasPrefix(line, "make demo"):
		args = []string{"demo", "--seed", "1"}
		for _, v := range f[2:] {
			name, value, _ := strings.Cut(v, "=")
			args = append(args, "--"+strings.ToLower(name), value)
		}
		return args, false, true
	}
	return nil, false, false
}

// goForReadme runs a go command in the checkout, where the files of the test are taken to be.
func goForReadme(ctx context.Context, t *testing.T, root, line string) string {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(ctx, "bash", "-c", strings.ReplaceAll(line, "$PWD", here))
	c.Dir, c.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	out, _ := c.CombinedOutput() // a broken server makes it fail, which is what is shown
	return string(out)
}

func runForReadme(ctx context.Context, args []string, out *bytes.Buffer) {
	var both bytes.Buffer
	Main(ctx, args, &both, &both, nil)
	if out != nil {
		*out = both
	}
}

// shortLived ends a server that is only shown to start, as soon as it has written its profile.
func shortLived(ctx context.Context, t *testing.T, args []string) context.Context {
	if args[0] != "serve" {
		return ctx
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		awaitFile(t, args)
	}()
	return ctx
}

// awaitFile waits until the profile that the arguments name is there, which is when the server serves.
func awaitFile(t *testing.T, args []string) {
	for i, a := range args {
		if a != "--write-profile" {
			continue
		}
		for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(5 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(".", args[i+1])); err == nil {
				return
			}
		}
		t.Errorf("assay %s wrote no profile", strings.Join(args, " "))
	}
}

var digits = regexp.MustCompile(`[0-9]+`)

// compare looks for each shown line in the output, numbers apart.
func compare(t *testing.T, c command, out string) {
	plain := func(s string) string { return digits.ReplaceAllString(strings.TrimRight(s, " "), "0") }
	have := map[string]bool{}
	for _, l := range strings.Split(out, "\n") {
		have[plain(l)] = true
	}
	for _, l := range c.show {
		if !have[plain(l)] {
			t.Errorf("$ %s\nno longer prints\n%s\nbut\n%s", c.line, l, out)
			return
		}
	}
}
