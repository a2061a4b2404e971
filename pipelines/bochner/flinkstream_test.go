//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cancel ends the jobs of the cluster, which outlive their drivers.
func (c *flinkCluster) cancel(t *testing.T) {
	t.Helper()
	conf, err := os.ReadFile(filepath.Join(c.dir, "conf", "flink-conf.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	rest := "http://localhost:" + string(regexp.MustCompile(`(?m)^rest\.port: (\d+)$`).FindSubmatch(conf)[1]) + "/jobs/"
	answer, err := http.Get(rest)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var found struct{ Jobs []struct{ ID, Status string } }
	if err := json.NewDecoder(answer.Body).Decode(&found); err != nil {
		t.Fatal(err)
	}
	for _, j := range found.Jobs {
		request, err := http.NewRequest(http.MethodPatch, rest+j.ID+"?mode=cancel", nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := http.DefaultClient.Do(request); err == nil {
			answer.Body.Close()
		}
	}
}

// A worker and a task manager are killed while files appear: every row is predicted, once, as in
// a batch.
func TestAStreamOnFlinkSurvivesAWorkerAndATaskManager(t *testing.T) {
	c, dir := newFlink(t), t.TempDir()
	must(t, dir, "generate", "friedman", "--rows", "2000", "--out", "train.csv")
	must(t, dir, "train", "--search", "none", "--data", "train.csv", "--label", "y", "--features", "64", "--lambda", "1e-3", "--model", "model")
	if err := os.Mkdir(filepath.Join(dir, "in"), 0o777); err != nil {
		t.Fatal(err)
	}
	made := 0
	add := func(n int) {
		for range n {
			made++
			must(t, dir, "generate", "friedman", "--rows", "500", "--seed", fmt.Sprint(made+10), "--out", "next.csv")
			if err := os.Rename(filepath.Join(dir, "next.csv"), filepath.Join(dir, "in", fmt.Sprintf("%02d.csv", made))); err != nil {
				t.Fatal(err)
			}
		}
	}
	outputs := func() []string {
		names, _ := filepath.Glob(filepath.Join(dir, "out", "*.csv"))
		return names
	}
	add(3)
	driver := program(dir, slices.Concat([]string{"predict", "--stream", "--model", "model", "--data", filepath.Join(dir, "in", "*.csv"),
		"--label", "y", "--out", "out", "--settle", "0s", "--lanes", "2", "--poll", "1s"}, c.flags)...)
	done := make(chan result, 1)
	go func() { done <- runCommand(t, driver) }()
	defer c.cancel(t)
	wait := func(n int) {
		t.Helper()
		for len(outputs()) < n {
			select {
			case r := <-done:
				t.Fatalf("the driver has ended: exit code %d\n%s", r.code, r.stderr)
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	wait(3)
	worker, _ := c.busy(t, 0)
	add(2)
	if worker == 0 || syscall.Kill(worker, syscall.SIGKILL) != nil {
		t.Fatalf("worker %d could not be killed", worker)
	}
	add(3)
	wait(made)
	_, manager := c.busy(t, 0)
	add(2)
	if manager == 0 || syscall.Kill(manager, syscall.SIGKILL) != nil {
		t.Fatalf("task manager %d could not be killed", manager)
	}
	add(3)
	wait(made)

	must(t, dir, "predict", "--model", "model", "--data", "in/*.csv", "--label", "y", "--out", "batch")
	var stream, batch []string
	for _, name := range outputs() {
		stream = append(stream, lines(t, name)...)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "batch", "*.csv"))
	for _, name := range names {
		batch = append(batch, lines(t, name)...)
	}
	if len(batch) != 500*made || !slices.Equal(stream, batch) {
		t.Errorf("%d rows from the stream, %d from the batch of %d files of 500, or other predictions", len(stream), len(batch), made)
	}
	if err := driver.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.code != 0 || !strings.Contains(r.stderr, "cancel it there") {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
}

// A stream that fails has no work directory to resume from: the same command continues.
func TestAStreamThatFailsNamesNoResume(t *testing.T) {
	dir := t.TempDir()
	forMessages(t, dir)
	r := run(t, dir, "predict", "--stream", "--model", "model", "--data", "in/*.csv", "--out", "out", "--runner", "flink", "--endpoint", "localhost:1")
	if r.code != 1 || !strings.Contains(r.stderr, "no job server at --endpoint localhost:1") || strings.Contains(r.stderr, "--resume") {
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
