//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// canRestart says whether serve --restart-of works on this system.
const canRestart = true

// detach keeps a Ctrl-C for this process from the other.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// restart kills the server of a pid file (SIGKILL) and returns when it serves again. Its keeper starts
// it; one that was down before has none any more and is started here, detached, with the command it
// was started with. What that one prints goes to the file's .log.
func restart(path string) error {
	r, was, err := kill(path)
	if err != nil {
		return err
	}
	if was && r.Kept {
		return waitFor(func() (bool, error) {
			now, err := readPIDFile(path)
			return err == nil && now.PID != r.PID, nil
		}, "the server is not ready")
	}
	log, err := os.OpenFile(path+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("log of the restarted server: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(r.Argv[0], r.Argv[1:]...) //nolint:noctx // it outlives this process on purpose
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.Dir, log, log
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("the server does not start again: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the server, or with this process
	return waitFor(func() (bool, error) {
		select {
		case err := <-ended:
			return false, fmt.Errorf("the server ended as soon as it was started again (%v); see %s", err, log.Name())
		default:
		}
		now, err := readPIDFile(path)
		return err == nil && now.PID == cmd.Process.Pid, nil
	}, "the server is not ready")
}
