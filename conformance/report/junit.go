package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// The elements that Jenkins' and Surefire's schemas have in common, in their order.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
		seconds    float64
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name      string       `xml:"name,attr"`
		Class     string       `xml:"classname,attr"`
		Time      string       `xml:"time,attr"`
		Skipped   *junitReason `xml:"skipped"`
		Error     *junitReason `xml:"error"`
		Failure   *junitReason `xml:"failure"`
		SystemOut string       `xml:"system-out,omitempty"`
	}
	junitReason struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

const (
	mostJUnit        = 200      // findings told in full; a viewer reads the whole file into memory
	maxJUnitText     = 16 << 10 // bytes of one finding's text
	maxJUnitMessage  = 300      // cells
	maxJUnitTimeline = 40       // exchanges
)

// WriteJUnit writes a testsuite for every family of checks and a testcase for every case, valid
// against the schemas of Jenkins and Surefire. A viewer knows three colours: a violation is a failure;
// a warning, and what a baseline knows, passes with its text as output, since it fails nothing; what was not or could
// not be judged is skipped, with the reason. The error is the writer's.
func WriteJUnit(w io.Writer, r *Report) error {
	j := junit{report: r, rows: byID(r), findings: map[string][]Finding{}}
	for _, f := range r.Findings {
		j.findings[f.Case] = append(j.findings[f.Case], f)
	}
	doc := j.suites()
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("junit report: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

type junit struct {
	report   *Report
	rows     map[string]Requirement
	findings map[string][]Finding // by case
	told     int
}

func (j *junit) suites() junitSuites {
	r := j.report
	doc := junitSuites{Name: Clean("assay " + r.Contract.Name), Time: seconds(r.Seconds)}
	place := map[string]int{}
	for _, cs := range r.Cases {
		family, _, _ := strings.Cut(cs.Check, ".")
		i, ok := place[family]
		if !ok {
			i = len(doc.Suites)
			place[family] = i
			doc.Suites = append(doc.Suites, junitSuite{Name: Clean(family), Timestamp: j.timestamp(),
				Properties: []junitProperty{{"contract", Clean(r.Contract.Name + " " + r.Contract.Version)}, {"target", Clean(r.Target)},
					{"assay", Clean(r.Kit.Version)}, {"seed", fmt.Sprint(r.Seed)}}})
		}
		j.add(&doc.Suites[i], cs, family)
	}
	if s := j.stale(); s != nil {
		doc.Suites = append(doc.Suites, *s)
	}
	for i := range doc.Suites {
		s := &doc.Suites[i]
		s.Time = seconds(s.seconds)
		doc.Tests, doc.Failures, doc.Errors = doc.Tests+s.Tests, doc.Failures+s.Failures, doc.Errors+s.Errors
	}
	return doc
}

// stale is a suite of the baseline's lines that have to go: they fail the run.
func (j *junit) stale() *junitSuite {
	b := j.report.Baseline
	if b == nil || len(b.Stale) == 0 {
		return nil
	}
	s := &junitSuite{Name: "baseline", Tests: len(b.Stale), Failures: len(b.Stale), Timestamp: j.timestamp(),
		Properties: []junitProperty{{"file", Clean(b.File)}}}
	for _, e := range b.Stale {
		s.Cases = append(s.Cases, junitCase{Name: Clean(e.Claim + " in " + e.Case), Class: Clean(j.report.Contract.Name + ".baseline"), Time: seconds(0),
			Failure: &junitReason{Message: staleText(b, e), Type: "stale"}})
	}
	return s
}

func (j *junit) timestamp() string { return j.report.Started.UTC().Format("2006-01-02T15:04:05") }

// staleText says what to do about a line of the baseline.
func staleText(b *Baseline, e Entry) string {
	return Clean(fmt.Sprintf("%s in %s holds again: remove line %d of the baseline %s", e.Claim, e.Case, e.Line, b.File))
}

func (j *junit) add(s *junitSuite, cs Case, family string) {
	c := junitCase{Name: Clean(cs.ID), Class: Clean(j.report.Contract.Name + "." + family), Time: seconds(cs.Seconds)}
	failed, warned := split(j.findings[cs.ID])
	switch {
	case len(failed) > 0:
		s.Failures++
		c.Failure = &junitReason{headline(failed), Clean(failed[0].Claim), j.texts(failed)}
	case cs.Verdict == Error:
		s.Errors++
		c.Error = &junitReason{Message: Clean(cs.Note), Type: "the kit's own fault"}
	case len(warned) == 0 && cs.Verdict != Pass:
		s.Skipped++
		c.Skipped = &junitReason{Message: strings.TrimSuffix(label(cs.Verdict)+": "+Clean(cs.Note), ": ")}
	}
	if len(warned) > 0 {
		c.SystemOut = "NOT COUNTED (a warning, or known to the baseline)" + j.texts(warned)
	}
	s.Tests++
	s.seconds += cs.Seconds
	s.Cases = append(s.Cases, c)
}

func split(findings []Finding) (failed, warned []Finding) {
	for _, f := range findings {
		if f.Verdict == Fail && f.Known == nil {
			failed = append(failed, f)
		} else {
			warned = append(warned, f)
		}
	}
	return failed, warned
}

// headline is what a list of failures shows of one case.
func headline(findings []Finding) string {
	f := findings[0]
	s := Cut(Clean(fmt.Sprintf("%s: expected %s, got %s", f.Claim, f.Expected, f.Actual)), maxJUnitMessage)
	if n := len(findings) - 1; n > 0 {
		s += plural(n, " (and %d more claim)", " (and %d more claims)")
	}
	return s
}

func (j *junit) texts(findings []Finding) string {
	var parts []string
	for _, f := range findings {
		j.told++
		if j.told > mostJUnit {
			parts = append(parts, Clean(f.Claim)+": told in the JSON report")
			continue
		}
		parts = append(parts, inFull(f, j.rows, maxJUnitTimeline, maxJUnitText))
	}
	return "\n" + strings.Join(parts, "\n\n") + "\n"
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }
