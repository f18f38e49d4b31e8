package suite

import (
	"strings"
	"testing"

	"assay.kit/conformance/wire"
	"assay.kit/spec"
)

func TestPattern(t *testing.T) {
	if got := pattern("/a/0/b/12"); got != "/a/*/b/*" {
		t.Errorf("got %s", got)
	}
}

// TestRespelled: the same instant, and so the same order of keys.
func TestRespelled(t *testing.T) {
	c := condition{fl: spec.Filter{Param: "since"}, value: "2026-03-01T20:00:00.5Z"}
	got, ok := respelled(c, 9)
	if !ok || got.value != "2026-03-02T05:00:00.5+09:00" {
		t.Errorf("%q, %t", got.value, ok)
	}
	if _, ok := respelled(condition{value: "yesterday"}, 9); ok {
		t.Error("what is no instant has no other spelling")
	}
}

func TestChunked(t *testing.T) {
	rq := chunked(wire.Request{Method: "POST", Body: []byte(strings.Repeat("a", 26))})
	if want := "1a\r\n" + strings.Repeat("a", 26) + "\r\n0\r\n\r\n"; string(rq.Body) != want {
		t.Errorf("got %q", rq.Body)
	}
}
