package mutant

import (
	"context"

	"assay.kit/reference/core"
)

// preparing changes a copy of the request for a Prepare.
func preparing(then func(context.Context, core.System, *core.Request) (any, *core.Problem), change func(*core.Request)) func(context.Context, core.System, *core.Request) (any, *core.Problem) {
	return func(ctx context.Context, sys core.System, r *core.Request) (any, *core.Problem) {
		own := *r
		change(&own)
		return then(ctx, sys, &own)
	}
}

// applied is what an operation's Apply does.
type applied = func(sys core.System, w core.Writer, r *core.Request, plan any) (core.Answer, *core.Problem)

// apply puts another Apply in the place of an operation's; it may call the one before.
func apply(all map[string]core.Behaviour, op string, change func(then applied) applied) {
	b := all[op]
	if b.Apply != nil {
		b.Apply = change(b.Apply)
		all[op] = b
	}
}

// rewrite changes a stored resource without regard to its machine.
func rewrite(w core.Writer, kind, id string, change func(res *core.Resource, body map[string]any)) {
	res, err := w.Resource(kind, id)
	if err != nil {
		return
	}
	body := decoded(res.Body)
	change(&res, body)
	res.Body = encode(body)
	_ = w.Replace(res) // an error of the store shows in whatever follows
}

// forced sets the state of a stored resource.
func forced(w core.Writer, kind, id, state string) {
	rewrite(w, kind, id, func(res *core.Resource, body map[string]any) { res.State, body["state"] = state, state })
}
