// Package ginkgorun shows a conformance run as a Ginkgo suite: one It a case, with labels to choose
// by. It only maps; what is planned, sent and judged is conformance.Run, so the verdicts are those of
// the assay binary.
//
// The suite runs once, before the first It, with every bound, lock and budget it always has, and each
// It then reports its own case. What a label filter, a focus or a skip of Ginkgo leaves out is not
// sent: Ginkgo is asked first which specs it would run (PreviewSpecs), and those alone are planned.
// Under ginkgo -p one process runs the suite and hands the report to the others.
package ginkgorun

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"

	"assay.kit/conformance"
	"assay.kit/conformance/check"
	"assay.kit/conformance/report"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
)

// CaseEntry names the report entry of an It that holds its report.Case; a passive claim's It has one
// for every operation.
const CaseEntry = "case"

// Run registers an It for every case of the plan and runs them. args go to ginkgo.RunSpecs: labels,
// types.SuiteConfig, types.ReporterConfig. A process has one Ginkgo suite, so it is called once.
//
// The labels of an It are, as they are: the requirements its claims prove and their levels (MUST), the
// claims, the check, its family, the operations, and the capabilities it needs. A character that
// Ginkgo's filters use themselves (& | ! , ( ) / :) reads as "_".
func Run(t *testing.T, o conformance.Options, args ...any) {
	t.Helper()
	cases, left, err := conformance.Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	o = o.Until(t.Deadline())
	gomega.RegisterFailHandler(ginkgo.Fail)
	r := &run{options: o, label: newLabeller(o), byCase: map[string]report.Case{}}
	name := o.Contract.Name + " " + o.Contract.Version + " at " + o.Profile.BaseURL
	r.register(cases, left)
	r.choose(ginkgo.PreviewSpecs(name, args...))
	if len(r.chosen) == 0 {
		t.Fatal("the filters select no case, so nothing would be judged")
	}
	ginkgo.RunSpecs(t, name, args...)
}

// run is what the nodes of one suite share.
type run struct {
	options conformance.Options
	label   labeller
	ids     []string // every It's case, passive claims apart
	chosen  []string // those that Ginkgo will run
	report  *report.Report
	byCase  map[string]report.Case
	found   map[string][]report.Finding
}

// register adds a container a family, in the order of the plan.
func (r *run) register(cases []check.Case, left []report.Case) {
	ginkgo.SynchronizedBeforeSuite(r.once, r.share)
	ginkgo.AfterSuite(r.whole)
	var families []string
	nodes := map[string][]func(){}
	add := func(id string, node func()) {
		family, _, _ := strings.Cut(id, ".")
		if nodes[family] == nil {
			families = append(families, family)
		}
		nodes[family] = append(nodes[family], node)
	}
	for _, cs := range cases {
		add(cs.ID, func() { r.it(cs.ID, r.label.of(cs.Check.ID, cs.Subject.Name, claimsOf(cs.Check), cs.Check.Needs)) })
	}
	for _, cs := range left {
		if cs.Subject != "" { // else nothing in the contract has the trait
			add(cs.ID, func() { r.it(cs.ID, r.label.left(cs)) })
		}
	}
	for _, rule := range append(wire.Passive(), wire.Rule{Claim: wire.RequestIDUnique}) {
		add(rule.Claim, func() {
			ginkgo.It(rule.Claim+" on every exchange", r.label.of(rule.Claim, "", []string{rule.Claim}, nil), func() { r.passive(rule.Claim) })
		})
	}
	for _, family := range families {
		ginkgo.Describe(family, func() {
			for _, node := range nodes[family] {
				node()
			}
		})
	}
}

func (r *run) it(id string, labels ginkgo.Labels) {
	r.ids = append(r.ids, id)
	ginkgo.It(id, labels, func() { r.tell(r.byCase[id]) })
}

// choose notes the cases that Ginkgo will run.
func (r *run) choose(preview ginkgo.Report) {
	will := map[string]bool{}
	for _, s := range preview.SpecReports {
		will[s.LeafNodeText] = s.State.Is(types.SpecStatePassed)
	}
	for _, id := range r.ids {
		if will[id] {
			r.chosen = append(r.chosen, id)
		}
	}
}

// once judges the target, in one process.
func (r *run) once(ctx ginkgo.SpecContext) []byte {
	o := r.options
	if len(r.chosen) < len(r.ids) {
		o.Cases = r.chosen
	}
	if o.Progress == nil { // seen with -v while the suite runs
		o.Progress = func(e check.Event) {
			if e.Finished != nil {
				ginkgo.GinkgoWriter.Printf("%d/%d %s %s\n", e.Done, e.Total, e.Case, e.Finished.Case.Verdict)
			}
		}
	}
	rep, err := conformance.Run(ctx, o)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	var b bytes.Buffer
	gomega.Expect(rep.WriteJSON(&b)).To(gomega.Succeed())
	return b.Bytes()
}

// share takes the report over, in every process.
func (r *run) share(data []byte) {
	r.report = new(report.Report)
	gomega.Expect(json.Unmarshal(data, r.report)).To(gomega.Succeed())
	for _, cs := range r.report.Cases {
		r.byCase[cs.ID] = cs
	}
	r.found = conformance.Findings(r.report)
}

// whole fails a run that judged nothing, or whose baseline is stale; what its cases found they say
// themselves.
func (r *run) whole() {
	if r.report == nil {
		return
	}
	for _, w := range r.report.Warnings {
		ginkgo.GinkgoLogr.Info(report.Clean(w))
	}
	if r.report.Verdict == report.Undecided || r.report.Verdict == report.Violations && r.report.Note != "" {
		gomega.Expect(conformance.Err(r.report)).NotTo(gomega.HaveOccurred())
	}
}

// passive tells a claim that looks at every exchange; its cases are known after the run alone.
func (r *run) passive(claim string) {
	var all []report.Case
	for _, cs := range r.report.Cases {
		if strings.HasPrefix(cs.ID, claim+"@") {
			all = append(all, cs)
		}
	}
	if len(all) == 0 {
		ginkgo.Skip("no exchange of this run says anything about it")
	}
	r.tell(all...)
}

// tell reports what one It stands for.
func (r *run) tell(cases ...report.Case) {
	for _, cs := range cases {
		ginkgo.AddReportEntry(CaseEntry, cs, ginkgo.ReportEntryVisibilityNever)
	}
	for _, cs := range cases {
		found := r.found[cs.ID]
		switch conformance.ResultOf(cs, found) {
		case conformance.Left:
			ginkgo.Skip(conformance.Message(r.report, cs, found))
		case conformance.Doubtful:
			ginkgo.AddReportEntry("warning", conformance.Message(r.report, cs, found))
		}
	}
	gomega.Expect(cases).To(keepTheContract(r.report))
}

// labeller knows which requirements a claim proves.
type labeller map[string][]string // claim -> ids and levels

func newLabeller(o conformance.Options) labeller {
	l := labeller{}
	for _, q := range o.Contract.Reqs {
		for _, ref := range q.Claims {
			l[ref.ID] = append(l[ref.ID], q.ID, q.Level)
		}
	}
	return l
}

func (l labeller) of(checkID, subject string, claims []string, needs []target.Capability) ginkgo.Labels {
	family, _, _ := strings.Cut(checkID, ".")
	words := append([]string{family, checkID}, claims...)
	words = append(words, strings.Split(subject, "+")...)
	for _, c := range claims {
		words = append(words, l[c]...)
	}
	for _, n := range needs {
		words = append(words, string(n))
	}
	return labels(words)
}

// left labels a case that the plan leaves out; its needs are those that are missing.
func (l labeller) left(cs report.Case) ginkgo.Labels {
	var claims []string
	for _, c := range cs.Claims {
		claims = append(claims, c.ID)
	}
	var needs []target.Capability
	for _, n := range cs.Needs {
		needs = append(needs, target.Capability(n))
	}
	return l.of(cs.Check, cs.Subject, claims, needs)
}

func claimsOf(ck *check.Check) []string {
	var ids []string
	for _, c := range ck.Claims {
		ids = append(ids, c.ID)
	}
	return ids
}

// labels drops what is empty or double and replaces what Ginkgo's filter language needs itself.
func labels(words []string) ginkgo.Labels {
	var out ginkgo.Labels
	for _, w := range words {
		w = strings.TrimSpace(strings.Map(func(r rune) rune {
			if strings.ContainsRune("&|!,()/:", r) {
				return '_'
			}
			return r
		}, w))
		if w != "" && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}
