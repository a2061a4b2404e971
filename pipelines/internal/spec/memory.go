package spec

import (
	"fmt"
	"strconv"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/machine"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/models/search"
	"github.com/bochner-ml/bochner/models/search/columns"
	"github.com/bochner-ml/bochner/models/search/pairs"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Facts holds the properties of data and recipe on which the memory of a training run depends.
type Facts struct {
	Rows int64 // 0 if unknown
	RowFacts
	Features   int
	Outputs    int
	Regression bool
	Weighted   bool  // rows have weights
	Components int   // number of components of an embedding; 0 for other models
	Reading    int64 // bytes of a reader besides its blocks: see dataset.Dataset.Memory
	Levels     int   // total number of levels of all categories; 0 for plain numbers
	Summed     int   // number of levels whose labels are summed
	Surveyed   int64 // bytes of a survey that finds the types of columns; 0 without one, and after it
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
	Patches  int     // length of rows after the layer of patches that a search tries; 0 if it tries none
	Grows    bool    // the row length is found in the profile pass
	Prepared bool    // rows are scaled before they are mapped
}

// atMostRows returns the smaller of a limit and the number of rows, at least 1.
func (f *Facts) atMostRows(limit int64) int64 {
	if f.Rows > 0 {
		limit = min(limit, f.Rows)
	}
	return max(limit, 1)
}

// blockBytes returns the size in bytes of a block of rows of d numbers.
func (f *Facts) blockBytes(d int) int64 {
	return 4 * int64(d) * f.atMostRows(int64(rowio.RowsPerBlock(d)))
}

// blockRows returns the number of rows in a block of features.
func (f *Facts) blockRows() int64 {
	return f.atMostRows(int64(min(rowio.RowsPerFeatureBlock(f.Features), rowio.RowsPerBlock(f.Dim))))
}

// featureBlockBytes returns the size in bytes of a block of features.
func (f *Facts) featureBlockBytes() int64 { return 4 * int64(f.Features) * f.blockRows() }

// Sizes in bytes from which the bound follows, including spare memory of slices and maps. Tests compare the bound with
// the peaks of training runs (pipelines/bochner/memory_test.go).
const (
	encodedColumnBytes = 24  // a column in an encoded profile: its count, range and sums
	contentBytes       = 128 // the hash and count of a row, in the maps of several sums, which are up to half empty
	labelBytes         = 160 // a label in a table of labels: its text, its count and the entry of a map
	thresholdCellBytes = 72  // a cell of score.ThresholdCounts while rows are added: see score.MaxCells
)

// maxContents is more than the number of different rows that a profile counts.
const maxContents = 1 << 13

// A process that holds n bytes takes up to n/peakSlack more for garbage, and n/workerSlack in a worker elsewhere,
// which sets no limit for the garbage collector. So a limit of n bytes allows to hold n − n/(slack+1).
const (
	peakSlack   = 16
	workerSlack = 8
)

// terms are parts of a bound on memory in bytes, without the process itself.
type terms struct {
	sampled  int64 // rows in the sample of the profile
	content  int64 // the encoded sample
	block    int64 // a block of rows
	scratch  int64 // of a reader: rows between the steps of preprocessing, and its reader
	mapped   int64 // the feature map
	standing int64 // statistics of columns after the decisions
	weights  int64 // of the model
}

// Memory estimates the memory of a training run: the largest of phases that follow each other.
func (o Options) Memory(f Facts, e engine.Engine, readers int) results.Memory {
	var m results.Memory
	var searched int64
	if o.Searching() {
		more := max(0, f.Patches-f.Scaled)
		if !f.Unnamed {
			more = columns.More(int(f.atMostRows(search.MaxRows)), f.Scaled, max(0, f.Scaled-f.Measured))
		}
		searched = tuning.Memory(f.Rows, f.Dim, f.Scaled, more, f.Outputs, f.Patches > 0, e.Threads)
		f.Scaled += more
	}
	t := o.terms(f)
	m.Profile = t.profile(f, readers)
	m.Worker = 2*t.block + t.scratch + t.mapped
	if b, ok := o.Rounds(); ok {
		b.memory(o, &m, f, e, readers)
	} else {
		o.sumsMemory(&m, f, e, readers)
	}
	m.Worker = max(2*t.mapped, m.Worker) // while the map is drawn, there are two copies of its numbers, and nothing else
	if o.LearnsFeatures() {
		o.learningMemory(&m, f)
	}
	trials, more := o.trialMemory(f, e.Threads, readers)
	m.Solve += more
	decide, publish := o.decisions(f, t), 5*t.weights
	if e.InProcess() {
		m.Peak = peakOf(max(m.Profile, decide, t.standing+max(int64(readers)*m.Worker, m.Solve, publish,
			o.judgeMemory(f, t, readers), trials, searched)))
	} else {
		m.Peak = peakOf(max(2*job.ColumnBytes*int64(f.Dim)+t.content, decide, publish, searched))
		m.Worker += m.Worker / workerSlack
		m.Solve += m.Solve / workerSlack
	}
	return m
}

// terms returns the terms that several phases share.
func (o Options) terms(f Facts) terms {
	dim := int64(f.Dim)
	t := terms{sampled: f.atMostRows(int64(profile.SampleSize(f.Dim))), block: f.blockBytes(f.Dim), mapped: o.mapBytes(f),
		standing: job.PartialBytes * dim, weights: 4 * int64(f.Outputs) * int64(f.Features)}
	values := min(f.Values, float64(dim))
	// A sampled value takes 4 bytes, and a run of values 3.
	t.content = int64((4*values + 3*min(values, float64(dim)-values+1)) * float64(t.sampled))
	switch {
	case f.Levels > 0: // there is a block between encoding and scaling, too
		t.scratch = 2 * 4 * int64(f.mappedRow(o.size(f))) * f.atMostRows(int64(rowio.RowsPerBlock(f.Dim)))
		t.standing += 2 * job.PartialBytes * int64(f.Scaled)
	case f.Prepared:
		t.scratch = f.blockBytes(f.Scaled)
	}
	t.scratch += f.Reading
	return t
}

// profile returns the memory of the profile pass, or of the survey of columns before it.
func (t terms) profile(f Facts, readers int) int64 {
	dim := int64(f.Dim)
	encoded, hashes := t.content+encodedColumnBytes*dim, contentBytes*f.atMostRows(maxContents)
	bytes := max(2*t.block, 3*encoded) + job.ColumnBytes*dim + t.content + f.labels() + hashes
	if f.Grows {
		bytes += job.ColumnBytes * dim // columns are copied as rows grow longer
	}
	if f.Levels > 0 { // counts of levels or sums of their labels, and their encoding
		bytes += 3 * 8 * (int64(f.Levels) + prepare.TargetSums(f.Summed, f.Outputs))
	}
	// Each reader has a survey, and another one is encoded and read. As the memory of a survey is unknown beforehand,
	// the heap may grow by a quarter before garbage is collected (job.Job.LimitMemory).
	return max(bytes, int64(readers+1)*f.Surveyed/4*5) + int64(readers)*f.Reading
}

// decisions returns the memory of the choices by the profile. They need the sample, dense and scaled, and all pairs
// of its rows.
func (o Options) decisions(f Facts, t terms) int64 {
	dim, scaled := int64(f.Dim), int64(f.Scaled)
	bytes := (job.ColumnBytes+job.PartialBytes+job.DecisionBytes)*dim + t.content + 4*dim*t.sampled + 4*t.sampled*t.sampled
	switch {
	case f.Levels > 0:
		bytes += 2 * 4 * scaled * f.atMostRows(min(t.sampled, int64(profile.SampleSize(f.Scaled))))
	case f.Prepared:
		bytes += 4 * scaled * t.sampled
	}
	if o.size(f).Sampled {
		bytes += 2 * t.mapped // the map is drawn to estimate its bound on the sample
	}
	return bytes
}

// judgeMemory returns the memory of the passes that fit the curves of probabilities and choose the threshold.
func (o Options) judgeMemory(f Facts, t terms, readers int) (bytes int64) {
	pass := 3*t.block + t.scratch + t.mapped + f.featureBlockBytes() + 2*t.weights
	// Each reader has two copies of its counts while it encodes them. Two more are needed where they are added and read.
	copies := int64(2*readers + 2)
	if !f.Regression && o.CalibrationPass(f.Outputs, f.Features) {
		counts := int64(f.Outputs) * 2 * 8 * score.CalibrationCells
		bytes = pass + copies*counts + int64(f.Outputs)*8*1024
	}
	if o.ChoosesThreshold() {
		bytes = max(bytes, pass+copies*2*thresholdCellBytes*f.atMostRows(score.ThresholdCells))
	}
	return bytes
}

// ProfileMemory returns the memory of the profile pass in bytes, 0 if the length of rows is unknown.
func ProfileMemory(d *dataset.Dataset, e engine.Engine) int64 {
	n := d.Schema.Dim
	if n == 0 {
		return 0
	}
	return Options{}.Memory(Facts{RowFacts: RowFacts{Dim: n, Scaled: n, Values: float64(n), Prepared: true}, Features: 1,
		Outputs: 1, Reading: d.Memory()}, e, 1).Peak
}

// readerLimit returns the memory that a reader may take; 0 means no limit. If workers are in this process, all readers
// together may take as much as the solve, unless the user has set a limit.
func readerLimit(e engine.Engine, readers int, solve int64) int64 {
	limit := e.WorkerBytes
	if limit == 0 && e.InProcess() {
		limit = machine.ReadMemory().Limit
	}
	if limit == 0 {
		return 0
	}
	limit = max(1, limit-job.ProgramBytes-job.SlackBytes)
	if !e.InProcess() {
		return limit - limit/(workerSlack+1)
	}
	limit -= limit / (peakSlack + 1)
	if e.WorkerBytes == 0 {
		limit = max(limit, solve)
	}
	return limit / int64(max(1, readers))
}

// workerBytesForReader returns an engine.Engine.WorkerBytes with which readerLimit is at least bytes, in spite of
// rounding.
func workerBytesForReader(e engine.Engine, readers int, bytes int64) int64 {
	if e.InProcess() {
		bytes *= int64(max(1, readers))
		return peakOf(bytes + peakSlack + 1)
	}
	return job.ProgramBytes + job.SlackBytes + bytes + bytes/workerSlack + workerSlack + 1
}

// peakOf returns the memory of a process that holds the given bytes: it adds the program and garbage.
func peakOf(held int64) int64 { return job.ProgramBytes + job.SlackBytes + held + held/peakSlack }

// mappedRow returns the length of rows as the feature map takes them.
func (f *Facts) mappedRow(size kernel.Size) int {
	if size.TakesShort && f.Short > 0 {
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
	return labelBytes * n
}

// size returns the size of the features. Without a kernel (with a given recipe, or in the profile pass) it returns the
// size of Fourier features.
func (o Options) size(f Facts) kernel.Size {
	if o.Kernel == nil {
		return (&fourier.GaussianOptions{Features: f.Features, Form: fourier.Offset}).Size(f.Scaled)
	}
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
func (o Options) learningMemory(m *results.Memory, f Facts) {
	n := tuning.SampleRows(o.Learned, f.Rows, max(f.Dim, f.Scaled))
	sample := 3 * 4 * int64(f.Dim) * n // the rows, and two copies for the search
	m.Solve = max(m.Solve, sample+pairs.Memory(int(min(n, pairs.MaxRows)), max(f.Dim, f.Scaled))*3/2)
	if tuning.GameFrequencies(o.Learned, o.LearnedKernel()) == 0 {
		return
	}
	keep := o.Learned.Keep
	if f.Rows > 0 {
		keep = min(keep, 4*f.Rows*int64(f.Scaled+1))
	}
	m.Worker = max(m.Worker, keep+sample+4*f.blockBytes(f.Dim))
	m.Row = max(m.Row, 12*int64(f.Outputs)) // dual variables and labels
}

// CheckMachine compares the peak of m with the memory of this machine: see compareTo.
func (o Options) CheckMachine(m results.Memory) (note string, err error) {
	return compareTo(m, machine.ReadMemory(), o)
}

// compareTo compares the peak of m with the memory of a machine. It returns a note if the peak is more than is free
// now, or above the limit of the process. It returns an error if it exceeds the limit by more than the estimate
// may be wrong.
func compareTo(m results.Memory, have machine.Memory, o Options) (note string, err error) {
	says := fmt.Sprintf("training takes up to %s of memory", report.Bytes(m.Peak))
	switch {
	case have.Limit > 0 && have.Limit < 1<<20: // with such a limit fewer features do not help
		return "", exit.Dataf("%s, but %s allows none; raise this limit by %s", says, have.By, report.Bytes(m.Peak))
	case have.Limit > 0 && 2*m.Peak > 3*have.Limit:
		return "", exit.Dataf("%s, but %s allows only %s; %s", says, have.By, report.Bytes(have.Limit), o.shrink())
	case have.Limit > 0 && m.Peak > have.Limit:
		return fmt.Sprintf("%s, but %s allows only %s: it may run out of memory; %s", says, have.By,
			report.Bytes(have.Limit), o.shrink()), nil
	case have.Free > 0 && m.Peak > have.Free:
		return fmt.Sprintf("%s, and only %s is free", says, report.Bytes(have.Free)), nil
	}
	return "", nil
}

// shrink returns advice with the flags that reduce the memory.
func (o Options) shrink() string {
	advice := "use fewer --features"
	b, rounds := o.Rounds()
	_, folds := o.Values(1)
	switch {
	case rounds && b.Common().Partitions > 1:
		advice += ", a smaller --keep_bytes or fewer --partitions"
	case rounds:
		advice += ", a smaller --keep_bytes"
	case folds > 1:
		advice += " or --folds, or one --lambda"
	}
	return advice
}

// trialMemory returns bounds on the memory of the pass that scores held-out rows, and on the memory that its
// weights add to a solve. They are 0 if there is only one λ.
func (o Options) trialMemory(f Facts, threads, readers int) (pass, solve int64) {
	r := o.Ridge()
	if r == nil || f.Components > 0 {
		return 0, 0
	}
	lambda, folds := LambdaValues(o.Lambda, 1)
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
	if keeps, _ := o.WillCalibrate(f.Outputs, f.Features); keeps && !f.Regression && f.Outputs <= score.MaxHeldOutClasses {
		// A reader has up to twice as many rows of scores, and their encoding.
		held := int64(score.MaxHeldOutRows(n * f.Outputs))
		if f.Rows > 0 {
			held = min(held, 2*f.Rows/int64(folds)+1)
		}
		each += 3 * score.HeldOutRowBytes(n*f.Outputs, held)
	}
	if f.Prepared {
		each += f.blockBytes(f.Scaled)
	}
	return int64(readers)*each + o.mapBytes(f) + 3*weights, weights
}
