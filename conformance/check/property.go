package check

import (
	"flag"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// Property tries f with drawn values, as often as the effort says, until a claim breaks; then it
// shrinks within the budget. Every attempt makes its own resources (Nonce), since a target is not
// reset between attempts. After a broken claim the flow ends.
func (t *T) Property(f func(*T)) {
	p := &property{t: t, f: f, room: t.st.run.Effort.Attempts()}
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(p) {
				panic(r)
			}
		}()
		rapid.Check(p, p.attempt)
	}()
	if p.claim != "" || t.st.stop != "" || t.st.kitFault != "" {
		panic(halt{})
	}
}

// property is one call of Property and the rapid.TB that it runs under. Nothing is parsed from
// rapid's texts: attempts keep their own draws and exchanges, and the last one that failed is the
// smallest, because the shrinker only proposes smaller ones.
type property struct {
	t     *T
	f     func(*T)
	room  int    // attempts left in the search
	claim string // the first claim that broke; set: we are shrinking
	spent int    // requests since then
	fails bool
}

func (p *property) attempt(rt *rapid.T) {
	if p.over() {
		return
	}
	t := &T{st: p.t.st, ctx: p.t.ctx, lane: p.t.lane, at: p.t.st.newAttempt(), rt: rt}
	t.guard(func() { p.f(t) })
	p.spent += len(t.at.exchanges)
	broken := ""
	for _, fl := range t.at.failures {
		if p.claim == "" || fl.claim == p.claim {
			broken = fl.claim
			p.t.st.keep(t.at, fl)
			break
		}
	}
	if broken == "" {
		return
	}
	if p.claim == "" {
		p.claim, p.spent = broken, 0
	}
	rt.Fatalf("%s", broken) // one text and one place: the shrinker compares both
}

// over says whether the search or the shrinking has used what it may.
func (p *property) over() bool {
	st := p.t.st
	if st.stop != "" || st.kitFault != "" || p.t.ctx.Err() != nil {
		return true
	}
	if p.claim != "" {
		return p.spent >= st.run.Shrink
	}
	p.room--
	return p.room < 0
}

func (p *property) Helper()               {}
func (p *property) Name() string          { return fmt.Sprintf("assay-%s-%d", p.t.st.run.nonce, p.t.st.no) }
func (p *property) Logf(string, ...any)   {}
func (p *property) Log(...any)            {}
func (p *property) Skipf(string, ...any)  { panic(p) }
func (p *property) Skip(...any)           { panic(p) }
func (p *property) SkipNow()              { panic(p) }
func (p *property) Errorf(string, ...any) { p.fails = true }
func (p *property) Error(...any)          { p.fails = true }
func (p *property) Fatalf(string, ...any) { panic(p) }
func (p *property) Fatal(...any)          { panic(p) }
func (p *property) FailNow()              { panic(p) }
func (p *property) Fail()                 { p.fails = true }
func (p *property) Failed() bool          { return p.fails }

// rapidGate guards rapid's knobs, which are flags of the whole process: runs with one seed may go
// on at once (the matrix does), a run with another waits until they have ended. It is the one
// piece of state that the package keeps, because the library keeps it.
var rapidGate struct {
	sync.Mutex
	free *sync.Cond
	seed uint64
	runs int
}

// seedRapid sets rapid's knobs for a run; the returned function ends it.
func seedRapid(seed uint64) (release func()) {
	g := &rapidGate
	g.Lock()
	defer g.Unlock()
	if g.free == nil {
		g.free = sync.NewCond(&g.Mutex)
	}
	for g.runs > 0 && g.seed != seed {
		g.free.Wait()
	}
	if g.runs == 0 {
		setFlags(seed)
		g.seed = seed
	}
	g.runs++
	return func() {
		g.Lock()
		defer g.Unlock()
		g.runs--
		g.free.Broadcast()
	}
}

// setFlags makes rapid usable outside go test: it asks testing.Short, which wants parsed flags.
func setFlags(seed uint64) {
	testing.Init()
	if !flag.Parsed() {
		_ = flag.CommandLine.Parse(nil)
	}
	if seed == 0 {
		seed = 1 // 0 would mean "choose one" and make the run irreproducible
	}
	for name, v := range map[string]string{"rapid.seed": fmt.Sprint(seed), "rapid.checks": "100",
		"rapid.nofailfile": "true", "rapid.shrinktime": "20s"} {
		_ = flag.Set(name, v) // registered by the import above
	}
}
