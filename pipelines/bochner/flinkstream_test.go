//go:build linux

package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cancel ends the jobs of the cluster, which outlive their drivers.
func (c *flinkCluster) cancel(t *testing.T) {
	t.Helper()
	var found struct{ Jobs []struct{ ID string } }
	c.rest(t, "/jobs", &found)
	for _, j := range found.Jobs {
		request, err := http.NewRequest(http.MethodPatch, c.address(t)+"/jobs/"+j.ID+"?mode=cancel", nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := http.DefaultClient.Do(request); err == nil {
			answer.Body.Close()
		}
	}
}

// awaitManager waits until a job manager answers, which takes a minute on a busy machine.
func (c *flinkCluster) awaitManager(t *testing.T) {
	t.Helper()
	for {
		if answer, err := http.Get(c.address(t) + "/overview"); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// flinkStream is a stream on Flink, and the files that it predicts.
type flinkStream struct {
	c      *flinkCluster
	dir    string
	made   int
	driver *exec.Cmd
	done   chan result
}

func newFlinkStream(t *testing.T) *flinkStream {
	t.Helper()
	s := &flinkStream{c: newFlink(t), dir: t.TempDir()}
	must(t, s.dir, "generate", "friedman", "--rows", "2000", "--out", "train.csv")
	must(t, s.dir, "train", "--search", "none", "--data", "train.csv", "--label", "y", "--features", "64", "--lambda",
		"1e-3", "--model", "model")
	if err := os.Mkdir(filepath.Join(s.dir, "in"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.c.cancel(t) })
	return s
}

// add makes n files of 500 rows.
func (s *flinkStream) add(t *testing.T, n int) {
	t.Helper()
	for range n {
		s.made++
		must(t, s.dir, "generate", "friedman", "--rows", "500", "--seed", fmt.Sprint(s.made+10), "--out", "next.csv")
		if err := os.Rename(filepath.Join(s.dir, "next.csv"),
			filepath.Join(s.dir, "in", fmt.Sprintf("%02d.csv", s.made))); err != nil {
			t.Fatal(err)
		}
	}
}

// start starts the driver.
func (s *flinkStream) start(t *testing.T) {
	s.driver = program(s.dir, slices.Concat([]string{"predict", "--stream", "--model", "model", "--data",
		filepath.Join(s.dir, "in", "*.csv"),
		"--label", "y", "--out", "out", "--settle", "0s", "--readers", "2", "--poll", "1s"}, s.c.flags)...)
	s.done = make(chan result, 1)
	go func() { s.done <- runCommand(t, s.driver) }()
}

func (s *flinkStream) outputs() []string {
	names, _ := filepath.Glob(filepath.Join(s.dir, "out", "*.csv"))
	return names
}

// wait waits until all files are predicted.
func (s *flinkStream) wait(t *testing.T) {
	t.Helper()
	for len(s.outputs()) < s.made {
		select {
		case r := <-s.done:
			t.Fatalf("the driver has ended: exit code %d\n%s", r.code, r.stderr)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// kill kills a process of the cluster while files appear, and waits until all are predicted.
func (s *flinkStream) kill(t *testing.T, pid int) {
	t.Helper()
	s.add(t, 2)
	if pid == 0 || syscall.Kill(pid, syscall.SIGKILL) != nil {
		t.Fatalf("process %d could not be killed", pid)
	}
	s.add(t, 3)
	s.wait(t)
}

// whole checks that every row is predicted, once, as in a batch, and ends the driver.
func (s *flinkStream) whole(t *testing.T) {
	t.Helper()
	must(t, s.dir, "predict", "--model", "model", "--data", "in/*.csv", "--label", "y", "--out", "batch")
	var stream, batch []string
	for _, name := range s.outputs() {
		stream = append(stream, lines(t, name)...)
	}
	names, _ := filepath.Glob(filepath.Join(s.dir, "batch", "*.csv"))
	for _, name := range names {
		batch = append(batch, lines(t, name)...)
	}
	if len(batch) != 500*s.made || !slices.Equal(stream, batch) {
		t.Errorf("%d rows from the stream, %d from the batch of %d files of 500, or other predictions", len(stream),
			len(batch), s.made)
	}
	if err := s.driver.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if r := <-s.done; r.code != 0 || !strings.Contains(r.stderr, "cancel it there") {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
}

// tables counts the tables of state in the heaps of the task managers. Flink has as many for a state as the
// cluster has groups of keys, 128.
func (c *flinkCluster) tables(t *testing.T) (n int) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(c.dir, "task-manager-*.pid"))
	for _, name := range names {
		text, err := exec.Command("jcmd", fmt.Sprint(number(name)), "GC.class_histogram").CombinedOutput()
		if err != nil {
			t.Fatalf("jcmd, of the JDK: %v\n%s", err, text)
		}
		m := regexp.MustCompile(`(?m)^ *\d+: +(\d+) .*\.CopyOnWriteStateMap$`).FindSubmatch(text)
		if m == nil {
			continue
		}
		has, err := strconv.Atoi(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		n += has
	}
	return n
}

// No state stays in memory for each poll of a stream, which runs for months.
func TestStreamOnFlinkKeepsNoStateOfPolls(t *testing.T) {
	s := newFlinkStream(t)
	s.add(t, 1)
	s.start(t)
	s.wait(t)
	before := s.c.tables(t)
	for range 5 { // each is found in a poll of its own
		s.add(t, 1)
		s.wait(t)
	}
	if after := s.c.tables(t); before == 0 || after > before {
		t.Errorf("%d tables of state, and %d after five more polls", before, after)
	}
	s.whole(t)
}

// If a worker and a task manager are killed while files appear, every row is predicted once, as in a batch.
func TestStreamOnFlinkSurvivesAWorkerAndATaskManager(t *testing.T) {
	s := newFlinkStream(t)
	s.add(t, 3)
	s.start(t)
	s.wait(t)
	worker, _ := s.c.busy(t, 0)
	s.kill(t, worker)
	_, manager := s.c.busy(t, 0)
	s.kill(t, manager)
	s.whole(t)
}

// If the job manager is lost, the command ends with exit code 1, and the same command predicts the remaining
// files when there is a job manager again.
func TestStreamOnFlinkContinuesAfterTheJobManager(t *testing.T) {
	s := newFlinkStream(t)
	s.add(t, 3)
	s.start(t)
	s.wait(t)
	manager := number(filepath.Join(s.c.dir, "job-manager.pid"))
	if manager <= 0 || syscall.Kill(manager, syscall.SIGKILL) != nil {
		t.Fatalf("job manager %d could not be killed", manager)
	}
	s.add(t, 3)
	begun := time.Now()
	r := <-s.done
	reason := regexp.MustCompile(`Could not find Flink job|Connection refused`).FindString(r.stderr)
	t.Logf("as it should, the driver ended after %.0f s: %s", time.Since(begun).Seconds(), reason)
	if r.code != 1 || reason == "" || strings.Contains(r.stderr, "--resume") {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
	s.add(t, 2)
	s.c.awaitManager(t)
	s.start(t)
	s.wait(t)
	s.whole(t)
}

// The message of a stream that fails does not name --resume: it has no work directory, and the same command
// continues.
func TestStreamThatFailsNamesNoResume(t *testing.T) {
	dir := t.TempDir()
	forMessages(t, dir)
	r := runProgram(t, dir, "predict", "--stream", "--model", "model", "--data", "in/*.csv", "--out", "out", "--runner", "flink",
		"--endpoint", "localhost:1")
	if r.code != 1 || !strings.Contains(r.stderr, "no job server at --endpoint localhost:1") ||
		strings.Contains(r.stderr, "--resume") {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
}

// lines returns the lines of a file of predictions without its header.
func lines(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")[1:]
}
