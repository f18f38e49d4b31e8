package reference

import (
	"net/http"

	"assay.kit/reference/core"
)

// dated writes the contract clock's time as the Date of every answer. Expiries are announced by that
// clock; next to a Date of another one they would be off by as much as the clock was moved.
func dated(clock core.Clock, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&dateWriter{ResponseWriter: w, clock: clock}, r)
	})
}

type dateWriter struct {
	http.ResponseWriter
	clock core.Clock
	begun bool
}

func (w *dateWriter) WriteHeader(status int) {
	if !w.begun && status >= 200 {
		w.begun = true
		w.Header().Set("Date", w.clock.Now().UTC().Format(http.TimeFormat))
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *dateWriter) Write(b []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *dateWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
