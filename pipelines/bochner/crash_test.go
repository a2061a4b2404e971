//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/pipelines/engine"
)

// failingRunners are runners of the program under test that crash.
func failingRunners() {
	engine.Register(engine.Local{Name: "panics", Beam: func(context.Context, *beam.Pipeline) error {
		var none []int
		_ = none[len(os.Args)]
		return nil
	}})
	engine.Register(engine.Local{Name: "panics-elsewhere", Beam: func(context.Context, *beam.Pipeline) error {
		go func() { panic("in a goroutine that is not ours") }()
		select {}
	}})
}

func TestCrashHasItsOwnCodeAndMessage(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "300", "--out", "data.csv")
	train := func(more ...string) *exec.Cmd {
		cmd := program(dir, append([]string{"train", "--data", "data.csv", "--label", "y", "--features", "16", "--lambda",
			"1e-6", "--model", "model"}, more...)...)
		cmd.Path = filepath.Join(filepath.Dir(binary), withPrism)
		cmd.Args[0] = cmd.Path
		return cmd
	}
	r := runCommand(t, train("--runner", "panics"))
	if r.code != 7 || !strings.HasPrefix(r.stderr, "bochner: internal error: runtime error: index out of range") ||
		strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
	if r := runCommand(t, train("--runner", "panics", "--verbose")); r.code != 7 ||
		!strings.Contains(r.stderr, "crash_test.go") {
		t.Errorf("with --verbose: exit code %d\n%s", r.code, r.stderr)
	}
	// Nobody can recover from that: the end is a signal, and not the code of flags.
	cmd := train("--runner", "panics-elsewhere")
	runCommand(t, cmd)
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGABRT {
		t.Errorf("ended as %v", cmd.ProcessState)
	}
	if r := runProgram(t, dir, "train", "--data", "data.csv", "--label", "y", "--features", "16", "--lambda", "1e-6", "--model",
		"model", "--resume"); r.code != 0 {
		t.Errorf("resumed: exit code %d\n%s", r.code, r.stderr)
	}
}

func TestClosedTerminalInterruptsUnlessIgnored(t *testing.T) {
	o := newObjects(t)
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "300", "--out", "data.csv")
	o.put(t, dir, "data.csv")
	c := &chore{dir: dir, args: o.flags("train", "--data", bucket+"data.csv", "--label", "y", "--features", "16",
		"--lambda", "1e-6", "--model", "model")}
	hangUp := func() *started {
		t.Helper()
		o.rules(t, gcstest.Rules{Hold: "read data.csv"})
		s := c.start(t)
		if !s.until(func() bool { return o.seen(t)["read held"] > 0 }) {
			t.Fatal(s.stderr.String())
		}
		s.cmd.Process.Signal(syscall.SIGHUP)
		return s
	}
	s := hangUp()
	<-s.ended // while the data are held
	if code := s.cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(s.stderr.String(), "bochner: stopped") {
		t.Errorf("exit code %d\n%s", code, s.stderr.String())
	}
	signal.Ignore(syscall.SIGHUP) // as nohup does
	defer signal.Reset(syscall.SIGHUP)
	s = hangUp()
	o.rules(t, gcstest.Rules{})
	<-s.ended
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("under nohup: exit code %d\n%s", code, s.stderr.String())
	}
}

func TestMissingTMPDIRIsNamed(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "300", "--out", "data.csv")
	must(t, dir, "train", "--data", "data.csv", "--label", "y", "--features", "16", "--lambda", "1e-6", "--model", "model")
	cmd := program(dir, "evaluate", "--model", "model", "--data", "data.csv")
	none := filepath.Join(dir, "none")
	cmd.Env = append(os.Environ(), "TMPDIR="+none)
	isRefusal(t, runCommand(t, cmd), 3, none, "set TMPDIR")
}
