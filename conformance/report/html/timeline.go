package html

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay.kit/conformance/report"
	"assay.kit/conformance/wire"
)

const (
	firstSteps = 10 // exchanges shown from the start ...
	lastSteps  = 30 // ... and from the end, where it broke
	maxBody    = 4 << 10
	maxFields  = 40
	maxField   = 512
	maxCurl    = 4 << 10
	stepMarkup = 1 << 10 // bytes around what was said
	narrowest  = 0.4     // percent of the width: a bar that can still be seen
)

// step is one exchange of a timeline.
type step struct {
	N              int
	Anchor         string
	Method, Target string
	Answer         string // 202, or how it ended
	Broken         bool   // no whole answer came
	Tells          bool   // the finding is about this one
	Role           string // where it is not the primary credential
	Lane           int
	At, Took       string
	X, W           string // percent of the width of the timeline
	Bare           bool   // the bound of the page leaves out what was said
	Sent, Got      said
	Note           string // the transport's own words
	Curl           string
}

// said is one side of an exchange.
type said struct {
	First  string
	Fields []fact
	More   int
	Body   []line
	Left   int // bytes of the body that are not shown
}

// lane is one row of the swimlanes.
type lane struct {
	Name string
	Bars []bar
}

type bar struct {
	To, Title, Label, X, W string
	Broken, Tells          bool
	End                    bool // the number stands before the place, as there is no room behind it
}

// timeline lays the exchanges out to scale, with a swimlane for each lane where there are several.
func (t *teller) timeline(f report.Finding, out *finding) {
	exs := f.Exchanges
	if len(exs) == 0 {
		return
	}
	out.Tells = f.Tells()
	scale := newScale(exs)
	out.Span = milliseconds(scale.span)
	lanes := map[int]*lane{}
	for i, ex := range exs {
		far := len(exs) > firstSteps+lastSteps+1 && i >= firstSteps && i < len(exs)-lastSteps
		if (far || t.budget <= 0) && i+1 != out.Tells {
			out.Hidden++
			continue
		}
		s := t.step(ex, i+1, out, scale)
		if i < len(f.Curl) {
			t.curl(&s, f.Curl[i])
		}
		out.Steps = append(out.Steps, s)
		if lanes[ex.Lane] == nil {
			lanes[ex.Lane] = &lane{Name: laneName(ex.Lane)}
		}
		lanes[ex.Lane].Bars = append(lanes[ex.Lane].Bars, bar{To: s.Anchor, X: s.X, W: s.W, Label: strconv.Itoa(s.N), Broken: s.Broken, Tells: s.Tells,
			Title: fmt.Sprintf("%d: %s %s → %s, %s", s.N, s.Method, s.Target, s.Answer, s.Took)})
	}
	if len(lanes) > 1 {
		out.Lanes = ordered(lanes)
	}
	if n := out.Tells; n > 0 && n <= len(f.Curl) && len(f.Curl[n-1]) <= maxCurl {
		out.Curl = lines(f.Curl[n-1])
	}
}

func laneName(n int) string {
	if n == 0 {
		return "main"
	}
	return fmt.Sprintf("lane %d", n)
}

func ordered(lanes map[int]*lane) []lane {
	var numbers []int
	for n := range lanes {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	var out []lane
	for _, n := range numbers {
		spread(lanes[n].Bars)
		out = append(out, *lanes[n])
	}
	return out
}

// spread puts a number over each bar and leaves out one that would run into the last.
func spread(bars []bar) {
	last := -100.0
	for i := range bars {
		x, err := strconv.ParseFloat(bars[i].X, 64)
		if err != nil || x-last < 2.6 && !bars[i].Tells {
			bars[i].Label = ""
			continue
		}
		last, bars[i].End = x, x > 97
	}
}

// scale maps times to percent of the width.
type scale struct{ from, span time.Duration }

func newScale(exs []wire.Exchange) scale {
	from, to := exs[0].Sent, exs[0].Last
	for _, ex := range exs {
		from, to = min(from, ex.Sent), max(to, ex.Last)
	}
	return scale{from, max(to-from, time.Microsecond)}
}

func (s scale) place(ex wire.Exchange) (x, w string) {
	width := max(100*float64(ex.Last-ex.Sent)/float64(s.span), narrowest)
	left := min(100*float64(ex.Sent-s.from)/float64(s.span), 100-min(width, 100))
	return strconv.FormatFloat(left, 'f', 2, 64), strconv.FormatFloat(min(width, 100), 'f', 2, 64)
}

func milliseconds(d time.Duration) string {
	switch ms := float64(d) / float64(time.Millisecond); {
	case d == 0:
		return "0 ms"
	case ms < 1:
		return fmt.Sprintf("%.2f ms", ms)
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 10_000:
		return fmt.Sprintf("%.0f ms", ms)
	default:
		return fmt.Sprintf("%.1f s", ms/1000)
	}
}

func (t *teller) step(ex wire.Exchange, n int, f *finding, sc scale) step {
	s := step{N: n, Anchor: fmt.Sprintf("%s-%d", f.Anchor, n), Method: report.Clean(ex.Req.Method), Target: brief(ex.Req.Target, maxField),
		Lane: ex.Lane, At: milliseconds(ex.Sent - sc.from), Took: milliseconds(ex.Last - ex.Sent), Tells: n == f.Tells, Note: brief(ex.Err, maxField)}
	s.X, s.W = sc.place(ex)
	s.Broken = ex.End != wire.EndComplete && ex.End != ""
	switch {
	case !s.Broken:
		s.Answer = strconv.Itoa(ex.Head.Status)
	case ex.Head.Status > 0:
		s.Answer = fmt.Sprintf("%d, %s", ex.Head.Status, report.Clean(string(ex.End)))
	default:
		s.Answer = report.Clean(string(ex.End))
	}
	switch ex.Role {
	case "primary":
	case "":
		s.Role = "no credential"
	default:
		s.Role = report.Clean(ex.Role)
	}
	if t.budget <= 0 {
		s.Bare = true
		return s
	}
	s.Sent = sideOf(s.Method+" "+s.Target, ex.Req.Fields, ex.Req.Body, ex.Req.Left)
	left := 0
	for _, ev := range ex.Events {
		left += ev.Left
	}
	if ex.Head.Status > 0 {
		s.Got = sideOf(strings.TrimSpace(report.Clean(ex.Head.Proto)+" "+strconv.Itoa(ex.Head.Status)), ex.Head.Fields, ex.Body(), left)
	}
	t.budget -= stepMarkup + s.Sent.size() + s.Got.size()
	return s
}

func sideOf(first string, fields []wire.Field, body []byte, left int) said {
	s := said{First: first, Left: left}
	for i, f := range fields {
		if i == maxFields {
			s.More = len(fields) - i
			break
		}
		s.Fields = append(s.Fields, fact{brief(f.Name, maxField), brief(f.Value, maxField)})
	}
	if len(body) > maxBody {
		s.Left += len(body) - maxBody
		body = body[:maxBody]
	}
	if len(body) > 0 {
		s.Body, _ = layOut(string(body))
	}
	return s
}

func (s said) size() int {
	n := len(s.First)
	for _, f := range s.Fields {
		n += len(f.Name) + len(f.Text) + 24 // with its markup
	}
	for _, l := range s.Body {
		n += len(l.Text) + 1
	}
	return n
}

// curl is left out rather than cut: half a command is a trap.
func (t *teller) curl(s *step, text string) {
	if s.Bare || len(text) > maxCurl {
		return
	}
	s.Curl = lines(text)
	t.budget -= len(s.Curl)
}

// lines makes a text of several lines harmless and keeps its lines.
func lines(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		body, whole := strings.CutSuffix(l, "\n")
		b.WriteString(visible(body))
		if whole {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
