package target

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay.kit/conformance/wire"
)

func profileFor(url string) *Profile {
	return &Profile{BaseURL: url, Credentials: map[string]Credential{
		"primary": {Bearer: NewSecret("tok-secret-1")}, "second_client": {Bearer: NewSecret("tok-secret-2")}}}
}

func caller(t *testing.T, p *Profile, o Options) *REST {
	t.Helper()
	r, err := New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// raw is a server that talks bytes: it reads one request head and body by Content-Length, records
// it, and hands the connection to answer, which says whether to go on.
type raw struct {
	url  string
	mu   sync.Mutex
	seen []string
	dial int
}

func rawServer(t *testing.T, answer func(n int, c net.Conn) bool) *raw {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &raw{url: "http://" + l.Addr().String()}
	var wait sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); wait.Wait() })
	wait.Add(1)
	go func() {
		defer wait.Done()
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.dial++
			s.mu.Unlock()
			wait.Add(1)
			go func() {
				defer wait.Done()
				defer func() { _ = c.Close() }()
				_ = c.SetDeadline(time.Now().Add(10 * time.Second))
				br := bufio.NewReader(c)
				for {
					text, ok := readRequest(br)
					if !ok {
						return
					}
					s.mu.Lock()
					s.seen = append(s.seen, text)
					n := len(s.seen)
					s.mu.Unlock()
					if !answer(n, c) {
						return
					}
				}
			}()
		}
	}()
	return s
}

func readRequest(br *bufio.Reader) (string, bool) {
	var b strings.Builder
	length := 0
	for {
		line, err := br.ReadString('\n')
		if err != nil {
			return "", false
		}
		b.WriteString(line)
		if v, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			_, _ = fmt.Sscan(v, &length)
		}
		if line == "\r\n" {
			break
		}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(br, body); err != nil {
		return "", false
	}
	return b.String() + string(body), true
}

func (s *raw) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func send(c net.Conn, text string) bool {
	_, err := io.WriteString(c, text)
	return err == nil
}

func TestBytesOnTheWire(t *testing.T) {
	s := rawServer(t, func(_ int, c net.Conn) bool { return send(c, ok) })
	r := caller(t, profileFor(s.url+"/base%2Fx/"), Options{UserAgent: "probe"})
	for _, target := range []string{"/v1/a", "/v1/%61%2fb/../c//d/.", "/v1/a?x=%zz&y=a+b&&", "?q", "/v1/;p=1/:cancel", "/é"} {
		ex := r.Do(t.Context(), "primary", wire.Request{Method: "GET", Target: target}, Call{})
		if ex.End != wire.EndComplete || ex.Status() != 200 || string(ex.Body()) != "ok" {
			t.Fatalf("%s: %+v", target, ex)
		}
		got := s.requests()
		if want := "GET /base%2Fx" + target + " HTTP/1.1\r\n"; !strings.HasPrefix(got[len(got)-1], want) {
			t.Errorf("%q, not %q", got[len(got)-1], want)
		}
	}
	ex := r.Do(t.Context(), "", wire.Request{Method: "POST", Target: "/", Body: []byte{}, Fields: []wire.Field{
		{Name: "x-odd", Value: "1"}, {Name: "X-Odd", Value: "2"}, {Name: "IDEMPOTENCY-key", Value: "k"}, {Name: "X-Bytes", Value: "\xff"}, {Name: "User-Agent", Value: ""}}}, Call{})
	got := s.requests()[len(s.requests())-1]
	want := "POST /base%2Fx/ HTTP/1.1\r\nHost: " + strings.TrimPrefix(s.url, "http://") + "\r\nx-odd: 1\r\nX-Odd: 2\r\nIDEMPOTENCY-key: k\r\nX-Bytes: \xff\r\nUser-Agent: \r\nContent-Length: 0\r\n\r\n"
	if ex.End != wire.EndComplete || got != want {
		t.Errorf("%q\nnot\n%q", got, want)
	}
	if got := len(s.requests()); got != 7 || s.dial != 1 {
		t.Errorf("%d requests on %d connections", got, s.dial)
	}
}

func TestCredentials(t *testing.T) {
	s := rawServer(t, func(_ int, c net.Conn) bool { return send(c, ok) })
	p := profileFor(s.url)
	p.Headers = []Header{{Name: "X-Gate", Secret: NewSecret("gate-secret")}, {Name: "X-Plain", Value: "v"}}
	r := caller(t, p, Options{})
	last := func() string { return s.requests()[len(s.requests())-1] }

	ex := r.Do(t.Context(), "second_client", wire.Request{Method: "GET", Target: "/"}, Call{})
	if !strings.Contains(last(), "\r\nAuthorization: Bearer tok-secret-2\r\n") || !strings.Contains(last(), "\r\nX-Gate: gate-secret\r\n") {
		t.Errorf("%q", last())
	}
	if wire.Lookup(ex.Req.Fields, "authorization") != "Bearer tok-secret-2" {
		t.Errorf("recorded %v", ex.Req.Fields)
	}
	r.Do(t.Context(), "primary", wire.Request{Method: "GET", Target: "/", Fields: []wire.Field{{Name: "authorization", Value: "Basic x"}}}, Call{})
	if strings.Contains(last(), "tok-secret") || !strings.Contains(last(), "authorization: Basic x") {
		t.Errorf("%q", last())
	}
	r.Do(t.Context(), "", wire.Request{Method: "GET", Target: "/"}, Call{})
	if strings.Contains(strings.ToLower(last()), "authorization") {
		t.Errorf("%q", last())
	}
	before := len(s.requests())
	if ex := r.Do(t.Context(), "revoked", wire.Request{Method: "GET", Target: "/"}, Call{}); ex.End != wire.EndRefused || !strings.Contains(ex.Err, `role "revoked"`) {
		t.Errorf("%+v", ex)
	}
	if len(s.requests()) != before {
		t.Error("something was sent")
	}
}

// A server that reads a request on a reused connection and closes it: net/http would send it again.
func TestNeverSentTwice(t *testing.T) {
	for _, method := range []string{"GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"} {
		t.Run(method, func(t *testing.T) {
			s := rawServer(t, func(n int, c net.Conn) bool { return n == 1 && send(c, ok) })
			r := caller(t, profileFor(s.url), Options{})
			rq := wire.Request{Method: method, Target: "/", Fields: []wire.Field{{Name: "Idempotency-Key", Value: "k"}}}
			if ex := r.Do(t.Context(), "primary", wire.Request{Method: "GET", Target: "/"}, Call{}); ex.End != wire.EndComplete {
				t.Fatalf("%+v", ex)
			}
			ex := r.Do(t.Context(), "primary", rq, Call{})
			if ex.End != wire.EndReset || ex.Effect() != wire.Unknown {
				t.Errorf("%+v", ex)
			}
			if got := len(s.requests()); got != 2 || s.dial != 1 {
				t.Errorf("%d requests on %d connections", got, s.dial)
			}
		})
	}
}

// A connection that the server has closed while it was idle is not used, so nothing is lost.
func TestClosedIdleConnectionIsNotReused(t *testing.T) {
	closed := make(chan struct{}, 8)
	s := rawServer(t, func(_ int, c net.Conn) bool {
		send(c, ok)
		_ = c.Close()
		closed <- struct{}{}
		return false
	})
	r := caller(t, profileFor(s.url), Options{})
	for range 4 {
		if ex := r.Do(t.Context(), "primary", wire.Request{Method: "POST", Target: "/", Body: []byte("{}")}, Call{}); ex.End != wire.EndComplete {
			t.Fatalf("%+v", ex)
		}
		<-closed
		waitFor(t, func() bool {
			r.pool.mu.Lock()
			defer r.pool.mu.Unlock()
			return len(r.pool.idle) == 0 || len(r.pool.idle[0].first) == 1
		})
	}
}

func waitFor(t *testing.T, f func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !f(); {
		if time.Now().After(end) {
			t.Fatal("it did not come to pass")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestEnds(t *testing.T) {
	big := strings.Repeat("x", 200)
	for _, c := range []struct {
		name, answer string
		hold         bool
		want         wire.End
		status       int
		body         string
	}{
		{"complete", ok, false, wire.EndComplete, 200, "ok"},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", false, wire.EndComplete, 204, ""},
		{"interim first", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok, false, wire.EndComplete, 200, "ok"},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Trailer: 1\r\n\r\n", false, wire.EndComplete, 200, "ok"},
		{"until close", "HTTP/1.1 200 OK\r\n\r\nok", false, wire.EndComplete, 200, "ok"},
		{"redirect", "HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example/\r\nContent-Length: 0\r\n\r\n", false, wire.EndComplete, 302, ""},
		{"bare LF", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", false, wire.EndComplete, 200, "ok"},
		{"closed", "", false, wire.EndReset, 0, ""},
		{"half a head", "HTTP/1.1 200 OK\r\nContent-", false, wire.EndReset, 0, ""},
		{"short body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok", false, wire.EndTruncated, 200, "ok"},
		{"short chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nok", false, wire.EndTruncated, 200, "ok"},
		{"no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", false, wire.EndTruncated, 200, "ok"},
		{"bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n", false, wire.EndGarbage, 200, ""},
		{"silent", "", true, wire.EndTimeout, 0, ""},
		{"stalled body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok", true, wire.EndTimeout, 200, "ok"},
		{"large body", "HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n" + big, false, wire.EndOversize, 200, big[:100]},
		{"large head", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat(big, 20) + "\r\n\r\n", false, wire.EndOversize, 0, ""},
		{"not HTTP", "SSH-2.0-OpenSSH\r\n", false, wire.EndGarbage, 0, ""},
		{"not HTTP, and no line", "<html>", false, wire.EndGarbage, 0, ""},
		{"interim for ever", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100) + ok, false, wire.EndGarbage, 0, ""},
		{"bad header", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", false, wire.EndGarbage, 0, ""},
		{"bad length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", false, wire.EndGarbage, 200, ""},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok", false, wire.EndGarbage, 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			done := make(chan struct{})
			s := rawServer(t, func(_ int, conn net.Conn) bool {
				send(conn, c.answer)
				if c.hold {
					<-done
				}
				return false
			})
			defer close(done)
			r := caller(t, profileFor(s.url), Options{MaxBody: 100, MaxHead: 1000})
			timeout := 5 * time.Second
			if c.hold {
				timeout = 60 * time.Millisecond
			}
			ex := r.Do(t.Context(), "primary", wire.Request{Method: "POST", Target: "/", Body: []byte("{}")}, Call{Timeout: timeout})
			if ex.End != c.want || ex.Status() != c.status || string(ex.Body()) != c.body {
				t.Errorf("%s %d %q (%s)", ex.End, ex.Status(), ex.Body(), ex.Err)
			}
			if ex.Last < ex.Sent || (ex.End == wire.EndComplete) != (ex.Err == "") {
				t.Errorf("sent %v, last %v, %q", ex.Sent, ex.Last, ex.Err)
			}
			if len(s.requests()) != 1 {
				t.Errorf("%d requests", len(s.requests()))
			}
		})
	}
}

func TestHeadKeepsOrderAndRepetition(t *testing.T) {
	s := rawServer(t, func(_ int, c net.Conn) bool {
		return send(c, "HTTP/1.1 401 Nope\r\nwww-authenticate: Bearer\r\nX-A: 1\r\nWWW-Authenticate: Basic\r\nX-Empty:\r\nContent-Length: 0\r\n\r\n")
	})
	ex := caller(t, profileFor(s.url), Options{}).Do(t.Context(), "", wire.Request{Method: "HEAD", Target: "/"}, Call{})
	want := []wire.Field{{Name: "www-authenticate", Value: "Bearer"}, {Name: "X-A", Value: "1"}, {Name: "WWW-Authenticate", Value: "Basic"}, {Name: "X-Empty"}, {Name: "Content-Length", Value: "0"}}
	if !slices.Equal(ex.Head.Fields, want) || !slices.Equal(ex.HeaderValues("WWW-Authenticate"), []string{"Bearer", "Basic"}) {
		t.Errorf("%v", ex.Head.Fields)
	}
}

func TestRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	r := caller(t, profileFor("http://"+l.Addr().String()), Options{})
	ex := r.Do(t.Context(), "primary", wire.Request{Method: "GET", Target: "/"}, Call{})
	if ex.End != wire.EndRefused || ex.Effect() != wire.None || ex.Err == "" {
		t.Errorf("%+v", ex)
	}
	s := rawServer(t, func(_ int, c net.Conn) bool { return send(c, ok) })
	r = caller(t, profileFor(s.url), Options{})
	for _, rq := range []wire.Request{
		{Method: "GET", Target: "//evil.example/x y"}, {Method: "GET", Target: "http://evil.example/"}, {Method: "GET", Target: ""}, {Method: "GET", Target: "@evil.example/"},
		{Method: "GET", Target: "/\r\nX: 1"}, {Method: "GE T", Target: "/"}, {Method: "GET", Target: "/", Fields: []wire.Field{{Name: "X", Value: "a\r\nY: b"}}},
		{Method: "GET", Target: "/", Fields: []wire.Field{{Name: "X:", Value: "a"}}},
	} {
		if ex := r.Do(t.Context(), "primary", rq, Call{}); ex.End != wire.EndRefused || !strings.HasPrefix(ex.Err, "not sent") {
			t.Errorf("%+v", ex)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if ex := r.Do(ctx, "primary", wire.Request{Method: "GET", Target: "/"}, Call{FreshConn: true}); ex.End != wire.EndRefused {
		t.Errorf("%+v", ex)
	}
	if len(s.requests()) != 0 {
		t.Errorf("sent %q", s.requests())
	}
}

func TestCancelEndsACall(t *testing.T) {
	begun, done := make(chan struct{}), make(chan struct{})
	s := rawServer(t, func(int, net.Conn) bool { close(begun); <-done; return false })
	defer close(done)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	ex := caller(t, profileFor(s.url), Options{}).Do(ctx, "primary", wire.Request{Method: "GET", Target: "/"}, Call{})
	if ex.End != wire.EndCut || ex.Effect() != wire.Unknown {
		t.Errorf("%+v", ex)
	}
}

func TestCuts(t *testing.T) {
	var handled, finished atomic.Int32
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, rq *http.Request) {
		body, _ := io.ReadAll(rq.Body)
		if string(body) == "wait" {
			handled.Add(1)
			<-release
		}
		w.WriteHeader(201)
		w.(http.Flusher).Flush()
		finished.Add(1)
	}))
	defer s.Close()
	r := caller(t, profileFor(s.URL), Options{})
	ex := r.Do(t.Context(), "primary", wire.Request{Method: "POST", Target: "/", Body: []byte("wait")}, Call{Cut: CutAfterWrite})
	if ex.End != wire.EndCut || ex.Status() != 0 || ex.Effect() != wire.Unknown {
		t.Errorf("%+v", ex)
	}
	waitFor(t, func() bool { return handled.Load() == 1 }) // it arrived although we left
	close(release)
	waitFor(t, func() bool { return finished.Load() == 1 })
	ex = r.Do(t.Context(), "primary", wire.Request{Method: "POST", Target: "/", Body: []byte("go")}, Call{Cut: CutAfterHead})
	if ex.End != wire.EndCut || ex.Status() != 0 {
		t.Errorf("%+v", ex)
	}
	waitFor(t, func() bool { return finished.Load() == 2 })
}

func TestEarlyAnswerToALargeBody(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(413) }))
	defer s.Close()
	r := caller(t, profileFor(s.URL), Options{})
	ex := r.Do(t.Context(), "primary", wire.Request{Method: "POST", Target: "/", Body: make([]byte, 16<<20)}, Call{})
	if ex.Status() != 413 && ex.End != wire.EndReset {
		t.Errorf("%+v", ex.End)
	}
}

func TestManyLanes(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, rq *http.Request) { _, _ = io.WriteString(w, rq.URL.Path) }))
	defer s.Close()
	r := caller(t, profileFor(s.URL), Options{MaxIdle: 4})
	var wait sync.WaitGroup
	for lane := range 12 {
		wait.Go(func() {
			for i := range 30 {
				path := fmt.Sprintf("/%d/%d", lane, i)
				if ex := r.Do(t.Context(), "primary", wire.Request{Method: "GET", Target: path}, Call{FreshConn: i%10 == 9}); string(ex.Body()) != path {
					t.Errorf("%s: %+v", path, ex)
				}
			}
		})
	}
	wait.Wait()
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	if len(r.pool.idle) > 4 {
		t.Errorf("%d idle connections", len(r.pool.idle))
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, rq *http.Request) { _, _ = io.WriteString(w, rq.Proto) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	p := profileFor(s.URL)
	if ex := caller(t, p, Options{}).Do(t.Context(), "primary", wire.Request{Method: "GET", Target: "/"}, Call{}); ex.End != wire.EndRefused {
		t.Errorf("an unknown authority: %+v", ex)
	}
	p.TLS.CA = writeCA(t, s.Certificate().Raw)
	r := caller(t, p, Options{})
	for range 3 {
		if ex := r.Do(t.Context(), "primary", wire.Request{Method: "GET", Target: "/"}, Call{}); string(ex.Body()) != "HTTP/1.1" {
			t.Errorf("%+v", ex)
		}
	}
	p.TLS.CA = "/nonexistent.pem"
	if _, err := New(p, Options{}); err == nil {
		t.Error("a missing authority file")
	}
}

func TestTarget(t *testing.T) {
	r := caller(t, profileFor("https://H.example/base"), Options{})
	for ref, want := range map[string]string{
		"/v1/jobs/1?x=%2F": "/v1/jobs/1?x=%2F", "https://h.example:443/base/v1/jobs/1": "/v1/jobs/1", "HTTPS://h.example/base?q": "?q",
		"https://evil.example/base/v1": "", "http://h.example/base/v1": "", "https://h.example/other": "", "https://h.example/basement": "",
		"//evil.example/x": "", "v1/jobs": "", "https://u@h.example/base/x": "", "": "", "https://h.example:8443/base/x": "",
	} {
		got, err := r.Target(ref)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", ref, got, err)
		}
	}
}

func FuzzHead(f *testing.F) {
	for _, s := range []string{ok, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "HTTP/1.0 999 \r\n\r\n", "HTTP/1.1 204\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		br := bufio.NewReader(strings.NewReader(string(data)))
		h, err := readAnswer(br, 1000)
		if err != nil {
			return
		}
		if h.Status < 100 || h.Status > 999 {
			t.Fatalf("status %d", h.Status)
		}
		fr, err := framingOf("GET", h)
		if err != nil {
			return
		}
		body, err := fr.read(br, 50, nil)
		if len(body) > 50 || len(body) > len(data) || errors.Is(err, errOversize) && len(body) != 50 {
			t.Fatalf("%d bytes, %v", len(body), err)
		}
	})
}
