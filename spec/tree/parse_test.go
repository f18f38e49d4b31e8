package tree_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay.kit/spec/tree"
)

func TestPlaces(t *testing.T) {
	for file, text := range map[string]string{
		"a.yaml": "# top\ninfo:\n  title: x\n  tags:\n    - one\n    - {two: 2}\n",
		"a.json": "\n\n{\"info\": {\n\"title\": \"x\",\n\"tags\": [\n\"one\", {\"two\": 2}]}}",
	} {
		root, err := tree.Parse(file, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		lines := map[string]map[tree.Pointer]int{
			"a.yaml": {"/info/title": 3, "/info/tags/0": 5, "/info/tags/1/two": 6},
			"a.json": {"/info": 3, "/info/title": 4, "/info/tags": 5, "/info/tags/1/two": 6},
		}[file]
		for p, line := range lines {
			n := root.At(p)
			if n == nil || n.Line != line || n.Pointer != p || n.File != file {
				t.Errorf("%s %s: %+v, want line %d", file, p, n, line)
			}
		}
		if got := root.Nearest("/info/title/x/y"); got.Pointer != "/info/title" {
			t.Errorf("nearest is %s", got.Pointer)
		}
	}
}

// TestYAMLAsJSON lists what YAML can write and JSON cannot.
func TestYAMLAsJSON(t *testing.T) {
	for in, want := range map[string]string{
		"200: ok":                                   `{"200":"ok"}`,
		"true: 1\nnull: 2":                          `{"true":1,"null":2}`,
		"at: 2026-10-01":                            `{"at":"2026-10-01"}`,
		"at: 2026-10-01T00:00:00Z":                  `{"at":"2026-10-01T00:00:00Z"}`,
		"a: 1.50":                                   `{"a":1.50}`,
		"a: 9007199254740993":                       `{"a":9007199254740993}`,
		"a: 0x1F\nb: 0o17\nc: +1\nd: .5":            `{"a":31,"b":15,"c":1,"d":0.5}`,
		"a: 1_000":                                  `{"a":1000}`,
		"a: yes\nb: off\nc: ~\nd: True":             `{"a":"yes","b":"off","c":null,"d":true}`,
		"a: '1'\nb: \"true\"":                       `{"a":"1","b":"true"}`,
		"a: &x {k: 1}\nb: *x":                       `{"a":{"k":1},"b":{"k":1}}`,
		"a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}":     `{"a":{"k":1,"l":2},"b":{"k":3,"l":2}}`,
		"a: &x {k: 1}\nb: {<<: [*x, {k: 9, m: 2}]}": `{"a":{"k":1},"b":{"k":1,"m":2}}`,
		"- |\n  two\n  lines\n":                     `["two\nlines\n"]`,
	} {
		root, err := tree.ParseYAML("x.yaml", []byte(in))
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got := string(root.JSON()); got != want {
			t.Errorf("%q reads as %s, want %s", in, got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	deep := tree.MaxDepth + 1
	for _, c := range []struct {
		name, file, in string
		line           int
		want           string
	}{
		{"duplicate key", "x.yaml", "a: 1\nb: 2\na: 3\n", 3, `"a" is there twice; the first is in line 1`},
		{"duplicate number key", "x.yaml", "r:\n  200: a\n  '200': b\n", 3, `"200" is there twice`},
		{"duplicate member", "x.json", "{\n\"a\": 1,\n\"a\": 2}", 3, `"a" is there twice; the first is in line 2`},
		{"duplicate by escape", "x.json", "{\"a\": 1,\n\"\\u0061\": 2}", 2, "twice"},
		{"bad YAML", "x.yaml", "a: 1\nb: [1,\n", 3, "not YAML"},
		{"bad JSON", "x.json", "{\n\"a\": 1,\n}", 3, "not JSON"},
		{"cut JSON", "x.json", "{\n\"a\": [1", 2, "ends too early"},
		{"empty", "x.json", "", 1, "ends too early"},
		{"empty YAML", "x.yaml", "# nothing\n", 1, "no documents"},
		{"two values", "x.json", "{}\n{}", 2, "something follows"},
		{"two documents", "x.yaml", "a: 1\n---\nb: 2\n", 0, "not YAML"},
		{"not UTF-8", "x.json", "{\n\"a\": \"\xff\"}", 2, "not UTF-8"},
		{"lone high surrogate", "x.json", "[\n\"\\ud83d\"]", 2, "half of a surrogate pair"},
		{"lone low surrogate", "x.json", `["\ude00"]`, 1, "half of a surrogate pair"},
		{"reversed surrogates", "x.json", `["\ude00\ud83d"]`, 1, "half of a surrogate pair"},
		{"deep JSON", "x.json", strings.Repeat("[", deep) + strings.Repeat("]", deep), 1, "nested deeper"},
		{"deep YAML", "x.yaml", strings.Repeat("[", deep) + strings.Repeat("]", deep), 1, "nested deeper"},
		{"very deep YAML", "x.yaml", strings.Repeat("[", 20000), 0, "not YAML"},
		{"huge", "x.json", strings.Repeat(" ", tree.MaxBytes+1), 1, "bytes"},
		{"huge YAML", "x.yaml", strings.Repeat(" ", tree.MaxBytes+1), 1, "bytes"},
		{"huge exponent", "x.json", "[1e999999999]", 1, "exponent"},
		{"huge exponent YAML", "x.yaml", "a: 1e-999", 1, "exponent"},
		{"long number", "x.json", "[" + strings.Repeat("1", 600) + "]", 1, "characters"},
		{"infinity", "x.yaml", "a: 1\nb: .inf", 2, "JSON does not have"},
		{"not a number", "x.yaml", "b: .nan", 1, "JSON does not have"},
		{"foreign tag", "x.yaml", "a: !!binary aGk=", 1, "tag"},
		{"own tag", "x.yaml", "a: !thing {}", 1, "tag"},
		{"complex key", "x.yaml", "? [a, b]\n: 1\n", 1, "key"},
		{"merge of a scalar", "x.yaml", "a:\n  <<: 3\n", 2, "merges a mapping"},
		{"unknown alias", "x.yaml", "a: *nope\n", 1, "not YAML"},
		{"self alias", "x.yaml", "a: &x\n  b: *x\n", 0, ""},
	} {
		_, err := tree.Parse(c.file, []byte(c.in))
		var te *tree.Error
		if !errors.As(err, &te) {
			t.Errorf("%s: error is %v", c.name, err)
			continue
		}
		if c.line > 0 && te.Line != c.line || te.Line == 0 || te.File != c.file || !strings.Contains(te.Message, c.want) {
			t.Errorf("%s: got %v (line %d), want line %d with %q", c.name, err, te.Line, c.line, c.want)
		}
	}
}

// TestAliasBomb: nine levels of ten aliases each would be a billion values.
func TestAliasBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	_, err := tree.ParseYAML("bomb.yaml", []byte(b.String()))
	if err == nil || !strings.Contains(err.Error(), "aliases unfold") {
		t.Errorf("error is %v", err)
	}
}

func TestSurrogatePair(t *testing.T) {
	n, err := tree.ParseJSON("x.json", []byte(`["\ud83d\ude00 \ufffd \\ud83d"]`))
	if err != nil || n.Items[0].Text != "\U0001F600 \uFFFD \\ud83d" {
		t.Errorf("read %+v, %v", n, err)
	}
}

// value draws a JSON value as text-independent Go data.
func value(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,10})?([eE][+-]?[0-9]{1,2})?`), func(s string) any { return json.Number(s) }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return value(depth - 1) })
	return rapid.OneOf(append(scalars,
		rapid.Map(rapid.SliceOfN(inner, 0, 4), func(vs []any) any { return append([]any{}, vs...) }),
		rapid.Map(rapid.MapOfN(rapid.String(), inner, 0, 4), func(m map[string]any) any { return m }),
	)...)
}

// TestRoundTrip: a value written by a tree reads back equal, to the spelling of its numbers, by
// both decoders; and a pointer from each node leads back to it.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := value(3).Draw(t, "value")
		text := tree.FromValue(v).JSON()
		root, err := tree.ParseJSON("x.json", text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := root.Value(); !reflect.DeepEqual(got, v) {
			t.Fatalf("%s reads as %v", text, got)
		}
		if got := root.JSON(); string(got) != string(text) {
			t.Fatalf("%s is written as %s", text, got)
		}
		if got, err := tree.DecodeJSON(text); err != nil || !reflect.DeepEqual(got, v) {
			t.Fatalf("%s decodes as %v, %v", text, got, err)
		}
		root.Walk(func(n *tree.Node) bool {
			if root.At(n.Pointer) != n {
				t.Fatalf("%q does not lead to its node", n.Pointer)
			}
			return true
		})
	})
}

// TestYAMLReadsJSON: JSON text is YAML with the same meaning (YAML 1.2 §1.3), for printable text.
func TestYAMLReadsJSON(t *testing.T) {
	text := rapid.StringMatching(`[ -~äß€]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		m := map[string]any{}
		for k, v := range rapid.MapOfN(text, text, 0, 5).Draw(t, "members") {
			m[k] = v
		}
		m["list"] = []any{json.Number("1.50"), true, nil, map[string]any{}}
		doc := tree.FromValue(m).JSON()
		root, err := tree.ParseYAML("x.yaml", doc)
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		if got := root.Value(); !reflect.DeepEqual(got, m) {
			t.Fatalf("%s reads as %v", doc, got)
		}
	})
}

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.50,"\ud83d\ude00"]}`, `[1e400]`, `{"a":1,"a":2}`, `"\ud800"`, "[1,]", "nul", `{"a" "b"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		root, err := tree.ParseJSON("x.json", data)
		v, derr := tree.DecodeJSON(data)
		if (err == nil) != (derr == nil) {
			t.Fatalf("ParseJSON says %v, DecodeJSON %v", err, derr)
		}
		if err != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q is no JSON and was read", data)
		}
		if !reflect.DeepEqual(root.Value(), v) {
			t.Fatalf("%q: the two readers differ", data)
		}
		if again, err := tree.ParseJSON("x.json", root.JSON()); err != nil || !reflect.DeepEqual(again.Value(), v) {
			t.Fatalf("%q does not survive writing: %v", data, err)
		}
	})
}

func FuzzParseYAML(f *testing.F) {
	for _, s := range []string{"a: &x {k: 1}\nb: *x", "<<: {a: 1}", "200: ok", "a: 0x_1", "? a\n: b", "- !!str 1", "a: &a [*a]", "%YAML 1.2\n---\na"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		root, err := tree.ParseYAML("x.yaml", data)
		if err != nil {
			var te *tree.Error
			if !errors.As(err, &te) || te.Line < 1 {
				t.Fatalf("%q: error without line: %v", data, err)
			}
			return
		}
		text := root.JSON()
		if !json.Valid(text) {
			t.Fatalf("%q is written as %s", data, text)
		}
	})
}
