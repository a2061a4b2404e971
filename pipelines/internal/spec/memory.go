package spec

import (
	"fmt"
	"strconv"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/machine"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/models/search/pairs"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
)

// Facts has the properties of data and recipe on which the memory of a training run depends.
type Facts struct {
	Rows int64 // 0 if unknown
	RowFacts
	Features   int
	Outputs    int
	Regression bool
	Weighted   bool // rows have weights
	LevelFacts
	Components int   // number of components of an embedding; 0 for none
	Reading    int64 // bytes of a reader besides its blocks: see dataset.Memory
	// Stored is the folding of sums that are stored for a recipe; nil otherwise.
	Stored *Folding
}

// RowFacts describes the numbers of a row.
type RowFacts struct {
	Dim      int     // numbers per row before scaling
	Scaled   int     // numbers per row after scaling
	Values   float64 // non-zero numbers per row; Dim if unknown
	Short    int     // numbers per scaled row in its short form; 0 if it has none
	Unnamed  bool    // columns have no names, so that none become categories
	Measured int     // number of columns that have too many values to become levels in a search
	Patches  int     // length of rows after the layer of patches that a search tries; 0 for none
	Grows    bool    // the row length is found in the profile pass
	Prepared bool    // rows are scaled before they are mapped
}

// LevelFacts describes the categories of a typed table.
type LevelFacts struct {
	Levels   int   // total number of levels of all categories; 0 for plain numbers
	Summed   int   // number of levels whose labels are summed
	Surveyed int64 // bytes of a survey that finds the types of columns; 0 without one, and after it
}

// atMostRows returns the smaller of a limit and the number of rows, at least 1.
func (f *Facts) atMostRows(limit int64) int64 {
	if f.Rows > 0 {
		limit = min(limit, f.Rows)
	}
	return max(limit, 1)
}

// blockBytes returns the size in bytes of a block of rows of d numbers.
func (f *Facts) blockBytes(d int) int64 { return 4 * int64(d) * f.atMostRows(int64(rows.Rows(d))) }

// blockRows returns the number of rows in a block of features.
func (f *Facts) blockRows() int64 {
	return f.atMostRows(int64(min(rows.OfFeatures(f.Features), rows.Rows(f.Dim))))
}

// featureBlockBytes returns the size in bytes of a block of features.
func (f *Facts) featureBlockBytes() int64 { return 4 * int64(f.Features) * f.blockRows() }

// Memory has upper bounds on the memory of a training run, in bytes.
type Memory struct {
	Peak    int64 `json:"bytes_peak"`    // of the process; of the driver if workers are other processes
	Profile int64 `json:"bytes_profile"` // of the first pass, without the process itself
	Worker  int64 `json:"bytes_worker"`  // of a lane: sums, blocks and the map
	Solve   int64 `json:"bytes_solve"`   // of the worker that solves, or makes the next state
	// Carried is the size of the rows if they are few and passed to the solve instead of their sums.
	Carried int64 `json:"bytes_carried,omitempty"`
	// Stripes is the number of stripes into which sums are split. Each takes a pass over the rows. It is 1 unless
	// sums are too large.
	Stripes int `json:"stripes,omitempty"`
	// Least is the least Engine.WorkerBytes that suffices, if the given one does not; otherwise 0.
	Least int64 `json:"bytes_worker_least,omitempty"`
	// Row is the memory of all lanes for each row. It is included above if the number of rows is known.
	Row int64 `json:"bytes_row"`
}

// Memory estimates the memory of a training.
func (o Options) Memory(f Facts, engine engine.Engine, lanes int) Memory {
	var m Memory
	var searched int64
	if o.Searching() {
		more := max(0, f.Patches-f.Scaled)
		if !f.Unnamed {
			more = tuning.MoreColumns(f.Rows, max(0, f.Scaled-f.Measured))
		}
		searched = tuning.Memory(f.Rows, f.Dim, f.Scaled, more, f.Outputs, f.Patches > 0, engine.Threads)
		f.Scaled += more
	}
	dim := int64(f.Dim)
	block := f.blockBytes(f.Dim)
	sampled := f.atMostRows(max(min(profileSample, profileValues/dim), profileLeast))
	values := min(f.Values, float64(dim))
	// a sampled value takes 4 bytes, and a run of values 3
	content := int64((4*values + 3*min(values, float64(dim)-values+1)) * float64(sampled))
	encoded := content + 24*dim
	// the last term is for hashes of repeated rows
	m.Profile = max(2*block, 3*encoded) + job.ColumnBytes*dim + content + f.labels() + 128*f.atMostRows(1<<13)
	if f.Grows {
		m.Profile += job.ColumnBytes * dim // columns are copied as rows grow longer
	}
	// Decisions need the sample, dense and scaled, and all pairs of its rows.
	decide := (job.ColumnBytes+job.PartialBytes+job.DecisionBytes)*dim + content + 4*dim*sampled + 4*sampled*sampled
	standing := job.PartialBytes * dim // in use after the decisions
	size := o.size(f)
	mapped := o.mapBytes(f)
	var scratch int64
	switch {
	case f.Levels > 0: // there is a block between encoding and scaling, too
		scratch = 2 * 4 * int64(f.mappedRow(size)) * f.atMostRows(int64(rows.Rows(f.Dim)))
		decide += 2 * 4 * int64(f.Scaled) * f.atMostRows(min(sampled, int64(prepare.SampleRows(f.Scaled))))
		m.Profile += 3 * 8 * int64(f.Levels) // counts of levels, and their encoding
		m.Profile += 3 * 8 * prepare.TargetSums(f.Summed, f.Outputs)
		standing += 2 * job.PartialBytes * int64(f.Scaled)
	case f.Prepared:
		scratch = f.blockBytes(f.Scaled)
		decide += 4 * int64(f.Scaled) * sampled
	}
	if size.Sampled {
		decide += 2 * mapped // the map is drawn to estimate its bound on the sample
	}
	// Each lane has a survey, and another one is encoded and read. The garbage collector allows a quarter more.
	m.Profile = max(m.Profile, int64(lanes+1)*f.Surveyed/4*5) + int64(lanes)*f.Reading
	scratch += f.Reading
	weights := 4 * int64(f.Outputs) * int64(f.Features)
	publish := 5 * weights
	m.Worker = 2*block + scratch + mapped
	o.fitter().memory(o, &m, f, engine, lanes)
	// While the map is drawn, there are two copies of its numbers, and nothing else.
	m.Worker = max(2*mapped, m.Worker)
	var curves int64 // memory to fit the curves of probabilities
	if !f.Regression && o.CalibrationPass(f.Outputs, f.Features) {
		// Each lane has two copies of its counts while it encodes them. Two more are needed where they are added and
		// read.
		counts := int64(f.Outputs) * 2 * 8 * score.CalibrationCells
		curves = 3*block + scratch + mapped + f.featureBlockBytes() + 2*weights + int64(2*lanes+2)*counts + int64(f.Outputs)*8*1024
	}
	if o.ChoosesThreshold() {
		counts := 2 * 72 * f.atMostRows(score.HalfCells)
		curves = max(curves, 3*block+scratch+mapped+f.featureBlockBytes()+2*weights+int64(2*lanes+2)*counts)
	}
	if o.LearnsFeatures() {
		o.learningMemory(&m, f)
	}
	trials, more := o.trialMemory(f, engine.Threads, lanes)
	m.Solve += more
	if engine.InProcess() {
		most := max(m.Profile, decide, standing+max(int64(lanes)*m.Worker, m.Solve, publish, curves, trials, searched))
		m.Peak = peakOf(most)
	} else {
		m.Peak = peakOf(max(2*job.ColumnBytes*dim+content, decide, publish, searched))
		m.Worker, m.Solve = m.Worker+m.Worker/8, m.Solve+m.Solve/8
	}
	return m
}

// laneLimit returns the memory that a lane may take, 0 for no limit. If workers are in this process, all lanes
// together may take as much as the solve, unless the user has set a limit.
func laneLimit(e engine.Engine, lanes int, solve int64) int64 {
	most := e.WorkerBytes
	if most == 0 && e.InProcess() {
		most = machine.ReadMemory().Limit
	}
	if most == 0 {
		return 0
	}
	most = max(1, most-job.ProgramBytes-job.SlackBytes)
	if !e.InProcess() {
		return most - most/9
	}
	if most -= most / 17; e.WorkerBytes == 0 {
		most = max(most, solve)
	}
	return most / int64(max(1, lanes))
}

// workerBytesForLane returns the least Engine.WorkerBytes with which laneLimit is at least bytes.
func workerBytesForLane(e engine.Engine, lanes int, bytes int64) int64 {
	if e.InProcess() {
		bytes *= int64(max(1, lanes))
		return peakOf(bytes + 17)
	}
	return job.ProgramBytes + job.SlackBytes + bytes + bytes/8 + 9
}

// peakOf returns the memory of the process, given the memory that it holds: it adds the program and room for
// the garbage collector.
func peakOf(held int64) int64 { return job.ProgramBytes + job.SlackBytes + held + held/16 }

// Sizes of the sample of a profile: see package profile.
const (
	profileSample = 1000
	profileValues = 4 << 20
	profileLeast  = 50
)

// mappedRow returns the length of rows as the feature map takes them.
func (f *Facts) mappedRow(size kernel.Size) int {
	if size.Gathers && f.Short > 0 {
		return f.Short
	}
	return f.Scaled
}

// labels returns the size in bytes of a table of the labels.
func (f *Facts) labels() int64 {
	n := int64(f.Outputs)
	if f.Regression {
		n = f.atMostRows(schema.MaxClasses)
	}
	return 160 * n
}

// size returns the size of the features.
func (o Options) size(f Facts) kernel.Size {
	size := o.Kernel.Size(f.Scaled)
	if size.Features != f.Features { // the features were learned
		if k, err := kernel.With(o.Kernel, "features", strconv.Itoa(f.Features)); err == nil {
			size = k.Size(f.Scaled)
		}
	}
	return size
}

// mapBytes returns the size of the map in bytes.
func (o Options) mapBytes(f Facts) int64 {
	size := o.size(f)
	return size.Map + size.Row*f.blockRows()
}

// learningMemory adds the memory of feature learning to m.
func (o Options) learningMemory(m *Memory, f Facts) {
	n := o.Learned.SampleRows(f.Rows, max(f.Dim, f.Scaled))
	sample := 3 * 4 * int64(f.Dim) * n // the rows, and two copies for the search
	m.Solve = max(m.Solve, sample+pairs.Memory(int(min(n, pairs.MaxRows)), max(f.Dim, f.Scaled))*3/2)
	if o.Learned.Plays(o.LearnedKernel()) == 0 {
		return
	}
	keep := o.Learned.Keep
	if f.Rows > 0 {
		keep = min(keep, 4*f.Rows*int64(f.Scaled+1))
	}
	m.Worker = max(m.Worker, keep+sample+4*f.blockBytes(f.Dim))
	m.Row = max(m.Row, 12*int64(f.Outputs)) // dual variables and labels
}

// Bounded returns a note if a worker needs more memory than it may take.
func (m Memory) Bounded(e engine.Engine) (note string) {
	if m.Least == 0 {
		return ""
	}
	return fmt.Sprintf("--worker_bytes %d cannot be kept: a worker needs at least %d bytes, in however many stripes; "+
		"use fewer --features", e.WorkerBytes, m.Least)
}

// Fits compares the peak with the memory of this machine: see compareTo.
func (m Memory) Fits(o Options) (note string, err error) {
	return m.compareTo(machine.ReadMemory(), o)
}

// compareTo compares the peak with the memory of a machine. It returns a note if the peak is more than is free
// now, or above the limit of the process. It returns an error if it exceeds the limit by more than the estimate
// may be wrong.
func (m Memory) compareTo(have machine.Memory, o Options) (note string, err error) {
	says := fmt.Sprintf("training takes up to %s of memory", report.Bytes(m.Peak))
	switch {
	case have.Limit > 0 && have.Limit < 1<<20: // with such a limit fewer features do not help
		return "", exit.Refuse("%s, %s allows none; raise this limit by %s", says, have.By, report.Bytes(m.Peak))
	case have.Limit > 0 && 2*m.Peak > 3*have.Limit:
		return "", exit.Refuse("%s, %s allows %s; %s", says, have.By, report.Bytes(have.Limit), o.shrink())
	case have.Limit > 0 && m.Peak > have.Limit:
		return fmt.Sprintf("%s, %s allows %s: it may run out of memory; %s", says, have.By, report.Bytes(have.Limit),
			o.shrink()), nil
	case have.Free > 0 && m.Peak > have.Free:
		return fmt.Sprintf("%s, %s is free now", says, report.Bytes(have.Free)), nil
	}
	return "", nil
}

// shrink returns advice with the flags that reduce the memory.
func (o Options) shrink() string { return "use fewer --features" + o.fitter().reducingFlags(o) }

// trialMemory returns bounds on the memory of the pass that scores held-out rows, and on the memory that its
// weights add to a solve. They are 0 if there is only one λ.
func (o Options) trialMemory(f Facts, threads, lanes int) (pass, solve int64) {
	r, ok := o.fitter().(bySums)
	if !ok || f.Components > 0 {
		return 0, 0
	}
	lambda, folds := o.Lambda.Values(1)
	n := len(lambda)
	if o.Lambda.Auto() && r.Grid != features.Bits8 {
		n += len(ridge.SmallerLambda())
	}
	shape := ridge.Shape{Dim: f.Features, Outputs: f.Outputs, Regression: f.Regression}
	weights := ridge.TrialBytes(shape, n)
	if folds < 2 || weights > ridge.MaxTrialBytes {
		return 0, 0
	}
	block := f.blockBytes(f.Dim)
	each := 3*block + f.featureBlockBytes() + block/int64(f.Dim)*int64(n*f.Outputs)
	if keeps, _ := o.Calibration(f.Outputs, f.Features); keeps && !f.Regression && f.Outputs <= MaxKept {
		// A lane has up to twice as many rows of scores, and their encoding.
		held := int64(score.MostKept(n * f.Outputs))
		if f.Rows > 0 {
			held = min(held, 2*f.Rows/int64(folds)+1)
		}
		each += 3 * score.KeptRowBytes(n*f.Outputs, held)
	}
	if f.Prepared {
		each += f.blockBytes(f.Scaled)
	}
	return int64(lanes)*each + o.mapBytes(f) + 3*weights, weights
}
