package report

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"assay.kit/conformance/wire"
)

// HTTP Archive 1.2 (w3c.github.io/web-performance, HAR). Members that begin with _ are ours, as the
// format allows.
type (
	harLog struct {
		Version string     `json:"version"`
		Creator harCreator `json:"creator"`
		Entries []harEntry `json:"entries"`
		Comment string     `json:"comment"`
	}
	harCreator struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	harEntry struct {
		Started  string      `json:"startedDateTime"`
		Time     float64     `json:"time"` // milliseconds, the sum of timings
		Request  harRequest  `json:"request"`
		Response harResponse `json:"response"`
		Cache    struct{}    `json:"cache"`
		Timings  harTimings  `json:"timings"`
		Comment  string      `json:"comment,omitempty"`
		Number   int         `json:"_number"` // in the finding's timeline
		Lane     int         `json:"_lane"`
		Role     string      `json:"_role"`
		End      wire.End    `json:"_end"`
		Curl     string      `json:"_curl,omitempty"`
	}
	harRequest struct {
		Method      string    `json:"method"`
		URL         string    `json:"url"`
		HTTPVersion string    `json:"httpVersion"`
		Cookies     []harPair `json:"cookies"`
		Headers     []harPair `json:"headers"`
		QueryString []harPair `json:"queryString"`
		PostData    *harPost  `json:"postData,omitempty"`
		HeadersSize int       `json:"headersSize"` // -1: not known
		BodySize    int       `json:"bodySize"`
	}
	harPost struct {
		MimeType string    `json:"mimeType"`
		Params   []harPair `json:"params"`
		Text     string    `json:"text"`
		Encoding string    `json:"_encoding,omitempty"`
		Comment  string    `json:"comment,omitempty"`
	}
	harResponse struct {
		Status      int        `json:"status"`
		StatusText  string     `json:"statusText"`
		HTTPVersion string     `json:"httpVersion"`
		Cookies     []harPair  `json:"cookies"`
		Headers     []harPair  `json:"headers"`
		Content     harContent `json:"content"`
		RedirectURL string     `json:"redirectURL"`
		HeadersSize int        `json:"headersSize"`
		BodySize    int        `json:"bodySize"`
		Error       string     `json:"_error,omitempty"`
	}
	harContent struct {
		Size     int    `json:"size"`
		MimeType string `json:"mimeType"`
		Text     string `json:"text"`
		Encoding string `json:"encoding,omitempty"`
		Comment  string `json:"comment,omitempty"`
	}
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	harTimings struct {
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
)

// WriteHAR writes the exchanges of one finding as an HTTP Archive 1.2, which browsers and proxies
// open. Secrets are hidden as they are in the report. The error is the writer's.
func WriteHAR(w io.Writer, r *Report, f Finding) error {
	log := harLog{Version: "1.2", Creator: harCreator{"assay", r.Kit.Version}, Entries: []harEntry{},
		Comment: valid(fmt.Sprintf("%s in %s: expected %s, got %s", f.Claim, f.Case, f.Expected, f.Actual))}
	for i, ex := range f.Exchanges {
		e := harEntryOf(r, ex)
		e.Number = i + 1
		if i < len(f.Curl) {
			e.Curl = valid(f.Curl[i])
		}
		if i+1 == f.Tells() {
			e.Comment = "this is the exchange that shows it"
		}
		log.Entries = append(log.Entries, e)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(map[string]harLog{"log": log}); err != nil {
		return fmt.Errorf("HAR of %s: %w", f.Case, err)
	}
	return nil
}

func harEntryOf(r *Report, ex wire.Exchange) harEntry {
	t := harTimings{}
	answered := ex.Last
	if len(ex.Events) > 0 {
		answered = min(ex.Events[0].At, ex.Last)
	}
	t.Wait, t.Receive = milliseconds(answered-ex.Sent), milliseconds(ex.Last-answered)
	return harEntry{Started: r.Started.Add(ex.Sent).UTC().Format("2006-01-02T15:04:05.000Z"), Time: t.Wait + t.Receive, Timings: t,
		Request: harRequestOf(r.Target, ex.Req), Response: harResponseOf(ex), Lane: ex.Lane, Role: valid(ex.Role), End: ex.End}
}

func milliseconds(d time.Duration) float64 { return max(0, float64(d.Microseconds())/1000) }

func harRequestOf(base string, rq wire.Request) harRequest {
	out := harRequest{Method: valid(rq.Method), URL: valid(strings.TrimRight(base, "/") + rq.Target), HTTPVersion: "HTTP/1.1",
		Cookies: []harPair{}, Headers: harPairs(rq.Fields), QueryString: []harPair{}, HeadersSize: -1, BodySize: len(rq.Body) + rq.Left}
	if _, query, ok := strings.Cut(rq.Target, "?"); ok {
		out.QueryString = harQuery(query)
	}
	if len(rq.Body) > 0 {
		text, encoding := bodyText(rq.Body)
		out.PostData = &harPost{MimeType: valid(wire.Lookup(rq.Fields, "Content-Type")), Params: []harPair{}, Text: text, Encoding: encoding, Comment: leftOutBytes(rq.Left)}
	}
	return out
}

func harResponseOf(ex wire.Exchange) harResponse {
	body, left := ex.Body(), 0
	for _, e := range ex.Events {
		left += e.Left
	}
	text, encoding := bodyText(body)
	return harResponse{Status: ex.Head.Status, StatusText: http.StatusText(ex.Head.Status), HTTPVersion: valid(cmp.Or(ex.Head.Proto, "HTTP/1.1")),
		Cookies: []harPair{}, Headers: harPairs(ex.Head.Fields), RedirectURL: valid(ex.Header("Location")), HeadersSize: -1, BodySize: len(body) + left,
		Content: harContent{Size: len(body) + left, MimeType: valid(cmp.Or(ex.Header("Content-Type"), "x-unknown")), Text: text, Encoding: encoding,
			Comment: leftOutBytes(left)}, Error: valid(ex.Err)}
}

func leftOutBytes(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d further bytes are left out", n)
}

// bodyText gives a body as text, or as base64 where it is none.
func bodyText(b []byte) (text, encoding string) {
	if utf8.Valid(b) {
		return string(b), ""
	}
	return base64.StdEncoding.EncodeToString(b), "base64"
}

func harPairs(fs []wire.Field) []harPair {
	out := make([]harPair, 0, len(fs))
	for _, f := range fs {
		out = append(out, harPair{valid(f.Name), valid(f.Value)})
	}
	return out
}

// harQuery keeps order and repetition, which url.Values loses, and a spelling that is no query.
func harQuery(query string) []harPair {
	out := []harPair{}
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		out = append(out, harPair{unescaped(name), unescaped(value)})
	}
	return slices.DeleteFunc(out, func(p harPair) bool { return p == harPair{} })
}

func unescaped(s string) string {
	if u, err := url.QueryUnescape(s); err == nil {
		s = u
	}
	return valid(s)
}
