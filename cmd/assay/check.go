package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay.kit/conformance"
	"assay.kit/conformance/check"
	"assay.kit/conformance/report"
	"assay.kit/conformance/target"
	"assay.kit/spec"
	"assay.kit/spec/contracts"
)

type checkFlags struct {
	target, contract, profile, effort, format, report, out, rate string
	only, skip, allow                                            []string
	seed                                                         uint64
	strict, plan                                                 bool
	jobs                                                         int
	time                                                         time.Duration
	baseline, writeBaseline, rerun                               string
	previous                                                     *report.Report         // of --rerun
	given                                                        func(flag string) bool // was it on the command line?
}

func (a *app) check() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check",
		Short: "Judge the server at a URL and print a verdict for every requirement of its contract",
		Example: `  assay check --target https://api.example.com
  assay check --profile staging.yaml --only SEER-IDEM* --rate 20/s --report out.json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.given = c.Flags().Changed
			return a.runCheck(c.Context(), f)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.baseline, "baseline", "", "file of known failures: they are listed and do not count; one that holds again fails the run")
	fl.StringVar(&f.writeBaseline, "write-baseline", "", "write what failed to this file, for --baseline; with --baseline of the same file its reasons are kept")
	fl.StringVar(&f.rerun, "rerun", "", "run only what failed or could not be judged in this JSON report, with its seed and effort unless given")
	fl.StringVar(&f.target, "target", "", "base URL of the server; overrides the profile's base_url")
	fl.StringVar(&f.contract, "contract", "", contractUsage()+"; mcp: the list of tools of the MCP endpoint at --target (default: the profile's, else seer)")
	fl.StringVar(&f.profile, "profile", "", "file that says what the contract cannot: credentials, hooks, data (default: from the contract's environment variables)")
	fl.StringSliceVar(&f.only, "only", nil, "judge only these requirements, claims, checks, families, operations or cases; a trailing * matches a prefix")
	fl.StringSliceVar(&f.skip, "skip", nil, "leave these out; the same names as --only")
	fl.Uint64Var(&f.seed, "seed", 0, "of everything drawn; 0 chooses one and reports it")
	choiceVar(c, &f.effort, "effort", "how many values a property draws", string(check.Standard), string(check.Quick), string(check.Deep))
	fl.StringSliceVar(&f.allow, "allow", nil, "effects that are otherwise not caused: financial (the profile must say sandbox: true too); compute (with --contract mcp: tools that do not declare themselves read-only)")
	fl.BoolVar(&f.strict, "strict", false, "warnings count as violations")
	fl.StringVar(&f.rate, "rate", "", "requests that are sent at most: 20/s, 600/m or none; overrides the profile's budget")
	fl.DurationVar(&f.time, "time", 0, "how long the run may take; what was not judged by then is inconclusive; overrides the profile's budget")
	fl.BoolVar(&f.plan, "plan", false, "print what would be sent, to which operations and with which effect, and send nothing")
	fl.IntVar(&f.jobs, "jobs", 8, "cases at once")
	choiceVar(c, &f.format, "format", "of stdout; all but text are the report alone, and assay report --help says what each is for", formatNames()...)
	fl.StringVar(&f.report, "report", "", "also write the JSON report to this file")
	fl.StringVar(&f.out, "out", "", "also write the report in every format to this folder, with the exchanges and pictures of each finding")
	return c
}

func (a *app) runCheck(ctx context.Context, f checkFlags) error {
	o, err := a.checkOptions(f)
	if err != nil {
		return err
	}
	if o.Contract == nil {
		if o, err = a.discovered(ctx, f, o); err != nil {
			return err
		}
	}
	if f.plan {
		return a.showPlan(o, f.format)
	}
	file, err := createReport(f.report)
	if err != nil {
		return err
	}
	defer file.discard()
	if err := f.canWriteBaseline(); err != nil {
		return err
	}
	dir, err := createOutputs(f.out)
	if err != nil {
		return err
	}
	rep, err := a.judge(ctx, o)
	if err != nil {
		return err
	}
	rep.Profile = f.profile
	if err := errors.Join(file.write(rep), dir.write(rep), a.keepBaseline(f.writeBaseline, rep)); err != nil {
		return err
	}
	return a.show(ctx, rep, f.format, console(cmp.Or(f.report, dir.jsonFile()), dir.folder()))
}

// checkOptions resolves the flags; nothing is sent.
func (a *app) checkOptions(f checkFlags) (conformance.Options, error) {
	o := conformance.Options{Only: f.only, Skip: f.skip, Seed: f.seed, Effort: check.Effort(f.effort),
		Parallel: f.jobs, Strict: f.strict, Version: kitVersion()}
	if f.jobs < 1 {
		return o, fmt.Errorf("flag --jobs: %d is too few; give 1 or more", f.jobs)
	}
	for _, w := range f.allow {
		switch spec.Effect(w) {
		case spec.EffectFinancial:
			o.Financial = true
		case spec.EffectCompute:
			o.Compute = true
		default:
			return o, fmt.Errorf("flag --allow: %q is no effect that needs to be allowed; there are: financial, compute", w)
		}
	}
	if err := f.bound(&target.Profile{}); err != nil { // a flag is wrong whatever the profile says
		return o, err
	}
	if err := f.earlier(&o); err != nil {
		return o, err
	}
	name := f.contract
	if f.profile != "" {
		p, err := target.Load(f.profile, a.env)
		if err != nil {
			return o, err
		}
		o.Profile = p
		switch {
		case name == "":
			name = p.Contract
		case p.Contract != "" && p.Contract != name && slices.Contains(contracts.Names(), p.Contract) && slices.Contains(contracts.Names(), name):
			// Hundreds of findings would say in the end that this was a slip.
			return o, fmt.Errorf("flag --contract: it says %s, and the profile %s is for %s; leave one out", name, f.profile, p.Contract)
		}
	}
	if name == conformance.MCPOnly {
		var err error
		o.Profile, err = a.mcpOnly(f, o.Profile)
		return o, err
	}
	c, err := loadContract(cmp.Or(name, f.judged(), "seer"))
	if err != nil {
		return o, err
	}
	o.Contract = c
	if err := f.selects(o); err != nil {
		return o, err
	}
	if o.Profile == nil {
		if o.Profile, err = target.FromEnvironment(c, f.target, a.env); err != nil {
			return o, err
		}
		return o, f.bound(o.Profile)
	}
	if err := f.bound(o.Profile); err != nil {
		return o, err
	}
	if f.target != "" {
		o.Profile.BaseURL = strings.TrimRight(f.target, "/")
	}
	return o, knownOperations(c, o.Profile, f.profile)
}

// bound puts the flags' bounds over the profile's.
func (f checkFlags) bound(p *target.Profile) error {
	if f.time < 0 {
		return fmt.Errorf("flag --time: %s is no length of time; give e.g. 10m", f.time)
	}
	if f.time > 0 {
		p.Budget.Time = f.time
	}
	if f.rate == "" {
		return nil
	}
	rate, err := target.ParseRate(f.rate)
	if err != nil {
		return fmt.Errorf("flag --rate: %w", err)
	}
	p.Budget.Rate = rate
	return nil
}

// knownOperations refuses a profile that declares something absent that the contract does not have:
// a slip there would let a check run against a route that its owner meant to exclude.
func knownOperations(c *spec.Contract, p *target.Profile, file string) error {
	var names []string
	for _, op := range c.Ops {
		names = append(names, op.ID)
	}
	var errs []error
	for _, id := range p.Absent {
		if c.Op(id) == nil {
			errs = append(errs, fmt.Errorf("%s: absent: contract %s has no operation %q%s", file, c.Name, id, didYouMean(id, names)))
		}
	}
	return errors.Join(errs...)
}

// judge runs the suite and shows how it is coming along.
func (a *app) judge(ctx context.Context, o conformance.Options) (*report.Report, error) {
	p := a.progress()
	defer p.close()
	o.Progress = p.event
	return conformance.Run(ctx, o)
}

// show prints the report and turns its verdict into an exit code.
func (a *app) show(ctx context.Context, rep *report.Report, format string, text report.Console) error {
	err := a.writeTo(a.out, rep, format, text)
	switch {
	case err != nil:
		return notJudged{err}
	case ctx.Err() != nil:
		return exit(exitInterrupted)
	case rep.Verdict == report.Violations:
		return exit(exitViolations)
	case rep.Verdict != report.Conformant:
		return exit(exitNotJudged)
	default:
		return nil
	}
}

// reportFile is a report that appears under its name only when it is whole.
type reportFile struct {
	path string
	temp *os.File
}

// createReport makes sure that the report can be written before anything is sent.
func createReport(path string) (*reportFile, error) {
	if path == "" {
		return nil, nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("flag --report: %s is a folder; give a file", path)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return nil, fmt.Errorf("flag --report: %s cannot be written: %w", path, reason(err))
	}
	return &reportFile{path: path, temp: temp}, nil
}

func (f *reportFile) write(rep *report.Report) error {
	if f == nil {
		return nil
	}
	err := errors.Join(rep.WriteJSON(f.temp), f.temp.Chmod(0o644), f.temp.Close())
	if err == nil {
		err = os.Rename(f.temp.Name(), f.path)
	}
	if err != nil {
		return notJudged{fmt.Errorf("report %s cannot be written: %w", f.path, err)}
	}
	return nil
}

// discard removes what was not written to its end.
func (f *reportFile) discard() {
	if f != nil {
		_ = f.temp.Close()
		_ = os.Remove(f.temp.Name())
	}
}

// reason is an error of the file system without its path, which the sentence has already.
func reason(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
