package plan

import (
	"math"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/jobtest"
	"github.com/bochner-ml/bochner/pipelines/prepare"
	"github.com/bochner-ml/bochner/pipelines/report"
	"github.com/bochner-ml/bochner/pipelines/spec"
	"github.com/bochner-ml/bochner/pipelines/training"
)

// aPlan is one of n rows of d numbers in CSV on Dataflow, in gigabytes of memory.
func aPlan(n int64, d, features int, worker, solve float64) *Plan {
	return &Plan{
		Files: 100, Bytes: n * int64(d) * 9, Shards: 10_000, Rows: n, Columns: d, Passes: 2, Learner: "ridge", jobs: 2, Lanes: 8,
		Features: features, Folds: 5, Lambdas: 8, Memory: spec.Memory{Worker: int64(worker * (1 << 30)), Solve: int64(solve * (1 << 30))}, machines: true,
	}
}

// The machines have the memory for what runs on them, and there are enough.
func TestPlannedMachinesHoldWhatRunsOnThem(t *testing.T) {
	for _, test := range []struct {
		plan    *Plan
		lanes   int
		machine string
		workers int
	}{
		{aPlan(1e6, 100, 4096, 0.5, 0.3), 0, "n2-standard-4", 2}, // the eight lanes of a cluster
		{aPlan(1e6, 100, 4096, 0.5, 0.3), 3, "n2-standard-4", 1},
		{aPlan(1e6, 100, 4096, 0.5, 0.3), 33, "n2-standard-4", 9},
		{aPlan(1e6, 100, 10_000, 4, 2), 8, "n2-highmem-4", 2},
		{aPlan(1e6, 100, 20_000, 9, 13), 4, "n2-highmem-8", 1},
		{aPlan(1e6, 100, 20_000, 0.5, 100), 32, "n2-highmem-16", 2},
		{aPlan(1e6, 100, 60_000, 60, 60), 8, "n2-highmem-64", 2},
		{aPlan(1e6, 100, 200_000, 900, 900), 8, "", 0},
	} {
		c := test.plan.ForCluster(engine.Engine{Runner: engine.Dataflow, Lanes: test.lanes}, 100)
		if c.Machine != test.machine || c.Workers != test.workers {
			t.Errorf("%d lanes of %d bytes, %d to solve: %d of %s (%d lanes each), want %d of %s",
				c.Lanes, test.plan.Worker, test.plan.Solve, c.Workers, c.Machine, c.Threads, test.workers, test.machine)
		}
		if int64(c.Threads)*test.plan.Worker > c.Memory || c.Machine != "" && test.plan.Solve > c.Memory || c.Workers*c.Threads < c.Lanes && c.Machine != "" {
			t.Errorf("%d bytes: %+v", test.plan.Worker, c)
		}
		if n := engine.VCPUs(c.Machine); n != c.CPUs {
			t.Errorf("%s has %d CPUs, the plan says %d", c.Machine, n, c.CPUs)
		}
	}
}

// Times are operations divided by rates, and shrink with the lanes.
func TestPlannedTimesFollowFromTheRates(t *testing.T) {
	p := aPlan(1e9, 100, 4096, 0.5, 0.3)
	c := p.ForCluster(engine.Engine{Runner: engine.Dataflow, Lanes: 16}, 100)
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-3*want {
			t.Errorf("%s takes %g s, want %g", what, got, want)
		}
	}
	near("start", c.Start, 2*240)
	near("read", c.Read, 2*900e9/40e6/16)
	near("map and sums", c.Fold, 1e9*(1.2*4096*200/100e9+4096*4097/2/40e9)/16)
	near("solve", c.Solve, (8+1)*4096*4096*4096/3.0/15e9/4)
	if double := p.ForCluster(engine.Engine{Runner: engine.Dataflow, Lanes: 32}, 100); double.Fold != c.Fold/2 || double.Read != c.Read/2 || double.Solve != c.Solve {
		t.Errorf("16 lanes %+v\n32 lanes %+v", c, double)
	}
	// A billion rows get as many lanes as are of use.
	if free := p.ForCluster(engine.Engine{Runner: engine.Dataflow}, 100); free.Lanes <= 64 || free.Lanes > maxPlanLanes || free.Read+free.Fold > 2*planSeconds {
		t.Errorf("%+v", free)
	}
	p.Rows = 0
	if c := p.ForCluster(engine.Engine{Runner: engine.Dataflow}, 100); c.seconds() != 0 || c.Machine == "" {
		t.Errorf("of unknown rows: %+v", c)
	}
}

func TestPlansForClustersSayWhatToPass(t *testing.T) {
	name := jobtest.Write(t, t.TempDir(), "d.csv", strings.Join(jobtest.Made(t, "moons", 500, 1), ""))
	o := training.Options{Spec: prepare.Spec{Data: dataset.Options{Data: []string{name}, Label: "y"}}}
	if p := plan(t, o); p.Cluster != nil || strings.Contains(jobtest.Text(t, p), "cluster") {
		t.Errorf("machines for the direct runner: %+v", p.Cluster)
	}
	o.Job.Engine.Runner = engine.Dataflow // neither project nor bucket: it is a plan
	got := jobtest.Text(t, plan(t, o))
	for _, words := range []string{
		"1 file of csv", "in 1 shard\n", "of 2 numbers", "in each of 1 lane,", "1 worker n2-standard-4", "1 lane on each", "--lanes 1 --machine_type n2-standard-4 --num_workers 1 --number_of_worker_harness_threads 1 --disk_size_gb 30",
		"time      about 12 min", "if a CPU reads 40 MB/s",
	} {
		if !strings.Contains(got, words) {
			t.Errorf("%q is not in\n%s", words, got)
		}
	}
	o.Job.Engine.Runner = "universal"
	if got := jobtest.Text(t, plan(t, o)); !strings.Contains(got, "flags     --lanes 1\n") || !strings.Contains(got, "starts in 10 s") {
		t.Error(got)
	}
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files"} {
		if got := report.Counted(n, "file"); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	for s, want := range map[float64]string{0.4: "0s", 42: "42s", 600: "10 min", 9000: "2.5 h"} {
		if got := report.Minutes(s); got != want {
			t.Errorf("%g s: %s, want %s", s, got, want)
		}
	}
}
