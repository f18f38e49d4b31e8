package wire

import (
	"bytes"
	"encoding/json"
	"testing"
)

func FuzzBytes(f *testing.F) {
	for _, s := range []string{"", `{"a":"é"}`, "\xff\x00", "\u2028<&>"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := json.Marshal(Event{Data: data})
		if err != nil {
			t.Fatal(err)
		}
		var back Event
		if err := json.Unmarshal(text, &back); err != nil || !bytes.Equal(back.Data, data) {
			t.Errorf("%q became %s and then %q, %v", data, text, back.Data, err)
		}
	})
}

func TestBytesForm(t *testing.T) {
	for _, c := range []struct {
		in   Bytes
		want string
	}{{nil, "null"}, {Bytes(`{"a":1}`), `"{\"a\":1}"`}, {Bytes{0xff}, `{"base64":"/w=="}`}} {
		if got, err := json.Marshal(c.in); err != nil || string(got) != c.want {
			t.Errorf("%q is written %s, %v; want %s", c.in, got, err, c.want)
		}
	}
	var b Bytes
	for _, bad := range []string{`1`, `{}`, `{"base64":"!"}`, `{"base64":1}`} {
		if err := json.Unmarshal([]byte(bad), &b); err == nil {
			t.Errorf("%s was read as %q", bad, b)
		}
	}
}
