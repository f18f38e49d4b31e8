package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// File is one of the files that belong to a report. Name is a path with slashes.
type File struct {
	Name  string
	Write func(io.Writer) error
}

// Evidence lists the files of the findings: the exchanges of each as har/NUMBER-CLAIM@SUBJECT.har, and
// its pictures as pictures/NUMBER-CLAIM@SUBJECT.html. Numbers are those of the findings in the report,
// from 1.
func (r *Report) Evidence() []File {
	var out []File
	for i, f := range r.Findings {
		out = append(out, File{"har/" + stem(i, f) + ".har", func(w io.Writer) error { return WriteHAR(w, r, f) }})
		for j, p := range f.Pictures {
			if p.MediaType == "text/html" {
				out = append(out, File{pictureFile(i, j, f), func(w io.Writer) error { _, err := w.Write(p.Data); return err }})
			}
		}
	}
	return out
}

// PictureFiles names the files that Evidence has for the pictures of one of the report's findings.
func (r *Report) PictureFiles(f Finding) []string {
	i := slices.IndexFunc(r.Findings, func(g Finding) bool { return g.Claim == f.Claim && g.Case == f.Case && g.Actual == f.Actual })
	var out []string
	for j, p := range f.Pictures {
		if i >= 0 && p.MediaType == "text/html" {
			out = append(out, pictureFile(i, j, f))
		}
	}
	return out
}

func pictureFile(i, j int, f Finding) string {
	name := "pictures/" + stem(i, f)
	if j > 0 {
		name += fmt.Sprintf("-%d", j+1)
	}
	return name + ".html"
}

// maxStem keeps a file's name below what file systems take, in bytes.
const maxStem = 120

// stem is the name of a finding's files, without folder and ending; i is its index in the report.
func stem(i int, f Finding) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._-@+", r):
			return r
		default:
			return '_'
		}
	}, f.Claim+"@"+f.Subject())
	return fmt.Sprintf("%03d-%.*s", i+1, maxStem, name)
}
