//go:build !unix

package main

import (
	"errors"
	"os/exec"
)

const canRestart = false

func restart(string) error {
	return errors.New("serve --restart-of is not supported on this system: a process cannot be killed and detached here as on Linux and macOS")
}

func detach(*exec.Cmd) {}
