package oracle

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// A page shows ids that a target chose; whatever they hold, they are no markup, and nothing is loaded.
func TestPicturesAreInert(t *testing.T) {
	evil := `</script><img src=x onerror=alert(1)>` + "\x1b[2J\u202e" + strings.Repeat("x", 5000)
	move := &Move{Name: evil, To: evil}
	for name, draw := range map[string]func() ([]byte, error){
		"ledger": func() ([]byte, error) {
			return Explain([]IdemOp{at(0, 0, 10, "a", Created(evil)), at(1, 11, 19, "b", Created(evil+"2"))}, time.Second)
		},
		"register": func() ([]byte, error) {
			return Register{Initial: evil}.Explain([]StateOp{{Call: 0, Return: 1, Move: move, Result: Accepted}, {Client: 1, Call: 2, Return: 3, State: "other"}}, time.Second)
		},
		"numbers": func() ([]byte, error) {
			return ExplainConsecutive(0, []TakeOp{{Call: 0, Return: 1, Number: 2}, {Client: 1, Call: 0, Return: 3, Lost: true}}, time.Second)
		},
	} {
		page, err := draw()
		if err != nil || len(page) > 1<<20 {
			t.Fatalf("%s: %d bytes, %v", name, len(page), err)
		}
		if bytes.Count(page, []byte("</script>")) != 1 || bytes.Contains(page, []byte("<img")) || bytes.ContainsAny(page, "\x1b\u202e") {
			t.Errorf("%s: text became markup", name)
		}
		// The page's script puts a state's description into the document as HTML.
		for _, part := range strings.Split(string(page), `"StateDescription":"`)[1:] {
			if d, _, _ := strings.Cut(part, `"`); strings.Contains(d, `\u003c`) {
				t.Errorf("%s: a state is described by %.80s", name, d)
			}
		}
		if !bytes.Contains(page, []byte("default-src 'none'")) {
			t.Errorf("%s: the page may load what it likes", name)
		}
	}
}
