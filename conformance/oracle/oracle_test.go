package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func decode(t testing.TB, s string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true}, {`1`, `10e-1`, true}, {`1000`, `1e3`, true}, {`0`, `-0`, true},
		{`0.1`, `0.10000000000000001`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`1e400`, `1e401`, false},
		{`1e999999999`, `1e999999999`, true}, {`1e999999999`, `1e999999998`, false},
		{`1`, `"1"`, false}, {`null`, `false`, false}, {`null`, `0`, false}, {`true`, `true`, true},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true}, {`{"a":null}`, `{}`, false},
		{`[1,2]`, `[2,1]`, false}, {`[]`, `{}`, false}, {`[1]`, `[1,2]`, false},
		{`"é"`, `"e\u0301"`, false}, {`"\u0041"`, `"A"`, true},
	} {
		if got := Equal(decode(t, c.a), decode(t, c.b)); got != c.want {
			t.Errorf("%s, %s: %v", c.a, c.b, got)
		}
		if got := Equal(decode(t, c.b), decode(t, c.a)); got != c.want {
			t.Errorf("%s, %s: %v", c.b, c.a, got)
		}
	}
}

func TestDiff(t *testing.T) {
	a := decode(t, `{"id": "1", "n": 1, "list": [{"id": "x", "v": 1}, {"id": "y", "v": 2}], "a/b": 1}`)
	b := decode(t, `{"id": "2", "n": 1.0, "list": [{"id": "z", "v": 1}, {"id": "y", "v": 3}], "a/b": 2, "more": null}`)
	for _, c := range []struct {
		ignore, want []string
	}{
		{nil, []string{"/a~1b", "/id", "/list/0/id", "/list/1/v", "/more"}},
		{[]string{"/id", "/list/-/id", "/more"}, []string{"/a~1b", "/list/1/v"}},
		{[]string{""}, nil},
	} {
		if got := Diff(a, b, c.ignore); !slices.Equal(got, c.want) {
			t.Errorf("ignoring %v: %v, not %v", c.ignore, got, c.want)
		}
	}
	if got := Diff(decode(t, `[1,2]`), decode(t, `[1]`), nil); !slices.Equal(got, []string{""}) {
		t.Errorf("length: %v", got)
	}
}

func value() *rapid.Generator[any] {
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.StringMatching(`[ab/~]{0,3}`).AsAny(),
		rapid.Map(rapid.IntRange(-3, 3), func(n int) any { return json.Number(strconv.Itoa(n)) }))
	var any1 *rapid.Generator[any]
	any1 = rapid.Custom(func(t *rapid.T) any {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return rapid.Map(rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return any1 }), 0, 2), func(s []any) any { return s }).Draw(t, "array")
		case 1:
			return rapid.Map(rapid.MapOfN(rapid.StringMatching(`[ab/~]{1,2}`), leaf, 0, 3), func(m map[string]any) any { return m }).Draw(t, "object")
		default:
			return leaf.Draw(t, "leaf")
		}
	})
	return any1
}

func TestEqualIsAnEquivalence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := value().Draw(t, "a"), value().Draw(t, "b")
		if !Equal(a, a) || Equal(a, b) != Equal(b, a) {
			t.Fatal("not reflexive or not symmetric")
		}
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if Equal(a, b) != bytes.Equal(x, y) { // integers and sorted members have one spelling
			t.Fatalf("%s, %s: %v", x, y, Equal(a, b))
		}
	})
}

func FuzzEqualNumbers(f *testing.F) {
	for _, p := range [][2]string{{"1", "1.0"}, {"1e2000", "1e2001"}, {"-0", "0"}, {"0.1", "1e-1"}, {"1e99999999999", "1"}} {
		f.Add(p[0], p[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if !json.Valid([]byte(a)) || !json.Valid([]byte(b)) || len(a) > 60 || len(b) > 60 {
			return
		}
		x, y := decode(t, a), decode(t, b)
		n, okN := x.(json.Number)
		m, okM := y.(json.Number)
		if !Equal(x, x) || Equal(x, y) != Equal(y, x) {
			t.Fatalf("%s, %s", a, b)
		}
		if !okN || !okM || tooBig(a) || tooBig(b) {
			return
		}
		p, _ := new(big.Rat).SetString(n.String())
		q, _ := new(big.Rat).SetString(m.String())
		if Equal(x, y) != (p.Cmp(q) == 0) {
			t.Fatalf("%s, %s: %v", a, b, Equal(x, y))
		}
	})
}

func tooBig(s string) bool {
	_, exp, ok := strings.Cut(strings.ToLower(strings.TrimSpace(s)), "e")
	e, err := strconv.Atoi(exp)
	return ok && (err != nil || e > 500 || e < -500)
}

func TestLedger(t *testing.T) {
	type op struct {
		payload string
		outcome Outcome
		legal   bool
	}
	for name, ops := range map[string][]op{
		"replay":                    {{"a", Created("1"), true}, {"a", Replayed("1"), true}, {"a", Created("1"), true}},
		"second resource":           {{"a", Created("1"), true}, {"a", Created("2"), false}, {"a", Replayed("1"), true}},
		"conflict":                  {{"a", Created("1"), true}, {"b", Conflict(), true}, {"b", Created("2"), false}, {"a", Replayed("1"), true}},
		"conflict out of nothing":   {{"a", Conflict(), false}},
		"replay out of nothing":     {{"a", Replayed("1"), false}},
		"refusal binds nothing":     {{"a", None(), true}, {"b", Created("1"), true}},
		"lost, then fresh":          {{"a", Unknown(), true}, {"b", Created("1"), true}, {"a", Conflict(), true}},
		"lost, then replay":         {{"a", Unknown(), true}, {"a", Replayed("1"), true}, {"a", Replayed("2"), false}},
		"lost, then conflict":       {{"a", Unknown(), true}, {"b", Conflict(), true}, {"a", Created("1"), true}, {"b", Conflict(), true}},
		"lost, conflict, other":     {{"a", Unknown(), true}, {"b", Conflict(), true}, {"b", Created("1"), false}},
		"conflict on equal payload": {{"a", Created("1"), true}, {"a", Conflict(), false}},
	} {
		t.Run(name, func(t *testing.T) {
			var l Ledger
			for i, o := range ops {
				if err := l.Apply("k", o.payload, o.outcome); (err == nil) != o.legal {
					t.Fatalf("operation %d: %v", i+1, err)
				}
			}
		})
	}
	var l Ledger
	if _, ok := l.Bound("k"); ok || l.Expect("k", "a") != "a new resource" {
		t.Error("an unused key is bound")
	}
	_ = l.Apply("k", "a", Unknown())
	if got := l.Expect("k", "a"); got != "a new resource, or the resource of the lost answer" {
		t.Error(got)
	}
	_ = l.Apply("k", "a", Created("7"))
	if id, ok := l.Bound("k"); id != "7" || !ok {
		t.Error("bound to", id)
	}
	if err := l.Apply("k", "b", Created("8")); err == nil || !strings.Contains(err.Error(), "expected a conflict") {
		t.Error(err)
	}
}

func at(client, call, ret int, payload string, o Outcome) IdemOp {
	return IdemOp{Client: client, Call: time.Duration(call), Return: time.Duration(ret), Payload: payload, Outcome: o}
}

func TestLinearizable(t *testing.T) {
	for name, c := range map[string]struct {
		history []IdemOp
		want    Verdict
	}{
		"empty":                   {nil, OK},
		"twins, one created":      {[]IdemOp{at(0, 0, 10, "a", Created("1")), at(1, 1, 9, "a", Replayed("1"))}, OK},
		"twins, both created":     {[]IdemOp{at(0, 0, 10, "a", Created("1")), at(1, 1, 9, "a", Created("2"))}, Illegal},
		"other payload wins":      {[]IdemOp{at(0, 0, 10, "a", Conflict()), at(1, 1, 9, "b", Created("1"))}, OK},
		"conflict before":         {[]IdemOp{at(0, 0, 1, "a", Conflict()), at(1, 2, 9, "b", Created("1"))}, Illegal},
		"late twin":               {[]IdemOp{at(0, 0, 5, "a", Unknown()), at(1, 6, 9, "b", Created("1")), at(2, 10, 11, "a", Conflict())}, OK},
		"lost one applied later":  {[]IdemOp{at(0, 0, 5, "a", Unknown()), at(1, 6, 9, "b", Conflict())}, OK},
		"lost one, two resources": {[]IdemOp{at(0, 0, 5, "a", Unknown()), at(1, 6, 9, "a", Created("1")), at(2, 10, 11, "a", Created("2"))}, Illegal},
		"refusal ignored":         {[]IdemOp{at(0, 0, 5, "a", None()), at(1, 6, 9, "b", Created("1"))}, OK},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Linearizable(c.history, 5*time.Second); got != c.want {
				t.Errorf("%s, not %s", got, c.want)
			}
		})
	}
}

// simulate runs a correct ledger under random interleaving and losses.
func simulate(t *rapid.T, planted bool) []IdemOp {
	var history []IdemOp
	var bound binding
	next := 1
	for i := range rapid.IntRange(1, 20).Draw(t, "operations") {
		payload := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "payload")
		early, late := rapid.IntRange(0, 30).Draw(t, "early"), rapid.IntRange(1, 30).Draw(t, "late")
		lost := rapid.IntRange(0, 4).Draw(t, "lost") == 0
		op := at(i, i*10-early, i*10+late, payload, Outcome{})
		switch {
		case lost && rapid.Bool().Draw(t, "not applied"):
		case bound == unbound || planted && bound.payload != payload:
			bound = binding{payload, fmt.Sprint(next)}
			next++
			op.Outcome = Created(bound.id)
		case bound.payload != payload:
			op.Outcome = Conflict()
		default:
			op.Outcome = Replayed(bound.id)
		}
		if lost {
			op.Outcome = Unknown()
		}
		history = append(history, op)
	}
	return history
}

func TestCorrectHistoriesAreLinearizable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if got := Linearizable(simulate(t, false), 5*time.Second); got != OK {
			t.Fatalf("%s", got)
		}
	})
}

// A server that lets another payload take over a bound key shows two resources of one key.
func TestPlantedFaultIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := simulate(t, true)
		ids := map[string]bool{}
		for _, op := range history {
			if op.Outcome.ID != "" {
				ids[op.Outcome.ID] = true
			}
		}
		got := Linearizable(history, 5*time.Second)
		if len(ids) > 1 && got != Illegal || got == TimedOut {
			t.Fatalf("%d resources: %s", len(ids), got)
		}
	})
}

func TestExplain(t *testing.T) {
	page, err := Explain([]IdemOp{at(0, 0, 10, "a", Created("1")), at(1, 1, 9, "a", Created("2"))}, time.Second)
	if err != nil || !bytes.Contains(page, []byte("<html")) {
		t.Errorf("%v, %d bytes", err, len(page))
	}
}

func TestWalk(t *testing.T) {
	good := Walk{Present: []string{"a", "b", "c"}, Added: []string{"n"}, Foreign: []string{"f"}, Pinned: true, Desc: true,
		Pages: []Page{{IDs: []string{"c", "b"}, Keys: []string{"3", "2"}, Limit: 2}, {Limit: 2}, {IDs: []string{"a"}, Keys: []string{"1"}, Limit: 2, Last: true}}}
	if ps := good.Judge(); len(ps) > 0 {
		t.Errorf("a good walk: %v", ps)
	}
	for _, c := range []struct {
		name  string
		spoil func(*Walk)
		want  Problem
	}{
		{"missing", func(w *Walk) { w.Pages[2].IDs, w.Pages[2].Keys = nil, nil }, Problem{Missing, -1, "a"}},
		{"duplicate", func(w *Walk) { w.Pages[2].IDs = []string{"a", "b"}; w.Pages[2].Keys = nil }, Problem{Duplicate, 2, "b"}},
		{"late", func(w *Walk) { w.Pages[1].IDs = []string{"n"} }, Problem{Late, 1, "n"}},
		{"leaked", func(w *Walk) { w.Pages[1].IDs = []string{"f"} }, Problem{Leaked, 1, "f"}},
		{"order in a page", func(w *Walk) { w.Pages[0].Keys = []string{"2", "3"} }, Problem{Unordered, 0, "b"}},
		{"order across pages", func(w *Walk) { w.Pages[2].Keys = []string{"4"} }, Problem{Unordered, 2, "a"}},
		{"over limit", func(w *Walk) { w.Pages[0].Limit = 1 }, Problem{OverLimit, 0, ""}},
		{"never ends", func(w *Walk) { w.Pages[2].Last = false }, Problem{Endless, 2, ""}},
		{"goes on", func(w *Walk) { w.Pages[0].Last = true }, Problem{Endless, 0, ""}},
		{"no page", func(w *Walk) { *w = Walk{} }, Problem{Endless, -1, "no page at all"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := good
			w.Pages = slices.Clone(good.Pages)
			c.spoil(&w)
			if ps := w.Judge(); !slices.Equal(ps, []Problem{c.want}) {
				t.Errorf("%v, not %v", ps, c.want)
			}
		})
	}
	unpinned := good
	unpinned.Pinned = false
	unpinned.Pages = append(slices.Clone(good.Pages[:2]), Page{IDs: []string{"a", "n"}, Last: true})
	if ps := unpinned.Judge(); len(ps) > 0 {
		t.Errorf("an addition that may show: %v", ps)
	}
}

// Any way of cutting an ordered list into pages is a good walk; dropping one item never is.
func TestWalkOfAnyPaging(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "items")
		w := Walk{}
		var page Page
		for i := range n {
			id := fmt.Sprintf("%02d", i)
			w.Present = append(w.Present, id)
			page.IDs, page.Keys = append(page.IDs, id), append(page.Keys, id)
			if rapid.Bool().Draw(t, "cut") {
				w.Pages = append(w.Pages, page)
				page = Page{}
			}
		}
		page.Last = true
		w.Pages = append(w.Pages, page)
		if ps := w.Judge(); len(ps) > 0 {
			t.Fatalf("%v", ps)
		}
		w.Present = append(w.Present, "zz")
		if ps := w.Judge(); len(ps) != 1 || ps[0].Kind != Missing {
			t.Fatalf("%v", ps)
		}
	})
}

func job() Machine {
	return Machine{Initial: "accepted", Terminal: []string{"completed", "failed", "cancelled"}, Transitions: map[string][]string{
		"accepted": {"running", "cancelled", "failed"}, "running": {"waiting", "completed", "failed", "cancelled"}, "waiting": {"running", "cancelled", "failed"}}}
}

func TestMachine(t *testing.T) {
	for _, c := range []struct {
		states            string
		observed, history bool
	}{
		{"", true, true},
		{"accepted running completed", true, true},
		{"running completed", true, false},
		{"completed", true, false},
		{"accepted completed", true, false},
		{"accepted accepted running running", true, false},
		{"waiting running waiting failed", true, false},
		{"running accepted", false, false},
		{"accepted cancelled running", false, false},
		{"accepted running completed completed", true, false},
		{"accepted running completed failed", false, false},
		{"accepted sleeping", false, false},
	} {
		states := strings.Fields(c.states)
		if err := job().Observed(states); (err == nil) != c.observed {
			t.Errorf("observed %q: %v", c.states, err)
		}
		if err := job().History(states); (err == nil) != c.history {
			t.Errorf("history %q: %v", c.states, err)
		}
	}
	open := job()
	open.Open = true
	if err := open.Observed([]string{"accepted", "sleeping", "running"}); err != nil {
		t.Errorf("an open machine: %v", err)
	}
	if err := open.Observed([]string{"completed", "sleeping"}); err == nil {
		t.Error("an unknown state after a final one")
	}
	if err := open.History([]string{"running"}); err == nil {
		t.Error("a history that begins in the middle")
	}
	if !job().Reachable("waiting", "completed") || job().Reachable("completed", "running") || !job().Reachable("failed", "failed") {
		t.Error("reachability")
	}
}
