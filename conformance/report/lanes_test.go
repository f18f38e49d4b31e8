package report

import (
	"strings"
	"testing"
	"time"

	"assay.kit/conformance/wire"
)

// laneOf is an exchange of a lane, from one millisecond to another.
func laneOf(lane, sent, last, status int, body string) wire.Exchange {
	return wire.Exchange{Lane: lane, Sent: time.Duration(sent) * time.Millisecond, Last: time.Duration(last) * time.Millisecond, End: wire.EndComplete,
		Role: "primary", Req: wire.Request{Method: "POST", Target: "/v1/notes", Body: []byte(body)}, Head: wire.Head{Status: status}}
}

// The picture keeps what ended before what began, and tells different bodies apart.
func TestLanesSideBySide(t *testing.T) {
	race := []wire.Exchange{laneOf(0, 0, 5, 200, ""), laneOf(1, 10, 40, 201, `{"a":1}`), laneOf(2, 11, 20, 409, `{"b":2}`), laneOf(2, 30, 50, 201, `{"b":2}`), laneOf(0, 60, 61, 200, "")}
	other := append([]wire.Exchange{}, race...)
	other[2].Req.Target = "/v1/notes/with/a/long/path/that/does/not/fit/anywhere"
	for _, c := range []struct {
		name  string
		exs   []wire.Exchange
		width int
		want  string
	}{
		{"wide", race, 80, `
  timeline         1    0.0 ms  POST /v1/notes → 200
                 lane 1                        lane 2
        10.0 ms  ┌ 2a                          ┌ 3b
        20.0 ms  │                             └ 409
        30.0 ms  │                             ┌ 4b
        40.0 ms  └ 201                         │
        50.0 ms                                └ 201
                 each POST /v1/notes
                    a {"a":1}
                    b {"b":2}
                   5   60.0 ms  POST /v1/notes → 200`},
		{"different requests", other[1:3], 80, `
  timeline       lane 1                        lane 2
         0.0 ms  ┌ 1 POST /v1/notes
         1.0 ms  │                             ┌ 2 POST /v1/notes/with/a/lo…
        10.0 ms  │                             └ 409
        30.0 ms  └ 201`},
		{"too many lanes for the width", func() (exs []wire.Exchange) {
			for i := range 9 {
				exs = append(exs, laneOf(i+1, i, i+20, 201, ""))
			}
			return exs
		}()[:9], 78, `
  timeline         1    0.0 ms  POST /v1/notes → 201  lane 1
                   2    1.0 ms  POST /v1/notes → 201  lane 2
                   3    2.0 ms  POST /v1/notes → 201  lane 3`},
		{"one lane is no race", []wire.Exchange{laneOf(3, 0, 1, 201, "")}, 80, `
  timeline         1    0.0 ms  POST /v1/notes → 201  lane 3`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &printer{Console: Console{Width: c.width}}
			p.timeline(Finding{Case: "x.y@z", Exchanges: c.exs})
			if got := "\n" + strings.TrimRight(p.out.String(), "\n"); !strings.HasPrefix(got, c.want) {
				t.Errorf("got%s\nwant%s", got, c.want)
			}
			for l := range strings.Lines(p.out.String()) {
				if n := columns(strings.TrimSuffix(l, "\n")); n > c.width || strings.HasSuffix(l, " \n") {
					t.Errorf("%d cells, or a blank at the end: %q", n, l)
				}
			}
		})
	}
}

// Claims that broke in one flow share its timeline: it is told once.
func TestTimelineIsToldOnce(t *testing.T) {
	p := &printer{Console: Console{Width: 80}}
	var exs []wire.Exchange
	for i := range 3 {
		ex := laneOf(0, i, i+1, 200, "")
		ex.Seq = i + 1
		exs = append(exs, ex)
	}
	p.timeline(Finding{Claim: "a.one", Case: "x.y@z", Exchanges: exs[:2]})
	p.timeline(Finding{Claim: "a.two", Case: "x.y@z", Exchanges: exs[:2]})
	p.timeline(Finding{Claim: "a.three", Case: "x.y@z", Exchanges: exs})
	p.timeline(Finding{Claim: "a.four", Case: "other", Exchanges: exs[:1]})
	want := `  timeline         1    0.0 ms  POST /v1/notes → 200
                   2    1.0 ms  POST /v1/notes → 200
  timeline       as of a.one above, up to number 2
  timeline       as of a.one above, up to number 2, then
                   3    2.0 ms  POST /v1/notes → 200
  timeline         1    0.0 ms  POST /v1/notes → 200
`
	if got := p.out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
