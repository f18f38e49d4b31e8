package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay.kit/conformance"
	"assay.kit/conformance/check"
	"assay.kit/conformance/report"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/reference/store/memory"
	"assay.kit/spec"
)

// lanesOfBench is how many requests are under way at once in both loops.
const lanesOfBench = 8

// benchServer serves the Seer reference from memory.
func benchServer(b *testing.B) (*spec.Contract, *served) {
	b.Helper()
	ct, err := loadContract("seer")
	if err != nil {
		b.Fatal(err)
	}
	ref, err := start(b.Context(), serving{contract: ct, store: memory.New(), credentials: 1, addr: loopback})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(ref.stop)
	return ct, ref
}

// BenchmarkBareLoop is the yardstick: the same request in a plain net/http loop that reads the body.
func BenchmarkBareLoop(b *testing.B) {
	_, ref := benchServer(b)
	token := ref.profile.Credentials["primary"].Bearer.Reveal()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: lanesOfBench}}
	defer client.CloseIdleConnections()
	b.ResetTimer()
	inLanes(b.N, func() {
		rq, _ := http.NewRequestWithContext(b.Context(), http.MethodGet, ref.baseURL+"/v1/connection", nil)
		rq.Header.Set("Authorization", "Bearer "+token)
		rs, err := client.Do(rq)
		if err != nil {
			b.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, rs.Body)
		_ = rs.Body.Close()
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// BenchmarkCall sends the same request through T.Call: recorded, paced and judged by every passive claim.
func BenchmarkCall(b *testing.B) {
	ct, ref := benchServer(b)
	caller, err := target.New(ref.profile, target.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer caller.Close()
	ck := check.Check{ID: "bench.call", Does: "Calls.", Claims: []check.Claim{{ID: "bench.answered", Says: "It answers."}},
		Select: func(c *spec.Contract) []check.Subject {
			return []check.Subject{{Name: "one", Op: c.Op("getConnection")}}
		},
		Run: func(_ context.Context, t *check.T, s check.Subject) {
			t.Lanes(lanesOfBench, func(t *check.T, i int) {
				for range share(b.N, i) {
					ex := t.Call("primary", wire.Request{Operation: s.Op.ID, Method: "GET", Target: s.Op.Path})
					t.Judge("bench.answered", ex.Status() == 200, "200", fmt.Sprint(ex.Status()))
				}
			})
		}}
	cases, _, err := check.Plan(ct, ref.profile, []check.Check{ck}, check.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	out := check.Run(b.Context(), cases, check.Env{Contract: ct, Profile: ref.profile, Caller: caller, Passive: wire.Passive(),
		Redact: caller.Redact, Curl: caller.Curl, Epoch: time.Now(), Seed: 1, Budget: b.N + lanesOfBench, CaseTime: time.Hour}, nil)
	b.StopTimer()
	if v := out[0].Case.Verdict; v != "pass" && b.N >= lanesOfBench {
		b.Errorf("the loop ended %s: %s", v, out[0].Case.Note)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// BenchmarkFullRun judges the Seer reference on memory once at standard effort, and says where the
// time of its cases went: in requests, in waiting for jobs, in passive judgement, in all the rest
// (drawing, comparing, queueing for the processor).
func BenchmarkFullRun(b *testing.B) {
	ct, ref := benchServer(b)
	for b.Loop() {
		spent := new(check.Spent)
		rep, err := conformance.Run(b.Context(), conformance.Options{Contract: ct, Profile: ref.profile, Seed: 1, Financial: true, Spent: spent})
		if err != nil {
			b.Fatal(err)
		}
		if rep.Verdict != report.Conformant {
			b.Errorf("the reference is %s: %s: %v", rep.Verdict, rep.Note, undecided(rep))
		}
		var all float64
		for _, cs := range rep.Cases {
			all += cs.Seconds
		}
		share := func(n int64) float64 { return 100 * float64(n) / 1e9 / all }
		b.ReportMetric(float64(rep.Summary.Requests), "requests")
		b.ReportMetric(share(spent.Calling.Load()), "%calling")
		b.ReportMetric(share(spent.Waiting.Load()), "%waiting")
		b.ReportMetric(share(spent.Watching.Load()), "%watching")
	}
}

// inLanes runs f n times, lanesOfBench at once.
func inLanes(n int, f func()) {
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(n))
	for range lanesOfBench {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				f()
			}
		})
	}
	wg.Wait()
}

// share splits n over the lanes.
func share(n, lane int) int {
	s := n / lanesOfBench
	if lane < n%lanesOfBench {
		s++
	}
	return s
}

// undecided names the cases that gave no verdict.
func undecided(rep *report.Report) (ids []string) {
	for _, cs := range rep.Cases {
		if cs.Verdict == report.Inconclusive || cs.Verdict == report.Error {
			ids = append(ids, cs.ID+": "+cs.Note)
		}
	}
	return ids
}
