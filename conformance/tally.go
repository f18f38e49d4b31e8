package conformance

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
)

const (
	longWait   = 90 * time.Second // a delay that no case waits
	longStreak = 25               // answers in a row
	noticed    = time.Second      // a call that was given up sooner than this says nothing about the target
)

// tally counts what came of the requests, to tell a run that never got anywhere from one that judged.
type tally struct {
	check.Caller
	base  string
	delay string // the header that says when to come back
	mu    sync.Mutex

	all     int // requests of every role
	ends    map[wire.End]int
	example map[wire.End]string
	moved   int    // redirects to another origin
	movedTo string // one of them
	wait    time.Duration
	waitOf  string
	coded   int // answers in a content coding that was not asked for

	total   int // of the primary credential: others are refused on purpose
	byFirst map[int]int
	status  map[int]int
	last    int // status of the latest answer
	streak  int // answers in a row with that status
}

func newTally(c check.Caller, base, delay string) *tally {
	if delay == "" {
		delay = "Retry-After"
	}
	return &tally{Caller: c, base: base, delay: delay, ends: map[wire.End]int{}, example: map[wire.End]string{}, byFirst: map[int]int{}, status: map[int]int{}}
}

// Do implements check.Caller.
func (t *tally) Do(ctx context.Context, role string, rq wire.Request, o target.Call) wire.Exchange {
	ex := t.Caller.Do(ctx, role, rq, o)
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() != nil && ex.Last-ex.Sent < noticed { // we gave up, or were told to
		return ex
	}
	t.all++
	t.transport(ex)
	if role == string(target.Primary) {
		t.total++
		t.byFirst[ex.Head.Status/100]++
		t.status[ex.Head.Status]++
		if ex.Head.Status != t.last {
			t.last, t.streak = ex.Head.Status, 0
		}
		t.streak++
	}
	return ex
}

// transport notes what no check judges.
func (t *tally) transport(ex wire.Exchange) {
	if ex.End != wire.EndComplete && ex.End != wire.EndCut {
		t.ends[ex.End]++
		if t.example[ex.End] == "" {
			t.example[ex.End] = ex.Req.Method + " " + short(ex.Req.Target) + ": " + short(ex.Err)
		}
	}
	if coding := ex.Header("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		t.coded++
	}
	if ex.Head.Status/100 == 3 && leavesOrigin(t.base, ex.Header("Location")) {
		t.moved++
		t.movedTo = short(ex.Header("Location"))
	}
	if d, ok := wire.ParseRetryAfter(ex.Header(t.delay), time.Now()); ok && d > longWait && d > t.wait {
		t.wait, t.waitOf = d, fmt.Sprintf("%s %s: %d", ex.Req.Method, short(ex.Req.Target), ex.Head.Status)
	}
}

func short(s string) string {
	if len(s) > 120 {
		s = strings.ToValidUTF8(s[:120], "") + "…"
	}
	return s
}

func leavesOrigin(base, location string) bool {
	from, err := url.Parse(base)
	if err != nil {
		return false
	}
	to, err := from.Parse(location)
	return err == nil && location != "" && (to.Scheme != from.Scheme || !strings.EqualFold(to.Host, from.Host))
}

// warnings say what a reader should know before believing the verdicts, each with what to do.
func (t *tally) warnings() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == 0 {
		return nil
	}
	out := t.answers()
	return append(append(out, t.broken()...), t.odd()...)
}

// tips say what to do about a status that nearly everything is answered with.
func tips() map[int]string {
	return map[int]string{
		401: "the target does not take the primary credential; check the token and its audience",
		403: "the primary credential may do almost nothing; check its scopes",
		404: "the target knows almost none of these paths; check base_url, and whether it serves this contract at all",
		429: "the target lets almost nothing through; lower --rate or --jobs",
		500: "the target fails at almost everything; look into its log first",
		502: "something before the target does not reach it; check the proxy",
		503: "the target is not ready; try again when it is",
		504: "something before the target does not reach it in time; check the proxy",
	}
}

func (t *tally) answers() []string {
	var out []string
	for status, n := range t.status {
		if tip := tips()[status]; tip != "" && n*10 >= t.total*9 {
			out = append(out, fmt.Sprintf("%d of %d requests were answered %d: %s", n, t.total, status, tip))
		}
	}
	tip := tips()[t.last]
	if t.last == 401 {
		tip = "the credential may have expired on the way; give a command that prints a fresh one, or have it last longer"
	}
	if len(out) == 0 && tip != "" && t.streak >= longStreak && t.streak*4 >= t.total {
		out = append(out, fmt.Sprintf("the last %d of %d requests were all answered %d: %s", t.streak, t.total, t.last, tip))
	}
	if t.byFirst[2] == 0 && t.total > 0 && len(out) == 0 {
		out = append(out, fmt.Sprintf("none of %d requests was answered with a 2xx: nothing of what the contract promises was reached; check base_url, the credential and the contract", t.total))
	}
	return out
}

// brokenEnd is how a warning speaks of exchanges that did not end well. Those that happen to any
// server now and then are told only when they are many.
type brokenEnd struct {
	end  wire.End
	says string
	tip  string
	rare bool // one is worth a word
}

func brokenEnds() []brokenEnd {
	return []brokenEnd{
		{wire.EndTruncated, "answers were cut short", "none of them was judged; look at what stands between, such as a proxy with a limit", true},
		{wire.EndOversize, "answers were larger than this kit reads", "none of them was judged; ask for smaller pages, or look at what the server sends", true},
		{wire.EndGarbage, "answers were not HTTP/1.1 as RFC 9112 has it", "none of them was judged; look at what the server sends", true},
		{wire.EndTimeout, "requests got no whole answer in time", "the server, or what stands before it, is too slow for this load; lower --jobs", false},
		{wire.EndReset, "connections broke before an answer came", "the server, or what stands before it, drops them; look into its log", false},
		{wire.EndRefused, "requests could not be sent", "the server takes no connection, or the request cannot be written", false},
	}
}

func (t *tally) broken() []string {
	var out []string
	for _, b := range brokenEnds() {
		if n := t.ends[b.end]; n > 0 && (b.rare || n*20 >= t.all) {
			out = append(out, fmt.Sprintf("%d of %d %s (%s): %s", n, t.all, b.says, t.example[b.end], b.tip))
		}
	}
	return out
}

func (t *tally) odd() []string {
	var out []string
	if t.moved > 0 {
		out = append(out, fmt.Sprintf("%d of %d answers redirect to another origin (%s), which is not followed, since a token goes nowhere but to base_url: give the address that answers itself", t.moved, t.all, t.movedTo))
	}
	if t.wait > 0 {
		out = append(out, fmt.Sprintf("the target asks to wait %.0f s (%s), and no case waits longer than %.0f s: lower --rate, or try again later", t.wait.Seconds(), t.waitOf, longWait.Seconds()))
	}
	if t.coded > 0 {
		out = append(out, fmt.Sprintf("%d of %d answers carry a Content-Encoding, though none was asked for: their bodies were judged as they came", t.coded, t.all))
	}
	return out
}
