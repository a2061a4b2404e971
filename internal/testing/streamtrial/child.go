//go:build unix

package streamtrial

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// line is what is used of a line that the stream prints after a round.
type line struct {
	Model       string `json:"model"`
	ReloadError string `json:"reload_error"`
	Ended       bool   `json:"ended"`
}

// child is a running stream.
type child struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	done   chan struct{} // closed when the process has ended
	err    error         // of the process

	mu   sync.Mutex
	n    int // lines
	last line
	more chan struct{} // closed when there is another line
}

func start(ctx context.Context, binary string, args []string) (*child, error) {
	c := &child{cmd: exec.CommandContext(ctx, binary, args...), done: make(chan struct{}), more: make(chan struct{})}
	c.cmd.Stderr = &c.stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var l line
			if json.Unmarshal(lines.Bytes(), &l) != nil {
				continue // cut by a kill
			}
			c.mu.Lock()
			c.n++
			c.last = l
			close(c.more)
			c.more = make(chan struct{})
			c.mu.Unlock()
		}
		c.err = c.cmd.Wait()
	}()
	return c, nil
}

// after waits for a line after the n-th, and returns its number.
func (c *child) after(ctx context.Context, n int) (int, line, error) {
	for {
		c.mu.Lock()
		have, last, more := c.n, c.last, c.more
		c.mu.Unlock()
		if have > n {
			return have, last, nil
		}
		select {
		case <-more:
		case <-c.done:
			return 0, last, c.alive()
		case <-ctx.Done():
			return 0, last, ctx.Err()
		}
	}
}

// alive returns an error if the process has ended.
func (c *child) alive() error {
	select {
	case <-c.done:
		return fmt.Errorf("the stream has ended: %v: %s", c.err, &c.stderr)
	default:
		return nil
	}
}

// kill ends the process at once.
func (c *child) kill() {
	c.cmd.Process.Kill()
	<-c.done
}

// stop asks the process to stop and returns its exit code.
func (c *child) stop() (int, error) {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	<-c.done
	if exit, ok := errors.AsType[*exec.ExitError](c.err); ok {
		return exit.ExitCode(), errors.New(c.stderr.String())
	}
	return 0, c.err
}

// resident returns the memory of a process in bytes; 0 if unknown.
func resident(p *os.Process) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	n, _ := strconv.ParseInt(strings.TrimSpace(strings.SplitN(rest, "kB", 2)[0]), 10, 64)
	return n << 10
}
