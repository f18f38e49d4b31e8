package suite

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// bookmark is a cursor with what it should lead to.
type bookmark struct {
	list   listing // that it was given for, of the page size it was given with
	cursor string
	before []string // ids of the page before it
	rest   []string // ids from it on, in order
	whole  bool     // rest reaches the end
	after  page     // the page it leads to
}

// mark takes the cursor behind the first page of one item; ok is false if there is only one page.
func mark(t *check.T, l listing) (b bookmark, ok bool) {
	const most = 12 // pages of the rest; a shared collection may be long
	l = l.sized(1)
	first := l.read(t, "")
	if first.next == "" {
		return bookmark{}, false
	}
	b = bookmark{list: l, cursor: first.next, before: first.ids}
	b.after = l.read(t, first.next)
	b.rest = slices.Clone(b.after.ids)
	p := b.after
	for range most {
		if p.next == "" {
			b.whole = true
			break
		}
		p = l.read(t, p.next)
		b.rest = append(b.rest, p.ids...)
	}
	return b, true
}

// marked is mark for checks that have nothing to judge without a cursor.
func marked(t *check.T, l listing, claims ...string) (bookmark, bool) {
	b, ok := mark(t, l)
	if !ok {
		for _, c := range claims {
			t.NotApplicable(c, "the collection has no second page here")
		}
	}
	return b, ok
}

func collectionsBound(_ context.Context, t *check.T, s check.Subject) {
	f := source(t, s, "primary", 4)
	b, ok := marked(t, f.list, "collections.filters-bound", "collections.mismatch-refused")
	if !ok {
		return
	}
	c := s.Op.Collection
	tried := 0
	try := func(b bookmark, under listing, what string) {
		tried++
		under = under.sized(10) // more than one item, so that one which does not belong has room to show
		ex := t.Call("primary", under.request(b.cursor))
		t.Judge("collections.mismatch-refused", refused(t, ex, c.Invalid), wanted(c.Invalid)+" for a cursor "+what, describe(ex))
		judgeRest(t, under, b, ex, what)
	}
	for i, v := range orders(c) {
		// The default order asked for by name is no other order.
		if i > 0 && v.Value != c.Order.Default {
			try(b, b.list.ordered(v), "of the default order under "+c.Order.Param+"="+v.Value)
			if ob, ok := mark(t, f.list.ordered(v)); ok {
				try(ob, ob.list.without(c.Order.Param), "of "+c.Order.Param+"="+v.Value+" under the default order")
			}
		}
	}
	for _, fl := range c.Filters {
		if b.list.query.Has(fl.Param) { // the filter that the listing is narrowed by
			try(b, b.list.without(fl.Param), "of one "+fl.Param+" without the filter")
			if fl.Match == "equal" {
				try(b, b.list.at(fl.Param, b.list.query.Get(fl.Param)+"-b"), "of one "+fl.Param+" under another")
			}
			continue
		}
		value, ok := filterValue(t, f, fl)
		if !ok {
			continue
		}
		try(b, b.list.at(fl.Param, value), "without a filter under "+fl.Param+"="+value)
		if fb, ok := mark(t, f.list.at(fl.Param, value)); ok {
			try(fb, fb.list.without(fl.Param), "of "+fl.Param+"="+value+" without the filter")
		}
	}
	if under, ok := elsewhere(t, b.list); ok {
		try(b, under, "of one parent under another")
	}
	if tried == 0 {
		t.NotApplicable("collections.filters-bound", "the collection has neither filters nor orders nor parents")
		t.NotApplicable("collections.mismatch-refused", "the collection has neither filters nor orders nor parents")
	}
}

// judgeRest accepts a refusal, or what is left of the cursor's own walk, in its order.
func judgeRest(t *check.T, under listing, b bookmark, ex wire.Exchange, what string) {
	const claim = "collections.filters-bound"
	p, why := under.parse(ex)
	if why != "" {
		t.Judge(claim, rejected(ex), "a refusal, or what is left of the walk, for a cursor "+what, describe(ex))
		return
	}
	at := 0
	for _, id := range p.ids {
		i := slices.Index(b.rest[at:], id)
		if i < 0 && !b.whole && !slices.Contains(b.before, id) {
			break // beyond what was walked
		}
		if !t.Judge(claim, i >= 0, "only what is left of the walk, in its order, for a cursor "+what, "item "+id) {
			return
		}
		at += i + 1
	}
	t.Judge(claim, true, "", "")
}

// filterValue is a legal value for a filter: of an item that is there.
func filterValue(t *check.T, f *feeder, fl spec.Filter) (string, bool) {
	for _, it := range f.list.read(t, "").items {
		if m, ok := tree.Get(it, fl.Member); ok && m != nil {
			return text(m), true
		}
	}
	return "", false
}

// elsewhere is the same listing under another parent of the case's own.
func elsewhere(t *check.T, l listing) (listing, bool) {
	other := map[string]string{}
	moved := false
	var fresh intent
	for _, p := range l.op.Params {
		if p.In != "path" {
			continue
		}
		other[p.Name] = l.path[p.Name]
		_, given := t.Profile().Values[p.Name]
		if p.Ref == nil || given {
			continue
		}
		from := t.Contract().Op(p.Ref.From)
		switch {
		case p.Ref.Free:
			other[p.Name] = l.path[p.Name] + "-b"
		case from != nil && from.Creates != nil:
			if fresh.op == nil {
				fresh = newIntent(t, l.op, l.role)
			}
			other[p.Name] = fresh.path[p.Name]
		}
		moved = moved || other[p.Name] != l.path[p.Name]
	}
	l.path = other
	return l, moved
}

func collectionsPrincipal(_ context.Context, t *check.T, s check.Subject) {
	presentAs(t, s, string(target.SecondWorkspace), "collections.principal-bound")
}

func collectionsClient(_ context.Context, t *check.T, s check.Subject) {
	presentAs(t, s, string(target.SecondClient), "collections.client-bound")
}

// presentAs follows a cursor of the primary credential under another one.
func presentAs(t *check.T, s check.Subject, role, claim string) {
	f := source(t, s, "primary", 3)
	b, ok := marked(t, f.list, claim)
	if !ok {
		return
	}
	foreign := b.list
	foreign.role = role
	if ex := t.Call(role, foreign.request("")); ex.Status() == 401 || ex.Status() == 403 {
		t.Inconclusive("%s itself is refused to %s: %s", s.Op.ID, role, describe(ex))
	}
	ex := t.Call(role, foreign.request(b.cursor))
	ok = rejected(ex)
	for _, id := range append(slices.Clone(b.before), b.rest...) {
		ok = ok && !(len(id) > 3 && strings.Contains(string(ex.Body()), strconv.Quote(id)))
	}
	t.Judge(claim, ok, "a refusal without any item of primary's walk", describe(ex))
	// The cursor is as good as before where it belongs.
	again, why := b.list.parse(t.Call("primary", b.list.request(b.cursor)))
	t.Judge(claim, why == "" && slices.Equal(again.ids, b.after.ids), "the page of the first principal, as before", describe(again.ex))
}

func collectionsTamper(_ context.Context, t *check.T, s check.Subject) {
	f := source(t, s, "primary", 3)
	b, ok := marked(t, f.list, "collections.tamper", "collections.cursor-refusal")
	if !ok {
		return
	}
	for _, fake := range fakes(b.cursor) {
		judgeFake(t, b, fake.name, fake.cursor)
	}
	if other, of := foreignCursor(t, s.Op); other != "" && other != b.cursor {
		judgeFake(t, b, "of "+of, other)
	}
	judgeEmpty(t, b)
	t.Property(func(t *check.T) {
		runes := []byte(b.cursor)
		at := check.Draw(t, rapid.IntRange(0, len(runes)-1), "position")
		by := check.Draw(t, rapid.IntRange(1, len(alphabet)-1), "change")
		runes[at] = shifted(runes[at], by)
		ex := t.Call("primary", b.list.request(string(runes)))
		if p, why := b.list.parse(ex); why == "" && spare(b.cursor, at) && slices.Equal(p.ids, b.after.ids) {
			t.Judge("collections.tamper", true, "", "") // bits that carry nothing: the cursor is the same
			return
		}
		judgeRefusal(t, b, "changed in one character", ex)
	})
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// shifted is another letter or digit, by places further in the alphabet.
func shifted(c byte, by int) byte {
	i := max(0, strings.IndexByte(alphabet, c))
	for {
		// Another letter, not another case: hexadecimal and base32 have two spellings of each.
		if out := alphabet[(i+by)%len(alphabet)]; !strings.EqualFold(string(out), string(c)) {
			return out
		}
		i++
	}
}

// spare reports whether the character at a position may hold bits that no byte uses: the last of a
// run of base64 (RFC 4648 §3.5).
func spare(cursor string, at int) bool {
	rest := strings.TrimRight(cursor[at+1:], "=")
	return rest == "" || strings.ContainsRune(".~:|,", rune(rest[0]))
}

type fake struct{ name, cursor string }

// fakes are cursors made from a good one, none of which says the same, and some from nothing.
func fakes(good string) []fake {
	out := []fake{
		{"cut in the middle", good[:(len(good)+1)/2]},
		{"twice over", good + good},
		{"encoded once more", base64.RawURLEncoding.EncodeToString([]byte(good))},
		{"backwards", backwards(good)},
		{"made up", "assay"},
		{"that is a number", "2"},
		{"that is JSON", `{"offset":1}`},
		{"that is an encoded offset", base64.StdEncoding.EncodeToString([]byte(`{"offset":1}`))},
		{"with letters of another alphabet", "курсор"},
		{"with a zero byte", "\x00"},
		{"of 6000 characters", strings.Repeat("A", 6000)},
	}
	return slices.DeleteFunc(out, func(f fake) bool { return f.cursor == good || f.cursor == "" })
}

func backwards(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func judgeFake(t *check.T, b bookmark, name, cursor string) {
	judgeRefusal(t, b, name, t.Call("primary", b.list.request(cursor)))
}

func judgeRefusal(t *check.T, b bookmark, name string, ex wire.Exchange) {
	t.Judge("collections.tamper", rejected(ex), "4xx for a cursor "+name, describe(ex))
	if rejected(ex) {
		t.Judge("collections.cursor-refusal", refused(t, ex, b.list.op.Collection.Invalid) || invalidParameter(t, ex),
			wanted(b.list.op.Collection.Invalid)+" for a cursor "+name, describe(ex))
	}
}

// judgeEmpty: an empty cursor may be no cursor at all, unless the contract gives it a least length.
func judgeEmpty(t *check.T, b bookmark) {
	at := b.list.at(b.list.op.Collection.Cursor.Name, "")
	ex := t.Call("primary", at.request(""))
	for _, p := range b.list.op.Params {
		if p.In == "query" && p.Name == b.list.op.Collection.Cursor.Name && p.Schema != nil && len(p.Schema.Validate("")) > 0 {
			judgeRefusal(t, b, "without a character", ex)
			return
		}
	}
	t.Judge("collections.tamper", rejected(ex) || ex.Status() == 200, "a refusal or the first page for an empty cursor", describe(ex))
}

// foreignCursor is a cursor that another collection gave, and which; "" if none gives one.
func foreignCursor(t *check.T, not *spec.Operation) (cursor, of string) {
	for _, s := range selectCollections(t.Contract()) {
		if s.Op.ID == not.ID || t.Profile().IsAbsent(s.Op.ID) || s.Op.Collection.Limit == nil {
			continue
		}
		v, err := t.Once("suite cursor of "+s.Op.ID, func() (any, error) {
			in := newIntent(t, s.Op, "primary")
			l := listing{op: s.Op, role: "primary", path: in.path, query: in.query}
			p, _ := l.parse(t.Call("primary", l.sized(1).request("")))
			return p.next, nil
		})
		if c, ok := v.(string); err == nil && ok && c != "" {
			return c, s.Op.ID
		}
	}
	return "", ""
}

func collectionsExpiry(_ context.Context, t *check.T, s check.Subject) {
	c := s.Op.Collection
	f := source(t, s, "primary", 3)
	b, ok := marked(t, f.list, "collections.expired", "collections.renewed")
	if !ok {
		return
	}
	life, ok := seconds(t, c.TTL, "primary")
	if !ok {
		t.Inconclusive("the life of a cursor cannot be read")
	}
	left, later := life+1, page{}
	if life > 60 { // well before the end it still leads on
		advance(t, life/2)
		p, why := b.list.parse(t.Call("primary", b.list.request(b.cursor)))
		t.Judge("collections.expired", why == "" && slices.Equal(p.ids, b.after.ids), "the page, at half of the cursor's life", describe(p.ex))
		left, later = life-life/2+1, p
	}
	advance(t, left)
	if later.next != "" { // it was given half a life after the first
		p, why := b.list.parse(t.Call("primary", b.list.request(later.next)))
		t.Judge("collections.renewed", why == "", "a page for a cursor of half its life, though the walk is older", describe(p.ex))
	} else {
		t.NotApplicable("collections.renewed", "the walk has no third page here")
	}
	ex := t.Call("primary", b.list.request(b.cursor))
	t.Judge("collections.expired", refused(t, ex, c.Expired), wanted(c.Expired)+fmt.Sprintf(" after %d seconds", life), describe(ex))
	if p, why := b.list.parse(t.Call("primary", b.list.request(""))); why != "" {
		t.Judge("collections.expired", false, "a new walk from the first page", describe(p.ex))
	}
}

// seconds reads a period: its own number, or the limit that the connection tells.
func seconds(t *check.T, p spec.Period, role string) (int, bool) {
	cn := t.Contract().Doc.Connection
	if p.Limit == "" || cn == nil {
		return p.Seconds, p.Seconds > 0
	}
	op := t.Contract().Op(cn.Operation)
	if op == nil {
		return 0, false
	}
	n, err := strconv.Atoi(member(t.Call(role, intent{op: op, role: role, query: url.Values{}}.request()), cn.Limits[p.Limit]))
	return n, err == nil && n > 0
}

// advance moves the target's clock forward.
func advance(t *check.T, seconds int) {
	t.Hook(target.AdvanceClock, map[string]string{"seconds": strconv.Itoa(seconds)})
}
