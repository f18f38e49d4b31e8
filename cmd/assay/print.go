package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"assay.kit/conformance/report"
)

// writeJSON prints one indented document.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// writeTable prints rows in columns as wide as their widest cell; the last one is cut to the width.
func writeTable(w io.Writer, width int, rows [][]string) {
	var widest []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widest) {
				widest = append(widest, 0)
			}
			widest[i] = max(widest[i], len([]rune(cell)))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		used := 0
		for i, cell := range row {
			cell = report.Clean(cell)
			if i == len(row)-1 {
				b.WriteString(report.Cut(cell, max(width-used, 20)))
				break
			}
			fmt.Fprintf(&b, "%-*s  ", widest[i], cell)
			used += widest[i] + 2
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// writeLine prints one document on one line.
func writeLine(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }
