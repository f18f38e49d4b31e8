package suite

import (
	"cmp"
	"context"
	"fmt"

	"assay.kit/conformance/check"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

func collectionsEnvelope(_ context.Context, t *check.T, s check.Subject) {
	f := source(t, s, "primary", 2)
	ex := t.Call("primary", f.list.request(""))
	if ex.Status() != 200 {
		t.Must("collections.envelope", false, "a page", describe(ex))
	}
	c := s.Op.Collection
	body, err := bodyOf(ex)
	t.Must("collections.envelope", err == nil, "JSON", fmt.Sprint(err))
	items, _ := tree.Get(body, c.Items)
	list, isList := items.([]any)
	t.Must("collections.envelope", isList, "an array at "+string(c.Items), describe(ex))
	next, found := tree.Get(body, c.Next)
	_, isText := next.(string)
	t.Judge("collections.envelope", isText || next == nil && (found || c.End == "absent"),
		"a text at "+string(c.Next)+", or the mark of the end ("+c.End+")", string(encode(next)))
	if a := s.Op.Answers[200]; a != nil && a.Schema != nil {
		for _, v := range a.Schema.Validate(body) {
			t.Judge("collections.envelope", false, "a page that fits its schema", fmt.Sprintf("%s: %s (%s)", v.Instance, v.Message, v.Keyword))
			break
		}
	}
	p, _ := f.list.parse(ex)
	for i, id := range p.ids {
		t.Judge("collections.ids", id != "", "an id at "+string(c.ID), string(encode(list[i])))
	}
	t.Judge("collections.ids", len(unique(p.ids)) == len(p.ids), "each id once", listed(p.ids))
}

// wrongSize is a page size that is no legal one.
type wrongSize struct {
	text  string
	bound int  // the nearest bound of an integer; 0: none is told
	typed bool // it is an integer
}

func wrongSizes(l *spec.PageLimit) []wrongSize {
	return []wrongSize{
		{text(l.Min - 1), l.Min, true}, {text(l.Max + 1), l.Max, true}, {text(-1), l.Min, true}, {text(l.Max * 1000), l.Max, true},
		{text(1<<32 + l.Min + 4), l.Max, true}, // what is left of it in 32 bits is legal
		{"99999999999999999999", 0, true}, {"0x" + text(l.Min+4), 0, false}, {"1.5", 0, false}, {"ten", 0, false}, {text(l.Min) + "x", 0, false},
	}
}

func collectionsLimits(_ context.Context, t *check.T, s check.Subject) {
	lim := s.Op.Collection.Limit
	f := source(t, s, "primary", wantedFor(s))
	for _, n := range []int{lim.Min, min(lim.Min+1, lim.Max), lim.Max} {
		at := f.list.sized(n)
		p, why := at.parse(t.Call("primary", at.request("")))
		if t.Judge("collections.limit-accepted", why == "", "a page for "+lim.Param+"="+text(n), describe(p.ex)) {
			judgeSize(t, "collections.page-size", p, n)
			t.Judge("collections.complete", p.next != "" || len(p.items) > n || len(missing(f.ids(), p.ids)) == 0,
				fmt.Sprintf("a cursor on a page of %d that lacks items which are there", n), "the mark of the end")
		}
	}
	p, why := f.list.parse(t.Call("primary", f.list.request("")))
	if why != "" {
		t.Inconclusive("%s gave no page: %s", s.Op.ID, why)
	}
	judgeSize(t, "collections.default-size", p, lim.Default)
	for _, w := range wrongSizes(lim) {
		ex := t.Call("primary", f.list.at(lim.Param, w.text).request(""))
		if lim.OutOfRange == "clamp" {
			judgeClamped(t, f, w, ex)
		} else {
			t.Judge("collections.limit-rejected", invalidParameter(t, ex), "a refusal of "+lim.Param+"="+w.text+": "+wantedParameter(t), describe(ex))
		}
	}
	// Whether no text is a value or no parameter at all, is read both ways.
	ex := t.Call("primary", f.list.at(lim.Param, "").request(""))
	p, why = f.list.parse(ex)
	claim := map[bool]string{true: "collections.limit-clamped", false: "collections.limit-rejected"}[lim.OutOfRange == "clamp"]
	t.Judge(claim, rejected(ex) || why == "" && len(p.items) <= lim.Default, "a refusal of an empty "+lim.Param+", or the default size", describe(ex))
}

// wantedFor is how many items a collection needs, so that a page that is too long would show. Jobs
// are too dear for that.
func wantedFor(s check.Subject) int {
	lim := s.Op.Collection.Limit
	switch {
	case s.Other == nil || s.Other.Job != nil:
		return 2
	case lim.OutOfRange == "clamp" && lim.Max < 60:
		return lim.Max + 1
	case lim.Default < 40:
		return lim.Default + 1
	default:
		return 3
	}
}

func judgeSize(t *check.T, claim string, p page, most int) {
	t.Judge(claim, len(p.items) <= most, fmt.Sprintf("at most %d items", most), fmt.Sprintf("%d items", len(p.items)))
}

// judgeClamped judges what a page size out of its bounds, or one that is no integer, is taken for:
// clamping speaks of integers only, and an integer that no machine holds may be refused.
func judgeClamped(t *check.T, f *feeder, w wrongSize, ex wire.Exchange) {
	const claim = "collections.limit-clamped"
	lim := f.list.op.Collection.Limit
	if !w.typed {
		t.Judge("collections.limit-type", invalidParameter(t, ex), "a refusal of "+lim.Param+"="+w.text+": "+wantedParameter(t), describe(ex))
		return
	}
	p, why := f.list.parse(ex)
	switch {
	case why != "":
		t.Judge(claim, w.bound == 0 && rejected(ex), "a page for "+lim.Param+"="+w.text, describe(ex))
	case w.bound > 0 && len(f.items) >= w.bound:
		t.Judge(claim, len(p.items) == w.bound, fmt.Sprintf("%d items for %s=%s, as for the nearest bound", w.bound, lim.Param, w.text), fmt.Sprintf("%d items", len(p.items)))
	default:
		judgeSize(t, claim, p, cmp.Or(w.bound, lim.Max))
	}
}

// invalidParameter reports the contract's refusal of a bad parameter; without one, any that says so.
func invalidParameter(t *check.T, ex wire.Exchange) bool {
	want, ok := t.Contract().Doc.Codes["invalid_parameter"]
	if !ok {
		return ex.Status() == 400 || ex.Status() == 422
	}
	return refused(t, ex, want)
}

func wantedParameter(t *check.T) string {
	if want, ok := t.Contract().Doc.Codes["invalid_parameter"]; ok {
		return wanted(want)
	}
	return "status 400 or 422"
}
