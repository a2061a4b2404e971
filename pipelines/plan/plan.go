// Package plan estimates in advance what a training needs: passes, memory and, on a cluster,
// machines and time.
package plan

import (
	"cmp"
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
)

// Plan is what a training will need, as far as the sizes of the files and a bounded preview of
// their rows tell.
type Plan struct {
	PlanData
	PlanWork
	estimate
	PlanModel
	spec.Memory
	// Stored is the size of the sums that readers store as files of the work directory, at most, or
	// of the rows in place of them; while they run they may hold as much again in checkpoints.
	// Shuffle is what workers exchange through the runner.
	Stored  int64 `json:"bytes_stored"`
	Shuffle int64 `json:"bytes_shuffled"`
	PlanDecision
	Cluster *Cluster `json:"cluster,omitempty"` // for runners with machines of their own
	planNotes
	// Refused says why a training would be refused, if the frequencies of the map are too many.
	Refused string `json:"refused,omitempty"`
}

// PlanData describes the files of a plan.
type PlanData struct {
	Files   int    `json:"files"`
	Format  string `json:"format"`
	Bytes   int64  `json:"bytes"` // of the stored files
	Shards  int    `json:"shards"`
	Rows    int64  `json:"rows"`       // 0 if unknown
	Exact   bool   `json:"rows_exact"` // Rows is not an estimate
	Columns int    `json:"columns"`    // numbers per row
}

// PlanWork says what the job of a plan does.
type PlanWork struct {
	Passes  int    `json:"passes"` // over the data
	Lanes   int    `json:"lanes"`
	Learner string `json:"learner"`
	Rounds  int    `json:"rounds,omitempty"`      // of an iterative learner, at most, for each λ
	Parts   int    `json:"partitions,omitempty"`  // of the rows, in these rounds
	Game    int    `json:"game_rounds,omitempty"` // of feature learning, if each finds as many as it may
	Jobs    int    `json:"pipelines"`
	Objects int64  `json:"objects"` // written into the work directory, at most
}

// estimate has what costs depend on.
type estimate struct {
	fits    int     // of an iterative learner
	maps    int     // passes of these fits, which map all rows to all features
	plays   int     // passes of feature learning in rounds
	players int     // partitions of these
	search  float64 // angles that feature learning computes in total
	how     string  // purpose of the passes
	// sumsHeld is the number of sums of a lane.
	sumsHeld int
	scaled   bool // intervals are scaled by leverage
}

// PlanModel describes the model of a plan, as far as a preview of the rows tells.
type PlanModel struct {
	Features   int   `json:"features"`
	Components int   `json:"components,omitempty"` // of an embedding, which has no learner
	Folds      int   `json:"folds"`
	Lambdas    int   `json:"lambdas"`
	Outputs    int   `json:"outputs"` // classes in the preview, or 1
	Regression bool  `json:"regression"`
	Seen       int64 `json:"rows_looked_at"` // rows of the preview, to which Columns and Outputs refer
	Whole      bool  `json:"looked_at_all"`  // the preview has all rows
}

// PlanDecision says how scores become classes, and how features are searched.
type PlanDecision struct {
	Calibrate string `json:"calibrate,omitempty"` // how probabilities are computed
	// Threshold is what chooses a threshold between two classes; "" if held-out rows do not.
	Threshold  string `json:"threshold,omitempty"`
	Searched   int64  `json:"rows_searched,omitempty"` // rows on which features are searched, at most
	Unsearched string `json:"not_searched,omitempty"`  // why they are not
}

// planNotes are notes on the machine.
type planNotes struct {
	machines bool   // the runner starts machines for each job
	beyond   string // note on the machine's memory
	// unbounded is a note on --worker_bytes.
	unbounded string
}

// Training plans Train. It reads up to 64 MB of the files: all of smaller data, a part of
// larger data (see Plan.Whole).
func Training(ctx context.Context, o training.Options) (*Plan, error) { return look(ctx, o, 0) }

// Embedding plans Embed in the same way. It uses the options that both jobs have.
func Embedding(ctx context.Context, o training.Options, t pca.Training) (*Plan, error) {
	o.Learner = &ridge.Training{Grid: t.Grid}
	o.Lambda = training.LambdaOptions{Path: []float64{1}} // one sum only
	o.Search = tuning.NoSearch                            // which needs labels
	return look(ctx, o, cmp.Or(t.Components, pca.DefaultComponents))
}

// look plans a training, or an embedding if there are components.
func look(ctx context.Context, o training.Options, components int) (*Plan, error) {
	if err := o.LoadKernel(ctx); err != nil {
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
	o = o.Solved(seen.Rows, seen.Features, seen.Outputs, seen.Regression)
	unsearched := seen.decideSearch(&o, d)
	engine := o.Job.Engine.WithDefaults()
	p := &Plan{
		PlanData: PlanData{Files: len(d.Files), Format: d.Schema.Format, Bytes: d.Size(), Shards: len(o.Job.Shards(d)),
			Rows: seen.Rows, Exact: seen.exact, Columns: seen.Dim},
		PlanModel: PlanModel{Seen: seen.read, Whole: seen.whole, Features: seen.Features, Outputs: seen.Outputs,
			Regression: seen.Regression, Components: components},
		PlanDecision: PlanDecision{Calibrate: calibration(o, seen), Unsearched: unsearched},
		planNotes:    planNotes{machines: engine.About().Machines},
		Refused:      tooWide(o, seen),
	}
	p.Lanes = max(1, min(engine.Lanes, p.Shards))
	p.scaled = o.Intervals != spec.PlainIntervals && o.Intervals != spec.NoIntervals && components == 0
	p.passes(o, d, seen)
	p.resources(o, d, seen)
	return p, nil
}

// open opens the files of a plan after the checks that need no rows.
func open(ctx context.Context, o training.Options, components int) (*dataset.Dataset, error) {
	here := o
	if o.Job.Engine.About().Machines {
		here.Job.Engine.Runner, here.Job.Engine.Lanes = "", 0 // a plan needs neither project nor bucket
	}
	here.Model = cmp.Or(here.Model, "model") // nor a model directory
	if err := here.Validate(); err != nil {
		return nil, err
	}
	d, err := o.Types.Open(ctx, o.Data, o.Job.Log)
	if err != nil {
		return nil, err
	}
	if !d.Labeled && components == 0 {
		return nil, prepare.Unlabeled(d)
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

// resources adds memory, machines and files to the passes of a plan.
func (p *Plan) resources(o training.Options, d *dataset.Dataset, seen *preview) {
	engine := o.Job.Engine.WithDefaults()
	p.sumsHeld = o.Planned(seen.Facts).Folds
	if engine.InProcess() {
		p.Memory = o.Memory(seen.Facts, engine, p.Lanes)
		var err error
		if p.beyond, err = p.Memory.Fits(o); err != nil {
			p.beyond = err.Error() // the purpose of a plan is to find out, so this is not an error
		}
	} else {
		p.Cluster = p.solution(o, seen.Facts, d).cheapest(o.Job.Engine)
		p.Memory, p.Lanes = p.Cluster.memory, max(1, p.Cluster.Lanes)
		o.Job.Engine.Lanes = p.Lanes
	}
	p.unbounded = p.Memory.Bounded(engine)
	if p.Rounds > 0 {
		p.Parts = o.Spread(len(d.Shards(job.ShardBytes))).Iterative().Common().Partitions
	} else {
		p.Stored, p.Shuffle = int64(p.Lanes)*int64(p.sumsHeld)*p.shape().Bytes(), p.lines()*lineBytes
		if p.Carried > 0 {
			p.Stored = 3 * p.Carried // the bytes of the last two checkpoints, and all
		}
	}
	p.Objects = p.objects()
}

// lineBytes is about what parts of a sum of ridge.MaxPartBytes take in a shuffle: the name of their
// file and their places.
const lineBytes = 150

// shape returns the shape of the sums.
func (p *Plan) shape() ridge.Shape {
	return ridge.Shape{Dim: p.Features, Outputs: p.Outputs, Regression: p.Regression}
}

// runs returns how many runs of parts, which are merged one by one, the sums have.
func (p *Plan) runs() int64 { return int64(p.sumsHeld) * (1 + p.shape().Bytes()/ridge.MaxPartBytes) }

// lines returns how many runs all lanes pass on, or files of rows in place of them.
func (p *Plan) lines() int64 {
	if p.Carried > 0 {
		return min(p.Rows, int64(p.Lanes)*int64(p.sumsHeld)) + p.Carried/ridge.MaxPartBytes
	}
	return int64(p.Lanes) * p.runs()
}

// objects returns how many objects of the work directory a job writes: of itself, of each pass and
// of each fit.
func (p *Plan) objects() int64 {
	const job, pass, fit, round = 6, 3, 2, 2
	n := int64(job + pass*(p.Passes-p.plays-p.maps) + p.plays*(round+2*p.players) + p.maps*(round+2*p.Parts) +
		fit*max(p.fits, 1))
	if p.Rounds == 0 && p.Components == 0 {
		n++ // the spread
	}
	switch {
	case p.Rounds > 0:
		return n
	case p.Carried > 0:
		return n + p.lines()
	case p.Lanes > 1:
		n += p.runs() // which are merged
	}
	files := int64(p.Lanes) * int64(max(p.Stripes, 1))
	if p.Cluster != nil {
		files *= 1 + p.Cluster.saves
	}
	return n + files
}

// tooWide says why the map cannot be made, if its frequencies take more than is allowed, and what
// helps; "" if it can.
func tooWide(o training.Options, seen *preview) string {
	size := o.Kernel.Size(seen.Scaled)
	if size.Most == 0 || size.Map <= size.Most {
		return ""
	}
	levels, fewer := "", ""
	if seen.Levels > 0 {
		levels = ", one for each level of a category,"
		fewer = ", --max_levels, --encode count or target, --drop"
	}
	return fmt.Sprintf("a training would be refused: frequencies of %s for rows of %s%s take %s, more than %s; use "+
		"--draw structured, fewer --features%s",
		report.Counted(size.Features, "feature"), report.Counted(seen.Scaled, "number"), levels, report.Bytes(size.Map),
		report.Bytes(size.Most), fewer)
}
