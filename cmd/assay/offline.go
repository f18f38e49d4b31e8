package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"assay.kit/conformance"
	"assay.kit/conformance/report"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// verdictAgain is what a second look at recorded exchanges says of one claim on one operation.
type verdictAgain struct {
	Claim     string         `json:"claim"`
	Operation string         `json:"operation"`
	Exchanges int            `json:"exchanges"` // that the claim says something about
	Broken    []wire.Finding `json:"broken"`
}

// replayOffline judges the exchanges of the findings again, without a target: what every answer must
// keep is a pure function of them. What a flow found cannot be judged so.
func (a *app) replayOffline(f checkFlags, rep *report.Report, findings []report.Finding) error {
	c, err := loadContract(cmp.Or(f.contract, rep.Contract.Name))
	if err != nil {
		return err
	}
	if err := conformance.SameContract(rep, c); err != nil {
		return fmt.Errorf("the report cannot be judged again: %w", err)
	}
	exchanges, cut := recorded(findings)
	verdicts := judgeAgain(c, exchanges)
	var needs []string
	for _, fd := range findings {
		if id := fd.Claim + " in " + fd.Case; !judgedOffline(fd.Claim) && !slices.Contains(needs, id) {
			needs = append(needs, id)
		}
	}
	broken := 0
	for _, v := range verdicts {
		broken += len(v.Broken)
	}
	if f.format == "json" {
		err = writeJSON(a.out, map[string]any{"exchanges": len(exchanges), "incomplete": cut, "claims": verdicts, "needs_target": filledTexts(needs)})
	} else {
		a.tellOffline(verdicts, needs, len(exchanges), cut)
	}
	switch {
	case err != nil:
		return notJudged{err}
	case broken > 0:
		return exit(exitViolations)
	case len(verdicts) == 0:
		return notJudged{errors.New("no recorded exchange could be judged")}
	case len(needs) > 0: // what the report was read for is still open
		return exit(exitNotJudged)
	default:
		return nil
	}
}

func filledTexts(list []string) []string { return append([]string{}, list...) }

// judgedOffline reports whether a claim can be judged by recorded exchanges. A report holds no token,
// so a leak of one cannot be seen in it; unique ids need every exchange of the run.
func judgedOffline(claim string) bool {
	return claim != "wire.leak" && slices.ContainsFunc(wire.Passive(), func(r wire.Rule) bool { return r.Claim == claim })
}

// recorded gathers each whole exchange of the findings once; cut counts those with bytes left out.
func recorded(findings []report.Finding) (whole []wire.Exchange, cut int) {
	type key struct {
		name      string
		lane, seq int
		sent      int64
	}
	seen := map[key]bool{}
	for _, f := range findings {
		for _, ex := range f.Exchanges {
			k := key{ex.Case, ex.Lane, ex.Seq, int64(ex.Sent)}
			if seen[k] {
				continue
			}
			seen[k] = true
			if ex.Req.Left > 0 || slices.ContainsFunc(ex.Events, func(e wire.Event) bool { return e.Left > 0 }) {
				cut++
				continue
			}
			whole = append(whole, ex)
		}
	}
	return whole, cut
}

func judgeAgain(c *spec.Contract, exchanges []wire.Exchange) []verdictAgain {
	out := []verdictAgain{}
	at := map[[2]string]int{}
	for _, ex := range exchanges {
		v := wire.NewView(c, ex)
		op := "other"
		if o := v.Operation(); o != nil {
			op = o.ID
		}
		for _, rule := range wire.Passive() {
			found, judged := rule.Look(v)
			if !judged || !judgedOffline(rule.Claim) {
				continue
			}
			key := [2]string{rule.Claim, op}
			i, ok := at[key]
			if !ok {
				i = len(out)
				at[key] = i
				out = append(out, verdictAgain{Claim: rule.Claim, Operation: op, Broken: []wire.Finding{}})
			}
			out[i].Exchanges++
			for _, fd := range found {
				if !fd.Ours && !slices.Contains(out[i].Broken, fd) {
					out[i].Broken = append(out[i].Broken, fd)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b verdictAgain) int {
		return cmp.Or(cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.Operation, b.Operation))
	})
	return out
}

func (a *app) tellOffline(verdicts []verdictAgain, needs []string, exchanges, cut int) {
	held := 0
	for _, v := range verdicts {
		if len(v.Broken) == 0 {
			held++
		}
		for _, f := range v.Broken {
			fmt.Fprintf(a.out, "broken  %s on %s (%d): expected %s, got %s\n", v.Claim, v.Operation, f.Status,
				report.Clean(report.Cut(f.Expected, 300)), report.Clean(report.Cut(f.Actual, 300)))
		}
	}
	for _, n := range needs {
		fmt.Fprintf(a.out, "needs a target  %s\n", report.Clean(n))
	}
	fmt.Fprintf(a.out, "%d recorded exchanges judged again: %d claims broken, %d hold", exchanges, len(verdicts)-held, held)
	if cut > 0 {
		fmt.Fprintf(a.out, "; %d exchanges are not whole in the report", cut)
	}
	fmt.Fprintln(a.out, ".")
}
