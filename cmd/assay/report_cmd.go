package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"assay.kit/conformance/report"
)

type reportFlags struct {
	format, out string
	given       bool // --format
}

func (a *app) report() *cobra.Command {
	var f reportFlags
	c := &cobra.Command{
		Use:   "report FILE",
		Short: "Write a JSON report of an earlier check in another format, or in all of them; nothing is sent",
		Example: `  assay report report.json --format junit --out junit.xml
  assay report report.json --out folder`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error {
			f.given = c.Flags().Changed("format")
			return a.runReport(args[0], f)
		},
	}
	choiceVar(c, &f.format, "format", formatUsage(), formatNames()...)
	c.Flags().StringVar(&f.out, "out", "", "with --format: the file to write (default: stdout); without: a folder for all formats and the evidence")
	return c
}

func oneFile(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes one JSON report, or - for stdin, but got %d arguments; see %s --help", c.CommandPath(), len(args), c.CommandPath())
	}
	return nil
}

// runReport converts. The exit code says whether that worked, not what the report says.
func (a *app) runReport(file string, f reportFlags) error {
	rep, err := readReportFile(file)
	if err != nil {
		return err
	}
	if f.out != "" && !f.given {
		dir, err := createOutputs(f.out)
		if err != nil {
			return err
		}
		return dir.write(rep)
	}
	if f.out == "" {
		return a.writeTo(a.out, rep, f.format, console(saved(file), ""))
	}
	err = writeWhole(f.out, func(w io.Writer) error { return writeFormat(w, rep, f.format, console(saved(file), "")) })
	if err != nil {
		return fmt.Errorf("flag --out: %s cannot be written: %w", f.out, reason(err))
	}
	return nil
}

// saved is the name of a report that a command line can give again.
func saved(file string) string {
	if file == "-" {
		return ""
	}
	return file
}

// readReportFile reads a JSON report; - is stdin.
func readReportFile(file string) (*report.Report, error) {
	in := os.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("report %s cannot be read: %w", file, reason(err))
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	rep, err := report.Read(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return rep, nil
}

// writeTo writes one format to a stream; text takes the width and the colours of a terminal there.
func (a *app) writeTo(w io.Writer, rep *report.Report, format string, text report.Console) error {
	s := a.screen(w)
	text.Width, text.Color = s.width(text.Width), s.color
	return writeFormat(w, rep, format, text)
}

func writeFormat(w io.Writer, rep *report.Report, format string, text report.Console) error {
	for _, f := range formats(text) {
		if f.Name == format {
			return f.Write(w, rep)
		}
	}
	return errors.New("there is no format " + format)
}
