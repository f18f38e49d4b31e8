package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay.kit/spec"
	"assay.kit/spec/contracts"
)

func (a *app) completion() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a script that lets a shell complete subcommands, flags and ids",
		Example: `  assay completion bash > /etc/bash_completion.d/assay
  assay completion fish > ~/.config/fish/completions/assay.fish`,
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("completion takes one shell, but got %d; there are %s", len(args), strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			switch root := c.Root(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.out, true)
			case "zsh":
				return root.GenZshCompletion(a.out)
			case "fish":
				return root.GenFishCompletion(a.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.out)
			}
			return fmt.Errorf("there is no completion for %q%s", args[0], orElse(didYouMean(args[0], shells), "; there are "+strings.Join(shells, ", ")))
		},
	}
}

// completing reports whether a shell asks what could stand next.
func completing(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// complete says what flags and arguments may be. Only a shell that asks needs it, since cobra keeps it
// for the life of the process.
func complete(root *cobra.Command) error {
	for _, c := range root.Commands() {
		if words := argumentWords(c.Name()); words != nil {
			c.ValidArgsFunction = offer(words)
		}
		var err error
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if words := flagWords(c.Name(), f); words != nil && err == nil {
				err = c.RegisterFlagCompletionFunc(f.Name, words)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// argumentWords are what the argument of a subcommand may be, each with what it says; nil: not ids.
func argumentWords(command string) func(*catalog) []string {
	switch command {
	case "explain":
		return func(k *catalog) []string {
			return slices.Concat(k.selectable(), k.passiveWords(), k.operationWords(), k.toolWords(), k.mutantWords(nil))
		}
	default:
		return nil
	}
}

// flagWords are what a flag of a subcommand may be; nil: left to the shell, which offers files.
func flagWords(command string, f *pflag.Flag) cobra.CompletionFunc {
	if ch, ok := f.Value.(choice); ok {
		return cobra.FixedCompletions(ch.allowed, cobra.ShellCompDirectiveNoFileComp)
	}
	switch {
	case f.Name == "contract":
		return cobra.FixedCompletions(contracts.Names(), cobra.ShellCompDirectiveDefault) // or a folder
	case f.Name == "allow":
		return cobra.FixedCompletions([]string{string(spec.EffectFinancial)}, cobra.ShellCompDirectiveNoFileComp)
	case f.Name == "mutant", f.Name == "only" && command == "mutants":
		return func(c *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
			k, err := catalogOf(c)
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			return listed(word, k.mutantWords(c)), cobra.ShellCompDirectiveNoFileComp
		}
	case f.Name == "only", f.Name == "skip":
		return offer(func(k *catalog) []string { return slices.Concat(k.selectable(), k.familyWords(), k.operationWords()) })
	default:
		return nil
	}
}

// offer completes from the catalog of the contract that the command line names.
func offer(words func(*catalog) []string) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		k, err := catalogOf(c)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return listed(word, words(k)), cobra.ShellCompDirectiveNoFileComp
	}
}

func catalogOf(c *cobra.Command) (*catalog, error) {
	name := "seer"
	if f := c.Flags().Lookup("contract"); f != nil && f.Value.String() != "" {
		name = f.Value.String()
	}
	ct, err := loadContract(name)
	if err != nil {
		return nil, err
	}
	return newCatalog(ct), nil
}

// listed completes the last of several words that are separated by commas.
func listed(word string, words []string) []string {
	before := word[:strings.LastIndex(word, ",")+1]
	slices.Sort(words)
	var out []string
	for _, w := range slices.Compact(words) {
		if strings.HasPrefix(before+w, word) {
			out = append(out, before+w)
		}
	}
	return out
}

// selectable are the ids that choose cases: of requirements, checks and what these judge.
func (k *catalog) selectable() []string {
	var out []string
	seen := map[string]bool{}
	add := func(id, says string) {
		if !seen[id] {
			seen[id] = true
			out = append(out, cobra.CompletionWithDesc(id, says))
		}
	}
	for _, q := range k.contract.Reqs {
		add(q.ID, q.Statement)
	}
	for i := range k.checks {
		add(k.checks[i].ID, k.checks[i].Does)
		for _, cl := range k.checks[i].Claims {
			add(cl.ID, cl.Says)
		}
	}
	return out
}

func (k *catalog) passiveWords() []string {
	var out []string
	for _, r := range k.passive {
		out = append(out, cobra.CompletionWithDesc(r.Claim, r.Says))
	}
	return out
}

func (k *catalog) familyWords() []string {
	var out []string
	for i := range k.checks {
		out = append(out, cobra.CompletionWithDesc(k.checks[i].Family(), "every check of this family"))
	}
	return out
}

func (k *catalog) operationWords() []string {
	var out []string
	for _, op := range k.contract.Ops {
		out = append(out, cobra.CompletionWithDesc(op.ID, op.Method+" "+op.Path))
	}
	return out
}

func (k *catalog) toolWords() []string {
	var out []string
	for _, t := range k.contract.Tools {
		out = append(out, cobra.CompletionWithDesc(t.Name, t.Title))
	}
	return out
}

// mutantWords are those of the contract that the command line names, else all.
func (k *catalog) mutantWords(c *cobra.Command) []string {
	only := ""
	if c != nil && c.Flags().Lookup("contract") != nil {
		only = c.Flags().Lookup("contract").Value.String()
	}
	var out []string
	for _, m := range k.mutants {
		if only == "" || only == m.Contract || !c.Flags().Changed("contract") {
			out = append(out, cobra.CompletionWithDesc(m.ID, m.Does))
		}
	}
	return out
}
