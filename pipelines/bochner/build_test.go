package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/internal/testing/prismtest"
	"github.com/bochner-ml/bochner/pipelines/command"
	"github.com/bochner-ml/bochner/pipelines/engine"
)

// binary is the program as users have it: built statically, once for all tests, or the one
// that the workers of a Flink cluster run.
var binary string

// Names under which this test program is something else, so that nothing more need be
// linked: bochner with a further runner, Beam's prism, which users do not have (see
// package prismtest), and the server of local/gcs.
const (
	withPrism     = "bochner-with-prism"
	objectsServer = "gcs"
)

func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case objectsServer:
		gcstest.Main(os.Args[1:])
	case withPrism:
		engine.Register(engine.Local{Name: "prism", Readers: prismtest.Readers, Beam: prismtest.Run})
		failingRunners()
		main()
	}
	// Under nohup, or started by a script in the background, this program ignores signals,
	// and so would those that it starts.
	for _, s := range []os.Signal{syscall.SIGHUP, os.Interrupt} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (int, error) {
	// The programs that tests start are small and short; collecting garbage is a third of their time.
	os.Setenv("GOGC", "1000")
	os.Setenv("GOMEMLIMIT", "1TiB")
	dir, err := os.MkdirTemp("", "bochner-test-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "bochner")
	// Workers of a cluster refuse jobs of another build than their own.
	if program := os.Getenv("BOCHNER_FLINK_PROGRAM"); program != "" {
		err = os.Symlink(program, binary)
	} else {
		err = build(binary)
	}
	if err != nil {
		return 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	for _, name := range []string{withPrism, objectsServer} {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			return 0, err
		}
	}
	// run changes the working directory under concurrent tests, so no test may depend on it.
	if err := os.Chdir(dir); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// buildName names the build of the programs under test.
const buildName = "build-under-test-1"

// usualGC has a program, whose memory is measured, collect garbage as it does for users.
var usualGC = []string{"GOGC=100", "GOMEMLIMIT=off", "GODEBUG="}

// long reports whether the campaigns are run as a whole, not a short part of each.
func long() bool { return os.Getenv("BOCHNER_LONG") != "" }

// build compiles the program without cgo, and without tables for debuggers, which are half the
// work of the linker.
func build(out string) error {
	cmd := exec.Command("go", "build", "-ldflags", "-s -w -X github.com/bochner-ml/bochner/transforms.build="+buildName,
		"-o", out, ".")
	cmd.Dir = source("pipelines/bochner")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, text)
	}
	return nil
}

// result is what a run of the program gave.
type result struct {
	code           int
	stdout, stderr string
}

// program returns the program with arguments, to run in dir. Trainings search for nothing unless the arguments
// say so: that would take most of the time of most tests.
func program(dir string, args ...string) *exec.Cmd {
	args = jobtest.Plain(args)
	name := binary
	if i := slices.Index(args, "--runner"); i >= 0 && slices.Contains(args[i:], "prism") {
		name = filepath.Join(filepath.Dir(binary), withPrism)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Minute
	return cmd
}

// runProgram runs the program in dir, with any exit code.
func runProgram(t *testing.T, dir string, args ...string) result {
	t.Helper()
	return runCommand(t, program(dir, args...))
}

func runCommand(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("bochner %s: %v", strings.Join(cmd.Args[1:], " "), err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), tenSeconds.ReplaceAllString(stderr.String(), "")}
}

// tenSeconds matches what a job prints every ten seconds, which it does on a slow machine only.
var tenSeconds = regexp.MustCompile(`(?m)^[^:\n]+: (?:for|[\d,]+(?: of [\d,]+)? rows after) [\dhms]+\n`)

// moduleDir is the root of the module.
var moduleDir, _ = filepath.Abs("../..")

// source returns the absolute name of a file of the module.
func source(name string) string { return filepath.Join(moduleDir, name) }

// inDirectory is held by the command that has the working directory of this process.
var inDirectory sync.Mutex

// run runs a command in dir, with any exit code: in this process, because a start of the program takes
// 17 ms of CPU time. Commands that name a runner, whose flags belong to a process, are programs of their own.
// Tests of what a process does, of signals, memory and environments, call runProgram.
func run(t *testing.T, dir string, args ...string) result {
	t.Helper()
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--runner") }) {
		return runProgram(t, dir, args...)
	}
	inDirectory.Lock()
	defer inDirectory.Unlock()
	back, err := os.Getwd()
	if err := errors.Join(err, os.Chdir(dir)); err != nil {
		t.Fatal(err)
	}
	defer os.Chdir(back)
	var stdout, stderr bytes.Buffer
	code := command.Run(t.Context(), jobtest.Plain(args), &stdout, &stderr)
	return result{int(code), stdout.String(), tenSeconds.ReplaceAllString(stderr.String(), "")}
}

// must runs a command as run does, and fails the test unless it succeeds. It returns what was printed.
func must(t *testing.T, dir string, args ...string) string {
	t.Helper()
	r := run(t, dir, args...)
	if r.code != 0 {
		t.Fatalf("bochner %s: exit code %d\n%s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r.stdout
}

// read returns the content of a file below dir.
func read(t *testing.T, dir string, name ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{dir}, name...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// write writes a file below dir and returns its name.
func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.WriteFile(p, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return p
}

// entries returns the names in dir, hidden ones too.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestGenerateTrainEvaluateAndPredictWorkTogether(t *testing.T) {
	dir := t.TempDir()
	must := func(args ...string) {
		if r := runProgram(t, dir, args...); r.code != 0 {
			t.Fatalf("bochner %v: exit code %d\n%s", args, r.code, r.stderr)
		}
	}
	must("generate", "moons", "--rows", "2000", "--out", "train.csv")
	must("generate", "moons", "--rows", "3000", "--seed", "2", "--out", "test.csv")
	must("train", "--data", "train.csv", "--label", "y", "--features", "256", "--model", "model")
	must("evaluate", "--model", "model", "--data", "test.csv", "--gate", "accuracy>=0.97")
	must("predict", "--model", "model", "--data", "test.csv", "--out", "predictions")
	if n := strings.Count(read(t, dir, "predictions", "part-00000.csv"), "\n"); n != 3001 {
		t.Errorf("%d lines of predictions for 3000 rows and a header", n)
	}
	if r := runProgram(t, dir, "evaluate", "--model", "model", "--data", "test.csv", "--gate", "accuracy>=1"); r.code != 4 {
		t.Errorf("a gate that cannot be passed: exit code %d, want 4", r.code)
	}
	if got := entries(t, dir); len(got) != 4 {
		t.Errorf("left behind: %v", got)
	}
}

// The program has at most 62 MB: the Makefile and the Dockerfile leave out gRPC's xDS, which would be a fifth
// of it.
func TestProgramIsSmall(t *testing.T) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(info.Settings, debug.BuildSetting{Key: "-tags", Value: "disable_grpc_modules"}) {
		t.Skip("built without the tags of the Makefile")
	}
	if fi, err := os.Stat(binary); err != nil || fi.Size() > 62e6 {
		t.Errorf("the program has %d bytes, want at most 62 MB: %v", fi.Size(), err)
	}
}
