package mutant

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// answer is what the wrapped server said, kept until it is sent on; it is an http.ResponseWriter.
type answer struct {
	header http.Header
	status int
	body   []byte
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) { a.status = status }

func (a *answer) Write(b []byte) (int, error) {
	a.body = append(a.body, b...)
	return len(b), nil
}

// Flush has nothing to do: what is kept is sent on when it is whole.
func (a *answer) Flush() {}

// ask lets a server answer a request.
func ask(h http.Handler, r *http.Request) *answer {
	a := &answer{header: http.Header{}, status: http.StatusOK}
	h.ServeHTTP(a, r)
	return a
}

// send answers with it.
func (a *answer) send(w http.ResponseWriter) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	if len(a.body) > 0 {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // who does not listen any more misses it
}

// object is the body as a JSON object, nil if it is none.
func (a *answer) object() map[string]any {
	dec := json.NewDecoder(bytes.NewReader(a.body))
	dec.UseNumber()
	var m map[string]any
	if dec.Decode(&m) != nil {
		return nil
	}
	return m
}

func (a *answer) set(v any) { a.body = encode(v) }

// text is a member of the body that is a string, "" if there is none.
func (a *answer) text(member string) string { return text(a.object(), member) }

// encode writes JSON without HTML escapes. All that is written here was JSON before.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// decoded is a stored body as a JSON object, nil if it is none.
func decoded(raw []byte) map[string]any { return (&answer{body: raw}).object() }

func text(m map[string]any, member string) string {
	s, _ := m[member].(string)
	return s
}

func items(m map[string]any) []map[string]any {
	list, _ := m["items"].([]any)
	var out []map[string]any
	for _, it := range list {
		if item, ok := it.(map[string]any); ok {
			out = append(out, item)
		}
	}
	return out
}

// is reports whether a request has a method and a path of this form; "*" is any one segment.
func is(r *http.Request, method, form string) bool {
	if r.Method != method {
		return false
	}
	want, got := strings.Split(form, "/"), strings.Split(r.URL.Path, "/")
	if len(want) != len(got) {
		return false
	}
	for i, seg := range want {
		if seg != "*" && seg != got[i] || seg == "*" && got[i] == "" {
			return false
		}
	}
	return true
}

// segment is one part of a path, counted from the end: 0 is the last.
func segment(r *http.Request, fromEnd int) string {
	parts := strings.Split(r.URL.Path, "/")
	return parts[len(parts)-1-fromEnd]
}

// wrap makes a Wrap of what is to be done with each request.
func wrap(serve func(next http.Handler, w http.ResponseWriter, r *http.Request)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(next, w, r) })
	}
}

// edit makes a Wrap that changes answers.
func edit(change func(r *http.Request, a *answer)) func(http.Handler) http.Handler {
	return wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		a := ask(next, r)
		change(r, a)
		a.send(w)
	})
}

// also carries out a further request for whoever sent r, who does not see the answer.
func also(h http.Handler, r *http.Request, method, target, body string) *answer {
	sub := r.Clone(context.WithoutCancel(r.Context()))
	sub.Method, sub.RequestURI = method, target
	sub.URL = &url.URL{}
	sub.URL.Path, sub.URL.RawQuery, _ = strings.Cut(target, "?")
	sub.Header = http.Header{"Authorization": r.Header.Values("Authorization")}
	sub.Body, sub.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	if body != "" {
		sub.Header.Set("Content-Type", "application/json")
		sub.Header.Set("Idempotency-Key", rand.Text())
	}
	return ask(h, sub)
}

// bodyOf reads a request's body and leaves it in place.
func bodyOf(r *http.Request) []byte {
	b, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	return b
}

// refuse answers with problem details of its own.
func refuse(w http.ResponseWriter, status int, code string) {
	a := problem(status, code)
	a.send(w)
}

func problem(status int, code string) *answer {
	id := "req_" + rand.Text()
	a := &answer{status: status, header: http.Header{"X-Request-Id": {id}, "Content-Type": {"application/problem+json"}}}
	a.set(map[string]any{"type": "about:blank", "title": http.StatusText(status), "status": status, "code": code, "request_id": id})
	return a
}

// listening is how long a server looks whether its client is still there, before it answers: after
// the answer a client may close a connection for reasons of its own.
const listening = 15 * time.Millisecond

// gone reports whether the client went away.
func gone(r *http.Request) bool {
	select {
	case <-r.Context().Done():
		return true
	case <-time.After(listening):
		return false
	}
}
