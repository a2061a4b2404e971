package main

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestStopEndsAllChildProcesses(t *testing.T) {
	// The child ignores the word that it should end.
	cmd := exec.Command("sh", "-c", `sh -c 'trap "" TERM; while :; do sleep 0.1; done' & echo child $!; wait`)
	r, err := launch(t.TempDir(), "role", cmd)
	if err != nil {
		t.Fatal(err)
	}
	text, err := r.waitForLine(t.Context(), `child (\d+)`, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(child, 0); err != nil {
		t.Fatalf("the child does not run: %v", err)
	}
	r.stop()
	for {
		// A killed orphan may stand in the list until somebody asks for it.
		out, _ := exec.Command("ps", "-o", "state=", "-p", text).Output()
		if state := strings.TrimSpace(string(out)); state == "" || state == "Z" {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestExitReasonIsReported(t *testing.T) {
	r, err := launch(t.TempDir(), "role", exec.Command("sh", "-c", "echo no memory; exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.waitForLine(t.Context(), `ready (\d+)`, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "no memory") {
		t.Errorf("error %v", err)
	}
	r.stop() // of what has ended: returns
}
