package oracle

import (
	"bytes"
	"fmt"
	"html"
	"strings"
	"time"
	"unicode"

	"github.com/anishathalye/porcupine"
)

// longestLabel bounds what a picture says of one operation or state, in bytes: ids are the target's.
const longestLabel = 120

// policy keeps the page from loading anything: it shows what a target said.
const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">`

// draw searches again, keeps what was tried, and renders it as one HTML page without links.
func draw(model porcupine.Model, ops []porcupine.Operation, timeout time.Duration) ([]byte, error) {
	_, info := porcupine.CheckOperationsVerbose(model, ops, timeout)
	var page bytes.Buffer
	if err := porcupine.Visualize(model, info, &page); err != nil {
		return nil, err
	}
	return bytes.Replace(page.Bytes(), []byte("<head>"), []byte("<head>\n    "+policy), 1), nil
}

// label makes a text of the target short and printable. The page shows it as text.
func label(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, s)
	if len(s) > longestLabel {
		s = strings.ToValidUTF8(s[:longestLabel], "") + "…"
	}
	return s
}

// markup is a state as the page wants it: unlike a label it becomes HTML there, so that an id with
// tags in it would run as script.
func markup(state any) string { return html.EscapeString(label(fmt.Sprint(state))) }
