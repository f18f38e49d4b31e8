package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"assay.kit/conformance/target"
	"assay.kit/reference/mcp"
	"assay.kit/reference/mutant"
	"assay.kit/spec/contracts"
)

type serveFlags struct {
	contract, addr, store, db, control, profile, pid, restartOf, format, mutant string
	credentials                                                                 int64
	anywhere, kept                                                              bool
	answers                                                                     string // of the MCP face
}

func (a *app) serve() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the reference of a contract until it is interrupted",
		Example: `  assay serve --db seer.db --write-profile seer.yaml --format json
  assay serve --mutant idempotency-ignored --write-profile broken.yaml`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.restartOf != "" {
				return a.runRestart(c, f.restartOf)
			}
			if err := f.contradiction(c.Flags().Changed("contract")); err != nil {
				return err
			}
			return a.runServe(c.Context(), f)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.contract, "contract", "seer", contractUsage())
	fl.StringVar(&f.addr, "addr", loopback, "where to listen; port 0 takes a free one")
	fl.StringVar(&f.db, "db", "", "file of the SQLite store")
	choiceVar(c, &f.store, "store", "where the state is kept (default: sqlite with --db, else memory)", "", storeSQLite, storeMemory)
	fl.Int64Var(&f.credentials, "seed-credentials", 1, "seed that the credentials are derived from; the same gives the same")
	fl.StringVar(&f.control, "control", "", "where the control API listens (clock, grants, jobs); none without it")
	fl.StringVar(&f.profile, "write-profile", "", "write a target profile with every credential and hook to this file, which then holds secrets")
	fl.StringVar(&f.pid, "pid-file", "", "file that names the process, for --restart-of (default with --write-profile and --db: its name and .pid)")
	fl.StringVar(&f.restartOf, "restart-of", "", "instead of serving: kill the server of this pid file as a crash would (SIGKILL) and start it again as it was")
	fl.StringVar(&f.mutant, "mutant", "", "serve the reference broken in this way (assay list mutants); --contract follows from it")
	answersVar(c, &f.answers)
	fl.BoolVar(&f.anywhere, "listen-anywhere", false, "allow addresses that other machines can reach")
	choiceVar(c, &f.format, "format", "of what is printed once it serves; json is one line", "text", "json")
	fl.BoolVar(&f.kept, keptFlag, false, "end with the process that started this one")
	_ = fl.MarkHidden(keptFlag) // the flag is there
	return c
}

// answersVar adds the flag that sets how the MCP face answers.
func answersVar(c *cobra.Command, to *string) {
	choiceVar(c, to, "mcp-answers", "how the MCP face answers a client that takes both forms", string(mcp.Mixed), string(mcp.JSON), string(mcp.SSE))
}

func (a *app) runRestart(c *cobra.Command, path string) error {
	if c.Flags().NFlag() > 1 {
		return errors.New("flag --restart-of stands alone: the pid file says what to start")
	}
	if !canRestart {
		return restart(path)
	}
	if err := restart(path); err != nil {
		return notJudged{err}
	}
	return nil
}

func (a *app) runServe(ctx context.Context, f serveFlags) error {
	broken, err := f.broken()
	if err != nil {
		return err
	}
	if f.mutant != "" {
		f.contract = broken.Contract
	}
	if f, err = f.resolved(); err != nil {
		return err
	}
	switch {
	case f.kept:
		ctx = withKeeper(ctx)
	case f.pid != "" && canRestart:
		return a.keep(ctx, f)
	}
	ct, err := loadContract(f.contract)
	if err != nil {
		return err
	}
	var pid *pidFile
	if f.pid != "" {
		if pid, err = claimPIDFile(f.pid); err != nil {
			return err
		}
		defer pid.release()
	}
	st, err := openStore(ctx, f.store, f.db)
	if err != nil {
		return err
	}
	ref, err := start(ctx, serving{contract: ct, store: st, credentials: f.credentials, addr: f.addr, control: f.control, anywhere: f.anywhere, answers: mcp.Form(f.answers),
		replace: broken.Replace, wrap: broken.Wrap, behave: broken.Behave, mcp: broken.MCP})
	if err != nil {
		return err
	}
	defer ref.stop()
	if err := announce(f, ref, pid); err != nil {
		return err
	}
	if err := a.ready(f, ref); err != nil {
		return notJudged{err}
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-ref.failed:
		return notJudged{err}
	}
}

// contradiction refuses a mutant of another contract than the one that was asked for.
func (f serveFlags) contradiction(named bool) error {
	m, err := f.broken()
	if err != nil || f.mutant == "" || !named || m.Contract == f.contract {
		return err
	}
	return fmt.Errorf("mutant %s serves the contract %s, not %s; leave --contract out", f.mutant, m.Contract, f.contract)
}

// broken finds the mutant that is to be served; without the flag it breaks nothing.
func (f serveFlags) broken() (mutant.Mutant, error) {
	if f.mutant == "" {
		return mutant.Mutant{}, nil
	}
	var ids []string
	for _, m := range mutant.All() {
		if m.ID == f.mutant {
			return m, nil
		}
		ids = append(ids, m.ID)
	}
	return mutant.Mutant{}, fmt.Errorf("no mutant is called %q%s", f.mutant, orElse(didYouMean(f.mutant, ids), "; assay list mutants names them"))
}

// resolved fills what follows from other flags, and makes paths independent of the folder.
func (f serveFlags) resolved() (serveFlags, error) {
	switch {
	case f.store == "" && f.db != "":
		f.store = storeSQLite
	case f.store == "":
		f.store = storeMemory
	case f.store == storeMemory && f.db != "":
		return f, errors.New("flag --db goes with --store sqlite; leave one of them out")
	}
	if f.store == storeSQLite && f.db == "" {
		return f, errors.New("flag --store sqlite needs --db FILE")
	}
	if f.profile != "" && f.control == "" {
		f.control = loopback
	}
	// Without a durable store there is nothing that a restart could keep.
	if f.profile != "" && f.pid == "" && f.store == storeSQLite && canRestart {
		f.pid = f.profile + ".pid"
	}
	if _, err := contracts.Named(f.contract); err != nil {
		f.contract = absolute(f.contract)
	}
	f.db, f.profile, f.pid = absolute(f.db), absolute(f.profile), absolute(f.pid)
	return f, nil
}

func absolute(path string) string {
	if path == "" {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// announce writes the pid file and the profile: what they say is true from here on.
func announce(f serveFlags, ref *served, pid *pidFile) error {
	if pid != nil {
		exe, err := os.Executable()
		if err != nil {
			return fmt.Errorf("pid file: %w", err)
		}
		if err := pid.write(append([]string{exe}, f.again(ref)...), f.kept); err != nil {
			return err
		}
		if f.store == storeSQLite && canRestart {
			ref.profile.Hooks[target.Restart] = target.Hook{Exec: []string{exe, "serve", "--restart-of", f.pid}}
		}
	}
	if f.profile == "" {
		return nil
	}
	var b bytes.Buffer
	b.WriteString("# Written by assay serve. It holds the credentials of that server.\n")
	if err := ref.profile.Write(&b); err != nil {
		return err
	}
	return replaceFile(f.profile, b.Bytes(), 0o600)
}

// again is the command that starts the same server on the same ports.
func (f serveFlags) again(ref *served) []string {
	args := []string{"serve", "--contract", f.contract, "--addr", ref.addr, "--store", f.store,
		"--seed-credentials", strconv.FormatInt(f.credentials, 10), "--pid-file", f.pid, "--format", f.format}
	if f.db != "" {
		args = append(args, "--db", f.db)
	}
	if ref.control != "" {
		args = append(args, "--control", ref.control)
	}
	if f.profile != "" {
		args = append(args, "--write-profile", f.profile)
	}
	if f.mutant != "" {
		args = append(args, "--mutant", f.mutant)
	}
	if f.answers != "" {
		args = append(args, "--mcp-answers", f.answers)
	}
	if f.anywhere {
		args = append(args, "--listen-anywhere")
	}
	return args
}

// ready tells people or a program that requests are answered from now on.
func (a *app) ready(f serveFlags, ref *served) error {
	if f.format == "json" {
		pid := os.Getpid()
		if f.kept {
			pid = os.Getppid() // whoever wants to end the server has to end its keeper
		}
		return writeLine(a.out, map[string]any{"ready": true, "base_url": ref.baseURL, "mcp_url": ref.profile.MCPURL, "control_url": ref.controlURL, "pid": pid})
	}
	fmt.Fprintf(a.out, "serving   %s at %s (%s)\n", f.contract, ref.baseURL, f.store)
	if ref.profile.MCPURL != "" {
		fmt.Fprintf(a.out, "tools     %s\n", ref.profile.MCPURL)
	}
	if ref.controlURL != "" {
		fmt.Fprintf(a.out, "control   %s\n", ref.controlURL)
	}
	if f.profile != "" {
		fmt.Fprintf(a.out, "profile   %s\n", f.profile)
		fmt.Fprintf(a.out, "judge it  assay check --profile %s --allow financial\n", f.profile)
	} else {
		fmt.Fprintf(a.out, "token     %s\n", ref.profile.Credentials[string(target.Primary)].Bearer.Reveal())
	}
	return nil
}
