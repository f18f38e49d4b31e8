package conformance

import (
	"context"
	"fmt"
	"sync"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
)

// tally counts answers by status, to tell a run that never got anywhere from one that judged.
type tally struct {
	check.Caller
	mu      sync.Mutex
	total   int
	byFirst map[int]int // status / 100
	status  map[int]int
}

func newTally(c check.Caller) *tally {
	return &tally{Caller: c, byFirst: map[int]int{}, status: map[int]int{}}
}

// Do implements check.Caller. Only the primary credential counts: others are refused on purpose.
func (t *tally) Do(ctx context.Context, role string, rq wire.Request, o target.Call) wire.Exchange {
	ex := t.Caller.Do(ctx, role, rq, o)
	if role == string(target.Primary) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.total++
		t.byFirst[ex.Head.Status/100]++
		t.status[ex.Head.Status]++
	}
	return ex
}

// warnings say what a reader should know before believing the verdicts, each with what to do.
func (t *tally) warnings() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	often := func(status int, tip string) {
		if n := t.status[status]; t.total > 0 && n*10 >= t.total*9 {
			out = append(out, fmt.Sprintf("%d of %d requests were answered %d: %s", n, t.total, status, tip))
		}
	}
	often(401, "the target does not take the primary credential; check the token and its audience")
	often(403, "the primary credential may do almost nothing; check its scopes")
	often(404, "the target knows almost none of these paths; check base_url, and whether it serves this contract at all")
	often(429, "the target lets almost nothing through; lower --rate or --jobs")
	if t.byFirst[2] == 0 && t.total > 0 && len(out) == 0 {
		out = append(out, fmt.Sprintf("none of %d requests was answered with a 2xx: nothing of what the contract promises was reached", t.total))
	}
	return out
}
