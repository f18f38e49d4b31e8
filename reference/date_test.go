package reference

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

type stoppedClock struct{ at time.Time }

func (c stoppedClock) Now() time.Time { return c.at }

func (stoppedClock) Wait(ctx context.Context, _ time.Time) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestDateIsOfTheContractClock(t *testing.T) {
	at := time.Date(2031, 5, 6, 7, 8, 9, 0, time.FixedZone("", 3600))
	for name, h := range map[string]http.HandlerFunc{
		"with a status":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) },
		"with a body only": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") },
		"with an interim answer": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusOK)
		},
	} {
		web := httptest.NewServer(dated(stoppedClock{at}, h))
		rs, err := web.Client().Get(web.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = rs.Body.Close()
		web.Close()
		if got, want := rs.Header.Get("Date"), "Tue, 06 May 2031 06:08:09 GMT"; got != want {
			t.Errorf("%s: Date is %q, want %q", name, got, want)
		}
	}
}
