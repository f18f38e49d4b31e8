package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a shell is offered: the ids of the contract that the line names, and the values of closed lists.
func TestCompletion(t *testing.T) {
	for _, tc := range []struct {
		line, word string
		has, hasNo []string
		files      bool // the shell may offer files too
	}{
		{line: "check --only", word: "SEER-IDEM-0", has: []string{"SEER-IDEM-03"}, hasNo: []string{"SEER-TRANS-01"}},
		{line: "check --contract notes --only", word: "", has: []string{"NOTES-KEY-03", "idempotency.sequential", "idempotency.replay", "idempotency", "createNote"},
			hasNo: []string{"SEER-IDEM-03", "wire.schema"}},
		{line: "check --contract notes --skip", word: "createNote,idempotency.seq", has: []string{"createNote,idempotency.sequential"}, hasNo: []string{"idempotency.sequential"}},
		{line: "check --contract no-such-contract --only", word: "", hasNo: []string{"createNote"}, files: true},
		{line: "check --contract", word: "", has: []string{"notes", "seer", "starter"}, files: true},
		{line: "check --format", word: "", has: []string{"text", "json"}},
		{line: "check --effort", word: "d", has: []string{"deep"}},
		{line: "check --allow", word: "", has: []string{"financial"}},
		{line: "check --profile", word: "", files: true},
		{line: "serve --mutant", word: "idempotency-", has: []string{"idempotency-ignored"}},
		{line: "mutants --only", word: "", has: []string{"idempotency-ignored", "idempotency-ignores-body"}},
		{line: "mutants --contract notes --only", word: "", has: []string{"idempotency-ignores-body"}, hasNo: []string{"idempotency-ignored"}},
		{line: "explain", word: "", has: []string{"SEER-IDEM-03", "wire.schema", "createForecast", "idempotency-ignored", "seer_market_bars"}},
		{line: "list", word: "", has: []string{"requirements", "mutants"}},
		{line: "completion", word: "", has: []string{"bash", "zsh", "fish", "powershell"}},
		{line: "", word: "c", has: []string{"check", "completion"}, hasNo: []string{"serve"}},
	} {
		t.Run(tc.line+" "+tc.word, func(t *testing.T) {
			r := assay(t.Context(), append(append([]string{"__complete"}, strings.Fields(tc.line)...), tc.word))
			var got []string
			for l := range strings.Lines(r.out) {
				word, _, _ := strings.Cut(strings.TrimSuffix(l, "\n"), "\t")
				got = append(got, word)
			}
			for _, w := range tc.has {
				if !slices.Contains(got, w) {
					t.Errorf("%q is not offered: %.300q", w, r.out)
				}
			}
			for _, w := range tc.hasNo {
				if slices.Contains(got, w) {
					t.Errorf("%q is offered", w)
				}
			}
			if none := slices.Contains(got, ":4"); none == tc.files {
				t.Errorf("files are offered: %v, directive in %v", !none, got[len(got)-1:])
			}
		})
	}
}

// Every closed list of a flag is offered as it is taken.
func TestEveryChoiceIsCompleted(t *testing.T) {
	for _, c := range (&app{env: lookup(nil)}).root().Commands() {
		f := c.Flags().Lookup("format")
		if f == nil {
			continue
		}
		r := assay(t.Context(), []string{"__complete", c.Name(), "--format", ""})
		for _, w := range f.Value.(choice).allowed {
			if !strings.Contains(r.out, w+"\n") {
				t.Errorf("%s --format does not offer %s: %q", c.Name(), w, r.out)
			}
		}
	}
}

func TestCompletionScripts(t *testing.T) {
	for shell, has := range map[string]string{"bash": "__start_assay", "zsh": "#compdef assay", "fish": "complete -c assay", "powershell": "Register-ArgumentCompleter"} {
		if r := assay(t.Context(), []string{"completion", shell}); r.code != 0 || r.err != "" || !strings.Contains(r.out, has) {
			t.Errorf("%s: exit %d, %.100s%s", shell, r.code, r.out, r.err)
		}
	}
	r := assay(t.Context(), []string{"completion", "bsh"})
	if r.code != exitUsage || !strings.Contains(r.err, `did you mean "bash"?`) {
		t.Errorf("%+v", r)
	}
}

// A real bash, with the script, asks the command and completes the word.
func TestBashCompletes(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, "assay")) // which is the command, see TestMain
	}
	if err != nil {
		t.Fatal(err)
	}
	script := write(t, dir, "assay.bash", assay(t.Context(), []string{"completion", "bash"}).out)
	c := exec.CommandContext(t.Context(), "bash", "--norc", "-c", `source "$1"
_get_comp_words_by_ref() { # the one function of the bash-completion package that the script needs
  words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
}
COMP_WORDS=(assay check --contract notes --only NOTES-KEY-0) COMP_CWORD=5 COMP_TYPE=9
__start_assay
printf '%s\n' "${COMPREPLY[@]}"`, "bash", script)
	c.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "NOTES-KEY-03") {
		t.Errorf("%v:\n%s", err, out)
	}
}
