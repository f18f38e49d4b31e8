package main

import (
	"assay.kit/conformance/check"
	"assay.kit/conformance/report"
	"assay.kit/conformance/report/html"
	"assay.kit/conformance/target"
)

// formats lists every way to write a report: those of package report, and those that live in packages
// of their own. text is written with the given console.
func formats(text report.Console) []report.Format {
	return append(report.Formats(text),
		report.Format{Name: "html", File: "report.html", About: "one page for a browser, which needs nothing else", Write: html.Write})
}

func formatNames() []string {
	var names []string
	for _, f := range formats(report.Console{}) {
		names = append(names, f.Name)
	}
	return names
}

// formatUsage explains the formats in the help of a flag.
func formatUsage() string {
	usage := "what to write:"
	for _, f := range formats(report.Console{}) {
		usage += "\n  " + f.Name + ": " + f.About
	}
	return usage + "\n"
}

// console is how a report looks in a file: 120 cells, no colours. saved is where the JSON report is.
func console(saved, folder string) report.Console {
	unlock := func(n string) string {
		if n == check.AllowFinancial || n == check.AllowCompute {
			return "(and this flag) " + n
		}
		return target.Capability(n).Unlock()
	}
	return report.Console{Width: fileWidth, Unlock: unlock, Report: saved, Folder: folder}
}

const fileWidth = 120 // cells of a line where there is no terminal to ask
