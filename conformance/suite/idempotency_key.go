package suite

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"assay.kit/conformance/check"
	"assay.kit/conformance/gen"
	"assay.kit/conformance/wire"
	"assay.kit/spec/tree"
)

func runKey(_ context.Context, t *check.T, s check.Subject) {
	c := newCreation(t, s.Op, specimens(t, s.Op)[0])
	if s.Op.Idempotency.Required {
		c.judgeMissingKey()
	} else {
		c.judgeOptionalKey()
	}
	c.judgeLongestKey()
	c.judgeNearKeys()
	c.judgeIllegalKeys()
	c.judgeDrawnKeys()
}

// again is a new creation of the same payload, on resources of its own where the first was used up.
func (c *creation) again(key string) intent { return c.fresh(c.in.body).keyed(key) }

// judgeMissingKey shows that the request is admitted, and then refused for want of a key only.
func (c *creation) judgeMissingKey() {
	c.open()
	before := c.exist()
	missing := c.op.Idempotency.Missing
	for _, in := range []intent{c.again(""), c.emptyKey()} {
		how := "without a key"
		if len(in.extra) > 0 {
			how = "with an empty key"
		}
		ex := c.send(in)
		c.t.Judge("idempotency.key-required", rejected(ex), "a 4xx "+how, describe(ex))
		c.t.Judge("idempotency.key-code", refused(c.t, ex, missing), wanted(missing)+" "+how, describe(ex))
	}
	if c.counted && c.op.Moves == nil {
		c.judgeUnchanged("idempotency.key-required", before)
	}
}

func (c *creation) emptyKey() intent {
	in := c.again("")
	in.extra = append(slices.Clone(in.extra), wire.Field{Name: c.op.Idempotency.Key.Name, Value: ""})
	return in
}

func (c *creation) judgeOptionalKey() {
	a, b := c.send(c.again("")), c.send(c.again(""))
	c.t.Judge("idempotency.key-optional", c.apart(a, b), "two resources", describe(a)+", "+describe(b))
}

// apart reports whether two answers name two new resources.
func (c *creation) apart(a, b wire.Exchange) bool {
	return admitted(a) && admitted(b) && createdID(c.op, a) != createdID(c.op, b)
}

// judgeLongestKey tries the longest legal key, one that differs from it at its end, and one longer.
// The longer one may be refused or honoured, but not cut.
func (c *creation) judgeLongestKey() {
	n := c.op.Idempotency.MaxLength
	base := c.t.Key() + "-"
	if n == 0 || len(base) >= n {
		return
	}
	longest := base + strings.Repeat("k", n-len(base))
	in := c.again(longest)
	first := c.send(in)
	if !c.t.Judge("idempotency.key-legal", admitted(first), fmt.Sprintf("a 2xx under a key of %d characters", n), describe(first)) {
		return
	}
	again := c.send(in)
	c.t.Judge("idempotency.key-legal", c.same(first, again), c.replayOf(first), describe(again))
	c.judgeOther(first, in.keyed(longest[:n-1]+"K"))
	if longer := c.judgeOther(first, in.keyed(longest+"k")); admitted(longer) {
		c.judgeOther(longer, in.keyed(longest+"K"))
	}
}

// judgeNearKeys tries keys that a careless comparison takes for one.
func (c *creation) judgeNearKeys() {
	base := c.t.Key()
	in := c.again(base + "-a")
	first := c.send(in)
	for _, near := range []string{base + "-A", base + "-a.", base + "-%61"} {
		c.judgeOther(first, in.keyed(near))
	}
	if c.job { // each key is a job
		return
	}
	digits := c.digits()
	for _, alike := range [][]string{
		{base + "-a b", base + "-a  b"}, {base + "-a-b", base + "-a_b", base + "-a.b"},
		{base + "-c,b", base + "-c,c", base + "-c"}, // a reader of folded header fields parts at the comma
		{base + "-d", `"` + base + `-d"`},           // one of structured fields takes the quotes off
		{digits, "0" + digits, digits + ".0"},       // one of numbers keeps their value
	} {
		c.judgeAlike(alike)
	}
}

// digits is a key that is a number.
func (c *creation) digits() string {
	h := fnv.New64a()
	h.Write([]byte(c.t.Key())) // never fails
	return strconv.FormatUint(h.Sum64()%1e12+1e12, 10)
}

// judgeAlike tries keys that differ in little more than their form, as far as they are legal.
func (c *creation) judgeAlike(keys []string) {
	sch := keySchema(c.op)
	for _, key := range keys {
		if sch == nil || len(sch.Validate(key)) > 0 {
			return
		}
	}
	in := c.again(keys[0])
	first := c.send(in)
	for _, key := range keys[1:] {
		c.judgeOther(first, in.keyed(key))
	}
}

// judgeIllegalKeys tries keys that the schema of their header refuses.
func (c *creation) judgeIllegalKeys() {
	const claim = "idempotency.key-illegal"
	sch := keySchema(c.op)
	if sch == nil {
		return
	}
	tried := false
	for _, key := range []string{c.t.Key() + "-" + strings.Repeat("k", c.op.Idempotency.MaxLength), c.t.Key() + "-\u00e9"} {
		if len(sch.Validate(key)) == 0 {
			continue
		}
		tried = true
		ex := c.send(c.again(key))
		c.t.Judge(claim, rejected(ex), fmt.Sprintf("a 4xx under a key of %d characters, %q…", len(key), key[:min(40, len(key))]), describe(ex))
	}
	if !tried {
		c.t.NotApplicable(claim, "the schema refuses no key that can be sent")
	}
}

// judgeOther sends a payload under a key that is not the one it was admitted under: that must not
// lead to the first resource. Where one path takes only one creation, a refusal is as good.
func (c *creation) judgeOther(first wire.Exchange, in intent) wire.Exchange {
	ex := c.send(in)
	ok := c.apart(first, ex)
	if n := c.op.Idempotency.MaxLength; rejected(ex) && (c.op.Moves != nil || n > 0 && len(in.key) > n) {
		ok = true
	}
	c.t.Judge("idempotency.key-exact", ok, "a resource of its own under "+strconv.Quote(in.key), describe(ex))
	return ex
}

// judgeDrawnKeys tries keys of all legal characters, where that costs no jobs.
func (c *creation) judgeDrawnKeys() {
	room := c.op.Idempotency.MaxLength - len(c.t.Key()) - 8
	if c.job || room < 1 {
		return
	}
	c.t.Property(func(t *check.T) {
		drawn := check.Draw(t, gen.Key(min(room, 60)), "key")
		c := newCreation(t, c.op, specimen{example: c.example})
		c.in.key = t.Key() + "-" + drawn
		first := c.send(c.in)
		t.Must("idempotency.key-legal", admitted(first), "a 2xx under any key of visible ASCII", describe(first))
		again := c.send(c.in)
		t.Must("idempotency.key-legal", c.same(first, again), c.replayOf(first), describe(again))
	})
}

func runRefusal(_ context.Context, t *check.T, s check.Subject) {
	const free, harmless = "idempotency.refusal-free", "idempotency.refusal-harmless"
	c := newCreation(t, s.Op, specimens(t, s.Op)[0])
	c.open()
	before := c.exist()
	var turned []refusal
	for _, r := range c.refusals() {
		r.right = c.again(t.Key())
		if rejected(c.send(r.wrong(r.right))) {
			turned = append(turned, r)
		} else { // whether it has to be refused is another check's question
			before = c.exist()
		}
	}
	if len(turned) == 0 {
		t.Inconclusive("nothing that was sent was refused")
	}
	if c.op.Moves != nil {
		t.NotApplicable(harmless, "each request is about a resource of its own, so they cannot be counted together")
	} else {
		c.judgeUnchanged(harmless, before)
	}
	for _, r := range turned {
		ex := c.send(r.right)
		t.Judge(free, admitted(ex), "a 2xx for the corrected request under the key of one refused for "+r.why, describe(ex))
	}
}

// refusal turns a request that is admitted into one that is not.
type refusal struct {
	why   string
	wrong func(intent) intent
	right intent
}

const maxBroken = 4

// refusals are broken in JSON, in a keyword of the schema, in a reference.
func (c *creation) refusals() []refusal {
	if c.op.Body == nil || c.in.body == nil {
		return nil
	}
	var all []refusal
	add := func(why string, wrong func(intent) intent) { all = append(all, refusal{why: why, wrong: wrong}) }
	add("text that is no JSON", func(in intent) intent { return in.spelled(encode(in.body)[1:]) })
	places := gen.Keywords(c.op.Body.Schema, c.in.body, options(c.t))
	for i := range min(maxBroken, len(places)) {
		place := places[i*len(places)/min(maxBroken, len(places))]
		if broken, ok := gen.BreakAt(c.op.Body.Schema, c.in.body, place, options(c.t)); ok {
			add(fmt.Sprintf("a broken %s at %s", broken.Keyword, orRoot(broken.Pointer)),
				func(in intent) intent { return in.with(broken.Value) })
		}
	}
	for _, ref := range c.op.Refs {
		if _, there := tree.Get(c.in.body, ref.Pointer); ref.In != "body" || ref.Free || !there {
			continue
		}
		add("a reference to nothing at "+string(ref.Pointer), func(in intent) intent {
			body := clone(in.body)
			set(body, ref.Pointer, "assay-"+c.t.Nonce()+"-nothing")
			return in.with(body)
		})
	}
	if c.job && len(all) > 2 { // each corrected request is a job
		all = []refusal{all[0], all[len(all)-1]}
	}
	return all
}
