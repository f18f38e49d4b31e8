package wire

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"assay.kit/spec"
)

// ParseRetryAfter reads delta-seconds or an HTTP-date (RFC 9110 §10.2.3) as a delay from now, 0 for
// a date that has passed.
func ParseRetryAfter(s string, now time.Time) (time.Duration, bool) {
	if s != "" && len(s) <= 10 && strings.Trim(s, "0123456789") == "" {
		var seconds int64
		for _, c := range []byte(s) {
			seconds = seconds*10 + int64(c-'0')
		}
		return time.Duration(min(seconds, math.MaxInt64/int64(time.Second))) * time.Second, true
	}
	// ParseTime takes zone names that no HTTP-date has; only GMT may end one, or none in asctime.
	at, err := http.ParseTime(s)
	if err != nil || strings.Contains(s, ",") && !strings.HasSuffix(s, " GMT") {
		return 0, false
	}
	return max(0, at.Sub(now)), true
}

func retryAfter(v *View) verdict {
	name, required := "Retry-After", false
	if b := v.c.Doc.Backpressure; b != nil {
		required = slices.Contains(b.Statuses, v.Head.Status)
		if b.Delay.Part == "header" {
			name = b.Delay.Name
		}
	}
	values := v.HeaderValues(name)
	switch {
	case len(values) == 0 && required:
		return bad(fmt.Sprintf("%s on %d", name, v.Head.Status), "none")
	case len(values) == 0:
		return silent()
	case len(values) > 1:
		return bad("one "+name, fmt.Sprintf("%q", values))
	}
	if _, ok := ParseRetryAfter(values[0], time.Time{}); !ok {
		return bad(name+" as delta-seconds or HTTP-date", fmt.Sprintf("%q", values[0]))
	}
	return good()
}

// challenge: every 401 carries one (RFC 9110 §15.5.2), of the scheme that the credential is (RFC 6750 §3).
func challenge(v *View) verdict {
	if v.Head.Status != 401 {
		return silent()
	}
	values := v.HeaderValues("WWW-Authenticate")
	for _, value := range values {
		if hasScheme(value, "bearer") {
			return good()
		}
	}
	if len(values) == 0 {
		return bad("WWW-Authenticate: Bearer", "none")
	}
	return bad("WWW-Authenticate: Bearer", fmt.Sprintf("%q", values))
}

// hasScheme looks for a challenge of a scheme in a list of challenges. Parameters are split off at
// commas too, but they hold "=" before any blank.
func hasScheme(value, scheme string) bool {
	for _, part := range strings.Split(value, ",") {
		word, _, _ := strings.Cut(strings.TrimSpace(part), " ")
		if strings.EqualFold(word, scheme) {
			return true
		}
	}
	return false
}

// allow: a 405 lists the methods of the path (RFC 9110 §15.5.6).
func allow(v *View) verdict {
	if v.Head.Status != 405 {
		return silent()
	}
	values := v.HeaderValues("Allow")
	if len(values) == 0 {
		return bad("Allow", "none")
	}
	var listed []string
	for _, m := range strings.Split(strings.Join(values, ","), ",") {
		if m = strings.TrimSpace(m); m != "" {
			listed = append(listed, m)
		}
	}
	out := good()
	if slices.Contains(listed, v.Req.Method) {
		out.add("Allow without "+v.Req.Method+", which was refused", strings.Join(listed, ", "))
	}
	for _, m := range documentedMethods(v.c, v.Req.Target) {
		if m != v.Req.Method && !slices.Contains(listed, m) {
			out.add("Allow with "+m, strings.Join(listed, ", "))
		}
	}
	return out
}

func documentedMethods(c *spec.Contract, target string) []string {
	path, _, _ := strings.Cut(target, "?")
	_, _, allowed := c.Find("", path)
	return allowed
}

// requiredHeaders leaves out those that have a rule of their own.
func requiredHeaders(v *View) verdict {
	if v.answer == nil || v.isBroken() {
		return silent()
	}
	var out verdict
	for _, h := range v.answer.Headers {
		if !h.Required || v.hasOwnRule(h.Name) {
			continue
		}
		out.judged = true
		if len(v.HeaderValues(h.Name)) == 0 {
			out.add(fmt.Sprintf("%s on %d", h.Name, v.Head.Status), "none")
		}
	}
	return out
}

func (v *View) hasOwnRule(header string) bool {
	own := []string{"WWW-Authenticate", "Allow", "Retry-After", "Content-Type"}
	if name, ok := correlationHeader(v.c); ok {
		own = append(own, name)
	}
	if b := v.c.Doc.Backpressure; b != nil && b.Delay.Part == "header" {
		own = append(own, b.Delay.Name)
	}
	return slices.ContainsFunc(own, func(name string) bool { return strings.EqualFold(name, header) })
}
