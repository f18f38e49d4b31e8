package hostile

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"
)

// row is one hostile server. Every row is run twice: hostile from the first request on, and only
// after it has answered some well (late); once says so for servers that make no such difference.
type row struct {
	name     string
	start    func(*site) (base string)
	says     string // a regular expression that the report, or the error in its place, must match
	lateSays string // of the second run; "": says
	once     bool
	contract string // "": notes
	only     string // a family; "": all
}

func rows() []row {
	var all []row
	for _, part := range [][]row{unreachableRows(), stallRows(), floodRows(), framingRows(), protocolRows(), bodyRows(), semanticRows(), refusalRows()} {
		all = append(all, part...)
	}
	return all
}

// answering is a server that answers every request with f on a connection that stays open.
func answering(f func(*asked)) func(*site) string {
	return func(s *site) string { return s.answers(func(a *asked) bool { f(a); return true }) }
}

// closing is answering on a connection that is closed after every answer.
func closing(f func(*asked)) func(*site) string {
	return func(s *site) string { return s.answers(func(a *asked) bool { f(a); return false }) }
}

// fixed answers every request with the same JSON.
func fixed(status, fields, body string) func(*site) string {
	return answering(func(a *asked) { a.body(status, fields, []byte(body)) })
}

// bent is a well-behaved server with one habit.
func bent(f func(*stub)) func(*site) string {
	return func(s *site) string {
		f(s.stub)
		return s.answers(func(a *asked) bool { a.pass(); return true })
	}
}

func unreachableRows() []row {
	plain := func(c net.Conn) {
		_, _ = c.Write([]byte("hello, this is no TLS\r\n"))
		_, _ = c.Read(make([]byte, 1))
	}
	return []row{
		{name: "nothing listening", once: true, says: `connection refused.*is the server running`, start: func(s *site) string {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				s.t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			return "http://" + l.Addr().String()
		}},
		{name: "plain bytes for TLS", once: true, says: `TLS.*http://`, start: func(s *site) string { return "https://" + s.listen(plain) }},
		{name: "self-signed certificate", once: true, says: `unknown authority.*tls: \{ca:`, start: func(s *site) string { return s.secure(certificate(s.t, time.Now().Add(time.Hour))) }},
		{name: "expired certificate", once: true, says: `certificate.*(expired|unknown authority)`, start: func(s *site) string { return s.secure(certificate(s.t, time.Now().Add(-time.Hour))) }},
		{name: "stalled TLS handshake", once: true, says: `no TLS connection.*(time|deadline)`, start: func(s *site) string {
			return "https://" + s.listen(func(c net.Conn) { <-s.ctx.Done() })
		}},
	}
}

func stallRows() []row {
	return []row{
		{name: "accepts and never answers", says: `timeout|time budget`, lateSays: `got no whole answer|ended after|not begun`, start: answering((*asked).wait)},
		{name: "never reads", once: true, says: `timeout|time budget`, start: func(s *site) string { return "http://" + s.listen(func(net.Conn) { <-s.ctx.Done() }) }},
		{name: "one byte a second", says: `timeout|time budget`, lateSays: `timeout|time budget`, start: answering(func(a *asked) {
			for _, b := range []byte(strings.Repeat("HTTP/1.1 200 OK\r\nA: b\r\n", 100)) {
				if !a.flushed() || !slept(a, time.Second) {
					return
				}
				_ = a.w.WriteByte(b)
			}
		})},
		{name: "a body of one byte a second", says: `timeout|time budget|never whole`, start: answering(func(a *asked) {
			a.say("HTTP/1.1 200 OK\nContent-Type: application/json\nContent-Length: 100\n\n")
			for a.flushed() && slept(a, time.Second) {
				a.say("[")
			}
		})},
		{name: "very slow after a hundred", once: true, says: `took|timeout|time budget|ended after|not begun`, start: func(s *site) string {
			s.good = 100
			return s.answers(func(a *asked) bool { slept(a, 2*time.Second); a.pass(); return true })
		}},
		{name: "trickles interim answers", says: `timeout|time budget|interim`, start: answering(func(a *asked) {
			for a.flushed() && slept(a, 50*time.Millisecond) {
				a.say("HTTP/1.1 100 Continue\n\n")
			}
		})},
	}
}

// slept waits; false: the site is being closed.
func slept(a *asked, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-a.site.ctx.Done():
		return false
	}
}

func floodRows() []row {
	zeros := strings.Repeat("0", 32<<10)
	return []row{
		{name: "endless body", says: `larger than|oversize|did not come within`, start: answering(func(a *asked) {
			a.say("HTTP/1.1 200 OK\nContent-Type: application/json\n\n")
			a.forever(zeros)
		})},
		{name: "endless chunks", says: `larger than|oversize|did not come within`, start: answering(func(a *asked) {
			a.say("HTTP/1.1 200 OK\nContent-Type: application/json\nTransfer-Encoding: chunked\n\n")
			a.forever("8000\n" + zeros + "\n")
		})},
		{name: "endless tiny chunks", says: `larger than|oversize|chunk|garbage|timeout|time budget`, start: answering(func(a *asked) {
			a.say("HTTP/1.1 200 OK\nContent-Type: application/json\nTransfer-Encoding: chunked\n\n")
			a.forever("1;" + zeros[:100] + "\n[\n")
		})},
		{name: "endless trailer", says: `larger than|oversize|did not come within`, start: answering(func(a *asked) {
			a.say("HTTP/1.1 200 OK\nContent-Type: application/json\nTransfer-Encoding: chunked\n\n2\n{}\n0\n")
			a.forever("A: b\n")
		})},
		{name: "endless headers", says: `larger than|oversize|did not come within`, start: answering(func(a *asked) {
			a.say("HTTP/1.1 200 OK\n")
			a.forever("Header: value\n")
		})},
		{name: "a header of 64 MiB", says: `larger than|oversize|did not come within`, start: answering(func(a *asked) {
			a.say("HTTP/1.1 200 OK\nHeader: ")
			for range 64 << 20 / len(zeros) {
				if a.say(zeros); !a.flushed() {
					return
				}
			}
			a.say("\nContent-Length: 2\n\n{}")
		})},
		{name: "an endless first line", says: `larger than|oversize|did not come within`, start: answering(func(a *asked) { a.forever("HTTP/1.1 200 OK ") })},
		{name: "a flood of interim answers", says: `interim|did not come within`, start: answering(func(a *asked) { a.forever("HTTP/1.1 103 Early Hints\nLink: <a>\n\n") })},
		{name: "a flood of challenges", says: `401`, start: answering(func(a *asked) {
			a.body("401 No", strings.Repeat("WWW-Authenticate: Basic realm=\"hostile\", Digest\n", 1200), []byte("{}"))
		})},
		{name: "7 MiB in every answer", says: `wire\.`, start: answering(func(a *asked) { a.body("500 No", "", []byte("\""+strings.Repeat("goroutine ", 700<<10)+"\"")) })},
		{name: "60 KiB of header in every answer", says: `wire\.`, start: answering(func(a *asked) { a.body("500 No", "X: "+zeros+"\nY: "+zeros[:27<<10]+"\n", []byte("{}")) })},
	}
}

func framingRows() []row {
	length := func(fields string) func(*site) string {
		return closing(func(a *asked) { a.say("HTTP/1.1 200 OK\nContent-Type: application/json\n" + fields + "\n{\"a\":1}") })
	}
	return []row{
		{name: "Content-Length too long", says: `cut short`, start: length("Content-Length: 100\n")},
		{name: "Content-Length too short", says: `wire\.json|behind|no answer`, start: answering(func(a *asked) {
			a.say("HTTP/1.1 200 OK\nContent-Type: application/json\nContent-Length: 3\n\n{\"a\":1}")
		})},
		{name: "two Content-Lengths", says: `several different Content-Length`, start: length("Content-Length: 7\nContent-Length: 8\n")},
		{name: "negative Content-Length", says: `Content-Length "-7"`, start: length("Content-Length: -7\n")},
		{name: "huge Content-Length", says: `Content-Length|cut short`, start: length("Content-Length: 9999999999999999999\n")},
		{name: "Content-Length 10^18", says: `larger than|cut short`, start: length("Content-Length: 1000000000000000000\n")},
		{name: "Content-Length and chunked", says: `chunk|cut short`, start: length("Content-Length: 7\nTransfer-Encoding: chunked\n")},
		{name: "chunks that are none", says: `chunk|cut short`, start: length("Transfer-Encoding: chunked\n")},
		{name: "gzip that was not asked for", says: `wire\.(json|utf8)|Content-Encoding`, start: func(s *site) string {
			packed := bomb()
			return s.answers(func(a *asked) bool { a.body("200 OK", "Content-Encoding: gzip\n", packed); return true })
		}},
		{name: "resets at random", says: `reset|closed`, start: func(s *site) string {
			rnd := rand.New(rand.NewPCG(4, 5))
			return s.answers(func(a *asked) bool {
				a.site.mu.Lock()
				dice := rnd.IntN(4)
				a.site.mu.Unlock()
				if dice > 0 {
					a.pass()
					return true
				}
				_ = a.conn.(*net.TCPConn).SetLinger(0) // a reset, not an orderly end
				return false
			})
		}},
		{name: "closes without an answer", says: `closed the connection early`, start: closing(func(*asked) {})},
		{name: "closes after every answer", once: true, says: `notes`, start: closing((*asked).pass)},
		{name: "half a head", says: `closed the connection early|cut short`, start: closing(func(a *asked) { a.say("HTTP/1.1 200 OK\nContent-Ty") })},
	}
}

func protocolRows() []row {
	return []row{
		{name: "redirect loop", says: `30[0-9]`, start: func(s *site) string {
			return s.answers(func(a *asked) bool { a.body("307 Again", "Location: "+a.URL.String()+"\n", nil); return true })
		}},
		{name: "redirect to another origin", says: `redirect.*another origin`, start: func(s *site) string {
			other := s.elsewhere()
			return s.answers(func(a *asked) bool { a.body("308 There", "Location: "+other+a.URL.String()+"\n", nil); return true })
		}},
		{name: "links to another origin", says: `violations|inconclusive`, start: func(s *site) string {
			other := s.elsewhere()
			return s.answers(func(a *asked) bool {
				a.body("202 There", "Location: "+other+"/exports/1\nContent-Location: "+other+"\nLink: <"+other+">; rel=next\n",
					[]byte(`{"export_id":"`+other+`","phase":"done","file":"`+other+`","next":"`+other+`","notes":[],"notebooks":[],"id":"//`+other[7:]+`/x"}`))
				return true
			})
		}},
		{name: "switching protocols", says: `101`, start: answering(func(a *asked) { a.say("HTTP/1.1 101 Switching Protocols\nUpgrade: h2c\nConnection: upgrade\n\nbytes") })},
		{name: "204 with a body", says: `204`, start: answering(func(a *asked) { a.say("HTTP/1.1 204 No Content\nContent-Length: 7\n\n{\"a\":1}") })},
		{name: "HTTP/0.9", says: `not HTTP`, start: closing(func(a *asked) { a.say("<html>hello</html>") })},
		{name: "an HTTP/2 preface", says: `not HTTP`, start: closing(func(a *asked) { a.say("PRI * HTTP/2.0\n\nSM\n\n\x00\x00\x00\x04\x00\x00\x00\x00\x00") })},
		{name: "HTTP/2.0 status line", says: `not HTTP`, start: closing(func(a *asked) { a.say("HTTP/2.0 200 OK\nContent-Length: 2\n\n{}") })},
		{name: "HTTP/1.1 200000 in the status", says: `not HTTP`, start: closing(func(a *asked) { a.say("HTTP/1.1 20000 OK\n\n") })},
		{name: "status 999", says: `999`, start: fixed("999 Odd", "", "{}")},
		{name: "an answer too many", says: `behind|wire\.|conformance|no answer`, start: answering(func(a *asked) { a.pass(); a.pass() })},
		{name: "an answer that nobody asked for", says: `behind|wire\.|inconclusive|violations`, start: answering(func(a *asked) {
			a.pass()
			a.flushed()
			slept(a, time.Millisecond)
			a.say("HTTP/1.1 200 OK\nContent-Length: 16\n\n{\"id\":\"smuggled\"}")
		})},
		{name: "answers to other requests", says: `violations`, start: func(s *site) string {
			var earlier []string
			return s.answers(func(a *asked) bool {
				var b strings.Builder
				_ = a.stubbed().Result().Write(&b)
				a.site.mu.Lock()
				earlier = append(earlier, b.String())
				text := earlier[rand.New(rand.NewPCG(1, uint64(a.n))).IntN(len(earlier))]
				a.site.mu.Unlock()
				_, _ = a.w.WriteString(text)
				return true
			})
		}},
		{name: "statuses at random", says: `violations`, start: func(s *site) string {
			return s.answers(func(a *asked) bool {
				a.body(fmt.Sprintf("%d Odd", 200+rand.New(rand.NewPCG(1, uint64(a.n))).IntN(700)), "", []byte("{}"))
				return true
			})
		}},
	}
}
