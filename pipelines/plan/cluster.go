package plan

import (
	"cmp"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms"
)

// Cluster describes the machines of a cloud that a training run needs, how many, and for how long, if they are as
// fast as Rates assumes.
type Cluster struct {
	Machine string `json:"machine_type"` // machine type of Compute Engine
	CPUs    int    `json:"machine_cpus"` // virtual
	Memory  int64  `json:"machine_bytes"`
	ClusterUse
	Times
	Hours  float64 `json:"cpu_hours"` // CPU hours of all machines, from start to end
	Rates  Rates   `json:"assumed"`
	memory results.Memory
	saves  int64 // number of times that a reader stores its sums before they are complete
}

// ClusterUse describes how a job uses the machines of a cluster.
type ClusterUse struct {
	Workers        int `json:"workers"`
	Threads        int `json:"threads_worker"` // readers that run at the same time on a worker
	Readers        int `json:"readers"`
	AlgebraThreads int `json:"threads_reader"` // threads for linear algebra in each reader
	// WorkerBytes is the option worker_bytes that determines the number of stripes; 0 for one stripe.
	WorkerBytes int64 `json:"worker_bytes,omitempty"`
}

// Times holds times in seconds. They are 0 if the number of rows is unknown.
type Times struct {
	Start  float64 `json:"seconds_start"`            // starting pipelines
	Read   float64 `json:"seconds_read"`             // reading the data, in all passes
	Sum    float64 `json:"seconds_fold"`             // mapping and summing
	Store  float64 `json:"seconds_store,omitempty"`  // storing and merging the sums of readers
	Search float64 `json:"seconds_search,omitempty"` // feature learning
	Solve  float64 `json:"seconds_solve"`            // solving on one worker, or computing the next states
}

func (t Times) seconds() float64 { return t.Start + t.Read + t.Sum + t.Store + t.Search + t.Solve }

// Rates are the assumed speeds of a virtual CPU.
type Rates struct {
	Read  float64 `json:"read_bytes_per_second"` // bytes of stored files per second
	Map   float64 `json:"map_flops"`             // floating-point operations per second
	Gram  float64 `json:"gram_multiply_adds"`    // multiply-adds of 8-bit features per second
	Solve float64 `json:"solve_flops"`
	Store float64 `json:"store_bytes_per_second"` // bytes of results that a reader stores or a worker reads per second
	Start float64 `json:"pipeline_start_seconds"` // until workers run
}

// assumedRates has half the speed of a core of an AMD EPYC (Zen 4) that trains on MNIST with 4,096 features,
// because two virtual CPUs are one core. A pipeline on Dataflow waits 3 to 5 minutes for machines.
var assumedRates = Rates{Read: 40e6, Map: 100e9, Gram: 40e9, Solve: 15e9, Store: 100e6, Start: 240}

// clusterStart is the time in seconds until a pipeline starts if the workers are already running.
const clusterStart = 10

// planSeconds is the target time in seconds of the parallel part of a job. It is longer than the start of the
// machines, which would not pay otherwise.
const planSeconds = 900

// angleFlops is the number of operations of a search per angle, besides the inner product: the sine, the cosine
// and their coefficients.
const angleFlops = 150

// maxPlanReaders is the largest number of readers in a plan, because the graph and the shuffled data grow with each
// reader.
const maxPlanReaders = 256

// diskGB is the disk size of a worker, for the program, its logs and the system. Shuffled data is in the
// service, state in the work directory.
const diskGB = 30

// gibPerCPU is the memory in GiB that costs as much as a virtual CPU, by the list prices of N2 machines.
const gibPerCPU = 7.5

// work is the total work of a job, for any number of workers, in bytes and operations as in Rates.
type work struct {
	pipelines int
	rowWork
	gamePartitions int     // number of readers that can share feature learning
	solve          float64 // operations of the solve, on one worker
	states         float64 // bytes that one worker reads to compute the states of the rounds
	stored, runs   float64 // bytes of the sums of a reader, and the number of runs that are merged
	pause          float64 // least seconds between two checkpoints
	summing        float64 // share of the reading that is for sums
}

// rowWork holds the work of passes over rows: reading, mapping, summing, steps of learners, and feature
// learning.
type rowWork struct {
	read, maps, sums, steps, search float64
}

// solution is a way to run the job. needs returns the memory and the work on an engine.
type solution struct {
	needs  func(engine.Engine) (results.Memory, work)
	shards int // number of shards or partitions that readers share
}

// solution returns how the training o is solved by its learner.
func (p *Plan) solution(o spec.Options, f spec.Facts, d *dataset.Dataset) solution {
	s, readers := solution{shards: p.Shards}, len(d.Shards(job.ShardBytes)) // the shards of rounds
	if o.Iterative() != nil {
		all := o
		all.Job.Engine.Readers = readers
		s.shards = all.WithPartitions(readers).Iterative().Common().Partitions
	}
	s.needs = func(e engine.Engine) (results.Memory, work) {
		o := o
		o.Job.Engine = e
		o = o.WithPartitions(readers)
		m := o.Memory(f, e, e.Readers)
		w := p.work(m, o.Iterative(), o.PlannedFolding(f).Validation)
		w.pause = float64(max(m.Stripes, 1)) * cmp.Or(e.Checkpoint, transforms.CheckpointInterval).Seconds()
		return m, w
	}
	return s
}

// solveSeconds returns ridge.SolveSeconds, plus the second factorisation that scaled intervals take
// (ridge.Request.FirstSketch) unless the mean leverage of the rows is small. It is below the number of features
// divided by the number of rows.
func solveSeconds(shape ridge.Shape, plan ridge.FoldPlan, rows int64, lambdas int, scaled bool) float64 {
	s := ridge.SolveSeconds(shape, plan, rows, lambdas)
	if scaled && shape.Regression && plan.Folds > 1 && float64(shape.Dim) >= ridge.SmallLeverage*float64(rows) {
		s += ridge.SolveSeconds(shape, ridge.FoldPlan{}, rows, 1)
	}
	return s
}

// work returns the work of the job, given its memory.
func (p *Plan) work(m results.Memory, l iterative.LearnerOptions, judge ridge.Validation) work {
	rows, features, row := float64(p.Rows), float64(p.Features), float64(p.Columns)
	stripes := max(m.Stripes, 1)
	reads := p.Passes + stripes - 1
	// The angle between a row and a frequency takes two products for each number.
	w := work{pipelines: p.Pipelines, rowWork: rowWork{search: p.search * (4*row + angleFlops)},
		gamePartitions: p.gamePartitions}
	w.read = float64(reads) * float64(p.Bytes)
	if l != nil {
		// Each pass maps the rows, scores them and learns from them. Partial results are weights and their changes.
		outputs := float64(p.Outputs)
		w.maps = float64(p.fitPasses) * rows * features * 2 * (row + 2*outputs)
		w.states = float64(p.fitPasses) * float64(l.Common().Partitions) * 8 * features * outputs
		if p.Outputs == 2 {
			outputs = 1 // the scores of two classes are opposite
		}
		// a product with the weights, and their update
		w.steps = float64(p.fits) * rows * outputs * l.Needs(iterative.Size{Features: p.Features}).Steps * 4 * features
		return w
	}
	mapped := float64(p.mappings(m.Stripes))
	if p.Folds > 1 {
		mapped += 1 / float64(p.Folds) // held-out rows are mapped again
	}
	w.maps = mapped * rows * features * 2 * row
	if m.Carried == 0 {
		w.sums = rows * features * (features + 1) / 2
		w.stored = float64(p.sumsHeld) * float64(p.shape().Bytes())
		w.runs = float64(p.runs())
		w.summing = float64(stripes) / float64(reads)
	}
	// ridge.SolveSeconds counts seconds of a core, which is two virtual CPUs.
	w.solve = solveSeconds(p.shape(), ridge.FoldPlan{Folds: p.Folds, Validation: judge}, p.Rows, p.Lambdas, p.scaled)
	if p.Calibrate != "" && p.Calibrate != options.CalibrationAuto || p.Threshold != "" {
		w.solve += ridge.SolveSeconds(p.shape(), ridge.FoldPlan{}, p.Rows, 1)
	}
	w.solve *= 2 * assumedRates.Solve
	return w
}

// mappings returns how often a row is mapped for sums: once for each stripe with a part of its fold.
func (p *Plan) mappings(stripes int) int {
	sums := max(p.sumsHeld, 1)
	return (max(stripes, 1) + sums - 1) / sums
}

// cheapest plans the machines on which a solution costs least. If costs differ by less than 1%, it takes the
// smallest machine with the fewest threads. It keeps what the engine sets.
func (s solution) cheapest(e engine.Engine) *Cluster {
	best := new(Cluster)
	for cpus := 4; cpus <= 64; cpus *= 2 {
		for _, family := range []struct {
			name string
			gb   int // of memory for each CPU
		}{{"n2-standard", 4}, {"n2-highmem", 8}} {
			machine := Cluster{Machine: fmt.Sprintf("%s-%d", family.name, cpus), CPUs: cpus,
				Memory: int64(cpus) * int64(family.gb) << 30}
			for threads := 1; threads <= cpus; threads *= 2 {
				machine.AlgebraThreads = cmp.Or(e.Threads, threads)
				c, fits := s.fit(machine, e)
				if fits && (best.Machine == "" || c.cost() < 0.99*best.cost()) {
					best = c
				}
			}
		}
	}
	if best.Machine == "" {
		e = e.WithDefaults()
		best.Readers = min(e.Readers, max(1, s.shards))
		best.memory, _ = s.needs(e)
	}
	return best
}

// fit plans a solution on machines of a type, with as many readers on each as fit into its memory. It returns
// false if none fits.
func (s solution) fit(machine Cluster, e engine.Engine) (*Cluster, bool) {
	usable := machine.Memory*85/100 - 1<<30 // the system and Beam take the rest
	for n := max(1, machine.CPUs/machine.AlgebraThreads); n > 0; n /= 2 {
		c, given := machine, e
		given.Threads, given.Readers = c.AlgebraThreads, cmp.Or(e.Readers, e.About().Readers)
		if e.WorkerBytes == 0 {
			given.WorkerBytes = usable/int64(n) + job.ProgramBytes + job.SlackBytes
		}
		c.Rates = assumedRates
		if !e.About().Machines {
			c.Rates.Start = clusterStart
		}
		_, w := s.needs(given)
		readers := cmp.Or(e.Readers, n)
		switch {
		case w.maps == 0:
			readers = given.Readers
		case e.Readers == 0:
			readers = c.enoughReaders(w, n)
		}
		c.share(s, w, readers)
		given.Readers = c.Readers
		c.memory, w = s.needs(given)
		c.share(s, w, c.Readers)
		c.Threads = min(n, c.Readers)
		if c.memory.Worker > usable/int64(c.Threads) || c.memory.Solve > usable || e.WorkerBytes == 0 && c.memory.Least > 0 {
			continue
		}
		c.Workers = (c.Readers + c.Threads - 1) / c.Threads
		c.Hours = c.seconds() / 3600 * float64(c.Workers*c.CPUs)
		if c.memory.Stripes > 1 {
			c.WorkerBytes = given.WorkerBytes
		}
		return &c, true
	}
	return nil, false
}

// oneReader returns the times with one reader.
func (c *Cluster) oneReader(w work) Times {
	threads := float64(c.AlgebraThreads)
	return Times{
		Start:  float64(w.pipelines) * c.Rates.Start,
		Read:   w.read / c.Rates.Read,
		Sum:    (w.maps/c.Rates.Map + w.sums/c.Rates.Gram + w.steps/c.Rates.Solve) / threads,
		Search: w.search / c.Rates.Map / threads,
		Solve:  w.solve / (c.Rates.Solve * float64(c.CPUs)),
	}
}

// enoughReaders returns the least multiple of n with which the parallel part takes at most planSeconds, or no longer
// than the rest.
func (c *Cluster) enoughReaders(w work, n int) int {
	one := c.oneReader(w)
	parallel := one.Read + one.Sum + one.Search
	needed := int(min(parallel/max(planSeconds, one.Start+one.Solve), maxPlanReaders-1)) + 1
	return min((needed+n-1)/n*n, maxPlanReaders)
}

// share sets the number of readers, at most one for each shard, and the times. Without rows there are no times.
func (c *Cluster) share(s solution, w work, readers int) {
	shards := max(1, s.shards)
	c.Readers = min(readers, shards)
	if w.maps == 0 {
		return
	}
	one := c.oneReader(w)
	each := float64((shards+c.Readers-1)/c.Readers) / float64(shards)
	c.Times = Times{Start: one.Start, Read: one.Read * each, Sum: one.Sum * each,
		Search: one.Search * max(each, 1/float64(max(w.gamePartitions, 1))), Solve: one.Solve + w.states/c.Rates.Store}
	c.store(w)
}

// store sets the time in which readers store and merge their sums, and the solve reads them. Checkpoints take at
// most a twentieth of the time of a reader.
func (c *Cluster) store(w work) {
	if w.stored == 0 {
		return
	}
	once := w.stored / c.Rates.Store
	c.saves = int64((c.Sum + c.Read*w.summing) / max(w.pause, 20*once))
	merge := 0.0
	if c.Readers > 1 {
		merge = max(1, float64(c.Readers)/w.runs)
	}
	c.Store = once * (1 + float64(c.saves) + merge + 1/float64(c.CPUs))
}

// cost returns the cost of the machines, in units of a CPU second. If times are unknown, it is the cost per
// second.
func (c *Cluster) cost() float64 {
	return max(c.seconds(), 1) * float64(c.Workers) * (float64(c.CPUs) + float64(c.Memory>>30)/gibPerCPU)
}

// write prints the plan for people.
func (c *Cluster) write(w io.Writer, p *Plan) {
	if c.Machine == "" {
		fmt.Fprintf(w, "cluster   no machine of up to 64 CPUs has enough memory: use fewer --features or --folds\n")
		return
	}
	flags := fmt.Sprintf("--readers %d", c.Readers)
	on := report.Counted(c.Threads, "reader") + " on each"
	if c.AlgebraThreads > 1 {
		on += fmt.Sprintf(" with %d threads", c.AlgebraThreads)
		flags += fmt.Sprintf(" --threads %d", c.AlgebraThreads)
	}
	if c.WorkerBytes > 0 {
		flags += fmt.Sprintf(" --worker_bytes %d", c.WorkerBytes)
	}
	if p.machines {
		flags += fmt.Sprintf(" --machine_type %s --num_workers %d --number_of_worker_harness_threads %d --disk_size_gb %d",
			c.Machine, c.Workers, c.Threads, diskGB)
	}
	fmt.Fprintf(w, "cluster   %s %s, %s each, %s\n", report.Counted(c.Workers, "worker"), c.Machine,
		report.Bytes(c.Memory), on)
	fmt.Fprintf(w, "flags     %s\n", flags)
	if c.Start == 0 {
		return
	}
	search, store := "", ""
	if c.Store > 0 {
		store = ", store and merge sums " + report.Minutes(c.Store)
	}
	if c.Search > 0 {
		search = "search for features " + report.Minutes(c.Search) + ", "
	}
	sum, solve := "map and sum", "solve"
	if p.Rounds > 0 {
		sum, solve = "map and learn", "combine partial results"
	}
	fmt.Fprintf(w, "time      about %s, %.1f CPU hours: %s start %s, read %s, %s%s %s%s, %s %s\n",
		report.Minutes(c.seconds()), c.Hours,
		report.Counted(p.Pipelines, "pipeline"), report.Minutes(c.Start), report.Minutes(c.Read), search, sum,
		report.Minutes(c.Sum),
		store, solve, report.Minutes(c.Solve))
	fmt.Fprintf(w,
		"          if a CPU reads %.0f MB/s, maps with %.0f and solves with %.0f Gflop/s, sums %.0f G products/s,\n"+
			"          a reader stores %.0f MB/s, and a pipeline starts in %.0f s\n",
		c.Rates.Read/1e6, c.Rates.Map/1e9, c.Rates.Solve/1e9, c.Rates.Gram/1e9, c.Rates.Store/1e6, c.Rates.Start)
}
