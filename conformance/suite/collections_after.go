package suite

import (
	"strings"
	"time"

	"assay.kit/conformance/check"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// shownAt is an item of the case and the instant that it shows.
type shownAt struct {
	id string
	at time.Time
}

// judgeBound walks with a lower bound that an item of the case shows, and with those one step before
// and after it. A step is the last digit that any of them shows: however the target rounds, what
// shows a later instant is later. Instants shown to less than a microsecond may stand for finer ones
// behind them, so there an item at the bound itself may be in or out.
func judgeBound(t *check.T, f *feeder, fl spec.Filter, views []any) {
	const claim = "collections.filter-bound"
	items, step := instants(f, fl, views)
	if len(items) == 0 {
		t.NotApplicable(claim, "no item of the case shows an instant at "+string(fl.Member))
		return
	}
	middle := items[len(items)/2].at
	for i, bound := range []time.Time{middle, middle.Add(-step), middle.Add(step)} {
		cd := conditionAfter(fl, bound, items, step > time.Microsecond)
		ways := orders(f.list.op.Collection)
		if i > 0 {
			ways = ways[:1]
		}
		for _, v := range ways {
			judgeWalkAfter(t, claim, f, v, cd)
		}
	}
}

// instants are the items of the case that show an instant, and the step of the finest of them.
func instants(f *feeder, fl spec.Filter, views []any) (items []shownAt, step time.Duration) {
	step = time.Second
	for i, v := range views {
		m, _ := tree.Get(v, fl.Member)
		shown, _ := m.(string)
		at, err := time.Parse(time.RFC3339Nano, shown)
		if err != nil {
			continue
		}
		items = append(items, shownAt{f.items[i].id, at})
		step = min(step, lastDigit(shown))
	}
	return items, step
}

// lastDigit is what one unit of the last digit of an instant is worth, at least a nanosecond.
func lastDigit(shown string) time.Duration {
	_, fraction, _ := strings.Cut(shown, ".")
	step := time.Second
	for _, c := range fraction {
		if c < '0' || c > '9' || step == 1 {
			break
		}
		step /= 10
	}
	return step
}

// conditionAfter is a lower bound and which items meet it; rounded leaves out those that show the
// bound itself.
func conditionAfter(fl spec.Filter, bound time.Time, items []shownAt, rounded bool) condition {
	cd := condition{fl: fl, value: bound.Format(time.RFC3339Nano), meets: func(m any) bool {
		shown, _ := m.(string)
		at, err := time.Parse(time.RFC3339Nano, shown)
		return err != nil || at.After(bound) || rounded && at.Equal(bound)
	}}
	for _, it := range items {
		switch {
		case it.at.After(bound):
			cd.in = append(cd.in, it.id)
		case !rounded || it.at.Before(bound):
			cd.out = append(cd.out, it.id)
		}
	}
	return cd
}

// judgeWalkAfter walks under a lower bound: whatever it holds shows a later instant, whosever it is,
// and it holds all items of the case that do.
func judgeWalkAfter(t *check.T, claim string, f *feeder, v *spec.OrderValue, cd condition) {
	tr := f.list.at(cd.fl.Param, cd.value).follow(t, v, constant(0), f.enough(), nil)
	if tr.why != "" {
		t.Judge(claim, false, "a walk under "+cd.String(), describe(tr.broken))
		return
	}
	for _, p := range tr.pages {
		for i, it := range p.items {
			if m, ok := tree.Get(it, cd.fl.Member); ok && m != nil {
				t.Judge(claim, cd.meets(m), "items later than "+cd.value+", which is itself excluded", p.ids[i]+" with "+string(cd.fl.Member)+" "+text(m))
			}
		}
	}
	if tr.over || f.exclusive {
		judgeMembers(t, claim, tr, cd)
	}
}
