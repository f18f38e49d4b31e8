package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"time"
)

// bomb is 64 MiB of blanks in some 64 KiB.
func bomb() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	blank := bytes.Repeat([]byte(" "), 1<<20)
	for range 64 {
		_, _ = z.Write(blank)
	}
	_ = z.Close()
	return b.Bytes()
}

func bodyRows() []row {
	// whole is an answer that says all that an operation of the contract could want, around one odd value.
	whole := func(odd string) string {
		return `{"id":"1","note_id":"1","export_id":"1","phase":"done","file":"f","notes":[],"notebooks":[],"title":"t","label":"a","text":"t","created_at":"2026-01-01T00:00:00Z","odd":` + odd + `}`
	}
	return []row{
		{name: "invalid UTF-8", says: `wire\.utf8`, start: fixed("200 OK", "", whole("\"\xff\xfe\xc0\"")+"\xff")},
		{name: "a million arrays", says: `wire\.json`, start: fixed("200 OK", "", strings.Repeat("[", 1_000_000))},
		{name: "a million arrays, closed", says: `wire\.json`, start: fixed("200 OK", "", strings.Repeat("[", 1_000_000)+strings.Repeat("]", 1_000_000))},
		{name: "a million objects", says: `wire\.json`, start: fixed("200 OK", "", strings.Repeat(`{"a":`, 1_000_000)+"1"+strings.Repeat("}", 1_000_000))},
		{name: "a million members", says: `violations`, start: fixed("200 OK", "", whole("["+strings.Repeat("{},", 1_000_000)+"{}]"))},
		{name: "1e999999", says: `exponent`, start: fixed("200 OK", "", whole("1e999999"))},
		{name: "a number of a million digits", says: `wire\.json`, start: fixed("200 OK", "", whole(strings.Repeat("9", 1_000_000)))},
		{name: "duplicate members", says: `there twice`, start: fixed("200 OK", "", `{"id":"1","id":"2","notes":[],"notes":null}`)},
		{name: "an empty object for everything", says: `violations`, start: fixed("200 OK", "", "{}")},
		{name: "null for everything", says: `violations`, start: fixed("200 OK", "", "null")},
		{name: "nothing for everything", says: `violations`, start: fixed("200 OK", "", "")},
		{name: "HTML for everything", says: `violations`, start: answering(func(a *asked) {
			page := "<!doctype html><script>alert(1)</script><h1>It works!</h1>"
			a.say(fmt.Sprintf("HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: %d\n\n%s", len(page), page))
		})},
		{name: "says back what it got", says: `wire\.leak`, start: answering(func(a *asked) {
			var b strings.Builder
			_ = a.Request.Header.Write(&b)
			a.body("400 No", "Location: /"+a.Request.Header.Get("Authorization")+"\n", []byte(fmt.Sprintf("%q", b.String())))
		})},
	}
}

const nasty = "\"'`\r\n\t\x1b[2J\x1b]0;owned\x07\u009b31m\u202e\u200b</script><script>alert(1)</script><b>&amp;%00%0a/../\\"

func semanticRows() []row {
	return []row{
		{name: "a clock in the year 1", says: `notes`, once: true, start: bent(func(s *stub) { s.clock = func() time.Time { return time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC) } })},
		{name: "a clock in the year 9999", says: `notes`, once: true, start: bent(func(s *stub) { s.clock = func() time.Time { return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC) } })},
		{name: "a clock that jumps", says: `notes`, once: true, start: bent(func(s *stub) {
			s.clock = func() time.Time { return time.Now().Add(time.Duration(s.n%7-3) * 24 * time.Hour) }
		})},
		{name: "a cursor that never ends", says: `no end|did not end`, once: true, only: "collections", start: bent(func(s *stub) { s.endless = true })},
		{name: "a job that never ends", says: `never ended|did not end`, once: true, only: "jobs", start: bent(func(s *stub) { s.neverEnds = true })},
		{name: "ids with everything in them", says: `violations|inconclusive`, once: true, start: bent(func(s *stub) {
			s.id = func(kind string, n int) string { return fmt.Sprintf("%s%d%s", kind, n, nasty) }
		})},
		{name: "ids of a mebibyte", says: `violations|inconclusive`, once: true, start: bent(func(s *stub) {
			s.id = func(kind string, n int) string { return fmt.Sprintf("%s%d%s", kind, n, strings.Repeat("x", 1<<20)) }
		})},
		{name: "very many ids", says: `violations|inconclusive`, once: true, start: bent(func(s *stub) { s.crowd = 20_000 })},
		{name: "everything nasty in every header", says: `violations`, once: true, start: answering(func(a *asked) {
			odd := strings.NewReplacer("\r", "", "\n", "").Replace(nasty)
			a.body("200 "+odd, "X: "+odd+"\nTry-Again-After: "+odd+"\nLocation: "+odd+"\n", []byte(fmt.Sprintf(`{"error":{"code":%q},"id":"<img src=x>"}`, "A<script>")))
		})},
	}
}

func refusalRows() []row {
	all := func(status string) func(*site) string { return fixed(status, "", `{"error":{"code":"NO"}}`) }
	later := func(status, wait string) func(*site) string {
		return fixed(status, "Try-Again-After: "+wait+"\n", `{"error":{"code":"SLOW_DOWN"}}`)
	}
	return []row{
		{name: "401 for everything", says: `answered 401: .*credential`, start: all("401 No")},
		{name: "403 for everything", says: `answered 403: .*scopes`, start: all("403 No")},
		{name: "404 for everything", says: `answered 404: .*base_url`, start: all("404 No")},
		{name: "405 for everything", says: `2xx`, lateSays: `405`, start: all("405 No")},
		{name: "500 for everything", says: `answered 500`, start: all("500 No")},
		{name: "503 for everything", says: `answered 503`, start: later("503 Later", "0")},
		{name: "429 for everything", says: `answered 429: .*--rate`, start: later("429 Later", "0")},
		{name: "429 without a delay", says: `answered 429`, start: all("429 Later")},
		{name: "wait a second, always", says: `answered 429`, lateSays: `429`, start: later("429 Later", "1")},
		{name: "come back in thirty years", says: `asks to wait 1000000000 s`, start: later("429 Later", "1000000000")},
		{name: "come back in the year 9999", says: `asks to wait`, start: later("503 Later", "Fri, 31 Dec 9999 23:59:59 GMT")},
		{name: "seer: an empty object", contract: "seer", once: true, says: `violations`, start: fixed("200 OK", "", "{}")},
		{name: "seer: 401", contract: "seer", once: true, says: `answered 401`, start: all("401 No")},
		{name: "seer: never answers", contract: "seer", once: true, says: `timeout|time budget`, start: answering((*asked).wait)},
		{name: "seer: endless body", contract: "seer", once: true, says: `larger than|did not come within`, start: answering(func(a *asked) {
			a.say("HTTP/1.1 200 OK\nContent-Type: application/json\n\n")
			a.forever(strings.Repeat("0", 32<<10))
		})},
		{name: "seer: 7 MiB in every answer", contract: "seer", once: true, says: `wire\.|no whole answer in time`, start: answering(func(a *asked) { a.body("200 OK", "", []byte("\""+strings.Repeat("goroutine ", 700<<10)+"\"")) })},
	}
}
