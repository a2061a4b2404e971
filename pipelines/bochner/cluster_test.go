//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/container/pool"

	"github.com/bochner-ml/bochner/internal/testing/prismtest"
)

// poolVariable tells the test binary to be a pool of worker processes; its value
// is what the pool starts. serverVariable tells it to be prism's job server. Beam's own
// programs for that are open to other machines.
const (
	poolVariable   = "BOCHNER_TEST_POOL"
	serverVariable = "BOCHNER_TEST_SERVER"
)

func init() {
	switch {
	case os.Getenv(serverVariable) != "":
		endpoint, err := prismtest.Serve(context.Background(), 0)
		if err == nil {
			fmt.Println("serving at", endpoint)
			select {}
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case os.Getenv(poolVariable) != "":
		p, err := pool.New(context.Background(), 0, os.Getenv(poolVariable))
		if err == nil {
			err = prismtest.Close()
		}
		if err == nil {
			err = p.ServeAndWait()
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// cluster is a job server and a pool of worker processes, all on this machine:
// Beam's prism as a server, and Beam's boot program, which fetches the program from
// the server and starts it as a worker.
type cluster struct {
	program  string // the binary under test, with bytes at its end that no other has
	mark     []byte // those bytes
	temp     string // for temporary files of the program and the server
	endpoint string // of the server
	pool     string // address of the pool
	server   int    // group of the server
	group    int    // of the processes of the pool
}

var buildBeam = sync.OnceValue(func() error {
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Dir(binary)+"/",
		"github.com/apache/beam/sdks/v2/go/container")
	cmd.Dir = moduleDir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building Beam's boot program: %w\n%s", err, text)
	}
	return nil
})

// newCluster starts a cluster that ends with the test.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	if err := buildBeam(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := &cluster{program: filepath.Join(dir, "bochner"), mark: make([]byte, 32), temp: filepath.Join(dir, "tmp")}
	rand.Read(c.mark)
	text, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.program, append(text, c.mark...), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"tmp", "server", "worker", "persist"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Dir(binary)
	boot := filepath.Join(dir, "boot")
	script := fmt.Sprintf("#!/bin/sh\ncd '%s/worker' && exec '%s/container' --semi_persist_dir='%s/persist' \"$@\"\n", dir,
		bin, dir)
	if err := os.WriteFile(boot, []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.tidy(t) }) // when all processes have ended

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(self)
	server.Dir = filepath.Join(dir, "server")
	// Each pipeline sends the server its program: garbage of some 300 MB.
	server.Env = append([]string{serverVariable + "=1"}, usualGC...)
	port, group := c.start(t, server, filepath.Join(dir, "server.log"), `serving at localhost:(\d+)`)
	c.endpoint, c.server = "localhost:"+port, group
	t.Cleanup(func() { c.memoryStaysBounded(t) }) // while the server is there

	workers := exec.Command(self)
	workers.Dir = filepath.Join(dir, "worker")
	workers.Env = []string{poolVariable + "=" + boot}
	port, c.group = c.start(t, workers, filepath.Join(dir, "pool.log"), `addr=\S*:(\d+)`)
	c.pool = "localhost:" + port
	return c
}

// start starts a process in a group of its own, which is killed as a whole when
// the test ends, and returns what the pattern finds in its log.
func (c *cluster) start(t *testing.T, cmd *exec.Cmd, log, pattern string) (found string, group int) {
	t.Helper()
	// A shell at the head of the group kills it when its input ends, which it does
	// however this process ends.
	name := cmd.Path
	args := append([]string{"sh", "-c", `("$@"; echo "ended: $?") & read _; kill -KILL 0`, "sh"}, cmd.Args...)
	cmd.Path, cmd.Args = "/bin/sh", args
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = f, f
	cmd.Env = append(append(os.Environ(), cmd.Env...), "TMPDIR="+c.temp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	group = cmd.Process.Pid
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
		for len(processes(group)) > 0 { // all are killed
			time.Sleep(10 * time.Millisecond)
		}
	})
	expr := regexp.MustCompile(pattern)
	for {
		if m := expr.FindStringSubmatch(read(t, log)); m != nil {
			return m[1], group
		}
		if strings.Contains(read(t, log), "ended: ") {
			t.Fatalf("%s did not say its port:\n%s", name, read(t, log))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// copies returns the copies of the program that Beam's boot has left in /tmp,
// wherever TMPDIR points.
func (c *cluster) copies() (left []string) {
	names, _ := filepath.Glob("/tmp/bin*/worker")
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		end := make([]byte, len(c.mark))
		if fi, err := f.Stat(); err == nil {
			f.ReadAt(end, max(0, fi.Size()-int64(len(end))))
		}
		f.Close()
		if bytes.Equal(end, c.mark) {
			left = append(left, name)
		}
	}
	return left
}

// tidy removes copies of the program for workers that were killed before they
// could, and checks that the program has left nothing else.
func (c *cluster) tidy(t *testing.T) {
	for _, name := range c.copies() {
		os.RemoveAll(filepath.Dir(name))
	}
	if left := entries(t, c.temp); len(left) > 0 {
		t.Errorf("left in the directory of temporary files: %v", left)
	}
}

// memoryStaysBounded checks that the server never held more than the programs of a few pipelines,
// however many it ran: the memory of the machine would fill, and Linux would take from workers the
// pages of their program again and again, so that a job of seconds takes minutes.
func (c *cluster) memoryStaysBounded(t *testing.T) {
	fi, err := os.Stat(c.program)
	if err != nil {
		t.Fatal(err)
	}
	var peak int64
	for _, p := range processes(c.server) {
		peak = max(peak, p.peak())
	}
	t.Logf("the server took up to %d MB for programs of %d MB", peak>>20, fi.Size()>>20)
	if peak == 0 || peak > 40*fi.Size() {
		t.Errorf("the server took up to %d MB for programs of %d MB", peak>>20, fi.Size()>>20)
	}
}

// job returns the program with arguments, to run on the cluster.
func (c *cluster) job(dir string, args ...string) *exec.Cmd {
	cmd := program(dir, slices.Concat(args, []string{
		"--runner", "universal", "--endpoint", c.endpoint, "--environment_type", "EXTERNAL", "--environment_config", c.pool,
	})...)
	cmd.Path, cmd.Args[0] = c.program, c.program
	cmd.Env = append(os.Environ(), "TMPDIR="+c.temp)
	return cmd
}

// process is a process as the system has it.
type process struct {
	id      int
	args    string
	seconds float64 // of CPU time
	memory  int64   // bytes that are resident
}

// processes returns the processes of a group that have not ended.
func processes(group int) (list []process) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // ended meanwhile
		}
		// The name, in parentheses, may hold anything; the numbers follow it.
		f := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		if len(f) < 22 || f[0] == "Z" || f[0] == "X" || f[2] != strconv.Itoa(group) {
			continue
		}
		p := process{}
		p.id, _ = strconv.Atoi(filepath.Base(filepath.Dir(name)))
		user, _ := strconv.ParseFloat(f[11], 64)
		system, _ := strconv.ParseFloat(f[12], 64)
		p.seconds = (user + system) / 100 // Linux counts in hundredths for users
		pages, _ := strconv.ParseInt(f[21], 10, 64)
		p.memory = pages * int64(os.Getpagesize())
		args, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		p.args = strings.ReplaceAll(string(args), "\x00", " ")
		list = append(list, p)
	}
	return list
}

// peak returns the most memory in bytes that a process had, or 0 if it has ended.
func (p process) peak() int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.id))
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	var kB int64
	fmt.Sscan(string(rest), &kB)
	return kB << 10
}

// workers returns the worker processes of the cluster.
func (c *cluster) workers() []process {
	return slices.DeleteFunc(processes(c.group),
		func(p process) bool { return !strings.Contains(p.args, "--worker=true") })
}
