//go:build linux

package main

import (
	"bufio"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A worker ends when its parent, Beam's boot program, ends, which is how a runner ends a worker.
func TestWorkerEndsWithItsParent(t *testing.T) {
	server, err := net.Listen("tcp", "localhost:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	address := server.Addr().String()
	boot := exec.Command("sh", "-c", `"$@" & echo $!; wait`, "sh", binary,
		"--worker=true", "--id=1", "--logging_endpoint="+address, "--control_endpoint="+address)
	boot.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := boot.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := boot.Start(); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(-boot.Process.Pid, syscall.SIGKILL)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	worker, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Accept(); err != nil { // the worker has begun
		t.Fatal(err)
	}
	// It looks for its parent every second. Finding it leaves no trace to wait for.
	time.Sleep(1100 * time.Millisecond)
	if err := syscall.Kill(worker, 0); err != nil {
		t.Fatalf("the worker did not wait for its runner: %v", err)
	}
	boot.Process.Kill()
	for len(processes(boot.Process.Pid)) > 0 { // or forever
		time.Sleep(10 * time.Millisecond)
	}
}
