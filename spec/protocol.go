package spec

import (
	"embed"

	"assay.kit/spec/tree"
)

// protocols are the catalogs of what the Model Context Protocol promises, one a revision. Adding a
// revision is adding its file.
//
//go:embed protocol/*.yaml
var protocols embed.FS

const defaultRevision = "2025-06-18"

// protocol adds the rows of the protocol that serves the contract's tools.
func (l *loader) protocol() {
	if len(l.c.Tools) == 0 {
		return
	}
	revision := defaultRevision
	if m := l.c.Doc.MCP; m != nil && m.Revision != "" {
		revision = m.Revision
	}
	file := "protocol/mcp-" + revision + ".yaml"
	data, err := protocols.ReadFile(file)
	if err != nil {
		l.problem(nil, "this kit knows "+defaultRevision, "there is no catalog of the MCP revision %q", revision)
		return
	}
	root, err := tree.ParseYAML(file, data)
	if err != nil {
		l.problems = append(l.problems, problemOf(err))
		return
	}
	l.files = append(l.files, file)
	l.requirements(root)
}
