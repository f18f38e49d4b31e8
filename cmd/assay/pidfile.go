package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// pidRecord says which process serves, and the command that starts the same server again: on the
// same ports, store and credentials.
type pidRecord struct {
	PID  int      `json:"pid"`
	Dir  string   `json:"dir"`
	Argv []string `json:"argv"`
	Kept bool     `json:"kept"` // another process starts it again when it is killed
}

// pidFile goes with a lock that is held for as long as the server lives. The lock, not the number in
// the file, tells whether it does: a number may have gone to another process since, and a killed
// server cannot clean up. The lock is a file of its own, since on Windows a locked one cannot be written.
type pidFile struct {
	path string
	lock *flock.Flock
}

func lockOf(path string) *flock.Flock {
	return flock.New(path+".lock", flock.SetPermissions(0o600))
}

// claimPIDFile takes the file for this process; another living server's is refused.
func claimPIDFile(path string) (*pidFile, error) {
	l := lockOf(path)
	got, err := l.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("pid file %s cannot be locked: %w", path, reason(err))
	case !got:
		return nil, fmt.Errorf("pid file %s belongs to a server that is running; stop it, or name another file", path)
	}
	return &pidFile{path, l}, nil
}

// write records this process once it serves.
func (f *pidFile) write(argv []string, kept bool) error {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("pid file: %w", err)
	}
	b, err := json.Marshal(pidRecord{PID: os.Getpid(), Dir: dir, Argv: argv, Kept: kept})
	if err != nil {
		return fmt.Errorf("pid file: %w", err)
	}
	return replaceFile(f.path, append(b, '\n'), 0o600)
}

// release removes the file of a server that ends in order.
func (f *pidFile) release() {
	if f != nil {
		_ = os.Remove(f.path)
		_ = os.Remove(f.lock.Path())
		_ = f.lock.Close()
	}
}

func readPIDFile(path string) (pidRecord, error) {
	var r pidRecord
	b, err := os.ReadFile(path)
	if err != nil {
		return r, fmt.Errorf("pid file %s cannot be read: %w", path, reason(err))
	}
	if err := json.Unmarshal(b, &r); err != nil || r.PID <= 0 || len(r.Argv) == 0 {
		return r, fmt.Errorf("%s is no pid file of assay serve", path)
	}
	return r, nil
}

// alive reports whether the server that the file belongs to is running.
func alive(path string) (bool, error) {
	l := lockOf(path)
	got, err := l.TryLock()
	if err != nil {
		return false, fmt.Errorf("pid file %s cannot be locked: %w", path, reason(err))
	}
	_ = l.Close()
	return !got, nil
}

// restartTime bounds both halves of a restart: the end of the old process and the start of the new.
const restartTime = 20 * time.Second

// kill ends a server abruptly, as a crash would, and waits until it is gone. was: it was running.
func kill(path string) (r pidRecord, was bool, err error) {
	if r, err = readPIDFile(path); err != nil {
		return r, false, err
	}
	up, err := alive(path)
	if err != nil || !up {
		return r, false, err // a server that is down already only needs starting
	}
	p, err := os.FindProcess(r.PID)
	if err == nil {
		err = p.Kill()
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return r, true, fmt.Errorf("process %d cannot be killed: %w", r.PID, err)
	}
	return r, true, waitFor(func() (bool, error) {
		now, err := readPIDFile(path)
		if err == nil && now.PID != r.PID {
			return true, nil // its keeper was faster
		}
		up, err := alive(path)
		return !up, err
	}, fmt.Sprintf("process %d did not end", r.PID))
}

// waitFor asks until the answer is yes.
func waitFor(done func() (bool, error), otherwise string) error {
	for deadline := time.Now().Add(restartTime); ; time.Sleep(5 * time.Millisecond) {
		ok, err := done()
		switch {
		case err != nil:
			return err
		case ok:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("%s within %s", otherwise, restartTime)
		}
	}
}

// replaceFile writes a file that appears whole or not at all.
func replaceFile(path string, data []byte, mode os.FileMode) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", path, reason(err))
	}
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Chmod(mode), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return fmt.Errorf("%s cannot be written: %w", path, reason(err))
	}
	return nil
}
