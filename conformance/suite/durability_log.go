package suite

import (
	"context"
	"fmt"

	"assay.kit/conformance/check"
)

func runDurableLog(_ context.Context, t *check.T, s check.Subject) {
	m := machineIn(t.Contract(), s.Op)
	all := courses(t, s, m)
	if len(all) == 0 {
		return
	}
	c := all[0]
	ids := func() (out []string) {
		log, ok := entries(t, m, c.id, c.view)
		if !ok {
			t.NoneApply(tooLong)
		}
		for _, e := range log {
			out = append(out, e.id)
		}
		return out
	}
	before := ids()
	restart(t)
	after := ids()
	t.Judge("durability.events", len(after) == len(before) && len(missing(before, after)) == 0,
		fmt.Sprintf("the %d events of %s %s: %q", len(before), m.Resource, c.id, before), fmt.Sprintf("%d: %q", len(after), after))
}
