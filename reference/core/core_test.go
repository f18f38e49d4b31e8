package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
	"assay.kit/reference/store/memory"
	"assay.kit/spec"
)

// bench is a Core over the tiny contract, with its runner running.
type bench struct {
	t     *testing.T
	core  *core.Core
	clock *core.OffsetClock
	store core.Store
	keys  atomic.Int64
}

func newBench(t *testing.T, change func(*core.Config)) *bench {
	t.Helper()
	contract, err := spec.Load(os.DirFS("testdata/tiny"), "tiny")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, store: memory.New()}
	if b.clock, err = core.NewClock(t.Context(), b.store); err != nil {
		t.Fatal(err)
	}
	cfg := core.Config{Contract: contract, Store: b.store, Clock: b.clock}
	for _, c := range access.Derive(1, contract, access.Holdings{Grants: []string{"g"}}) {
		cfg.Credentials = append(cfg.Credentials, c.Credential)
	}
	if change != nil {
		change(&cfg)
	}
	if b.core, err = core.New(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.core.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return b
}

func (b *bench) principal(role string) core.Principal {
	b.t.Helper()
	for _, c := range access.Derive(1, b.core.Contract(), access.Holdings{Grants: []string{"g"}}) {
		if c.Name == role {
			p, refused := b.core.Authenticate(b.t.Context(), c.Token)
			if refused != nil {
				b.t.Fatal(refused)
			}
			return p
		}
	}
	b.t.Fatalf("no role %s", role)
	return core.Principal{}
}

// do sends a request as a role. path is the part after the operation's fixed parts: its one parameter.
func (b *bench) do(role, operation, id, query, body string) (map[string]any, *core.Problem) {
	b.t.Helper()
	op := b.core.Contract().Op(operation)
	q, err := url.ParseQuery(query)
	if err != nil {
		b.t.Fatal(err)
	}
	r := core.Request{Op: op, Principal: b.principal(role), Query: q, EscapedPath: op.Path, Path: map[string]string{}, Body: []byte(body)}
	if _, rest, ok := strings.Cut(op.Path, "{"); ok {
		name, _, _ := strings.Cut(rest, "}")
		r.Path[name] = id
		r.EscapedPath = strings.Replace(op.Path, "{"+name+"}", id, 1)
	}
	key := fmt.Sprint("k", b.keys.Add(1))
	r.Header = func(name string) string {
		if http.CanonicalHeaderKey(name) == "Idempotency-Key" {
			return key
		}
		return ""
	}
	a, p := b.core.Do(b.t.Context(), r)
	if p != nil || a.Body == nil {
		return nil, p
	}
	var m map[string]any
	if err := json.Unmarshal(a.Body, &m); err != nil {
		b.t.Fatal(err)
	}
	return m, nil
}

func (b *bench) ok(role, operation, id, query, body string) map[string]any {
	b.t.Helper()
	m, p := b.do(role, operation, id, query, body)
	if p != nil {
		b.t.Fatalf("%s: %v %v", operation, p, p.Violations)
	}
	return m
}

func (b *bench) refused(kind core.Kind, role, operation, id, query, body string) {
	b.t.Helper()
	if m, p := b.do(role, operation, id, query, body); p == nil || p.Kind != kind {
		b.t.Errorf("%s %s: %v %v, want %s", operation, id, m, p, kind)
	}
}

func str(m map[string]any, name string) string { s, _ := m[name].(string); return s }

func TestCreationIsCompletedFromItsSchema(t *testing.T) {
	b := newBench(t, nil)
	got := b.ok(access.Primary, "createBox", "", "", `{"size": 2.50}`)
	want := map[string]any{"size": 2.5, "state": "open", "owner": nil, "weight": 2.0, "colour": "brown", "version": 1.0}
	for name, v := range want {
		if g, there := got[name]; !there || g != v {
			t.Errorf("%s = %v, want %v", name, g, v)
		}
	}
	if str(got, "id") == "" || str(got, "created_at") == "" || len(got) != len(want)+2 {
		t.Errorf("representation: %v", got)
	}
	if read := b.ok(access.Primary, "getBox", str(got, "id"), "", ""); fmt.Sprint(read) != fmt.Sprint(got) {
		t.Errorf("read %v, created %v", read, got)
	}
}

func TestForeignAsTheContractSays(t *testing.T) {
	b := newBench(t, nil)
	id := str(b.ok(access.Primary, "createBox", "", "", `{"size":1}`), "id")
	b.refused(core.Forbidden, access.SecondWorkspace, "getBox", id, "", "")
	b.refused(core.NotFound, access.SecondWorkspace, "getBox", "nobody", "", "")
	run := str(b.ok(access.Primary, "createRun", "", "", `{}`), "job_id")
	b.refused(core.NotFound, access.SecondWorkspace, "getRun", run, "", "")
	b.refused(core.NotFound, access.SecondWorkspace, "cancelRun", run, "", "")
	b.refused(core.NotFound, access.Primary, "getBox", strings.Repeat("x", 101), "", "") // too long to be one; no 400 is documented
}

func TestOrderByAMember(t *testing.T) {
	b := newBench(t, nil)
	for _, size := range []string{"10", "-3", "9", "2.5", "9", "100", "-20", "0"} {
		b.ok(access.Primary, "createBox", "", "", `{"size":`+size+`,"label":"l"}`)
	}
	b.ok(access.Primary, "createBox", "", "", `{"size":7,"label":"other"}`)
	for order, want := range map[string]string{"size": "[-20 -3 0 2.5 9 9 10 100]", "-size": "[100 10 9 9 2.5 0 -3 -20]"} {
		for _, limit := range []int{1, 3, 8} {
			var sizes []float64
			seen := map[string]bool{}
			query := fmt.Sprintf("label=l&order=%s&limit=%d", order, limit)
			for next := ""; ; {
				page := b.ok(access.Primary, "listBoxes", "", query+next, "")
				for _, it := range page["items"].([]any) {
					box := it.(map[string]any)
					sizes = append(sizes, box["size"].(float64))
					seen[str(box, "id")] = true
				}
				if page["schema_version"] != "1" {
					t.Errorf("page without its constant: %v", page)
				}
				cursor := page["next_cursor"].(string) // the end is the empty text, so it is always there
				if cursor == "" {
					break
				}
				next = "&cursor=" + url.QueryEscape(cursor)
			}
			if fmt.Sprint(sizes) != want || len(seen) != 8 {
				t.Errorf("order=%s limit=%d: %v (%d ids), want %s", order, limit, sizes, len(seen), want)
			}
		}
	}
	b.refused(core.InvalidParameter, access.Primary, "listBoxes", "", "order=colour", "")
	b.refused(core.InvalidParameter, access.Primary, "listBoxes", "", "limit=0", "")
	b.refused(core.InvalidParameter, access.Primary, "listBoxes", "", "limit=101", "")
	b.refused(core.CursorInvalid, access.Primary, "listBoxes", "", "cursor=AAAA", "")
}

func TestMoves(t *testing.T) {
	b := newBench(t, nil)
	id := str(b.ok(access.Primary, "createBox", "", "", `{"size":1}`), "id")
	b.ok(access.Primary, "sealBox", id, "", "") // no conflict is documented: it stays as it is
	if got := b.ok(access.Primary, "getBox", id, "", ""); str(got, "state") != "open" {
		t.Fatalf("an illegal move happened: %v", got)
	}
	if got := b.ok(access.Primary, "closeBox", id, "", ""); str(got, "state") != "closed" {
		t.Errorf("closed: %v", got)
	}
	if got := b.ok(access.Primary, "closeBox", id, "", ""); str(got, "state") != "closed" {
		t.Errorf("closing twice: %v", got)
	}
	b.ok(access.Primary, "sealBox", id, "", "")
	b.refused(core.StateConflict, access.Primary, "closeBox", id, "", "")
	b.refused(core.InvalidRequest, access.Primary, "closeBox", id, "", `{"a":1}`)
	if got := b.events(id); got != "box.open<> box.closed<open>" { // box.sealed is no listed type
		t.Errorf("events: %s", got)
	}
}

func (b *bench) events(id string) string {
	b.t.Helper()
	page := b.ok(access.Primary, "listEvents", "", "limit=100&resource_id="+id, "")
	var out []string
	for _, it := range page["items"].([]any) {
		e := it.(map[string]any)
		out = append(out, fmt.Sprintf("%s<%s>", e["type"], str(e, "previous_state")))
	}
	return strings.Join(out, " ")
}

func (b *bench) await(run, state string) map[string]any {
	b.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if got := b.ok(access.Primary, "getRun", run, "", ""); str(got, "state") == state {
			return got
		}
	}
	b.t.Fatalf("run %s did not become %s", run, state)
	return nil
}

func (b *bench) run(role, body string) string {
	b.t.Helper()
	got := b.ok(role, "createRun", "", "", body)
	if str(got, "state") != "accepted" || str(got, "status_url") != "/runs/"+str(got, "job_id") || len(got) != 3 {
		b.t.Errorf("accepted: %v", got)
	}
	return str(got, "job_id")
}

func TestDefaultWork(t *testing.T) {
	b := newBench(t, nil)
	id := b.run(access.Primary, `{"steps":4}`)
	done := b.await(id, "completed")
	if done["steps"] != 4.0 || str(done, "run_id") != id {
		t.Errorf("run: %v", done)
	}
	result := b.ok(access.SecondClient, "getResult", str(done, "result_ref"), "", "")
	if result["total"] != 3.0 || str(result, "result_id") != str(done, "result_ref") {
		t.Errorf("result: %v", result)
	}
	if got := b.events(id); got != "run.accepted<> run.running<accepted> run.completed<running>" {
		t.Errorf("events: %s", got)
	}
	if got := b.ok(access.Primary, "cancelRun", id, "", ""); str(got, "state") != "completed" || str(got, "result_ref") != str(done, "result_ref") {
		t.Errorf("cancelling what has ended: %v", got)
	}
}

func TestConnectionShowsLimits(t *testing.T) {
	b := newBench(t, nil)
	got := b.ok(access.Limited, "getMe", "", "", "")
	limits, _ := got["limits"].(map[string]any)
	want := map[string]any{"rate": 60.0, "jobs": 2.0, "bytes": 262144.0, "keys": 86400.0, "pages": 900.0, "events": 604800.0}
	if fmt.Sprint(limits) != fmt.Sprint(want) || str(got, "client") != "client_limited" || got["motto"] != "small" {
		t.Errorf("connection: %v", got)
	}
}

func TestEventsEndWithTheirRetention(t *testing.T) {
	b := newBench(t, nil)
	id := str(b.ok(access.Primary, "createBox", "", "", `{"size":1}`), "id")
	if b.events(id) == "" {
		t.Fatal("no events")
	}
	if err := b.clock.Advance(t.Context(), access.DefaultLimits().EventRetention); err != nil {
		t.Fatal(err)
	}
	if got := b.events(id); got != "" {
		t.Errorf("events after their retention: %s", got)
	}
	b.ok(access.Primary, "getBox", id, "", "")
}

func TestTimesRiseWithTheOrderOfCommit(t *testing.T) {
	b := newBench(t, nil)
	if err := b.clock.Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				b.ok(access.Primary, "createBox", "", "", `{"size":1}`)
			}
		})
	}
	wg.Wait()
	err := b.store.View(t.Context(), func(r core.Reader) error {
		rows, err := r.Scan(core.Query{Kind: "box", AnyWorkspace: true, AnyParent: true, Limit: 99})
		if len(rows) != 80 {
			t.Errorf("%d boxes", len(rows))
		}
		for i := 1; i < len(rows); i++ {
			if !rows[i].Created.After(rows[i-1].Created) {
				t.Errorf("box %d is not later than the one before", i)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestSealAndOpen(t *testing.T) {
	b := newBench(t, nil)
	p, other := b.principal(access.Primary), b.principal(access.SecondClient)
	s, err := b.core.Seal(p, "bars", time.Minute, map[string]int{"from": 7})
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]int
	if refused := b.core.Open(p, "bars", s, &v); refused != nil || v["from"] != 7 {
		t.Errorf("Open: %v %v", v, refused)
	}
	for _, c := range []struct {
		p             core.Principal
		scope, cursor string
	}{{other, "bars", s}, {p, "scan", s}, {p, "bars", s + "A"}, {p, "bars", ""}} {
		if refused := b.core.Open(c.p, c.scope, c.cursor, &v); refused == nil || refused.Kind != core.CursorInvalid {
			t.Errorf("%s %s: %v, want cursor_invalid", c.p.Client, c.scope, refused)
		}
	}
	if err := b.clock.Advance(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if refused := b.core.Open(p, "bars", s, &v); refused == nil || refused.Kind != core.CursorExpired {
		t.Errorf("after its life: %v, want cursor_expired", refused)
	}
}

func TestControlRefusesWhatIsNotThere(t *testing.T) {
	b := newBench(t, nil)
	ctx := t.Context()
	for name, err := range map[string]error{
		"credential": b.core.SetRetired(ctx, "nobody", true), "grant": b.core.SetGrant(ctx, "x", false),
		"resource": b.core.SetHidden(ctx, access.Primary, "", "x", true), "job": b.core.Release(ctx, "x"),
		"unavailable": b.core.SetUnavailable("nobody", time.Second), "hold": b.core.HoldNext(ctx, "nobody", 1),
	} {
		if !errors.Is(err, core.ErrUnknown) {
			t.Errorf("%s: %v, want ErrUnknown", name, err)
		}
	}
	if _, err := b.core.AddItem(ctx, access.Primary, "run", nil); !errors.Is(err, core.ErrUnknown) {
		t.Errorf("an item of what nothing lists: %v, want ErrUnknown", err)
	}
	id, err := b.core.AddItem(ctx, access.Primary, "box", map[string]any{"label": "added", "size": 3})
	if err != nil {
		t.Fatal(err)
	}
	page := b.ok(access.Primary, "listBoxes", "", "label=added", "")
	if items := page["items"].([]any); len(items) != 1 || str(items[0].(map[string]any), "id") != id {
		t.Errorf("added: %v", items)
	}
}

func TestGrantsAreThoseOfTheMoment(t *testing.T) {
	b := newBench(t, nil)
	for _, held := range []bool{false, true} {
		if err := b.core.SetGrant(t.Context(), "", held); err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(b.principal(access.Primary).Grants, "g"); got != held {
			t.Errorf("grant held: %v, want %v", got, held)
		}
	}
}

func TestNewRefusesAStrangeBehaviour(t *testing.T) {
	contract, err := spec.Load(os.DirFS("testdata/tiny"), "tiny")
	if err != nil {
		t.Fatal(err)
	}
	s := memory.New()
	clock, err := core.NewClock(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	_, err = core.New(t.Context(), core.Config{Contract: contract, Store: s, Clock: clock, Behaviours: map[string]core.Behaviour{"nowhere": {}}})
	if err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("New: %v, want an error that names it", err)
	}
}
