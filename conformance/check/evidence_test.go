package check

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"assay.kit/conformance/report"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
)

// What a run holds on to stays bounded, whatever the target sends.
func TestEvidenceIsBounded(t *testing.T) {
	body, value := bytes.Repeat([]byte("b"), 1<<20), strings.Repeat("v", 60<<10)
	big := wire.Exchange{Req: wire.Request{Target: "/" + value, Body: body}, Events: []wire.Event{{Data: body}}, Err: value}
	for range 500 {
		big.Head.Fields = append(big.Head.Fields, wire.Field{Name: "X", Value: value})
	}
	got := slim(big, leastBody)
	if w := weight(got); w > 300<<10 {
		t.Errorf("%d bytes are kept", w)
	}
	if got.Req.Left != 1<<20-leastBody || got.Events[0].Left != 1<<20-leastBody || len(big.Events[0].Data) != 1<<20 || len(got.Head.Fields) != mostFields+1 {
		t.Errorf("left out %d and %d, %d fields; of the original %d", got.Req.Left, got.Events[0].Left, len(got.Head.Fields), len(big.Events[0].Data))
	}
	if again := slim(got, 10); again.Events[0].Left != 1<<20-10 {
		t.Errorf("cut twice: %d are said to be missing", again.Events[0].Left)
	}
	a := &attempt{}
	for range 200 {
		a.record(wire.Exchange{Events: []wire.Event{{Data: body}}})
	}
	n := 0
	for _, ex := range a.exchanges {
		n += weight(ex)
	}
	if n > mostHeld || len(a.exchanges) != 200 || len(a.exchanges[0].Body()) != 1<<20 {
		t.Errorf("%d exchanges hold %d bytes; the first has %d", len(a.exchanges), n, len(a.exchanges[0].Body()))
	}
	r := &runner{}
	for exchanges, want := range map[int]int{0: mostBody, 4: mostBody, 16: mostEvidence / 16, mostExchanges * 9: leastBody} {
		if got := r.room(exchanges); got != want {
			t.Errorf("room of %d exchanges: %d, want %d", exchanges, got, want)
		}
	}
	if r.kept.Store(mostKept + 1); r.room(1) != leastBody {
		t.Errorf("room of a full run: %d", r.room(1))
	}
	if s := brief("aé", 2); s != "a…" {
		t.Errorf("%q", s)
	}
}

// With a target that has gone silent, later calls wait less; any answer ends that.
func TestSilence(t *testing.T) {
	var s silence
	for range manySilent {
		if s.timeout() != 0 {
			t.Fatal("too early")
		}
		s.note(wire.Exchange{End: wire.EndTimeout})
	}
	if s.timeout() != silentPeriod {
		t.Errorf("%s", s.timeout())
	}
	if s.note(wire.Exchange{End: wire.EndComplete, Head: wire.Head{Status: 500}}); s.timeout() != 0 {
		t.Errorf("after an answer: %s", s.timeout())
	}
}

// told gives the same exchange to every request.
type told wire.Exchange

func (c told) Do(context.Context, string, wire.Request, target.Call) wire.Exchange {
	return wire.Exchange(c)
}

func TestWhatIsNotWaitedForOrJudged(t *testing.T) {
	for _, c := range []struct {
		name string
		ex   wire.Exchange
		run  func(*T)
		says string
	}{
		{"thirty years", wire.Exchange{End: wire.EndComplete, Head: wire.Head{Status: 429, Fields: []wire.Field{{Name: "Retry-After", Value: "1000000000"}}}},
			func(t *T) { t.Call("", get()) }, "asks to wait 1000000000 s"},
		{"a pause longer than the case", wire.Exchange{}, func(t *T) { t.Pause(time.Hour) }, "3600 s were to be waited"},
		{"half an answer", wire.Exchange{End: wire.EndTruncated, Err: "closed early", Head: wire.Head{Status: 200}}, func(t *T) { t.Call("", get()) }, "no whole answer (truncated): closed early"},
		{"too large an answer", wire.Exchange{End: wire.EndOversize, Err: "large", Head: wire.Head{Status: 200}}, func(t *T) { t.Call("", get()) }, "no whole answer (oversize): large"},
		{"a fact", wire.Exchange{}, func(t *T) {
			t.Learn("f", true)
			if !t.Learnt("f") || t.Learnt("g") || t.Left() > 2*time.Minute {
				panic("not learnt")
			}
			t.Inconclusive("learnt")
		}, "learnt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := runOne(t, testEnv(told(c.ex)), c.run)
			if o.Case.Verdict != report.Inconclusive || !strings.Contains(o.Case.Note, c.says) {
				t.Errorf("%s: %s", o.Case.Verdict, o.Case.Note)
			}
		})
	}
}

// A target that answers with ever other statuses does not get a finding for each.
func TestPassiveFindingsAreFew(t *testing.T) {
	env := testEnv(nil)
	env.Passive = []wire.Rule{{Claim: "wire.bad", Look: func(*wire.View) ([]wire.Finding, bool) {
		return []wire.Finding{{Actual: strings.Repeat("a", 1<<20)}}, true
	}}}
	r := newRunner(env, 0, nil)
	for status := 200; status < 900; status++ {
		r.watch.look(wire.Exchange{End: wire.EndComplete, Head: wire.Head{Status: status}})
	}
	o := r.watch.outcomes(r)
	if len(o) != 1 || len(o[0].Findings) != maxSpots || len(o[0].Findings[0].Actual) > mostValue+4 {
		t.Errorf("%d outcomes, %d findings, %d bytes", len(o), len(o[0].Findings), len(o[0].Findings[0].Actual))
	}
}

func TestHiddenDraws(t *testing.T) {
	r := &runner{Env: Env{Text: func(s string) string { return strings.ReplaceAll(s, "token", "***") }}}
	draws := []report.Draw{{Label: "n", Value: 7}, {Label: "token", Value: map[string]any{"a": []any{"a token", 1}}}, {Label: "f", Value: func() {}}}
	o := r.hidden(Outcome{Findings: []report.Finding{{Draws: draws}}})
	got := o.Findings[0].Draws
	if got[0].Value != 7 || got[1].Label != "***" || got[1].Value.(map[string]any)["a"].([]any)[0] != "a ***" || draws[1].Label != "token" {
		t.Errorf("%v", got)
	}
}
