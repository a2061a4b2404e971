//go:build linux

package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/gcstest"
)

// doors returns the addresses at which a process takes connections.
func doors(t *testing.T, process int) (open []netip.AddrPort) {
	t.Helper()
	sockets := map[string]bool{}
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", process))
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 { // it has ended, as a worker of the job before may just now
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", process)); err == nil && len(text) > 0 {
			t.Fatalf("process %d runs and has no open files", process)
		}
	}
	for _, name := range names {
		link, _ := os.Readlink(name)
		if inode, ok := strings.CutPrefix(link, "socket:["); ok {
			sockets[strings.TrimSuffix(inode, "]")] = true
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		lines := strings.Split(read(t, "/proc/net", table), "\n")
		for _, line := range lines[1:] {
			// sl, local address, remote address, state, 5 others, inode.
			const listens = "0A"
			f := strings.Fields(line)
			if len(f) > 9 && f[3] == listens && sockets[f[9]] {
				open = append(open, address(t, f[1]))
			}
		}
	}
	return open
}

// address reads an address as /proc/net has it: words of 32 bits in the order of the
// machine's bytes, which is little endian here, and a port.
func address(t *testing.T, text string) netip.AddrPort {
	t.Helper()
	ip, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(ip)
	var n uint16
	if _, scanErr := fmt.Sscanf(port, "%04X", &n); err != nil || scanErr != nil || len(b)%4 != 0 {
		t.Fatalf("address %q", text)
	}
	for i := 0; i < len(b); i += 4 {
		slices.Reverse(b[i : i+4])
	}
	a, _ := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(a.Unmap(), n)
}

func TestRunnersListenOnThisMachineOnly(t *testing.T) {
	c, o := newCluster(t), newObjects(t)
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "300", "--out", "data.csv")
	o.put(t, dir, "data.csv")
	args := func(name string) []string {
		return o.flags("train", "--data", bucket+"data.csv", "--label", "y", "--features", "16", "--lambda", "1e-6",
			"--model", bucket+name)
	}
	loopback := func() *exec.Cmd {
		cmd := c.job(dir, args("loopback")...)
		cmd.Args[slices.Index(cmd.Args, "EXTERNAL")] = "LOOPBACK"
		return cmd
	}
	const none, loop, any = 0, 1, 2 // where doors may be
	for _, test := range []struct {
		name  string
		where int
		cmd   *exec.Cmd
	}{
		{"direct", none, program(dir, args("direct")...)},
		{"workers of their own", none, c.job(dir, args("workers")...)},
		{"loopback", loop, loopback()},
		{"prism", any, program(dir, append(args("prism"), "--runner", "prism")...)}, // which users do not have
	} {
		t.Run(test.name, func(t *testing.T) {
			// The driver reads the data, too, before it describes a pass to the workers.
			o.rules(t, gcstest.Rules{Hold: "write .bochner-*/state/pass-*"})
			var stderr bytes.Buffer
			test.cmd.Stderr = &stderr
			if err := test.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan result, 1)
			go func() { test.cmd.Wait(); ended <- result{test.cmd.ProcessState.ExitCode(), "", stderr.String()} }()
			o.waits(t, "write", ended)
			o.rules(t, gcstest.Rules{Hold: "read data.csv"})
			o.waits(t, "read", ended)
			open := doors(t, test.cmd.Process.Pid)
			for _, w := range c.workers() {
				open = append(open, doors(t, w.id)...)
			}
			o.rules(t, gcstest.Rules{})
			if r := <-ended; r.code != 0 {
				t.Fatalf("exit code %d\n%s", r.code, r.stderr)
			}
			beyond := slices.ContainsFunc(open, func(a netip.AddrPort) bool { return !a.Addr().IsLoopback() })
			switch test.where {
			case none:
				if len(open) > 0 {
					t.Errorf("listens at %v", open)
				}
			case loop:
				if beyond || len(open) == 0 {
					t.Errorf("listens at %v", open)
				}
			case any:
				if !beyond {
					t.Errorf("prism listens at %v, so that this test sees nothing", open)
				}
			}
		})
	}
}

// By default serve listens at one address, of this machine only. It is the only command that listens because a
// user asked for it.
func TestServeListensOnThisMachineOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	typedModel(t, dir, "model", 1)
	s := serve(t, dir, "--model", "model")
	open := doors(t, s.cmd.Process.Pid)
	if len(open) != 1 || open[0].String() != s.address || !open[0].Addr().IsLoopback() {
		t.Errorf("listens at %v, and says %s", open, s.address)
	}
}
