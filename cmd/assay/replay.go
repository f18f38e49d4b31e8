package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assay.kit/conformance"
	"assay.kit/conformance/check"
	"assay.kit/conformance/report"
)

func (a *app) replay() *cobra.Command {
	var f checkFlags
	var offline bool
	c := &cobra.Command{
		Use:   "replay FILE [CASE]",
		Short: "Run one case of a JSON report again, with its seed, and say whether its failure happens again",
		Example: `  assay replay out.json
  assay replay out.json idempotency.sequential@createForecast --target https://api.example.com`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 && len(args) != 2 {
				return fmt.Errorf("replay takes a report and one of its cases, but got %d arguments; see assay replay --help", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			f.given = c.Flags().Changed
			rep, err := loadReport("replay", args[0])
			if err != nil {
				return err
			}
			name := append(args, "")[1]
			findings := findingsOf(rep, name)
			if name != "" && len(findings) == 0 {
				return noFinding(rep, args[0], name)
			}
			switch {
			case offline:
				return a.replayOffline(f, rep, findings)
			case name == "":
				return a.listFindings(rep, f.format)
			default:
				return a.replayCase(c.Context(), f, rep, name, findings)
			}
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.target, "target", "", "base URL of the server; overrides the profile's base_url")
	fl.StringVar(&f.contract, "contract", "", contractUsage()+" (default: the profile's, else the report's)")
	fl.StringVar(&f.profile, "profile", "", "file that says what the contract cannot, as for check")
	fl.Uint64Var(&f.seed, "seed", 0, "of everything drawn (default: the report's)")
	choiceVar(c, &f.effort, "effort", "how many values a property draws (default: the report's)", string(check.Standard), string(check.Quick), string(check.Deep))
	fl.StringSliceVar(&f.allow, "allow", nil, "effects that are otherwise not caused: financial (the profile must say sandbox: true too)")
	fl.StringVar(&f.rate, "rate", "", "requests that are sent at most: 20/s, 600/m or none; overrides the profile's budget")
	fl.DurationVar(&f.time, "time", 0, "how long it may take; overrides the profile's budget")
	fl.BoolVar(&offline, "offline", false, "send nothing: judge the recorded exchanges again by what every answer must keep")
	choiceVar(c, &f.format, "format", "of stdout; json is the report of the new run, or the list, alone", "text", "json")
	f.jobs = 8
	return c
}

// findingsOf lists a report's findings, or those of one case.
func findingsOf(r *report.Report, name string) []report.Finding {
	var out []report.Finding
	for _, fd := range r.Findings {
		if name == "" || fd.Case == name {
			out = append(out, fd)
		}
	}
	return out
}

func noFinding(r *report.Report, file, name string) error {
	var ids []string
	for _, fd := range r.Findings {
		ids = append(ids, fd.Case)
	}
	known := slices.ContainsFunc(r.Cases, func(c report.Case) bool { return c.ID == name })
	if known {
		return fmt.Errorf("case %s broke nothing in %s; assay replay %s lists the cases that did", name, file, file)
	}
	return fmt.Errorf("%s has no case %q%s", file, name, orElse(didYouMean(name, ids), "; assay replay "+file+" lists those with findings"))
}

// foundCase is a case with findings, as it is listed.
type foundCase struct {
	Case   string         `json:"case"`
	Claims []string       `json:"claims"`
	Worst  report.Verdict `json:"verdict"`
	Again  bool           `json:"reproduced"`
}

// listFindings prints the cases that a replay can be asked for.
func (a *app) listFindings(r *report.Report, format string) error {
	cases := []foundCase{}
	for _, fd := range r.Findings {
		i := slices.IndexFunc(cases, func(c foundCase) bool { return c.Case == fd.Case })
		if i < 0 {
			i = len(cases)
			cases = append(cases, foundCase{Case: fd.Case})
		}
		c := &cases[i]
		if !slices.Contains(c.Claims, fd.Claim) {
			c.Claims = append(c.Claims, fd.Claim)
		}
		c.Worst, c.Again = report.Worse(c.Worst, fd.Verdict), c.Again || fd.Reproduced
	}
	if format == "json" {
		return writeJSON(a.out, map[string]any{"cases": cases, "seed": r.Seed})
	}
	if len(cases) == 0 {
		fmt.Fprintln(a.out, "The report holds no finding.")
		return nil
	}
	rows := [][]string{{"VERDICT", "SEEN", "CASE", "CLAIMS"}}
	for _, c := range cases {
		seen := "once"
		if c.Again {
			seen = "again"
		}
		rows = append(rows, []string{string(c.Worst), seen, c.Case, strings.Join(c.Claims, " ")})
	}
	writeTable(a.out, a.screen(a.out).width(160), rows)
	return nil
}

// replayCase runs a case again and compares what it finds with what was found.
func (a *app) replayCase(ctx context.Context, f checkFlags, old *report.Report, name string, findings []report.Finding) error {
	o, err := a.replayOptions(f, old, findings)
	if err != nil {
		return err
	}
	rep, err := a.judge(ctx, o)
	if err != nil {
		return err
	}
	again, open := happened(rep, findings, o.Cases)
	if f.format == "json" {
		err = rep.WriteJSON(a.out)
	} else {
		err = a.tellReplay(rep, name, findings, again, open)
	}
	switch {
	case err != nil:
		return notJudged{err}
	case ctx.Err() != nil:
		return exit(exitInterrupted)
	case len(again) > 0:
		return exit(exitViolations)
	case open != "":
		return exit(exitNotJudged)
	default:
		return nil
	}
}

// replayOptions are those of a check that runs the cases which led to the findings, as they ran.
func (a *app) replayOptions(f checkFlags, old *report.Report, findings []report.Finding) (conformance.Options, error) {
	f.previous = old
	o, err := a.checkOptions(f)
	if err != nil {
		return o, err
	}
	f.as(old, &o)
	for _, fd := range findings {
		if !f.has("seed") {
			o.Seed = fd.Seed
		}
		o.Cases = append(o.Cases, conformance.Senders(fd)...)
	}
	if len(o.Cases) == 0 {
		return o, errors.New("the report does not say which case sent the exchange; run the whole suite again with check")
	}
	return o, nil
}

// happened lists the claims that broke again, and says why the others could not be judged, if so.
func happened(rep *report.Report, findings []report.Finding, cases []string) (again []string, open string) {
	for _, old := range findings {
		for _, f := range rep.Findings {
			if f.Claim == old.Claim && f.Case == old.Case && !slices.Contains(again, f.Claim) {
				again = append(again, f.Claim)
			}
		}
	}
	for _, cs := range rep.Cases {
		judged := cs.Verdict == report.Pass || cs.Verdict == report.Fail || cs.Verdict == report.Warn
		if slices.Contains(cases, cs.ID) && !judged && open == "" {
			open = fmt.Sprintf("%s is %s: %s", cs.ID, strings.ReplaceAll(string(cs.Verdict), "_", " "), cs.Note)
		}
	}
	return again, open
}

func (a *app) tellReplay(rep *report.Report, name string, findings []report.Finding, again []string, open string) error {
	s := a.screen(a.out)
	shown := *rep
	shown.Findings = slices.DeleteFunc(slices.Clone(rep.Findings), func(f report.Finding) bool { return f.Case != name })
	if err := (report.Console{Width: s.width(120), Color: s.color}).WriteFindings(a.out, &shown); err != nil {
		return err
	}
	told := map[string]bool{}
	for _, f := range findings {
		if told[f.Claim] {
			continue
		}
		told[f.Claim] = true
		switch {
		case slices.Contains(again, f.Claim):
			fmt.Fprintf(a.out, "%s happened again.\n", report.Clean(f.Claim))
		case open != "":
			fmt.Fprintf(a.out, "%s could not be judged: %s.\n", report.Clean(f.Claim), report.Clean(open))
		default:
			fmt.Fprintf(a.out, "%s did not happen again.\n", report.Clean(f.Claim))
		}
	}
	fmt.Fprintf(a.out, "%s · %d requests · %.1f s · seed %d\n", report.Clean(name), rep.Summary.Requests, rep.Seconds, rep.Seed)
	return nil
}
