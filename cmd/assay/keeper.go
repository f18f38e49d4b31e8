package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// kept is the hidden flag of a server that a keeper has started: it ends when its standard input
// does, so that it cannot outlive the keeper, however that ends.
const keptFlag = "kept"

// keep serves in a process of its own and starts it again, on the same ports, whenever it is killed:
// what --restart-of kills is then really gone, and what comes after it still ends with the command
// that the user started.
func (a *app) keep(ctx context.Context, f serveFlags) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the server cannot be started: %w", err)
	}
	argv := append([]string{exe}, f.again(&served{addr: f.addr, control: f.control})...)
	out := a.out
	for {
		killed, err := a.keepOne(ctx, argv, out)
		if err != nil || !killed || ctx.Err() != nil {
			return err
		}
		r, err := readPIDFile(f.pid)
		if err != nil {
			return notJudged{fmt.Errorf("the server was killed before it was ready: %w", err)}
		}
		argv, out = r.Argv, io.Discard // it has told once where it serves, and serves there again
	}
}

// keepOne runs one server to its end and tells whether it was killed.
func (a *app) keepOne(ctx context.Context, argv []string, out io.Writer) (killed bool, err error) {
	cmd := exec.Command(argv[0], append(argv[1:len(argv):len(argv)], "--"+keptFlag)...) //nolint:noctx // it is asked to end, not killed
	cmd.Stdout, cmd.Stderr = out, a.err
	detach(cmd) // a Ctrl-C comes to it once, from here
	life, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return false, fmt.Errorf("the server cannot be started: %w", err)
	}
	defer func() { _ = life.Close() }()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the server
	select {
	case err = <-ended:
	case <-ctx.Done():
		_ = life.Close()
		select {
		case err = <-ended:
		case <-time.After(restartTime):
			_ = cmd.Process.Kill()
			err = <-ended
		}
	}
	var failed *exec.ExitError
	switch {
	case err == nil:
		return false, nil
	case !errors.As(err, &failed):
		return false, notJudged{fmt.Errorf("the server: %w", err)}
	case failed.ExitCode() > 0: // it has said why
		return false, exit(failed.ExitCode())
	default:
		return true, nil
	}
}

// withKeeper gives a context that ends with the keeper, too.
func withKeeper(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() { // ends with the keeper, or with this process
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx
}
