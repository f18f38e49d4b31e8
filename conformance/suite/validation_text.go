package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"assay.kit/conformance/check"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// texts judges what a length counts: JSON Schema counts characters (validation §6.3.1, RFC 8259 §1),
// not bytes and not the units of UTF-16.
func texts() []check.Check {
	return []check.Check{{
		ID:   "validation.text",
		Does: "Sends the longest legal texts, in characters of one byte, of two, and of two units of UTF-16.",
		Claims: []check.Claim{
			{ID: "validation.length-units", Says: "The length of a text is counted in characters: the longest legal one is accepted, whatever it is written in."},
		},
		Select: selectTexts,
		Cost:   check.Cost{Requests: 80, Jobs: 1},
		Run:    validationText,
	}}
}

// selectTexts are the creations whose examples have texts with a greatest length.
func selectTexts(c *spec.Contract) []check.Subject {
	var out []check.Subject
	for _, s := range keyedBodies(c) {
		for _, e := range bodies(s.Op) {
			if len(boundedTexts(s.Op, e.Value)) > 0 {
				out = append(out, s)
				break
			}
		}
	}
	return out
}

// longText is the place of a text and the number of characters that it may have.
type longText struct {
	at   tree.Pointer
	most int
}

const mostCharacters = 5000 // of a text that we send

// boundedTexts are the texts of a body that may be anything up to some length.
func boundedTexts(op *spec.Operation, body any) []longText {
	var out []longText
	for _, at := range stringLeaves(body, "") {
		n, _ := keyword(op.Body.Schema, at, "maxLength").(json.Number)
		most, err := n.Int64()
		if err == nil && most > 0 && most <= mostCharacters && len(op.Body.Schema.Validate(filled(body, at, "\u00e9", int(most)))) == 0 {
			out = append(out, longText{at, int(most)})
		}
	}
	return out
}

func filled(body any, at tree.Pointer, unit string, n int) any {
	body = clone(body)
	set(body, at, strings.Repeat(unit, n))
	return body
}

func validationText(_ context.Context, t *check.T, s check.Subject) {
	n := 0
	seen := map[tree.Pointer]bool{}
	for _, sm := range specimens(t, s.Op) {
		c := newCreation(t, s.Op, sm)
		for _, place := range boundedTexts(s.Op, c.in.body) {
			if seen[place.at] || !c.mayMark(place.at) || n == scaled(t, 2, 6, 24) {
				continue
			}
			seen[place.at] = true
			if c.judgeLongText(place) {
				n++
			}
		}
	}
	if n == 0 {
		t.NoneApply("no text of the examples can be of its greatest length and still be admitted")
	}
}

// judgeLongText tries plain letters first: that they are admitted shows that the text may be anything.
func (c *creation) judgeLongText(place longText) (judged bool) {
	if !admitted(c.send(c.fresh(filled(c.in.body, place.at, "a", place.most)))) {
		return false
	}
	for _, unit := range []string{"\u00e9", "\U0001F600"} {
		body := filled(c.in.body, place.at, unit, place.most)
		if len(c.op.Body.Schema.Validate(body)) > 0 {
			continue
		}
		ex := c.send(c.fresh(body))
		if ex.Status() == http.StatusRequestEntityTooLarge { // the body as a whole has more bytes than the plain one
			continue
		}
		r, size := utf8.DecodeRuneInString(unit)
		c.t.Judge("validation.length-units", admitted(ex),
			fmt.Sprintf("a 2xx for %d times %c (%d bytes) at %s", place.most, r, size, place.at), describe(ex))
	}
	return true
}
