package target

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"assay.kit/conformance/wire"
)

func BenchmarkDo(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, rq *http.Request) { _, _ = io.WriteString(w, `{"ok":true}`) }))
	defer s.Close()
	r, err := New(profileFor(s.URL), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for b.Loop() {
		if ex := r.Do(b.Context(), "primary", wire.Request{Method: "POST", Target: "/x", Body: []byte(`{"a":1}`)}, Call{}); ex.End != wire.EndComplete {
			b.Fatal(ex)
		}
	}
}
