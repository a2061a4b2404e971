//go:build linux

// Command serve measures bochner serve on this machine: latency and throughput with 1, 16 and 256 clients,
// compared with LightGBM behind the same HTTP interface, memory over a million requests, slow clients, and
// bodies that are too large. It uses only the loopback device.
//
//	go run ./local/serve -binary build/bochner -python build/served/bin/python
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var (
	binary   = flag.String("binary", "build/bochner", "the program")
	python   = flag.String("python", "", "Python with the packages of local/serve/requirements.txt; none leaves LightGBM out")
	seconds  = flag.Duration("time", 5*time.Second, "time of each measurement of latency")
	requests = flag.Int("requests", 1_000_000, "requests over which memory is measured")
	only     = flag.String("only", "", "latency, memory or abuse; all by default")
)

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "bochner-serve-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, err := filepath.Abs(*binary)
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"generate", "friedman", "--rows", "20000", "--out", "train.csv"},
		{"train", "--data", "train.csv", "--label", "y", "--features", "1024", "--lambda", "1e-6", "--search", "none",
			"--model", "model", "--quiet"},
	} {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %s", args, err, out)
		}
	}
	for _, m := range []struct {
		name    string
		measure func(context.Context, string, string) error
	}{{"latency", latency}, {"abuse", abuse}, {"memory", memory}} {
		if *only == "" || *only == m.name {
			if err := m.measure(ctx, program, dir); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
	}
	return nil
}

// server is a running server.
type server struct {
	cmd     *exec.Cmd
	address string
}

// start starts a server on a free port, PORT in the words of its command line, and waits until it is ready.
func start(ctx context.Context, dir string, words ...string) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{address: l.Addr().String()}
	l.Close()
	_, port, _ := net.SplitHostPort(s.address)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "PORT", port)
	}
	s.cmd = exec.CommandContext(ctx, words[0], words[1:]...)
	s.cmd.Dir, s.cmd.Stderr = dir, os.Stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for range 1800 {
		if answer, err := http.Get("http://" + s.address + "/readyz"); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return s, nil
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.stop()
	return nil, fmt.Errorf("%v is not ready after three minutes", words)
}

func startBochner(ctx context.Context, program, dir string, more ...string) (*server, error) {
	return start(ctx, dir, append([]string{program, "serve", "--model", "model", "--listen", "127.0.0.1:PORT"}, more...)...)
}

// stop ends the server and its workers.
func (s *server) stop() {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGTERM)
	_ = s.cmd.Wait()
}

// used returns the CPU time that the server and its workers have used.
func (s *server) used() time.Duration {
	ticks := 0
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range files {
		text, err := os.ReadFile(name)
		_, after, ok := strings.Cut(string(text), ") ")
		if f := strings.Fields(after); err == nil && ok && len(f) > 12 && f[2] == strconv.Itoa(s.cmd.Process.Pid) { // its group
			user, _ := strconv.Atoi(f[11])
			system, _ := strconv.Atoi(f[12])
			ticks += user + system
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// resident returns the resident memory of the server, and its maximum, in MB.
func (s *server) resident() (now, peak float64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if f := strings.Fields(value); len(f) == 2 && f[1] == "kB" {
			n, _ := strconv.ParseFloat(f[0], 64)
			switch name {
			case "VmRSS":
				now = n / 1024
			case "VmHWM":
				peak = n / 1024
			}
		}
	}
	return now, peak
}
