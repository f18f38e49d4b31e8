package conformance

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/spec"
	"assay.kit/spec/contracts"
)

// Flags are the options of a run as a go test takes them: -target URL, -profile FILE, -contract NAME,
// -only and -skip IDS, -seed N, -effort, -allow financial, -strict. What is not given as a flag is
// read from ASSAY_TARGET, ASSAY_PROFILE and so on; go test keeps results, so give it -count=1 then.
type Flags struct {
	values map[string]*string
}

// flagRows name the flags. Each has a variable, ASSAY_ and the name in capitals.
func flagRows() [][2]string {
	return [][2]string{
		{"target", "base URL of the server to judge; overrides the profile's base_url"},
		{"profile", "file with what the contract cannot say: credentials, hooks, data"},
		{"contract", "a built-in contract (" + strings.Join(contracts.Names(), ", ") + ") or a folder (default: the profile's, else seer)"},
		{"only", "ids to judge, separated by commas: requirements, claims, checks, families, operations, cases; a trailing * matches a prefix"},
		{"skip", "ids to leave out"},
		{"seed", "of everything drawn (default: chosen, and reported)"},
		{"effort", "how many values a property draws: quick, standard or deep"},
		{"allow", "financial: cause financial effects; the profile must say sandbox: true too"},
		{"strict", "true: warnings fail"},
	}
}

// Bind adds the flags to a set, before it is parsed; in a go test that is flag.CommandLine in TestMain.
func (f *Flags) Bind(set *flag.FlagSet) {
	f.values = map[string]*string{}
	for _, row := range flagRows() {
		v := new(string)
		f.values[row[0]] = v
		if row[0] == "strict" {
			set.BoolFunc(row[0], row[1], func(s string) error { *v = s; return nil })
		} else {
			set.StringVar(v, row[0], "", row[1])
		}
	}
}

// Given reports whether there is a server to judge: a target, or a profile that names one.
func (f *Flags) Given(env func(string) (string, bool)) bool {
	return f.value("target", env) != "" || f.value("profile", env) != ""
}

// Options reads the contract and the profile; nothing is sent. env is os.LookupEnv. A relative path is
// taken from the folder that go test runs the package in.
func (f *Flags) Options(env func(string) (string, bool)) (Options, error) {
	get := func(name string) string { return f.value(name, env) }
	o := Options{Only: fields(get("only")), Skip: fields(get("skip")), Effort: check.Effort(get("effort")),
		Strict: get("strict") == "true"}
	if err := f.small(&o, env); err != nil {
		return o, err
	}
	name := get("contract")
	if file := get("profile"); file != "" {
		p, err := target.Load(file, env)
		if err != nil {
			return o, err
		}
		if t := get("target"); t != "" {
			p.BaseURL = strings.TrimRight(t, "/")
		}
		o.Profile = p
		if name == "" {
			name = p.Contract
		}
	}
	if name == "" {
		name = "seer"
	}
	var err error
	if o.Contract, err = readContract(name); err != nil || o.Profile != nil {
		return o, err
	}
	o.Profile, err = target.FromEnvironment(o.Contract, get("target"), env)
	return o, err
}

// small reads the options that are single words.
func (f *Flags) small(o *Options, env func(string) (string, bool)) error {
	if s := f.value("seed", env); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return fmt.Errorf("flag -seed: %q is not a whole number from 0", s)
		}
		o.Seed = n
	}
	switch o.Effort {
	case "", check.Quick, check.Standard, check.Deep:
	default:
		return fmt.Errorf("flag -effort: %q is none of quick, standard, deep", o.Effort)
	}
	switch w := f.value("allow", env); w {
	case "":
	case string(spec.EffectFinancial):
		o.Financial = true
	default:
		return fmt.Errorf("flag -allow: %q is no effect that needs to be allowed; there is: financial", w)
	}
	return nil
}

func (f *Flags) value(name string, env func(string) (string, bool)) string {
	if v := f.values[name]; v != nil && *v != "" {
		return *v
	}
	v, _ := env("ASSAY_" + strings.ToUpper(name))
	return v
}

func fields(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// readContract takes a built-in contract's name, else a folder.
func readContract(name string) (*spec.Contract, error) {
	files, unknown := contracts.Named(name)
	if unknown != nil {
		if info, err := os.Stat(name); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("flag -contract: %w, and it is no folder", unknown)
		}
		files = os.DirFS(name)
		name = filepath.Base(name)
	}
	c, err := spec.Load(files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("flag -contract: %s holds no openapi.yaml: %w", name, err)
	}
	return c, err
}
