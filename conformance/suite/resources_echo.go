package suite

import (
	"encoding/json"
	"net/http"
	"slices"

	"assay.kit/conformance/oracle"
	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

// judgeEcho compares what was sent with what is shown, as far as both have members of one name, and
// looks for what the resource should show and does not.
func (c *creation) judgeEcho(read *spec.Operation, first wire.Exchange) {
	const claim = "resources.echo"
	sent, _ := c.in.body.(map[string]any)
	shown, _ := decoded(first).(map[string]any)
	volatile := slices.Concat(c.t.Contract().Doc.Volatile, c.op.Volatile, read.Volatile)
	for _, name := range sortedKeys(sent) {
		got, there := shown[name]
		if !there || slices.Contains(volatile, tree.PointerTo(name)) {
			continue
		}
		c.t.Judge(claim, echoes(sent[name], got), name+" as it was sent: "+string(encode(sent[name])), string(encode(got)))
	}
	if a := read.Answers[http.StatusOK]; a != nil && a.Schema != nil && shown != nil {
		l := loss{asked: c.op.Body.Schema, answered: a.Schema, volatile: volatile}
		l.look(sent, shown, "", "", false)
		for _, at := range l.places {
			was, _ := tree.Get(sent, at)
			c.t.Judge(claim, false, string(at)+" as it was sent: "+string(encode(was)), "no such member")
		}
	}
	c.t.NotApplicable(claim, "the resource shows no member of the body that makes it") // unless judged
}

// echoes reports whether a value is shown as it was sent: objects may have more members, an instant
// another spelling, and no value may be shown as none or left open.
func echoes(sent, shown any) bool {
	switch x := sent.(type) {
	case nil:
		return true
	case map[string]any:
		y, ok := shown.(map[string]any)
		for name, v := range x {
			if got, there := y[name]; there {
				ok = ok && echoes(v, got)
			}
		}
		return ok
	case []any:
		y, ok := shown.([]any)
		ok = ok && len(x) == len(y)
		for i := 0; ok && i < len(x); i++ {
			ok = echoes(x[i], y[i])
		}
		return ok
	case string:
		y, _ := shown.(string)
		a, _, errA := instant(x)
		b, _, errB := instant(y)
		return x == y || errA == nil && errB == nil && a.Equal(b)
	default:
		return oracle.Equal(sent, shown)
	}
}

// loss collects what was sent and is not shown, though the answer's schema has a place for it: a
// member of that name, or an object whose members it leaves to whoever fills it.
type loss struct {
	asked, answered *schema.Schema
	volatile        []tree.Pointer
	places          []tree.Pointer
}

// look compares at one place; in the schemas, path stands for it. free: the answer's schema leaves
// open what is here.
func (l *loss) look(sent, shown any, at, path tree.Pointer, free bool) {
	switch x := sent.(type) {
	case map[string]any:
		y, _ := shown.(map[string]any)
		free = free || at != "" && l.isFree(path)
		for _, name := range sortedKeys(x) {
			got, there := y[name]
			switch here := at.Append(name); {
			case slices.Contains(l.volatile, here) || y == nil:
			case there:
				l.look(x[name], got, here, path.Append(name), free)
			case (free || len(schemasAt(l.answered, path.Append(name))) > 0) && !l.mayLack(x[name], path.Append(name)):
				l.places = append(l.places, here)
			}
		}
	case []any:
		y, _ := shown.([]any)
		for i := 0; i < len(x) && len(x) == len(y); i++ {
			l.look(x[i], y[i], at.Index(i), path.Append("*"), free)
		}
	}
}

// isFree reports whether a schema says of an object no more than that it is one, or what all its
// members have in common.
func (l *loss) isFree(path tree.Pointer) bool {
	raws := schemasAt(l.answered, path)
	for _, raw := range raws {
		if _, isMap := raw["additionalProperties"].(map[string]any); isMap || spec.PropertyTraitsOf(raw).Opaque {
			return true
		}
	}
	return len(raws) > 0 && !slices.ContainsFunc(raws, func(raw map[string]any) bool {
		for _, k := range []string{"properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "oneOf", "anyOf", "if"} {
			if _, says := raw[k]; says {
				return true
			}
		}
		return false
	})
}

// mayLack reports whether a member may be left out: it is of one direction only, or what it says is
// what its absence says.
func (l *loss) mayLack(sent any, path tree.Pointer) bool {
	for _, s := range []*schema.Schema{l.asked, l.answered} {
		if keyword(s, path, "writeOnly") == true || keyword(s, path, "readOnly") == true && s == l.asked {
			return true
		}
		if d := keyword(s, path, "default"); d != nil && oracle.Equal(d, sent) {
			return true
		}
	}
	switch x := sent.(type) {
	case nil:
		return true
	case bool:
		return !x
	case string:
		return x == ""
	case []any:
		return len(x) == 0
	case map[string]any:
		return len(x) == 0
	default:
		return oracle.Equal(sent, json.Number("0"))
	}
}
