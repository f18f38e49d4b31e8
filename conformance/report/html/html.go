// Package html writes a report as one web page that needs nothing else: no network, no second file.
// Everything in it is readable without its script; the script filters, copies and changes the theme.
package html

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"

	"assay.kit/conformance/report"
)

//go:embed page.tmpl
var pageText string

//go:embed parts.tmpl
var partsText string

//go:embed style.css
var style string

//go:embed page.js
var script string

// Write writes the page in UTF-8. The same report gives the same bytes. Its size is bounded whatever
// the target sent: what is left out is said in its place and stands in the JSON report. The error is
// the writer's.
func Write(w io.Writer, r *report.Report) error {
	t, err := template.New("page").Funcs(template.FuncMap{"warn": warning, "copy": copyable}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("html report: %w", err)
	}
	if _, err = t.New("parts").Parse(partsText); err != nil {
		return fmt.Errorf("html report: %w", err)
	}
	out := bufio.NewWriter(w)
	if err := t.Execute(out, pageOf(r)); err != nil {
		return fmt.Errorf("html report: %w", err)
	}
	return out.Flush()
}

// warning is the mark of a warning about the run.
func warning() mark { return markOf(report.Warn) }

// copyable is a text with a button that copies it.
func copyable(name, text string) fact { return fact{name, text} }

// policy forbids every load and every script and style but the two that the page brings along, which
// it names by their digests: text of a target that slipped through the escaping could still do nothing.
func policy() string {
	return fmt.Sprintf("default-src 'none'; img-src data:; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
		digest(style), digest(script))
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
