//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Training works for a user number without an entry in /etc/passwd, as in a container.
func TestTrainWorksWithoutAPasswdEntry(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can run a program as another user")
	}
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "bochner")
	if err := os.WriteFile(own, text, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"generate", "moons", "--rows", "300", "--out", "data.csv"},
		{"train", "--data", "data.csv", "--label", "y", "--features", "16", "--lambda", "1e-6", "--model", "model"},
	} {
		cmd := exec.Command(own, args...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir} // neither USER nor HOME
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
		if r := runCommand(t, cmd); r.code != 0 {
			t.Errorf("%s: exit code %d\n%s", args[0], r.code, r.stderr)
		}
	}
}
