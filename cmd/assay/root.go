package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay.kit/conformance"
	"assay.kit/conformance/report"
	"assay.kit/spec/typo"
)

// Exit codes (README, "Exit codes").
const (
	exitOK          = 0
	exitViolations  = 1
	exitUsage       = 2 // usage, configuration or contract
	exitNotJudged   = 3 // unreachable, inconclusive, nothing executed, own error
	exitInterrupted = 130
)

// exit carries an exit code without a message: what is to be said has been said.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// notJudged marks an error that kept the kit from judging, as opposed to one in what it was given.
type notJudged struct{ error }

func (e notJudged) Unwrap() error { return e.error }

// app is what every subcommand writes to and reads its environment from.
type app struct {
	out, err io.Writer
	env      func(string) (string, bool)
}

// Main runs one command line and returns its exit code. Only the result goes to stdout. ctx ends
// when the user interrupts.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer, env func(string) (string, bool)) int {
	if env == nil {
		env = os.LookupEnv
	}
	a := &app{out: stdout, err: stderr, env: env}
	root := a.root()
	if completing(args) {
		if err := complete(root); err != nil {
			fmt.Fprintf(stderr, "assay: %v\n", err)
			return exitNotJudged
		}
	}
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	code := codeOf(ctx, err)
	var silent exit
	if err != nil && !errors.As(err, &silent) {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(stderr, "assay: %s\n", report.Clean(strings.TrimSuffix(line, "\n")))
		}
	}
	return code
}

func codeOf(ctx context.Context, err error) int {
	var code exit
	var open notJudged
	switch {
	case errors.As(err, &code):
		return int(code)
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.Is(err, conformance.ErrUnreachable), errors.As(err, &open):
		return exitNotJudged
	default:
		return exitUsage
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "assay",
		Short: "Judge any server against a contract; without a subcommand, show how on the built-in reference (demo)",
		Example: `  assay check --target https://api.example.com
  assay demo --contract notes`,
		Args:          noSubcommand,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(c *cobra.Command, _ []string) error { return a.runDemo(c.Context(), demoDefaults()) },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetHelpTemplate(helpTemplate)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(a.demo(), a.check(), a.serve(), a.lint(), a.diff(), a.list(), a.explain(), a.mutants(), a.replay(), a.initProfile(), a.report(), a.version())
	root.AddCommand(a.completion(), a.man())
	return root
}

// helpTemplate is one sentence, the examples, then what there is to choose.
const helpTemplate = `{{.Short}}.

{{.Example}}

Usage: {{.UseLine}}{{if .HasAvailableSubCommands}} | {{.Name}} SUBCOMMAND
{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}}  {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableFlags}}

{{.Flags.FlagUsages | trimTrailingWhitespaces}}{{end}}
`

// noSubcommand refuses a word that is no subcommand, with the nearest one.
func noSubcommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, s := range c.Commands() {
		names = append(names, s.Name())
	}
	return fmt.Errorf("there is no subcommand %q%s", args[0], orElse(didYouMean(args[0], names), "; assay --help lists them"))
}

// noArgs refuses arguments of a subcommand that takes none.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no argument, but got %q; see %s --help", c.CommandPath(), args[0], c.CommandPath())
}

// flagError words what pflag found in one sentence.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var valueless *pflag.ValueRequiredError
	var bad *pflag.InvalidValueError
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return err
	case errors.As(err, &unknown):
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := unknown.GetSpecifiedName()
		dashes := "--"
		if unknown.GetSpecifiedShortnames() != "" {
			dashes = "-"
		}
		near := typo.Nearest(name, names)
		if near != "" {
			near = fmt.Sprintf("; did you mean --%s?", near)
		}
		return fmt.Errorf("%s has no flag %s%s%s", c.CommandPath(), dashes, name, near)
	case errors.As(err, &valueless):
		return fmt.Errorf("flag --%s needs a value", valueless.GetFlag().Name)
	case errors.As(err, &bad):
		return fmt.Errorf("flag --%s: %s", bad.GetFlag().Name, reasonOf(bad))
	default:
		return err
	}
}

func reasonOf(bad *pflag.InvalidValueError) string {
	f := bad.GetFlag()
	var own *choiceError
	if errors.As(bad, &own) {
		return own.Error()
	}
	kind := map[string]string{"uint64": "a whole number from 0", "int": "a whole number", "int64": "a whole number",
		"bool": "true or false", "duration": "a duration such as 90s"}[f.Value.Type()]
	if kind == "" {
		kind = "a " + f.Value.Type()
	}
	return fmt.Sprintf("%q is not %s", bad.GetValue(), kind)
}

func didYouMean(word string, names []string) string {
	if n := typo.Nearest(word, names); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}

// orElse prefers a suggestion to the place where one would look.
func orElse(suggestion, place string) string {
	if suggestion != "" {
		return suggestion
	}
	return place
}

// choice is a flag with a closed list of values.
type choice struct {
	value   *string
	allowed []string
}

type choiceError struct{ text string }

func (e *choiceError) Error() string { return e.text }

func (c choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

// Type is what help shows: the values that can be written; "" is the absence of the flag.
func (c choice) Type() string {
	return strings.Join(slices.DeleteFunc(slices.Clone(c.allowed), func(s string) bool { return s == "" }), "|")
}

func (c choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		return &choiceError{fmt.Sprintf("%q is none of %s%s", s, strings.ReplaceAll(c.Type(), "|", ", "), didYouMean(s, c.allowed))}
	}
	*c.value = s
	return nil
}

// choiceVar adds a flag that takes one of the allowed values, the first by default.
func choiceVar(c *cobra.Command, p *string, name, usage string, allowed ...string) {
	*p = allowed[0]
	c.Flags().Var(choice{p, allowed}, name, usage)
}
