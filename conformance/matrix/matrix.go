// Package matrix proves the suite: it runs it against servers that are broken on purpose and sees
// whether each is found out by a claim that it breaks, and whether a correct one raises no alarm.
// Any set of servers will do; this package knows none.
package matrix

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/report"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/typo"
)

// Target is one server. Start brings it up and says where it is and how to use it; stop ends it and
// everything it started. A Target without Breaks is held to be correct.
type Target struct {
	ID     string
	Breaks []string // claims that it breaks; at least one must be found broken
	May    []string // claims that may break along with them
	// Families of checks that show it although they judge none of its claims: a claim that every
	// exchange is judged by (package wire) belongs to no family. Empty, and no other claim: all.
	Families []string
	Start    func(ctx context.Context) (baseURL string, p *target.Profile, stop func(), err error)
}

// Options of one matrix over one contract.
type Options struct {
	Contract *spec.Contract
	Checks   []check.Check
	Seed     uint64        // one for all, so that they may run at once
	Effort   check.Effort  // "" is standard
	Parallel int           // servers at once; 0: five a core, since most of a run is waiting
	CaseTime time.Duration // longest one case may take; 0: 45 s
	Progress func(done, total int, id string)
}

// Verdict of one broken server.
type Verdict string

// Verdicts.
const (
	Killed        Verdict = "killed"        // a claim in Breaks was found broken, and none outside Breaks and May
	Survived      Verdict = "survived"      // nothing was found
	Misattributed Verdict = "misattributed" // something else was found, or the kit itself failed
)

// Result is the whole matrix. Lists are never null.
type Result struct {
	Reference Reference `json:"reference"`
	Mutants   []Mutant  `json:"mutants"`
}

// Reference is what the correct servers raised; it should be nothing.
type Reference struct {
	FalseAlarms []Alarm `json:"false_alarms"`
}

// Alarm is one case that did not pass on a correct server.
type Alarm struct {
	Contract string         `json:"contract"`
	Case     string         `json:"case"`
	Claim    string         `json:"claim,omitempty"`
	Verdict  report.Verdict `json:"verdict"`
	Note     string         `json:"note,omitempty"`
}

// Mutant is the verdict on one broken server.
type Mutant struct {
	ID         string   `json:"id"`
	Breaks     []string `json:"breaks"`
	Verdict    Verdict  `json:"verdict"`
	KilledBy   []string `json:"killed_by"`
	Requests   int      `json:"requests"`
	FirstKill  int      `json:"first_kill,omitempty"` // requests sent when the first of Breaks was found broken
	Unexpected []string `json:"unexpected,omitempty"` // claims found broken outside Breaks and May
	Note       string   `json:"note,omitempty"`
}

// Clean reports whether everything was killed and nothing raised a false alarm.
func (r *Result) Clean() bool {
	return len(r.Reference.FalseAlarms) == 0 &&
		!slices.ContainsFunc(r.Mutants, func(m Mutant) bool { return m.Verdict != Killed })
}

// Merge adds the rows of another matrix.
func (r *Result) Merge(o *Result) {
	r.Reference.FalseAlarms = append(r.Reference.FalseAlarms, o.Reference.FalseAlarms...)
	r.Mutants = append(r.Mutants, o.Mutants...)
}

// Run judges every target, several at once, in the order given. A target without Breaks gets the
// whole plan and must pass it; another gets the whole plan of the families that its claims are in.
// The error is for what kept the matrix from judging: a target that did not start, an unknown claim.
func Run(ctx context.Context, o Options, targets []Target) (*Result, error) {
	if o.Parallel <= 0 {
		o.Parallel = 5 * runtime.GOMAXPROCS(0)
	}
	if o.CaseTime <= 0 {
		o.CaseTime = 45 * time.Second
	}
	if err := known(o, targets); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results, errs := make([]Result, len(targets)), make([]error, len(targets))
	next := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex // of done and Progress
	done := 0
	for range min(o.Parallel, len(targets)) {
		wg.Go(func() {
			for i := range next {
				if errs[i] = ctx.Err(); errs[i] == nil {
					errs[i] = o.one(ctx, targets[i], &results[i])
				}
				if errs[i] != nil {
					cancel() // no verdict on the whole can be given any more
				}
				mu.Lock()
				done++
				if o.Progress != nil {
					o.Progress(done, len(targets), targets[i].ID)
				}
				mu.Unlock()
			}
		})
	}
	for i := range targets {
		next <- i
	}
	close(next)
	wg.Wait()
	out := &Result{Reference: Reference{FalseAlarms: []Alarm{}}, Mutants: []Mutant{}}
	for i := range results {
		out.Merge(&results[i])
	}
	return out, firstCause(errs)
}

// firstCause prefers the error that came of itself to those that cancelling made of it.
func firstCause(errs []error) error {
	var cancelled error
	for _, err := range errs {
		switch {
		case err == nil:
		case err == context.Canceled:
			cancelled = err
		default:
			return err
		}
	}
	return cancelled
}

// known refuses claims that nothing judges: a mutant that names one could never be killed by it.
func known(o Options, targets []Target) error {
	claims := map[string]bool{wire.RequestIDUnique: true} // which no rule on one exchange can judge
	for _, r := range wire.Passive() {
		claims[r.Claim] = true
	}
	for i := range o.Checks {
		for _, cl := range o.Checks[i].Claims {
			claims[cl.ID] = true
		}
	}
	for _, t := range targets {
		for _, id := range slices.Concat(t.Breaks, t.May) {
			if claims[id] {
				continue
			}
			hint := ""
			if n := typo.Nearest(id, slices.Sorted(maps.Keys(claims))); n != "" {
				hint = fmt.Sprintf("; did you mean %q?", n)
			}
			return fmt.Errorf("mutant %s names the claim %q, which no check judges%s", t.ID, id, hint)
		}
	}
	return nil
}

func (o Options) one(ctx context.Context, t Target, out *Result) error {
	base, p, stop, err := t.Start(ctx)
	if err != nil {
		return fmt.Errorf("%s did not start: %w", t.ID, err)
	}
	defer stop()
	own := *p
	own.BaseURL = base
	cases, _, err := check.Plan(o.Contract, &own, o.affected(t), check.Options{Financial: true})
	if err != nil {
		return fmt.Errorf("%s: %w", t.ID, err)
	}
	epoch := time.Now()
	caller, err := target.New(&own, target.Options{Epoch: epoch})
	if err != nil {
		return fmt.Errorf("%s: %w", t.ID, err)
	}
	defer caller.Close()
	e, first := o.env(&own, caller, epoch), firstKill{breaks: t.Breaks}
	e.Broken = first.note
	concern, rest := t.split(cases)
	outcomes := check.Run(ctx, concern, e, nil)
	e.Effort, e.Broken = check.Quick, nil
	outcomes = append(outcomes, check.Run(ctx, rest, e, nil)...)
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(t.Breaks) == 0 {
		out.Reference.FalseAlarms = alarms(o.Contract.Name, outcomes)
		return nil
	}
	m := verdict(t, outcomes)
	m.FirstKill = first.requests
	out.Mutants = []Mutant{m}
	return nil
}

// split tells the cases that judge what the target breaks from the rest of their families. The rest
// only has to show that nothing else is blamed, for which quick effort is enough; it would otherwise
// be most of what the matrix sends. Where no case judges it, any exchange may show it: all concern it.
func (t Target) split(cases []check.Case) (concern, rest []check.Case) {
	for _, cs := range cases {
		if slices.ContainsFunc(cs.Check.Claims, func(cl check.Claim) bool { return slices.Contains(t.Breaks, cl.ID) }) {
			concern = append(concern, cs)
		} else {
			rest = append(rest, cs)
		}
	}
	if len(concern) == 0 {
		return rest, nil
	}
	return concern, rest
}

// firstKill remembers how much was sent before a target was found out.
type firstKill struct {
	breaks   []string
	mu       sync.Mutex
	requests int
}

func (k *firstKill) note(claim string, requests int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.requests == 0 && slices.Contains(k.breaks, claim) {
		k.requests = requests
	}
}

// affected returns the checks of every family that judges one of the target's claims, and of those
// that it names. Passive claims are judged on whatever is sent, so they add no family; a target with
// no other claim that names none gets the whole plan, since any exchange may show it.
func (o Options) affected(t Target) []check.Check {
	families := map[string]bool{}
	for _, f := range t.Families {
		families[f] = true
	}
	for i := range o.Checks {
		for _, cl := range o.Checks[i].Claims {
			if slices.Contains(t.Breaks, cl.ID) || slices.Contains(t.May, cl.ID) {
				families[o.Checks[i].Family()] = true
			}
		}
	}
	if len(families) == 0 {
		return o.Checks
	}
	return slices.DeleteFunc(slices.Clone(o.Checks), func(ck check.Check) bool { return !families[ck.Family()] })
}
