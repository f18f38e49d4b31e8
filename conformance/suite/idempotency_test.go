package suite

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.kit/conformance/wire"
	"assay.kit/spec"
	"assay.kit/spec/contracts"
	"assay.kit/spec/schema"
	"assay.kit/spec/tree"
)

func TestSpellingsNameTheSamePath(t *testing.T) {
	in := intent{op: &spec.Operation{Path: "/v1/agents/{agent_id}/revisions"}, path: map[string]string{"agent_id": "assay-1.b"},
		query: url.Values{"x": {"1"}}}
	got := spellings(in)
	if len(got) < 8 {
		t.Fatalf("only %d spellings: %v", len(got), got)
	}
	seen := map[string]bool{in.target(): true}
	for _, s := range got {
		if seen[s.target] {
			t.Errorf("%s twice, or no other spelling", s.target)
		}
		seen[s.target] = true
		path, query, _ := strings.Cut(s.target, "?")
		if query != "x=1" {
			t.Errorf("%s lost the query", s.target)
		}
		u, err := url.Parse("http://host" + path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		want := "/v1/agents/assay-1.b/revisions"
		if clean := strings.TrimSuffix(u.JoinPath().Path, "/"); clean != want {
			t.Errorf("%s names %s, want %s", s.target, clean, want)
		}
		if encoded := strings.Contains(path, "%"); encoded != (s.claim == "idempotency.path") {
			t.Errorf("%s is judged by %s", s.target, s.claim)
		}
	}
}

func TestEncodeOnePrefersALetterInTheHexForm(t *testing.T) {
	for seg, want := range map[string]string{"abc-d": "abc%2Dd", "v1": "%761", "123": "", "job": "%6Aob"} {
		got, ok := encodeOne(seg, "%%%02X")
		if got != want || ok != (want != "") {
			t.Errorf("encodeOne(%q) = %q, %v; want %q", seg, got, ok, want)
		}
	}
}

func TestInstant(t *testing.T) {
	at := time.Date(2026, 10, 1, 20, 5, 0, 0, time.UTC)
	for s, utc := range map[string]bool{
		"2026-10-01T20:05:00Z": true, "2026-10-01T20:05:00.000+00:00": true, "2026-10-01T22:05:00+02:00": false,
		"Thu, 01 Oct 2026 20:05:00 GMT": true, "1790885100": true,
	} {
		got, is, err := instant(s)
		if err != nil || !got.Equal(at) || is != utc {
			t.Errorf("instant(%q) = %v, %v, %v", s, got, is, err)
		}
	}
	for _, s := range []string{"", "2026-10-01T20:05:00", "soon"} {
		if _, utc, err := instant(s); err == nil || utc {
			t.Errorf("instant(%q) was taken for a point in time", s)
		}
	}
}

func TestMannerOf(t *testing.T) {
	for _, c := range []struct {
		was, now any
		want     string
	}{
		{"a b", "A b", " case"}, {"a", "a ", " space"}, {"abc", "ab", " length"}, {"abc", "abd", " character"},
		{"1", 1, ""}, {nil, "x", ""}, {"x", nil, ""},
	} {
		if got := mannerOf(c.was, c.now); got != c.want {
			t.Errorf("mannerOf(%v, %v) = %q, want %q", c.was, c.now, got, c.want)
		}
	}
}

func TestMannerOfNumber(t *testing.T) {
	for _, tc := range []struct{ was, now, want string }{
		{"47.5", "47.6", " digit"}, {"47.5", "47.500001", " fraction"}, {"47.5", "48.5", " number"},
		{"-3.25", "-3.26", " digit"}, {"17", "18", " number"}, {"17", "17.5", " fraction"},
	} {
		if got := mannerOf(json.Number(tc.was), json.Number(tc.now)); got != tc.want {
			t.Errorf("%s to %s: %q, want %q", tc.was, tc.now, got, tc.want)
		}
	}
	if got := mannerOf(json.Number("17"), "17"); got != "" {
		t.Errorf("another type: %q", got)
	}
}

func TestBetweenSaysFromWhatToWhat(t *testing.T) {
	was, now := map[string]any{"a": json.Number("1.5")}, map[string]any{"a": json.Number("1.6"), "b": nil}
	for at, want := range map[tree.Pointer]string{
		"/a": ", when /a was changed from 1.5 to 1.6", "/b": ", when /b was changed from absent to null",
	} {
		if got := (change{at: at, value: now}).between(was); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestUnknownOutcomes(t *testing.T) {
	for _, tc := range []struct {
		end    wire.End
		status int
		want   bool
	}{
		{wire.EndComplete, 201, false}, {wire.EndComplete, 409, false}, {wire.EndComplete, 500, true}, {wire.EndReset, 0, true},
		{wire.EndTruncated, 201, true}, {wire.EndTimeout, 0, true}, {wire.EndRefused, 0, true},
	} {
		if got := unknown(wire.Exchange{End: tc.end, Head: wire.Head{Status: tc.status}}); got != tc.want {
			t.Errorf("%s %d: %v", tc.end, tc.status, got)
		}
	}
}

func TestTellsUTCReadsTheSchemaOfTheHeader(t *testing.T) {
	for name, want := range map[string]bool{"seer": true, "notes": false} {
		files, err := contracts.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := spec.Load(files, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range keyed(c) {
			if got := tellsUTC(s); got != want {
				t.Errorf("%s %s: %v", name, s.Op.ID, got)
			}
		}
	}
}

func TestUniqueTextFitsItsPatternAndItsSalt(t *testing.T) {
	const pattern = "^[1-9][0-9]{0,17}$"
	seen := map[string]bool{}
	for i := range 200 {
		salt := strings.Repeat("k", i)
		s := uniqueText(pattern, salt)
		if !regexp.MustCompile(pattern).MatchString(s) || len(s) < 8 {
			t.Fatalf("%q does not fit, or is too short", s)
		}
		if s != uniqueText(pattern, salt) {
			t.Fatalf("salt %d gives two texts", i)
		}
		seen[s] = true
	}
	if len(seen) < 198 {
		t.Errorf("200 salts give only %d texts", len(seen))
	}
	for _, narrow := range []string{"^[ab]$", "(?=x)x"} {
		if s := uniqueText(narrow, "k"); s != "" {
			t.Errorf("%s gives %q", narrow, s)
		}
	}
}

func TestSchemasAtFollowsReferencesAndAllOf(t *testing.T) {
	doc, err := schema.DecodeJSON([]byte(`{
		"allOf": [{"$ref": "#/$defs/list"}, {"properties": {"items": {"items": {"$ref": "#/$defs/item"}}}}],
		"$defs": {
			"list": {"type": "object", "properties": {"items": {"type": "array"}, "note": {"type": "string"}}},
			"item": {"type": "object", "properties": {"id": {"type": "string", "pattern": "^x"}}},
			"loop": {"$ref": "#/$defs/loop"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Compile("list", doc)
	if err != nil {
		t.Fatal(err)
	}
	if got := keyword(s, "/items/*/id", "pattern"); got != "^x" {
		t.Errorf("the pattern of an item's id is %v", got)
	}
	if got := keyword(s, "/items", "type"); got != "array" {
		t.Errorf("the type of items is %v", got)
	}
	if got := schemasAt(s, "/items/*/other"); len(got) > 0 {
		t.Errorf("a member that is nowhere has %v", got)
	}
	if got := memberNames(s, ""); !slices.Equal(got, []string{"items", "note"}) {
		t.Errorf("members %v", got)
	}
	if got := applying(s, map[string]any{"$ref": "#/$defs/loop"}, 0); len(got) == 0 || len(got) > maxReferences+2 {
		t.Errorf("a cycle gives %d schemas", len(got))
	}
}

// Every keyed operation is in two pairs, none with itself, and none mixes financial with other effects.
func TestPairsFormRings(t *testing.T) {
	for _, name := range []string{"seer", "notes"} {
		files, err := contracts.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := spec.Load(files, name)
		if err != nil {
			t.Fatal(err)
		}
		times := map[string]int{}
		for _, s := range selectPairs(c) {
			if s.Op == s.Other || (s.Op.Effect == spec.EffectFinancial) != (s.Other.Effect == spec.EffectFinancial) {
				t.Errorf("%s: pair %s", name, s.Name)
			}
			times[s.Op.ID]++
			times[s.Other.ID]++
		}
		for _, op := range keyedOps(c) {
			if times[op.ID] != 2 {
				t.Errorf("%s: %s is in %d pairs", name, op.ID, times[op.ID])
			}
		}
	}
}

func TestStringLeaves(t *testing.T) {
	got := stringLeaves(map[string]any{"b": "x", "a": map[string]any{"~": "y", "n": 1}, "c": []any{"z"}}, "")
	if want := []tree.Pointer{"/a/~0", "/b"}; !slices.Equal(got, want) {
		t.Errorf("leaves %v, want %v", got, want)
	}
}
