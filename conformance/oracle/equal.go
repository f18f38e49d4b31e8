// Package oracle holds small pure models of what a server should do, written apart from every
// implementation so that both cannot share a mistake: equality of JSON values, the idempotency
// ledger, a cursor walk, a state machine. It imports nothing of this module.
package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// maxExponent bounds exact arithmetic: 1e999999999 as an integer would fill the memory.
const maxExponent = 2000

// Equal reports whether two decoded JSON values are the same value: numbers by exact rationals,
// whatever their spelling, objects without order.
func Equal(a, b any) bool { return len(Diff(a, b, nil)) == 0 }

// Diff lists the JSON pointers (RFC 6901) at which two decoded JSON values differ, in order, at
// most 20. Values at or below a pointer of ignore are not compared; in it the token "-" stands for
// every item of an array.
func Diff(a, b any, ignore []string) []string {
	d := differ{ignore: make([][]string, len(ignore))}
	for i, p := range ignore {
		d.ignore[i] = strings.Split(p, "/")
	}
	d.compare(a, b, []string{""})
	return d.found
}

type differ struct {
	ignore [][]string
	found  []string
}

const maxDiffs = 20

func (d *differ) compare(a, b any, at []string) {
	if len(d.found) == maxDiffs || d.ignored(at) {
		return
	}
	if !d.sameHere(a, b, at) {
		d.found = append(d.found, strings.Join(at, "/"))
	}
}

// sameHere compares leaves and goes into containers, which report their own differences.
func (d *differ) sameHere(a, b any, at []string) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if ok {
			d.objects(a, b, at)
		}
		return ok
	case []any:
		b, ok := b.([]any)
		if !ok {
			return false
		}
		for i := range min(len(a), len(b)) {
			d.compare(a[i], b[i], below(at, strconv.Itoa(i)))
		}
		return len(a) == len(b)
	case nil:
		return b == nil
	case bool, string:
		return a == b
	default:
		x, okA := number(a)
		y, okB := number(b)
		if okA && okB {
			return x.Cmp(y) == 0
		}
		// Out of bounds or no JSON value: only the same spelling is the same.
		return okA == okB && fmt.Sprintf("%T %v", a, a) == fmt.Sprintf("%T %v", b, b)
	}
}

func (d *differ) objects(a, b map[string]any, at []string) {
	names := slices.Collect(maps.Keys(a))
	for name := range b {
		if _, both := a[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		place := below(at, escape(name))
		x, inA := a[name]
		y, inB := b[name]
		switch {
		case inA && inB:
			d.compare(x, y, place)
		case len(d.found) < maxDiffs && !d.ignored(place): // null is not absence
			d.found = append(d.found, strings.Join(place, "/"))
		}
	}
}

func below(at []string, token string) []string { return append(slices.Clone(at), token) }

func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

func (d *differ) ignored(at []string) bool {
	return slices.ContainsFunc(d.ignore, func(pattern []string) bool {
		return len(pattern) == len(at) && slices.EqualFunc(pattern, at, func(p, token string) bool {
			return p == token || p == "-" && isIndex(token)
		})
	})
}

func isIndex(token string) bool {
	return token != "" && strings.Trim(token, "0123456789") == ""
}

// number reads a decoded JSON number exactly, within bounds.
func number(v any) (*big.Rat, bool) {
	var text string
	switch v := v.(type) {
	case json.Number:
		text = v.String()
	case float64:
		text = strconv.FormatFloat(v, 'g', -1, 64)
	case int:
		text = strconv.Itoa(v)
	case int64:
		text = strconv.FormatInt(v, 10)
	default:
		return nil, false
	}
	if len(text) > maxExponent || !json.Valid([]byte(text)) {
		return nil, false
	}
	if _, exp, ok := strings.Cut(strings.ToLower(text), "e"); ok {
		if e, err := strconv.Atoi(exp); err != nil || e > maxExponent || e < -maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}
