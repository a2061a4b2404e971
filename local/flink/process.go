package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// role is a process of the cluster, with its process group.
type role struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when it has ended
}

// launch starts a process that logs to dir/NAME.log and leaves its number in
// dir/NAME.pid.
func launch(dir, name string, cmd *exec.Cmd) (*role, error) {
	r := &role{name: name, cmd: cmd, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	f, err := os.OpenFile(r.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cmd.Stdout, cmd.Stderr = f, f
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		cmd.Wait()
		close(r.done)
	}()
	pid := strconv.Itoa(cmd.Process.Pid)
	return r, os.WriteFile(filepath.Join(dir, name+".pid"), []byte(pid+"\n"), 0o666)
}

// stop ends the process and its group, first with a signal that it can handle.
func (r *role) stop() {
	group := -r.cmd.Process.Pid
	syscall.Kill(group, syscall.SIGTERM)
	select {
	case <-r.done:
	case <-time.After(5 * time.Second):
	}
	syscall.Kill(group, syscall.SIGKILL)
	<-r.done
}

// waitForLine waits until a line of the log matches, and returns the group of the pattern.
func (r *role) waitForLine(ctx context.Context, pattern string, patience time.Duration) (string, error) {
	expr := regexp.MustCompile(pattern)
	deadline := time.After(patience)
	for {
		ended := r.ended() // before the log is read, so that its last words are in it
		text, err := os.ReadFile(r.log)
		if err != nil {
			return "", err
		}
		if m := expr.FindStringSubmatch(string(text)); m != nil {
			return m[1], nil
		}
		if ended {
			return "", fmt.Errorf("%s ended: %v; the end of %s:\n%s", r.name, r.cmd.ProcessState, r.log, tail(string(text), 20))
		}
		select {
		case <-r.done:
		case <-deadline:
			return "", fmt.Errorf("%s is not ready after %v; the end of %s:\n%s", r.name, patience, r.log,
				tail(string(text), 20))
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ended reports whether the process has ended.
func (r *role) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// tail returns the last n lines.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
