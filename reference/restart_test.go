package reference_test

import (
	"path/filepath"
	"testing"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
	"assay.kit/reference/store/memory"
	"assay.kit/reference/store/sqlite"
)

func openFile(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func (p *peer) clock() *core.OffsetClock {
	_, clock := p.server.Control()
	return clock.(*core.OffsetClock)
}

// TestRestartKeeps runs a server over a database, stops it, and runs another over the same.
func TestRestartKeeps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "restart.db")
	store := openFile(t, path)
	p := start(t, store, nil)
	control, _ := p.server.Control()
	nb := p.notebook("kept")
	body := `{"notebook_id":"` + nb + `","format":"text"}`
	if err := control.HoldNext(t.Context(), "", 1); err != nil {
		t.Fatal(err)
	}
	made := p.want(p.call(access.Primary, "POST", "/exports", "k", body), 202, "")
	for i := range 3 {
		p.want(p.call(access.Primary, "POST", "/notebooks/"+nb+"/notes", string(rune('a'+i)), `{"text":"t","label":"l"}`), 201, "")
	}
	page := p.want(p.call(access.Primary, "GET", "/notebooks/"+nb+"/notes?page_size=1", "", ""), 200, "")
	if err := p.clock().Advance(t.Context(), 30*time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := control.SetRetired(t.Context(), access.RotatedOld, true); err != nil {
		t.Fatal(err)
	}
	before := p.clock().Now()
	p.stop()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}

	p = start(t, openFile(t, path), nil)
	control, _ = p.server.Control()
	if now := p.clock().Now(); now.Before(before) {
		t.Errorf("the contract clock went back from %s to %s", before, now)
	}
	again := p.want(p.call(access.Primary, "POST", "/exports", "k", body), 202, "")
	if string(again.raw) != string(made.raw) || again.header.Get("Request-Key-Expires") != made.header.Get("Request-Key-Expires") {
		t.Errorf("replay after the restart: %s, want %s", again.raw, made.raw)
	}
	p.want(p.call(access.RotatedOld, "GET", "/notebooks", "", ""), 401, "NO_TOKEN")
	p.want(p.call(access.RotatedNew, "GET", "/notebooks", "", ""), 200, "")
	p.want(p.call(access.Primary, "GET", "/notebooks/"+nb+"/notes?page_size=1&after="+page.str("next"), "", ""), 404, "PAGE_STALE")
	if r := p.want(p.call(access.Primary, "GET", "/exports/"+made.str("export_id"), "", ""), 200, ""); r.str("phase") != "queued" {
		t.Errorf("the held job is %s", r.raw)
	}
	if err := control.Release(t.Context(), made.str("export_id")); err != nil {
		t.Fatal(err)
	}
	p.await(made.str("export_id"), "done")

	if err := p.clock().Advance(t.Context(), 31*time.Minute); err != nil {
		t.Fatal(err)
	}
	if r := p.want(p.call(access.Primary, "POST", "/exports", "k", body), 202, ""); r.str("export_id") == made.str("export_id") {
		t.Error("an expired key still replays")
	}
}

// TestRunningJobIsTakenUpAgain starts over a store in which a killed process left a job running.
func TestRunningJobIsTakenUpAgain(t *testing.T) {
	store := memory.New()
	p := start(t, store, nil)
	control, _ := p.server.Control()
	nb := p.notebook("killed")
	if err := control.HoldNext(t.Context(), "", 1); err != nil {
		t.Fatal(err)
	}
	id := p.want(p.call(access.Primary, "POST", "/exports", "k", `{"notebook_id":"`+nb+`","format":"text"}`), 202, "").str("export_id")
	p.stop()
	err := store.Update(t.Context(), func(w core.Writer) error {
		task, err := w.Task(id)
		if err != nil {
			return err
		}
		task.Held, task.Running, task.Attempt = false, true, 1
		return w.SetTask(task)
	})
	if err != nil {
		t.Fatal(err)
	}
	p = start(t, store, nil)
	done := p.await(id, "done")
	p.want(p.call(access.Primary, "GET", "/files/"+done.str("file"), "", ""), 200, "")
}

func TestFrozenClockStopsJobsAndAdvanceMovesThem(t *testing.T) {
	p := start(t, memory.New(), nil)
	nb := p.notebook("frozen")
	if err := p.clock().Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	frozen := p.clock().Now()
	id := p.want(p.call(access.Primary, "POST", "/exports", "k", `{"notebook_id":"`+nb+`","format":"text"}`), 202, "").str("export_id")
	if now := p.clock().Now(); !now.Equal(frozen) {
		t.Errorf("a frozen clock moved from %s to %s", frozen, now)
	}
	if r := p.want(p.call(access.Primary, "GET", "/exports/"+id, "", ""), 200, ""); r.str("phase") != "queued" {
		t.Errorf("while the clock stood the job became %s", r.str("phase"))
	}
	for _, phase := range []string{"working", "done"} {
		if err := p.clock().Advance(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
		p.await(id, phase)
	}
	if err := p.clock().Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := p.clock().Now(); now.Before(frozen.Add(2 * time.Second)) {
		t.Errorf("after resuming it is %s, before %s", now, frozen.Add(2*time.Second))
	}
}

func TestUnavailableForAWhile(t *testing.T) {
	p := start(t, memory.New(), nil)
	control, _ := p.server.Control()
	if err := control.SetUnavailable("", 90*time.Second+time.Millisecond); err != nil {
		t.Fatal(err)
	}
	r := p.want(p.call(access.Primary, "GET", "/notebooks", "", ""), 503, "CLOSED")
	if d := r.header.Get("Try-Again-After"); d != "91" && d != "90" {
		t.Errorf("Try-Again-After %q, want the rest rounded up", d)
	}
	if err := p.clock().Advance(t.Context(), 91*time.Second); err != nil {
		t.Fatal(err)
	}
	p.want(p.call(access.Primary, "GET", "/notebooks", "", ""), 200, "")
}
