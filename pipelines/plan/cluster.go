package plan

import (
	"fmt"
	"io"
	"math"

	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/report"
)

// Cluster says which machines of a cloud a training needs, how many, and for how long, if
// they are as fast as Rates assumes.
type Cluster struct {
	Machine string  `json:"machine_type"` // of Compute Engine
	CPUs    int     `json:"machine_cpus"` // virtual
	Memory  int64   `json:"machine_bytes"`
	Workers int     `json:"workers"`
	Threads int     `json:"threads_worker"` // lanes at a time on a worker
	Lanes   int     `json:"lanes"`
	Start   float64 `json:"seconds_start"`            // of pipelines; all times are 0 if the number of rows is unknown
	Read    float64 `json:"seconds_read"`             // reading the data, in all passes
	Fold    float64 `json:"seconds_fold"`             // maps and sums
	Search  float64 `json:"seconds_search,omitempty"` // feature learning
	Solve   float64 `json:"seconds_solve"`            // on one worker
	Rates   Rates   `json:"assumed"`
}

// Rates are the assumed speeds of a virtual CPU.
type Rates struct {
	Read  float64 `json:"read_bytes_per_second"` // of stored files
	Map   float64 `json:"map_flops"`             // floating-point operations a second
	Gram  float64 `json:"gram_multiply_adds"`    // of 8-bit features a second
	Solve float64 `json:"solve_flops"`
	Start float64 `json:"pipeline_start_seconds"` // until workers run
}

// assumedRates is half of the speed of a core of an AMD EPYC (Zen 4) that trains on MNIST with
// 4,096 features, because two virtual CPUs are one core. A pipeline on Dataflow waits 3 to 5
// minutes for machines.
var assumedRates = Rates{Read: 40e6, Map: 100e9, Gram: 40e9, Solve: 15e9, Start: 240}

// clusterStart is how long a pipeline takes to start if the workers are already running.
const clusterStart = 10

// planSeconds is the target time of the parallel part of a training: longer than the start of
// the machines, which would otherwise not pay.
const planSeconds = 900

// angleFlops is the cost in operations of what a search does with an angle, besides the product:
// its sine and cosine, and their coefficients.
const angleFlops = 150

// maxPlanLanes limits the lanes of a plan, because the graph and the shuffled data grow with
// each of them.
const maxPlanLanes = 256

// diskGB is enough for a worker: the program, its logs and the system. Shuffled data is in the
// service, state in the work directory.
const diskGB = 30

// ForCluster plans machines for the training p.
func (p *Plan) ForCluster(e engine.Engine, dim int64) *Cluster {
	c := &Cluster{Rates: assumedRates, Lanes: e.Lanes}
	if !e.About().Machines {
		c.Rates.Start = clusterStart
	}
	features := float64(p.Features)
	read := float64(p.Passes+max(p.Stripes, 1)-1) * float64(p.Bytes) / c.Rates.Read
	fold := float64(p.Rows) * features * (2*float64(dim)*float64(p.mappings())/c.Rates.Map + (features+1)/2/c.Rates.Gram)
	if p.Folds > 1 {
		fold += float64(p.Rows) / float64(p.Folds) * features * 2 * float64(dim) / c.Rates.Map // held-out rows, once more
	}
	if p.Rounds > 0 {
		// Each pass maps the rows, scores them and learns from them.
		fold = float64(p.maps) * float64(p.Rows) * features * 2 * float64(dim+2*int64(p.Outputs)) / c.Rates.Map
	}
	// An angle of a row and a frequency takes two products.
	search := p.search * float64(4*dim+angleFlops) / c.Rates.Map
	if c.Lanes == 0 {
		c.Lanes = min(max(int(math.Ceil((read+fold+search)/planSeconds)), e.About().Lanes), maxPlanLanes)
	}
	c.Lanes = max(1, min(c.Lanes, p.Shards))
	c.machine(p)
	if p.Rows == 0 {
		return c
	}
	c.Start = float64(p.jobs) * c.Rates.Start
	c.Read, c.Fold, c.Search = read/float64(c.Lanes), fold/float64(c.Lanes), search/float64(c.Lanes)
	if p.Rounds > 0 {
		return c
	}
	// All folds of a λ share one factor, and the chosen λ has one on all rows. Cholesky takes
	// D³/3 operations.
	factorisations := 1.0
	if p.Folds > 1 {
		factorisations += float64(p.Lambdas)
	}
	if p.Calibrate != "" || p.Threshold != "" {
		factorisations++
	}
	c.Solve = factorisations * features * features * features / 3 / (c.Rates.Solve * float64(c.CPUs))
	return c
}

// mappings is how often a row is mapped for sums: for each stripe that has a part of its fold.
func (p *Plan) mappings() int {
	sums := max(p.sumsHeld, 1)
	return (max(p.Stripes, 1) + sums - 1) / sums
}

// machine chooses the smallest machine whose memory allows a lane per CPU, and the solve; if
// there is none, the one with the most lanes.
func (c *Cluster) machine(p *Plan) {
	for cpus := 4; cpus <= 64; cpus *= 2 {
		for _, family := range []struct {
			name string
			gb   int // of memory for each CPU
		}{{"n2-standard", 4}, {"n2-highmem", 8}} {
			memory := int64(cpus) * int64(family.gb) << 30
			usable := memory*85/100 - 1<<30 // without the memory of the system and of Beam
			if usable < p.Solve || usable < p.Worker {
				continue
			}
			threads := min(int(usable/p.Worker), cpus, c.Lanes)
			if threads <= c.Threads {
				continue
			}
			c.Machine, c.CPUs, c.Memory, c.Threads = fmt.Sprintf("%s-%d", family.name, cpus), cpus, memory, threads
			if threads == min(cpus, c.Lanes) {
				c.Workers = (c.Lanes + threads - 1) / threads
				return
			}
		}
	}
	if c.Threads > 0 {
		c.Workers = (c.Lanes + c.Threads - 1) / c.Threads
	}
}

// seconds is the time of the training.
func (c *Cluster) seconds() float64 { return c.Start + c.Read + c.Fold + c.Search + c.Solve }

// write prints the plan for people.
func (c *Cluster) write(w io.Writer, machines bool) {
	if c.Machine == "" {
		fmt.Fprintf(w, "cluster   no machine of up to 64 CPUs has enough memory: use fewer --features or --folds\n")
		return
	}
	fmt.Fprintf(w, "cluster   %s %s, %s each, %s on each\n", report.Counted(c.Workers, "worker"), c.Machine, report.Bytes(c.Memory), report.Counted(c.Threads, "lane"))
	if machines {
		fmt.Fprintf(w, "flags     --lanes %d --machine_type %s --num_workers %d --number_of_worker_harness_threads %d --disk_size_gb %d\n",
			c.Lanes, c.Machine, c.Workers, c.Threads, diskGB)
	} else {
		fmt.Fprintf(w, "flags     --lanes %d\n", c.Lanes)
	}
	if c.Start == 0 {
		return
	}
	search := ""
	if c.Search > 0 {
		search = "search for features " + report.Minutes(c.Search) + ", "
	}
	fmt.Fprintf(w, "time      about %s, %.1f CPU hours: pipelines start %s, read %s, %smap and sum %s, solve %s\n",
		report.Minutes(c.seconds()), c.seconds()/3600*float64(c.Workers*c.CPUs), report.Minutes(c.Start), report.Minutes(c.Read), search, report.Minutes(c.Fold), report.Minutes(c.Solve))
	fmt.Fprintf(w, "          if a CPU reads %.0f MB/s, maps with %.0f and solves with %.0f Gflop/s, sums %.0f G products/s,\n          and a pipeline starts in %.0f s\n",
		c.Rates.Read/1e6, c.Rates.Map/1e9, c.Rates.Solve/1e9, c.Rates.Gram/1e9, c.Rates.Start)
}
