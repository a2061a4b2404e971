package plan

import (
	"math"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// aPlan is one of n rows of d numbers in CSV on Dataflow, in gigabytes of memory.
func aPlan(n int64, d, features int, worker, solve float64) *Plan {
	return &Plan{
		Data: Data{Files: 100, Bytes: n * int64(d) * 9, Shards: 9600, Rows: n,
			Columns: d}, Model: Model{Outputs: 1, Features: features, Folds: 5, Lambdas: 8},
		Work:     Work{Passes: 2, Learner: "ridge", Pipelines: 2, Readers: 8},
		estimate: estimate{sumsHeld: 5, machines: true},
		Memory: results.Memory{WorkerBytes: int64(worker * (1 << 30)),
			SolveBytes: int64(solve * (1 << 30))},
	}
}

// cluster plans machines for p, whose memory follows from nothing else.
func (p *Plan) cluster(e engine.Engine) *Cluster {
	return solution{shards: p.Shards, needs: func(engine.Engine) (results.Memory, work) {
		return p.Memory,
			p.work(p.Memory, nil, ridge.AllFolds)
	}}.cheapest(e)
}

// The machines have the memory for their readers, and there are enough of them.
func TestPlannedMachinesAreLargeEnough(t *testing.T) {
	for _, test := range []struct {
		plan    *Plan
		readers int
		machine string
		workers int
	}{
		{aPlan(1e6, 100, 4096, 0.5, 0.3), 0, "n2-standard-4", 1},
		{aPlan(1e6, 100, 4096, 0.5, 0.3), 3, "n2-standard-4", 1},
		{aPlan(1e6, 100, 4096, 0.5, 0.3), 33, "n2-standard-4", 9},
		{aPlan(1e6, 100, 10_000, 4, 2), 8, "n2-highmem-8", 1},
		{aPlan(1e6, 100, 20_000, 9, 13), 4, "n2-highmem-8", 1},
		{aPlan(1e6, 100, 20_000, 0.5, 100), 32, "n2-standard-32", 1},
		{aPlan(1e6, 100, 60_000, 60, 60), 8, "n2-highmem-64", 2},
		{aPlan(1e6, 100, 200_000, 900, 900), 8, "", 0},
	} {
		c := test.plan.cluster(engine.Engine{Runner: engine.Dataflow, Readers: test.readers})
		if c.Machine != test.machine || c.Workers != test.workers {
			t.Errorf("%d readers of %d bytes, %d to solve: %d of %s (%d readers each, %d threads), want %d of %s",
				c.Readers, test.plan.WorkerBytes, test.plan.SolveBytes, c.Workers,
				c.Machine, c.Threads, c.AlgebraThreads, test.workers, test.machine)
		}
		if int64(c.Threads)*test.plan.WorkerBytes > c.Memory || c.Machine != "" && test.plan.SolveBytes > c.Memory ||
			c.Workers*c.Threads < c.Readers && c.Machine != "" {
			t.Errorf("%d bytes: %+v", test.plan.WorkerBytes, c)
		}
		if n := engine.VCPUs(c.Machine); n != c.CPUs {
			t.Errorf("%s has %d CPUs, the plan says %d", c.Machine, n, c.CPUs)
		}
	}
}

// Times are operations divided by rates, and shrink with the readers.
func TestPlannedTimesFollowFromTheRates(t *testing.T) {
	p := aPlan(1e9, 100, 4096, 0.5, 0.3)
	c := p.cluster(engine.Engine{Runner: engine.Dataflow, Readers: 16, Threads: 1})
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-3*want {
			t.Errorf("%s takes %g s, want %g", what, got, want)
		}
	}
	near("start", c.Start, 2*240)
	near("read", c.Read, 2*900e9/40e6/16)
	near("map and sums", c.Sum, 1e9*(1.2*4096*200/100e9+4096*4097/2/40e9)/16)
	near("solve", c.Solve, 2*ridge.SolveSeconds(ridge.Shape{Dim: 4096, Outputs: 1}, ridge.FoldPlan{Folds: 5}, 1e9, 8)/4)
	// Intervals of few rows take a second factor; intervals of many rows, or of classes, do not.
	for _, x := range []struct {
		rows                 int64
		scaled, targets, two bool
	}{{100_000, true, true, true}, {100_000, false, true, false}, {100_000, true, false, false}, {1e9, true, true, false}} {
		p := aPlan(x.rows, 100, 4096, 0.5, 0.3)
		p.scaled, p.Regression = x.scaled, x.targets
		want := ridge.SolveSeconds(p.shape(), ridge.FoldPlan{Folds: 5}, x.rows, 8)
		if x.two {
			want += ridge.SolveSeconds(p.shape(), ridge.FoldPlan{}, x.rows, 1)
		}
		near("solve", p.cluster(engine.Engine{Runner: engine.Dataflow, Readers: 16, Threads: 1}).Solve, 2*want/4)
	}
	if double := p.cluster(engine.Engine{Runner: engine.Dataflow, Readers: 32, Threads: 1}); double.Sum != c.Sum/2 ||
		double.Read != c.Read/2 || double.Solve != c.Solve {
		t.Errorf("16 readers %+v\n32 readers %+v", c, double)
	}
	// A billion rows get as many readers as are of use.
	if free := p.cluster(engine.Engine{Runner: engine.Dataflow}); free.Readers*free.AlgebraThreads <= 64 ||
		free.Readers > maxPlanReaders || free.Read+free.Sum > 2*planSeconds {
		t.Errorf("%+v", free)
	}
	p.Rows = 0
	if c := p.cluster(engine.Engine{Runner: engine.Dataflow}); c.seconds() != 0 || c.Machine == "" {
		t.Errorf("of unknown rows: %+v", c)
	}
}

func TestPlansForClustersListFlags(t *testing.T) {
	name := jobtest.Write(t, t.TempDir(), "d.csv", strings.Join(jobtest.Made(t, "moons", 500, 1), ""))
	o := options.Train{Prepare: options.Prepare{Data: dataset.Options{Files: []string{name}, Label: "y"}}}
	if p := plan(t, o); p.Cluster != nil || strings.Contains(jobtest.Text(t, p), "cluster") {
		t.Errorf("machines for the direct runner: %+v", p.Cluster)
	}
	o.Job.Engine.Runner = engine.Dataflow // neither project nor bucket: it is a plan
	got := jobtest.Text(t, plan(t, o))
	for _, words := range []string{
		"1 file of csv", "in 1 shard\n", "of 2 numbers", "in each of 1 reader,", "1 worker n2-standard-4", "1 reader on each",
		"--readers 1 --machine_type n2-standard-4 --num_workers 1 --number_of_worker_harness_threads 1 --disk_size_gb 30",
		"time      about 12 min", "if a CPU reads 40 MB/s",
	} {
		if !strings.Contains(got, words) {
			t.Errorf("%q is not in\n%s", words, got)
		}
	}
	o.Job.Engine.Runner = "universal"
	if got := jobtest.Text(t, plan(t, o)); !strings.Contains(got, "flags     --readers 1\n") ||
		!strings.Contains(got, "starts in 10 s") {
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

// large returns the plan of a billion rows of 100 numbers, with the memory of the training run given.
func large(given options.Train, features int) (*Plan, solution) {
	o := spec.Options{Train: given}.WithDefaults()
	p := aPlan(1e9, 100, features, 0, 0)
	p.Outputs = 2
	f := spec.Facts{Rows: p.Rows, RowFacts: spec.RowFacts{Dim: p.Columns, Scaled: p.Columns, Values: 100},
		Features: p.Features, Outputs: 2}
	return p, solution{shards: p.Shards, needs: func(e engine.Engine) (results.Memory, work) {
		m := o.Memory(f, e, e.Readers)
		return m, p.work(m, nil, ridge.AllFolds)
	}}
}

// With many features a reader adds up stripes of the sums, or has several threads, if its machine would
// otherwise have idle CPUs.
func TestLargeSumsUseAllCPUsThatArePaid(t *testing.T) {
	for _, features := range []int{20_000, 32_768, 65_536} {
		_, s := large(options.Train{Prepare: options.Prepare{Kernel: &fourier.GaussianOptions{Features: features}}}, features)
		e := engine.Engine{Runner: engine.Dataflow}
		c := s.cheapest(e)
		least := 1e9 * float64(features) * float64(features+1) / 2 / c.Rates.Gram / 3600
		if c.Machine == "" || c.Hours > 1.25*least || c.Threads*c.AlgebraThreads != c.CPUs {
			t.Errorf("%d features: %.0f CPU hours, of which the products take %.0f: %+v", features, c.Hours, least, c)
		}
		e.Readers, e.Threads, e.WorkerBytes = c.Readers, c.AlgebraThreads, c.WorkerBytes
		if same := s.cheapest(e); same.Hours > 1.01*c.Hours || same.memory.Stripes != c.memory.Stripes {
			t.Errorf("what is advised has another plan:\n%+v\n%+v", c, same)
		}
		for _, bytes := range []int64{8e9, 30e9} {
			if one := s.cheapest(engine.Engine{Runner: engine.Dataflow, Threads: 1, WorkerBytes: bytes}); one.Machine != "" &&
				one.cost() < 0.99*c.cost() {
				t.Errorf("%d features are cheaper with %d bytes in each reader:\n%+v\n%+v", features, bytes, one, c)
			}
		}
	}
}

// Readers have several threads if only few of them fit on a machine, so that no CPU is idle.
func TestReadersOfMuchMemoryHaveThreads(t *testing.T) {
	p := aPlan(1e9, 100, 60_000, 60, 60)
	c, one := p.cluster(engine.Engine{Runner: engine.Dataflow}), p.cluster(engine.Engine{Runner: engine.Dataflow,
		Threads: 1})
	if c.Threads*c.AlgebraThreads < c.CPUs || c.cost() > one.cost()/4 {
		t.Errorf("%+v\nis not a quarter of the cost of readers with a thread each\n%+v", c, one)
	}
}

// Planned times include that readers store their sums, merge them and solve from them in the work directory,
// which takes at most 200 objects a second.
func TestPlansHaveTheTimeOfStoredSums(t *testing.T) {
	p, s := large(options.Train{Prepare: options.Prepare{Kernel: &fourier.GaussianOptions{Features: 10_000}}}, 10_000)
	c := s.cheapest(engine.Engine{Runner: engine.Dataflow, Readers: 400, Threads: 1})
	p.Cluster, p.Memory, p.Readers = c, c.memory, c.Readers
	once := 5 * float64(p.shape().Bytes()) / 100e6
	if all := 400 * once * 100e6; math.Abs(all-831e9) > 0.05*831e9 {
		t.Errorf("readers store %g bytes", all)
	}
	// A reader takes 3,200 s for its sums, of which checkpoints take a twentieth at most.
	if want := once * (1 + 7 + 400/float64(p.runs()) + 1.0/4); c.saves != 7 || math.Abs(c.Store-want) > 1e-6*want {
		t.Errorf("sums are stored %d times and merged in %g s, want %g", c.saves, c.Store, want)
	}
	if rate := float64(p.objects()) / c.Store; rate > 200 {
		t.Errorf("%g objects a second", rate)
	}
	if got := jobtest.Text(t, p); !strings.Contains(got, ", store and merge sums 3 min, solve") {
		t.Error(got)
	}
}

// Readers without a partition have no rows: they add to the cost and not to the speed.
func TestPlannedTimesOfRoundsFollowFromThePartitions(t *testing.T) {
	name := jobtest.Write(t, t.TempDir(), "d.csv", strings.Join(jobtest.Made(t, "moons", 500, 1), ""))
	o := options.Train{Prepare: options.Prepare{Data: dataset.Options{Files: []string{name}, Label: "y"}}}
	o.Job.Engine.Runner, o.Job.Engine.Readers, o.Job.Engine.Threads, o.Lambda.Path = engine.Dataflow, 400, 1, []float64{1e-4}
	of := func(name string, partitions int) (*Plan, *Cluster) {
		o.Learner = jobtest.Iterative(name, func(s *iterative.Shared) { s.Rounds, s.Partitions = 100, partitions })
		p := plan(t, o)
		p.Rows, p.Bytes = 1e9, 900e9
		s := solution{shards: partitions, needs: func(engine.Engine) (results.Memory, work) {
			return p.Memory, p.work(p.Memory, (spec.Options{Train: o}).Iterative(), ridge.AllFolds)
		}}
		return p, s.cheapest(o.Job.Engine)
	}
	one, alone := of("sgd", 1)
	many, shared := of("sgd", 400)
	// svm takes steps, too. Both have a score of each of two classes.
	steps := 10 * math.Sqrt(100*400) * 1e9 * 4 * float64(many.Features) / shared.Rates.Solve / 400
	if _, c := of("svm", 400); math.Abs(c.Sum-shared.Sum-steps) > 1e-6*steps {
		t.Errorf("steps take %g s, want %g", c.Sum-shared.Sum, steps)
	}
	if one.Partitions != 1 || many.Partitions != 400 || alone.Readers != 1 || shared.Readers != 400 ||
		math.Abs(alone.Sum-400*shared.Sum) > 1e-6*alone.Sum {
		t.Errorf("%d and %d partitions:\n%+v\n%+v", one.Partitions, many.Partitions, alone, shared)
	}
	if shared.Start >= 3600 {
		t.Errorf("100 rounds wait %g s for machines", shared.Start)
	}
	if got := jobtest.Text(t, many); !strings.Contains(got, "1 fold, 400 partitions\n") ||
		!strings.Contains(got, "map and learn") {
		t.Error(got)
	}
}
