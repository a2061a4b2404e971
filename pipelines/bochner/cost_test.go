//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/internal/testing/realdata"
)

// place is where jobs run: a runner, and the processes that belong to it.
type place struct {
	name   string
	job    func(dir string, args ...string) *exec.Cmd
	groups []int // of processes, except the program that is started
}

// cost is what a job took. CPU time and memory are of the program, its workers too,
// and of the runner's own processes.
type cost struct {
	wall                float64 // seconds
	program, runner     float64 // CPU seconds
	workers, runnerPeak int64   // bytes, the most at one time of all processes together
	short               float64 // seconds in which processes of the machine waited for memory
}

// shortage returns for how many seconds any process of the machine has waited for memory since it
// started; 0 if Linux does not tell. Such a wait multiplies the time of a job.
func shortage() float64 {
	var avg10, avg60, avg300 float64
	var total int64
	text, _ := os.ReadFile("/proc/pressure/memory")
	fmt.Sscanf(string(text), "some avg10=%f avg60=%f avg300=%f total=%d", &avg10, &avg60, &avg300, &total)
	return float64(total) / 1e6
}

// measure runs a job and looks at the processes of the place meanwhile, twenty times
// a second: workers end with their job, and nobody waits for all of them.
func (p place) measure(t *testing.T, dir string, args ...string) (c cost) {
	t.Helper()
	before, now := map[int]float64{}, map[int]process{}
	look := func() {
		var workers, runner int64
		for _, group := range p.groups {
			for _, q := range processes(group) {
				now[q.id] = q
				if q.ours() {
					workers += q.memory
				} else {
					runner += q.memory
				}
			}
		}
		c.workers, c.runnerPeak = max(c.workers, workers), max(c.runnerPeak, runner)
	}
	look()
	for id, q := range now {
		before[id] = q.seconds
	}
	c.workers, c.runnerPeak = 0, 0
	cmd := p.job(dir, args...)
	done := make(chan result, 1)
	begun, waited := time.Now(), shortage()
	go func() { done <- runCommand(t, cmd) }()
	for running := true; running; {
		select {
		case r := <-done:
			running = false
			if r.code != 0 {
				t.Fatalf("%s: exit code %d\n%s", p.name, r.code, r.stderr)
			}
			c.wall, c.short = time.Since(begun).Seconds(), shortage()-waited
		case <-time.After(50 * time.Millisecond):
		}
		look()
	}
	c.program = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	for id, q := range now {
		if q.ours() {
			c.program += q.seconds - before[id]
		} else {
			c.runner += q.seconds - before[id]
		}
	}
	return c
}

// ours reports whether the process is a worker, or Beam's boot program that starts it.
func (p process) ours() bool {
	return strings.Contains(p.args, "--worker=true") || strings.Contains(p.args, "--provision_endpoint=")
}

// places are the runners of this machine; or the Flink cluster, if there is one.
func places(t *testing.T) (list []place) {
	if os.Getenv("BOCHNER_FLINK_FLAGS") == "" {
		server := newCluster(t)
		on := func(name string, flags ...string) place {
			return place{name: name, job: func(dir string,
				args ...string) *exec.Cmd {
				return program(dir, append(args, flags...)...)
			}}
		}
		list = []place{on("direct")}
		for _, readers := range []string{"1", "2", "4"} {
			list = append(list, place{"prism server and pool, readers: " + readers, func(dir string, args ...string) *exec.Cmd {
				return server.job(dir, append(args, "--readers", readers)...)
			}, []int{server.server, server.group}})
		}
		return list
	}
	c := newFlink(t)
	numbers, err := filepath.Glob(filepath.Join(c.dir, "*.pid"))
	if err != nil {
		t.Fatal(err)
	}
	managers := 0
	p := place{}
	for _, name := range numbers {
		p.groups = append(p.groups, number(name))
		if strings.HasPrefix(filepath.Base(name), "task-manager-") {
			managers++
		}
	}
	p.name = fmt.Sprint("Flink, task managers: ", managers)
	p.job = func(dir string, args ...string) *exec.Cmd {
		return program(dir, slices.Concat(args, c.flags, []string{"--readers", fmt.Sprint(managers)})...)
	}
	return []place{p}
}

// The processes of each runner do not wait for memory while this test prints what a job costs: a small one,
// which shows the cost of the runner, and MNIST. Each runs twice: the first run also pays for what starts with
// the first job.
func TestCostByRunner(t *testing.T) {
	if os.Getenv("BOCHNER_BENCH") == "" {
		t.Skip("measures; BOCHNER_BENCH is not set (make bench-runners)")
	}
	// Costs are measured with garbage collection as usual, as users have it.
	for _, v := range usualGC {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	dir := t.TempDir()
	must(t, dir, "generate", "windmill", "--rows", "1000", "--out", "small.csv")
	jobs := [][]string{{"1,000 rows, D = 64", "train", "--data", "small.csv", "--label", "y", "--features", "64",
		"--lambda", "1e-6"}}
	if os.Getenv(realdata.Variable) != "" {
		jobs = append(jobs, append([]string{"MNIST, D = 4,096", "train", "--width", "7", "--lambda", "1e-6"},
			plainMNIST(t, dir, "train")...))
	}
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("load %s\n| job | runner | first: wall s | CPU s | then: wall s | bochner, CPU s | runner, CPU s | workers, MB | runner, MB |\n|---|---|---|---|---|---|---|---|---|\n",
		strings.Join(strings.Fields(string(load))[:3], " "))
	for _, p := range places(t) {
		for _, job := range jobs {
			first := p.measure(t, dir, append(job[1:], "--model", "first")...)
			then := p.measure(t, dir, append(job[1:], "--model", "then")...)
			for _, made := range []string{"first", "then"} {
				if err := os.RemoveAll(filepath.Join(dir, made)); err != nil {
					t.Fatal(err)
				}
			}
			fmt.Printf("| %s | %s | %.1f | %.1f | %.1f | %.1f | %.1f | %d | %d |\n", job[0], p.name,
				first.wall, first.program+first.runner, then.wall, then.program, then.runner, then.workers>>20, then.runnerPeak>>20)
			for _, c := range []cost{first, then} {
				if c.short > c.wall/10 {
					t.Errorf("%s, %s: processes of this machine waited for memory for %.1f of %.1f s, so these figures are not the job's", job[0], p.name, c.short, c.wall)
				}
			}
		}
	}
}
