package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"assay.kit/conformance/wire"
)

// WriteJSON writes the report as one indented JSON document and a line feed. Lists are never null.
// A drawn value that JSON cannot hold is written as text, so that no value can cost the report.
func (r *Report) WriteJSON(w io.Writer) error {
	out := *r
	out.Requirements = filled(r.Requirements)
	out.Cases = filled(r.Cases)
	for i := range out.Cases {
		out.Cases[i].Claims = filled(out.Cases[i].Claims)
	}
	out.Findings = filled(r.Findings)
	for i := range out.Findings {
		f := &out.Findings[i]
		f.Requirements = filled(f.Requirements)
		f.Draws = encodable(f.Draws)
		if f.Exchanges == nil {
			f.Exchanges = []wire.Exchange{}
		}
		f.Curl = filled(f.Curl)
	}
	enc := json.NewEncoder(visible{w})
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("report cannot be written: %w", err)
	}
	return nil
}

// visible escapes what a terminal would obey or hide: a JSON report is read there too. Such
// characters stand in strings only, where an escape is the same text.
type visible struct{ io.Writer }

// Write takes whole characters only, as json.Encoder gives them.
func (v visible) Write(p []byte) (int, error) {
	var b bytes.Buffer
	from := 0
	for i := 0; i < len(p); {
		if p[i] < 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRune(p[i:])
		if hostile(r) {
			b.Write(p[from:i])
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
			from = i + n
		}
		i += n
	}
	if from == 0 {
		return v.Writer.Write(p)
	}
	b.Write(p[from:])
	if _, err := v.Writer.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// filled copies a list, so that writing changes nothing of the report; nil becomes empty.
func filled[E any](list []E) []E { return append([]E{}, list...) }

func encodable(draws []Draw) []Draw {
	out := filled(draws)
	for i := range out {
		if _, err := json.Marshal(out[i].Value); err != nil {
			out[i].Value = fmt.Sprintf("%#v", out[i].Value)
		}
	}
	return out
}
