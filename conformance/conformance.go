// Package conformance judges any server at any URL against a contract. Run is the whole kit in one
// call; the assay binary and go test are thin over it.
package conformance

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/report"
	"assay.kit/conformance/suite"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// Options of one run. Contract and Profile are required; the rest has defaults.
type Options struct {
	Contract  *spec.Contract
	Profile   *target.Profile
	Only      []string // requirement, claim, check, family, operation or case ids; a trailing * matches a prefix
	Skip      []string
	Cases     []string         // of what Only and Skip leave, the cases with these ids; empty: all
	Baseline  *report.Baseline // failures that are known: they do not count; may be nil
	Seed      uint64           // 0: chosen, and reported
	Effort    check.Effort
	Parallel  int
	Financial bool // allow financial effects; the profile must say sandbox too
	Compute   bool // of an MCP-only target, call tools too that do not declare themselves read-only
	Strict    bool // warnings fail
	NoShrink  bool
	Spent     *check.Spent // filled with where the time went; may be nil
	Version   string       // of the kit, for the report
	Warnings  []string     // for the report: what was found before the run
	Progress  func(check.Event)
}

// Checks returns every check that applies to any contract, and those of the named systems.
func Checks(c *spec.Contract) []check.Check { return suite.All(c) }

// Plan says what Run would do: the cases, and what will not be exercised and why.
func Plan(o Options) ([]check.Case, []report.Case, error) {
	if o.Contract == nil || o.Profile == nil {
		return nil, nil, errors.New("conformance: Options.Contract and Options.Profile must be set")
	}
	if unknown := UnknownClaims(o.Contract); len(unknown) > 0 {
		return nil, nil, &spec.LoadError{Problems: unknown}
	}
	if err := knownAbsent(o.Contract, o.Profile.Absent); err != nil {
		return nil, nil, err
	}
	if o.Baseline != nil {
		if err := o.Baseline.Resolve(o.Contract.Name, CaseClaims(o.Contract)); err != nil {
			return nil, nil, err
		}
	}
	cases, skipped, err := check.Plan(o.Contract, o.Profile, suite.All(o.Contract),
		check.Options{Only: o.Only, Skip: o.Skip, Cases: chosen(o.Cases), Financial: o.Financial, Compute: o.Compute})
	if err == nil && !left(o.Cases, cases, skipped) {
		return nil, nil, errors.New("of the cases to run again, none is selected")
	}
	return cases, skipped, err
}

// Run connects, plans, judges and reports. The error is for what prevents judging at all: a bad
// filter, a profile that cannot work, a dead target (ErrUnreachable); broken promises are in the Report.
func Run(ctx context.Context, o Options) (*report.Report, error) {
	cases, skipped, err := Plan(o)
	if err != nil {
		return nil, err
	}
	if o.Seed == 0 {
		o.Seed = chooseSeed()
	}
	if d := o.Profile.Budget.Time; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, fmt.Errorf("the time budget of %s is used up", d))
		defer cancel()
	}
	epoch := time.Now()
	caller, err := target.New(o.Profile, target.Options{Epoch: epoch})
	if err != nil {
		return nil, err
	}
	defer caller.Close()
	if err := probe(ctx, o, caller); err != nil {
		return nil, err
	}
	found := ""
	if o.Profile.MCPURL == "auto" && len(o.Contract.Tools) > 0 {
		if found = findMCP(ctx, o.Contract, caller); found != "" {
			own := *o.Profile
			own.MCPURL = ""
			o.Profile = &own
			if cases, skipped, err = Plan(o); err != nil {
				return nil, err
			}
		} else {
			own := *o.Profile
			own.MCPURL = caller.MCPEndpoint() // from here on it is known
			o.Profile = &own
		}
	}
	e := env(o, caller, epoch)
	delay := ""
	if later := o.Contract.Doc.Backpressure; later != nil && later.Delay.Part == "header" {
		delay = later.Delay.Name
	}
	count := newTally(caller, o.Profile.BaseURL, delay)
	e.Caller = count
	outcomes := check.Run(ctx, cases, e, o.Progress)
	rep := &report.Report{Target: o.Profile.BaseURL, Kit: report.Kit{Version: o.Version}, Seed: o.Seed, Effort: string(o.Effort), Strict: o.Strict,
		Started: epoch.UTC(), Interrupted: ctx.Err() != nil, Baseline: o.Baseline,
		Filtered: len(o.Only)+len(o.Skip)+len(o.Cases) > 0, Cases: skipped, Findings: []report.Finding{}}
	for _, oc := range outcomes {
		rep.Cases = append(rep.Cases, oc.Case)
		rep.Findings = append(rep.Findings, oc.Findings...)
	}
	rep.Warnings = slices.Clone(o.Warnings)
	for _, w := range count.warnings() {
		rep.Warnings = append(rep.Warnings, caller.Redactor().Text(w))
	}
	if n := caller.Renewed(); n > 0 {
		rep.Warnings = append(rep.Warnings, fmt.Sprintf("the target refused tokens that it had taken before, and the credential commands gave new ones (%d times): "+
			"if they had not expired, that is a fault of the target", n))
	}
	if found != "" {
		rep.Warnings = append(rep.Warnings, found)
	}
	rep.Warnings = append(rep.Warnings, unjudged(rep.Cases)...)
	rep.Build(o.Contract)
	rep.Seconds = time.Since(epoch).Seconds()
	return rep, nil
}

func env(o Options, caller *target.REST, epoch time.Time) check.Env {
	e := check.Env{Contract: o.Contract, Profile: o.Profile, Caller: caller, Passive: wire.Passive(), Hook: caller.RunHook,
		Redact: caller.Redact, Text: caller.Redactor().Text, Curl: caller.Curl, Epoch: epoch, Seed: o.Seed, Effort: o.Effort, Shrink: 300,
		Financial: o.Financial && o.Profile.Sandbox, Compute: o.Compute, Spent: o.Spent,
		Parallel: o.Parallel, Budget: o.Profile.Budget.Requests, JobSlots: o.Profile.Budget.Jobs, Rate: o.Profile.Budget.Rate}
	if o.NoShrink {
		e.Shrink = 0
	}
	return e
}

func chooseSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return binary.BigEndian.Uint64(b[:])>>33 + 1 // short enough to type
}
