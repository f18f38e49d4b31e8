package suite

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay.kit/spec"
)

func TestSortKeyOrdersLikeTheValues(t *testing.T) {
	for _, rising := range [][]any{
		{"2026-10-01T00:00:00Z", "2026-10-01T02:00:00.5+01:00", "2026-10-01T01:00:00.6Z", "2026-10-02T00:00:00-05:00"},
		{json.Number("-3e2"), json.Number("-1"), json.Number("0"), json.Number("0.5"), json.Number("2"), json.Number("10")},
		{"a", "aa", "b"},
	} {
		for i := 1; i < len(rising); i++ {
			a, okA := sortKey(rising[i-1])
			b, okB := sortKey(rising[i])
			if !okA || !okB || a >= b {
				t.Errorf("%v (%q) does not sort before %v (%q)", rising[i-1], a, rising[i], b)
			}
		}
	}
	if same, _ := sortKey("2026-10-01T00:00:00Z"); same != first(sortKey("2026-10-01T02:00:00+02:00")) {
		t.Error("one instant in two spellings has two keys")
	}
	if _, ok := sortKey(map[string]any{}); ok {
		t.Error("an object has a key")
	}
}

func first(s string, _ bool) string { return s }

func TestShiftedIsAnotherLetter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.Byte().Draw(t, "byte")
		out := shifted(c, rapid.IntRange(1, len(alphabet)-1).Draw(t, "by"))
		if strings.EqualFold(string(rune(out)), string(rune(c))) || !strings.ContainsRune(alphabet, rune(out)) {
			t.Fatalf("%q became %q", c, out)
		}
	})
}

func TestSpareIsTheLastOfARun(t *testing.T) {
	for cursor, want := range map[string]string{"abc": "..^", "ab==": ".^..", "ab.cd": ".^..^"} {
		for i := range cursor {
			if cursor[i] == '=' || cursor[i] == '.' {
				continue
			}
			if got := spare(cursor, i); got != (want[i] == '^') {
				t.Errorf("spare(%q, %d) = %v", cursor, i, got)
			}
		}
	}
}

func TestFakesAreNeverTheCursor(t *testing.T) {
	for _, good := range []string{"2", "assay", "AAECAwQ", `{"offset":1}`} {
		for _, f := range fakes(good) {
			if f.cursor == good || f.cursor == "" {
				t.Errorf("%q: the fake %q is %q", good, f.name, f.cursor)
			}
		}
	}
}

func TestWrongSizesAreOutOfBounds(t *testing.T) {
	for _, l := range []spec.PageLimit{{Min: 1, Max: 100}, {Min: 5, Max: 5}} {
		for _, w := range wrongSizes(&l) {
			n, err := json.Number(w.text).Int64()
			inside := err == nil && n >= int64(l.Min) && n <= int64(l.Max)
			nearest := err != nil && w.bound == 0 || err == nil && w.typed && (n < int64(l.Min) && w.bound == l.Min || n > int64(l.Max) && w.bound == l.Max)
			if inside || !nearest {
				t.Errorf("%+v: %q", l, w.text)
			}
		}
	}
}

func TestDisorderShowsTheTwoValues(t *testing.T) {
	op := &spec.Operation{}
	op.Collection = &spec.Collection{Order: &spec.Order{Default: "a", Values: []spec.OrderValue{{Value: "a", By: "/at"}}}}
	item := func(at string) any { return map[string]any{"at": at} }
	tr := trail{list: listing{op: op}, pages: []page{
		{items: []any{item("1"), item("3")}, ids: []string{"x", "y"}},
		{items: []any{item("2")}, ids: []string{"z"}},
	}}
	if got := tr.disorder(); got != "/at 2 of z comes after 3 of y" {
		t.Error(got)
	}
	tr.pages = tr.pages[:1]
	if got := tr.disorder(); got != "" {
		t.Errorf("in order: %s", got)
	}
}

func TestEqualsKnowsWhatLacksTheMember(t *testing.T) {
	op := &spec.Operation{Answers: map[int]*spec.Answer{}}
	op.Collection = &spec.Collection{Items: "/items"}
	f := &feeder{list: listing{op: op}, items: []fed{{id: "yes", settled: true}, {id: "none", settled: true}, {id: "unread", settled: true}}}
	views := []any{map[string]any{"done": true}, map[string]any{}, nil}
	got := equals(f, spec.Filter{Param: "done", Member: "/done"}, views)
	if len(got) != 2 || got[0].value != "false" || got[1].value != "true" {
		t.Fatalf("%v", got)
	}
	if len(got[0].in) != 0 || !slices.Equal(got[0].out, []string{"yes", "none"}) {
		t.Errorf("under false: %v, not %v", got[0].in, got[0].out)
	}
	if !slices.Equal(got[1].in, []string{"yes"}) || !slices.Equal(got[1].out, []string{"none"}) {
		t.Errorf("under true: %v, not %v", got[1].in, got[1].out)
	}
}

func TestEchoes(t *testing.T) {
	object := func(name string, v any) any { return map[string]any{name: v, "more": "x"} }
	for _, c := range []struct {
		sent, shown any
		want        bool
	}{
		{"a", "a", true}, {"a", "a ", false}, {nil, "default", true},
		{"2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", true},
		{json.Number("1.0"), json.Number("1"), true}, {json.Number("17"), "17", false}, {true, false, false},
		{[]any{"b", "a"}, []any{"a", "b"}, false}, {[]any{"a", "a"}, []any{"a"}, false},
		{map[string]any{"n": "a"}, object("n", "a"), true}, {map[string]any{"n": "a"}, object("n", "b"), false}, {map[string]any{"n": "a"}, "n", false},
	} {
		if got := echoes(c.sent, c.shown); got != c.want {
			t.Errorf("echoes(%v, %v) = %v", c.sent, c.shown, got)
		}
	}
}

func TestPromisedIsTheDefaultOrder(t *testing.T) {
	c := &spec.Collection{Order: &spec.Order{Default: "b", Values: []spec.OrderValue{{Value: "a"}, {Value: "b", Desc: true}}}}
	if got := promised(c, nil); got == nil || got.Value != "b" {
		t.Errorf("without an order asked for: %v", got)
	}
	if got := promised(c, &c.Order.Values[0]); got.Value != "a" {
		t.Errorf("with order a: %v", got)
	}
	if got := promised(&spec.Collection{}, nil); got != nil {
		t.Errorf("no order is promised: %v", got)
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		base, ref, want string
		ok              bool
	}{
		{"http://h:1/api", "/v1/jobs/a", "/v1/jobs/a", true},
		{"http://h:1/api", "v1/jobs/a?x=1", "/v1/jobs/a?x=1", true},
		{"http://h:1/api", "http://h:1/api/v1/jobs/a", "/v1/jobs/a", true},
		{"http://h:1/api", "http://h:1/v1/jobs/a", "", false},
		{"http://h:1", "https://elsewhere/v1/jobs/a", "", false},
		{"http://h:1", "http://h:1.evil/jobs/a", "", false},
		{"http://h:1", "//elsewhere/jobs/a", "", false},
		{"http://h:1", "", "", false},
	} {
		if got, ok := within(c.base, c.ref); got != c.want || ok != c.ok {
			t.Errorf("within(%q, %q) = %q, %v", c.base, c.ref, got, ok)
		}
	}
}

func TestLastParam(t *testing.T) {
	for path, want := range map[string]string{"/a/{x}": "x", "/a/{x}/b/{y_z}/cancellation": "y_z"} {
		if got := lastParam(&spec.Operation{Path: path}); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func TestCompactAndMissing(t *testing.T) {
	if got := compact([]string{"a", "a", "b", "a"}); !slices.Equal(got, []string{"a", "b", "a"}) {
		t.Error(got)
	}
	if got := missing([]string{"a", "b"}, []string{"b"}); !slices.Equal(got, []string{"a"}) {
		t.Error(got)
	}
}

func TestHoldsText(t *testing.T) {
	v := map[string]any{"a": []any{map[string]any{"b": "job_1"}}, "c": json.Number("1")}
	if !holdsText(v, "job_1") || holdsText(v, "job_") || holdsText(nil, "") {
		t.Error("a text is found exactly where it is a whole value")
	}
}
