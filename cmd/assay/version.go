package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by a release build (-ldflags "-X main.version=v1.2.3").
var version string

// kitVersion is the release, else what the Go tool recorded: module version, or revision.
func kitVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = "-" + s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	return "devel" + revision + dirty
}

func (a *app) version() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the kit and of the Go that built it",
		Example: `  assay version
  assay version --format json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if format == "json" {
				return writeJSON(a.out, map[string]string{"version": kitVersion(), "go": runtime.Version(),
					"os": runtime.GOOS, "arch": runtime.GOARCH})
			}
			fmt.Fprintf(a.out, "assay %s (%s, %s/%s)\n", kitVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
	choiceVar(c, &format, "format", "how to print", "text", "json")
	return c
}
