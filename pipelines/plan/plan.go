// Package plan estimates what a training run needs before it runs: passes, memory and, on a cluster, machines
// and time. Training, Embedding and Fit return plans. They read the sizes of the files and a bounded preview of
// their rows.
package plan

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Plan is an estimate of what a training run will need.
type Plan struct {
	Data
	Work
	estimate
	Model
	results.Memory
	// Stored bounds the size of the sums, or of rows instead of them, that readers store in the work directory.
	// While readers run, checkpoints may take as much again. Shuffle is the size of the data that workers exchange
	// through the runner.
	Stored  int64 `json:"bytes_stored"`
	Shuffle int64 `json:"bytes_shuffled"`
	Decision
	Cluster *Cluster `json:"cluster,omitempty"` // for runners with machines of their own
	notes
	// Refused is the reason if training would be refused, because the map has too many frequencies.
	Refused string `json:"refused,omitempty"`
}

// Data describes the files of a plan.
type Data struct {
	Files   int    `json:"files"`
	Format  string `json:"format"`
	Bytes   int64  `json:"bytes"` // size of the stored files
	Shards  int    `json:"shards"`
	Rows    int64  `json:"rows"`       // 0 if unknown
	Exact   bool   `json:"rows_exact"` // Rows is not an estimate
	Columns int    `json:"columns"`    // numbers per row
}

// Work describes the steps of the job.
type Work struct {
	Passes     int    `json:"passes"` // over the data
	Readers    int    `json:"readers"`
	Learner    string `json:"learner"`
	Rounds     int    `json:"rounds,omitempty"`      // largest number for each λ, for an iterative learner
	Partitions int    `json:"partitions,omitempty"`  // partitions of the rows, for an iterative learner
	Game       int    `json:"game_rounds,omitempty"` // rounds of feature learning, if each finds the largest number of frequencies
	Pipelines  int    `json:"pipelines"`
	Objects    int64  `json:"objects"` // largest number of objects written into the work directory
}

// estimate has quantities on which costs depend.
type estimate struct {
	fits           int     // number of fits of an iterative learner
	fitPasses      int     // passes of these fits; each maps all rows to all features
	gamePasses     int     // passes of rounds of feature learning
	gamePartitions int     // partitions in these rounds
	search         float64 // number of angles that feature learning computes
	purposes       string  // description of the passes
	// sumsHeld is the number of sums that a reader holds.
	sumsHeld int
	scaled   bool // intervals are scaled by leverage
	machines bool // the runner starts machines for each job
}

// Model describes the model, as far as a preview of the rows shows.
type Model struct {
	Features   int   `json:"features"`
	Components int   `json:"components,omitempty"` // number of components of an embedding, which has no learner
	Folds      int   `json:"folds"`
	Lambdas    int   `json:"lambdas"`
	Outputs    int   `json:"outputs"` // classes in the preview, or 1
	Regression bool  `json:"regression"`
	Seen       int64 `json:"rows_looked_at"` // rows of the preview, to which Columns and Outputs refer
	Whole      bool  `json:"looked_at_all"`  // the preview has all rows
}

// Decision describes how scores become classes, and whether features are searched.
type Decision struct {
	Calibrate options.Calibration `json:"calibrate,omitempty"` // how probabilities are computed
	// Threshold is the score by which held-out rows choose a threshold between two classes; "" for none.
	Threshold  string `json:"threshold,omitempty"`
	Searched   int64  `json:"rows_searched,omitempty"` // largest number of rows on which features are searched
	Unsearched string `json:"not_searched,omitempty"`  // why features are not searched
}

// notes are notes on the memory of a plan; "" for none.
type notes struct {
	memoryNote string // on the machine's memory
	unbounded  string // on --worker_bytes
}

// Training plans a training run. It reads up to 64 MB of the files, so Plan.Whole is true for smaller data.
func Training(ctx context.Context, o options.Train) (*Plan, error) {
	return planJob(ctx, spec.Options{Train: o}, 0)
}

// Embedding plans an embedding in the same way. It uses the options that both jobs have.
func Embedding(ctx context.Context, o options.Train, t pca.LearnerOptions) (*Plan, error) {
	o.Learner = &ridge.LearnerOptions{Grid: t.Grid}
	o.Lambda = options.Lambda{Path: []float64{1}} // a single sum
	o.Search = options.SearchNone                 // a search needs labels
	return planJob(ctx, spec.Options{Train: o}, cmp.Or(t.Components, pca.DefaultComponents))
}

// planJob plans a training run, or an embedding if components is not 0.
func planJob(ctx context.Context, o spec.Options, components int) (*Plan, error) {
	if err := prepare.LoadKernel(ctx, &o.Prepare); err != nil {
		return nil, err
	}
	o = o.WithDefaults()
	d, err := open(ctx, o, components)
	if err != nil {
		return nil, err
	}
	seen, err := readPreview(ctx, o, d, components)
	if err != nil {
		return nil, err
	}
	o = o.WithSolver(seen.Rows, seen.Features, seen.Outputs, seen.Regression)
	unsearched := seen.decideSearch(&o, d)
	e := o.Job.Engine.WithDefaults()
	p := &Plan{
		Data: Data{Files: len(d.Files), Format: d.Schema.Format, Bytes: d.Size(), Shards: len(job.Shards(o.Job, d)),
			Rows: seen.Rows, Exact: seen.exact, Columns: seen.Dim},
		Model: Model{Seen: seen.read, Whole: seen.whole, Features: seen.Features, Outputs: seen.Outputs,
			Regression: seen.Regression, Components: components},
		Decision: Decision{Calibrate: calibration(o, seen), Unsearched: unsearched},
		estimate: estimate{machines: e.About().Machines},
		Refused:  tooWide(o, seen),
	}
	p.Readers = max(1, min(e.Readers, p.Shards))
	p.scaled = o.Intervals != options.IntervalsPlain && o.Intervals != options.IntervalsNone && components == 0
	p.passes(o, d, seen)
	p.resources(o, d, seen)
	return p, nil
}

// open opens the files of a plan, after checks that need no rows.
func open(ctx context.Context, o spec.Options, components int) (*dataset.Dataset, error) {
	here := o
	if o.Job.Engine.About().Machines {
		here.Job.Engine.Runner, here.Job.Engine.Readers = "", 0 // a plan needs neither project nor bucket
	}
	here.Model = cmp.Or(here.Model, "model") // and no model directory
	if err := here.Validate(); err != nil {
		return nil, err
	}
	d, err := prepare.OpenData(ctx, &o.Types, o.Data, o.Job.Log)
	if err != nil {
		return nil, err
	}
	if !d.Labeled && components == 0 {
		return nil, prepare.UnlabeledError(d)
	}
	if err := o.CheckTargets(d); err != nil {
		return nil, err
	}
	if o.Iterative() == nil {
		if err := (ridge.Shape{Dim: o.Kernel.Size(1).Features, Outputs: 1}).Validate(); err != nil {
			return nil, &exit.UsageError{Err: err}
		}
	}
	return d, nil
}

// resources adds memory, machines and files to a plan whose passes are known.
func (p *Plan) resources(o spec.Options, d *dataset.Dataset, seen *preview) {
	e := o.Job.Engine.WithDefaults()
	p.sumsHeld = o.PlannedFolding(seen.Facts).Folds
	if e.InProcess() {
		p.Memory = o.Memory(seen.Facts, e, p.Readers)
		var err error
		if p.memoryNote, err = o.CheckMachine(p.Memory); err != nil {
			p.memoryNote = err.Error() // a plan reports this, so it is no error
		}
	} else {
		p.Cluster = p.solution(o, seen.Facts, d).cheapest(o.Job.Engine)
		p.Memory, p.Readers = p.Cluster.memory, max(1, p.Cluster.Readers)
		o.Job.Engine.Readers = p.Readers
	}
	p.unbounded = p.Memory.ExceedsWorker(e)
	if p.Rounds > 0 {
		p.Partitions = o.WithPartitions(len(d.Shards(job.ShardBytes))).Iterative().Common().Partitions
	} else {
		p.Stored = int64(p.Readers) * int64(p.sumsHeld) * p.shape().Bytes()
		p.Shuffle = p.lines() * lineBytes
		if p.Carried > 0 {
			p.Stored = 3 * p.Carried // the last two checkpoints, and all rows
		}
	}
	p.Objects = p.objects()
}

// lineBytes is the approximate size of an element in a shuffle: the name of a file and the positions of parts
// of a sum in it, of up to ridge.MaxPartBytes.
const lineBytes = 150

// shape returns the shape of the sums.
func (p *Plan) shape() ridge.Shape {
	return ridge.Shape{Dim: p.Features, Outputs: p.Outputs, Regression: p.Regression}
}

// runs returns the number of runs of parts in the sums of a reader. A run is merged as a unit.
func (p *Plan) runs() int64 { return int64(p.sumsHeld) * (1 + p.shape().Bytes()/ridge.MaxPartBytes) }

// lines returns the number of elements that all readers emit: runs of parts, or files of rows.
func (p *Plan) lines() int64 {
	if p.Carried > 0 {
		return min(p.Rows, int64(p.Readers)*int64(p.sumsHeld)) + p.Carried/ridge.MaxPartBytes
	}
	return int64(p.Readers) * p.runs()
}

// objects returns the number of objects that a job, its passes and its fits write into the work directory.
func (p *Plan) objects() int64 {
	const job, pass, fit, round = 6, 3, 2, 2
	n := int64(job + pass*(p.Passes-p.gamePasses-p.fitPasses) + p.gamePasses*(round+2*p.gamePartitions) +
		p.fitPasses*(round+2*p.Partitions) + fit*max(p.fits, 1))
	if p.Rounds == 0 && p.Components == 0 {
		n++ // the sketch of the leverages
	}
	switch {
	case p.Rounds > 0:
		return n
	case p.Carried > 0:
		return n + p.lines()
	case p.Readers > 1:
		n += p.runs() // merged runs
	}
	files := int64(p.Readers) * int64(max(p.Stripes, 1))
	if p.Cluster != nil {
		files *= 1 + p.Cluster.saves
	}
	return n + files
}

// tooWide returns why the map cannot be drawn, if its frequencies take too much memory, with advice; "" if it
// can.
func tooWide(o spec.Options, seen *preview) string {
	size := o.Kernel.Size(seen.Scaled)
	if size.Most == 0 || size.Map <= size.Most {
		return ""
	}
	levels, fewer := "", ""
	if seen.Levels > 0 {
		levels = ", one for each level of a category"
		fewer = ", --max_levels, --encode count or target, --drop"
	}
	return fmt.Sprintf("training would be refused: the frequencies take %s, more than %s (%s, rows of %s%s); use "+
		"--draw structured, fewer --features%s",
		report.Bytes(size.Map), report.Bytes(size.Most), report.Counted(size.Features, "feature"),
		report.Counted(seen.Scaled, "number"), levels, fewer)
}

// WriteTo prints the plan for people.
func (p *Plan) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	p.writeData(&b)
	p.writeModel(&b)
	p.writeMemory(&b)
	if p.Cluster != nil {
		fmt.Fprintf(&b, "objects   %s at most are written into the work directory, which is removed at the end\n",
			report.Groups(p.Objects))
		p.Cluster.write(&b, p)
	}
	return b.WriteTo(w)
}

func (p *Plan) writeData(w io.Writer) {
	count := "an unknown number"
	if p.Rows > 0 {
		count = report.Groups(p.Rows)
		if !p.Exact {
			count = "about " + count
		}
	}
	fmt.Fprintf(w, "data      %s of %s, %s, in %s\n", report.Counted(p.Files, "file"), p.Format, report.Bytes(p.Bytes),
		report.Counted(p.Shards, "shard"))
	labels := ", " + report.Counted(p.Outputs, "output")
	switch {
	case p.Components > 0:
		labels = ""
	case !p.Regression:
		labels = ", " + report.Groups(int64(p.Outputs)) + " classes"
	}
	fmt.Fprintf(w, "rows      %s, of %s%s\n", count, report.Counted(p.Columns, "number"), labels)
	if !p.Whole {
		fmt.Fprintf(w, "          of which %s were previewed: others may have more columns and classes, and need more "+
			"memory\n", report.Groups(p.Seen))
	}
	fmt.Fprintf(w, "passes    %d over the data: %s\n", p.Passes, p.purposes)
}

func (p *Plan) writeModel(w io.Writer) {
	fmt.Fprintf(w, "model     %s, ", report.Counted(p.Features, "feature"))
	if p.Components > 0 {
		fmt.Fprintf(w, "%s\n", report.Counted(p.Components, "component"))
	} else {
		shared := ""
		if p.Partitions > 0 {
			shared = ", " + report.Counted(p.Partitions, "partition")
		}
		fmt.Fprintf(w, "%s of lambda, %s%s\n", report.Counted(p.Lambdas, "value"), report.Counted(p.Folds, "fold"), shared)
	}
	if p.Searched > 0 {
		fmt.Fprintf(w, "          of features that a search finds, on at most %s rows before\n", report.Groups(p.Searched))
	}
	if p.Unsearched != "" {
		fmt.Fprintf(w, "          of features that are not searched: %s\n", p.Unsearched)
	}
	if p.Refused != "" {
		fmt.Fprintf(w, "          %s\n", p.Refused)
	}
}

func (p *Plan) writeMemory(w io.Writer) {
	grows, where := "it does not grow with the rows", "in total"
	if p.Row > 0 {
		grows = fmt.Sprintf("it grows by %s per row, over all readers", report.Bytes(p.Row))
	}
	if p.Cluster != nil {
		where = "of the driver"
	}
	fmt.Fprintf(w, "memory    at most %s %s: %s in each of %s, %s to solve; %s\n",
		report.Bytes(p.Peak), where, report.Bytes(p.Worker), report.Counted(p.Readers, "reader"), report.Bytes(p.Solve), grows)
	stored, striped := "sums", "sums"
	if p.Memory.Carried > 0 {
		stored, striped = "rows", "features"
	}
	if p.Stripes > 1 {
		maps := "mapped once"
		if n := p.mappings(p.Stripes); n > 1 {
			maps = fmt.Sprintf("mapped %d times", n)
		}
		fmt.Fprintf(w, "stripes   %d, so that the %s fit: for them the rows are read %d times and %s\n", p.Stripes, striped,
			p.Stripes, maps)
	}
	for _, note := range []string{p.unbounded, p.memoryNote} {
		if note != "" {
			fmt.Fprintf(w, "          %s\n", note)
		}
	}
	if p.Rounds == 0 {
		fmt.Fprintf(w, "%s      %s at most in files of the work directory, %s shuffled\n", stored, report.Bytes(p.Stored),
			report.Bytes(p.Shuffle))
	}
}
