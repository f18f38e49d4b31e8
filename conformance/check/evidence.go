package check

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"assay.kit/conformance/wire"
)

const (
	mostExchanges = 120      // of one finding; a longer flow keeps its beginning and its end
	mostBody      = 64 << 10 // bytes of one body in a finding
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

// slim cuts bodies that nobody reads in a report; how much is missing stays with them.
func slim(ex wire.Exchange) wire.Exchange {
	if n := len(ex.Req.Body); n > mostBody {
		ex.Req.Body, ex.Req.Left = ex.Req.Body[:mostBody], n-mostBody
	}
	events := append([]wire.Event{}, ex.Events...)
	for i, e := range events {
		if n := len(e.Data); n > mostBody {
			events[i].Data, events[i].Left = e.Data[:mostBody], n-mostBody
		}
	}
	if ex.Events != nil {
		ex.Events = events
	}
	return ex
}

// shows reports whether a finding's text quotes this answer: its status, and the beginning of its body.
func shows(ex wire.Exchange, actual string) bool {
	body := string(ex.Body())
	return ex.Head.Status != 0 && strings.Contains(actual, strings.TrimSpace(strconv.Itoa(ex.Head.Status)+" "+body[:min(len(body), 40)]))
}
