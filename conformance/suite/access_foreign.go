package suite

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

const otherWorkspace = string(target.SecondWorkspace)

// selectNaming gives the operations that name a resource which somebody owns.
func selectNaming(c *spec.Contract) []check.Subject {
	return only(subjects(c.Ops), func(s check.Subject) bool { return len(ownedRefs(c, s.Op)) > 0 })
}

// ownedRefs are the references of an operation to types that the contract makes or lists, as far as
// the caller does not choose their ids.
func ownedRefs(c *spec.Contract, op *spec.Operation) []spec.Ref {
	var out []spec.Ref
	for _, ref := range op.Refs {
		if ref.Free || ref.In == "query" || strings.Contains(string(ref.Pointer), "*") || !ownable(c, ref.Resource) {
			continue
		}
		out = append(out, ref)
	}
	return out
}

// ownable reports whether a type of resource is made, or read under an access rule.
func ownable(c *spec.Contract, resource string) bool {
	if read := readerOf(c, resource); read != nil && read.Access != nil {
		return true
	}
	return slices.ContainsFunc(c.Ops, func(op *spec.Operation) bool { return op.Creates != nil && op.Creates.Resource == resource })
}

// foreignAnswer is how the contract answers for a resource of another workspace.
func foreignAnswer(c *spec.Contract, op *spec.Operation) spec.Refusal {
	kind, status := "not_found", http.StatusNotFound
	if op.Access != nil && op.Access.Foreign == "forbidden" {
		kind, status = "forbidden", http.StatusForbidden
	}
	if r, ok := c.Doc.Codes[kind]; ok {
		return r
	}
	return spec.Refusal{Status: status}
}

func followsAccess(s check.Subject) bool {
	return s.Op.Access != nil && s.Op.Access.Follows != "" && s.Op.Collection == nil
}

func hidesForeign(s check.Subject) bool {
	return s.Op.Access == nil || s.Op.Access.Foreign != "forbidden"
}

func runForeign(_ context.Context, t *check.T, s check.Subject) {
	judgeAlive(t, otherWorkspace)
	mine := buildIntent(t, s.Op, primary, ownedBy(t, s.Op), 0)
	if s.Op.Method == http.MethodGet {
		if ex := t.Call(primary, mine.request()); !admitted(ex) {
			t.Inconclusive("its own workspace was answered %s, so a refusal to another would prove nothing", describe(ex))
		}
	}
	tried := 0
	for _, ref := range ownedRefs(t.Contract(), s.Op) {
		if judgeForeignRef(t, s, mine, ref) {
			tried++
		}
	}
	if tried == 0 {
		t.NoneApply("what it names is shared by the workspaces, or cannot be made")
	}
	if tried > 0 && hasEffect(s) && pathRef(s.Op) != nil {
		(&door{op: s.Op, in: mine}).judgeUnmoved(t, "access.foreign-harmless")
		judgeForeignCancel(t, s.Op)
	} else {
		t.NotApplicable("access.foreign-harmless", "it makes something new, and was refused")
	}
}

// judgeForeignCancel tries to cancel jobs of another workspace until one is active when that comes,
// a few times at most.
func judgeForeignCancel(t *check.T, cancel *spec.Operation) {
	i := slices.IndexFunc(t.Contract().Ops, func(op *spec.Operation) bool { return op.Job != nil && op.Job.Cancel == cancel.ID })
	if i < 0 {
		return
	}
	job := t.Contract().Ops[i]
	m := machineOf(t.Contract(), job)
	for range 4 {
		in := buildIntent(t, cancel, primary, map[string]string{}, 0)
		t.Call(otherWorkspace, in.as(otherWorkspace).request())
		ex := t.Call(primary, reading(t, t.Contract().Op(job.Job.Read), primary, in.path[lastParam(cancel)]))
		state := member(ex, job.Job.State)
		if !t.Judge("access.foreign-harmless", admitted(ex) && state != job.Job.Cancelled, "a job that another workspace has not cancelled", describe(ex)) || !m.IsTerminal(state) {
			return
		}
	}
}

// ownedBy makes a resource for each reference where that takes no job, so that it is surely nobody
// else's, and finds a result where a job makes it.
func ownedBy(t *check.T, op *spec.Operation) map[string]string {
	made := existing(t, op, primary)
	if op.Moves != nil {
		return made // what it moves is made on the way
	}
	for _, ref := range ownedRefs(t.Contract(), op) {
		maker := makerOf(t.Contract(), ref.Resource)
		if made[ref.Resource] == "" && maker != nil && !t.Profile().IsAbsent(maker.ID) && maker.Effect != spec.EffectFinancial {
			made[ref.Resource] = make1(t, maker, primary, map[string]string{}, 0)
		}
	}
	return made
}

// judgeForeignRef names the resource of one reference as another workspace; ok is false where that
// says nothing.
func judgeForeignRef(t *check.T, s check.Subject, mine intent, ref spec.Ref) (ok bool) {
	var id string
	var naming func(id string) intent
	if ref.In == "path" {
		id = mine.path[ref.Name]
		naming = func(id string) intent { return mine.as(otherWorkspace).renamed(ref.Name, id) }
	} else {
		v, there := tree.Get(mine.body, ref.Pointer)
		if !there || text(v) == "" {
			return false
		}
		id = text(v)
		theirs := buildIntent(t, s.Op, otherWorkspace, map[string]string{}, 0)
		if own, _ := tree.Get(theirs.body, ref.Pointer); text(own) == id {
			return false // what the other workspace is offered too is not foreign to it
		}
		naming = func(id string) intent {
			body := clone(theirs.body)
			set(body, ref.Pointer, id)
			return theirs.with(body)
		}
	}
	if offered(t, ref, id) || sharedID(t, ref.Resource, id) {
		return false
	}
	send := func(id string) wire.Exchange {
		in := naming(id)
		if s.Op.Idempotency != nil {
			in = in.keyed(t.Key())
		}
		free := jobSlotFor(t, s.Op)
		defer free()
		ex := t.Call(otherWorkspace, in.request())
		if job := s.Op.Job; job != nil && ex.Status() == job.Accepted {
			awaited(t, in, jobID(s.Op, ex)) // it should not have been admitted
		}
		return ex
	}
	what := fmt.Sprintf("for %s %s of another workspace", ref.Resource, id)
	never := []string{unlike(id, 3), unlike(id, 11)}
	foreign, unknown := [2]wire.Exchange{}, [2]wire.Exchange{}
	for i := range 2 { // in turn, so that what only changes with time is no difference
		foreign[i], unknown[i] = send(id), send(never[i])
	}
	want := foreignAnswer(t.Contract(), s.Op)
	if s.Op.Collection != nil && s.Op.Access == nil && admitted(unknown[0]) {
		return false // a collection that is empty for a parent that never was; access.foreign-list judges it
	}
	t.Judge("access.foreign", rejected(foreign[0]), "a refusal "+what, describe(foreign[0]))
	t.Judge("access.foreign-code", refused(t, foreign[0], want), wanted(want)+" "+what, describe(foreign[0]))
	if followsAccess(s) {
		t.Judge("access.follows", rejected(foreign[0]), "a refusal "+what+", whose "+s.Op.Access.Follows+" is as foreign", describe(foreign[0]))
	}
	if hidesForeign(s) {
		diff := tellsApart(t.Contract(), foreign, unknown, append([]string{id}, never...))
		t.Judge("access.oracle", diff == "", "the answer that an id gets which never was: "+describe(unknown[0]), diff)
	}
	return true
}

// offered reports whether another workspace is told the same id where this one was: a default that
// all share. A collection does not tell: to be shown another's thing there is the fault itself.
func offered(t *check.T, ref spec.Ref, id string) bool {
	from := t.Contract().Op(ref.From)
	if from == nil || from.Collection != nil || from.Creates != nil || strings.Contains(from.Path, "{") || t.Profile().IsAbsent(from.ID) {
		return false
	}
	own, _ := tree.Get(decoded(t.Call(otherWorkspace, buildIntent(t, from, otherWorkspace, map[string]string{}, 0).request())), ref.At)
	return text(own) == id
}

// sharedID reports whether another workspace is itself shown a thing that we did not make: a manifest
// or a default that all have.
func sharedID(t *check.T, resource, id string) bool {
	if madeByCallers(t.Contract(), resource) {
		return false
	}
	for _, op := range t.Contract().Ops {
		if op.Collection == nil || op.Collection.Resource != resource || strings.Contains(op.Path, "{") || t.Profile().IsAbsent(op.ID) {
			continue
		}
		l := listing{op: op, role: otherWorkspace, query: newIntent(t, op, otherWorkspace).query}
		for _, p := range l.sized(maxSize(op)).follow(t, nil, constant(maxSize(op)), 10, nil).pages {
			if slices.Contains(p.ids, id) {
				return true
			}
		}
	}
	return false
}

// madeByCallers reports whether things of a type come of a creation or its job: they are somebody's.
func madeByCallers(c *spec.Contract, resource string) bool {
	return slices.ContainsFunc(c.Ops, func(op *spec.Operation) bool {
		return op.Creates != nil && op.Creates.Resource == resource ||
			op.Job != nil && op.Job.Artifact != "" && c.Op(op.Job.Artifact) != nil && pathRef(c.Op(op.Job.Artifact)) != nil &&
				pathRef(c.Op(op.Job.Artifact)).Resource == resource
	})
}

func maxSize(op *spec.Operation) int {
	if op.Collection.Limit == nil {
		return 0
	}
	return op.Collection.Limit.Max
}

// selectShowing gives the collections, each with a creation that it shows, of whatever effect.
func selectShowing(c *spec.Contract) []check.Subject {
	out := selectCollections(c)
	for i, s := range out {
		for _, op := range c.Ops {
			if s.Other == nil && out[i].Other == nil && op.Creates != nil && op.Creates.List == s.Op.ID && op.Moves == nil {
				out[i].Other = op
			}
		}
	}
	return out
}

func runForeignList(_ context.Context, t *check.T, s check.Subject) {
	const claim = "access.foreign-list"
	f, marks, shown := shownThings(t, s)
	if len(marks) == 0 {
		t.NotApplicable(claim, "nothing that the collection shows can be made here")
		return
	}
	judgeAlive(t, otherWorkspace)
	views := []listing{f.list}
	for _, fl := range s.Op.Collection.Filters {
		if fl.Match != "equal" {
			continue
		}
		for _, it := range shown {
			if v, ok := tree.Get(it, fl.Member); ok && v != nil && text(v) != "" {
				views = append(views, f.list.at(fl.Param, text(v)))
				break
			}
		}
	}
	for _, v := range foreignViews(t, s, f, views) {
		tr := v.list.follow(t, nil, constant(v.size), v.pages, nil)
		if len(tr.pages) == 0 {
			t.Judge(claim, rejected(tr.broken), "an empty page or a refusal", describe(tr.broken))
			continue
		}
		for _, p := range tr.pages {
			for i, it := range p.items {
				found := slices.IndexFunc(marks, func(m string) bool { return p.ids[i] == m || holdsText(it, m) })
				if found >= 0 {
					t.Judge(claim, false, "nothing of another workspace's "+marks[found], s.Op.Path+" shows "+p.ids[i])
				}
			}
		}
		t.Judge(claim, true, "", "")
	}
}

// foreignView is a listing of another workspace, and how it is walked.
type foreignView struct {
	list        listing
	size, pages int
}

// foreignViews are the listings as the other workspace asks for them, in long pages, and its own items
// one a page: what is forgotten after the first page shows there.
func foreignViews(t *check.T, s check.Subject, f *feeder, views []listing) []foreignView {
	const some = 5 // pages
	var out []foreignView
	for _, l := range views {
		l.role = otherWorkspace
		out = append(out, foreignView{l, maxSize(s.Op), 40})
	}
	own := f.list
	if own.role = otherWorkspace; len(f.ways) > 0 {
		theirs := newFeeder(t, s.Op, otherWorkspace)
		for range 2 {
			if _, why := theirs.make(t, 0); why != "" {
				return out
			}
		}
		own = theirs.list
	}
	return append(out, foreignView{own, 1, some})
}

// shownThings fills a collection, or lets a job leave its traces in it. It says by which ids that can
// be recognised, and which items its own workspace is shown.
func shownThings(t *check.T, s check.Subject) (f *feeder, marks []string, shown []any) {
	f = newFeeder(t, s.Op, primary)
	switch {
	case len(f.ways) > 0:
		f.add(t, 2)
		marks = f.ids()
	case s.Other != nil:
		f.recent(t)
		marks = []string{make1(t, s.Other, primary, map[string]string{}, 0)}
	default:
		marks = traces(t)
		f.recent(t)
	}
	var seen []string // only what its own workspace is shown can leak
	for _, p := range f.list.follow(t, nil, constant(maxSize(s.Op)), 20, nil).pages {
		for i, it := range p.items {
			k := slices.IndexFunc(marks, func(m string) bool { return p.ids[i] == m || holdsText(it, m) })
			if k >= 0 {
				seen, shown = append(seen, marks[k]), append(shown, it)
			}
		}
	}
	return f, unique(seen), shown
}

// traces are the ids of a job that has ended and of its result.
func traces(t *check.T) []string {
	for _, op := range t.Contract().Ops {
		if op.Job == nil || t.Profile().IsAbsent(op.ID) {
			continue
		}
		e := background(t, op, primary)
		if e < 0 {
			continue
		}
		j := admit(t, op, primary, e)
		end := j.end(t)
		return slices.DeleteFunc([]string{j.id, member(end.ex, op.Job.Result)}, func(id string) bool { return id == "" })
	}
	return nil
}

// selectReaders are the operations that read one resource which can be made.
func selectReaders(c *spec.Contract) []check.Subject {
	var out []check.Subject
	for _, s := range only(subjects(c.Ops), func(s check.Subject) bool { return s.Op.Method == http.MethodGet && s.Op.Collection == nil }) {
		ref := pathRef(s.Op)
		if ref == nil || !madeByCallers(c, ref.Resource) {
			continue
		}
		if list := listShowing(c, s.Op); list != nil {
			s.Calls = append(s.Calls, list)
		}
		out = append(out, s)
	}
	return out
}

func runSameWorkspace(_ context.Context, t *check.T, s check.Subject) {
	role := string(target.SecondClient)
	in := buildIntent(t, s.Op, primary, existing(t, s.Op, primary), 0)
	settled(t, s.Op, in)
	first := t.Call(primary, in.request())
	if !admitted(first) {
		t.Inconclusive("the first client itself was answered %s", describe(first))
	}
	ex := t.Call(role, in.as(role).request())
	if t.Judge("access.same-workspace", admitted(ex), "200 for another client of the workspace", describe(ex)) {
		a, _ := bodyOf(first)
		b, _ := bodyOf(ex)
		diff := differences(t, s.Op, a, b)
		t.Judge("access.same-workspace", len(diff) == 0, "as the first client: "+describe(first), fmt.Sprintf("different at %v: %s", diff, describe(ex)))
	}
	id := in.path[lastParam(s.Op)]
	list := listShowing(t.Contract(), s.Op)
	if list == nil || t.Profile().IsAbsent(list.ID) {
		t.NotApplicable("access.same-workspace-list", "no collection shows it")
		return
	}
	view, _ := bodyOf(first)
	l := listing{op: list, role: role, path: map[string]string{}, query: newIntent(t, list, primary).query}
	for _, p := range list.Params {
		if p.In == "path" {
			if v, ok := tree.Get(view, tree.PointerTo(p.Name)); ok {
				l.path[p.Name] = text(v)
			} else {
				t.NotApplicable("access.same-workspace-list", "the resource does not show below which parent it is listed")
				return
			}
		}
	}
	tr, over := whole(t, l, []any{view})
	if !over {
		t.NotApplicable("access.same-workspace-list", tooLong)
		return
	}
	t.Judge("access.same-workspace-list", slices.Contains(tr.ids(), id), "item "+id, "no such item ("+tr.shape()+")")
}

// settled waits for a job that an intent reads, so that two reads of it are alike.
func settled(t *check.T, read *spec.Operation, in intent) {
	for _, op := range t.Contract().Ops {
		if op.Job != nil && op.Job.Read == read.ID {
			m := machineOf(t.Contract(), op)
			for p := newPacer(t); ; {
				ex := t.Call(in.role, in.request())
				if !admitted(ex) || m.IsTerminal(member(ex, op.Job.State)) {
					return
				}
				p.wait(t, ex)
			}
		}
	}
}

// selectFollowing are operations that begin a job whose result follows its access.
func selectFollowing(c *spec.Contract) []check.Subject {
	var out []check.Subject
	for _, op := range c.Ops {
		if op.Job == nil || c.Op(op.Job.Read) == nil {
			continue
		}
		result := c.Op(op.Job.Artifact)
		if result != nil && result.Access != nil && result.Access.Follows != "" {
			out = append(out, check.Subject{Name: op.ID, Op: op, Other: result, Calls: []*spec.Operation{c.Op(op.Job.Read)}})
		}
	}
	return out
}

func runFollows(_ context.Context, t *check.T, s check.Subject) {
	const claim = "access.follows"
	e := background(t, s.Op, primary)
	if e < 0 {
		t.NoneApply(s.Op.ID + " answers none of the contract's examples with a job")
		return
	}
	j := admit(t, s.Op, primary, e)
	end := j.end(t)
	result := member(end.ex, s.Op.Job.Result)
	if result == "" {
		t.Inconclusive("the job ended %s, without a result", end.state)
	}
	read := func() wire.Exchange { return t.Call(primary, reading(t, s.Other, primary, result)) }
	if ex := read(); !admitted(ex) {
		t.Inconclusive("the result was answered %s before anything was hidden", describe(ex))
	}
	t.Hook(target.HideItem, map[string]string{"kind": s.Other.Access.Follows, "id": j.id})
	want := foreignAnswer(t.Contract(), s.Other)
	if ex := t.Call(primary, reading(t, t.Contract().Op(s.Op.Job.Read), primary, j.id)); admitted(ex) {
		t.Inconclusive("the hook did not hide the job: %s", describe(ex))
	}
	ex := read()
	t.Judge(claim, refused(t, ex, want), wanted(want)+" for the result of a job that may not be read", describe(ex))
	list := listShowing(t.Contract(), s.Other)
	if list == nil || t.Profile().IsAbsent(list.ID) {
		return
	}
	if tr, ok := results(t, j.in, end.body); ok {
		t.Judge(claim, !slices.Contains(tr.ids(), result), "no result of a job that may not be read in "+list.ID, "result "+result)
	}
}
