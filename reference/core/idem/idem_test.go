package idem_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"assay.kit/reference/core/idem"
)

func TestNormalize(t *testing.T) {
	for in, want := range map[string]string{
		"/v1/jobs":            "/v1/jobs",
		"/v1/%6aobs":          "/v1/jobs",
		"/v1/%6Aobs/%7e%2D":   "/v1/jobs/~-",
		"/a%2fb":              "/a%2Fb",
		"/a%2Fb":              "/a%2Fb",
		"/a/./b":              "/a/b",
		"/a/../b":             "/b",
		"/a/%2e%2E/b":         "/b",
		"/../b":               "/b",
		"/a/b/..":             "/a/",
		"/a/b/.":              "/a/b/",
		"/a/b/":               "/a/b/",
		"/a//b":               "/a//b",
		"/a%20b%C3%a9":        "/a%20b%C3%A9",
		"/broken%zz%4":        "/broken%zz%4",
		"/.hidden/..x":        "/.hidden/..x",
		"/%2525":              "/%2525",
		"":                    "",
		"/":                   "/",
		"/a/../../b/./../c/.": "/c/",
	} {
		if got := idem.Normalize(in); got != want {
			t.Errorf("Normalize(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzNormalize(f *testing.F) {
	for _, s := range []string{"/a/%2e%2e/b", "/%2F%2f", "//a/./", "%", "/a/.."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := idem.Normalize(s)
		if twice := idem.Normalize(once); twice != once {
			t.Errorf("Normalize is not idempotent: %q -> %q -> %q", s, once, twice)
		}
		if strings.Count(strings.ToUpper(s), "%2F") < strings.Count(once, "%2F") {
			t.Errorf("%q -> %q: an escaped slash came to be", s, once)
		}
	})
}

func TestDecodeRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"empty":                  ``,
		"two values":             `1 2`,
		"cut":                    `{"a":`,
		"trailing comma":         `[1,]`,
		"comment":                `[1] // one`,
		"duplicate name":         `{"a":1,"a":1}`,
		"duplicate, escaped":     `{"a":1,"\u0061":1}`,
		"duplicate below":        `{"x":[{"a":1,"a":2}]}`,
		"invalid UTF-8":          "\"\xff\"",
		"overlong UTF-8":         "\"\xc0\xaf\"",
		"surrogate in UTF-8":     "\"\xed\xa0\x80\"",
		"lone high surrogate":    `"\ud800"`,
		"lone low surrogate":     `"\udc00"`,
		"high without low":       `"\ud800\u0041"`,
		"control character":      "\"a\nb\"",
		"bad escape":             `"\x41"`,
		"short escape":           `"\u12"`,
		"signed hex":             `"\u+123"`,
		"byte order mark":        "\ufeff1",
		"leading zero":           `01`,
		"plus":                   `+1`,
		"bare point":             `1.`,
		"hexadecimal":            `0x10`,
		"not a number":           `NaN`,
		"beyond 2^53":            `9007199254740993`,
		"too many digits":        `0.12345678901234567890123`,
		"beyond a double":        `1e400`,
		"below a double":         `1e-400`,
		"an exponent of an age":  `1e99999999999999999999`,
		"deep":                   strings.Repeat("[", 300) + strings.Repeat("]", 300),
		"capital true":           `True`,
		"single quotes":          `{'a':1}`,
		"form feed as space":     "\f1",
		"no-break space":         "\u00a01",
		"name without a value":   `{"a"}`,
		"nothing between commas": `[1,,2]`,
	} {
		if v, err := idem.Decode([]byte(in)); err == nil {
			t.Errorf("%s: Decode(%.40q) = %v, want an error", name, in, v)
		}
	}
}

func TestDecodeKeepsValues(t *testing.T) {
	in := ` {"s":"\u00e9\ud83d\ude00\/\"\\\b\f\n\r\t","n":-0.10e+1,"big":9007199254740992,"list":[true,false,null,{}],"o":{"":1}} `
	v, err := idem.Decode([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	m := v.(map[string]any)
	if m["s"] != "é😀/\"\\\b\f\n\r\t" {
		t.Errorf("s = %q", m["s"])
	}
	if m["n"] != json.Number("-0.10e+1") || m["big"] != json.Number("9007199254740992") {
		t.Errorf("numbers: %v %v", m["n"], m["big"])
	}
	if len(m["list"].([]any)) != 4 {
		t.Errorf("list: %v", m["list"])
	}
}

func TestExact(t *testing.T) {
	for lit, want := range map[string]bool{
		"0": true, "-0": true, "0.0": true, "0e99999999999": true, "1": true, "1.0": true, "1e0": true, "0.1": true, "100": true, "1e2": true,
		"5e-324": true, "1.7976931348623157e308": true, "9007199254740992": true, "-0.035438": true, "1e23": true, "0.30": true,
		"9007199254740993": false, "0.1000000000000000055511151231257827": false, "1e309": false, "1e-325": false, "4.9e-324": false,
		"1e999999999999999999999": false, "12345678901234567890": false,
	} {
		if got := idem.Exact(lit); got != want {
			t.Errorf("Exact(%s) = %v, want %v", lit, got, want)
		}
	}
}

func TestFingerprint(t *testing.T) {
	base := `{"a":1,"b":[1,2,{"c":"é"}],"d":0.1}`
	want, err := idem.Fingerprint([]byte(base))
	if err != nil {
		t.Fatal(err)
	}
	for name, same := range map[string]string{
		"member order":     `{"d":0.1,"b":[1,2,{"c":"é"}],"a":1}`,
		"white space":      " {\n\"a\" : 1,\t\"b\":[ 1,2,{\"c\":\"é\"}],\"d\":0.1}\r\n",
		"string escapes":   `{"\u0061":1,"b":[1,2,{"c":"\u00E9"}],"d":0.1}`,
		"number spellings": `{"a":1.0,"b":[1e0,20e-1,{"c":"é"}],"d":1E-1}`,
	} {
		if got, err := idem.Fingerprint([]byte(same)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s changes the fingerprint (%v)", name, err)
		}
	}
	for name, other := range map[string]string{
		"value below":      `{"a":1,"b":[1,2,{"c":"e"}],"d":0.1}`,
		"array order":      `{"a":1,"b":[2,1,{"c":"é"}],"d":0.1}`,
		"string or number": `{"a":"1","b":[1,2,{"c":"é"}],"d":0.1}`,
		"null or absent":   `{"a":1,"b":[1,2,{"c":"é"}],"d":0.1,"e":null}`,
		"combining accent": "{\"a\":1,\"b\":[1,2,{\"c\":\"e\u0301\"}],\"d\":0.1}",
		"last digit":       `{"a":1,"b":[1,2,{"c":"é"}],"d":0.10000000000000002}`,
		"nothing":          ``,
	} {
		if got, err := idem.Fingerprint([]byte(other)); err != nil || bytes.Equal(got, want) {
			t.Errorf("%s does not change the fingerprint (%v)", name, err)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":[1.5,"x",null,true]}`, `"\ud83d\ude00"`, `1e21`, `[0.1,-0,1E-7]`, `{"€":1,"ﬀ":2,"😀":3}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := idem.Decode(body)
		if err != nil {
			return
		}
		if !json.Valid(body) {
			t.Fatalf("Decode accepts %q, which is no JSON", body)
		}
		c, err := idem.Canonical(body)
		if err != nil {
			t.Fatalf("Canonical(%q): %v", body, err)
		}
		again, err := idem.Canonical(c)
		if err != nil || !bytes.Equal(again, c) {
			t.Fatalf("not a fixed point: %q -> %q -> %q (%v)", body, c, again, err)
		}
		respelled, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if other, err := idem.Canonical(respelled); err != nil || !bytes.Equal(other, c) {
			t.Fatalf("respelled %q -> %q, want %q (%v)", respelled, other, c, err)
		}
	})
}

func TestIdentity(t *testing.T) {
	all := []string{"workspace", "client", "method", "path"}
	base := idem.Source{Workspace: "w", Client: "c", Method: "POST", Path: "/p", Key: "k"}
	seen := map[string]idem.Source{}
	for _, s := range []idem.Source{
		base, {"x", "c", "POST", "/p", "k"}, {"w", "x", "POST", "/p", "k"}, {"w", "c", "PUT", "/p", "k"}, {"w", "c", "POST", "/q", "k"}, {"w", "c", "POST", "/p", "l"},
		{"wc", "", "POST", "/p", "k"}, {"", "wc", "POST", "/p", "k"}, {"w", "c", "POST", "/pk", ""},
	} {
		id := idem.Identity(all, s)
		if twin, ok := seen[id]; ok {
			t.Errorf("%+v and %+v have one identity", s, twin)
		}
		seen[id] = s
	}
	shared := []string{"workspace", "method", "path"}
	other := base
	other.Client = "x"
	if idem.Identity(shared, base) != idem.Identity(shared, other) {
		t.Error("the client counts although the scope leaves it out")
	}
	if idem.Identity(shared, base) == idem.Identity(all, base) {
		t.Error("two scopes give one identity")
	}
}

func TestDecide(t *testing.T) {
	now := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	bound := &idem.Bound{Fingerprint: []byte{1}, Expires: now}
	for _, c := range []struct {
		b    *idem.Bound
		fp   byte
		at   time.Duration
		want idem.Decision
	}{
		{nil, 1, 0, idem.Admit},
		{bound, 1, -time.Nanosecond, idem.Replay},
		{bound, 2, -time.Nanosecond, idem.Conflict},
		{bound, 1, 0, idem.Admit},
		{bound, 2, time.Hour, idem.Admit},
	} {
		if got := idem.Decide(c.b, []byte{c.fp}, now.Add(c.at)); got != c.want {
			t.Errorf("%+v at %s: %v, want %v", c.b, c.at, got, c.want)
		}
	}
}

func TestExpiry(t *testing.T) {
	now := time.Date(2026, 10, 1, 0, 0, 0, 1, time.UTC)
	if got, want := idem.Expiry(now, time.Hour), time.Date(2026, 10, 1, 1, 0, 1, 0, time.UTC); !got.Equal(want) {
		t.Errorf("Expiry = %s, want %s", got, want)
	}
	whole := now.Truncate(time.Second)
	if got := idem.Expiry(whole, time.Hour); !got.Equal(whole.Add(time.Hour)) {
		t.Errorf("a whole second was moved to %s", got)
	}
}

func TestValidKey(t *testing.T) {
	for key, want := range map[string]bool{
		"k": true, strings.Repeat("k", 255): true, "a b~!": true,
		"": false, strings.Repeat("k", 256): false, "a\tb": false, "é": false, "\x7f": false,
	} {
		if got := idem.ValidKey(key, 255); got != want {
			t.Errorf("ValidKey(%.20q) = %v, want %v", key, got, want)
		}
	}
}
