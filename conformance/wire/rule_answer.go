package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// serverError: 503 is an answer that a contract can promise; every other 5xx is a defect. 501 to a
// method that HTTP does not know is right (RFC 9110 §15.6.2).
func serverError(v *View) verdict {
	switch s := v.Head.Status; {
	case s == 0:
		return silent()
	case s < 500:
		return good()
	case s == 501 && !knownMethod(v.Req.Method):
		return good()
	case s != 503:
		return bad("an answer that the contract has for this request", fmt.Sprintf("status %d", s))
	}
	want, ok := v.c.Doc.Codes["unavailable"]
	if !ok || want.Status != 503 {
		return bad("no 503: the contract has none", "status 503")
	}
	if v.Req.Method == "HEAD" || want.Code == "" {
		return good()
	}
	if got := v.text(v.c.Doc.Error, errorCode); got != want.Code {
		return bad("503 with code "+want.Code, fmt.Sprintf("503 with code %q", got))
	}
	return good()
}

func knownMethod(m string) bool {
	return slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}, m)
}

func errorCode(e *spec.ErrorTrait) tree.Pointer { return e.Code }

// text reads a string of an error body, "" if there is none.
func (v *View) text(e *spec.ErrorTrait, where func(*spec.ErrorTrait) tree.Pointer) string {
	if e == nil || v.err != nil {
		return ""
	}
	got, _ := tree.Get(v.value, where(e))
	s, _ := got.(string)
	return s
}

// documentedStatus leaves out 5xx, which serverError judges, and what HTTP itself answers before an
// operation is known (RFC 9110 §15.5).
func documentedStatus(v *View) verdict {
	s := v.Head.Status
	if v.op == nil || s >= 500 || slices.Contains([]int{408, 411, 414, 417, 421, 426, 431}, s) {
		return silent()
	}
	if v.answer != nil {
		return good()
	}
	var known []string
	for k := range v.op.Answers {
		known = append(known, fmt.Sprint(k))
	}
	slices.Sort(known)
	return bad("one of "+strings.Join(known, ", "), fmt.Sprint(s))
}

func keepsSchema(v *View) verdict {
	if v.answer == nil || v.answer.Schema == nil || v.Req.Method == "HEAD" || v.isBroken() {
		return silent()
	}
	if len(v.body) == 0 {
		return bad("a body by the documented schema", "an empty body")
	}
	if v.err != nil {
		return silent() // wire.json judges it
	}
	out := good()
	for _, violation := range v.answer.Schema.Validate(v.value) {
		if len(out.findings) == 5 { // the rest follows from these, or reads no better
			break
		}
		out.add(fmt.Sprintf("%s at %q", violation.Keyword, violation.Instance), violation.Message)
	}
	return out
}

func mediaType(v *View) verdict {
	if len(v.body) == 0 || v.isBroken() {
		return silent()
	}
	want := ""
	switch {
	case v.isError():
		want = v.c.Doc.Error.MediaType
	case v.answer != nil:
		want = v.answer.MediaType
	}
	if want == "" {
		return silent()
	}
	values := v.HeaderValues("Content-Type")
	if len(values) != 1 {
		return bad("one Content-Type: "+want, fmt.Sprintf("%d of them", len(values)))
	}
	got, params, err := mime.ParseMediaType(values[0])
	if err != nil || got != strings.ToLower(want) {
		return bad("Content-Type: "+want, values[0])
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return bad("charset utf-8", "charset "+charset)
	}
	return good()
}

func (v *View) isJSON() bool {
	got, _, _ := mime.ParseMediaType(v.Header("Content-Type"))
	return got == "application/json" || strings.HasSuffix(got, "+json")
}

// validUTF8 also refuses a byte order mark (RFC 8259 §8.1).
func validUTF8(v *View) verdict {
	text := v.isJSON() || strings.HasPrefix(strings.ToLower(v.Header("Content-Type")), "text/")
	switch {
	case len(v.body) == 0 || !text:
		return silent()
	case bytes.HasPrefix(v.body, []byte("\xef\xbb\xbf")):
		return bad("UTF-8 without a byte order mark", "a byte order mark first")
	case !utf8.Valid(v.body):
		return bad("UTF-8", "bytes that are no UTF-8")
	}
	return good()
}

func strictJSON(v *View) verdict {
	documented := v.answer != nil && strings.HasSuffix(strings.ToLower(v.answer.MediaType), "json")
	if len(v.body) == 0 || !v.isJSON() && !documented || !utf8.Valid(v.body) || v.isBroken() {
		return silent()
	}
	if v.err == nil {
		return good()
	}
	return bad("one JSON value without duplicate members", v.err.Error())
}

func requestID(v *View) verdict {
	name, ok := correlationHeader(v.c)
	if !ok || !v.isKnownPath() {
		return silent()
	}
	if ids := v.HeaderValues(name); len(ids) != 1 || strings.TrimSpace(ids[0]) == "" {
		return bad("one "+name, fmt.Sprintf("%q", ids))
	}
	return good()
}

// isKnownPath also takes a method that the path does not have.
func (v *View) isKnownPath() bool {
	return v.op != nil || len(documentedMethods(v.c, v.Req.Target)) > 0
}

// requestIDBody leaves it to the schema whether the member has to be there.
func requestIDBody(v *View) verdict {
	name, ok := correlationHeader(v.c)
	if !ok || !v.isError() || v.c.Doc.Error.RequestID == "" || v.err != nil {
		return silent()
	}
	e, ids := v.c.Doc.Error, v.HeaderValues(name)
	got, there := tree.Get(v.value, e.RequestID)
	if !there || got == nil || len(ids) != 1 {
		return silent()
	}
	if got != any(ids[0]) {
		return bad(fmt.Sprintf("%s of the body equal to %s", e.RequestID, name), fmt.Sprintf("%v and %q", got, ids[0]))
	}
	return good()
}

// errorShape holds a refusal to RFC 9457 §3.1 if the contract's errors are problem documents.
func errorShape(v *View) verdict {
	if !v.isError() || v.isBroken() {
		return silent()
	}
	e := v.c.Doc.Error
	object, ok := v.value.(map[string]any)
	if v.err != nil || !ok {
		return bad("a JSON object that says what is wrong", "none")
	}
	out := good()
	if v.text(e, errorCode) == "" {
		out.add(fmt.Sprintf("a stable code at %s", e.Code), "no code")
	}
	if strings.HasPrefix(strings.ToLower(e.MediaType), "application/problem+") {
		for _, name := range []string{"type", "title", "detail", "instance"} {
			if m, there := object[name]; there {
				if _, text := m.(string); !text {
					out.add("problem member "+name+" as text", fmt.Sprintf("%T", m))
				}
			}
		}
	}
	if status, there := object["status"]; there && !numberIs(status, v.Head.Status) {
		out.add(fmt.Sprintf("status %d in the body", v.Head.Status), fmt.Sprint(status))
	}
	return out
}

func numberIs(v any, want int) bool {
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	r, ok := new(big.Rat).SetString(n.String())
	return ok && r.IsInt() && r.Cmp(big.NewRat(int64(want), 1)) == 0
}
