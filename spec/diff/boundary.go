package diff

import (
	"fmt"
	"strconv"
	"strings"

	"assay.kit/spec/tree"
)

// versions are those of the two documents.
type versions struct{ old, new string }

// raised reports whether the major number went up. Below 1.0.0 the minor number takes its place
// (Semantic Versioning 2.0.0 §4).
func (v versions) raised() bool {
	a, b := parts(v.old), parts(v.new)
	return b[0] > a[0] || a[0] == 0 && b[0] == 0 && b[1] > a[1]
}

// next is the version that a breaking change asks for.
func (v versions) next() string {
	p := parts(v.old)
	if p[0] == 0 {
		return fmt.Sprintf("0.%d.0", p[1]+1)
	}
	return fmt.Sprintf("%d.0.0", p[0]+1)
}

// parts are the first two numbers of a version, however it is spelled (2, v2.1, 2026-10-01).
func parts(version string) [2]int {
	var out [2]int
	version = strings.TrimLeft(version, "vV")
	for i, s := range strings.FieldsFunc(version, func(r rune) bool { return r == '.' || r == '-' || r == '+' }) {
		if i > 1 {
			break
		}
		out[i], _ = strconv.Atoi(s)
	}
	return out
}

// boundary is the version that a rule's breaking change must raise, where it stands.
func (r Rule) boundary(sc scope) Boundary {
	switch {
	case sc.tool == nil:
		return HTTP
	case r.method:
		return Method
	}
	return Schema
}

// bump excuses a breaking finding whose boundary was raised, or says which bump is missing. Another
// boundary's bump excuses nothing.
func (d *differ) bump(f *Finding, sc scope) {
	if f.Grade != Breaking {
		return
	}
	t := sc.tool
	switch f.Boundary {
	case Schema:
		if t.schema {
			f.Excused = "the schema revision of " + t.name + " was raised"
			return
		}
		f.Needs = fmt.Sprintf("a new schema revision of the tool %s (revision.schema is still %q)", t.name, t.revision[0])
		if t.method {
			f.Needs += "; its method revision was raised, which is another boundary"
		}
	case Method:
		if t.method {
			f.Excused = "the method revision of " + t.name + " was raised"
			return
		}
		f.Needs = fmt.Sprintf("a new numerical-method revision of the tool %s (revision.method is still %q)", t.name, t.revision[1])
		if t.schema {
			f.Needs += "; its schema revision was raised, which is another boundary"
		}
	default:
		if d.version.raised() {
			f.Excused = "the major version was raised to " + d.version.new
			return
		}
		f.Needs = fmt.Sprintf("a new HTTP major version (info.version is %q and would be %q)", d.version.new, d.version.next())
	}
}

// revisions compares the revisions of two manifests of one tool.
func revisions(name string, a, b *tree.Node) *toolPair {
	x, y := a.Get("_meta").Get("assay").Get("revision"), b.Get("_meta").Get("assay").Get("revision")
	up := func(key string) bool { return y.Str(key) != "" && x.Str(key) != y.Str(key) }
	return &toolPair{name: name, schema: up("schema"), method: up("method"), revision: [2]string{y.Str("schema"), y.Str("method")}}
}
