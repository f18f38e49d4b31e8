package gen

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"assay.kit/spec/tree"
)

// maxExponent bounds exact arithmetic: 1e999999999 as an integer would fill the memory.
const maxExponent = 2000

// rational reads a decoded JSON number exactly.
func rational(v any) (*big.Rat, bool) {
	var s string
	switch v := v.(type) {
	case json.Number:
		s = v.String()
	case float64:
		s = strconv.FormatFloat(v, 'g', -1, 64)
	case int:
		s = strconv.Itoa(v)
	case int64:
		s = strconv.FormatInt(v, 10)
	default:
		return nil, false
	}
	if len(s) > maxExponent {
		return nil, false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if e, err := strconv.Atoi(s[i+1:]); err != nil || e > maxExponent || e < -maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(s)
}

// same is equality of JSON values: numbers by value, objects without order.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && len(a) == len(b) && !slices.ContainsFunc(sortedKeys(a), func(k string) bool {
			v, there := b[k]
			return !there || !same(a[k], v)
		})
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case nil, bool, string:
		return a == b
	default:
		x, okA := rational(a)
		y, okB := rational(b)
		if !okA || !okB {
			return okA == okB && a == b
		}
		return x.Cmp(y) == 0
	}
}

// decimal writes a rational as a JSON number; one that has no finite decimal form is cut.
func decimal(r *big.Rat) json.Number {
	if r.IsInt() {
		return json.Number(r.Num().String())
	}
	digits := 1
	ten, scaled := big.NewRat(10, 1), new(big.Rat).Mul(r, big.NewRat(10, 1))
	for !scaled.IsInt() && digits < 20 {
		scaled.Mul(scaled, ten)
		digits++
	}
	return json.Number(r.FloatString(digits))
}

func integer(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

// Encode writes a value as JSON with sorted members; numbers keep their spelling.
func Encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil // not a decoded JSON value
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// put returns v with another value at a pointer; what is not on the way is shared. A pointer whose
// parent is not there gives v itself.
func put(v any, at tree.Pointer, value any) any {
	return edit(v, at.Tokens(), func(any) (any, bool) { return value, true })
}

// remove returns v without the member or item at a pointer.
func remove(v any, at tree.Pointer) any {
	return edit(v, at.Tokens(), func(any) (any, bool) { return nil, false })
}

func edit(v any, tokens []string, change func(any) (any, bool)) any {
	if len(tokens) == 0 {
		if next, ok := change(v); ok {
			return next
		}
		return v
	}
	last := len(tokens) == 1
	switch v := v.(type) {
	case map[string]any:
		old, there := v[tokens[0]]
		if !there && !last {
			return v
		}
		out := maps.Clone(v)
		if !last {
			out[tokens[0]] = edit(old, tokens[1:], change)
		} else if next, ok := change(old); ok {
			out[tokens[0]] = next
		} else {
			delete(out, tokens[0])
		}
		return out
	case []any:
		i, err := strconv.Atoi(tokens[0])
		if err != nil || i < 0 || i >= len(v) {
			return v
		}
		out := slices.Clone(v)
		if !last {
			out[i] = edit(v[i], tokens[1:], change)
		} else if next, ok := change(v[i]); ok {
			out[i] = next
		} else {
			out = slices.Delete(out, i, i+1)
		}
		return out
	default:
		return v
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
