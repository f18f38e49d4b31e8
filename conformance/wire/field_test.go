package wire

import (
	"encoding/json"
	"testing"
)

func TestFieldKeepsItsBytes(t *testing.T) {
	for want, f := range map[string]Field{
		`{"name":"X-A","value":""}`:                            {"X-A", ""},
		`{"name":"X-A","value":"b"}`:                           {"X-A", "b"},
		`{"name":{"base64":"/w=="},"value":{"base64":"YQD/"}}`: {"\xff", "a\x00\xff"},
	} {
		got, err := json.Marshal(f)
		var back Field
		if err != nil || string(got) != want || json.Unmarshal(got, &back) != nil || back != f {
			t.Errorf("%q: %s, %v, back %q", f, got, err, back)
		}
	}
	var f Field
	if err := json.Unmarshal([]byte(`{"name": 1}`), &f); err == nil {
		t.Error("a number is taken for a name")
	}
	// An empty body is not the same as none, written and read again.
	for _, body := range []Bytes{nil, {}, Bytes("x")} {
		b, _ := json.Marshal(Request{Body: body})
		var back Request
		if err := json.Unmarshal(b, &back); err != nil || (back.Body == nil) != (body == nil) || string(back.Body) != string(body) {
			t.Errorf("%#v became %#v in %s", body, back.Body, b)
		}
	}
}
