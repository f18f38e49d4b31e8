package report

import "io"

// Format is one way to write a report to one stream.
type Format struct {
	Name  string // as a user chooses it
	File  string // its name in a folder of all formats
	About string // what it is for, in one line
	Write func(io.Writer, *Report) error
}

// Formats lists the writers of this package; a writer is a row here and a file. text is written with
// the given console.
func Formats(text Console) []Format {
	return []Format{
		{"text", "report.txt", "for a person at a terminal", text.Write},
		{"json", "report.json", "for programs: everything, and what all others are made from", func(w io.Writer, r *Report) error { return r.WriteJSON(w) }},
		{"junit", "junit.xml", "for a CI server's list of tests", WriteJUnit},
		{"markdown", "summary.md", "for the summary of a CI job, such as GITHUB_STEP_SUMMARY", WriteMarkdown},
		{"github", "annotations.txt", "for the log of a GitHub workflow, which shows it as annotations", WriteAnnotations},
	}
}
