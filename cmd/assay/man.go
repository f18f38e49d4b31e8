package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (a *app) man() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write a manual page for every subcommand into a folder",
		Example: `  assay man /usr/local/share/man/man1
  assay man docs/man`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("man takes one folder, but got %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("folder %s cannot be made: %w", args[0], reason(err))
			}
			for name, page := range manPages(c.Root()) {
				if err := os.WriteFile(filepath.Join(args[0], name), []byte(page), 0o644); err != nil {
					return fmt.Errorf("%s cannot be written: %w", filepath.Join(args[0], name), reason(err))
				}
			}
			return nil
		},
	}
}

// manPages gives a page of section 1 for the command and one for each subcommand, by file name. They
// carry neither date nor version, so that they change only when the command line does.
func manPages(root *cobra.Command) map[string]string {
	root.InitDefaultHelpFlag()
	pages := map[string]string{manName(root) + ".1": manPage(root, root.Commands())}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			c.InitDefaultHelpFlag()
			pages[manName(c)+".1"] = manPage(c, []*cobra.Command{root})
		}
	}
	return pages
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage writes one page in the man macros of roff (man(7)).
func manPage(c *cobra.Command, related []*cobra.Command) string {
	var b strings.Builder
	line := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	line(`.TH "%s" "1" "" "assay" "conformance tests"`, strings.ToUpper(manName(c)))
	line(".SH NAME\n%s \\- %s", roff(manName(c)), roff(c.Short))
	line(".SH SYNOPSIS\n.B %s", roff(c.UseLine()))
	if c.HasAvailableSubCommands() {
		line(".SH SUBCOMMANDS")
		for _, s := range related {
			if s.IsAvailableCommand() {
				line(".TP\n.B %s\n%s.", roff(s.Name()), roff(s.Short))
			}
		}
	}
	line(".SH OPTIONS")
	c.LocalFlags().VisitAll(func(f *pflag.Flag) { b.WriteString(manFlag(f)) })
	line(".SH EXAMPLES\n.nf")
	for l := range strings.Lines(c.Example) {
		line("%s", roff(strings.TrimSpace(l)))
	}
	line(".fi\n.SH EXIT STATUS")
	for _, row := range exitRows() {
		line(".TP\n.B %d\n%s", row.code, roff(row.means))
	}
	var names []string
	for _, s := range related {
		if s == c.Root() || s.IsAvailableCommand() {
			names = append(names, ".BR "+roff(manName(s))+" (1)")
		}
	}
	line(".SH SEE ALSO\n%s", strings.Join(names, ",\n"))
	return b.String()
}

func manFlag(f *pflag.Flag) string {
	name, usage := pflag.UnquoteUsage(f)
	head := `\fB` + roff("--"+f.Name) + `\fR`
	if f.Shorthand != "" {
		head = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + head
	}
	if name != "" {
		head += ` \fI` + roff(name) + `\fR`
	}
	if d := f.DefValue; d != "" && d != "false" && d != "[]" && d != "0" && d != "0s" {
		usage += " (default " + d + ")"
	}
	var lines []string
	for l := range strings.Lines(usage) {
		lines = append(lines, roff(strings.TrimSpace(l)))
	}
	return ".TP\n" + head + "\n" + strings.Join(lines, "\n.br\n") + "\n"
}

type exitRow struct {
	code  int
	means string
}

// exitRows say what the exit codes of a judgement mean; the README has the same table.
func exitRows() []exitRow {
	return []exitRow{
		{exitOK, "conformant, or done"},
		{exitViolations, "violations"},
		{exitUsage, "usage, configuration or contract error: nothing was sent"},
		{exitNotJudged, "could not judge: unreachable, inconclusive, nothing executed, or the kit's own fault"},
		{exitInterrupted, "interrupted; the report is still written"},
	}
}

// roff hides what the language would take for its own: backslashes, hyphens, and a point or an
// apostrophe that begins a line.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		return `\&` + s
	}
	return s
}
