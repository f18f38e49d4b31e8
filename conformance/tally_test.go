package conformance

import (
	"context"
	"strings"
	"testing"
	"time"

	"assay.kit/conformance/report"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
)

// script answers one exchange after the other.
type script []wire.Exchange

func (s *script) Do(_ context.Context, role string, rq wire.Request, _ target.Call) wire.Exchange {
	ex := (*s)[0]
	*s = (*s)[1:]
	ex.Role, ex.Req = role, rq
	return ex
}

func status(n int, fields ...wire.Field) wire.Exchange {
	return wire.Exchange{Head: wire.Head{Status: n, Fields: fields}, End: wire.EndComplete}
}

func ended(e wire.End, err string) wire.Exchange {
	return wire.Exchange{End: e, Err: err, Last: 2 * time.Second}
}

func times(n int, ex wire.Exchange) script {
	var out script
	for range n {
		out = append(out, ex)
	}
	return out
}

// Every warning says what was seen, how often, and what to do; a run that is well has none.
func TestWarnings(t *testing.T) {
	later := wire.Field{Name: "Try-Later", Value: "1000000000"}
	for _, c := range []struct {
		name string
		told script
		role string
		want []string // one a warning, in order
	}{
		{name: "well", told: append(times(90, status(200)), times(10, status(401))...)},
		{name: "nothing sent"},
		{name: "no access", told: append(times(19, status(401)), status(200)), want: []string{"19 of 20 requests were answered 401: .*token"}},
		{name: "others are refused on purpose", role: "expired", told: times(20, status(401))},
		{name: "nowhere", told: times(3, status(405)), want: []string{"none of 3 requests was answered with a 2xx"}},
		{name: "down", told: times(3, status(503)), want: []string{"3 of 3 requests were answered 503"}},
		{name: "expired on the way", told: append(times(60, status(200)), times(30, status(401))...), want: []string{"the last 30 of 90 requests were all answered 401: .*command"}},
		{name: "a short streak", told: append(times(60, status(200)), times(24, status(401))...)},
		{name: "cut short", told: append(times(99, status(200)), ended(wire.EndTruncated, "closed")), want: []string{"1 of 100 answers were cut short (GET /x: closed)"}},
		{name: "no HTTP", told: append(times(99, status(200)), ended(wire.EndGarbage, "g")), want: []string{"1 of 100 answers were not HTTP/1.1"}},
		{name: "now and then", told: append(times(99, status(200)), ended(wire.EndReset, "r"))},
		{name: "often", told: append(times(9, status(200)), ended(wire.EndReset, "r")), want: []string{"1 of 10 connections broke"}},
		{name: "slow", told: append(times(9, status(200)), ended(wire.EndTimeout, "r")), want: []string{"1 of 10 requests got no whole answer in time .*--jobs"}},
		{name: "we cut it", told: append(times(1, status(200)), times(9, wire.Exchange{End: wire.EndCut})...)},
		{name: "moved", told: script{status(200), status(307, wire.Field{Name: "Location", Value: "https://other.example/x"})}, want: []string{"1 of 2 answers redirect to another origin (https://other.example/x)"}},
		{name: "moved within", told: script{status(200), status(307, wire.Field{Name: "Location", Value: "/y"})}},
		{name: "thirty years", told: script{status(200), status(429, later)}, want: []string{"asks to wait 1000000000 s (GET /x: 429)"}},
		{name: "packed", told: script{status(200, wire.Field{Name: "Content-Encoding", Value: "gzip"})}, want: []string{"1 of 1 answers carry a Content-Encoding"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, role := len(c.told), c.role
			if role == "" {
				role = "primary"
			}
			tl := newTally(&c.told, "http://base.example", "Try-Later")
			for range n {
				tl.Do(t.Context(), role, wire.Request{Method: "GET", Target: "/x"}, target.Call{})
			}
			got := tl.warnings()
			if len(got) != len(c.want) {
				t.Fatalf("%q, want %q", got, c.want)
			}
			for i, w := range c.want {
				for _, part := range strings.Split(w, ".*") {
					if !strings.Contains(got[i], part) {
						t.Errorf("%q does not say %q", got[i], part)
					}
				}
			}
		})
	}
}

// A call that ended with the run says nothing about the target.
func TestTheEndOfTheRunIsNoSlowTarget(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	told := times(3, wire.Exchange{End: wire.EndTimeout, Last: time.Millisecond})
	tl := newTally(&told, "http://base.example", "")
	for range 3 {
		tl.Do(ctx, "primary", wire.Request{}, target.Call{})
	}
	if got := tl.warnings(); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

func TestUnjudged(t *testing.T) {
	var cases []report.Case
	add := func(n int, v report.Verdict, note string) {
		for i := range n {
			cases = append(cases, report.Case{Verdict: v, Note: strings.ReplaceAll(note, "#", strings.Repeat("7", i%3+1))})
		}
	}
	add(20, report.Pass, "")
	add(6, report.Inconclusive, "not begun: the time budget of #s is used up")
	add(8, report.Inconclusive, "job # did not end: x#")
	add(4, report.Inconclusive, "few")
	got := unjudged(cases)
	if len(got) != 2 || !strings.HasPrefix(got[0], "8 of 38 cases could not be judged, such as: job 7 did not end") || !strings.Contains(got[1], "--time") {
		t.Errorf("%q", got)
	}
}

func TestTips(t *testing.T) {
	for part, ex := range map[string]wire.Exchange{
		"is the server running": {End: wire.EndRefused, Err: "no connection to x: connect: connection refused"},
		"tls: {ca: FILE}":       {End: wire.EndRefused, Err: "x509: certificate signed by unknown authority"},
		"the clock":             {End: wire.EndRefused, Err: "x509: certificate has expired or is not yet valid"},
		"start with http://":    {End: wire.EndRefused, Err: "first record does not look like a TLS handshake"},
		"not with HTTP/1.1":     {End: wire.EndGarbage},
		"does not answer":       {End: wire.EndTimeout},
		"drops them":            {End: wire.EndReset},
		"any answer has":        {End: wire.EndOversize},
		"the host's name":       {End: wire.EndRefused, Err: "lookup x: no such host"},
	} {
		if got := tipFor(ex); !strings.Contains(got, part) {
			t.Errorf("%s (%s): %q, want %q", ex.End, ex.Err, got, part)
		}
	}
}
