package hostile

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

const token = "hostile-token-4711"

// site is where the server of a row lives: its listeners, connections and goroutines, and another
// origin that nobody may visit.
type site struct {
	t       testing.TB
	stub    *stub
	good    int64 // requests that the stub answers before the server turns hostile
	served  atomic.Int64
	visits  atomic.Int64 // to the other origin
	ctx     context.Context
	stop    context.CancelFunc
	wg      sync.WaitGroup
	mu      sync.Mutex
	closers map[io.Closer]bool
}

func newSite(t testing.TB) *site {
	s := &site{t: t, closers: map[io.Closer]bool{}}
	s.stub = newStub()
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// close ends everything that the site began, and waits for it.
func (s *site) close() {
	s.stop()
	s.mu.Lock()
	for c := range s.closers {
		_ = c.Close()
	}
	s.closers = nil
	s.mu.Unlock()
	s.wg.Wait()
}

// keep closes c with the site; false: the site is closed already.
func (s *site) keep(c io.Closer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closers == nil {
		_ = c.Close()
		return false
	}
	s.closers[c] = true
	return true
}

func (s *site) drop(c io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.closers, c)
	_ = c.Close()
}

// listen hands every connection to f, which owns it until it returns, and gives the address.
func (s *site) listen(f func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.keep(l)
	s.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if !s.keep(c) {
				return
			}
			s.wg.Go(func() {
				defer s.drop(c)
				f(c)
			})
		}
	})
	return l.Addr().String()
}

// elsewhere is another origin; a connection to it is a visit.
func (s *site) elsewhere() string {
	return "http://" + s.listen(func(c net.Conn) {
		s.visits.Add(1)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
	})
}

// asked is one request and the place where its answer goes.
type asked struct {
	*http.Request
	n    int64 // of the requests that the server was hostile to, from 1
	conn net.Conn
	w    *bufio.Writer
	site *site
}

// say writes text as it is; line feeds become CRLF.
func (a *asked) say(text string) {
	_, _ = a.w.Write(crlf(text))
}

func crlf(text string) []byte { return bytes.ReplaceAll([]byte(text), []byte("\n"), []byte("\r\n")) }

// body writes a whole answer of JSON.
func (a *asked) body(status, fields string, body []byte) {
	a.say("HTTP/1.1 " + status + "\nContent-Type: application/json\nRequest-Id: r" + itoa(a.n) + "\n" + fields + "Content-Length: " + itoa(int64(len(body))) + "\n\n")
	_, _ = a.w.Write(body)
}

// stubbed is what a well-behaved server would answer.
func (a *asked) stubbed() *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	a.site.stub.ServeHTTP(rec, a.Request)
	return rec
}

// pass answers as a well-behaved server would.
func (a *asked) pass() {
	_ = a.stubbed().Result().Write(a.w)
}

// flushed sends what was said; false: nobody listens any more.
func (a *asked) flushed() bool { return a.w.Flush() == nil && a.site.ctx.Err() == nil }

// forever says a text until nobody listens.
func (a *asked) forever(text string) {
	b := bytes.Repeat(crlf(text), max(1, 64<<10/len(text)))
	for a.flushed() {
		_, _ = a.w.Write(b)
	}
}

// wait holds the connection until the client or the site closes it.
func (a *asked) wait() {
	a.flushed()
	_, _ = io.Copy(io.Discard, a.conn)
}

// answers is a server that answers each request with f after the first good ones; the connection
// stays open while f says so.
func (s *site) answers(f func(*asked) (keep bool)) string {
	return "http://" + s.listen(func(c net.Conn) { s.talk(c, f) })
}

func (s *site) talk(c net.Conn, f func(*asked) bool) {
	br, w := bufio.NewReader(c), bufio.NewWriterSize(c, 64<<10)
	for {
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		body, _ := io.ReadAll(io.LimitReader(r.Body, 8<<20))
		r.Body = io.NopCloser(bytes.NewReader(body))
		a := &asked{Request: r, n: s.served.Add(1) - s.good, conn: c, w: w, site: s}
		keep := true
		if a.n <= 0 {
			a.pass()
		} else {
			keep = f(a)
		}
		if !a.flushed() || !keep {
			return
		}
	}
}

// secure is a server behind a certificate.
func (s *site) secure(cert tls.Certificate) string {
	return "https://" + s.listen(func(c net.Conn) {
		s.talk(tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}), func(a *asked) bool { a.pass(); return true })
	})
}
