package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assay.kit/conformance"
	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/spec"
)

func (a *app) initProfile() *cobra.Command {
	var contract, url, out string
	c := &cobra.Command{
		Use:   "init",
		Short: "Write a first profile: what the checks of a contract want to know about a server, a commented line each",
		Example: `  assay init --contract notes --target https://api.example.com
  assay init --out staging.yaml`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			ct, err := loadContract(contract)
			if err != nil {
				return err
			}
			text, variables, err := firstProfile(ct, contract, url)
			if err != nil {
				return err
			}
			if err := writeNew(out, text); err != nil {
				return err
			}
			a.nextSteps(out, variables)
			return nil
		},
	}
	fl := c.Flags()
	fl.StringVar(&contract, "contract", "seer", contractUsage())
	fl.StringVar(&url, "target", "", "base URL of the server (default: from the contract's environment variable)")
	fl.StringVar(&out, "out", "assay.yaml", "file to write; one that exists is left alone")
	return c
}

// writeNew writes a file that is not there yet.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists and is left as it is; name another file with --out", path)
	}
	if err != nil {
		return fmt.Errorf("flag --out: %s cannot be written: %w", path, reason(err))
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("flag --out: %s cannot be written: %w", path, reason(err))
	}
	return nil
}

func (a *app) nextSteps(path string, variables []string) {
	fmt.Fprintf(a.out, "wrote    %s\n", path)
	for _, v := range variables {
		state := "set it"
		if value, ok := a.env(v); ok && value != "" {
			state = "is set"
		}
		fmt.Fprintf(a.out, "needs    %s (%s)\n", v, state)
	}
	fmt.Fprintf(a.out, "look     assay check --profile %s --plan\n", path)
	fmt.Fprintf(a.out, "judge    assay check --profile %s\n", path)
}

// firstProfile is the text of a profile that loads as it stands once the variables are set; what
// would let more be exercised is in comments. It holds no secret, only names of variables.
func firstProfile(c *spec.Contract, name, url string) (text string, variables []string, err error) {
	base := url
	if base == "" {
		variables = append(variables, cmp.Or(c.Doc.BaseURLEnv, "ASSAY_BASE_URL"))
		base = "${" + variables[0] + "}"
	} else {
		base = strings.ReplaceAll(base, "${", "$${")
	}
	token := cmp.Or(c.Doc.TokenEnv, "ASSAY_TOKEN")
	variables = append(variables, token)
	cases, err := wanted(c)
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("## What assay cannot know from the contract %s. Remove the \"# \" of a line, and of the name of its section,", c.Name)
	line("## to let its cases run. Secrets stay in variables: ${NAME}; {command: [...], refresh: 10m} prints a token.")
	line("contract: %q", name)
	line("base_url: %q", base)
	line("")
	line("credentials:")
	line("  primary: {bearer: %q}   # %s", "${"+token+"}", target.Primary.Means())
	for _, section := range []string{"credentials", "hooks", ""} {
		if section == "hooks" {
			line("\n# hooks:   # {name} in a command or URL is replaced by that argument")
		}
		if section == "" {
			line("")
		}
		for _, n := range target.AllCapabilities() {
			if head, body := unlocking(n); head == section && cases[n] > 0 {
				inner := strings.TrimLeft(body, " ")
				line("%s# %s   # %s; for %s", body[:len(body)-len(inner)], inner, n.Means(), counted(cases[n]))
			}
		}
	}
	for _, l := range asides() {
		line("# %s", l)
	}
	return b.String(), variables, valid(b.String(), variables)
}

// asides are members that no capability stands for.
func asides() []string {
	return []string{
		`values: {exampleId: "an-id-that-exists"}   # data at the server, by member or parameter name`,
		`absent: [someOperation]   # operations that the server does not have, on purpose`,
		`budget: {rate: 20/s, time: 10m, requests: 20000, jobs: 16}   # bounds of a run`,
		`headers: {X-Tenant: "${TENANT}"}   # sent with every request; no report shows them`,
		`tls: {ca: ca.pem, cert: client.pem, key: client-key.pem}   # an authority of your own, a client certificate`,
		`proxy: "${PROXY_URL}"   # http://[user:password@]host:port`,
	}
}

// unlocking is the section of a capability in the profile and its line there, with variables that
// have names. The table of capabilities says both.
func unlocking(n target.Capability) (section, line string) {
	head, body, _ := strings.Cut(n.Unlock(), "\n")
	if body == "" {
		return "", head
	}
	body, _, _ = strings.Cut(body, "   #")
	name := "ASSAY_" + strings.ToUpper(string(n))
	if strings.Count(body, "${...}") == 2 {
		body = strings.Replace(body, "${...}", "${"+name+"_OLD}", 1)
		name += "_NEW"
	}
	return strings.TrimSuffix(head, ":"), strings.ReplaceAll(body, "${...}", "${"+name+"}")
}

// wanted counts the cases that each capability would let run, for a server of which nothing but the
// primary credential is known. What only a requirement names counts as one.
func wanted(c *spec.Contract) (map[target.Capability]int, error) {
	bare := &target.Profile{Credentials: map[string]target.Credential{string(target.Primary): {}}}
	_, left, err := conformance.Plan(conformance.Options{Contract: c, Profile: bare})
	if err != nil {
		return nil, err
	}
	out := map[target.Capability]int{}
	for _, cs := range left {
		for _, n := range cs.Needs {
			if n != check.AllowFinancial && n != check.AllowCompute {
				out[target.Capability(n)]++
			}
		}
	}
	for _, q := range c.Reqs {
		for _, n := range q.Needs {
			if slices.Contains(target.AllCapabilities(), target.Capability(n)) && n != string(target.Primary) {
				out[target.Capability(n)] = max(out[target.Capability(n)], 1)
			}
		}
	}
	return out, nil
}

func counted(n int) string {
	if n == 1 {
		return "1 case"
	}
	return fmt.Sprintf("%d cases", n)
}

// valid reads the text as check will, with a value for each of its variables.
func valid(text string, variables []string) error {
	_, err := target.Parse("the profile", []byte(text), func(name string) (string, bool) {
		return "http://set.example", slices.Contains(variables, name)
	})
	if err != nil {
		return fmt.Errorf("flag --target does not make a profile: %w", err)
	}
	return nil
}
