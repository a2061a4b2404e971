//go:build unix

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/gcstest"
)

// chore is a job that takes a while, in a directory with the data for it.
type chore struct {
	dir  string
	args []string
	out  string            // what the job makes, below dir
	want map[string]string // the files of it when nothing disturbs the job
	took time.Duration     // then
}

// choreData makes rows of data for jobs.
func choreData(t *testing.T, rows string) (dir string) {
	dir = t.TempDir()
	must(t, dir, "generate", "windmill", "--rows", rows, "--out", "data.csv")
	return dir
}

const (
	someTenths  = "10000"               // rows with which a job takes some tenths of a second
	shardOfRows = "--shard_bytes=60000" // about 2,500 rows
)

// training is a job of two passes and a solve for several λ and folds.
func training(t *testing.T, dir string, args ...string) *chore {
	return undisturbed(t, &chore{dir: dir, out: "model", args: append([]string{
		"train", "--data", "data.csv", "--label", "y", "--features", "256", "--lambda", "1e-8,1e-6,1e-4", "--folds", "5",
		shardOfRows, "--model", "model",
	}, args...)})
}

// predicting is a job that writes a file for each of the shards.
func predicting(t *testing.T, dir string, args ...string) *chore {
	if _, err := os.Stat(filepath.Join(dir, "applied")); err != nil {
		must(t, dir, "train", "--data", "data.csv", "--label", "y", "--features", "1024", "--lambda", "1e-6", "--model",
			"applied")
	}
	return undisturbed(t, &chore{dir: dir, out: "out", args: append([]string{
		"predict", "--data", "data.csv", "--model", "applied", "--scores", shardOfRows, "--out", "out",
	}, args...)})
}

// undisturbed runs the job to its end, and takes what it makes away.
func undisturbed(t *testing.T, c *chore) *chore {
	t.Helper()
	begun := time.Now()
	if r := runProgram(t, c.dir, c.args...); r.code != 0 {
		t.Fatalf("%v: exit code %d\n%s", c.args, r.code, r.stderr)
	}
	c.took = time.Since(begun)
	c.want = c.made(t)
	return c
}

// made returns the files that the job has made and removes them.
func (c *chore) made(t *testing.T) map[string]string {
	t.Helper()
	var got map[string]string
	if strings.HasSuffix(c.out, ".csv") { // a job that makes a file
		got = map[string]string{c.out: read(t, c.dir, c.out)}
	} else {
		got = files(t, filepath.Join(c.dir, c.out))
	}
	if err := os.RemoveAll(filepath.Join(c.dir, c.out)); err != nil {
		t.Fatal(err)
	}
	return got
}

// whole fails the test unless a directory has all the right files.
func (c *chore) whole(t *testing.T, when string, got map[string]string) {
	t.Helper()
	if len(got) != len(c.want) {
		t.Errorf("%s: %d files, want %d", when, len(got), len(c.want))
	}
	for name, content := range c.want {
		if got[name] != content {
			t.Errorf("%s: %s differs from an undisturbed run's", when, name)
		}
	}
}

// state returns the files of the job's work directory that match a pattern.
func (c *chore) state(pattern string) []string {
	found, _ := filepath.Glob(filepath.Join(c.dir, ".bochner-"+c.out, pattern))
	return found
}

// started is a run of the program that goes on.
type started struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	ended          chan struct{}
}

func (c *chore) start(t *testing.T) *started {
	t.Helper()
	s := &started{cmd: program(c.dir, c.args...), ended: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.stderr
	s.cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // a killed program leaves its temporary files
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.cmd.Wait(); close(s.ended) }()
	return s
}

// signal sends a signal and waits for the program to end.
func (s *started) signal(sig os.Signal) {
	s.cmd.Process.Signal(sig)
	<-s.ended
}

// killed reports whether the program was ended by SIGKILL, not by itself.
func (s *started) killed() bool {
	status, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// until waits for so to hold while the program runs, and reports whether
// it did.
func (s *started) until(so func() bool) bool {
	for {
		select {
		case <-s.ended:
			return false
		case <-time.After(time.Millisecond):
			if so() {
				return true
			}
		}
	}
}

// resume checks what a killed run has left, goes on with --resume, and checks
// that the job is done as if nothing had been. It returns what the program says.
func (c *chore) resume(t *testing.T, when string) string {
	t.Helper()
	for _, name := range entries(t, c.dir) {
		switch {
		case name == c.out: // visible, so it must be whole
			c.whole(t, when, files(t, filepath.Join(c.dir, c.out)))
			if c.out == "model" {
				must(t, c.dir, "inspect", "--model", c.out)
			}
			if len(c.state("lock")) == 0 {
				c.made(t) // the job was as good as done: begin again
			}
		case name == "data.csv", name == "applied", name == ".bochner-"+c.out, strings.HasPrefix(name, ".tmp-"+c.out+"-"):
		default:
			t.Errorf("%s: left %s", when, name)
		}
	}
	r := runProgram(t, c.dir, append(slices.Clone(c.args), "--resume")...)
	if r.code != 0 {
		t.Fatalf("%s: --resume ends with code %d\n%s", when, r.code, r.stderr)
	}
	c.whole(t, when+", resumed", c.made(t))
	if got := slices.DeleteFunc(entries(t, c.dir),
		func(n string) bool { return n == "data.csv" || n == "applied" }); len(got) > 0 {
		t.Errorf("%s: the resumed run has left %v", when, got)
	}
	return r.stderr
}

// survives kills the job at moments spread over its time: few of them, or all in the
// long form of the tests.
func (c *chore) survives(t *testing.T, few, all int) {
	t.Helper()
	n := few
	if long() {
		n = all
	}
	r := rand.New(rand.NewPCG(1, uint64(n)))
	took := c.took
	killed, found, tries := 0, 0, 0
	begun := time.Now()
	for ; killed < n && tries < 10*n; tries++ { // a run may be over before its moment
		after := time.Duration((float64(tries%n) + r.Float64()) / float64(n) * float64(took))
		s := c.start(t)
		since := time.Now()
		select {
		case <-time.After(after):
		case <-s.ended:
			took = min(took, time.Since(since)) // the machine has become faster
		}
		s.signal(os.Kill)
		if s.killed() {
			killed++
		}
		if strings.Contains(c.resume(t, fmt.Sprintf("killed after %v of %v", after, took)), "found ") {
			found++
		}
	}
	t.Logf("%v undisturbed; %d of %d runs killed, %d took up state; %v for all", c.took, killed, tries, found,
		time.Since(begun))
	if killed < n {
		t.Errorf("only %d of %d runs were killed", killed, tries)
	}
}

func TestKilledTrainingLeavesAWholeModelOrNone(t *testing.T) {
	t.Parallel()
	training(t, choreData(t, someTenths), "--threads", "1").survives(t, 4, 20)
}

func TestKilledPredictLeavesWholePredictionsOrNone(t *testing.T) {
	campaign.Long(t)
	t.Parallel()
	predicting(t, choreData(t, someTenths), "--threads", "1").survives(t, 4, 20)
}

func TestKilledJobsOnPrismLeaveWholeOutputsOrNone(t *testing.T) {
	campaign.Long(t)
	t.Parallel()
	dir := choreData(t, someTenths)
	training(t, dir, "--runner", "prism", "--readers", "2").survives(t, 2, 8)
	predicting(t, dir, "--runner", "prism", "--readers", "2").survives(t, 1, 8)
}

// kill kills a run as soon as a file is in its work directory.
func (c *chore) kill(t *testing.T, pattern string) {
	t.Helper()
	s := c.freeze(t, pattern)
	s.signal(os.Kill)
}

// freeze starts a run and stops it, as Ctrl-Z does, as soon as a file is in its work
// directory and before it has made anything. SIGCONT has it go on.
func (c *chore) freeze(t *testing.T, pattern string) *started {
	t.Helper()
	return c.stopped(t, func() bool { return len(c.state(pattern)) > 0 })
}

// stopped starts a run and stops it as soon as something is so, which it still is then. A
// run that was as good as done by then is cleared away, and another started.
func (c *chore) stopped(t *testing.T, so func() bool) *started {
	t.Helper()
	for range 1000 { // so that one is, even if this process learns late of it
		s := c.start(t)
		if s.until(so) {
			s.cmd.Process.Signal(syscall.SIGSTOP)
			if s.frozen() && so() && !slices.Contains(entries(t, c.dir), c.out) {
				t.Cleanup(func() { s.cmd.Process.Kill() })
				return s
			}
		}
		s.signal(os.Kill)
		os.RemoveAll(filepath.Join(c.dir, c.out))
		os.RemoveAll(filepath.Join(c.dir, ".bochner-"+c.out))
	}
	t.Fatal("no run could be stopped in time")
	return nil
}

// frozen waits until the program does nothing, and reports whether it has not ended.
func (s *started) frozen() bool {
	id := fmt.Sprint(s.cmd.Process.Pid)
	return s.until(func() bool {
		state, err := os.ReadFile(filepath.Join("/proc", id, "stat")) // 12 (bochner) T …
		if err == nil {
			state = state[bytes.LastIndexByte(state, ')')+1:]
		} else { // a system without /proc
			state, _ = exec.Command("ps", "-o", "stat=", "-p", id).Output()
		}
		return bytes.HasPrefix(bytes.TrimSpace(state), []byte("T"))
	})
}

func TestResumedTrainingRepeatsNoFinishedPass(t *testing.T) {
	c := training(t, choreData(t, someTenths))
	for _, phase := range []struct{ file, found string }{
		{"state/profile-*.reports", "found the result of this pass"},
		{"state/sum-*.jsonl", "found the sums of all rows"},
		{"state/fit-*.json", "found the fitted weights"},
	} {
		c.kill(t, phase.file)
		if said := c.resume(t, "killed at "+phase.file); !strings.Contains(said, phase.found) {
			t.Errorf("killed at %s, the resumed run does not say %q:\n%s", phase.file, phase.found, said)
		}
	}
}

func TestRunKilledAfterPublishingIsFinished(t *testing.T) {
	campaign.Long(t)
	dir := choreData(t, someTenths)
	for _, c := range []*chore{training(t, dir), predicting(t, dir)} {
		// Put the state of a killed run next to the output of a whole run.
		c.kill(t, map[string]string{"model": "state/sum-*.jsonl", "out": "state/*/*.done"}[c.out])
		work, aside := filepath.Join(dir, ".bochner-"+c.out), filepath.Join(dir, "aside")
		if err := os.Rename(work, aside); err != nil {
			t.Fatal(err)
		}
		must(t, dir, c.args...)
		if r := runProgram(t, dir, append(slices.Clone(c.args), "--resume")...); r.code != 3 ||
			!strings.Contains(r.stderr, "already exists") {
			t.Errorf("%s is there and no state: exit code %d\n%s", c.out, r.code, r.stderr)
		}
		if err := os.Rename(aside, work); err != nil {
			t.Fatal(err)
		}
		c.resume(t, "after publishing")

		// The existing directory is another thing: it must stay.
		c.kill(t, map[string]string{"model": "state/sum-*.jsonl", "out": "state/*/*.done"}[c.out])
		os.Mkdir(filepath.Join(dir, c.out), 0o777)
		write(t, filepath.Join(dir, c.out), "precious", "")
		if r := runProgram(t, dir, append(slices.Clone(c.args), "--resume")...); r.code != 3 ||
			!strings.Contains(r.stderr, "already exists") || !strings.Contains(r.stderr, "the finished part is in ") {
			t.Errorf("something else is at %s: exit code %d\n%s", c.out, r.code, r.stderr)
		}
		if got := entries(t, filepath.Join(dir, c.out)); !slices.Equal(got, []string{"precious"}) {
			t.Errorf("%s has become %v", c.out, got)
		}
		c.made(t)
		if said := c.resume(t, "after something else was there"); !strings.Contains(said, "found ") {
			t.Errorf("with something else at %s the work was lost:\n%s", c.out, said)
		}
	}
}

func TestResumeIgnoresStateOfOtherFlagsOrData(t *testing.T) {
	dir := choreData(t, someTenths)
	c := training(t, dir)
	resumed := func(args ...string) string {
		t.Helper()
		said := runProgram(t, dir, append(slices.Clone(c.args), append(args, "--resume")...)...)
		if said.code != 0 {
			t.Fatalf("exit code %d\n%s", said.code, said.stderr)
		}
		return said.stderr
	}
	for _, flags := range [][]string{{"--scale", "minmax"}, {"--lambda", "1e-7"}, {"--seed", "2"},
		{"--task", "regression"}}[:campaign.Pick(2, 4)] {
		must(t, dir, append(slices.Clone(c.args), flags...)...)
		want := c.made(t)
		c.kill(t, "state/sum-*.jsonl")
		if said := resumed(flags...); strings.Contains(said, "found the sums") {
			t.Errorf("%v: sums of other flags were taken up", flags)
		}
		got := c.made(t)
		same(t, strings.Join(flags, " "), want, got)
		if got["manifest.json"] == c.want["manifest.json"] {
			t.Errorf("%v changes nothing, so that this test shows nothing", flags)
		}
	}
	// One digit of one row changes, and the file's size does not.
	c.kill(t, "state/sum-*.jsonl")
	data := []byte(read(t, dir, "data.csv"))
	i := bytes.IndexByte(data[len(data)/2:], '.') + len(data)/2 + 1
	data[i] = '0' + ('9'-data[i])%10
	write(t, dir, "data.csv", string(data))
	if said := resumed(); strings.Contains(said, "found ") {
		t.Errorf("state of other data was taken up:\n%s", said)
	}
	got := c.made(t)
	same(t, "changed data", undisturbed(t, c).want, got)
}

func TestTwoRunsCannotWorkOnOneModel(t *testing.T) {
	c := training(t, choreData(t, someTenths))
	s := c.freeze(t, "state/pass-*")
	for _, more := range []string{"--quiet", "--resume"} {
		if r := runProgram(t, c.dir, append(slices.Clone(c.args), more)...); r.code != 3 ||
			!strings.Contains(r.stderr, "in use by another run") {
			t.Errorf("a second run: exit code %d\n%s", r.code, r.stderr)
		}
	}
	s.signal(syscall.SIGCONT)
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the first run: exit code %d\n%s", code, s.stderr.String())
	}
	c.whole(t, "beside another run", c.made(t))
}

func TestInterruptedRunEndsSoonAndNamesResume(t *testing.T) {
	dir := choreData(t, someTenths)
	server, address := gcstest.Start(t)
	server.Fill("data.csv", []byte(read(t, dir, "data.csv")))
	// The storage sends no more once a shard is done, so that no run ends before it hears. There are more
	// shards than are read in advance.
	remote := func(c *chore) *chore {
		c.args[slices.Index(c.args, "data.csv")] = "gs://" + gcstest.Bucket + "/data.csv"
		c.args[slices.Index(c.args, shardOfRows)] = "--shard_bytes=4000"
		c.args = append(c.args, "--storage_emulator", address)
		return c
	}
	for _, c := range []struct {
		*chore
		signal os.Signal
		sign   string // that the run has begun
		end    string // what there is not yet: much is to come before
	}{
		{training(t, dir), os.Interrupt, "state/pass-*", "state/profile-*"},
		{undisturbed(t, remote(predicting(t, dir))), syscall.SIGTERM, "state/*/*.done", ""},
		{training(t, dir, "--runner", "prism"), os.Interrupt, "state/pass-*", "state/profile-*"},
	} {
		free := make(chan struct{})
		server.Faults.Before(func(kind, _ string) {
			if kind == "read" && len(c.state(c.sign)) > 0 {
				<-free
			}
		})
		s := c.stopped(t, func() bool { return len(c.state(c.sign)) > 0 && (c.end == "" || len(c.state(c.end)) == 0) })
		s.cmd.Process.Signal(c.signal)
		s.signal(syscall.SIGCONT)
		server.Faults.Before(nil)
		close(free)
		if code := s.cmd.ProcessState.ExitCode(); code != 130 ||
			!strings.HasSuffix(s.stderr.String(), "bochner: stopped; the same command with --resume continues from here\n") {
			t.Errorf("%s, %v: exit code %d\n%s", c.out, c.signal, code, s.stderr.String())
		}
		c.resume(t, "interrupted")
	}
}

func TestSecondInterruptEndsTheProgramAtOnce(t *testing.T) {
	// A full pipe that nobody reads holds the program where no context reaches.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.CommandContext(t.Context(), binary, "help", "--json")
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	cmd.Process.Signal(os.Interrupt)
	select {
	case <-ended:
		t.Fatal("the program ended at the first interrupt, so that this test shows nothing: is its output less than a pipe holds?")
	case <-time.After(300 * time.Millisecond):
	}
	for waiting := true; waiting; { // a signal that comes before the last was taken is lost
		cmd.Process.Signal(os.Interrupt)
		select {
		case <-ended: // the pipe is still full
			waiting = false
		case <-time.After(300 * time.Millisecond):
		}
	}
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("ended as %v", cmd.ProcessState)
	}
}

func TestInterruptedGenerateLeavesNoFiles(t *testing.T) {
	c := &chore{dir: t.TempDir(), args: []string{"generate", "friedman", "--rows", "1000000000", "--out", "f.csv"}}
	s := c.start(t)
	if !s.until(func() bool { list, _ := os.ReadDir(c.dir); return len(list) > 0 }) {
		t.Fatal(s.stderr.String())
	}
	s.signal(os.Interrupt)
	if code := s.cmd.ProcessState.ExitCode(); code != 130 || s.stderr.String() != "bochner: stopped\n" {
		t.Errorf("exit code %d\n%s", code, s.stderr.String())
	}
	if got := entries(t, c.dir); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
}
