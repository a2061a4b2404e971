package pipelines

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/svm"
)

// Plan is what a training will take, as far as it can be told from the sizes and
// the beginnings of the files.
type Plan struct {
	Files   int            `json:"files"`
	Format  dataset.Format `json:"format"`
	Bytes   int64          `json:"bytes"` // of the files, as they are stored
	Shards  int            `json:"shards"`
	Rows    int64          `json:"rows"`       // 0 where it cannot be told
	Exact   bool           `json:"rows_exact"` // Rows is not an estimate
	Columns int            `json:"columns"`    // 0 where only a pass over the data can tell
	Passes  int            `json:"passes"`     // over the data
	Lanes   int            `json:"lanes"`
	Learner string         `json:"learner"`
	Rounds  int            `json:"rounds,omitempty"`      // of a learner in rounds, for each λ at most
	Game    int            `json:"game_rounds,omitempty"` // of the search for features, if each finds as many as it may
	jobs    int            // pipelines
	maps    int            // passes that take all rows to all features
	search  float64        // rows that the search for features takes to an angle, all in all
	how     string         // what the passes are for

	Features int   `json:"features"`
	Folds    int   `json:"folds"`
	Lambdas  int   `json:"lambdas"`
	Outputs  int   `json:"outputs"`        // assumed: the classes are not known yet
	Worker   int64 `json:"bytes_worker"`   // memory of a lane: sums, blocks and the map
	Solve    int64 `json:"bytes_solve"`    // memory of the worker that solves, or makes the next state
	Row      int64 `json:"bytes_row"`      // by which the memory of all lanes together grows with each row
	Shuffle  int64 `json:"bytes_shuffled"` // between workers, at most

	Calibrate string `json:"calibrate,omitempty"` // how probabilities are made

	Cluster *ClusterPlan `json:"cluster,omitempty"` // of runners with machines of their own
	runner  string
}

// assumedOutputs is for how many classes a plan reckons.
const assumedOutputs = 10

// assumedDim is the row length with which a plan reckons where it is not known.
const assumedDim = 1000

// PlanTraining tells what Train would take, from the beginnings of the files.
func PlanTraining(ctx context.Context, o TrainOptions) (*Plan, error) {
	o = o.withDefaults()
	here := o
	if o.Job.Engine.Runner == dataflow {
		here.Job.Engine.Runner = "" // a plan takes neither project nor bucket
	}
	here.Model = cmp.Or(here.Model, "model") // nor a place for the model
	if err := here.validate(); err != nil {
		return nil, err
	}
	d, err := openData(ctx, o.Data)
	if err != nil {
		return nil, err
	}
	if !d.Labeled {
		return nil, unlabeled(d)
	}
	engine := o.Job.Engine.withDefaults()
	p := &Plan{
		Files: len(d.Files), Format: d.Schema.Format, Bytes: d.Size(), Shards: len(o.Job.shards(d)),
		Columns: d.Schema.Dim, Features: o.Kernel.Features, Outputs: assumedOutputs,
	}
	p.Lanes = max(1, min(engine.Lanes, p.Shards))
	if p.Rows, p.Exact, err = d.EstimateRows(ctx); err != nil {
		return nil, err
	}
	dim := int64(p.Columns)
	if dim == 0 {
		dim = assumedDim
	}
	p.Learner = o.Learner.Name
	if p.Learner == "ridge" {
		err = p.ridge(o, engine, dim)
	} else {
		p.inRounds(o, engine, dim)
	}
	if err != nil {
		return nil, err
	}
	p.maps = p.Passes
	if o.learns() {
		if err := p.learning(o, dim); err != nil {
			return nil, err
		}
	}
	if p.Calibrate = o.Calibrate; p.Calibrate != "" {
		p.Passes, p.jobs, p.how = p.Passes+1, p.jobs+1, p.how+", one to calibrate"
	}
	if !engine.inProcess() {
		p.runner = engine.Runner
		p.Cluster = p.cluster(o.Job.Engine, dim)
	}
	return p, nil
}

// ridge plans a fit in one pass.
func (p *Plan) ridge(o TrainOptions, engine Engine, dim int64) error {
	lambda, folds := o.Lambda.path(1)
	p.Lambdas, p.Folds, p.Passes, p.jobs, p.how = len(lambda), folds, 2, 2, "one to look it over, one to train"
	shape := ridge.Shape{Dim: p.Features, Outputs: p.Outputs}
	if err := shape.Validate(); err != nil {
		return &UsageError{err}
	}
	n := int64(rows.Rows(int(dim)))
	block := 4 * dim * n
	sums := folds
	if o.learns() && folds > 2 {
		sums = 2 // the first part of the rows judges alone
	}
	if o.Calibrate != "" {
		sums = max(folds, 2)
	}
	// Features on a grid of 16 bits take two limbs, and that grid may be taken of itself.
	limbs := int64(2)
	if o.Grid == "8" && o.Kernel.Name != "maxout" {
		limbs = 1
	}
	p.Worker = int64(sums)*(shape.Bytes()+block+limbs*int64(p.Features)*n) + 2*block + 4*dim*int64(p.Features)
	p.Solve = ridge.Memory(shape, folds, engine.Threads)
	if sums > folds {
		p.Solve += shape.Bytes()
	}
	p.Shuffle = int64(p.Lanes) * int64(sums) * shape.Bytes()
	return nil
}

// inRounds plans the fit of a learner in rounds.
func (p *Plan) inRounds(o TrainOptions, engine Engine, dim int64) {
	lambda, folds := o.roundPath(max(p.Rows, 1))
	r := o.Learner.Rounds
	p.Lambdas, p.Folds, p.Rounds = len(lambda), max(folds, 1), r.Rounds
	runs := len(lambda)
	if runs > 1 || o.Calibrate != "" {
		runs++ // on all rows
	}
	p.Passes, p.how = 1+runs*(r.Rounds+1), "one to look it over, and one for each round at most, of which learners rarely take all"
	p.jobs = 1 + runs*((r.Rounds+r.PerJob)/r.PerJob)
	if folds > 0 || o.Learner.searches() {
		p.Passes++
		p.jobs++
	}
	weights := 4 * int64(p.Outputs) * int64(p.Features)
	partitions := int64((r.Partitions + p.Lanes - 1) / p.Lanes) // that a lane may work on at the same time
	block := 4 * dim * int64(rows.Rows(int(dim)))
	held := 4 * weights // weights, what is found and what it takes to find it
	if p.Learner == "svm" {
		held += svm.DefaultWindow
		p.Row = 4 * int64(p.Outputs) // the dual variables
	}
	slots := int64(engine.Threads) * 4 * int64(p.Features) * int64(rows.Rows(p.Features))
	p.Worker = r.Keep + slots + partitions*(held+4*block) + 4*dim*int64(p.Features)
	p.Solve = 6 * weights
}

// WriteTo prints the plan for people.
func (p *Plan) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	count := "a number that only reading tells"
	if p.Rows > 0 {
		count = groups(p.Rows)
		if !p.Exact {
			count = "about " + count
		}
	}
	columns := "numbers, how many only reading tells"
	if p.Columns > 0 {
		columns = counted(p.Columns, "number")
	}
	fmt.Fprintf(&b, "data      %s of %s, %s, in %s\n", counted(p.Files, "file"), p.Format, bytesText(p.Bytes), counted(p.Shards, "shard"))
	fmt.Fprintf(&b, "rows      %s, of %s\n", count, columns)
	fmt.Fprintf(&b, "passes    %d over the data: %s\n", p.Passes, p.how)
	fmt.Fprintf(&b, "model     %s, %s of lambda, %s\n", counted(p.Features, "feature"), counted(p.Lambdas, "value"), counted(p.Folds, "fold"))
	grows := "it does not grow with the rows"
	if p.Row > 0 {
		grows = fmt.Sprintf("it grows by %s for each row, in all lanes together", bytesText(p.Row))
	}
	fmt.Fprintf(&b, "memory    %s in each of %s, %s to solve; %s\n", bytesText(p.Worker), counted(p.Lanes, "lane"), bytesText(p.Solve), grows)
	fmt.Fprintf(&b, "shuffle   %s at most\n", bytesText(p.Shuffle))
	if p.Cluster != nil {
		p.Cluster.write(&b, p.runner)
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}
