package suite

import (
	"encoding/json"
	"testing"

	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

func TestChallengesBearer(t *testing.T) {
	for v, want := range map[string]bool{
		"Bearer": true, `bearer realm="x", error="invalid_token"`: true, `Basic realm="x", Bearer`: true,
		"": false, `Basic realm="Bearer"`: false, "Bearerish": false,
	} {
		if got := challengesBearer(v); got != want {
			t.Errorf("%q: %v, want %v", v, got, want)
		}
	}
}

func TestUnlikeKeepsTheForm(t *testing.T) {
	for _, id := range []string{"job_47qa7i2q6poblae7fmmyfidbje", "550e8400-e29b-41d4-a716-446655440000", "17", "X-9", "acct_example_1"} {
		a, b := unlike(id, 3), unlike(id, 11)
		if a == id || b == id || a == b || len(a) != len(id) {
			t.Errorf("%q became %q and %q", id, a, b)
		}
		for i := range id {
			if kindOf(a[i]) != kindOf(id[i]) {
				t.Errorf("%q became %q: character %d is of another kind", id, a, i)
			}
		}
	}
}

// kindOf is the kind of a character of an id.
func kindOf(c byte) string {
	switch {
	case c >= '0' && c <= '9':
		return "digit"
	case c >= 'a' && c <= 'f':
		return "hexadecimal"
	case c >= 'a' && c <= 'z':
		return "letter"
	case c >= 'A' && c <= 'Z':
		return "capital"
	default:
		return string(c)
	}
}

func answerOf(status int, body string, header ...string) wire.Exchange {
	ex := wire.Exchange{Head: wire.Head{Status: status}, End: wire.EndComplete, Events: []wire.Event{{Data: []byte(body)}}}
	for i := 0; i+1 < len(header); i += 2 {
		ex.Head.Fields = append(ex.Head.Fields, wire.Field{Name: header[i], Value: header[i+1]})
	}
	return ex
}

// TestTellsApart: only what is steady within each pair and different between them is an oracle.
func TestTellsApart(t *testing.T) {
	c := &spec.Contract{Doc: spec.DocTraits{Error: &spec.ErrorTrait{Code: "/code", RequestID: "/id"}}}
	plain := func(body string, header ...string) [2]wire.Exchange {
		return [2]wire.Exchange{answerOf(404, body, header...), answerOf(404, body, header...)}
	}
	none := plain(`{"code":"N","id":"r1"}`, "Server", "x", "X-Request-Id", "r1", "Date", "d1")
	for name, tc := range map[string]struct {
		pair  [2]wire.Exchange
		apart bool
	}{
		"the same":              {plain(`{"id":"r9","code":"N"}`, "server", "x", "X-Request-Id", "r9", "Date", "d2"), false},
		"the probed id":         {plain(`{"code":"N","id":"r1","for":"mine"}`, "Server", "x"), true},
		"another status":        {[2]wire.Exchange{answerOf(403, `{"code":"N"}`, "Server", "x"), answerOf(403, `{"code":"N"}`, "Server", "x")}, true},
		"one member more":       {plain(`{"code":"N","id":"r1","detail":"foreign"}`, "Server", "x"), true},
		"one header more":       {plain(`{"code":"N","id":"r1"}`, "Server", "x", "X-Cache", "hit"), true},
		"a header that changes": {[2]wire.Exchange{answerOf(404, `{"code":"N","id":""}`, "Server", "x", "X-Left", "7"), answerOf(404, `{"code":"N","id":""}`, "Server", "x", "X-Left", "6")}, false},
	} {
		if diff := tellsApart(c, tc.pair, none, []string{"mine"}); (diff != "") != tc.apart {
			t.Errorf("%s: %q", name, diff)
		}
	}
	other := plain(`{"code":"N","id":"r1","for":"never"}`, "Server", "x")
	if diff := tellsApart(c, plain(`{"code":"N","id":"r1","for":"mine"}`, "Server", "x"), other, []string{"mine", "never"}); diff != "" {
		t.Errorf("the ids that were asked for are no difference, but: %s", diff)
	}
}

func TestPositiveInteger(t *testing.T) {
	for v, want := range map[any]bool{
		json.Number("1"): true, json.Number("600.0"): true, json.Number("6e2"): true, json.Number("0"): false, json.Number("-1"): false,
		json.Number("1.5"): false, "600": false, nil: false, true: false,
	} {
		if got := positiveInteger(v); got != want {
			t.Errorf("%v: %v, want %v", v, got, want)
		}
	}
}
