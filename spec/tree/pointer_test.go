package tree_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"assay.kit/spec/tree"
)

// TestPointerOfRFC6901 is the table of RFC 6901 §5 and §6.
func TestPointerOfRFC6901(t *testing.T) {
	doc := map[string]any{
		"foo": []any{"bar", "baz"}, "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, `i\j`: 5, `k"l`: 6, " ": 7, "m~n": 8,
	}
	for _, c := range []struct {
		pointer, fragment string
		want              any
	}{
		{"", "#", doc},
		{"/foo", "#/foo", doc["foo"]},
		{"/foo/0", "#/foo/0", "bar"},
		{"/", "#/", 0},
		{"/a~1b", "#/a~1b", 1},
		{"/c%d", "#/c%25d", 2},
		{"/e^f", "#/e%5Ef", 3},
		{"/g|h", "#/g%7Ch", 4},
		{`/i\j`, "#/i%5Cj", 5},
		{`/k"l`, "#/k%22l", 6},
		{"/ ", "#/%20", 7},
		{"/m~0n", "#/m~0n", 8},
	} {
		p, err := tree.ParsePointer(c.pointer)
		if err != nil {
			t.Errorf("%q: %v", c.pointer, err)
		}
		if got, ok := tree.Get(doc, p); !ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q leads to %v (%v), want %v", c.pointer, got, ok, c.want)
		}
		if got := p.Fragment(); got != c.fragment {
			t.Errorf("fragment of %q is %q, want %q", c.pointer, got, c.fragment)
		}
		if back, err := tree.ParseFragment(c.fragment); err != nil || back != p {
			t.Errorf("%q reads as %q, %v", c.fragment, back, err)
		}
	}
}

func TestPointerRefuses(t *testing.T) {
	for _, s := range []string{"foo", "/~", "/a~2", "/x~", "#/a"} {
		if _, err := tree.ParsePointer(s); err == nil {
			t.Errorf("ParsePointer(%q) accepts it", s)
		}
	}
	for _, s := range []string{"", "/a", "#a", "#/%zz", "other.yaml#/a"} {
		if _, err := tree.ParseFragment(s); err == nil {
			t.Errorf("ParseFragment(%q) accepts it", s)
		}
	}
}

func TestGetFindsNothing(t *testing.T) {
	doc := map[string]any{"a": []any{1, 2}, "s": "x"}
	for _, p := range []tree.Pointer{"/b", "/a/2", "/a/-", "/a/00", "/a/01", "/a/+1", "/a/x", "/s/0", "/a/99999999999999999999"} {
		if v, ok := tree.Get(doc, p); ok {
			t.Errorf("%q leads to %v", p, v)
		}
	}
}

func TestPointerParts(t *testing.T) {
	p := tree.PointerTo("a/b", "m~n", "")
	if p != "/a~1b/m~0n/" {
		t.Fatalf("built %q", p)
	}
	if parent, last := p.Parent(); parent != "/a~1b/m~0n" || last != "" {
		t.Errorf("parent %q, last %q", parent, last)
	}
	if parent, last := tree.Pointer("").Parent(); parent != "" || last != "" {
		t.Errorf("parent of the whole is %q, %q", parent, last)
	}
	if !tree.Pointer("/a/b").Within("/a") || tree.Pointer("/ab").Within("/a") {
		t.Error("Within compares by tokens")
	}
}

func TestSelect(t *testing.T) {
	doc := map[string]any{"refs": []any{map[string]any{"id": "a"}, map[string]any{"id": "b"}, map[string]any{}}, "*": "star"}
	got := tree.Select(doc, "/refs/*/id")
	want := []tree.Found{{Pointer: "/refs/0/id", Value: "a"}, {Pointer: "/refs/1/id", Value: "b"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	if got := tree.Select(doc, "/*"); len(got) != 1 || got[0].Value != "star" {
		t.Errorf("a member called * gives %v", got)
	}
}

// TestPointerRoundTrip: tokens survive the string form and the fragment form.
func TestPointerRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens := rapid.SliceOfN(rapid.String(), 1, 5).Draw(t, "tokens")
		p := tree.PointerTo(tokens...)
		if got := p.Tokens(); !reflect.DeepEqual(got, tokens) {
			t.Fatalf("%q has tokens %q", p, got)
		}
		if back, err := tree.ParseFragment(p.Fragment()); err != nil || back != p {
			t.Fatalf("%q comes back as %q, %v", p, back, err)
		}
	})
}

func FuzzPointer(f *testing.F) {
	for _, s := range []string{"", "/", "/a~1b/~0", "/~2", "#/a%25", "/\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := tree.ParsePointer(s)
		if err != nil {
			return
		}
		if p.Tokens() != nil && tree.PointerTo(p.Tokens()...) != p {
			t.Errorf("%q changes when it is taken apart and built again", s)
		}
		if back, err := tree.ParseFragment(p.Fragment()); err != nil || back != p {
			t.Errorf("%q comes back from its fragment as %q, %v", s, back, err)
		}
	})
}
