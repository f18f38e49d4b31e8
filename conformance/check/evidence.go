package check

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay.kit/conformance/report"
	"assay.kit/conformance/wire"
)

// What a run holds on to is bounded, because a target decides how large its answers are.
const (
	mostExchanges = 120       // of one finding; a longer flow keeps its beginning and its end
	mostBody      = 64 << 10  // bytes of one body in a finding
	leastBody     = 1 << 10   // of one body where there is much else
	mostEvidence  = 256 << 10 // bytes of the bodies of one finding
	mostKept      = 32 << 20  // of all findings together, before they keep no more than the least
	mostWhole     = 4 << 20   // of one attempt, before its later answers lose more than mostBody
	mostHeld      = 16 << 20  // of one attempt, before its later answers lose more than leastBody
	mostFields    = 64        // header fields of one answer
	mostValue     = 4 << 10   // bytes of a field, and of a text
	mostTarget    = 16 << 10
)

// evidence puts a flow in order of sending (lanes record what ended first), and keeps the beginning and
// the end of a long one, so that a report stays a file that can be opened.
func evidence(exs []wire.Exchange) []wire.Exchange {
	exs = slices.Clone(exs)
	slices.SortStableFunc(exs, func(a, b wire.Exchange) int { return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Seq, b.Seq)) })
	if len(exs) <= mostExchanges {
		return exs
	}
	const head = 20
	return append(append([]wire.Exchange{}, exs[:head]...), exs[len(exs)-mostExchanges+head:]...)
}

// room is how much of each body a finding with so many exchanges may keep.
func (r *runner) room(exchanges int) int {
	if r.kept.Load() > mostKept {
		return leastBody
	}
	return max(leastBody, min(mostBody, mostEvidence/max(exchanges, 1)))
}

// slim cuts what nobody reads in a report; how much is missing stays with it. What it returns holds
// on to nothing of what it cut.
func slim(ex wire.Exchange, body int) wire.Exchange {
	ex.Req.Target, ex.Err = brief(ex.Req.Target, mostTarget), brief(ex.Err, mostValue)
	if n := len(ex.Req.Body); n > body {
		ex.Req.Body, ex.Req.Left = bytes.Clone(ex.Req.Body[:body]), n-body
	}
	if ex.Events != nil {
		ex.Events = append([]wire.Event{}, ex.Events...)
	}
	for i, e := range ex.Events {
		if n := len(e.Data); n > body {
			ex.Events[i].Data, ex.Events[i].Left = bytes.Clone(e.Data[:body]), e.Left+n-body
		}
	}
	if fields := ex.Head.Fields; len(fields) > 0 {
		kept := append([]wire.Field{}, fields[:min(len(fields), mostFields)]...)
		for i := range kept {
			kept[i].Name, kept[i].Value = brief(kept[i].Name, mostValue), brief(kept[i].Value, mostValue)
		}
		if left := len(fields) - mostFields; left > 0 {
			kept = append(kept, wire.Field{Name: "…", Value: fmt.Sprintf("%d more fields", left)})
		}
		ex.Head.Fields = kept
	}
	return ex
}

// brief cuts a text; the mark says that something is missing.
func brief(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.Clone(strings.ToValidUTF8(s[:most], "")) + "…"
}

// weight is about how many bytes an exchange holds on to.
func weight(ex wire.Exchange) int {
	n := len(ex.Req.Body) + len(ex.Req.Target) + len(ex.Err)
	for _, f := range ex.Head.Fields {
		n += len(f.Name) + len(f.Value) + 32
	}
	for _, e := range ex.Events {
		n += len(e.Data)
	}
	return n
}

// weigh is about how many bytes a finding holds on to.
func weigh(f report.Finding) int {
	n := 0
	for i := range f.Exchanges {
		n += weight(f.Exchanges[i])
	}
	for _, c := range f.Curl {
		n += len(c)
	}
	return n
}

// record keeps an exchange of the attempt: whole, until there is too much of it.
func (a *attempt) record(ex wire.Exchange) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held += weight(ex)
	switch {
	case a.held > mostHeld:
		ex = slim(ex, leastBody)
	case a.held > mostWhole:
		ex = slim(ex, mostBody)
	}
	a.exchanges = append(a.exchanges, ex)
}

// shows reports whether a finding's text quotes this answer: its status, and the beginning of its body.
func shows(ex wire.Exchange, actual string) bool {
	body := ex.Body()
	return ex.Head.Status != 0 && strings.Contains(actual, strings.TrimSpace(strconv.Itoa(ex.Head.Status)+" "+string(body[:min(len(body), 40)])))
}
