//go:build linux

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/gcstest"
)

// succeed runs a job on the cluster, which must succeed and say nothing but what
// the program itself has to say. It returns what the job printed.
func (c *cluster) succeed(t *testing.T, dir string, args ...string) string {
	t.Helper()
	r := runCommand(t, c.job(dir, args...))
	if r.code != 0 {
		t.Fatalf("bochner %s: exit code %d\n%s", strings.Join(args, " "), r.code, r.stderr)
	}
	for line := range strings.Lines(r.stderr) {
		if !strings.HasPrefix(line, "training on ") && !strings.HasPrefix(line, "found ") {
			t.Errorf("bochner %s says %q", args[0], line)
		}
	}
	return r.stdout
}

// remote is a cluster of any kind. A job must succeed on it, or the test fails; what
// the job printed is returned.
type remote interface {
	succeed(t *testing.T, dir string, args ...string) string
}

// predictsTheSame checks that the predictions of a model equal the direct runner's, file by file.
// They are left in dir, as direct and predicted.
func predictsTheSame(t *testing.T, c remote, dir, model string, data []string) {
	args := append([]string{"predict", "--model", model, "--scores", smallShards}, data...)
	must(t, dir, append(args, "--out", "direct")...)
	c.succeed(t, dir, append(args, "--out", "predicted", "--readers", "2")...)
	want, got := files(t, filepath.Join(dir, "direct")), files(t, filepath.Join(dir, "predicted"))
	delete(want, "manifest.json") // names its own directory
	delete(got, "manifest.json")
	if d := cmp.Diff(want, got); d != "" || len(got) < 9 {
		t.Errorf("%d files: %s", len(got), d)
	}
}

// evaluatesTheSame checks that the scores of a model equal the direct runner's.
func evaluatesTheSame(t *testing.T, c remote, dir, model string, data []string) {
	args := append([]string{"evaluate", "--model", model, "--json"}, data...)
	// The directory that workers share: a job that makes none names one.
	if d := cmp.Diff(must(t, dir, args...), c.succeed(t, dir, append(args, "--work", "work")...)); d != "" {
		t.Error(d)
	}
}

// block makes a work directory in which workers cannot write the parts of sums: they are
// to go into a directory, and there is a file of its name.
func block(t *testing.T, work string) {
	os.RemoveAll(work)
	for _, name := range []string{"bochner-work", "state/parts"} {
		os.MkdirAll(filepath.Dir(filepath.Join(work, name)), 0o777)
		write(t, work, name, "")
	}
}

func TestWorkersInOtherProcessesMakeTheSameModel(t *testing.T) {
	c := newCluster(t)
	dir := t.TempDir()
	in := func(name ...string) string { return filepath.Join(append([]string{dir}, name...)...) }
	moons, numbers := generated(t, "moons", 900).write(t, cut{files: 3}), sparse().write(t, cut{files: 3})

	// One after the other on one server: nothing of a job may reach the next.
	trainings := map[string][]string{
		"classes": append(moons, "--features", "96", "--kernel", "laplace", "--scale", "minmax"),
		"numbers": append(numbers, "--features", "64", "--task", "regression", "--seed", "3", "--lambda", "1e-4", "--scale",
			"unit"),
		"searched": append(generated(t, "rotated", 420).write(t, cut{files: 2}), "--features", "64", "--search", "auto"),
	}
	made := []string{"classes", "classes of workers", "direct", "loopback", "predicted"}
	names := []string{"classes"}
	if campaign.Chosen() {
		names = append(names, "numbers", "searched")
		made = append(made, "numbers", "numbers of workers", "searched", "searched of workers")
		slices.Sort(made)
	}
	for _, name := range names {
		t.Run("train "+name, func(t *testing.T) {
			must(t, dir, append([]string{"train", "--model", name}, trainings[name]...)...)
			c.succeed(t, dir, append([]string{"train", "--model", name + " of workers", "--readers", "3"}, trainings[name]...)...)
			same(t, name, files(t, in(name)), files(t, in(name+" of workers")))
		})
	}
	t.Run("predict", func(t *testing.T) { predictsTheSame(t, c, dir, "classes", moons) })
	t.Run("evaluate", func(t *testing.T) {
		evaluatesTheSame(t, c, dir, "classes", moons)
		if campaign.Chosen() {
			evaluatesTheSame(t, c, dir, "numbers", numbers)
		}
	})
	t.Run("loopback", func(t *testing.T) {
		cmd := c.job(dir, append([]string{"train", "--model", "loopback"}, trainings["classes"]...)...)
		cmd.Args[slices.Index(cmd.Args, "EXTERNAL")] = "LOOPBACK"
		cmd.Args = cmd.Args[:len(cmd.Args)-2]
		if r := runCommand(t, cmd); r.code != 0 || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("exit code %d\n%s", r.code, r.stderr)
		}
		same(t, "loopback", files(t, in("classes")), files(t, in("loopback")))
	})
	t.Run("bad row", func(t *testing.T) {
		tb := generated(t, "moons", 300)
		tb.rows[200] = "1,x,1\n"
		c.fails(t, dir, 3, "part-1.txt:102:2: ", append([]string{"train", "--model", "none"}, tb.write(t, cut{files: 2})...),
			func() {})
	})
	t.Run("no place to write", func(t *testing.T) {
		args := append([]string{"train", "--model", "none", "--work", "blocked", "--resume"}, trainings["classes"]...)
		c.fails(t, dir, 3, "not a directory", args, func() { block(t, in("blocked")) })
		os.RemoveAll(in("blocked")) // which stays, for a place that can be repaired
	})
	t.Run("another build", func(t *testing.T) {
		text, err := os.ReadFile(c.program)
		if err != nil {
			t.Fatal(err)
		}
		another := strings.Replace(buildName, "1", "2", 1)
		stale := filepath.Join(c.temp, "stale")
		if err := os.WriteFile(stale, bytes.ReplaceAll(text, []byte(buildName), []byte(another)), 0o777); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(stale)
		r := runCommand(t, c.job(dir, append([]string{"train", "--model", "none", "--worker_binary", stale},
			trainings["classes"]...)...))
		if r.code != 3 || !strings.Contains(r.stderr, buildName) || !strings.Contains(r.stderr, another) ||
			strings.Count(r.stderr, "\n") > 2 {
			t.Errorf("exit code %d\n%s", r.code, r.stderr)
		}
	})
	if got := entries(t, dir); !slices.Equal(got, made) {
		t.Errorf("left behind: %v", got)
	}
	if left := c.copies(); len(left) > 0 {
		t.Errorf("workers have left copies of the program: %v", left)
	}
}

// fails checks that a job fails on the cluster as it does on the direct runner:
// with the code, and the same sentence, which contains a text.
func (c *cluster) fails(t *testing.T, dir string, code int, text string, args []string, prepare func()) {
	t.Helper()
	prepare()
	direct := run(t, dir, args...)
	prepare()
	remote := runCommand(t, c.job(dir, args...))
	if direct.code != code || remote.code != code || !strings.Contains(direct.stderr, text) {
		t.Errorf("exit codes %d and %d, want %d\n%s\n%s", direct.code, remote.code, code, direct.stderr, remote.stderr)
	}
	// Which of several parts is the first to fail is the runner's choice, and a
	// worker has another number of readers.
	said := func(r result) string {
		text := regexp.MustCompile(`part-\w+`).ReplaceAllString(r.stderr, "part")
		return regexp.MustCompile(`(?m)^training on .*\n`).ReplaceAllString(text, "")
	}
	if d := cmp.Diff(said(direct), said(remote)); d != "" {
		t.Error(d)
	}
}

func TestJobResumesAfterItsWorkerWasKilled(t *testing.T) {
	c, o := newCluster(t), newObjects(t)
	dir := t.TempDir()
	must(t, dir, "generate", "windmill", "--rows", "2000", "--out", "data.csv")
	o.put(t, dir, "data.csv")
	args := o.flags("train", "--data", bucket+"data.csv", "--label", "y", "--features", "64", "--lambda", "1e-8,1e-6",
		"--folds", "3")
	must(t, dir, append(args, "--model", bucket+"want")...)
	args = append(args, "--model", bucket+"model")

	// The storage holds the result of the first pass back, and then the data that the
	// workers of the second ask for.
	o.rules(t, gcstest.Rules{Hold: "write .bochner-model/state/profile-*"})
	cmd := c.job(dir, args...)
	done := make(chan result, 1)
	go func() { done <- runCommand(t, cmd) }()
	o.waits(t, "write", done)
	o.rules(t, gcstest.Rules{Hold: "read data.csv"})
	o.waits(t, "read", done)
	for _, w := range c.workers() {
		syscall.Kill(w.id, syscall.SIGKILL)
	}
	r := <-done
	o.rules(t, gcstest.Rules{})
	if r.code != 1 || !strings.Contains(r.stderr, "a worker ended during the job") ||
		!strings.Contains(r.stderr, "--resume") {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
	if o.there(t, "model/**") || !o.there(t, ".bochner-model/state/profile-*") {
		t.Errorf("left behind: %v", o.names(t, ""))
	}
	r = runCommand(t, c.job(dir, append(args, "--resume")...))
	if r.code != 0 || !strings.Contains(r.stderr, "found the result of this pass") {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
	same(t, "resumed", o.files(t, "want"), o.files(t, "model"))
	if got := o.names(t, ".bochner-model"); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
}
