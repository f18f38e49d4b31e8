package suite

import (
	"fmt"
	"strings"

	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// unlike is an id of the same form that names nothing: its last characters are others of their kind.
func unlike(id string, by int) string {
	const digits, few = "0123456789", 10
	b := []byte(id)
	changed := 0
	for i := len(b) - 1; i >= 0 && changed < few; i-- {
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			b[i] = digits[(int(c-'0')+by)%len(digits)]
		case c >= 'a' && c <= 'f': // hexadecimal stays hexadecimal
			b[i] = 'a' + (c-'a'+byte(by%5)+1)%6
		case c >= 'g' && c <= 'z':
			b[i] = 'g' + (c-'g'+byte(by))%20
		case c >= 'A' && c <= 'Z':
			b[i] = 'A' + (c-'A'+byte(by))%26
		default:
			continue
		}
		changed++
	}
	return string(b)
}

// tellsApart names what is the same in both answers of each pair and different between the pairs; ""
// is nothing. What differs within a pair comes of something else.
func tellsApart(c *spec.Contract, a, b [2]wire.Exchange, ids []string) string {
	fa, fb := featuresOf(c, a, ids), featuresOf(c, b, ids)
	for _, name := range sortedKeys(merged(fa, fb)) {
		if x, y := fa[name], fb[name]; x.steady && y.steady && x.value != y.value {
			return fmt.Sprintf("%s is %.120q, not %.120q", name, x.value, y.value)
		}
	}
	return ""
}

type feature struct {
	value  string
	steady bool // the same in both answers
}

func merged(a, b map[string]feature) map[string]feature {
	out := map[string]feature{}
	for _, m := range []map[string]feature{a, b} {
		for k, v := range m {
			out[k] = v
		}
	}
	// A header that only one pair has is a feature of both: absent in the other.
	for k := range out {
		for _, m := range []map[string]feature{a, b} {
			if _, has := m[k]; !has {
				m[k] = feature{steady: true}
			}
		}
	}
	return out
}

// featuresOf are the parts of two answers to the like request: status, each header, body.
func featuresOf(c *spec.Contract, pair [2]wire.Exchange, ids []string) map[string]feature {
	out := map[string]feature{}
	note := func(name, x, y string) { out[name] = feature{x, x == y} }
	note("the status", fmt.Sprint(pair[0].Status()), fmt.Sprint(pair[1].Status()))
	names := map[string]bool{}
	for _, ex := range pair {
		for _, f := range ex.Head.Fields {
			names[strings.ToLower(f.Name)] = true
		}
	}
	requestID := "x-request-id"
	if e := c.Doc.Correlation; e != nil {
		requestID = strings.ToLower(e.Name)
	}
	for name := range names {
		if name != "date" && name != requestID && name != "content-length" { // of the body, which is compared
			note("header "+name, blank(strings.Join(pair[0].HeaderValues(name), ", "), ids), blank(strings.Join(pair[1].HeaderValues(name), ", "), ids))
		}
	}
	note("the body", comparableBody(c, pair[0], ids), comparableBody(c, pair[1], ids))
	return out
}

// comparableBody is a body without what may differ between any two answers: the request's id, and
// the ids that were asked for.
func comparableBody(c *spec.Contract, ex wire.Exchange, ids []string) string {
	v, err := bodyOf(ex)
	if err != nil {
		return blank(string(ex.Body()), ids)
	}
	if e := c.Doc.Error; e != nil && e.RequestID != "" {
		if _, there := tree.Get(v, e.RequestID); there {
			set(v, e.RequestID, "")
		}
	}
	return blank(string(encode(v)), ids)
}

func blank(s string, ids []string) string {
	for _, id := range ids {
		s = strings.ReplaceAll(s, id, "ID")
	}
	return s
}
