//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/internal/testing/realdata"
)

// flinkCluster is one that runs on this machine; local/flink starts it and tells
// of it in the environment.
type flinkCluster struct {
	flags []string // what a job takes to run on it
	dir   string   // where the numbers of its processes are
}

func newFlink(t *testing.T) *flinkCluster {
	t.Helper()
	flags := os.Getenv("BOCHNER_FLINK_FLAGS")
	if flags == "" {
		t.Skip("BOCHNER_FLINK_FLAGS does not name a Flink cluster; make test-flink starts one")
	}
	return &flinkCluster{strings.Split(flags, "\n"), os.Getenv("BOCHNER_FLINK_DIR")}
}

// run runs a job on the cluster. Meanwhile it calls watch, until that returns true.
func (c *flinkCluster) run(t *testing.T, dir string, watch func(driver *os.Process) bool, args ...string) result {
	t.Helper()
	cmd := program(dir, slices.Concat(args, c.flags)...)
	done := make(chan result, 1)
	go func() { done <- runCommand(t, cmd) }()
	for {
		select {
		case r := <-done:
			return r
		case <-time.After(20 * time.Millisecond):
			if watch != nil && cmd.Process != nil && watch(cmd.Process) {
				watch = nil
			}
		}
	}
}

// succeed runs a job on the cluster, which must succeed.
func (c *flinkCluster) succeed(t *testing.T, dir string, args ...string) string {
	t.Helper()
	begun := time.Now()
	r := c.run(t, dir, nil, args...)
	if r.code != 0 {
		t.Fatalf("bochner %s: exit code %d\n%s", strings.Join(args, " "), r.code, r.stderr)
	}
	t.Logf("%s took %.1f s", args[0], time.Since(begun).Seconds())
	return r.stdout
}

// busy returns a worker that has computed for some seconds, and the task manager
// that it works for, or zeros.
func (c *flinkCluster) busy(t *testing.T, seconds float64) (worker, manager int) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(c.dir, "task-manager-*.pid"))
	for _, name := range names {
		manager := number(name)
		workers := processes(manager)
		if pool := number(filepath.Join(c.dir, "pool.pid")); pool > 0 { // of the only manager
			workers = processes(pool)
		}
		for _, p := range workers {
			if strings.Contains(p.args, "--worker=true") && p.seconds >= seconds {
				return p.id, manager
			}
		}
	}
	return 0, 0
}

// number reads the number of a process of the cluster; it is -1 where there is none,
// and while it is written.
func number(file string) int {
	data, _ := os.ReadFile(file)
	id, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return -1
	}
	return id
}

// inSecondPass reports whether the job that makes dir/model is in its second pass:
// what the first pass has found stands there.
func inSecondPass(dir string) bool {
	found, _ := filepath.Glob(filepath.Join(dir, ".bochner-model/state/profile-*.reports"))
	return len(found) > 0
}

func TestFlinkMakesTheLocalModel(t *testing.T) {
	c := newFlink(t)
	dir := t.TempDir()
	in := func(name ...string) string { return filepath.Join(append([]string{dir}, name...)...) }
	moons := generated(t, "moons", 900).write(t, cut{files: 3})
	flags := append(moons, "--features", "96", "--kernel", "laplace", "--scale", "minmax")
	must(t, dir, append([]string{"train", "--model", "model"}, flags...)...)

	t.Run("train", func(t *testing.T) {
		c.succeed(t, dir, append([]string{"train", "--model", "model of Flink", "--readers", "3"}, flags...)...)
		same(t, "model", files(t, in("model")), files(t, in("model of Flink")))
	})
	t.Run("predict", func(t *testing.T) { predictsTheSame(t, c, dir, "model", moons) })
	t.Run("evaluate", func(t *testing.T) { evaluatesTheSame(t, c, dir, "model", moons) })
	t.Run("bad row", func(t *testing.T) {
		tb := generated(t, "moons", 300)
		tb.rows[200] = "1,x,1\n"
		args := append([]string{"train", "--model", "none", "--quiet"}, tb.write(t, cut{files: 2})...)
		direct, remote := runProgram(t, dir, args...), c.run(t, dir, nil, args...)
		if d := cmp.Diff(direct, remote, cmp.AllowUnexported(result{})); d != "" || remote.code != 3 {
			t.Errorf("exit code %d: %s", remote.code, d)
		}
	})
	t.Run("no place to write", func(t *testing.T) {
		// A worker's fault.
		args := append([]string{"train", "--model", "none", "--work", "blocked", "--resume", "--quiet"}, flags...)
		block(t, in("blocked"))
		direct := runProgram(t, dir, args...)
		block(t, in("blocked"))
		remote := c.run(t, dir, nil, args...)
		if direct.code != 3 || remote.code != 3 || !strings.Contains(remote.stderr, "not a directory") {
			t.Errorf("exit codes %d and %d\n%s\n%s", direct.code, remote.code, direct.stderr, remote.stderr)
		}
	})
}

// Jobs on gs:// work although the driver and the workers have no disk in common.
func TestFlinkOverObjectStorage(t *testing.T) {
	c := newFlink(t)
	server, address := gcstest.Start(t)
	const bucket = "gs://" + gcstest.Bucket + "/"
	dir := t.TempDir()
	must(t, dir, "generate", "windmill", "--rows", "3000", "--out", "data.csv")
	server.Fill("data.csv", []byte(read(t, dir, "data.csv")))
	flags := []string{"--label", "y", "--features", "96", "--lambda", "1e-6,1e-4", "--folds", "3"}
	must(t, dir, append([]string{"train", "--model", "model", "--data", "data.csv"}, flags...)...)
	c.succeed(t, dir, append([]string{"train", "--storage_emulator", address, "--model", bucket + "model", "--data",
		bucket + "data.csv", "--readers", "2"}, flags...)...)
	if string(server.Content("model/weights.safetensors")) != read(t, dir, "model", "weights.safetensors") {
		t.Errorf("other weights; the bucket holds %v", server.Names())
	}
}

// disturbed is a training that takes long enough to be disturbed.
type disturbed struct {
	c    *flinkCluster
	dir  string
	args []string
}

func newDisturbed(t *testing.T) *disturbed {
	t.Helper()
	d := &disturbed{c: newFlink(t), dir: t.TempDir()}
	must(t, d.dir, "generate", "windmill", "--rows", "200000", "--out", "data.csv")
	d.args = []string{"train", "--data", "data.csv", "--label", "y", "--features", "2048", "--lambda", "1e-8,1e-6",
		"--folds", "3", "--threads", "1", "--shard_bytes", "500000"}
	must(t, d.dir, append(d.args, "--model", "want")...)
	d.args = append(d.args, "--model", "model", "--readers", "4")
	return d
}

// whole checks that the training made its model and left nothing else.
func (d *disturbed) whole(t *testing.T, r result) {
	t.Helper()
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	same(t, "disturbed", files(t, filepath.Join(d.dir, "want")), files(t, filepath.Join(d.dir, "model")))
	if got := entries(t, d.dir); !slices.Equal(got, []string{"data.csv", "model", "want"}) {
		t.Errorf("left behind: %v", got)
	}
}

func TestFlinkContinuesWithoutAWorker(t *testing.T) {
	d := newDisturbed(t)
	killed := false
	r := d.c.run(t, d.dir, func(*os.Process) bool {
		if worker, _ := d.c.busy(t, 0.4); worker != 0 && inSecondPass(d.dir) {
			killed = syscall.Kill(worker, syscall.SIGKILL) == nil
		}
		return killed
	}, d.args...)
	if !killed {
		t.Fatal("no worker was seen at work")
	}
	d.whole(t, r)
}

func TestFlinkContinuesWithoutATaskManager(t *testing.T) {
	d := newDisturbed(t)
	killed := false
	r := d.c.run(t, d.dir, func(*os.Process) bool {
		if _, manager := d.c.busy(t, 0.4); manager != 0 && inSecondPass(d.dir) {
			killed = syscall.Kill(manager, syscall.SIGKILL) == nil
		}
		return killed
	}, d.args...)
	if !killed {
		t.Fatal("no task manager was seen at work")
	}
	d.whole(t, r)
}

func TestFlinkResumesAfterAnInterruptOfTheDriver(t *testing.T) {
	d := newDisturbed(t)
	r := d.c.run(t, d.dir, func(driver *os.Process) bool {
		worker, _ := d.c.busy(t, 0.4)
		if worker == 0 || !inSecondPass(d.dir) {
			return false
		}
		return driver.Signal(os.Interrupt) == nil
	}, append(d.args, "--job_name", "interrupted")...)
	if r.code != 130 || !strings.Contains(r.stderr, "--resume") {
		t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	// Beam's job server takes a cancellation, and lets Flink end the pass all the
	// same: who resumes before finds its files in the work directory afterwards.
	ended := false
	for range 3000 { // a pass of a minute, on a machine that others use too
		if worker, _ := d.c.busy(t, 0); worker == 0 {
			ended = true
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if !ended {
		t.Error("the job's workers run 5 min after the interrupt")
	}
	r = d.c.run(t, d.dir, nil, append(d.args, "--resume")...)
	if !strings.Contains(r.stderr, "found the result of this pass") {
		t.Errorf("did not go on from the first pass:\n%s", r.stderr)
	}
	d.whole(t, r)
}

// Models of MNIST, whose sums travel through Flink in parts of up to 8 MiB from three readers, equal the local
// models, and the error is at most 5.45%.
func TestFlinkMNISTErrorStaysBelowItsBound(t *testing.T) {
	c := newFlink(t)
	dir := t.TempDir()
	train := append([]string{"train", "--width", "7", "--lambda", "1e-6"}, plainMNIST(t, dir, "train")...)
	for _, features := range []string{"1024", "4096"} {
		args := append(train, "--features", features)
		must(t, dir, append(args, "--model", "direct"+features)...)
		c.succeed(t, dir, append(args, "--model", "flink"+features, "--readers", "3")...)
		same(t, "MNIST, "+features, files(t, filepath.Join(dir, "direct"+features)),
			files(t, filepath.Join(dir, "flink"+features)))
	}
	var s scores
	out := c.succeed(t, dir, append([]string{"evaluate", "--model", "flink1024", "--work", "work", "--json"},
		plainMNIST(t, dir, "t10k")...)...)
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	if s.Classes.Rows != 10_000 || s.Classes.Error > 0.0545 {
		t.Errorf("%d rows, error %g", s.Classes.Rows, s.Classes.Error)
	}
}

// plainMNIST puts a set of MNIST into dir, plain, so that it can be cut, and returns the
// flags that name it.
func plainMNIST(t *testing.T, dir, set string) []string {
	t.Helper()
	images, labels := set+"-images-idx3-ubyte", set+"-labels-idx1-ubyte"
	for _, file := range []string{images, labels} {
		write(t, dir, file, string(realdata.Read(t, "mnist", file+".gz")))
	}
	return []string{"--data", images, "--label_files", labels, "--shard_bytes", "2000000"}
}
