package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"assay.kit/conformance"
	"assay.kit/reference/mcp"
	"assay.kit/spec"
)

type demoFlags struct {
	contract, store, format, answers string
	seed                             uint64
}

func demoDefaults() demoFlags { return demoFlags{contract: "seer", store: storeSQLite, format: "text"} }

func (a *app) demo() *cobra.Command {
	var f demoFlags
	c := &cobra.Command{
		Use:   "demo",
		Short: "Serve the reference of a contract on this machine, judge it by its URL, and stop it",
		Example: `  assay demo
  assay demo --contract notes --store memory --format json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.runDemo(c.Context(), f) },
	}
	c.Flags().StringVar(&f.contract, "contract", "seer", contractUsage())
	choiceVar(c, &f.store, "store", "where the reference keeps its state", storeSQLite, storeMemory)
	c.Flags().Uint64Var(&f.seed, "seed", 0, "of everything drawn; 0 chooses one and reports it")
	answersVar(c, &f.answers)
	choiceVar(c, &f.format, "format", "of stdout; all but text are the report alone, and assay report --help says what each is for", formatNames()...)
	return c
}

func (a *app) runDemo(ctx context.Context, f demoFlags) error {
	ct, err := loadContract(f.contract)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "assay-demo-*")
	if err != nil {
		return fmt.Errorf("no place for the demo's files: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ref, err := a.startOwn(ctx, ct, f, dir)
	if err != nil {
		return notJudged{err}
	}
	defer ref.stop()
	fmt.Fprintf(a.err, "The reference of %s serves %s from %s until it has been judged.\n", ct.Name, ref.baseURL, f.store)
	rep, err := a.judge(ctx, conformance.Options{Contract: ct, Profile: ref.profile, Seed: f.seed,
		Financial: true, Version: kitVersion()})
	if err != nil {
		return err
	}
	return a.show(ctx, rep, f.format, console("", ""))
}

// startOwn serves the reference for this process alone: free ports, and credentials nobody else
// knows. With a durable store it is a process of its own, which can be killed and started again.
func (a *app) startOwn(ctx context.Context, c *spec.Contract, f demoFlags, dir string) (*served, error) {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	credentials := int64(binary.BigEndian.Uint64(b[:]) >> 1)
	db := filepath.Join(dir, "reference.db")
	if f.store == storeSQLite && canRestart {
		return a.startProcess(ctx, serveFlags{contract: f.contract, store: f.store, db: db, credentials: credentials, profile: filepath.Join(dir, "profile.yaml"), answers: f.answers})
	}
	st, err := openStore(ctx, f.store, db)
	if err != nil {
		return nil, err
	}
	return start(ctx, serving{contract: c, store: st, credentials: credentials, addr: loopback, control: loopback, answers: mcp.Form(f.answers)})
}
