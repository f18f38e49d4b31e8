package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is the user of the image.
const nobody = 65532

// inEmptyRoot runs the binary of a folder as the image would: nothing else in the file system but a
// folder for temporary files, no variables, and no rights. Root may change its root; who is not root
// does so in a user namespace, where the system has them.
func inEmptyRoot(t *testing.T, folder string) {
	t.Helper()
	temp := filepath.Join(folder, "tmp")
	if err := errors.Join(os.Mkdir(temp, 0o755), os.Chmod(folder, 0o755)); err != nil {
		t.Fatal(err)
	}
	attr := &syscall.SysProcAttr{Chroot: folder}
	if os.Geteuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(temp, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	} else {
		attr.Cloneflags = syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getegid(), Size: 1}}
	}
	for _, tc := range []struct {
		args []string
		says string
	}{
		{[]string{"version"}, "assay v9.8.7 ("},
		{[]string{"--help"}, "Usage: assay"},
		{[]string{"demo", "--contract", "starter", "--store", "memory", "--seed", "1", "--format", "json"}, `"verdict": "conformant"`},
	} {
		c := exec.CommandContext(t.Context(), "/assay", tc.args...)
		c.Path, c.Err, c.Dir, c.Env, c.SysProcAttr = "/assay", nil, "/", []string{}, attr
		out, err := c.CombinedOutput()
		if errors.Is(err, syscall.EPERM) && attr.Cloneflags != 0 { // a system without user namespaces: as it is
			c = exec.CommandContext(t.Context(), filepath.Join(folder, "assay"), tc.args...)
			c.Env = []string{"TMPDIR=" + temp}
			out, err = c.CombinedOutput()
		}
		if err != nil || !strings.Contains(string(out), tc.says) {
			t.Errorf("assay %s: %v\n%.2000s", strings.Join(tc.args, " "), err, out)
		}
	}
}
