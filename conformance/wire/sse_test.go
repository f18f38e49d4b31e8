package wire

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseStream(t *testing.T) {
	for _, tc := range []struct {
		name, body, want string
		whole            bool
	}{
		{"one", "data: x\n\n", "[|x|]", true},
		{"named", "event: e\nid: 7\ndata: x\n\n", "[e|x|7]", true},
		{"lines are joined", "data: a\ndata:b\r\ndata\r\r", "[|a\nb\n|]", true},
		{"comments and unknown fields are nothing", ": hello\nfoo: bar\n\ndata: x\n\n", "[||][|x|]", true},
		{"one blank after the colon goes", "data:  x\n\n", "[| x|]", true},
		{"an id with NUL is ignored", "id: a\x00b\ndata: x\n\n", "[|x|]", true},
		{"a mark of order is skipped", "\xEF\xBB\xBFdata: x\n\n", "[|x|]", true},
		{"not ended", "data: x\n\ndata: y\n", "[|x|]", false},
		{"cut in a line", "data: x\n\ndata: y", "[|x|]", false},
		{"empty", "", "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			events, whole := ParseStream([]byte(tc.body))
			var got strings.Builder
			for _, e := range events {
				fmt.Fprintf(&got, "[%s|%s|%s]", e.Name, e.Data, e.ID)
			}
			if got.String() != tc.want || whole != tc.whole {
				t.Errorf("got %q, whole %v", got.String(), whole)
			}
		})
	}
}

func FuzzParseStream(f *testing.F) {
	f.Add([]byte("id: 1\ndata: {}\r\n\r\nretry: 10\n\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		events, _ := ParseStream(body)
		n := 0
		for _, e := range events {
			n += len(e.Data) + len(e.ID) + len(e.Name)
		}
		if n > len(body) {
			t.Errorf("%d bytes came out of %d", n, len(body))
		}
	})
}

func FuzzParseMessage(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := ParseMessage(raw)
		_, _ = m.Code()
		if m.Err == nil && m.Name() != "" && m.IsResponse() {
			t.Error("a message is a request and a response")
		}
	})
}
