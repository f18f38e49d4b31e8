package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"assay.kit/conformance/check"
	"assay.kit/conformance/report"
)

const (
	heartbeat = 10 * time.Second
	refresh   = 100 * time.Millisecond // of the live line
)

// progress tells a person how a run is coming along: on a terminal one line that is rewritten,
// elsewhere a line for every case that did not pass and a heartbeat. Its goroutine ends with close.
type progress struct {
	w      io.Writer
	screen screen
	began  time.Time

	mu      sync.Mutex
	status  string // how far it is
	running string // what began last
	broken  int
	open    int
	shown   int // cells of the live line
	quit    chan struct{}
	ended   sync.WaitGroup
}

// startProgress begins to show; every is the time between two beats.
func startProgress(w io.Writer, s screen, every time.Duration) *progress {
	p := &progress{w: w, screen: s, began: time.Now(), quit: make(chan struct{})}
	p.ended.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				p.beat()
			case <-p.quit:
				return
			}
		}
	})
	return p
}

// progress starts a display on stderr, so that stdout holds the report alone.
func (a *app) progress() *progress {
	s := a.screen(a.err)
	every := heartbeat
	if s.live {
		every = refresh
	}
	return startProgress(a.err, s, every)
}

// close wipes the live line.
func (p *progress) close() {
	close(p.quit)
	p.ended.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.screen.live {
		p.rewrite("")
	}
}

// event takes what a run tells.
func (p *progress) event(e check.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Finished == nil {
		p.running = e.Case
		return
	}
	cs := e.Finished.Case
	switch cs.Verdict {
	case report.Fail:
		p.broken++
		p.say("broken", cs.ID, claimsOf(e.Finished))
	case report.Inconclusive, report.Error:
		p.open++
		p.say(string(cs.Verdict), cs.ID, cs.Note)
	}
	p.status = fmt.Sprintf("%d of %d cases, %d requests, %d broken", e.Done, e.Total, e.Requests, p.broken)
	if p.open > 0 {
		p.status += fmt.Sprintf(", %d inconclusive", p.open)
	}
}

// server takes what a matrix tells: one of its servers has been judged.
func (p *progress) server(done, total int, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = fmt.Sprintf("%d of %d servers judged", done, total)
	p.running = id
}

// say prints a line about a finished case where lines stay.
func (p *progress) say(what, id, more string) {
	if !p.screen.live {
		fmt.Fprintf(p.w, "%-12s  %s  %s\n", what, report.Clean(id), report.Clean(more))
	}
}

func claimsOf(o *check.Outcome) string {
	var ids []string
	for _, f := range o.Findings {
		ids = append(ids, f.Claim)
	}
	return strings.Join(ids, ", ")
}

func (p *progress) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := strings.TrimSpace(fmt.Sprintf("%s  %s", time.Since(p.began).Round(time.Second), p.status))
	if !p.screen.live {
		fmt.Fprintln(p.w, line)
		return
	}
	if p.running != "" {
		line += "  " + report.Clean(p.running)
	}
	p.rewrite(line)
}

// rewrite replaces the live line. Blanks wipe the rest of the old one: every terminal knows them.
func (p *progress) rewrite(line string) {
	line = report.Cut(line, p.screen.width(80)-1) // a full line would wrap and stay
	n := utf8.RuneCountInString(line)
	fmt.Fprintf(p.w, "\r%s%s\r%s", line, strings.Repeat(" ", max(0, p.shown-n)), line)
	p.shown = n
}
