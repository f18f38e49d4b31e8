// Package report is the one versioned result of a run. Everything that a person or a machine reads
// is written from it and from nothing else; Formats lists the writers.
package report

import (
	"time"

	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

// Schema names the JSON form; it changes when a member changes its meaning or goes away.
const Schema = "assay.report/1"

// Verdict of a claim, a case or a requirement, from best to worst in Worse's order.
type Verdict string

// Verdicts (docs: README, "Verdicts").
const (
	Pass          Verdict = "pass"
	Fail          Verdict = "fail"
	Warn          Verdict = "warn"           // broken, but only inferred or a SHOULD
	Inconclusive  Verdict = "inconclusive"   // could not be judged this time
	NotExercised  Verdict = "not_exercised"  // a capability is missing, or no check exists yet
	NotApplicable Verdict = "not_applicable" // nothing has the trait, or it is absent at the target
	Error         Verdict = "error"          // the kit's own fault
)

var rank = map[Verdict]int{NotApplicable: 0, NotExercised: 1, Pass: 2, Inconclusive: 3, Warn: 4, Error: 5, Fail: 6}

// Worse returns the graver of two verdicts; "" is better than any.
func Worse(a, b Verdict) Verdict {
	switch {
	case a == "":
		return b
	case b == "" || rank[a] >= rank[b]:
		return a
	default:
		return b
	}
}

// Overall is the verdict of a whole run.
type Overall string

// Overall verdicts and, in the CLI, exit codes 0, 1, 3, 3.
const (
	Conformant   Overall = "conformant"
	Violations   Overall = "violations"
	Undecided    Overall = "inconclusive"
	OverallError Overall = "error"
)

// Report is the result of one run against one target.
type Report struct {
	Schema       string        `json:"schema"`
	Verdict      Overall       `json:"verdict"`
	Note         string        `json:"note,omitempty"` // why it is not conformant or violations
	Summary      Summary       `json:"summary"`
	Contract     Contract      `json:"contract"`
	Target       string        `json:"target"`
	Profile      string        `json:"profile,omitempty"` // file, as it was given
	Kit          Kit           `json:"kit"`
	Seed         uint64        `json:"seed"`
	Effort       string        `json:"effort,omitempty"`
	Strict       bool          `json:"strict"`
	Started      time.Time     `json:"started"`
	Seconds      float64       `json:"seconds"`
	Interrupted  bool          `json:"interrupted,omitempty"`
	Filtered     bool          `json:"filtered,omitempty"` // only a selection was run
	Baseline     *Baseline     `json:"baseline,omitempty"` // known failures, which do not count
	Warnings     []string      `json:"warnings,omitempty"` // about the run, not about the target's promises
	Requirements []Requirement `json:"requirements"`
	Cases        []Case        `json:"cases"`
	Findings     []Finding     `json:"findings"`
}

// Summary counts requirements and cases by verdict, and what was sent.
type Summary struct {
	Requirements map[Verdict]int `json:"requirements"`
	Cases        map[Verdict]int `json:"cases"`
	Requests     int             `json:"requests"`
	Created      map[string]int  `json:"created,omitempty"` // resources made at the target, by type
}

// Contract identifies what was judged against.
type Contract struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
}

// Kit identifies the judge.
type Kit struct {
	Version string `json:"version"`
}

// Requirement is one row of the catalog with the worst executed verdict of its claims.
type Requirement struct {
	ID        string      `json:"id"`
	Role      spec.Role   `json:"role"`
	Origin    spec.Origin `json:"origin"`
	Verdict   Verdict     `json:"verdict"`
	Partial   []string    `json:"partial"` // capabilities that further cases need
	Claims    []Claim     `json:"claims"`
	Note      string      `json:"note,omitempty"`
	Statement string      `json:"statement"`
	Source    string      `json:"source"`
}

// Claim is one claim's verdict over all cases that judged it.
type Claim struct {
	ID      string  `json:"id"`
	Verdict Verdict `json:"verdict"`
	Note    string  `json:"note,omitempty"`
}

// Case is one check on one subject.
type Case struct {
	ID         string      `json:"id"` // check@subject
	Check      string      `json:"check"`
	Subject    string      `json:"subject"`
	Operations []string    `json:"operations,omitempty"`
	Origin     spec.Origin `json:"origin"` // the weakest of its operations
	Verdict    Verdict     `json:"verdict"`
	Claims     []Claim     `json:"claims"`
	Needs      []string    `json:"needs,omitempty"`
	Note       string      `json:"note,omitempty"`
	Requests   int         `json:"requests"`
	Seconds    float64     `json:"seconds"`
}

// Finding is one broken claim in one case, with everything needed to act on it.
type Finding struct {
	Claim        string          `json:"claim"`
	Case         string          `json:"case"`
	Verdict      Verdict         `json:"verdict"`         // fail or warn, set by Build
	Known        *Known          `json:"known,omitempty"` // the baseline lists it, set by Build
	Requirements []string        `json:"requirements"`
	Did          string          `json:"did,omitempty"` // what the check does, in one sentence
	Message      string          `json:"message"`       // what must hold, in one sentence
	Expected     string          `json:"expected"`
	Actual       string          `json:"actual"`
	Seed         uint64          `json:"seed"`
	Draws        []Draw          `json:"draws"`
	Reproduced   bool            `json:"reproduced"` // seen again when tried again
	Exchanges    []wire.Exchange `json:"exchanges"`
	Curl         []string        `json:"curl"`
	Telling      int             `json:"telling,omitempty"` // the exchange, from 1, that Actual is about; 0: not known
	Pictures     []Picture       `json:"pictures,omitempty"`
}

// Picture shows what words tell badly, such as an illegal history. Data is at most MaxPicture bytes.
type Picture struct {
	Name      string     `json:"name"`
	MediaType string     `json:"media_type"`
	Data      wire.Bytes `json:"data"`
}

// MaxPicture bounds a picture, in bytes; a larger one is left out, since a part of one shows nothing.
const MaxPicture = 1 << 20

// Draw is one generated value, after shrinking.
type Draw struct {
	Label string `json:"label"`
	Value any    `json:"value"`
}
